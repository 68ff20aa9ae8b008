package forge

import "github.com/furrow-dev/furrow/internal/core/layout"

// Pushers says who may push to Furrow's own branches, furrow/**, as far as a server says.
type Pushers struct {
	State PushersState
	// Who names them, for people: "everybody with the role Developer".
	Who string
	// SignedBase reports whether the base branch takes only signed commits, where the server says that together
	// with who may push.
	SignedBase bool
}

// PushersState says whether a server restricts who may push to Furrow's own branches.
type PushersState string

const (
	// PushersUnknown means that the server does not say, or not to these credentials.
	PushersUnknown PushersState = "Unknown"
	// PushersRestricted means that a rule of the server names who may.
	PushersRestricted PushersState = "Restricted"
	// PushersEverybody means that no rule restricts them.
	PushersEverybody PushersState = "Everybody"
)

// ProbeBranch returns the name of a branch of Furrow's, to find the rules that hold for all of them.
func ProbeBranch(base string) string {
	return layout.TierBranch(base, layout.Tier{Seed: "seed", Cluster: "cluster"})
}

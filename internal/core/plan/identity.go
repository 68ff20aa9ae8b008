package plan

import (
	"fmt"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// Identity names the control plane that plans belong to. What belongs to another owner, or to the
// same one of another origin, is never overwritten or removed.
type Identity struct {
	// Owner is <control-plane id>/<environment>.
	Owner string
	// Origin is the digest of where the control plane is kept.
	Origin string
}

// Identity returns whose plan it is.
func (p *Plan) Identity() Identity { return Identity{p.Owner, p.Origin} }

// originDigits is how many digits of an origin are shown.
const originDigits = 12

// ShortOrigin returns the origin as people read and write it.
func (i Identity) ShortOrigin() string {
	short := strings.TrimPrefix(i.Origin, "sha256:")
	return short[:min(len(short), originDigits)]
}

// String names the control plane for people.
func (i Identity) String() string {
	if i.Origin == "" {
		return fmt.Sprintf("%q", i.Owner)
	}
	return fmt.Sprintf("%q of origin %s", i.Owner, i.ShortOrigin())
}

// ErrForeign returns the error where a seed's plan in a GitOps repository belongs to another
// control plane, and what to do.
func ErrForeign(seed, repo string, of, this Identity) error {
	where := ""
	if repo != "" {
		where = fmt.Sprintf(" in GitOps repository %q", repo)
	}
	p := manifest.OfSeed(v1alpha1.ReasonForeignOwner, seed, fmt.Sprintf("its plan%s belongs to control plane %s, and this is %s", where, of, this), of.advice(this, ", and give the seed another name"))
	p.Repo = repo
	return p
}

// ErrForeignStatus says the same of the status on a branch.
func ErrForeignStatus(branch string, of, this Identity) error {
	return manifest.Problem{Reason: v1alpha1.ReasonForeignOwner, Path: branch, Message: fmt.Sprintf("branch %s has the status of control plane %s, and this is %s", branch, of, this), Next: of.advice(this, "")}
}

// Renamed reports whether both have the same origin and environment, so only the name has
// changed.
func (i Identity) Renamed(this Identity) bool {
	_, environment, _ := strings.Cut(i.Owner, "/")
	_, ours, _ := strings.Cut(this.Owner, "/")
	return i.Origin != "" && i.Origin == this.Origin && i.Owner != this.Owner && environment == ours
}

// advice returns what to do about what belongs to i and is in the way. Under another name of the
// same control plane it is most likely the name that is wrong.
func (i Identity) advice(this Identity, also string) string {
	if id, _, _ := strings.Cut(i.Owner, "/"); i.Renamed(this) {
		return fmt.Sprintf("Both have the same origin, so its name has changed: restore the ControlPlane document with metadata.name %q, or give --id %[1]s if there never was one. The reference says how to rename a control plane on purpose.", id)
	}
	return "If that one was moved or renamed to this one, take over what it has with 'furrow adopt'; if not, name this control plane by a ControlPlane document" + also + "."
}

// ErrOwnerUnknown returns the error where a file may hold the ControlPlane document by which plans
// are this control plane's.
func ErrOwnerUnknown(file, seed, repo string, of, this Identity) error {
	id, _, _ := strings.Cut(of.Owner, "/")
	return manifest.Problem{Reason: v1alpha1.ReasonOwnerUnknown, Seed: seed, Repo: repo, Path: file,
		Message: fmt.Sprintf("it is not known which control plane this is: the plan of seed %q in GitOps repository %q belongs to %s, and %s, which cannot be read, may be the ControlPlane document of that name. Refusing to act as %s until it can be read", seed, repo, of, file, this),
		Next:    fmt.Sprintf("Correct %s, or commit a ControlPlane document with metadata.name %q.", file, id)}
}

package template

import (
	"errors"
	"strings"
)

// Proposal holds the variables of the template of type Proposal. Names of seeds, clusters and
// branches are checked before they get here; all other text from seeds is Markdown that Code
// made, so no template has to escape it.
type Proposal struct {
	// Verb is Plant, Update, Remove or Orphan.
	Verb string
	// Seed, Cluster and Tier ("00", "01", …) that it is about; TierCount tiers
	// are on the cluster.
	Seed, Cluster, Tier string
	TierCount           int
	Removal             bool
	// Abandoned reports whether the cluster was abandoned, so the tier's objects
	// stay there: first the reconciler is set not to delete them, then the tier is
	// removed.
	Abandoned bool
	// ReconciledBy names the reconciler, for people: "Flux on mgmt".
	ReconciledBy string
	Objects      []ObjectsOfKind
	// Differs names the objects that have other content on other clusters, as Markdown.
	Differs []string
	// Leaving are objects that the seed no longer has, as Markdown. Drops reports whether
	// this proposal removes them.
	Leaving []string
	Drops   bool
	// Deletes and Replaces are files at the tier's paths that others put there, and that
	// merging deletes, or replaces with what the seed says, as Markdown.
	Deletes, Replaces []string
	// Shut says why the proposal must not be merged when it is written; empty when it may be.
	Shut string
	// Prerequisites were released before this was proposed, unless Shut.
	Prerequisites []Prerequisite
	// Next are the tiers that wait for this one, for people, as Markdown.
	Next []string
	// HowToReject is a sentence that fits the forge.
	HowToReject string
	// Amends reports whether the forge remembers what people change in a proposal before merging
	// it.
	Amends bool
	// From is the seed's path in the control-plane repository, Revision that repository's
	// revision.
	From, Revision string
	Branch         string
	// Members are the tiers, where the proposal carries several. Cluster and Tier then name
	// all of theirs, TierCount counts them, and Contents has their objects instead of Objects.
	Members  []Member
	Contents []Content
	// MoreContents and MorePrerequisites count those that are left out.
	MoreContents, MorePrerequisites int
}

// Member is one of several tiers that a proposal carries.
type Member struct {
	// Verb says what becomes of the tier.
	Verb string
	// Cluster and Tier are those of Proposal, and so are ReconciledBy and Abandoned.
	Cluster, Tier, ReconciledBy string
	Abandoned                   bool
}

// Content is what some tiers have in common.
type Content struct {
	// Tiers are those that have it, for people.
	Tiers   []string
	Objects []ObjectsOfKind
}

// ObjectsOfKind counts the objects of one kind.
type ObjectsOfKind struct {
	Kind  string
	Count int
	// Names is a list, as Markdown.
	Names string
}

// Prerequisite is a tier that had to be released first, and why as Markdown.
type Prerequisite struct{ Tier, Why string }

// maxTitle is where common forges cut a title.
const maxTitle = 200

// maxGroupBody bounds what is said of several tiers: forges take texts of up to 64 KiB, and
// the lines that name the tiers follow.
const maxGroupBody = 20_000

// RenderProposal renders title and body.
func RenderProposal(t Text, vars Proposal) (title, body string, err error) {
	text, err := Render(t, vars)
	if err != nil {
		return "", "", err
	}
	title, body, _ = strings.Cut(strings.TrimLeft(string(text), "\n"), "\n")
	title = strings.TrimSpace(title)
	if title == "" || len(title) > maxTitle {
		return "", "", &Error{t, errors.New("the first line, which is the title, is empty or longer than 200 bytes")}
	}
	body = strings.TrimSpace(body) + "\n"
	if len(vars.Members) > 0 && len(body) > maxGroupBody {
		body = body[:strings.LastIndex(body[:maxGroupBody], "\n")+1] + "\nThe rest is too long for a pull request and is left out.\n"
	}
	return title, body, nil
}

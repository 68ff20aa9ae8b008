package template

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/truncate"
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
	// Clusters are all of them, sorted.
	Clusters []string
	// Removal reports whether it removes all that it carries, and SeedGone whether the seed is no
	// longer in the control-plane repository.
	Removal, SeedGone bool
	// Abandoned reports whether the cluster was abandoned, so the tier's objects
	// stay there: first the reconciler is set not to delete them, then the tier is
	// removed.
	Abandoned bool
	// WhyLeaves says why the seed leaves clusters that keep nothing of it, as Markdown; empty if it leaves
	// none, or if the seed is gone.
	WhyLeaves []string
	// ReconciledBy names the reconciler, for people: "Flux on mgmt".
	ReconciledBy string
	// Commit is the one of the control-plane repository that it comes of; empty where that is not
	// known.
	Commit Commit
	// Retried says who asked to propose it again, Confirmed who confirmed what the deletion guard held of
	// it, and AbandonedBy who abandoned the cluster; empty where nobody did, or it is not known who.
	Retried, Confirmed, AbandonedBy Request
	// Changes are what merging changes on the base branch: one, or several where the tiers have
	// different changes. MoreChanges counts those that are left out.
	Changes     []Changes
	MoreChanges int
	// Reconcilers say which reconciler objects come or go with the tiers, by which account and with which
	// other settings they apply them, as Markdown. Those that change are among the Changes.
	Reconcilers []string
	// Destroys names what is removed and takes data with it, as Markdown.
	Destroys []string
	// WillFail names changes that an API server refuses, with the fields that cannot change, and Recreates
	// those for which the reconciler deletes the object and creates it again, as Markdown.
	WillFail, Recreates []string
	// Stays names removed objects that the reconciler keeps on their cluster, as Markdown.
	Stays []string
	// Differs names the objects that have other content on other clusters, as Markdown.
	Differs []string
	// Moves say which objects move to or from its tiers, and how, as Markdown.
	Moves []string
	// Leaving are objects that the seed no longer has and that stay for now, as Markdown.
	Leaving []string
	// Deletes and Replaces are files at the tier's paths that others put there, and that
	// merging deletes, or replaces with what the seed says, as Markdown.
	Deletes, Replaces []string
	// Shut says why the proposal must not be merged when it is written; empty when it may be.
	Shut string
	// Before are the tiers that came before this, Next those that come after it. Unchanged counts
	// the tiers that wait for this one and do not change themselves.
	Before, Next                    []Step
	MoreBefore, MoreNext, Unchanged int
	// Rollout says how far the seed is.
	Rollout Rollout
	// Graph is a drawing of the tiers in Mermaid; empty where they are many, or nothing draws it.
	Graph string
	// HowToReject is a sentence that fits the forge.
	HowToReject string
	// Page reports whether it is a pull request, and Amends whether the forge remembers what people
	// change in it before merging it.
	Page, Amends bool
	// From is the seed's path in the control-plane repository, Revision that repository's
	// revision.
	From, Revision string
	// Branch is that of the proposal, Name what furrow pr calls it.
	Branch, Name string
	// Members are the tiers, where the proposal carries several. Cluster and Tier then name
	// all of theirs, and TierCount counts them.
	Members []Member
}

// Commit is a commit of the control-plane repository; Subject and Author are Markdown.
type Commit struct{ ID, Subject, Author, URL string }

// Request is who asked for something, when, and why; By and Why are Markdown.
type Request struct{ By, At, Why string }

// Changes are what becomes of the objects of some tiers.
type Changes struct {
	// Tiers are those that have them, for people.
	Tiers []string
	// Summary counts them: "1 added, 2 changed, 57 unchanged".
	Summary string
	Objects []Change
	// More counts those that are left out.
	More int
}

// Change is what becomes of an object, or of Count objects of a kind.
type Change struct {
	// What is added, changed or removed.
	What string
	// Object is Markdown; a kind where Count is more than one.
	Object string
	Count  int
	// Fields get another value; More counts those that are left out.
	Fields []Field
	More   int
	// Note is anything else, as Markdown; the names where Count is more than one.
	Note string
	// Destroys says what is lost with the object.
	Destroys string
}

// Field is a field that gets another value, as Markdown. Was is empty where it is new, Is where it
// goes.
type Field struct{ Path, Was, Is string }

// Rollout counts the clusters of the seed.
type Rollout struct {
	// Clusters are all, Done those with everything released, Open those with a proposal to review.
	Clusters, Done, Open int
	// Failed are those with a tier that fails.
	Failed      []string
	FailedCount int
	// Waves are those of the seed, in the order in which they go.
	Waves []Wave
}

// Wave says how far a wave is. Progress is as in "wave canary: 3 of 20 clusters done", and Why says
// what it waits for, as Markdown; empty where nothing holds it.
type Wave struct{ Progress, State, Why string }

// Member is one of several tiers that a proposal carries.
type Member struct {
	// Verb says what becomes of the tier.
	Verb string
	// Cluster and Tier are those of Proposal, and so are ReconciledBy and Abandoned.
	Cluster, Tier, ReconciledBy string
	Abandoned                   bool
	// Summary counts what becomes of its objects.
	Summary string
}

// Step is a tier that comes before or after, and why as Markdown. State is empty where it is not
// known.
type Step struct{ Tier, Why, State string }

// maxTitle is where common forges cut a title.
const maxTitle = 200

// Forges take texts of up to 65,536 characters. The lines that name the tiers follow the body; of
// several tiers they are many.
const (
	maxBody      = 60_000
	maxGroupBody = 20_000
)

// DestroysMark ends the title of a proposal that destroys data when it is merged.
const DestroysMark = " (destroys data)"

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
	most := maxBody
	if len(vars.Members) > 0 {
		most = maxGroupBody
	}
	return title, cutBody(strings.TrimSpace(body)+"\n", most), nil
}

// fence begins and ends a block of code.
const fence = "```"

// cutBody leaves out the last lines of a body that is too long, and says so. A block of code that
// would stay open is ended.
func cutBody(body string, most int) string {
	if len(body) <= most {
		return body
	}
	body = body[:strings.LastIndex(body[:most], "\n")+1]
	open := false
	for line := range strings.Lines(body) {
		open = open != strings.HasPrefix(line, fence)
	}
	if open {
		body += fence + "\n"
	}
	return body + "\nThe rest is too long for a pull request and is left out.\n"
}

const (
	// maxLabels is how many labels a proposal gets.
	maxLabels = 20
	// maxLabel is how long forges allow a label to be.
	maxLabel = 50
)

// fitLabel cuts a label that is too long. It ends with a digest of the whole then, because names of
// clusters often differ at their ends.
func fitLabel(label string) string {
	if len(label) <= maxLabel {
		return label
	}
	sum := sha256.Sum256([]byte(label))
	end := "-" + hex.EncodeToString(sum[:4])
	return truncate.Prefix(label, maxLabel-len(end)) + end
}

// RenderLabels renders the labels of a proposal: each line of the text is one.
func RenderLabels(t Text, vars Proposal) ([]string, error) {
	text, err := Render(t, vars)
	if err != nil {
		return nil, err
	}
	var labels []string
	for line := range strings.Lines(string(text)) {
		label := fitLabel(truncate.Line(line, len(line)))
		if label != "" && !slices.Contains(labels, label) && len(labels) < maxLabels {
			labels = append(labels, label)
		}
	}
	return labels, nil
}

// Package forgetest owns the contract that every forge keeps: Run is one suite
// for all of them.
//
// The suite does the engine's part (it grafts and pushes branches) and has a Person
// do what people do on a real server. A forge need not detect every merge method:
// Fixture.MergeMethods says which ones it offers, and which it can later recognize as
// merges. On plain Git, a squash without Furrow's trailers is not recognized; in any
// case the proposal is off the list, and its outcome is never Rejected.
//
// A fixture serves one case. Cases share nothing, and run in parallel.
package forgetest

import (
	"slices"
	"testing"

	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
)

// MergeMethod is how a person merges.
type MergeMethod string

// The ways that people merge.
const (
	MergeCommit MergeMethod = "a merge commit"
	FastForward MergeMethod = "fast-forward"
	Squash      MergeMethod = "squash"
	Rebase      MergeMethod = "rebase"
	RebaseMerge MergeMethod = "rebase and a merge commit"
)

// Fixture is one repository on a forge. Its base branch has a first commit, and
// nothing of Furrow's.
type Fixture struct {
	Forge forge.Forge
	// Mirror is a mirror of the repository, the one that Forge works with.
	Mirror *git.Mirror
	// Base is the base branch's name.
	Base string
	// Person acts on the server.
	Person Person
	// MergeMethods has each method that people can use, and whether Closed recognizes it later.
	MergeMethods map[MergeMethod]bool

	// What follows is only there where the forge can do it.

	// ReportsMerge reports whether Closed names the commit by which a proposal landed,
	// and its web page.
	ReportsMerge bool
	// Closes reports whether Supersede has something to close, which it leaves alone
	// where a person was faster.
	Closes bool
	// Closed reports whether the page of a proposal is closed.
	Closed func(t *testing.T, p forge.Proposal) bool
	// Delete deletes a branch for a person, which rejects its proposal.
	Delete func(t *testing.T, branch string)
	// Reopen takes a rejection back for a person, without Furrow.
	Reopen func(t *testing.T, p forge.Proposal)
	// Gate is a proposal's gate as people read it: whether it holds, and why not.
	Gate func(t *testing.T, p forge.Proposal) (holds bool, why string)
	// Labels are those of a proposal's page.
	Labels func(t *testing.T, p forge.Proposal) []string
	// Other is the forge as another process has it.
	Other func(t *testing.T) forge.Forge
}

// Person is somebody with a clone, or in front of the forge's pages.
type Person interface {
	// Commit pushes a commit on top of a branch, which is made from base where it is
	// not there. Files are by path; those without content are removed.
	Commit(t *testing.T, branch string, files map[string]string)
	// Amend replaces the last commit of a branch, keeping its message and author.
	Amend(t *testing.T, branch string, files map[string]string)
	// Update merges base into a branch.
	Update(t *testing.T, branch string)
	// Merge merges a proposal without Furrow.
	Merge(t *testing.T, p forge.Proposal, method MergeMethod)
	// Reset moves a branch to another commit, by force.
	Reset(t *testing.T, branch string, to git.Hash)
	// Close rejects a proposal without Furrow.
	Close(t *testing.T, p forge.Proposal, reason string)
}

// Run runs the contract's cases, each on a fixture of its own.
func Run(t *testing.T, setup func(t *testing.T) Fixture) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(&world{T: t, Fixture: setup(t)})
		})
	}
}

// cases are the contract, one sentence each. A forge that passes them all can be used by the engine
// as it is; what the engine relies on and no case has is a gap in the contract, and belongs here.
var cases = []struct {
	name string
	run  func(*world)
}{
	{"nothing is in the way of pushes to a repository that can be used", usable},
	{"an opened proposal is listed with its digest", openedIsListed},
	{"opening a proposal twice makes one", openedTwice},
	{"a proposal that two processes open is one", openedByTwo},
	{"a proposal that was pushed and not opened is opened once", openedAfterCrash},
	{"a proposal is updated in place", updatedInPlace},
	{"each of many proposals is listed in its own state", manyStates},
	{"a superseded proposal is not Rejected and can be opened again", superseded},

	{"a proposal that a person closes is Rejected until its digest changes", rejectedByPerson},
	{"a proposal that is rejected through Furrow says why", rejectedThroughForge},
	{"rejecting twice is rejecting once", rejectedTwice},
	{"a rejected proposal is not merged", rejectedIsNotMerged},
	{"a rejection is withdrawn", reopened},
	{"a rejection that a person withdraws is none", reopenedByPerson},
	{"a proposal whose branch a person deletes is Rejected", deletedByPerson},
	{"a rejection counts for another process, too", rejectedForOthers},
	{"a proposal is superseded after a person closed it, and stays Rejected", closedThenSuperseded},

	{"a proposal that a person edits is Edited and keeps its first digest", edited},
	{"a proposal that a person amends is Edited", amended},
	{"a person's changes are merged with the proposal", editedIsMerged},
	{"a proposal into which a person merged base can be merged", updatedByPerson},

	{"a proposal that a person merges, by any method, is off the list", mergedByPerson},
	{"a merge is known by its commit", mergeIsReported},
	{"each of several merges is known by its commit", mergesAreReported},
	{"merged proposals are listed with their commits", mergedAreListed},
	{"a merge is known after base has lost what it brought", mergedThenReverted},
	{"what a later merge replaced can be proposed again", mergedThenReplaced},
	{"a proposal that is merged through Furrow is on base", mergedThroughForge},
	{"a proposal is merged by a way that reconcilers accept, or not at all", mergedByAcceptedWay},
	{"a proposal of a removal is merged", mergedRemoval},
	{"two proposals that are merged at once both get through", mergedAtOnce},
	{"a proposal that changed meanwhile is not merged", changedMeanwhile},
	{"a proposal that a person changed meanwhile is not superseded", editedMeanwhile},
	{"a proposal is not merged twice", mergedTwice},

	{"a gate that fails and then holds is shown", gated},
	{"a gate that fails when the proposal is opened or updated is shown", openedShut},
	{"labels say in which state a proposal is", labeled},
	{"a proposal that would bring back what people took off base is stale", movedBack},
	{"an edited proposal names all that merging it would change", editedElsewhere},
	{"a proposal is stale where base changed under its paths", stale},
	{"a proposal that is only behind is not stale", behind},
	{"branches that are not Furrow's are never touched", foreign},

	{"a stranger's commit with our trailers is compared, and is not merged", strangersCommit},
	{"a proposal that a stranger replaces meanwhile is not merged, whatever its trailers", strangerMeanwhile},
	{"a commit with our trailers on history that base does not have is not merged", strangersHistory},
	{"a merge commit with our trailers is not Furrow's", strangersMerge},
	{"Furrow's commit on the branch of another tier is not that tier's", copiedCommit},
	{"a commit with a tier of another seed is not that of a group", strangersMember},

	{"a proposal of several tiers is listed with each of them", groupIsListed},
	{"a proposal of several tiers is updated in place, with other tiers", groupIsUpdated},
	{"a rejected proposal of several tiers rejects each of them", rejectedGroup},
	{"a rejection of several tiers is withdrawn", reopenedGroup},
	{"a rejection of several tiers is withdrawn before that of one", groupIsReopenedInAnyOrder(func([]forge.Proposal) {})},
	{"a rejection of several tiers is withdrawn after that of one", groupIsReopenedInAnyOrder(slices.Reverse[[]forge.Proposal])},
	{"a merge of several tiers, by any method, counts for each of them", mergedGroup},
	{"a tier that was merged with others is replaced alone", mergedGroupIsReplaced},
	{"a superseded proposal of several tiers rejects none of them", supersededGroup},
	{"a proposal of several tiers that a person edits is merged with the change", editedGroup},
	{"a proposal of several tiers is stale where base changed under one of them", staleGroup},
}

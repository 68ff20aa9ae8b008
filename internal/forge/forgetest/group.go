package forgetest

import (
	"fmt"
	"maps"
	"slices"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
)

// east and west are tiers of one seed, as members of groups, with a digest.
func east(digest string) layout.Member { return memberOn("east", digest) }
func west(digest string) layout.Member { return memberOn("west", digest) }

func memberOn(cluster, digest string) layout.Member {
	return layout.Member{Tier: layout.Tier{Seed: "a", Cluster: cluster}, Digest: digest}
}

// proposeGroup pushes and opens a proposal of several tiers, and gives it as it is listed.
func (w *world) proposeGroup(name, digest string, tiers ...layout.Member) forge.Proposal {
	w.Helper()
	_, err := w.Forge.Propose(w.Context(), w.pushGroup(name, digest, tiers...))
	w.must(err)
	return w.find(tiers[0].Tier)
}

// wantOutcomes checks what became of each member.
func (w *world) wantOutcomes(want forge.Outcome, tiers ...layout.Member) {
	w.Helper()
	for _, m := range tiers {
		w.wantOutcome(m.Tier, m.Digest, want)
	}
}

func groupIsListed(w *world) {
	request := w.pushGroup("level-00", "g1", east("w1"), west("w2"))
	opened, err := w.Forge.Propose(w.Context(), request)
	w.must(err)
	for from, p := range map[string]forge.Proposal{"Propose": opened, "List": w.find(west("").Tier)} {
		if diff := cmp.Diff(request.Carried, p.Carried); diff != "" || p.Seed != "a" || p.Branch != request.Branch {
			w.Errorf("%s: %s of seed %s carries (-want +got):\n%s", from, p.Branch, p.Seed, diff)
		}
		w.wantState(p, "g1")
	}
	if list := w.list(); len(list) != 1 {
		w.Errorf("%d proposals are listed, want 1", len(list))
	}
	w.wantOutcomes(forge.OutcomeNone, east("w1"), west("w2"))
}

func groupIsUpdated(w *world) {
	first := w.proposeGroup("level-00", "g1", east("w1"), west("w1"))
	second := w.proposeGroup("level-00", "w2", west("w2"))
	w.wantState(second, "w2")
	if second.Branch != first.Branch || second.URL != first.URL || second.Has(east("").Tier) {
		w.Errorf("%+v became %+v, want the same proposal without the tier that left", first, second)
	}
	w.wantUnlisted(east("").Tier)
	w.wantOutcomes(forge.OutcomeNone, east("w1"), west("w1"), west("w2"))
	w.must(w.Forge.Merge(w.Context(), second, bob))
	w.wantFile(objectFile(east("").Tier), "")
	w.wantFile(objectFile(west("").Tier), "digest: w2\n")
	w.wantOutcomes(forge.OutcomeNone, east("w1"), west("w1"))
	w.wantOutcomes(forge.OutcomeMerged, west("w2"))
}

// rejectedGroup has two proposals with members in common: each rejects its own members by tier and
// digest, and nothing else of their tiers.
func rejectedGroup(w *world) {
	through := w.proposeGroup("level-00", "g1", east("w1"), west("w2"))
	w.must(w.Forge.Reject(w.Context(), through, bob, "no"))
	w.wantState(w.find(east("").Tier), "g1 rejected")
	w.wantOutcomes(forge.OutcomeRejected, east("w1"), west("w2"))
	w.wantOutcomes(forge.OutcomeNone, east("w2"), west("w1"), memberOn("north", "w1"))

	// Other tiers, and other entries of the same, are proposed beside it.
	beside := w.proposeGroup("level-00.2", "g2", memberOn("north", "w1"), east("w3"))
	w.wantState(beside, "g2")
	w.wantOutcomes(forge.OutcomeRejected, east("w1"), west("w2"))
	w.wantOutcomes(forge.OutcomeNone, east("w3"), memberOn("north", "w1"))
	w.Person.Close(w.T, beside, "not that either")
	w.list()
	w.wantOutcomes(forge.OutcomeRejected, east("w1"), west("w2"), east("w3"), memberOn("north", "w1"))
}

func reopenedGroup(w *world) {
	open := w.proposeGroup("level-00", "g1", east("w1"), west("w2"))
	w.must(w.Forge.Reject(w.Context(), open, bob, "no"))
	w.must(w.Forge.Reopen(w.Context(), w.find(east("").Tier)))
	if again := w.find(east("").Tier); !same(again, open) {
		w.Errorf("%+v became %+v", open, again)
	}
	w.wantOutcomes(forge.OutcomeNone, east("w1"), west("w2"))
}

// groupIsReopenedInAnyOrder takes the rejection of a group back for each branch that is rejected with it: a tier may
// have a branch of its own by now.
func groupIsReopenedInAnyOrder(order func([]forge.Proposal)) func(w *world) {
	return func(w *world) {
		group := w.proposeGroup("level-00", "g1", east("w1"), west("w2"))
		w.must(w.Forge.Reject(w.Context(), group, bob, "no"))
		w.push(east("").Tier, "w1")
		list := w.list()
		order(list)
		for _, p := range list {
			if p.Rejected {
				w.must(w.Forge.Reopen(w.Context(), p))
			}
		}
		for _, m := range []layout.Member{east("w1"), west("w2")} {
			w.wantOutcome(m.Tier, m.Digest, forge.OutcomeNone, forge.OutcomeSuperseded)
		}
	}
}

func mergedGroup(w *world) {
	for i, method := range slices.Sorted(maps.Keys(w.MergeMethods)) {
		members := []layout.Member{memberOn("east-"+string(rune('a'+i)), "w1"), memberOn("west-"+string(rune('a'+i)), "w2")}
		p := w.proposeGroup(fmt.Sprintf("level-%02d", i), "g1", members...)
		w.Person.Merge(w.T, p, method)
		for _, m := range members {
			w.wantFile(objectFile(m.Tier), "digest: "+m.Digest+"\n")
			w.wantUnlisted(m.Tier)
			if w.MergeMethods[method] {
				w.wantOutcomes(forge.OutcomeMerged, m)
			} else {
				w.wantOutcome(m.Tier, m.Digest, forge.OutcomeMerged, forge.OutcomeNone)
			}
		}
		w.wantOutcomes(forge.OutcomeNone, layout.Member{Tier: members[0].Tier, Digest: "w2"}, layout.Member{Tier: members[1].Tier, Digest: "w1"})
		w.must(w.Mirror.Push(w.Context(), []git.Update{{Ref: p.Branch, Old: w.fetch()[p.Branch]}}))
	}
}

// mergedGroupIsReplaced merges one of two members again, alone and with another digest, and removes
// the other by hand. The former replaces what it was merged with; the latter is a revert, so it is
// still Merged.
func mergedGroupIsReplaced(w *world) {
	p := w.proposeGroup("level-00", "g1", east("w1"), west("w1"))
	w.must(w.Forge.Merge(w.Context(), p, bob))
	w.wantOutcomes(forge.OutcomeMerged, east("w1"), west("w1"))
	w.must(w.Forge.Merge(w.Context(), w.propose(east("").Tier, "w2"), bob))
	w.wantOutcomes(forge.OutcomeNone, east("w1"))
	w.wantOutcomes(forge.OutcomeMerged, east("w2"), west("w1"))
	w.Person.Commit(w.T, w.Base, map[string]string{objectFile(west("").Tier): "", reconcilerFile(west("").Tier): ""})
	w.wantOutcomes(forge.OutcomeMerged, east("w2"), west("w1"))
	if !w.ReportsMerge {
		return
	}
	c, err := w.Forge.Closed(w.Context(), w.fetch(), west("").Tier, "w1")
	w.must(err)
	if len(c.Landings) != 1 || c.Landings[0].URL != p.URL {
		w.Errorf("it landed by %+v, want %s", c.Landings, p.URL)
	}
}

func supersededGroup(w *world) {
	p := w.proposeGroup("level-00", "g1", east("w1"), west("w1"))
	w.must(w.Forge.Supersede(w.Context(), p, "its tiers are proposed one by one"))
	w.must(w.Mirror.Push(w.Context(), []git.Update{{Ref: p.Branch, Old: w.fetch()[p.Branch]}}))
	w.wantUnlisted(east("").Tier)
	w.wantOutcomes(forge.OutcomeNone, memberOn("north", "w1"))
	w.wantState(w.propose(east("").Tier, "w1"), "w1")
	w.wantState(w.propose(west("").Tier, "w1"), "w1")
}

func editedGroup(w *world) {
	p := w.proposeGroup("level-00", "g1", east("w1"), west("w1"))
	w.Person.Commit(w.T, p.Branch, map[string]string{objectFile(west("").Tier): "mine\n"})
	w.wantState(w.find(east("").Tier), "g1 edited")
	w.must(w.Forge.Merge(w.Context(), w.find(east("").Tier), bob))
	w.wantFile(objectFile(east("").Tier), "digest: w1\n")
	w.wantFile(objectFile(west("").Tier), "mine\n")
	w.wantOutcomes(forge.OutcomeMerged, east("w1"), west("w1"))
}

func staleGroup(w *world) {
	w.proposeGroup("level-00", "g1", east("w1"), west("w1"))
	w.Person.Commit(w.T, w.Base, map[string]string{west("").Tier.Dir("") + "/more.yaml": "mine\n"})
	w.wantState(w.find(east("").Tier), "g1 stale")
}

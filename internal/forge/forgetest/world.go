package forgetest

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
)

// world is a case's repository, with the engine's part in it.
type world struct {
	*testing.T
	Fixture
	// grafts counts what was grafted: each graft is a minute after the one before.
	grafts int
}

var (
	epoch  = time.Unix(1_800_000_000, 0).UTC()
	furrow = git.Person{Name: "Furrow", Email: "furrow@example.com", When: epoch}
	bob    = git.Person{Name: "Bob", Email: "bob@example.com", When: epoch.Add(time.Hour)}
)

// tier names tier 00 of a seed on the cluster edge-1.
func tier(seed string) layout.Tier { return layout.Tier{Seed: seed, Cluster: "edge-1"} }

func (w *world) branch(t layout.Tier) string { return layout.TierBranch(w.Base, t) }

// objectFile and reconcilerFile are what a tier lands.
func objectFile(t layout.Tier) string { return t.Dir("") + "/object.yaml" }

func reconcilerFile(t layout.Tier) string {
	return t.ReconcilerFile("", "clusters/"+t.Cluster, false)
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) fetch() git.Refs {
	w.Helper()
	refs, err := w.Mirror.Fetch(w.Context(), w.Base)
	w.must(err)
	return refs
}

// push does what the engine does before it proposes: it grafts the tier onto base,
// with content of its digest, and moves the branch.
func (w *world) push(t layout.Tier, digest string) forge.Request {
	w.Helper()
	return w.graft(w.branch(t), forge.Alone(t, digest), false)
}

// pushRemoval grafts a tier away.
func (w *world) pushRemoval(t layout.Tier, digest string) forge.Request {
	w.Helper()
	return w.graft(w.branch(t), forge.Alone(t, digest), true)
}

// pushGroup is push for several tiers of the seed "a".
func (w *world) pushGroup(name, digest string, tiers ...layout.Member) forge.Request {
	w.Helper()
	return w.graft(layout.GroupBranch(w.Base, "a", name), forge.Carried{Digest: digest, Tiers: tiers}, false)
}

// graft makes the commit of a proposal as the engine does: for each tier a directory and a
// reconciler file with the member's digest as their content, or neither if it is removed, on top of
// base as it is now. It pushes the branch and returns the request to open it.
func (w *world) graft(branch string, carried forge.Carried, removal bool) forge.Request {
	w.Helper()
	var edits []git.Edit
	var objects []git.Hash
	for _, m := range carried.Tiers {
		dir, file := git.Edit{Path: m.Tier.Dir("")}, git.Edit{Path: reconcilerFile(m.Tier)}
		if !removal {
			tree, err := w.Mirror.WriteTree(map[string][]byte{"dir/object.yaml": []byte("digest: " + m.Digest + "\n"), "reconciler": []byte(m.Digest)})
			w.must(err)
			source, err := w.Mirror.CommitTree(tree.Hash, nil, git.CommitMeta{Author: furrow, Message: "plan"})
			w.must(err)
			found, err := w.Mirror.Entries(source, []string{"dir", "reconciler"})
			w.must(err)
			dir.Hash, dir.Mode = found["dir"].Hash, git.ModeDir
			file.Hash, file.Mode = found["reconciler"].Hash, git.ModeFile
			objects = append(objects, tree.Objects...)
		}
		edits = append(edits, dir, file)
	}
	refs := w.fetch()
	r := forge.Request{Branch: branch, Carried: carried, Title: "Plant " + carried.Tiers[0].Tier.String(), Body: "What " + carried.Digest + " brings.\n"}
	by := furrow
	w.grafts++
	by.When = epoch.Add(time.Duration(w.grafts) * time.Minute)
	seed := forge.Trailer{Key: forge.TrailerSeed, Value: carried.Tiers[0].Tier.Seed}
	meta := git.CommitMeta{Author: by, Message: forge.AddTrailers(r.Title+"\n\n"+r.Body, append([]forge.Trailer{seed}, carried.Trailers()...))}
	grafted, err := w.Mirror.Graft(refs[w.Base], edits, meta)
	w.must(err)
	r.Head = grafted.Commit
	updates := []git.Update{{Ref: r.Branch, Old: refs[r.Branch], New: r.Head, Objects: append(grafted.Objects, objects...)}}
	records, news, err := w.Forge.Record(refs, "furrow", []forge.Request{r}, by)
	w.must(err)
	if news {
		updates = append(updates, records)
	}
	w.must(w.Mirror.Push(w.Context(), updates))
	return r
}

// propose pushes and opens a proposal, and returns it as it is listed.
func (w *world) propose(t layout.Tier, digest string) forge.Proposal {
	w.Helper()
	_, err := w.Forge.Propose(w.Context(), w.push(t, digest))
	w.must(err)
	return w.find(t)
}

// proposeAnew proposes on a branch that was just deleted, and again, as the engine does in its next
// pass, where the server closes what is opened while it is busy with that.
func (w *world) proposeAnew(t layout.Tier, digest string) forge.Proposal {
	w.Helper()
	request := w.push(t, digest)
	ctx, cancel := context.WithTimeout(w.Context(), busyWithDeletion)
	defer cancel()
	for ctx.Err() == nil {
		if _, err := w.Forge.Propose(ctx, request); !forge.IsGone(err) {
			w.must(err)
		}
		if p, ok := w.listed(t); ok {
			return p
		}
	}
	return w.find(t)
}

// busyWithDeletion is for how long a server may be busy with the deletion of a branch.
const busyWithDeletion = 30 * time.Second

// land proposes a tier with the digest w1 and merges it.
func (w *world) land(t layout.Tier) {
	w.Helper()
	w.must(w.Forge.Merge(w.Context(), w.propose(t, "w1"), bob))
}

func (w *world) list() []forge.Proposal {
	w.Helper()
	list, err := w.Forge.List(w.Context(), w.fetch())
	w.must(err)
	return list
}

// listed returns the proposal that carries a tier, alone or with others.
func (w *world) listed(t layout.Tier) (forge.Proposal, bool) {
	w.Helper()
	list := w.list()
	i := slices.IndexFunc(list, func(p forge.Proposal) bool { return p.Has(t) })
	if i < 0 {
		return forge.Proposal{}, false
	}
	return list[i], true
}

// find returns a proposal that must be listed.
func (w *world) find(t layout.Tier) forge.Proposal {
	w.Helper()
	p, ok := w.listed(t)
	if !ok {
		w.Fatalf("the proposal of %s is not listed", t)
	}
	return p
}

func (w *world) wantUnlisted(t layout.Tier) {
	w.Helper()
	if p, ok := w.listed(t); ok {
		w.Errorf("the proposal of %s is still listed: %s", t, stateOf(p))
	}
}

// wantOutcome checks what became of a closed proposal. Several outcomes are allowed where forges
// differ by design.
func (w *world) wantOutcome(t layout.Tier, digest string, allowed ...forge.Outcome) {
	w.Helper()
	got, err := w.Forge.Closed(w.Context(), w.fetch(), t, digest)
	w.must(err)
	if !slices.Contains(allowed, got.Outcome) {
		w.Errorf("the outcome of %s with %s is %s, want one of %v", t, digest, got.Outcome, allowed)
	}
}

func (w *world) wantState(p forge.Proposal, want string) {
	w.Helper()
	if got := stateOf(p); got != want {
		w.Errorf("the proposal %s is %q, want %q", p.Branch, got, want)
	}
}

// same reports whether two proposals are equal.
func same(a, b forge.Proposal) bool { return cmp.Equal(a, b) }

// wantGate checks what people can read of a proposal's gate, if the forge shows it.
func (w *world) wantGate(p forge.Proposal, shut string) {
	w.Helper()
	if w.Gate == nil {
		return
	}
	if holds, why := w.Gate(w.T, p); holds != (shut == "") || shut != "" && why != shut {
		w.Errorf("the gate holds: %t, %q; want %q", holds, why, shut)
	}
}

// stateOf returns a proposal's state for messages and comparisons: its digest, and what is set of
// edited, rejected and stale, as in "w1 edited".
func stateOf(p forge.Proposal) string {
	flags := map[string]bool{"edited": p.Edited, "rejected": p.Rejected, "stale": p.Stale}
	maps.DeleteFunc(flags, func(_ string, set bool) bool { return !set })
	return strings.Join(append([]string{p.Digest}, slices.Sorted(maps.Keys(flags))...), " ")
}

// wantFile checks what base has at a path; empty means nothing.
func (w *world) wantFile(path, want string) {
	w.Helper()
	entry, ok, err := w.Mirror.Entry(w.fetch()[w.Base], path)
	w.must(err)
	got := ""
	if ok {
		content, err := w.Mirror.Blob(w.Context(), entry.Hash)
		w.must(err)
		got = string(content)
	}
	if got != want {
		w.Errorf("base has %q at %s, want %q", got, path, want)
	}
}

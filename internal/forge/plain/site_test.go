package plain_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/plain"
	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/test/gitcmd"
	"github.com/furrow-dev/furrow/test/people"
)

var (
	furrow = git.Person{Name: "Furrow", Email: "furrow@example.com", When: time.Unix(1_800_000_000, 0).UTC()}
	bob    = git.Person{Name: "Bob", Email: "bob@example.com", When: time.Unix(1_800_003_600, 0).UTC()}
	edge   = layout.Tier{Seed: "a", Cluster: "edge-1"}
)

// site is a bare repository with a forge on a mirror of it.
type site struct {
	*testing.T
	people.Clone
	mirror *git.Mirror
	forge  *plain.Forge
}

func newSite(t *testing.T) *site {
	t.Helper()
	bare, m := newRepository(t)
	return &site{t, people.Clone{Bare: bare}, m, plain.New(m, "main")}
}

// inAnotherProcess is a forge on a mirror of its own.
func (s *site) inAnotherProcess() *plain.Forge {
	s.Helper()
	m, err := git.Open(s.Context(), filepath.Join(s.TempDir(), "mirror"), git.Remote{URL: s.Bare})
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = m.Close() })
	return plain.New(m, "main")
}

func (s *site) refs() git.Refs {
	s.Helper()
	refs, err := s.mirror.Fetch(s.Context(), "main")
	if err != nil {
		s.Fatal(err)
	}
	return refs
}

// push moves a branch that gives the tier a new content, as the engine does.
func (s *site) push(tier layout.Tier, digest string) {
	s.Helper()
	refs, branch := s.refs(), layout.TierBranch("main", tier)
	tree, err := s.mirror.WriteTree(map[string][]byte{"object.yaml": []byte(digest)})
	if err != nil {
		s.Fatal(err)
	}
	message := forge.AddTrailers("Plant "+tier.String(), forge.Alone(tier, digest).Trailers())
	edit := git.Edit{Path: tier.Dir("fleet"), Hash: tree.Hash, Mode: git.ModeDir}
	g, err := s.mirror.Graft(refs["main"], []git.Edit{edit}, git.CommitMeta{Author: furrow, Message: message})
	if err != nil {
		s.Fatal(err)
	}
	update := git.Update{Ref: branch, Old: refs[branch], New: g.Commit, Objects: append(g.Objects, tree.Objects...)}
	if err := s.mirror.Push(s.Context(), []git.Update{update}); err != nil {
		s.Fatal(err)
	}
}

// propose pushes a branch and gives its proposal, the only one.
func (s *site) propose(tier layout.Tier, digest string) forge.Proposal {
	s.Helper()
	s.push(tier, digest)
	return s.only()
}

func (s *site) list() []forge.Proposal {
	s.Helper()
	list, err := s.forge.List(s.Context(), s.refs())
	if err != nil {
		s.Fatal(err)
	}
	return list
}

// only gives the one proposal that is listed.
func (s *site) only() forge.Proposal {
	s.Helper()
	list := s.list()
	if len(list) != 1 {
		s.Fatalf("listed %+v, want one proposal", list)
	}
	return list[0]
}

func (s *site) wantOutcome(digest string, want forge.Outcome) {
	s.Helper()
	got, err := s.forge.Closed(s.Context(), s.refs(), edge, digest)
	if err != nil {
		s.Fatal(err)
	}
	if got.Outcome != want {
		s.Errorf("the outcome of %s is %s, want %s", digest, got.Outcome, want)
	}
}

func (s *site) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func TestMergeShowsWhoAccepted(t *testing.T) {
	s := newSite(t)
	p := s.propose(edge, "w1")
	before := s.refs()["main"]
	s.must(s.forge.Merge(t.Context(), p, bob))
	c, err := s.mirror.Commit(s.refs()["main"])
	s.must(err)
	if diff := cmp.Diff([]git.Hash{before, p.Head}, c.Parents); diff != "" {
		t.Errorf("parents (-want +got):\n%s", diff)
	}
	if want := "Merge furrow/main/tier/a/edge-1/00\n\nPlant a/edge-1/tier-00\n"; c.Message != want || c.Author.Name != "Bob" || c.Committer.Name != "Bob" {
		t.Errorf("got %q by %s and %s, want %q", c.Message, c.Author.Name, c.Committer.Name, want)
	}
	if _, there := s.refs()[p.Branch]; there {
		t.Error("the merged branch is still there")
	}
	if out := gitcmd.Run(t, s.Bare, "fsck", "--strict", "--full", "--no-dangling"); out != "" {
		t.Errorf("git fsck says: %s", out)
	}
}

func TestRejectIsAnEmptyCommit(t *testing.T) {
	s := newSite(t)
	p := s.propose(edge, "w1")
	s.must(s.forge.Reject(t.Context(), p, bob, "no"))
	c, err := s.mirror.Commit(s.refs()[p.Branch])
	s.must(err)
	if want := "Reject " + p.Branch + ": no\n\nFurrow-Rejected: w1\n"; c.Message != want {
		t.Errorf("got %q, want %q", c.Message, want)
	}
	if out := gitcmd.Run(t, s.Bare, "diff", "--stat", p.Head.String(), c.Hash.String()); out != "" {
		t.Errorf("it changes %s", out)
	}
}

func TestWhatABranchSays(t *testing.T) {
	branch := layout.TierBranch("main", edge)
	cases := map[string]struct {
		act func(*site, forge.Proposal)
		// want is "unlisted", or what differs from an open proposal.
		want string
	}{
		"a commit above a rejection takes it back": {
			func(s *site, p forge.Proposal) {
				s.Close(s.T, p, "no")
				s.Commit(s.T, branch, map[string]string{"notes.md": "mine\n"})
			}, "edited",
		},
		"an edit below a rejection stays": {
			func(s *site, p forge.Proposal) {
				s.Commit(s.T, branch, map[string]string{"notes.md": "mine\n"})
				s.Close(s.T, p, "no")
				s.Close(s.T, p, "no!")
			}, "edited rejected (no!)",
		},
		"a rejection of another digest is an edit": {
			func(s *site, p forge.Proposal) {
				p.Digest = "w0"
				s.Close(s.T, p, "no")
			}, "edited",
		},
		"a merged branch that was not deleted is off the list": {
			func(s *site, p forge.Proposal) { s.Merge(s.T, p, "fast-forward") }, "unlisted",
		},
		"a merged branch that was rejected afterwards is off the list": {
			func(s *site, p forge.Proposal) {
				s.Merge(s.T, p, "fast-forward")
				s.Close(s.T, p, "no")
			}, "unlisted",
		},
		"a branch that goes on after its merge is foreign": {
			func(s *site, p forge.Proposal) {
				s.Merge(s.T, p, "fast-forward")
				s.Commit(s.T, branch, map[string]string{"notes.md": "mine\n"})
			}, "edited foreign",
		},
		"Furrow's commit is not searched further down than people go": {
			func(s *site, _ forge.Proposal) {
				dir := s.CheckOut(s.T, branch)
				for range 50 {
					gitcmd.Run(s.T, dir, "commit", "--quiet", "--allow-empty", "-m", "more")
				}
				people.Push(s.T, dir, branch)
			}, "edited foreign",
		},
		"a proposal on a base that was rewritten is stale": {
			func(s *site, _ forge.Proposal) { s.Amend(s.T, "main", map[string]string{"README.md": "new\n"}) }, "stale",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			tc.act(s, s.propose(edge, "w1"))
			got := "unlisted"
			if list := s.list(); len(list) > 0 {
				got = stateOf(list[0])
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func stateOf(p forge.Proposal) string {
	var words []string
	for _, w := range []struct {
		word string
		set  bool
	}{{"edited", p.Edited}, {"foreign", p.Digest == ""}, {"rejected (" + p.Reason + ")", p.Rejected}, {"stale", p.Stale}} {
		if w.set {
			words = append(words, w.word)
		}
	}
	return strings.Join(words, " ")
}

func TestReopenKeepsAnEdit(t *testing.T) {
	s := newSite(t)
	p := s.propose(edge, "w1")
	s.Commit(t, p.Branch, map[string]string{"notes.md": "mine\n"})
	edited := s.only()
	s.must(s.forge.Reject(t.Context(), edited, bob, "no"))
	s.must(s.forge.Reopen(t.Context(), s.only()))
	if again := s.only(); !cmp.Equal(again, edited) {
		t.Errorf("%+v became %+v", edited, again)
	}
}

func TestOutcomeFollowsBase(t *testing.T) {
	s := newSite(t)
	first := s.refs()["main"]
	s.must(s.forge.Merge(t.Context(), s.propose(edge, "w1"), bob))
	s.wantOutcome("w1", forge.OutcomeMerged)
	s.must(s.forge.Merge(t.Context(), s.propose(edge, "w2"), bob))
	s.wantOutcome("w1", forge.OutcomeNone)
	s.wantOutcome("w2", forge.OutcomeMerged)
	gitcmd.Run(t, s.Bare, "update-ref", "refs/heads/main", first.String())
	s.wantOutcome("w1", forge.OutcomeNone)
	s.wantOutcome("w2", forge.OutcomeNone)
}

func TestARejectionIsNewerThanAMerge(t *testing.T) {
	s := newSite(t)
	s.must(s.forge.Merge(t.Context(), s.propose(edge, "w1"), bob))
	s.Commit(t, "main", map[string]string{edge.Dir("fleet") + "/object.yaml": ""})
	p := s.propose(edge, "w1")
	s.wantOutcome("w1", forge.OutcomeMerged)
	s.Close(t, p, "no")
	s.wantOutcome("w1", forge.OutcomeRejected)
}

func TestProcessesMergeAtOnce(t *testing.T) {
	s := newSite(t)
	const processes = 3
	for i := range processes {
		s.push(layout.Tier{Seed: fmt.Sprintf("s%d", i), Cluster: "edge-1"}, "w1")
	}
	var merging sync.WaitGroup
	errs := make([]error, processes)
	for i, p := range s.list() {
		f := s.inAnotherProcess()
		merging.Go(func() { errs[i] = f.Merge(t.Context(), p, bob) })
	}
	merging.Wait()
	for _, err := range errs {
		s.must(err)
	}
	if files := gitcmd.Run(t, s.Bare, "ls-tree", "-r", "--name-only", "main", "fleet"); strings.Count(files, "\n") != processes-1 {
		t.Errorf("base has %s", files)
	}
	if left := s.list(); len(left) > 0 {
		t.Errorf("still listed: %+v", left)
	}
}

func TestAServerThatRefusesIsReported(t *testing.T) {
	s := newSite(t)
	p := s.propose(edge, "w1")
	gitcmd.Run(t, s.Bare, "config", "receive.denyDeletes", "true")
	if err := s.forge.Merge(t.Context(), p, bob); !git.IsRefRefused(err) || !strings.Contains(err.Error(), p.Branch) {
		t.Errorf("got %v, want the branch to be refused", err)
	}
	s.wantOutcome("w1", forge.OutcomeNone)
}

func TestARepositoryWithoutBaseIsReported(t *testing.T) {
	s := newSite(t)
	p := s.propose(edge, "w1")
	gitcmd.Run(t, s.Bare, "update-ref", "-d", "refs/heads/main")
	_, err := s.forge.List(t.Context(), s.refs())
	if err == nil || !strings.Contains(err.Error(), `has no branch "main"`) {
		t.Errorf("got %v", err)
	}
	if err := s.forge.Merge(t.Context(), p, bob); err == nil {
		t.Error("it was merged into nothing")
	}
}

func TestOnlyWhatWasPushedIsProposed(t *testing.T) {
	s := newSite(t)
	p := s.propose(edge, "w1")
	r := forge.Request{Branch: p.Branch, Carried: forge.Alone(edge, "w2"), Head: p.Head}
	if _, err := s.forge.Propose(t.Context(), r); err == nil || !strings.Contains(err.Error(), "Furrow-Digest w2") {
		t.Errorf("got %v, want that the commit has another digest", err)
	}
}

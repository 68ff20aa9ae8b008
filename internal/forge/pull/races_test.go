package pull_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/forgetest"
	"github.com/furrow-dev/furrow/internal/forge/pull"
	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/test/gitcmd"
	"github.com/furrow-dev/furrow/test/people"
)

var (
	furrow = git.Person{Name: "Furrow", Email: "furrow@example.com", When: time.Unix(1_800_000_000, 0).UTC()}
	edge   = layout.Tier{Seed: "a", Cluster: "edge-1"}
	branch = layout.TierBranch("main", edge)
)

func (s *site) refs() git.Refs {
	s.Helper()
	refs, err := s.mirror.Fetch(s.Context(), "main")
	s.must(err)
	return refs
}

// push does the engine's part for tiers of one cluster each: it grafts their branches and pushes
// them with what the forge records.
func (s *site) push(digest string, tiers ...layout.Tier) []forge.Request {
	s.Helper()
	refs := s.refs()
	var updates []git.Update
	var out []forge.Request
	for _, tier := range tiers {
		tree, err := s.mirror.WriteTree(map[string][]byte{"object.yaml": []byte(digest)})
		s.must(err)
		r := forge.Request{Branch: layout.TierBranch("main", tier), Carried: forge.Alone(tier, digest), Title: "Plant " + tier.String(), Body: "What " + digest + " brings.\n", Labels: s.labels}
		message := forge.AddTrailers(r.Title+"\n\n"+r.Body, r.Trailers())
		g, err := s.mirror.Graft(refs["main"], []git.Edit{{Path: tier.Dir(""), Hash: tree.Hash, Mode: git.ModeDir}}, git.CommitMeta{Author: furrow, Message: message})
		s.must(err)
		r.Head = g.Commit
		updates = append(updates, git.Update{Ref: r.Branch, Old: refs[r.Branch], New: g.Commit, Objects: append(g.Objects, tree.Objects...)})
		out = append(out, r)
	}
	records, news, err := s.forge.Record(refs, "acme/prod", out, furrow)
	s.must(err)
	if news {
		updates = append(updates, records)
	}
	s.must(s.mirror.Push(s.Context(), updates))
	return out
}

// keep pushes what the forge records and nothing else, as a pass without other news does.
func (s *site) keep() {
	s.Helper()
	records, news, err := s.forge.Record(s.refs(), "acme/prod", nil, furrow)
	s.must(err)
	if news {
		s.must(s.mirror.Push(s.Context(), []git.Update{records}))
	}
}

func (s *site) list() []forge.Proposal {
	s.Helper()
	list, err := s.forge.List(s.Context(), s.refs())
	s.must(err)
	return list
}

func (s *site) propose(digest string) forge.Proposal {
	s.Helper()
	_, err := s.forge.Propose(s.Context(), s.push(digest, edge)[0])
	s.must(err)
	list := s.list()
	if len(list) != 1 {
		s.Fatalf("listed %+v", list)
	}
	return list[0]
}

func (s *site) outcome(f *pull.Forge, digest string) forge.Closed {
	s.Helper()
	c, err := f.Closed(s.Context(), s.refs(), edge, digest)
	s.must(err)
	return c
}

func (s *site) person() personAt { return personAt{people.Clone{Bare: s.bare}, s.server} }

func (s *site) deleteBranch() { gitcmd.Run(s.T, s.bare, "update-ref", "-d", "refs/heads/"+branch) }

// open returns how many pull requests are open.
func (s *site) open() int {
	n := 0
	for _, r := range s.server.requests {
		if r.State == pull.Open {
			n++
		}
	}
	return n
}

// Whatever people do while no process runs, one that begins afterwards knows it: another token, an
// empty mirror, and no memory.
func TestARestartKnowsTheSame(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		do   func(*site, forge.Proposal)
		want forge.Outcome
	}{
		"nothing":                        {func(*site, forge.Proposal) {}, forge.OutcomeNone},
		"it is closed":                   {func(s *site, p forge.Proposal) { s.person().Close(s.T, p, "not now") }, forge.OutcomeRejected},
		"its branch is deleted":          {func(s *site, _ forge.Proposal) { s.deleteBranch() }, forge.OutcomeRejected},
		"it is merged":                   {func(s *site, p forge.Proposal) { s.person().Merge(s.T, p, forgetest.MergeCommit) }, forge.OutcomeMerged},
		"it is squashed, branch deleted": {func(s *site, p forge.Proposal) { s.person().Merge(s.T, p, forgetest.Squash); s.deleteBranch() }, forge.OutcomeMerged},
		"it is closed and its branch is deleted": {func(s *site, p forge.Proposal) {
			s.person().Close(s.T, p, "not now")
			s.deleteBranch()
		}, forge.OutcomeRejected},
		"Furrow withdraws it, and dies": {func(s *site, p forge.Proposal) {
			s.must(s.forge.Supersede(s.Context(), p, "the plan has changed"))
			s.deleteBranch()
		}, forge.OutcomeSuperseded},
	}
	for name, tc := range cases {
		for _, recorded := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, its number recorded: %t", name, recorded), func(t *testing.T) {
				t.Parallel()
				s := newSite(t)
				_, err := s.forge.Propose(t.Context(), s.push("w1", edge)[0])
				s.must(err)
				if recorded {
					s.list()
					s.keep()
				}
				r := s.server.requests[0]
				tc.do(s, forge.Proposal{Branch: branch, Carried: forge.Alone(edge, "w1"), Number: r.Number, Head: r.Head})
				s.mirror = s.newMirror()
				fresh := s.newForge()
				if got := s.outcome(fresh, "w1"); got.Outcome != tc.want {
					t.Errorf("it is %s, want %s", got.Outcome, tc.want)
				}
				if got := s.outcome(fresh, "w2"); got.Outcome != forge.OutcomeNone {
					t.Errorf("w2, which nobody proposed, is %s", got.Outcome)
				}
				s.forge = fresh
				s.keep()
				s.server.take()
				if got := s.outcome(s.newForge(), "w1"); got.Outcome != tc.want {
					t.Errorf("once it is recorded it is %s, want %s", got.Outcome, tc.want)
				}
				if diff := cmp.Diff([]string{"Open"}, s.server.take()); diff != "" {
					t.Errorf("what is recorded is asked again (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// A process that is killed at any call, or whose answer is lost, leaves one pull request, and the
// next process finishes what it began.
func TestADeathAtAnyCallLeavesOnePullRequest(t *testing.T) {
	t.Parallel()
	for _, lost := range []bool{false, true} {
		for at := 1; ; at++ {
			s := newSite(t)
			calls, dead := 0, false
			die := func(string) error {
				if calls++; calls == at {
					dead = true
				}
				if dead {
					return &forge.Error{Op: "ask", Kind: forge.FailedNetwork, Text: "connection reset"}
				}
				return nil
			}
			if lost {
				s.server.after = die
			} else {
				s.server.before = die
			}
			live := func() error {
				if _, err := s.forge.List(t.Context(), s.refs()); err != nil {
					return err
				}
				if _, err := s.forge.Propose(t.Context(), s.push("w1", edge)[0]); err != nil {
					return err
				}
				if _, err := s.forge.List(t.Context(), s.refs()); err != nil {
					return err
				}
				s.keep()
				list, err := s.forge.List(t.Context(), s.refs())
				if err != nil || len(list) != 1 {
					return errors.Join(err, fmt.Errorf("listed %+v", list))
				}
				if err := s.forge.Supersede(t.Context(), list[0], "the plan has changed"); err != nil {
					return err
				}
				_, err = s.forge.Propose(t.Context(), s.push("w2", edge)[0])
				return err
			}
			if err := live(); err != nil && !dead {
				t.Fatal(err)
			}
			s.server.before, s.server.after = nil, nil
			s.forge = s.newForge()
			list := s.list()
			if len(list) == 0 || list[0].Digest != "w2" || s.open() == 0 {
				if len(list) > 0 && list[0].Digest == "w1" && s.open() > 0 {
					s.must(s.forge.Supersede(t.Context(), list[0], "the plan has changed"))
				}
				_, err := s.forge.Propose(t.Context(), s.push("w2", edge)[0])
				s.must(err)
			}
			list = s.list()
			if n := s.open(); n != 1 || len(list) != 1 || list[0].Digest != "w2" || list[0].Rejected {
				t.Fatalf("killed at call %d, answer lost: %t: %d are open, listed %+v", at, lost, n, list)
			}
			if got := s.outcome(s.forge, "w1"); got.Outcome == forge.OutcomeRejected {
				t.Fatalf("killed at call %d, answer lost: %t: nobody rejected w1, and it is %s", at, lost, got.Outcome)
			}
			if !dead {
				if at < 6 {
					t.Errorf("the story has %d calls only", at-1)
				}
				break
			}
		}
	}
}

// Some servers let two processes open one for a branch in the same moment.
func TestOneOfTwoThatWereOpenedAtOnceIsClosed(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.server.lax = true
	r := s.push("w1", edge)[0]
	for _, f := range []*pull.Forge{s.forge, s.newForge()} {
		_, err := f.Propose(t.Context(), r)
		s.must(err)
	}
	list := s.list()
	if len(list) != 1 || list[0].Number != 2 || s.open() != 2 {
		t.Fatalf("%d are open, listed %+v", s.open(), list)
	}
	s.must(s.forge.Gate(t.Context(), list[0], forge.Gate{}))
	if again := s.list(); s.open() != 1 || !cmp.Equal(again, list) {
		t.Errorf("%d are open, listed %+v", s.open(), again)
	}
	s.keep()
	if got := s.outcome(s.newForge(), "w1"); got.Outcome != forge.OutcomeSuperseded {
		t.Errorf("another process finds it %s", got.Outcome)
	}
	if n := len(s.server.requests); n != 2 {
		t.Errorf("there are %d", n)
	}
}

// Lists of servers lag behind what was done.
func TestAListThatLagsBehindHidesNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.server.hidden[1] = true
	_, err := s.forge.Propose(t.Context(), s.push("w1", edge)[0])
	s.must(err)
	if list := s.list(); len(list) != 1 || list[0].Number != 1 {
		t.Errorf("the process that opened it lists %+v", list)
	}
	s.keep()
	s.forge = s.newForge()
	if list := s.list(); len(list) != 1 || list[0].Number != 1 {
		t.Errorf("another process lists %+v", list)
	}
	if got := s.outcome(s.forge, "w1"); got.Outcome != forge.OutcomeNone {
		t.Errorf("it is %s", got.Outcome)
	}
}

// A server closes a new pull request because it is still busy with the deletion of an earlier branch
// of that name. Nobody has judged it.
func TestWhatTheServerClosesLateIsNotRejected(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.propose("w1")
	r := s.server.requests[0]
	s.server.close(r, pull.Closing{By: "furrow", BranchDeleted: true})
	s.list()
	for _, f := range []*pull.Forge{s.forge, s.newForge()} {
		if got := s.outcome(f, "w1"); got.Outcome != forge.OutcomeNone {
			t.Errorf("it is %s", got.Outcome)
		}
	}
	if _, err := s.forge.Propose(t.Context(), s.push("w1", edge)[0]); err != nil {
		t.Fatal(err)
	}
	if n := s.open(); n != 1 {
		t.Errorf("%d are open", n)
	}
}

// Until a server has closed a pull request whose branch a person deleted, it is rejected already;
// one that base has all of is not.
func TestAServerThatIsSlowToClose(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.server.lateClosing = true
	s.propose("w1")
	s.deleteBranch()
	s.list()
	if got := s.outcome(s.forge, "w1"); got.Outcome != forge.OutcomeRejected {
		t.Errorf("after a person deleted its branch it is %s", got.Outcome)
	}
	s = newSite(t)
	s.server.lateClosing = true
	s.propose("w1")
	s.person().Clone.Commit(t, "main", map[string]string{edge.Dir("") + "/object.yaml": "w1"})
	s.list()
	s.deleteBranch()
	s.list()
	if got := s.outcome(s.forge, "w1"); got.Outcome != forge.OutcomeMerged {
		t.Errorf("after base had all of it and its branch was deleted it is %s", got.Outcome)
	}
	s.server.lateClosing = false
	s.list()
	s.keep()
	if got := s.outcome(s.newForge(), "w1"); got.Outcome != forge.OutcomeMerged {
		t.Errorf("after the server closed it, another process finds it %s", got.Outcome)
	}
}

// A server's clock can be wrong by any time.
func TestAClockThatIsWrongChangesNothing(t *testing.T) {
	t.Parallel()
	for _, skew := range []time.Duration{-30 * 24 * time.Hour, 30 * 24 * time.Hour} {
		s := newSite(t)
		s.server.now = time.Now().Add(skew)
		p := s.propose("w1")
		s.person().Close(t, p, "not now")
		if list := s.list(); len(list) != 1 || !list[0].Rejected || list[0].Reason != "not now" {
			t.Errorf("listed %+v", list)
		}
		if got := s.outcome(s.newForge(), "w1"); got.Outcome != forge.OutcomeRejected {
			t.Errorf("it is %s", got.Outcome)
		}
	}
}

// How a pull request was closed may be known only some time after it is.
func TestTheReasonComesLater(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.propose("w1")
	s.person().Close(t, p, "not now")
	how := s.server.requests[0].closing
	s.server.requests[0].closing = pull.Closing{}
	if list := s.list(); len(list) != 1 || !list[0].Rejected || list[0].Reason != "" {
		t.Errorf("listed %+v", list)
	}
	s.server.requests[0].closing = how
	if list := s.list(); len(list) != 1 || list[0].Reason != "not now" {
		t.Errorf("listed %+v", list)
	}
	s.server.take()
	s.list()
	if diff := cmp.Diff([]string{"Open"}, s.server.take()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// A server that cannot be asked how a pull request was closed is asked again, by another process too:
// until it answers, the tier counts as rejected, and nothing is opened.
func TestHowItWasClosedIsAskedForUntilTheServerAnswers(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.server.lateClosing = true
	s.propose("w1")
	s.deleteBranch()
	s.list()
	p := s.push("w2", edge)[0]
	s.server.lateClosing = false
	at, err := s.forge.Propose(t.Context(), p)
	s.must(err)
	s.server.close(s.server.requests[at.Number-1], pull.Closing{BranchDeleted: true})
	s.server.before = func(call string) error {
		if call == "Closing" {
			return &forge.Error{Op: "read how it was closed", Repository: s.server.String(), Kind: forge.FailedNetwork, Text: "busy"}
		}
		return nil
	}
	for range 2 {
		s.list()
		s.keep()
		if got := s.outcome(s.forge, "w2"); got.Outcome != forge.OutcomeRejected {
			t.Errorf("while it is not known it is %s", got.Outcome)
		}
		s.forge = s.newForge()
	}
	s.server.before = nil
	s.list()
	if got := s.outcome(s.forge, "w2"); got.Outcome != forge.OutcomeNone {
		t.Errorf("once the server says that it closed it, it is %s", got.Outcome)
	}
}

// A comment of long before is not the reason.
func TestOnlyARecentCommentIsTheReason(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.propose("w1")
	s.must(s.server.say(p.Number, "bob", "ship it"))
	s.server.now = s.server.now.Add(time.Hour)
	s.person().Close(t, p, "")
	if list := s.list(); len(list) != 1 || !list[0].Rejected || list[0].Reason != "" {
		t.Errorf("listed %+v", list)
	}
}

// A pull request that an administrator deleted, or a repository that was made anew with the old
// records, does not keep anything else from being observed.
func TestAPullRequestThatTheServerNoLongerHas(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.propose("w1")
	s.keep()
	s.server.requests = nil
	gitcmd.Run(t, s.bare, "update-ref", "-d", "refs/heads/"+branch)
	for _, f := range []*pull.Forge{s.forge, s.newForge()} {
		s.forge = f
		s.list()
		if got := s.outcome(f, "w1"); got.Outcome != forge.OutcomeNone {
			t.Errorf("it is %s", got.Outcome)
		}
	}
	s.server.before = func(call string) error {
		if call == "Repository" || call == "Open" {
			return &forge.Error{Op: call, Repository: s.server.String(), Kind: forge.FailedNotFound, Text: "no such repository"}
		}
		return nil
	}
	if _, err := s.forge.List(t.Context(), s.refs()); !forge.IsFailure(err, forge.FailedNotFound) {
		t.Errorf("without the repository: %v", err)
	}
}

// What base does not require is not shown, unless something else was: a person would read that it
// must not be merged.
func TestTheGateIsShownWhereItIsNeeded(t *testing.T) {
	t.Parallel()
	const why = "a/hub/tier-00 is no longer Released"
	for _, requires := range []bool{false, true} {
		s := newSite(t)
		s.server.requires = forge.Requirements{AllChecks: requires}
		p := s.propose("w1")
		want := func(what string, there, passed bool) {
			t.Helper()
			status, is := s.server.statuses[p.Head]
			if is != there || status.Passed != passed {
				t.Errorf("required: %t, %s: shown %t, %+v", requires, what, is, status)
			}
		}
		want("when it is opened", requires, requires)
		s.must(s.forge.Gate(t.Context(), p, forge.Gate{Shut: why}))
		want("when it must not be merged", true, false)
		s.keep()
		s.forge = s.newForge()
		s.list()
		s.must(s.forge.Gate(t.Context(), p, forge.Gate{}))
		want("when it may be merged, to another process", true, true)
		s.keep()
		s.forge = s.newForge()
		s.list()
		s.server.take()
		s.must(s.forge.Gate(t.Context(), p, forge.Gate{}))
		wantCalls := []string{"Requires"}
		if requires {
			wantCalls = append(wantCalls, "SetStatus")
		}
		if diff := cmp.Diff(wantCalls, s.server.take()); diff != "" {
			t.Errorf("required: %t, a third process (-want +got):\n%s", requires, diff)
		}
	}
}

// Two owners, or two processes of one, write what they know and lose nothing of each other's.
func TestOwnersKeepTheirOwnRecords(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.propose("w1")
	s.keep()
	other := s.newForge()
	if _, err := other.List(t.Context(), s.refs()); err != nil {
		t.Fatal(err)
	}
	s.person().Close(t, p, "not now")
	if list, err := other.List(t.Context(), s.refs()); err != nil || len(list) != 1 || !list[0].Rejected {
		t.Fatalf("listed %+v, %v", list, err)
	}
	records, news, err := other.Record(s.refs(), "acme/test", nil, furrow)
	if err != nil || !news {
		t.Fatal(news, err)
	}
	s.must(s.mirror.Push(t.Context(), []git.Update{records}))
	s.server.take()
	if list := s.list(); len(list) != 1 || !list[0].Rejected || list[0].Reason != "not now" {
		t.Errorf("listed %+v", list)
	}
	if diff := cmp.Diff([]string{"Open"}, s.server.take()); diff != "" {
		t.Errorf("what the other owner recorded is asked again (-want +got):\n%s", diff)
	}
	third := s.newForge()
	if got := s.outcome(third, "w1"); got.Outcome != forge.OutcomeRejected {
		t.Errorf("a third one finds it %s", got.Outcome)
	}
}

// The branch of records can be deleted, or written by somebody else. A process that knows them
// writes them again; one that has just begun asks the server for the branches that are there.
func TestRecordsThatAreDamagedAreWrittenAgain(t *testing.T) {
	t.Parallel()
	damages := map[string]func(*site, string){
		"deleted":         func(s *site, ref string) { gitcmd.Run(s.T, s.bare, "update-ref", "-d", ref) },
		"somebody else's": func(s *site, ref string) { gitcmd.Run(s.T, s.bare, "update-ref", ref, "refs/heads/main") },
	}
	for name, damage := range damages {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, restarted: %t", name, restart), func(t *testing.T) {
				t.Parallel()
				s := newSite(t)
				p := s.propose("w1")
				s.keep()
				s.person().Close(t, p, "not now")
				s.list()
				s.keep()
				damage(s, "refs/heads/"+layout.RecordsBranch("main", "acme/prod"))
				if restart {
					s.forge = s.newForge()
				}
				if list := s.list(); len(list) != 1 || !list[0].Rejected || list[0].Reason != "not now" {
					t.Errorf("listed %+v", list)
				}
				s.keep()
				s.deleteBranch()
				if got := s.outcome(s.newForge(), "w1"); got.Outcome != forge.OutcomeRejected {
					t.Errorf("it is %s", got.Outcome)
				}
			})
		}
	}
}

// fleet returns a tier on each of n clusters.
func fleet(n int) []layout.Tier {
	var out []layout.Tier
	for i := range n {
		out = append(out, layout.Tier{Seed: "a", Cluster: fmt.Sprintf("edge-%d", i)})
	}
	return out
}

func TestCalls(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	want := func(what string, calls ...string) {
		t.Helper()
		got := s.server.take()
		slices.Sort(got)
		slices.Sort(calls)
		if diff := cmp.Diff(calls, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	for _, r := range s.push("w1", fleet(20)...) {
		_, err := s.forge.Propose(t.Context(), r)
		s.must(err)
	}
	want("twenty proposals", append(strings.Fields(strings.Repeat("Create ", 20)), "Requires")...)
	s.list()
	want("a pass after that", "Open")
	s.keep()
	list := s.list()
	want("an idle pass", "Open")
	for i, p := range list {
		if i < 10 {
			s.person().Merge(t, p, forgetest.MergeCommit)
		}
	}
	s.list()
	want("a pass after ten merges", "Open", "Recent")
	s.keep()
	s.forge = s.newForge()
	s.list()
	refs := s.refs()
	for _, tier := range fleet(20) {
		_, err := s.forge.Closed(t.Context(), refs, tier, "w1")
		s.must(err)
	}
	want("a restart", "Open")
}

// A seed that is gone leaves no records, and without records there is no branch.
func TestRecordsGoWithTheirSeed(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.propose("w1")
	s.person().Merge(t, p, forgetest.MergeCommit)
	s.deleteBranch()
	s.list()
	s.keep()
	records := layout.RecordsBranch("main", "acme/prod")
	if _, there := s.refs()[records]; !there {
		t.Fatal("there are no records")
	}
	gitcmd.Run(t, s.bare, "update-ref", "-d", planRef)
	s.list()
	s.keep()
	if _, there := s.refs()[records]; there {
		t.Error("the records are still there")
	}
	s.list()
	s.keep()
	if got := s.propose("w2"); got.Digest != "w2" {
		t.Errorf("listed %+v", got)
	}
}

// A server may show a pull request as open for a while after base has its merge.
func TestAMergeThatTheServerShowsLateIsKnownByItsCommit(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.propose("w1")
	gitcmd.Run(t, s.bare, "update-ref", "refs/heads/main", p.Head.String())
	r := s.server.requests[0]
	r.compared = p.Head.String() + p.Head.String() // the server has not noticed
	s.list()
	s.keep()
	s.deleteBranch()
	r.State, r.Merge, r.Closed = pull.Merged, p.Head, s.server.now
	s.list()
	s.keep()
	for _, f := range []*pull.Forge{s.forge, s.newForge()} {
		if got := s.outcome(f, "w1"); got.Outcome != forge.OutcomeMerged || len(got.Landings) != 1 || got.Landings[0].Merge != p.Head {
			t.Errorf("got %+v", got)
		}
	}
}

// A server may notice a push late, or never. What Furrow pushed itself is withdrawn all the same, and
// what a person pushed is not closed.
func TestTheBranchSaysWhetherAProposalIsWithdrawn(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.propose("w1")
	s.server.late = true
	p := s.propose("w2")
	if first := s.server.requests[0]; p.Head == first.Head {
		t.Fatalf("the server shows %s", first.Head)
	}
	s.must(s.forge.Supersede(t.Context(), p, "the plan has changed"))
	if n := s.open(); n != 0 {
		t.Errorf("%d are open", n)
	}
	if got := s.outcome(s.newForge(), "w2"); got.Outcome != forge.OutcomeSuperseded {
		t.Errorf("it is %s", got.Outcome)
	}
	for _, late := range []bool{false, true} {
		s := newSite(t)
		p := s.propose("w1")
		s.server.late = late
		s.person().Clone.Commit(t, branch, map[string]string{"notes.md": "mine"})
		if err := s.forge.Supersede(t.Context(), p, "the plan has changed"); !forge.IsGone(err) || s.open() != 1 {
			t.Errorf("the server notices it late: %t: %v, and %d are open", late, err, s.open())
		}
		if list := s.list(); len(list) != 1 || !list[0].Edited || list[0].Number != 1 {
			t.Errorf("the server notices it late: %t: listed %+v", late, list)
		}
	}
}

// Lists may go on showing as open what is closed. What it means is not guessed from its branch that
// is gone.
func TestAListThatLagsBehindShowsWhatIsClosedAsOpen(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		do   func(*site, forge.Proposal)
		want forge.Outcome
	}{
		"Furrow withdraws it": {func(s *site, p forge.Proposal) { s.must(s.forge.Supersede(s.Context(), p, "the plan has changed")) }, forge.OutcomeSuperseded},
		"it is squashed":      {func(s *site, p forge.Proposal) { s.person().Merge(s.T, p, forgetest.Squash) }, forge.OutcomeMerged},
		"it is merged":        {func(s *site, p forge.Proposal) { s.person().Merge(s.T, p, forgetest.MergeCommit) }, forge.OutcomeMerged},
		"it is closed":        {func(s *site, p forge.Proposal) { s.person().Close(s.T, p, "not now") }, forge.OutcomeRejected},
		"nothing":             {func(s *site, _ forge.Proposal) { s.server.lateClosing = true }, forge.OutcomeRejected},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			p := s.propose("w1")
			s.keep()
			s.server.shown = []pull.Request{s.server.requests[0].Request}
			tc.do(s, p)
			s.deleteBranch()
			for pass := range 3 {
				for _, f := range []*pull.Forge{s.forge, s.newForge()} {
					if _, err := f.List(t.Context(), s.refs()); err != nil {
						t.Fatal(err)
					}
					if got := s.outcome(f, "w1"); got.Outcome != tc.want {
						t.Errorf("pass %d: it is %s, want %s", pass, got.Outcome, tc.want)
					}
				}
			}
			s.server.take()
			s.list()
			if diff := cmp.Diff([]string{"Open"}, s.server.take()); diff != "" {
				t.Errorf("an idle pass (-want +got):\n%s", diff)
			}
			s.server.shown = nil
			s.list()
			s.keep()
			if got := s.outcome(s.newForge(), "w1"); got.Outcome != tc.want {
				t.Errorf("once the list is right it is %s, want %s", got.Outcome, tc.want)
			}
			if _, err := s.forge.Propose(t.Context(), s.push("w2", edge)[0]); err != nil || s.open() == 0 {
				t.Errorf("the next one: %v", err)
			}
		})
	}
}

// The records of other seeds stay, and are not written again and again.
func TestRecordsOfOneSeedGoOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	other := edge
	other.Seed = "b"
	gitcmd.Run(t, s.bare, "update-ref", "refs/heads/furrow/main/plan/b", "refs/heads/main")
	s.person().Merge(t, s.propose("w1"), forgetest.MergeCommit)
	s.deleteBranch()
	s.list()
	_, err := s.forge.Propose(s.Context(), s.push("o1", other)[0])
	s.must(err)
	s.list()
	s.keep()
	gitcmd.Run(t, s.bare, "update-ref", "-d", planRef)
	for pass := range 3 {
		s.list()
		records, news, err := s.forge.Record(s.refs(), "acme/prod", nil, furrow)
		s.must(err)
		if want := pass == 0; news != want {
			t.Errorf("pass %d has news: %v", pass, news)
		}
		if news {
			s.must(s.mirror.Push(s.Context(), []git.Update{records}))
		}
	}
}

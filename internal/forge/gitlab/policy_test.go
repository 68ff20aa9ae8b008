package gitlab_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/pull"
	"github.com/furrow-dev/furrow/internal/git"
	servers "github.com/furrow-dev/furrow/test/servers/gitlab"
)

// fleetOf is the policy at work on a repository.
type fleetOf struct {
	site
	git   *git.Mirror
	forge forge.Forge
}

func newFleet(t *testing.T) fleetOf {
	t.Helper()
	s := newSite(t)
	s.CheckedAfter(0)
	s.Configure(fleet, func(o *servers.Settings) { o.Free = true })
	return fleetOf{site: s}.restarted()
}

// restarted is the same repository in a new process.
func (f fleetOf) restarted() fleetOf {
	f.Helper()
	m := f.mirror()
	return fleetOf{f.site, m, f.site.forge(m)}
}

var (
	furrow = git.Person{Name: "Furrow", Email: "furrow@example.com", When: time.Unix(1_700_000_000, 0)}
	bob    = git.Person{Name: "Bob", Email: "bob@example.com"}
)

// push pushes what a proposal brings.
func (f fleetOf) push(tier layout.Tier, digest string) forge.Request {
	f.Helper()
	refs, name := f.refs(), layout.TierBranch("main", tier)
	tree, err := f.git.WriteTree(map[string][]byte{"object.yaml": []byte(digest)})
	must(f.T, err)
	r := forge.Request{Branch: name, Carried: forge.Alone(tier, digest), Title: "Plant " + tier.String(), Body: "What " + digest + " brings.\n/close\n"}
	edit := git.Edit{Path: tier.Dir(""), Hash: tree.Hash, Mode: git.ModeDir}
	message := forge.AddTrailers(r.Title+"\n\n"+r.Body, r.Trailers())
	g, err := f.git.Graft(refs["main"], []git.Edit{edit}, git.CommitMeta{Author: furrow, Message: message})
	must(f.T, err)
	r.Head = g.Commit
	updates := []git.Update{{Ref: name, Old: refs[name], New: g.Commit, Objects: append(g.Objects, tree.Objects...)}}
	records, news, err := f.forge.Record(refs, "furrow", []forge.Request{r}, furrow)
	must(f.T, err)
	if news {
		updates = append(updates, records)
	}
	must(f.T, f.git.Push(f.Context(), updates))
	return r
}

func (f fleetOf) refs() git.Refs {
	f.Helper()
	refs, err := f.git.Fetch(f.Context(), "main")
	must(f.T, err)
	return refs
}

func (f fleetOf) list() []forge.Proposal {
	f.Helper()
	list, err := f.forge.List(f.Context(), f.refs())
	must(f.T, err)
	return list
}

// pass lists, and shows all gates.
func (f fleetOf) pass() []forge.Proposal {
	f.Helper()
	list := f.list()
	for _, p := range list {
		must(f.T, f.forge.Gate(f.Context(), p, forge.Gate{}))
	}
	return list
}

// wantRequests checks what do asks of the API. Paths are without the project's.
func (f fleetOf) wantRequests(what string, do func(), want ...string) {
	f.Helper()
	var got []string
	asked := f.asked(do)
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		if !strings.HasPrefix(name, "git ") {
			got = append(got, fmt.Sprint(asked[name], " ", strings.Replace(name, "/projects/:id", "", 1)))
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		f.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestRequestsOfThePolicy(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	const many = 20
	f.wantRequests("a first pass", func() { f.list() }, "1 GET /merge_requests")
	var requests []forge.Request
	for i := range many {
		requests = append(requests, f.push(layout.Tier{Seed: fmt.Sprintf("s%d", i), Cluster: "edge"}, "w1"))
	}
	f.wantRequests("proposals", func() {
		for _, r := range requests {
			_, err := f.forge.Propose(t.Context(), r)
			must(t, err)
		}
	}, "1 GET ", "1 GET /approval_rules", "20 POST /merge_requests")
	var list []forge.Proposal
	f.wantRequests("a pass", func() { list = f.pass() }, "1 GET /merge_requests")
	f.wantRequests("an idle pass", func() { f.pass() }, "1 GET /merge_requests")
	if len(list) != many || f.NotModified()[listPath] != 1 {
		t.Errorf("listed %d, not modified %v", len(list), f.NotModified())
	}
	f.wantRequests("a pass of a new process", func() {
		if list := f.restarted().list(); len(list) != many {
			t.Errorf("listed %d", len(list))
		}
	}, "1 GET /merge_requests")
	const one = "/merge_requests/:merge_request_iid"
	f.wantRequests("a merge", func() { must(t, f.forge.Merge(t.Context(), list[0], bob)) }, "1 GET ", "1 GET "+one, "1 PUT "+one+"/merge")
	f.wantRequests("a rejection", func() { must(t, f.forge.Reject(t.Context(), list[1], bob, "no")) }, "1 GET "+one, "1 POST "+one+"/notes", "1 PUT "+one)
}

func TestALostAnswerOpensNoSecondMergeRequest(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.list()
	r := f.push(layout.Tier{Seed: "a", Cluster: "edge"}, "w1")
	f.Fail("POST /projects/:id/merge_requests", 0)
	if _, err := f.forge.Propose(t.Context(), r); !forge.IsFailure(err, forge.FailedNetwork) {
		t.Fatalf("got %v", err)
	}
	other := f.restarted()
	other.list()
	p, err := other.forge.Propose(t.Context(), r)
	must(t, err)
	if list := f.list(); p.Number != 1 || len(list) != 1 || list[0].Number != 1 {
		t.Errorf("opened as %d, listed %+v", p.Number, list)
	}
}

// GitLab follows pushes in jobs of its own.
func TestMergeRequestsMayFollowPushesLater(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	tier := layout.Tier{Seed: "a", Cluster: "edge"}
	propose := func(digest string) forge.Proposal {
		t.Helper()
		p, err := f.forge.Propose(t.Context(), f.push(tier, digest))
		must(t, err)
		return p
	}
	f.list()
	first := propose("w1")
	f.LagPushes(4)
	f.list()
	second := propose("w2")
	for range 6 {
		list := f.pass()
		if len(list) != 1 || list[0].Number != first.Number || list[0].Digest != "w2" || list[0].Edited || list[0].Stale || list[0].Rejected {
			t.Errorf("listed %+v, want %+v", list, second)
		}
	}
	f.As("ann").DeleteBranch(fleet, second.Branch)
	for range 6 {
		f.pass()
		got, err := f.forge.Closed(t.Context(), f.refs(), tier, "w2")
		must(t, err)
		if got.Outcome != forge.OutcomeRejected {
			t.Errorf("the outcome is %s", got.Outcome)
		}
	}
}

// GitLab may show an earlier commit for any time. The branch says whether a proposal may be withdrawn.
func TestAMergeRequestIsWithdrawnThoughGitLabShowsAnEarlierCommit(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	tier := layout.Tier{Seed: "a", Cluster: "edge"}
	f.list()
	_, err := f.forge.Propose(t.Context(), f.push(tier, "w1"))
	must(t, err)
	f.LagPushes(1000)
	_, err = f.forge.Propose(t.Context(), f.push(tier, "w2"))
	must(t, err)
	list := f.pass()
	if at, err := f.api.Get(t.Context(), 1); err != nil || len(list) != 1 || at.Head == list[0].Head {
		t.Fatalf("GitLab shows %s, %v, and listed are %+v", at.Head, err, list)
	}
	must(t, f.forge.Supersede(t.Context(), list[0], "the plan has changed"))
	if at, err := f.api.Get(t.Context(), 1); err != nil || at.State != pull.Closed {
		t.Errorf("it is %s, %v", at.State, err)
	}
}

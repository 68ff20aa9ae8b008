package github_test

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
	"github.com/furrow-dev/furrow/internal/git"
	servers "github.com/furrow-dev/furrow/test/servers/github"
)

// fleetOf is the policy at work on a repository.
type fleetOf struct {
	site
	git   *git.Mirror
	forge forge.Forge
}

func newFleet(t *testing.T) fleetOf {
	t.Helper()
	return fleetOf{site: newSite(t)}.restarted()
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
	r := forge.Request{Branch: name, Carried: forge.Alone(tier, digest), Title: "Plant " + tier.String(), Body: "What " + digest + " brings.\n"}
	message := forge.AddTrailers(r.Title+"\n\n"+r.Body, r.Trailers())
	g, err := f.git.Graft(refs["main"], []git.Edit{{Path: tier.Dir(""), Hash: tree.Hash, Mode: git.ModeDir}}, git.CommitMeta{Author: furrow, Message: message})
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

// The settings of the repository allow merge commits, and the rules of base do not.
func TestALinearHistoryGetsNoMergeCommits(t *testing.T) {
	t.Parallel()
	for name, ruleset := range map[string]bool{"by a rule": true, "by branch protection": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t)
			f.AddRole(fleet, "bot", "admin")
			f.Protect(fleet, "main", &servers.Protection{Linear: true, Ruleset: ruleset})
			p, err := f.forge.Propose(t.Context(), f.push(layout.Tier{Seed: "web", Cluster: "east"}, "w1"))
			must(t, err)
			must(t, f.forge.Merge(t.Context(), p, bob))
			c, err := f.forge.Closed(t.Context(), f.refs(), layout.Tier{Seed: "web", Cluster: "east"}, "w1")
			must(t, err)
			if c.Outcome != forge.OutcomeMerged {
				t.Errorf("it is %s", c.Outcome)
			}
		})
	}
}

// wantRequests checks what do asks of the API. Paths are without the repository's.
func (f fleetOf) wantRequests(what string, do func(), want ...string) {
	f.Helper()
	var got []string
	asked := f.asked(do)
	for _, route := range slices.Sorted(maps.Keys(asked)) {
		if !strings.HasPrefix(route, "git ") {
			got = append(got, fmt.Sprint(asked[route], " ", strings.Replace(route, "/repos/{owner}/{repo}", "", 1)))
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
	f.wantRequests("a first pass", func() { f.list() }, "1 GET /pulls")
	var requests []forge.Request
	for i := range many {
		requests = append(requests, f.push(layout.Tier{Seed: fmt.Sprintf("s%d", i), Cluster: "edge"}, "w1"))
	}
	f.wantRequests("proposals", func() {
		for _, r := range requests {
			_, err := f.forge.Propose(t.Context(), r)
			must(t, err)
		}
	}, "1 GET /branches/{branch}", "1 GET /rules/branches/{branch}", "20 POST /issues/{issue_number}/labels", "20 POST /pulls")
	pass := func() []forge.Proposal {
		list := f.list()
		for _, p := range list {
			must(t, f.forge.Gate(t.Context(), p, forge.Gate{}))
		}
		return list
	}
	var list []forge.Proposal
	f.wantRequests("a pass", func() { list = pass() }, "1 GET /pulls")
	f.wantRequests("an idle pass", func() { pass() }, "1 GET /pulls")
	if len(list) != many || f.NotModified()[listPulls] != 1 {
		t.Errorf("listed %d, not modified %v", len(list), f.NotModified())
	}
	f.wantRequests("a pass of a new process", func() {
		if list := f.restarted().list(); len(list) != many {
			t.Errorf("listed %d", len(list))
		}
	}, "1 GET /pulls")
	f.wantRequests("a merge", func() { must(t, f.forge.Merge(t.Context(), list[0], bob)) },
		"1 GET ", "1 GET /pulls/{pull_number}", "1 PUT /pulls/{pull_number}/merge")
	f.wantRequests("a rejection", func() { must(t, f.forge.Reject(t.Context(), list[1], bob, "no")) },
		"1 GET /pulls/{pull_number}", "1 PATCH /pulls/{pull_number}", "1 POST /issues/{issue_number}/comments")
}

func TestALostAnswerOpensNoSecondPullRequest(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.list()
	r := f.push(layout.Tier{Seed: "a", Cluster: "edge"}, "w1")
	f.Fail(servers.Fault{Route: "POST /repos/{owner}/{repo}/pulls", Kind: servers.Lost})
	if _, err := f.forge.Propose(t.Context(), r); !forge.IsFailure(err, forge.FailedNetwork) {
		t.Fatalf("got %v", err)
	}
	for _, lag := range []int{0, 3} {
		f.LagLists(lag)
		other := f.restarted()
		other.list()
		p, err := other.forge.Propose(t.Context(), r)
		must(t, err)
		if p.Number != 1 {
			t.Errorf("with lists that are %d reads late it is number %d", lag, p.Number)
		}
	}
	if list := f.list(); len(list) != 1 || list[0].Number != 1 {
		t.Errorf("listed %+v", list)
	}
}

func TestAProposalIsListedOnceGitHubListsIt(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.LagLists(2)
	r := f.push(layout.Tier{Seed: "a", Cluster: "edge"}, "w1")
	p, err := f.forge.Propose(t.Context(), r)
	must(t, err)
	for range 3 {
		list := f.list()
		if len(list) > 1 || len(list) == 1 && list[0].Number != p.Number {
			t.Errorf("listed %+v", list)
		}
		again, err := f.forge.Propose(t.Context(), r)
		must(t, err)
		if again.Number != p.Number {
			t.Errorf("opened again as %d", again.Number)
		}
	}
	if list := f.list(); len(list) != 1 || list[0].Rejected {
		t.Errorf("listed %+v", list)
	}
}

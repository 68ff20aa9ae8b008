package github_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/pull"
	"github.com/furrow-dev/furrow/internal/git"
	servers "github.com/furrow-dev/furrow/test/servers/github"
)

func TestAMergeQueueMerges(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Protect(fleet, "main", &servers.Protection{Queue: true, Ruleset: true})
	r := s.open("a")
	how := pull.Merge{Method: pull.Squash, Head: r.Head}
	if err := s.api.Merge(t.Context(), r.Number, how); !errors.Is(err, pull.ErrMergeQueue) {
		t.Errorf("merged past the queue: %v", err)
	}
	for range 2 { // the second time it is there already
		must(t, s.api.Enqueue(t.Context(), r.Number, how))
	}
	is, err := s.api.Queued(t.Context(), r.Number)
	must(t, err)
	if want := (pull.Queued{Is: true, Why: "at position 1"}); is != want {
		t.Errorf("it is %+v", is)
	}
	s.Dequeue(fleet, int(r.Number), "FAILED_CHECKS")
	is, err = s.api.Queued(t.Context(), r.Number)
	must(t, err)
	if want := (pull.Queued{Why: "failed checks"}); is != want {
		t.Errorf("removed, it is %+v", is)
	}
	must(t, s.api.Enqueue(t.Context(), r.Number, how))
	s.RunQueue(fleet)
	got, err := s.api.Get(t.Context(), r.Number)
	must(t, err)
	if got.State != pull.Merged || got.Merge != s.hash(s.Branch(fleet, "main")) {
		t.Errorf("it is %+v", got)
	}
}

func TestWhatTheQueueRefusesIsExplained(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Protect(fleet, "main", &servers.Protection{Queue: true, Ruleset: true, Reviews: 1})
	r := s.open("a")
	for name, tc := range map[string]struct {
		number int64
		head   git.Hash
		kind   forge.Kind
		says   string
	}{
		"an approval is missing":       {r.Number, r.Head, forge.FailedOther, "At least 1 approving review"},
		"its branch has moved":         {r.Number, git.Hash{1}, "", ""},
		"a number that does not exist": {7, r.Head, "", ""},
	} {
		err := s.api.Enqueue(t.Context(), tc.number, pull.Merge{Head: tc.head})
		if tc.kind == "" && !forge.IsGone(err) || tc.kind != "" && (!forge.IsFailure(err, tc.kind) || !strings.Contains(err.Error(), tc.says)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := s.as(s.Token("eve", "repo")).Queued(t.Context(), r.Number); !forge.IsFailure(err, forge.FailedAuth) {
		t.Errorf("a stranger: %v", err)
	}
	if _, err := s.as("ghp_wrong").Queued(t.Context(), r.Number); !forge.IsFailure(err, forge.FailedAuth) {
		t.Errorf("a wrong token: %v", err)
	}
	s.Fail(servers.Fault{Kind: servers.BadGateway})
	if err := s.api.Enqueue(t.Context(), r.Number, pull.Merge{Head: r.Head}); !forge.IsFailure(err, forge.FailedNetwork) {
		t.Errorf("a server that fails: %v", err)
	}
	// GraphQL has a limit of its own, which is used up here.
	if _, err := s.api.Open(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestTheGraphQLAPIIsBesideTheOther(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"https://github.com/acme/fleet": "https://api.github.com/graphql", "https://git.example.com/acme/fleet": "https://git.example.com/api/graphql",
	} {
		got := &answers{body: func(*http.Request) (body, link string) {
			return `{"data":{"repository":{"pullRequest":{"isInMergeQueue":true}}}}`, ""
		}}
		is, err := newServer(t, url, "secret", got).Queued(t.Context(), 1)
		must(t, err)
		if !is.Is || got.last.URL.String() != want {
			t.Errorf("%s is asked at %s", url, got.last.URL)
		}
	}
}

// TestProposalsGoThroughTheMergeQueue is the policy on a repository with a merge queue.
func TestProposalsGoThroughTheMergeQueue(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.Protect(fleet, "main", &servers.Protection{Queue: true, Ruleset: true})
	f.list()
	tier := layout.Tier{Seed: "a", Cluster: "edge"}
	_, err := f.forge.Propose(t.Context(), f.push(tier, "w1"))
	must(t, err)
	p := f.list()[0]
	for range 2 {
		if err := f.forge.Merge(t.Context(), p, bob); !forge.IsQueued(err) {
			t.Fatalf("got %v", err)
		}
	}
	f.wantRequests("a pass while it is in the queue", func() {
		checks, err := f.forge.Checks(t.Context(), f.list()[0])
		must(t, err)
		if checks.State != forge.ChecksQueued {
			t.Errorf("%+v", checks)
		}
	}, "1 GET /pulls")
	f.RunQueue(fleet)
	if list := f.list(); len(list) > 0 {
		t.Errorf("listed %+v", list)
	}
	closed, err := f.forge.Closed(t.Context(), f.refs(), tier, "w1")
	must(t, err)
	if closed.Outcome != forge.OutcomeMerged {
		t.Errorf("%+v", closed)
	}
}

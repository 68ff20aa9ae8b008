package github_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/github"
	"github.com/furrow-dev/furrow/internal/forge/pull"
	"github.com/furrow-dev/furrow/internal/forge/rest"
	"github.com/furrow-dev/furrow/internal/git"
	servers "github.com/furrow-dev/furrow/test/servers/github"
)

const listPulls = "GET /repos/{owner}/{repo}/pulls"

func TestAPullRequestIsOpened(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	head := s.push("furrow/a", "a.yaml", "a\n")
	var got pull.Request
	asked := s.asked(func() {
		var err error
		got, err = s.api.Create(t.Context(), pull.NewRequest{Branch: "furrow/a", Title: "Plant a", Body: "**text**", Draft: true})
		must(t, err)
	})
	want := pull.Request{
		Number: 1, URL: s.URL + "/acme/fleet/pull/1", Branch: "furrow/a", Title: "Plant a", Body: "**text**",
		Head: head, State: pull.Open, Draft: true, Created: got.Created,
	}
	if diff := cmp.Diff(want, got); diff != "" || time.Since(got.Created).Abs() > time.Hour {
		t.Errorf("opened %s (-want +got):\n%s", got.Created, diff)
	}
	if n := sum(asked); n != 1 {
		t.Errorf("it took %d requests: %v", n, asked)
	}
	_, err := s.api.Create(t.Context(), pull.NewRequest{Branch: "furrow/a", Title: "again"})
	if !errors.Is(err, pull.ErrExists) {
		t.Errorf("a second one: %v", err)
	}
}

func TestOnlyPullRequestsOfOwnBranchesToBaseAreListed(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.open("a")
	s.push("person", "p", "p\n")
	_, err := s.as(s.Token("ann", "repo")).Create(t.Context(), pull.NewRequest{Branch: "person", Title: "By hand"})
	must(t, err)
	closed, other := s.open("closed"), s.open("other")
	must(t, s.As("ann").Close(fleet, int(closed.Number)))
	must(t, s.As("ann").Retarget(fleet, int(other.Number), "a"))
	s.AddRepo("ann/fleet", servers.RepoOptions{ForkOf: fleet, Private: true})
	s.As("ann").PushCommit("ann/fleet", "a", "Theirs\n", map[string]string{"x": "x\n"})
	_, err = s.as(s.Token("ann", "repo")).Create(t.Context(), pull.NewRequest{Branch: "ann:a", Title: "From a fork"})
	if !forge.IsGone(err) {
		t.Errorf("from a fork: %v", err)
	}

	var got []pull.Request
	asked := s.asked(func() {
		var err error
		got, err = s.api.Open(t.Context())
		must(t, err)
	})
	if numbers(sorted(got)) != "[1 2]" || asked[listPulls] != 1 || sum(asked) != 1 {
		t.Errorf("listed %s by %v", numbers(got), asked)
	}
	for _, number := range []int64{other.Number, other.Number + 1} {
		if _, err := s.api.Get(t.Context(), number); !forge.IsGone(err) {
			t.Errorf("number %d: %v", number, err)
		}
	}
	of, err := s.api.OfBranch(t.Context(), "a")
	must(t, err)
	if numbers(of) != "[1]" {
		t.Errorf("of the branch: %s", numbers(of))
	}
}

func TestTheNewestPullRequestOfABranchComesFirst(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.MergeableAfter(0)
	first := s.open("a")
	must(t, s.As("ann").Close(fleet, int(first.Number)))
	second := s.open("a")
	must(t, s.As("ann").Merge(fleet, int(second.Number), "squash"))
	s.open("b")
	third := s.open("a")
	asked := s.asked(func() {
		got, err := s.api.OfBranch(t.Context(), "a")
		must(t, err)
		want := []pull.Request{
			{Number: third.Number, State: pull.Open},
			{Number: second.Number, State: pull.Merged, Merge: s.hash(s.Branch(fleet, "main"))},
			{Number: first.Number, State: pull.Closed},
		}
		only := cmpopts.IgnoreFields(pull.Request{}, "URL", "Branch", "Title", "Body", "Head", "Created", "Closed")
		if diff := cmp.Diff(want, got, only); diff != "" {
			t.Errorf("of the branch (-want +got):\n%s", diff)
		}
		if !got[0].Closed.IsZero() || got[1].Closed.IsZero() || got[1].Branch != "a" || got[1].Head != second.Head {
			t.Errorf("of the branch: %+v", got)
		}
	})
	if sum(asked) != 1 {
		t.Errorf("asked %v", asked)
	}
	if none, err := s.api.OfBranch(t.Context(), "c"); err != nil || len(none) > 0 {
		t.Errorf("of another branch: %v, %v", none, err)
	}
}

func TestTheClosedOnesThatChangedLastComeFirst(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, branch := range []string{"a", "b", "c"} {
		s.open(branch)
	}
	must(t, s.As("ann").Close(fleet, 2))
	s.Advance(time.Minute)
	must(t, s.As("ann").Close(fleet, 1))
	s.Advance(time.Minute)
	must(t, s.As("ann").Comment(fleet, 2, "why?"))
	asked := s.asked(func() {
		got, err := s.api.Recent(t.Context())
		must(t, err)
		if numbers(got) != "[2 1]" {
			t.Errorf("recent: %s", numbers(got))
		}
	})
	if sum(asked) != 1 {
		t.Errorf("asked %v", asked)
	}
}

func TestAnIdlePassIsOneConditionalRequest(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.open("a")
	must(t, failed(s.api.Open(t.Context())))
	asked := s.asked(func() { must(t, failed(s.api.Open(t.Context()))) })
	if sum(asked) != 1 || s.NotModified()[listPulls] != 1 {
		t.Errorf("asked %v, and not modified %v", asked, s.NotModified())
	}
}

func failed[T any](_ T, err error) error { return err }

func TestAConflictIsShownOnceGitHubHasChecked(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.open("a")
	s.push("main", "a.yaml", "other\n")
	for _, want := range []bool{false, true} {
		got, err := s.api.Get(t.Context(), r.Number)
		must(t, err)
		if got.Unmergeable != want {
			t.Errorf("unmergeable is %v, want %v", got.Unmergeable, want)
		}
	}
	if _, err := s.api.Get(t.Context(), 99); !forge.IsGone(err) {
		t.Errorf("one that does not exist: %v", err)
	}
	if _, err := s.as(s.Token("eve", "repo")).Get(t.Context(), r.Number); forge.IsGone(err) || !forge.IsFailure(err, forge.FailedNotFound) {
		t.Errorf("in a repository that is hidden: %v", err)
	}
}

func TestAnEditChangesWhatIsSet(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.open("a")
	must(t, s.As("ann").Label(fleet, 1, "theirs"))
	title, body, closed, open := "New", "", pull.Closed, pull.Open
	for _, tc := range []struct {
		edit pull.Edit
		want pull.Request
	}{
		{pull.Edit{Title: &title}, pull.Request{Title: "New", Body: "text", State: pull.Open}},
		{pull.Edit{Body: &body, State: &closed}, pull.Request{Title: "New", State: pull.Closed}},
		{pull.Edit{State: &open}, pull.Request{Title: "New", State: pull.Open}},
	} {
		asked := s.asked(func() {
			got, err := s.api.Edit(t.Context(), r.Number, tc.edit)
			must(t, err)
			tc.want.Labels = []string{"theirs"}
			tc.want.Number, tc.want.URL, tc.want.Branch, tc.want.Head = r.Number, r.URL, r.Branch, r.Head
			if diff := cmp.Diff(tc.want, got, cmpopts.IgnoreFields(pull.Request{}, "Created", "Closed")); diff != "" {
				t.Errorf("after %+v (-want +got):\n%s", tc.edit, diff)
			}
		})
		if sum(asked) != 1 {
			t.Errorf("%+v took %v", tc.edit, asked)
		}
	}
	must(t, s.As("ann").Close(fleet, 1))
	must(t, s.As("ann").DeleteBranch(fleet, "a"))
	_, err := s.api.Edit(t.Context(), 1, pull.Edit{State: &open})
	if !forge.IsFailure(err, forge.FailedOther) || !strings.Contains(err.Error(), "The a branch has been deleted") {
		t.Errorf("without its branch: %v", err)
	}
}

func TestACommentIsAdded(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.open("a")
	asked := s.asked(func() { must(t, s.api.Comment(t.Context(), r.Number, "superseded")) })
	must(t, s.As("ann").Close(fleet, int(r.Number)))
	got, err := s.api.Closing(t.Context(), r.Number, time.Time{})
	must(t, err)
	if len(got.Said) != 1 || got.Said[0].By != "bot" || got.Said[0].Text != "superseded" || sum(asked) != 1 {
		t.Errorf("%+v, by %v", got, asked)
	}
	if err := s.api.Comment(t.Context(), 99, "x"); !forge.IsFailure(err, forge.FailedNotFound) {
		t.Errorf("on one that does not exist: %v", err)
	}
}

func TestACommitStatusShowsTheGate(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.open("a")
	for passed, want := range map[bool]string{true: "success", false: "failure"} {
		must(t, s.api.SetStatus(t.Context(), r.Head, pull.Status{Context: "furrow/gate", Passed: passed, Text: "waits"}))
		if state, text := s.Status(fleet, r.Head.String(), "furrow/gate"); state != want || text != "waits" {
			t.Errorf("passed %v: %s %q", passed, state, text)
		}
	}
	err := s.api.SetStatus(t.Context(), git.Hash{1}, pull.Status{Context: "furrow/gate"})
	if !forge.IsFailure(err, forge.FailedOther) || !strings.Contains(err.Error(), "No commit found") {
		t.Errorf("of a commit that GitHub does not have: %v", err)
	}
}

func TestARepositoryIsDescribed(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	describe := func() pull.Repository {
		got, err := s.api.Repository(t.Context())
		must(t, err)
		return got
	}
	want := pull.Repository{Methods: []pull.Method{pull.MergeCommit, pull.Squash, pull.Rebase}, DefaultBranch: "main"}
	if diff := cmp.Diff(want, describe()); diff != "" {
		t.Errorf("at first (-want +got):\n%s", diff)
	}
	s.Configure(fleet, func(o *servers.Settings) { o.MergeCommit, o.Archived = false, true })
	want.Methods, want.Archived = want.Methods[1:], true
	if diff := cmp.Diff(want, describe()); diff != "" {
		t.Errorf("archived (-want +got):\n%s", diff)
	}
	if s.api.String() != s.URL+"/acme/fleet" {
		t.Errorf("it is called %s", s.api)
	}
}

func TestABaseBranchMayHaveASlash(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const repo, base = "acme/slashed", "release/1.x"
	s.AddRepo(repo, servers.RepoOptions{DefaultBranch: base, Files: map[string]string{"a": "a\n"}, Roles: map[string]string{"bot": "push"}})
	s.Protect(repo, base, &servers.Protection{Checks: []string{"furrow/gate"}, Ruleset: true})
	s.As("bot").PushCommit(repo, "furrow/a+b#1", "A\n", map[string]string{"a": "b\n"})
	source, err := rest.NewSource(rest.Login{Token: s.Token("bot", "repo")}, rest.Bearer, repo)
	must(t, err)
	api, err := github.New(base, rest.Access{URL: s.GitURL(repo), Source: source})
	must(t, err)
	_, err = api.Create(t.Context(), pull.NewRequest{Branch: "furrow/a+b#1", Title: "A"})
	must(t, err)
	open, err := api.Open(t.Context())
	must(t, err)
	of, err := api.OfBranch(t.Context(), "furrow/a+b#1")
	must(t, err)
	required, err := api.Requires(t.Context())
	must(t, err)
	if len(open) != 1 || len(of) != 1 || !slices.Equal(required.Checks, []string{"furrow/gate"}) {
		t.Errorf("open %v, of the branch %v, required %v", open, of, required)
	}
}

package gitlab_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/pull"
	"github.com/furrow-dev/furrow/internal/forge/rest"
	"github.com/furrow-dev/furrow/internal/git"
	servers "github.com/furrow-dev/furrow/test/servers/gitlab"
)

func TestAMergeRequestIsOpenedWithLabels(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	head := s.push("furrow/a", "a.yaml", "a\n")
	var got pull.Request
	asked := s.asked(func() {
		var err error
		got, err = s.api.Create(t.Context(), pull.NewRequest{Branch: "furrow/a", Title: "Plant a", Body: "**text**", Draft: true, Attributes: pull.Attributes{Labels: []string{"furrow", "seed: a/b"}}})
		must(t, err)
	})
	want := pull.Request{
		Number: 1, URL: s.URL + "/acme/web.apps/fleet/-/merge_requests/1", Branch: "furrow/a", Title: "Draft: Plant a", Body: "**text**",
		Head: head, State: pull.Open, Draft: true, Attributes: pull.Attributes{Labels: []string{"furrow", "seed: a/b"}}, Created: got.Created,
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
	if _, err := s.api.Create(t.Context(), pull.NewRequest{Branch: "none", Title: "no branch"}); !forge.IsFailure(err, forge.FailedOther) {
		t.Errorf("of a branch that is not there: %v", err)
	}
}

// The server fails the test where a text has a line that GitLab would execute.
func TestTextsAreNotExecuted(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.push("a", "a", "a\n")
	body := "/close\ntext /merge\n  /approve\r\n\\/label ~x\n\\\\/etc\n```\n/usr/bin\n```\n"
	r, err := s.api.Create(t.Context(), pull.NewRequest{Branch: "a", Title: "A", Body: body})
	must(t, err)
	edited := body + "/assign @ann"
	for _, edit := range []pull.Edit{{}, {Body: &edited}} {
		want := body
		if edit.Body != nil {
			want = edited
			_, err := s.api.Edit(t.Context(), r.Number, edit)
			must(t, err)
		}
		got, err := s.api.Get(t.Context(), r.Number)
		must(t, err)
		if diff := cmp.Diff(want, got.Body); diff != "" {
			t.Errorf("the text (-want +got):\n%s", diff)
		}
	}
	must(t, s.api.Comment(t.Context(), r.Number, "/reopen"))
}

func TestOnlyMergeRequestsOfOwnBranchesToBaseAreListed(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.open("a")
	s.push("person", "p", "p\n")
	_, err := s.as(s.Token("ann", "api")).Create(t.Context(), pull.NewRequest{Branch: "person", Title: "By hand"})
	must(t, err)
	closed, other := s.open("closed"), s.open("other")
	must(t, s.As("ann").Close(fleet, int(closed.Number)))
	must(t, s.As("ann").Retarget(fleet, int(other.Number), "a"))
	fork := s.fork("a")

	var got []pull.Request
	asked := s.asked(func() {
		var err error
		got, err = s.api.Open(t.Context())
		must(t, err)
	})
	if numbers(sorted(got)) != "[1 2]" || asked[listPath] != 1 || sum(asked) != 1 {
		t.Errorf("listed %s by %v", numbers(got), asked)
	}
	for _, number := range []int64{other.Number, fork} {
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

// fork opens a merge request from a branch of a fork.
func (s site) fork(branch string) int64 {
	s.Helper()
	s.AddProject("ann/fleet", servers.ProjectOptions{ForkOf: fleet, Roles: map[string]servers.Role{"ann": servers.Maintainer}})
	s.As("ann").PushCommit("ann/fleet", branch, "Theirs\n", map[string]string{"x": "x\n"})
	return int64(s.As("ann").OpenFromFork("ann/fleet", branch, "main"))
}

func TestTheNewestMergeRequestOfABranchComesFirst(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	first := s.open("a")
	must(t, s.As("ann").Close(fleet, int(first.Number)))
	second := s.open("a")
	must(t, s.As("ann").Merge(fleet, int(second.Number), true))
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
		only := cmpopts.IgnoreFields(pull.Request{}, "URL", "Branch", "Title", "Body", "Head", "Created", "Closed", "Attributes")
		if diff := cmp.Diff(want, got, only); diff != "" {
			t.Errorf("of the branch (-want +got):\n%s", diff)
		}
		if !got[0].Closed.IsZero() || got[1].Closed.IsZero() || got[2].Closed.IsZero() || got[1].Branch != "a" || got[1].Head != second.Head {
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

func TestTheClosedAndMergedOnesThatChangedLastComeFirst(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, branch := range []string{"a", "b", "c", "d"} {
		s.open(branch)
	}
	act := []func() error{
		func() error { return s.As("ann").Close(fleet, 2) },
		func() error { return s.As("ann").Merge(fleet, 3, false) },
		func() error { return s.As("ann").Close(fleet, 1) },
		func() error { return s.As("ann").Comment(fleet, 2, "why?") },
	}
	for _, do := range act {
		s.Advance(time.Minute)
		must(t, do())
	}
	asked := s.asked(func() {
		got, err := s.api.Recent(t.Context())
		must(t, err)
		if numbers(got) != "[2 1 3]" {
			t.Errorf("recent: %s", numbers(got))
		}
	})
	if sum(asked) != 2 {
		t.Errorf("asked %v", asked)
	}
}

func TestAnIdlePassIsOneConditionalRequest(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.CheckedAfter(0)
	s.open("a")
	must(t, failed(s.api.Open(t.Context())))
	asked := s.asked(func() { must(t, failed(s.api.Open(t.Context()))) })
	if sum(asked) != 1 || s.NotModified()[listPath] != 1 {
		t.Errorf("asked %v, and not modified %v", asked, s.NotModified())
	}
}

func TestAConflictIsShownOnceGitLabHasChecked(t *testing.T) {
	t.Parallel()
	for name, draft := range map[string]string{"ready": "", "draft": "Draft: "} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			r := s.open("a")
			must(t, s.As("ann").Rewrite(fleet, 1, draft+"A", ""))
			s.push("main", "a.yaml", "other\n")
			for _, want := range []bool{false, true} {
				list, err := s.api.Open(t.Context())
				must(t, err)
				if list[0].Unmergeable != want || list[0].Draft != (draft != "") {
					t.Errorf("listed %+v, want unmergeable: %v", list[0], want)
				}
			}
			if got, err := s.api.Get(t.Context(), r.Number); err != nil || !got.Unmergeable {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

func TestAMergeRequestThatIsNotThere(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	if _, err := s.api.Get(t.Context(), 99); !forge.IsGone(err) {
		t.Errorf("one that does not exist: %v", err)
	}
	if _, err := s.as(s.Token("eve", "api")).Get(t.Context(), 1); forge.IsGone(err) || !forge.IsFailure(err, forge.FailedNotFound) {
		t.Errorf("in a project that is hidden: %v", err)
	}
	if _, err := s.api.Closing(t.Context(), 99, time.Time{}); !forge.IsGone(err) {
		t.Errorf("how it was closed: %v", err)
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
			if got.Closed.IsZero() == (got.State == pull.Closed) {
				t.Errorf("%s at %s", got.State, got.Closed)
			}
		})
		if sum(asked) != 1 {
			t.Errorf("%+v took %v", tc.edit, asked)
		}
	}
	must(t, s.As("ann").Close(fleet, 1))
	s.open("a")
	_, err := s.api.Edit(t.Context(), 1, pull.Edit{State: &open})
	if !forge.IsFailure(err, forge.FailedOther) || !strings.Contains(err.Error(), "Another open merge request") {
		t.Errorf("beside another one: %v", err)
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
	for _, tc := range []struct {
		passed     bool
		text, want string
	}{{false, "waits", "failed"}, {false, "waits for b", "failed"}, {true, "released", "success"}, {true, "released", "success"}, {false, "held", "failed"}} {
		must(t, s.api.SetStatus(t.Context(), r.Head, pull.Status{Context: "furrow/gate", Passed: tc.passed, Text: tc.text}))
		if state, text, ref := s.Status(fleet, r.Head.String(), "furrow/gate"); state != tc.want || text != tc.text || ref != "a" {
			t.Errorf("%+v is shown as %s %q on %s", tc, state, text, ref)
		}
	}
	err := s.api.SetStatus(t.Context(), git.Hash{1}, pull.Status{Context: "furrow/gate"})
	if !forge.IsFailure(err, forge.FailedNotFound) || !strings.Contains(err.Error(), "404 Commit Not Found") {
		t.Errorf("of a commit that GitLab does not have: %v", err)
	}
	said := `{"message":"Cannot transition status via :drop from :failed (Reason(s): Status cannot transition via \"drop\")"}`
	api := newServer(t, s.GitURL(fleet), "secret", rest.PrivateToken, instead{http.MethodPost, http.StatusBadRequest, said})
	must(t, api.SetStatus(t.Context(), r.Head, pull.Status{Context: "furrow/gate"}))
}

func TestARepositoryIsDescribed(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	cases := map[string]struct {
		set  func(*servers.Settings)
		want pull.Repository
	}{
		"at first":              {func(*servers.Settings) {}, pull.Repository{Methods: []pull.Method{pull.MergeCommit, pull.Squash}}},
		"a linear history":      {func(o *servers.Settings) { o.MergeMethod = "rebase_merge" }, pull.Repository{Methods: []pull.Method{pull.RebaseMerge, pull.Squash}}},
		"no merge commits":      {func(o *servers.Settings) { o.MergeMethod = "ff"; o.SquashOption = "default_on" }, pull.Repository{Methods: []pull.Method{pull.Squash, pull.FastForward}}},
		"squashing is required": {func(o *servers.Settings) { o.SquashOption = "always" }, pull.Repository{Methods: []pull.Method{pull.Squash}}},
		"squashing is off":      {func(o *servers.Settings) { o.SquashOption = "never" }, pull.Repository{Methods: []pull.Method{pull.MergeCommit}}},
		"archived":              {func(o *servers.Settings) { o.Archived = true }, pull.Repository{Methods: []pull.Method{pull.MergeCommit, pull.Squash}, Archived: true}},
	}
	for name, tc := range cases {
		s.Configure(fleet, func(o *servers.Settings) {
			*o = servers.Settings{MergeMethod: "merge", SquashOption: "default_off"}
			tc.set(o)
		})
		tc.want.DefaultBranch = "main"
		got, err := s.api.Repository(t.Context())
		must(t, err)
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	s.AddProject("acme/empty", servers.ProjectOptions{Roles: map[string]servers.Role{"bot": servers.Developer}})
	empty, err := newServer(t, s.GitURL("acme/empty"), s.Token("bot", "api"), rest.PrivateToken, http.DefaultTransport).Repository(t.Context())
	if err != nil || !empty.Empty {
		t.Errorf("without a push: %+v, %v", empty, err)
	}
	if s.api.String() != s.URL+"/"+fleet {
		t.Errorf("it is called %s", s.api)
	}
}

func TestChecksAreTheLastStatusesAndJobs(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.open("a")
	must(t, s.api.SetStatus(t.Context(), r.Head, pull.Status{Context: "furrow/gate"}))
	must(t, s.api.SetStatus(t.Context(), r.Head, pull.Status{Context: "furrow/gate", Passed: true}))
	want := []pull.Check{{Name: "furrow/gate", State: pull.CheckPassed}}
	for _, job := range []struct {
		state   string
		mayFail bool
		want    pull.CheckState
	}{
		{"success", false, pull.CheckPassed}, {"skipped", false, pull.CheckPassed}, {"failed", false, pull.CheckFailed}, {"failed", true, pull.CheckPassed},
		{"canceled", false, pull.CheckFailed}, {"running", false, ""}, {"pending", true, ""}, {"manual", false, ""}, {"manual", true, pull.CheckPassed},
	} {
		name := fmt.Sprintf("job %d", len(want))
		s.As("ann").RunJob(fleet, r.Head.String(), name, job.state, job.mayFail)
		want = append(want, pull.Check{Name: name, State: job.want})
	}
	for len(want) < 130 {
		name := fmt.Sprintf("job %d", len(want))
		s.As("ann").RunJob(fleet, r.Head.String(), name, "success", false)
		want = append(want, pull.Check{Name: name, State: pull.CheckPassed})
	}
	got, err := s.api.Checks(t.Context(), r.Head)
	must(t, err)
	seen := map[pull.Check]bool{}
	for _, c := range got {
		seen[c] = true
	}
	for _, c := range want {
		if !seen[c] {
			t.Errorf("%+v is missing in %+v", c, got)
		}
	}
}

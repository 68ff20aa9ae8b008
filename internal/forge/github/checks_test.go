package github_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/pull"
	servers "github.com/furrow-dev/furrow/test/servers/github"
)

func TestChecksAreStatusesAndCheckRuns(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	head := s.open("a").Head
	want := map[string]pull.CheckState{"furrow/gate": pull.CheckPassed, "lint": pull.CheckFailed}
	for name, state := range want {
		must(t, s.api.SetStatus(t.Context(), head, pull.Status{Context: name, Passed: state == pull.CheckPassed}))
	}
	for conclusion, state := range map[string]pull.CheckState{
		"success": pull.CheckPassed, "skipped": pull.CheckPassed, "neutral": pull.CheckPassed, "timed_out": pull.CheckFailed, "cancelled": pull.CheckFailed, "": "",
	} {
		s.SetCheck(fleet, head.String(), "run "+conclusion, conclusion)
		want["run "+conclusion] = state
	}
	for i := range 100 {
		name := fmt.Sprint("matrix ", i)
		s.SetCheck(fleet, head.String(), name, "success")
		want[name] = pull.CheckPassed
	}
	got := map[string]pull.CheckState{}
	asked := s.asked(func() {
		checks, err := s.api.Checks(t.Context(), head)
		must(t, err)
		for _, c := range checks {
			got[c.Name] = c.State
		}
	})
	if diff := cmp.Diff(want, got); diff != "" || sum(asked) != 3 {
		t.Errorf("the checks, by %v (-want +got):\n%s", asked, diff)
	}
}

func TestAnAppShowsTheGateAsACheckRun(t *testing.T) {
	t.Parallel()
	write := func(more ...string) map[string]string {
		out := map[string]string{"contents": "write", "pull_requests": "write"}
		for _, name := range more {
			out[name] = "write"
		}
		return out
	}
	for name, tc := range map[string]struct {
		permissions map[string]string
		check       bool
	}{
		"with checks":              {write("checks"), true},
		"with checks and statuses": {write("checks", "statuses"), true},
		"with statuses":            {write("statuses"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.Protect(fleet, "main", &servers.Protection{Checks: []string{"furrow/gate"}})
			r, api := s.open("a"), s.app(tc.permissions)
			must(t, failed(api.Open(t.Context())))
			for _, passed := range []bool{false, true} {
				must(t, api.SetStatus(t.Context(), r.Head, pull.Status{Context: "furrow/gate", Passed: passed, Text: "b is not released"}))
				status, _ := s.Status(fleet, r.Head.String(), "furrow/gate")
				conclusion, title, summary := s.Check(fleet, r.Head.String(), "furrow/gate")
				want := map[bool]string{true: "success", false: "failure"}[passed]
				if tc.check && (conclusion != want || status != "" || title != "b is not released" || summary == "") || !tc.check && (status != want || conclusion != "") {
					t.Errorf("the status is %q, the check run %q (%s: %s)", status, conclusion, title, summary)
				}
			}
			must(t, s.api.Merge(t.Context(), r.Number, pull.Merge{Method: pull.Squash, Head: r.Head}))
		})
	}
}

func TestChecksNeedAPermission(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	head := s.open("a").Head
	_, err := s.as(s.FineGrained("bot", map[string]string{"statuses": "write"}, fleet)).Checks(t.Context(), head)
	if !forge.IsFailure(err, forge.FailedAuth) || !strings.Contains(err.Error(), "the token needs the permission checks=read") {
		t.Error(err)
	}
}

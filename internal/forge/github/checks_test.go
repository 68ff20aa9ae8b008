package github_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/pull"
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

func TestChecksNeedAPermission(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	head := s.open("a").Head
	_, err := s.as(s.FineGrained("bot", map[string]string{"statuses": "write"}, fleet)).Checks(t.Context(), head)
	if !forge.IsFailure(err, forge.FailedAuth) || !strings.Contains(err.Error(), "the token needs the permission checks=read") {
		t.Error(err)
	}
}

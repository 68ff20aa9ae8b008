package gitea_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/forge/gitea"
	"github.com/furrow-dev/furrow/internal/forge/pull"
	"github.com/furrow-dev/furrow/internal/forge/rest"
)

func TestChecksAreTheLastStatusesOfACommit(t *testing.T) {
	s := newSite(t)
	refs, err := s.mirror.Fetch(t.Context(), "main")
	s.must(err)
	head := refs["main"]
	api, err := gitea.New("main", rest.Access{URL: s.url, Source: tokenOf(botToken), Transport: http.DefaultTransport})
	s.must(err)
	got, err := api.Checks(t.Context(), head)
	s.must(err)
	if len(got) > 0 {
		t.Errorf("a commit without statuses has %v", got)
	}
	for _, status := range []pull.Status{{Context: "ci", Passed: false}, {Context: "ci", Passed: true}, {Context: "lint", Passed: false}} {
		s.must(api.SetStatus(t.Context(), head, status))
	}
	got, err = api.Checks(t.Context(), head)
	s.must(err)
	slices.SortFunc(got, func(a, b pull.Check) int { return strings.Compare(a.Name, b.Name) })
	if diff := cmp.Diff([]pull.Check{{Name: "ci", State: pull.CheckPassed}, {Name: "lint", State: pull.CheckFailed}}, got); diff != "" {
		t.Errorf("the checks (-want +got):\n%s", diff)
	}
}

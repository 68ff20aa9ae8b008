package github_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/forge/pull"
	"github.com/furrow-dev/furrow/internal/git"
)

// TestChecksAreStatusesAndCheckRuns answers as the documentation of the REST API says, page by page.
func TestChecksAreStatusesAndCheckRuns(t *testing.T) {
	const commit = "1111111111111111111111111111111111111111"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page := r.URL.Query().Get("page")
		if page == "" || page == "1" {
			w.Header().Set("Link", fmt.Sprintf(`<http://%s%s?page=2>; rel="next"`, r.Host, r.URL.Path))
		}
		w.Header().Set("Content-Type", "application/json")
		switch {
		case !strings.Contains(r.URL.Path, "/commits/"+commit+"/"):
			http.NotFound(w, r)
		case strings.HasSuffix(r.URL.Path, "/status") && page == "2":
			fmt.Fprint(w, `{"state": "failure", "statuses": [{"context": "lint", "state": "error"}]}`)
		case strings.HasSuffix(r.URL.Path, "/status"):
			fmt.Fprint(w, `{"state": "failure", "statuses": [{"context": "furrow/gate", "state": "success"}, {"context": "ci", "state": "pending"}]}`)
		case page == "2":
			fmt.Fprint(w, `{"total_count": 4, "check_runs": [{"name": "e2e", "status": "completed", "conclusion": "timed_out"}]}`)
		default:
			fmt.Fprint(w, `{"total_count": 4, "check_runs": [{"name": "build", "status": "completed", "conclusion": "success"}, {"name": "docs", "status": "completed", "conclusion": "skipped"}, {"name": "test", "status": "in_progress"}]}`)
		}
	}))
	defer server.Close()
	hash, err := git.ParseHash(commit)
	if err != nil {
		t.Fatal(err)
	}
	got, err := newServer(t, server.URL+"/acme/fleet", "token", nil).Checks(t.Context(), hash)
	if err != nil {
		t.Fatal(err)
	}
	want := []pull.Check{
		{Name: "furrow/gate", State: pull.CheckPassed}, {Name: "ci"}, {Name: "lint", State: pull.CheckFailed},
		{Name: "build", State: pull.CheckPassed}, {Name: "docs", State: pull.CheckPassed}, {Name: "test"}, {Name: "e2e", State: pull.CheckFailed},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the checks (-want +got):\n%s", diff)
	}
}

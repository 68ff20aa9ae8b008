package gitlab_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/test/servers/bare"
	"github.com/furrow-dev/furrow/test/servers/gitlab"
)

const (
	fleet = "acme/web/fleet"
	list  = "/projects/acme%2Fweb%2Ffleet/merge_requests"
)

// recorder is a test that keeps failures.
type recorder struct {
	testing.TB
	failures []string
}

func (r *recorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func start(t testing.TB) *gitlab.Server {
	t.Helper()
	s := gitlab.Start(t)
	for _, username := range []string{"ann", "eve"} {
		s.AddUser(username)
	}
	s.AddProject(fleet, gitlab.ProjectOptions{Files: map[string]string{"README.md": "fleet\n"}, Roles: map[string]gitlab.Role{"ann": gitlab.Maintainer}})
	s.As("ann").PushCommit(fleet, "a", "Add a\n", map[string]string{"a": "a\n"})
	return s
}

// ask sends a request and returns its status, header and body.
func ask(t testing.TB, s *gitlab.Server, token, method, path, body string) (int, http.Header, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL+"/api/v4"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Private-Token", token)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header, string(text)
}

func TestWhatGitLabDoesNotDocumentFailsTheTest(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ method, path, body, says string }{
		"a path that is not there":           {"GET", "/projects/1/pulls", "", "no such path"},
		"an unknown parameter":               {"GET", list + "?head=a", "", `unknown parameter "head"`},
		"a parameter that is there twice":    {"GET", list + "?state=all&state=opened", "", "state is there 2 times"},
		"a value that is not allowed":        {"GET", list + "?state=open", "", "state: open is not all,opened"},
		"a number that is none":              {"GET", list + "?per_page=many", "", "per_page: many is not integer"},
		"a body where none is read":          {"GET", list, `{"state":"opened"}`, "a body where none is read"},
		"a query where a body is expected":   {"POST", list + "?title=a", `{}`, "a query where a body is expected"},
		"a parameter that is missing":        {"POST", list, `{"source_branch":"a","target_branch":"main"}`, "title is missing"},
		"a wrong type":                       {"POST", list, `{"source_branch":"a","target_branch":"main","title":"A","labels":["a"]}`, "labels: [a] is not string"},
		"a list with a wrong type":           {"POST", list, `{"source_branch":"a","target_branch":"main","title":"A","reviewer_ids":["ann"]}`, "is not integers"},
		"a body that is not an object":       {"POST", list, `[]`, "the body is not an object"},
		"a description that is executed":     {"POST", list, `{"source_branch":"a","target_branch":"main","title":"A","description":"a\n/close"}`, "GitLab executes"},
		"an order that the server has not":   {"GET", list + "?order_by=title", "", "not modelled"},
		"a filter that the server has not":   {"GET", list + "?author_username=ann", "", "not modelled"},
		"a status with an unknown state":     {"POST", "/projects/1/statuses/1", `{"state":"failure"}`, "state: failure is not pending"},
		"a merge with a parameter of others": {"PUT", list + "/1/merge", `{"commit_title":"a"}`, `unknown parameter "commit_title"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &recorder{TB: t}
			s := start(r)
			ask(t, s, s.Token("ann", "api"), tc.method, tc.path, tc.body)
			if got := strings.Join(r.failures, "\n"); len(r.failures) != 1 || !strings.Contains(got, tc.says) {
				t.Errorf("failures: %q, want %q", got, tc.says)
			}
		})
	}
}

func TestListsHavePages(t *testing.T) {
	t.Parallel()
	s := start(t)
	token := s.Token("ann", "api")
	for i := range 3 {
		branch := fmt.Sprintf("b%d", i)
		s.As("ann").PushCommit(fleet, branch, "Add\n", map[string]string{branch: "b\n"})
		if status, _, body := ask(t, s, token, "POST", list, fmt.Sprintf(`{"source_branch":%q,"target_branch":"main","title":"B"}`, branch)); status != http.StatusCreated {
			t.Fatal(status, body)
		}
	}
	_, header, body := ask(t, s, token, "GET", list+"?per_page=2&page=2&sort=asc", "")
	for name, want := range map[string]string{"X-Total": "3", "X-Total-Pages": "2", "X-Next-Page": "", "X-Prev-Page": "1", "X-Per-Page": "2"} {
		if header.Get(name) != want {
			t.Errorf("%s is %q", name, header.Get(name))
		}
	}
	if !strings.Contains(body, `"iid":3`) || strings.Contains(body, `"iid":1,`) || !strings.Contains(header.Get("Link"), `page=1&per_page=2&sort=asc>; rel="prev"`) {
		t.Errorf("%s: %s", header.Get("Link"), body)
	}
}

func TestAMovedProjectRedirectsWhatReads(t *testing.T) {
	t.Parallel()
	s := start(t)
	token := s.Token("ann", "api")
	s.Rename(fleet, "acme/ships")
	status, header, _ := ask(t, s, token, "GET", list+"?state=opened", "")
	to, err := url.Parse(header.Get("Location"))
	if status != http.StatusMovedPermanently || err != nil || !strings.HasSuffix(to.String(), "/merge_requests?state=opened") {
		t.Fatal(status, to, err)
	}
	if status, _, body := ask(t, s, token, "GET", strings.TrimPrefix(to.RequestURI(), "/api/v4"), ""); status != http.StatusOK {
		t.Error(status, body)
	}
	if status, _, body := ask(t, s, token, "POST", list, `{"source_branch":"a","target_branch":"main","title":"A"}`); status != http.StatusMethodNotAllowed {
		t.Error(status, body)
	}
}

func TestMergeRequestsFollowPushes(t *testing.T) {
	t.Parallel()
	for _, lag := range []int{0, 2} {
		s := start(t)
		s.LagPushes(lag)
		token := s.Token("ann", "api")
		dir := filepath.Join(t.TempDir(), "work")
		run := func(args ...string) {
			t.Helper()
			cmd := exec.CommandContext(t.Context(), "git", args...)
			cmd.Env = append(bare.Env("Ann"), "GIT_TERMINAL_PROMPT=0")
			if args[0] != "clone" {
				cmd.Dir = dir
			}
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("git %v: %v\n%s", args, err, out)
			}
		}
		state := func(want string) {
			t.Helper()
			for range lag {
				ask(t, s, token, "GET", list+"/1", "")
			}
			if _, _, body := ask(t, s, token, "GET", list+"/1", ""); !strings.Contains(body, want) {
				t.Errorf("with a lag of %d: %s is not in %s", lag, want, body)
			}
		}
		run("clone", "-q", strings.Replace(s.GitURL(fleet), "://", "://ann:"+token+"@", 1), dir)
		ask(t, s, token, "POST", list, `{"source_branch":"a","target_branch":"main","title":"A"}`)
		run("checkout", "-q", "a")
		run("commit", "-q", "--allow-empty", "-m", "more")
		run("push", "-q", "origin", "a")
		state(`"sha":"` + s.Branch(fleet, "a"))
		run("push", "-q", "origin", ":a")
		state(`"state":"closed"`)
		run("push", "-q", "origin", "a:b", "a:main")
		if _, _, body := ask(t, s, token, "GET", list+"/1/notes", ""); !strings.Contains(body, "deleted source branch `a`") {
			t.Error(body)
		}
	}
}

func TestGitWantsTokens(t *testing.T) {
	t.Parallel()
	s := start(t)
	for token, want := range map[string]bool{
		"": false, "glpat-wrong": false, s.Token("eve", "api"): false, s.Token("ann", "read_user"): false,
		s.Token("ann", "read_repository"): true, s.ProjectToken(fleet, gitlab.Developer, "write_repository"): true, s.OAuth("ann", "api"): true,
	} {
		cmd := exec.CommandContext(t.Context(), "git", "ls-remote", strings.Replace(s.GitURL(fleet), "://", "://ann:"+token+"@", 1))
		cmd.Env = append(bare.Env("Ann"), "GIT_TERMINAL_PROMPT=0")
		if out, err := cmd.CombinedOutput(); (err == nil) != want {
			t.Errorf("with %q: %v\n%s", token, err, out)
		}
	}
}

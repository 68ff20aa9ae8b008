package gitea_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/gitea"
	"github.com/furrow-dev/furrow/internal/forge/pull"
	"github.com/furrow-dev/furrow/internal/forge/rest"
	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/test/gitcmd"
)

const secret = "s3cr3t-t0ken"

// newStub makes a forge at a server that is not Gitea, on a mirror of a repository
// whose branch main has a commit, which a proposal's branch has, too.
func newStub(t *testing.T, o rest.Access, handle http.HandlerFunc) (forge.Forge, git.Refs) {
	t.Helper()
	web := httptest.NewServer(handle)
	t.Cleanup(web.Close)
	m := newMirror(t)
	refs, err := m.Fetch(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	o.URL = web.URL + "/prefix/acme/fleet.git"
	server, err := gitea.New("main", o)
	if err != nil {
		t.Fatal(err)
	}
	return pull.New(server, m, pull.Options{Base: "main"}), refs
}

func newMirror(t *testing.T) *git.Mirror {
	t.Helper()
	dir := t.TempDir()
	bare := filepath.Join(dir, "remote.git")
	run := func(args ...string) string {
		t.Helper()
		return gitcmd.Run(t, "", args...)
	}
	run("init", "--quiet", "--bare", "--initial-branch=main", bare)
	const emptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
	run("-C", bare, "hash-object", "-t", "tree", "-w", "/dev/null")
	run("-C", bare, "update-ref", "refs/heads/main", run("-C", bare, "commit-tree", "-m", "Start", emptyTree))
	run("-C", bare, "update-ref", "refs/heads/"+branch, "refs/heads/main")
	m, err := git.Open(t.Context(), filepath.Join(dir, "mirror"), git.Remote{URL: bare})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}

func TestFailuresAreReported(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		handle http.HandlerFunc
		kind   forge.Kind
		wait   time.Duration
		says   string
	}{
		"a limit": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusTooManyRequests)
		}, forge.FailedNetwork, 7 * time.Second, "asks to wait"},
		"a limit until a time": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Date", "Mon, 02 Jan 2006 15:04:05 GMT")
			w.Header().Set("Retry-After", "Mon, 02 Jan 2006 15:05:05 GMT")
			w.WriteHeader(http.StatusServiceUnavailable)
		}, forge.FailedNetwork, time.Minute, "status 503"},
		"a limit that is called forbidden": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `{"message":"API rate limit exceeded"}`, http.StatusForbidden)
		}, forge.FailedNetwork, 0, "rate limit"},
		"wrong credentials": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `{"message":"invalid token"}`, http.StatusUnauthorized)
		}, forge.FailedAuth, 0, "check the token"},
		"credentials that may not": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `{"message":"required scope"}`, http.StatusForbidden)
		}, forge.FailedAuth, 0, "write:repository"},
		"no repository": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `{"message":"not found"}`, http.StatusNotFound)
		}, forge.FailedNotFound, 0, "spec.url"},
		"a page of something else": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("<html>welcome</html>"))
		}, forge.FailedNetwork, 0, "did not answer as Gitea does"},
		"a server that repeats what was sent to it": {func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, r.Header.Get("Authorization"), http.StatusInternalServerError)
		}, forge.FailedNetwork, 0, "REDACTED"},
		"a server that hangs up": {func(http.ResponseWriter, *http.Request) {
			panic(http.ErrAbortHandler)
		}, forge.FailedNetwork, 0, "EOF"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for how, o := range map[string]rest.Access{"a token": {Source: tokenOf(secret)}, "a password": {Source: sourceOf(rest.Login{Username: "bot", Password: secret})}} {
				f, refs := newStub(t, o, tc.handle)
				_, err := f.List(t.Context(), refs)
				if !forge.IsFailure(err, tc.kind) {
					t.Fatalf("with %s: got %v, want it to be %s", how, err, tc.kind)
				}
				said := err.Error()
				for _, want := range []string{tc.says, "/prefix/acme/fleet", "list open pull requests"} {
					if !strings.Contains(said, want) {
						t.Errorf("with %s: %q does not say %q", how, said, want)
					}
				}
				if strings.Contains(said, secret) || strings.Contains(said, "Ym90OnMzY3IzdC10MGtlbg") {
					t.Errorf("with %s: %q shows the secret", how, said)
				}
				failure, _ := errors.AsType[*forge.Error](err)
				if kind, wait := failure.Failure(); kind != string(tc.kind) || wait != tc.wait {
					t.Errorf("with %s: it is %s and to wait %s, want %s and %s", how, kind, wait, tc.kind, tc.wait)
				}
			}
		})
	}
}

func TestWhereARedirectLeadsIsReportedWithoutSecrets(t *testing.T) {
	t.Parallel()
	const moved = "http://git.example.com/acme/fleet-new/pulls"
	cases := map[string]struct{ location, says string }{
		"a location":             {moved, moved},
		"a location on the site": {"/acme/fleet-new", "to /acme/fleet-new"},
		"a user":                 {"http://bot:hunter2@git.example.com/acme/fleet-new/pulls", moved},
		"a query":                {moved + "?access_token=hunter2#hunter2", moved},
		"our token":              {"http://git.example.com/" + secret + "/pulls", "http://git.example.com/REDACTED/pulls"},
		"our token in disguise":  {"http://git.example.com/%73" + secret[1:] + "/pulls", "http://git.example.com/REDACTED/pulls"},
		"more than one line":     {"http://git.example.com/a%0ab", "http://git.example.com/a b"},
		"a long one":             {moved + "/" + strings.Repeat("x", 5000), moved},
		"nonsense":               {"http://bot:hunter2@%zz", "an address that cannot be shown"},
		"nothing":                {"", "an address that cannot be shown"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, refs := newStub(t, rest.Access{Source: tokenOf(secret)}, func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Location"] = []string{tc.location}
				w.WriteHeader(http.StatusMovedPermanently)
			})
			_, err := f.List(t.Context(), refs)
			if !forge.IsFailure(err, forge.FailedNotFound) || !strings.Contains(err.Error(), tc.says) {
				t.Fatalf("got %v, want %q", err, tc.says)
			}
			if said := err.Error(); strings.Contains(said, "hunter2") || strings.Contains(said, secret) || len(said) > 1000 {
				t.Errorf("it says %q", said)
			}
		})
	}
}

// Between the listing and the act a person pushes to the branch, which is safe by its
// lease; the pull request is not closed over their commit either.
func TestWhatAPersonPushedToMeanwhileIsNotSuperseded(t *testing.T) {
	t.Parallel()
	const seen = "1111111111111111111111111111111111111111"
	closed := 0
	f, refs := newStub(t, rest.Access{Source: tokenOf(secret)}, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPatch {
			closed++
		}
		_, _ = fmt.Fprint(w, pullOf(7, seen)) // it has not noticed
	})
	p := forge.Proposal{Branch: branch, Carried: forge.Alone(edge, "w1"), Number: 7}
	p.Head, _ = git.ParseHash(seen)
	if err := f.Supersede(t.Context(), p, "the plan has changed"); closed > 0 || !forge.IsGone(err) {
		t.Errorf("got %v, want ErrGone; closed %d times", err, closed)
	}
	p.Head = refs[branch]
	if err := f.Supersede(t.Context(), p, "the plan has changed"); closed != 1 || err != nil {
		t.Errorf("got %v, closed %d times", err, closed)
	}
}

// pullOf is an open pull request as Gitea shows it.
func pullOf(number int, head string) string {
	return fmt.Sprintf(`{"number":%d,"state":"open","html_url":"http://x/acme/fleet/pulls/%[1]d","body":"Furrow-Digest: w1",
		"base":{"ref":"main","repo_id":1},"head":{"label":%[2]q,"ref":%[2]q,"sha":%[3]q,"repo_id":1}}`, number, branch, head)
}

func TestAServerThatRecovers(t *testing.T) {
	t.Parallel()
	failed := false
	f, refs := newStub(t, rest.Access{Source: tokenOf(secret)}, func(w http.ResponseWriter, r *http.Request) {
		if !failed {
			failed = true
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		if r.URL.Path != "/prefix/api/v1/repos/acme/fleet/pulls" || r.Header.Get("Authorization") != "token "+secret || r.URL.Query().Get("base_branch") != "main" {
			t.Errorf("asked for %s", r.URL)
		}
		_, _ = w.Write([]byte("[]"))
	})
	if _, err := f.List(t.Context(), refs); !forge.IsFailure(err, forge.FailedNetwork) {
		t.Errorf("got %v", err)
	}
	if list, err := f.List(t.Context(), refs); err != nil || len(list) != 0 {
		t.Errorf("got %v, %v", list, err)
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		o    rest.Access
		want string
	}{
		"a repository":                 {rest.Access{URL: "https://git.example.com/acme/fleet.git"}, ""},
		"a repository below a prefix":  {rest.Access{URL: "https://git.example.com:3000/git/acme/fleet/"}, ""},
		"credentials in the URL":       {rest.Access{URL: "https://bot:" + secret + "@git.example.com/acme/fleet"}, ""},
		"no repository":                {rest.Access{URL: "https://git.example.com/acme"}, "names no owner and repository"},
		"no server":                    {rest.Access{URL: "/srv/git/fleet.git"}, "is not the URL of a repository on Gitea"},
		"another protocol":             {rest.Access{URL: "ssh://git@git.example.com/acme/fleet"}, "use https://host/owner/name"},
		"a CA bundle that is none":     {rest.Access{URL: "https://git.example.com/acme/fleet", CABundle: []byte("x")}, "no PEM certificate"},
		"a URL that cannot be read":    {rest.Access{URL: "https://bot:" + secret + "@git.example.com/%zz"}, "cannot be parsed"},
		"a secret in the URL, no path": {rest.Access{URL: "https://bot:" + secret + "@git.example.com"}, "names no owner"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.o.Source = tokenOf(secret)
			_, err := gitea.New("main", tc.o)
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("got %v", err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("got %v, want %q", err, tc.want)
			case err != nil && strings.Contains(err.Error(), secret):
				t.Errorf("%v shows the secret", err)
			}
		})
	}
}

// Between the listing and the act a person closes the pull request, or merges it: with what they have seen, or with what
// was pushed since.
func TestWhatAPersonClosedMeanwhileIsNotOpenedAgain(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		digest, closed string
		again          bool
	}{
		"rejected with the same digest": {"w1", `"closed"`, false},
		"rejected with another digest":  {"w2", `"closed"`, true},
		"merged with the same digest":   {"w1", `"closed","merged":true`, false},
		"merged with another digest":    {"w2", `"closed","merged":true`, false},
	}
	for name, c := range cases {
		opened := 0
		var head string
		f, refs := newStub(t, rest.Access{Source: tokenOf(secret)}, func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/pulls"):
				opened++
				w.WriteHeader(http.StatusCreated)
				_, _ = fmt.Fprint(w, pullOf(8, head))
			case r.Method == http.MethodPatch:
				_, _ = fmt.Fprint(w, strings.Replace(pullOf(7, head), `"open"`, c.closed, 1))
			case strings.HasSuffix(r.URL.Path, "/pulls"):
				_, _ = fmt.Fprintf(w, "[%s]", pullOf(7, head))
			default:
				_, _ = fmt.Fprint(w, "{}")
			}
		})
		head = refs["main"].String()
		_, err := f.List(t.Context(), refs)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.Propose(t.Context(), forge.Request{Branch: branch, Carried: forge.Alone(edge, c.digest), Title: "Plant it anew", Head: refs["main"]})
		if forge.IsGone(err) == c.again || (opened == 1) != c.again {
			t.Errorf("%s: got %v, and %d were opened", name, err, opened)
		}
	}
}

// Two processes open one each in the same moment.
func TestOneOfTwoThatWereOpenedAtOnceIsClosed(t *testing.T) {
	t.Parallel()
	var closed []string
	var head string
	f, refs := newStub(t, rest.Access{Source: tokenOf(secret)}, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPatch:
			said, _ := io.ReadAll(r.Body)
			closed = append(closed, r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]+string(said))
			_, _ = fmt.Fprint(w, strings.Replace(pullOf(7, head), `"open"`, `"closed"`, 1))
		case strings.HasSuffix(r.URL.Path, "/pulls"):
			_, _ = fmt.Fprintf(w, "[%s,%s]", pullOf(7, head), pullOf(8, head))
		default:
			_, _ = fmt.Fprint(w, "{}")
		}
	})
	head = refs["main"].String()
	if _, err := f.List(t.Context(), refs); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := f.Gate(t.Context(), forge.Proposal{Branch: branch, Carried: forge.Alone(edge, "w1"), Head: refs["main"]}, forge.Gate{}); err != nil {
			t.Fatal(err)
		}
	}
	if len(closed) != 1 || !strings.HasPrefix(closed[0], "7") || !strings.Contains(closed[0], "Furrow-Superseded") {
		t.Errorf("closed %q", closed)
	}
}

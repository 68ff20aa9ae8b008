package scale

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/test/servers"
)

// gitServer serves bare repositories over HTTP on the loopback interface, with git http-backend.
type gitServer struct {
	dir     string
	url     string
	traffic *traffic
}

// withoutSettings makes git ignore the user's settings.
var withoutSettings = []string{"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1"}

func newGitServer(t testing.TB) *gitServer {
	t.Helper()
	out, err := exec.Command("git", "--exec-path").Output()
	backend := filepath.Join(strings.TrimSpace(string(out)), "git-http-backend")
	if _, statErr := os.Stat(backend); err != nil || statErr != nil {
		servers.Lacks(t, errors.New("git http-backend is not installed: install git"))
	}
	s := &gitServer{dir: t.TempDir(), traffic: newTraffic()}
	handler := &cgi.Handler{
		Path: backend, Root: "/", InheritEnv: []string{"PATH"}, Stderr: io.Discard,
		Env: append([]string{"GIT_PROJECT_ROOT=" + s.dir, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=furrow"}, withoutSettings...),
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.traffic.count(gitCall(r))
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// create creates a repository whose branch main has these files in one commit.
func (s *gitServer) create(t testing.TB, name string, files map[string]string) {
	t.Helper()
	s.git(t, "", "init", "--quiet", "--bare", "--initial-branch=main", s.path(name))
	// Git's own maintenance would disturb measurements.
	for setting, value := range map[string]string{"http.receivepack": "true", "gc.auto": "0", "receive.autogc": "false"} {
		s.git(t, "", "-C", s.path(name), "config", setting, value)
	}
	var in strings.Builder
	fmt.Fprintf(&in, "commit refs/heads/main\ncommitter Ann <ann@example.com> 1700000000 +0000\ndata 5\nfirst\n")
	for _, at := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&in, "M 100644 inline %s\ndata %d\n%s\n", at, len(files[at]), files[at])
	}
	s.git(t, in.String(), "-C", s.path(name), "fast-import", "--quiet")
}

func (s *gitServer) git(t testing.TB, in string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Env = append(os.Environ(), withoutSettings...)
	cmd.Stdin = strings.NewReader(in)
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, said.String())
	}
}

// path returns a repository's directory: people and simulated clusters use it, so
// only the controllers' requests are counted.
func (s *gitServer) path(name string) string { return filepath.Join(s.dir, name+".git") }

// address returns a repository's URL.
func (s *gitServer) address(name string) string { return s.url + "/" + name + ".git" }

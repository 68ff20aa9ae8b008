package git_test

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/furrow-dev/furrow/internal/core/redact"
	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/test/gitcmd"
)

const (
	user  = "robot"
	token = "s3cr3t/tok+en="
)

// server is a bare repository behind HTTPS, served by git http-backend.
type server struct {
	*httptest.Server
	bare     string
	requests atomic.Int64
	// intercept may answer instead of the backend.
	intercept func(http.ResponseWriter, *http.Request) (answered bool)
	// cut ends the answers to POST requests after so many bytes, if it is not 0.
	cut int
}

func serve(t *testing.T, bare string) *server {
	t.Helper()
	out, err := exec.Command("git", "--exec-path").Output()
	backend := filepath.Join(strings.TrimSpace(string(out)), "git-http-backend")
	if _, statErr := os.Stat(backend); err != nil || statErr != nil {
		t.Skip("git http-backend is not installed: NOTHING of HTTPS is tested")
	}
	gitcmd.Run(t, bare, "config", "http.receivepack", "true")
	s := &server{bare: bare}
	handler := &cgi.Handler{Path: backend, Root: "/", Env: []string{
		"GIT_PROJECT_ROOT=" + filepath.Dir(bare), "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=" + user,
		"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
	}, InheritEnv: []string{"PATH"}, Stderr: io.Discard}
	s.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		if s.intercept != nil && s.intercept(w, r) {
			return
		}
		name, password, _ := r.BasicAuth()
		if name == "" || password != token {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			http.Error(w, "no entry with "+password, http.StatusUnauthorized)
			return
		}
		if s.cut > 0 && r.Method == http.MethodPost {
			w = &cutter{w, s.cut}
		}
		handler.ServeHTTP(w, r)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(s.Close)
	return s
}

func (s *server) remote() git.Remote {
	bundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	return git.Remote{URL: s.URL + "/" + filepath.Base(s.bare), Token: token, CABundle: bundle}
}

// offerBlobs lets clients leave blobs out and ask for them later.
func offerBlobs(t testing.TB, bare string) {
	t.Helper()
	gitcmd.Run(t, bare, "config", "uploadpack.allowFilter", "true")
	gitcmd.Run(t, bare, "config", "uploadpack.allowAnySHA1InWant", "true")
}

// renewed is a source whose first tokens the server does not accept.
type renewed struct {
	tokens []string
	err    error
	asked  int
}

func (r *renewed) Login(context.Context) (username, password string, err error) {
	r.asked++
	return user, r.tokens[0], r.err
}

func (r *renewed) Rejected(request *http.Request) bool {
	if _, password, _ := request.BasicAuth(); password != r.tokens[0] || len(r.tokens) == 1 {
		return false
	}
	r.tokens = r.tokens[1:]
	return true
}

func (r *renewed) Secrets() redact.Secrets { return redact.Password(user, r.tokens[0]) }

// limited is the failure of a source.
type limited struct{}

func (limited) Error() string { return "the server asks to wait: " + token }

func (limited) Failure() (kind string, wait time.Duration) { return "network", time.Minute }

func TestCredentialsThatChangeOverHTTPS(t *testing.T) {
	bare := newBare(t)
	base := commitFiles(t, bare, "main", map[string]string{"README.md": "hi\n"})
	s := serve(t, bare)
	cases := map[string]struct {
		source *renewed
		// requests is how many requests the server gets.
		requests int64
		is       func(error) bool
		says     string
	}{
		"a token":                      {source: &renewed{tokens: []string{token}}, requests: 2},
		"a token that was replaced":    {source: &renewed{tokens: []string{"old", token}}, requests: 3},
		"a token that is not accepted": {source: &renewed{tokens: []string{"old"}}, requests: 1, is: git.IsAuth, says: "check the token"},
		"tokens that are not accepted": {source: &renewed{tokens: []string{"old", "older", token}}, requests: 2, is: git.IsAuth},
		"no token": {source: &renewed{tokens: []string{token}, err: limited{}}, is: func(err error) bool {
			wait, ok := git.RetryAfter(err)
			return ok && wait == time.Minute && git.IsTransient(err)
		}, says: "the server asks to wait: REDACTED"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			remote := s.remote()
			remote.Token, remote.Source = "wr0ng-token", tc.source
			before := s.requests.Load()
			refs, err := open(t, remote).Fetch(t.Context(), "main")
			switch {
			case tc.is == nil && (err != nil || refs["main"] != base):
				t.Fatalf("got %v, %v, want main at %s", refs, err, base)
			case tc.is != nil && (!tc.is(err) || !strings.Contains(err.Error(), tc.says) || strings.Contains(err.Error(), token)):
				t.Fatalf("got %v", err)
			}
			if got := s.requests.Load() - before; got != tc.requests {
				t.Errorf("%d requests, want %d", got, tc.requests)
			}
		})
	}
	t.Run("another server", func(t *testing.T) {
		got := "unasked"
		other := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Header.Get("Authorization") }))
		t.Cleanup(other.Close)
		s.intercept = func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, other.URL+r.URL.String(), http.StatusTemporaryRedirect)
			return true
		}
		remote := s.remote()
		remote.Source = &renewed{tokens: []string{token}}
		remote.CABundle = append(remote.CABundle, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: other.Certificate().Raw})...)
		if _, err := open(t, remote).Fetch(t.Context(), "main"); err == nil || got != "" {
			t.Errorf("another server got %q, %v", got, err)
		}
	})
}

func TestCredentialsAndCertificatesOverHTTPS(t *testing.T) {
	bare := newBare(t)
	base := commitFiles(t, bare, "main", map[string]string{"README.md": "hi\n"})
	s := serve(t, bare)
	inURL := func(userinfo string) string {
		return strings.Replace(s.remote().URL, "https://", "https://"+userinfo+"@", 1)
	}
	escaped := "s3cr3t%2Ftok+en%3D"
	cases := map[string]struct {
		change func(*git.Remote)
		is     func(error) bool
	}{
		"a token lets in":                                  {change: func(*git.Remote) {}},
		"a token with a user name lets in":                 {change: func(r *git.Remote) { r.Username = user }},
		"a user name and a password let in":                {change: func(r *git.Remote) { r.Token, r.Username, r.Password = "", user, token }},
		"a user name and a password in the URL let in":     {change: func(r *git.Remote) { r.Token, r.URL = "", inURL(user+":"+escaped) }},
		"a lone token in the URL lets in":                  {change: func(r *git.Remote) { r.Token, r.URL = "", inURL(escaped) }},
		"no credentials do not let in":                     {change: func(r *git.Remote) { r.Token = "" }, is: git.IsAuth},
		"a wrong token does not let in":                    {change: func(r *git.Remote) { r.Token = "wr0ng-token" }, is: git.IsAuth},
		"a repository that is not there is not found":      {change: func(r *git.Remote) { r.URL = s.URL + "/none.git" }, is: git.IsNotFound},
		"an unknown certificate is not trusted":            {change: func(r *git.Remote) { r.CABundle = nil }, is: git.IsUntrusted},
		"a port that nobody listens on is a network error": {change: func(r *git.Remote) { r.URL = "https://127.0.0.1:1/x.git" }, is: git.IsTransient},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			remote := s.remote()
			tc.change(&remote)
			m := open(t, remote)
			refs, err := m.Fetch(t.Context(), "main")
			if tc.is == nil {
				if err != nil || refs["main"] != base {
					t.Fatalf("got %v, %v, want main at %s", refs, err, base)
				}
				return
			}
			if !tc.is(err) {
				t.Fatalf("the error has another kind: %v", err)
			}
			hidesSecrets(t, err, remote, m)
		})
	}
}

// hidesSecrets searches everything that could be printed for the credentials.
func hidesSecrets(t *testing.T, err error, remote git.Remote, m *git.Mirror) {
	t.Helper()
	text := fmt.Sprintf("%v %+v %#v %s %v %+v %#v %v", err, err, err, remote, remote, remote, remote, m)
	for _, secret := range []string{token, "s3cr3t", "wr0ng", "czNjcjN0", "hunter"} {
		if strings.Contains(text, secret) {
			t.Errorf("the credentials %q appear in: %s", secret, text)
		}
	}
}

func TestTwoRemotesWithDifferentCertificatesWorkInOneProcess(t *testing.T) {
	first, second := newBare(t), newBare(t)
	commitFiles(t, first, "main", map[string]string{"a": "1\n"})
	commitFiles(t, second, "main", map[string]string{"b": "2\n"})
	a, b := serve(t, first), serve(t, second)
	b.TLS.MinVersion = tls.VersionTLS12
	fetch(t, open(t, a.remote()))
	fetch(t, open(t, b.remote()))
	confused := b.remote()
	confused.CABundle = []byte("not a certificate")
	if _, err := git.Open(t.Context(), t.TempDir(), confused); err == nil {
		t.Error("a CA bundle without a certificate is taken")
	}
}

func TestAServerThatAsksToWaitIsTransientAndSaysHowLong(t *testing.T) {
	s := serve(t, newBare(t))
	cases := map[string]struct {
		status int
		body   string
		wait   time.Duration
	}{
		"too many requests":        {http.StatusTooManyRequests, "", 7 * time.Second},
		"service unavailable":      {http.StatusServiceUnavailable, "", 7 * time.Second},
		"a rate limit in disguise": {http.StatusForbidden, "You have exceeded a secondary rate limit " + token, 0},
		"an internal server error": {http.StatusInternalServerError, token, 7 * time.Second},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s.intercept = func(w http.ResponseWriter, _ *http.Request) bool {
				w.Header().Set("Retry-After", "7")
				http.Error(w, tc.body, tc.status)
				return true
			}
			m := open(t, s.remote())
			_, err := m.Fetch(t.Context(), "main")
			if wait, _ := git.RetryAfter(err); !git.IsTransient(err) || wait != tc.wait {
				t.Errorf("got %v, wait %s", err, wait)
			}
			hidesSecrets(t, err, s.remote(), m)
		})
	}
}

func TestAPushOverHTTPSGoesThrough(t *testing.T) {
	bare := newBare(t)
	commitFiles(t, bare, "main", map[string]string{"README.md": "hi\n"})
	m := open(t, serve(t, bare).remote())
	base := fetch(t, m)["main"]
	tree, err := m.WriteTree(map[string][]byte{"x.yaml": []byte("x: 1\n")})
	if err != nil {
		t.Fatal(err)
	}
	grafted, err := m.Graft(base, []git.Edit{{Path: "planted/edge", Hash: tree.Hash, Mode: git.ModeDir}}, message("Plant"))
	if err != nil {
		t.Fatal(err)
	}
	update := git.Update{Ref: "furrow/main/x", New: grafted.Commit, Objects: append(tree.Objects, grafted.Objects...)}
	if err := m.Push(t.Context(), []git.Update{update}); err != nil {
		t.Fatal(err)
	}
	if got := at(t, bare, "furrow/main/x"); got != grafted.Commit {
		t.Errorf("the branch is at %s, want %s", got, grafted.Commit)
	}
	fsck(t, bare)
}

func TestBlobsStayOnTheServerUntilTheyAreRead(t *testing.T) {
	bare := newBare(t)
	offerBlobs(t, bare)
	commitFiles(t, bare, "main", map[string]string{
		"seeds/a.yaml": "a: 1\n", "seeds/deep/b.yaml": "b: 2\n", "planted/c.yaml": "c: 3\n", "planted/d.yaml": "d: 4\n"})
	for name, remote := range map[string]git.Remote{"over HTTPS": serve(t, bare).remote(), "on a local path": {URL: bare}} {
		t.Run(name, func(t *testing.T) { readsLazily(t, open(t, remote)) })
	}
}

func readsLazily(t *testing.T, m *git.Mirror) {
	t.Helper()
	base := fetch(t, m)["main"]
	tree, err := m.FS(t.Context(), base)
	if err != nil {
		t.Fatal(err)
	}
	lacking := func(want int) {
		t.Helper()
		got := 0
		err := fs.WalkDir(tree, ".", func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			entry, _, err := m.Entry(base, path)
			if !m.Has(entry.Hash) {
				got++
			}
			return err
		})
		if err != nil || got != want {
			t.Errorf("%d blobs are lacking, want %d (%v)", got, want, err)
		}
	}
	lacking(4)
	if err := m.Prefetch(t.Context(), base, "seeds", "nowhere"); err != nil {
		t.Fatal(err)
	}
	lacking(2)
	content, err := fs.ReadFile(tree, "planted/c.yaml")
	if err != nil || string(content) != "c: 3\n" {
		t.Errorf("got %q, %v", content, err)
	}
	lacking(1)
	if info, err := fs.Stat(tree, "planted/d.yaml"); err != nil || info.Size() != 5 {
		t.Errorf("got %v, %v", info, err)
	}
	lacking(0)
}

func TestAllMissingBlobsOfADirectoryComeInOneRequest(t *testing.T) {
	bare := newBare(t)
	offerBlobs(t, bare)
	files := map[string]string{}
	for i := range 300 {
		files[fmt.Sprintf("seeds/%03d.yaml", i)] = fmt.Sprintf("n: %d\n", i)
	}
	commitFiles(t, bare, "main", files)
	s := serve(t, bare)
	m := open(t, s.remote())
	base := fetch(t, m)["main"]
	before := s.requests.Load()
	for range 2 {
		if err := m.Prefetch(t.Context(), base, "seeds"); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.requests.Load() - before; got != 2 {
		t.Errorf("%d HTTP requests were made, want a listing and one request for blobs", got)
	}
}

func TestSomeBlobsComeInOneRequest(t *testing.T) {
	bare := newBare(t)
	offerBlobs(t, bare)
	files := map[string]string{}
	for i := range 300 {
		files[fmt.Sprintf("seeds/%03d.yaml", i)] = fmt.Sprintf("n: %d\n", i)
	}
	commitFiles(t, bare, "main", files)
	s := serve(t, bare)
	m := open(t, s.remote())
	base := fetch(t, m)["main"]
	found, err := m.Entries(base, []string{"seeds/007.yaml", "seeds/011.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	wanted := []git.Hash{found["seeds/007.yaml"].Hash, found["seeds/011.yaml"].Hash}
	before := s.requests.Load()
	for range 2 {
		if err := m.PrefetchBlobs(t.Context(), wanted); err != nil {
			t.Fatal(err)
		}
	}
	content, err := m.Blob(t.Context(), wanted[1])
	if err != nil || string(content) != "n: 11\n" {
		t.Errorf("got %q, %v", content, err)
	}
	if got := s.requests.Load() - before; got != 2 {
		t.Errorf("%d HTTP requests were made, want a listing and one request for blobs", got)
	}
}

func TestAFetchWithoutNewsTransfersOnlyTheListing(t *testing.T) {
	bare := newBare(t)
	commitFiles(t, bare, "main", map[string]string{"a": "1\n"})
	s := serve(t, bare)
	m := open(t, s.remote())
	fetch(t, m)
	before := s.requests.Load()
	fetch(t, m)
	if got := s.requests.Load() - before; got != 1 {
		t.Errorf("%d HTTP requests were made, want 1", got)
	}
}

// cutter ends the connection after some bytes of the answer.
type cutter struct {
	http.ResponseWriter
	left int
}

func (c *cutter) Write(p []byte) (int, error) {
	if c.left -= len(p); c.left < 0 {
		_, _ = c.ResponseWriter.Write(p[:len(p)/2])
		panic(http.ErrAbortHandler)
	}
	return c.ResponseWriter.Write(p)
}

func TestAFetchThatBreaksOffLeavesTheNextOneFree(t *testing.T) {
	bare := newBare(t)
	files := map[string]string{}
	for i := range 200 {
		files[fmt.Sprintf("d%d/f", i)] = strings.Repeat(fmt.Sprint(i*i), 100)
	}
	base := commitFiles(t, bare, "main", files)
	s := serve(t, bare)
	s.cut = 2000
	dir := filepath.Join(t.TempDir(), "mirror")
	m, err := git.Open(t.Context(), dir, s.remote())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Fetch(t.Context(), "main"); !git.IsNetwork(err) || !git.IsTransient(err) {
		t.Fatalf("got %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "objects/pack/*")); len(left) != 0 || m.Has(base) {
		t.Errorf("the broken fetch left %v", left)
	}
	s.cut = 0
	if got := fetch(t, m)["main"]; got != base {
		t.Errorf("main is at %s, want %s", got, base)
	}
	fsck(t, dir)
}

func TestAServerThatFallsSilentHoldsNobody(t *testing.T) {
	const silence = 500 * time.Millisecond
	bare := newBare(t)
	commitFiles(t, bare, "main", map[string]string{"README.md": "hi\n"})
	s := serve(t, bare)
	remote := s.remote()
	remote.Silence = silence
	m, err := git.Open(t.Context(), filepath.Join(t.TempDir(), "mirror"), remote)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	const nothing, half, slowPack = "", "001e# service=git-upload-pack\n0000", "slow"
	var now atomic.Value
	now.Store(nothing)
	s.intercept = func(w http.ResponseWriter, r *http.Request) bool {
		switch now.Load() {
		case half:
			w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
			_, _ = io.WriteString(w, half)
			w.(http.Flusher).Flush()
			<-r.Context().Done() // until the client hangs up
		case nothing:
			<-r.Context().Done()
		default:
			if r.Method == http.MethodPost {
				slow, done := context.WithTimeout(r.Context(), 2*silence)
				defer done()
				<-slow.Done()
			}
			return false
		}
		return true
	}
	for _, begin := range []string{nothing, half} {
		now.Store(begin)
		if _, err := m.Fetch(t.Context(), "main"); !git.IsTransient(err) || !strings.Contains(err.Error(), "the server said nothing for 500ms") {
			t.Errorf("a server that says %q and no more: got %v", begin, err)
		}
	}
	now.Store(slowPack)
	if _, err := m.Fetch(t.Context(), "main"); err != nil {
		t.Errorf("a server that takes long to make a pack: %v", err)
	}
}

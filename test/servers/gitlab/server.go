package gitlab

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/furrow-dev/furrow/test/servers/bare"
)

// Server is a GitLab for one test. Its methods may be called from different goroutines.
type Server struct {
	URL string // without a slash at the end; the API is at URL + "/api/v4"

	t   testing.TB
	dir string

	mu sync.Mutex
	// signingKey is the public key that the server signs with.
	signingKey string
	lastID     int64
	offset     time.Duration
	users      map[string]*user
	projects   map[string]*project // by lower-case path
	moved      map[string]*project
	tokens     map[string]*token

	perMinute    int
	rates        map[*user]*budget
	checkedAfter int
	lagPushes    int
	hideCloser   bool
	pending      []*pendingPush
	fails        []failure
	requests     map[string]int
	unchanged    map[string]int
}

// pendingPush is what a push does to merge requests, some requests later.
type pendingPush struct {
	left int
	do   func()
}

// failure is how one request fails.
type failure struct {
	name   string
	status int
}

// Start starts a server that ends with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{
		t: t, dir: t.TempDir(), lastID: 1000, perMinute: 2000, checkedAfter: 1,
		users: map[string]*user{}, projects: map[string]*project{}, moved: map[string]*project{}, tokens: map[string]*token{},
		rates: map[*user]*budget{}, requests: map[string]int{}, unchanged: map[string]int{},
	}
	server := httptest.NewServer(s)
	s.URL = server.URL
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return s
}

// ServeHTTP serves Git for paths with ".git/", and the API for all others.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name, serve := r.Method+" "+r.URL.Path, s.serveAPI
	if _, rest, isGit := strings.Cut(r.URL.Path, ".git/"); isGit {
		name, serve = "git "+strings.TrimPrefix(rest, "git-"), s.serveGit
	} else if o, _ := find(r.Method, strings.TrimPrefix(r.URL.EscapedPath(), "/api/v4")); o != nil {
		name = o.name()
	}
	s.requests[name]++
	fails := s.failureOf(name)
	if fails != nil && fails.status != 0 {
		w.WriteHeader(fails.status)
		return
	}
	out := serve(r)
	if fails != nil {
		panic(http.ErrAbortHandler)
	}
	out.SendTo(w)
}

// Fail makes the next request of an operation fail, as Requests names it; all are meant where the
// name is empty. With status 0 it has its effect, and its answer is lost.
func (s *Server) Fail(name string, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fails = append(s.fails, failure{name, status})
}

func (s *Server) failureOf(name string) *failure {
	for i, f := range s.fails {
		if f.name == "" || f.name == name {
			s.fails = append(s.fails[:i:i], s.fails[i+1:]...)
			return &f
		}
	}
	return nil
}

// Advance moves the server's clock: tokens expire, budgets are renewed.
func (s *Server) Advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.offset += d
}

func (s *Server) now() time.Time {
	return time.Now().Add(s.offset).UTC().Truncate(time.Millisecond)
}

// Requests counts the requests since the start or ResetRequests by operation:
// "GET /projects/:id/merge_requests", and for Git "git info/refs", "git upload-pack" and
// "git receive-pack".
func (s *Server) Requests() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.requests)
}

// NotModified counts, as Requests does, the requests that were answered with 304.
func (s *Server) NotModified() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.unchanged)
}

// ResetRequests sets all counts to zero.
func (s *Server) ResetRequests() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.requests)
	clear(s.unchanged)
}

// CheckedAfter sets how many reads of a merge request answer "checking" after its source or target
// changed: 1 at the start; 0 checks at the first read.
func (s *Server) CheckedAfter(reads int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.checkedAfter = reads
}

// LagPushes makes merge requests follow what is pushed from now on only n requests to the API
// later.
func (s *Server) LagPushes(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lagPushes = n
}

// HideCloser makes merge requests not show who closed them; their events do.
func (s *Server) HideCloser() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hideCloser = true
}

// follow does now what a push does to merge requests, or some requests later.
func (s *Server) follow(do func()) {
	if s.lagPushes == 0 && len(s.pending) == 0 {
		do()
		return
	}
	s.pending = append(s.pending, &pendingPush{s.lagPushes, do})
}

// catchUp counts a request, and does what is late.
func (s *Server) catchUp() {
	for _, p := range s.pending {
		p.left--
	}
	for len(s.pending) > 0 && s.pending[0].left <= 0 {
		s.pending[0].do()
		s.pending = s.pending[1:]
	}
}

func text(status int, says string) *bare.Answer {
	out := &bare.Answer{Status: status}
	out.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = out.Write([]byte(says))
	return out
}

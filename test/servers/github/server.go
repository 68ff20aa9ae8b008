package github

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// Server is a GitHub for one test. Its methods may be called from different goroutines.
type Server struct {
	URL string // without a slash at the end; the API is at URL and at URL + "/api/v3"

	t       testing.TB
	checker *checker
	dir     string

	mu      sync.Mutex
	lastID  int64
	offset  time.Duration
	users   map[string]*user
	repos   map[string]*repo // by lower-case full name
	renamed map[string]*repo
	tokens  map[string]*token
	apps    map[int64]*app

	rates            map[string]*budget
	limit            int
	contentPerMinute int
	mergeableAfter   int
	lag              int
	faults           []*Fault
	hooks            []*hook
	outbox           *outbox
	requests         map[string]int
	unchanged        map[string]int
}

// Start starts a server that ends with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	check, err := newChecker()
	if err != nil {
		t.Fatalf("GitHub's description: %v", err)
	}
	s := &Server{
		t: t, checker: check, dir: t.TempDir(),
		lastID: 1000,
		users:  map[string]*user{}, repos: map[string]*repo{}, renamed: map[string]*repo{},
		tokens: map[string]*token{}, apps: map[int64]*app{}, rates: map[string]*budget{},
		limit: 5000, contentPerMinute: 80, mergeableAfter: 1,
		requests: map[string]int{}, unchanged: map[string]int{},
	}
	s.outbox = newOutbox(s)
	server := httptest.NewServer(s)
	s.URL = server.URL
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		s.outbox.end()
	})
	return s
}

// ServeHTTP serves Git for paths with ".git/", GraphQL, and the API for all others.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Date", s.Now().Format(http.TimeFormat))
	if strings.Contains(r.URL.Path, ".git/") {
		s.serveGit(w, r)
		return
	}
	if r.URL.Path == "/graphql" || r.URL.Path == "/api/graphql" {
		s.serveGraphQL(w, r)
		return
	}
	s.serveAPI(w, r)
}

// Now is the server's clock: the real one and what Advance added.
func (s *Server) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now()
}

func (s *Server) now() time.Time { return time.Now().Add(s.offset).UTC().Truncate(time.Second) }

// Advance moves the server's clock: tokens expire, budgets are renewed.
func (s *Server) Advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.offset += d
}

// Requests counts the requests since the start or ResetRequests by route:
// "GET /repos/{owner}/{repo}/pulls", and for Git "git info/refs", "git upload-pack" and
// "git receive-pack".
func (s *Server) Requests() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.requests)
}

// NotModified counts, as Requests does, the requests that were answered with 304 and cost nothing.
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

// MergeableAfter sets how many reads of a pull request answer "mergeable: null" after its base or
// head changed: 1 at the start; 0 computes at the first read.
func (s *Server) MergeableAfter(reads int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mergeableAfter = reads
}

// LagLists makes lists show pull requests that are opened, closed or reopened from now on only from
// the n-th read of a list on; until then they show the state before.
func (s *Server) LagLists(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lag = n
}

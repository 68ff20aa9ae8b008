package github

import (
	"net/http"
)

// Kind is how a request fails.
type Kind int

const (
	// BadGateway answers 502 without any effect.
	BadGateway Kind = iota
	// Lost has its effect, and closes the connection without an answer.
	Lost
)

// Fault makes requests fail.
type Fault struct {
	Route string // as Requests names it; empty: every request
	Kind  Kind
	Times int // how many requests; 0: one
}

// Fail makes the next requests of a route fail. Faults of one route are used up in the order of
// these calls.
func (s *Server) Fail(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.Times = max(f.Times, 1)
	s.faults = append(s.faults, &f)
}

// begin counts a request and returns the fault that it meets, if any.
func (s *Server) begin(name string) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests[name]++
	for _, f := range s.faults {
		if f.Times > 0 && (f.Route == "" || f.Route == name) {
			f.Times--
			return f
		}
	}
	return nil
}

// before is whether the request fails without being handled.
func (f *Fault) before(w http.ResponseWriter) bool {
	if f == nil || f.Kind != BadGateway {
		return false
	}
	w.WriteHeader(http.StatusBadGateway)
	return true
}

// after is whether the answer is lost.
func (f *Fault) after() bool { return f != nil && f.Kind == Lost }

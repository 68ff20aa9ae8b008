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
	// Slow handles the request only once Until is closed, or drops it when the client gives up.
	Slow
)

// Fault makes requests fail.
type Fault struct {
	Route string // as Requests names it; empty: every request
	Kind  Kind
	Times int             // how many requests; 0: one
	Until <-chan struct{} // for Slow
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

// before is whether the request is answered, or dropped, without being handled.
func (f *Fault) before(w http.ResponseWriter, r *http.Request) bool {
	switch {
	case f == nil:
	case f.Kind == BadGateway:
		w.WriteHeader(http.StatusBadGateway)
		return true
	case f.Kind == Slow:
		select {
		case <-f.Until:
		case <-r.Context().Done():
			return true
		}
	}
	return false
}

// after is whether the answer is lost.
func (f *Fault) after() bool { return f != nil && f.Kind == Lost }

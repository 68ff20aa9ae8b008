package flux

import (
	"crypto/sha256"
	"errors"
	"net/http"
	"time"

	"k8s.io/utils/clock"
)

// program is one that a kubeconfig names, to be run whenever a request needs
// credentials. It runs as long as it pleases: client-go waits for it without regard
// to the request's context, and has no way to end it. So a request that waits for it
// is abandoned when its time is over.
type program struct {
	// digest is that of the kubeconfig that names it.
	digest [sha256.Size]byte
	// slots bounds how many requests wait for it, those that were abandoned included.
	slots chan struct{}
	clock clock.Clock
}

const (
	// programSlots is more than a session has under way at once.
	programSlots = 4 * parallelReads
	// abandonAfter is what a request has to return by itself once its time is over.
	abandonAfter = time.Second
)

var errProgram = errors.New("the program that its kubeconfig names for credentials does not return")

// programOf returns the program of a kubeconfig, the same one as long as the kubeconfig is.
func (c *cluster) programOf(a *access) *program {
	switch {
	case a.config.ExecProvider == nil:
		c.program = nil
	case c.program == nil || c.program.digest != a.digest:
		c.program = &program{digest: a.digest, slots: make(chan struct{}, programSlots), clock: c.channel.clock}
	}
	return c.program
}

// abandoning returns when a request's time is over, whatever becomes of the request.
type abandoning struct {
	http.RoundTripper
	program *program
}

// outcome is what a request came to.
type outcome struct {
	response *http.Response
	err      error
}

// RoundTrip implements http.RoundTripper. The request runs in a goroutine of its own: client-go
// waits for the program that makes credentials without regard for the request's context. A request
// whose time is over gets a moment (abandonAfter) to end by itself, with a better error, and is
// then left behind. It keeps its slot until it really ends, so a program that never returns holds a
// bounded number of goroutines.
func (t abandoning) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx := request.Context()
	select {
	case t.program.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, errProgram
	}
	done, abandoned := make(chan outcome), make(chan struct{})
	go func() {
		defer func() { <-t.program.slots }()
		response, err := t.RoundTripper.RoundTrip(request)
		select {
		case done <- outcome{response, err}:
		case <-abandoned:
			if err == nil {
				response.Body.Close()
			}
		}
	}()
	select {
	case o := <-done:
		return o.response, o.err
	case <-ctx.Done():
	}
	timer := t.program.clock.NewTimer(abandonAfter)
	defer timer.Stop()
	select {
	case o := <-done:
		return o.response, o.err
	case <-timer.C():
		close(abandoned)
		return nil, errProgram
	}
}

// prompt hides from client-go when a server that is busy wishes to be asked again:
// it would wait inside of the request, and nobody would learn that it was refused.
// Who asks here waits by itself.
type prompt struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t prompt) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.RoundTripper.RoundTrip(request)
	if err == nil {
		response.Header.Del("Retry-After")
	}
	return response, err
}

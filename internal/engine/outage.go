package engine

import (
	"time"

	"github.com/furrow-dev/furrow/internal/git"
)

const (
	// firstOutage is how long a server that did not answer is left alone at first;
	// each further failure doubles it.
	firstOutage = time.Second
	// longestOutage bounds that, whatever the server asks for.
	longestOutage = 5 * time.Minute
)

// outage is a server that does not answer, or asks to wait. It is left alone for a
// while, so that it holds up no other repository, and is not hammered.
type outage struct {
	last     error
	until    time.Time
	failures int
}

// err is the failure while the server is left alone.
func (o *outage) err(now time.Time) error {
	if now.Before(o.until) {
		return o.last
	}
	return nil
}

// leaveAlone notes what a call to the repository's servers came to: where they do not
// answer, or ask to wait, nothing more is asked for a while, in this pass and after it.
func (r *repoState) leaveAlone(err error, now func() time.Time) {
	wait, asked := git.RetryAfter(err)
	if err == nil || !asked && !git.IsNetwork(err) {
		return
	}
	o := &r.outage
	pause := firstOutage << min(o.failures, 8)
	o.failures++
	o.last, o.until = err, now().Add(min(max(pause, wait), longestOutage))
	r.err = err
}

package engine

import (
	"time"

	"github.com/furrow-dev/furrow/internal/forge"
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

// heard takes in what a question came to: a server that fails is left alone, and what
// people changed since the pass began is looked at again.
func (p *pass) heard(r *repoState, err error) {
	p.raced = p.raced || forge.IsGone(err)
	r.fails(err, p.engine.config.Now)
}

// fails takes in what a call to the repository's servers came to, and says that
// they are to be left alone, for the rest of this pass too.
func (r *repoState) fails(err error, now func() time.Time) bool {
	wait, asked := git.RetryAfter(err)
	if !asked && !git.IsNetwork(err) {
		return false
	}
	o := &r.outage
	pause := firstOutage << min(o.failures, 8)
	o.failures++
	o.last, o.until = err, now().Add(min(max(pause, wait), longestOutage))
	r.err = err
	return true
}

package engine

import (
	"time"

	"github.com/furrow-dev/furrow/internal/backoff"
	"github.com/furrow-dev/furrow/internal/git"
)

// outages are how long the servers of a repository are left alone after failures in a
// row, whatever they ask for.
var outages = backoff.Doubling(time.Second, 5*time.Minute)

// coolDown notes the outcome of a call to the repository's servers. Where they do not answer, or
// ask to wait, nothing more is asked for a while, in this pass and after it: the repository holds
// up no other one, and a server that is overloaded gets no further requests. Other errors are
// answers.
func (r *repoState) coolDown(err error, now func() time.Time) {
	asked, waits := git.RetryAfter(err)
	if err == nil || !waits && !git.IsNetwork(err) {
		return
	}
	r.cooldown.Fail(now(), err, asked)
	r.err = err
}

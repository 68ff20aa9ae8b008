package engine

import (
	"errors"
	"time"

	"github.com/furrow-dev/furrow/internal/backoff"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
)

// outages are how long the servers of a repository are left alone after failures in a
// row, whatever they ask for.
var outages = backoff.Doubling(time.Second, 5*time.Minute)

// coolDown notes the outcome of a call to the repository's servers. Where they do not answer, or
// ask to wait, nothing more is asked for a while, in this pass and after it: the repository holds
// up no other one, and a server that is overloaded gets no further requests. Other errors are
// answers. Where only the forge allows no more requests, Git goes on, and the forge is not asked in
// this pass; after it, the forge itself knows when it may be.
func (r *repoState) coolDown(err error, now func() time.Time) {
	if limit, ok := errors.AsType[*forge.Error](err); ok && forge.IsLimited(err) {
		r.limit = forge.Refusal(now().Add(limit.Wait), limit.Text)
		r.waits(r.limit.Until)
		return
	}
	asked, waits := git.RetryAfter(err)
	if err == nil || !waits && !git.IsNetwork(err) {
		return
	}
	r.cooldown.Fail(now(), err, asked)
	r.err = err
}

// waits notes that something waits for the forge to allow more requests.
func (r *repoState) waits(until time.Time) {
	if r.resumes.IsZero() || until.Before(r.resumes) {
		r.resumes = until
	}
}

// quota returns for how many proposals the forge allows requests, as of the beginning of the pass.
func (o *observation) quota(r *repoState) forge.Quota {
	if r.openRepo == nil || r.limit.Why != "" {
		return r.limit
	}
	return r.Forge.Budget().Quota(o.engine.began)
}

// url is that of the repository, without credentials.
func (r *repoState) url() string { return git.Remote{URL: r.spec.URL}.String() }

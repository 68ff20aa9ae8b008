package engine

import (
	"context"
	"time"

	"github.com/furrow-dev/furrow/internal/git"
)

// readyPause is for how long a forge is not asked again after it said that nothing may be pushed.
const readyPause = 5 * time.Minute

// readiness is what the forge of a repository last said about pushes.
type readiness struct {
	// asked is when that was; zero before the first time.
	asked time.Time
	// err says why none may be; nil if they may.
	err error
}

// over reports whether a refusal is so old that the forge is asked again.
func (r readiness) over(now time.Time) bool {
	return r.err != nil && now.Sub(r.asked) >= readyPause
}

// lacks reports whether the credentials lacked something for so long that they may be others by now.
func (r readiness) lacks(now time.Time) bool { return git.IsAuth(r.err) && r.over(now) }

// ready returns why nothing may be pushed. It asks the forge before the first push, and then only
// while it refuses.
func (r *repoState) ready(ctx context.Context, now time.Time) error {
	if r.readiness.asked.IsZero() || r.readiness.over(now) {
		err := r.Forge.Ready(ctx)
		if git.IsTransient(err) || ctx.Err() != nil {
			return err
		}
		r.readiness = readiness{asked: now, err: err}
	}
	if r.readiness.err != nil {
		r.unready = inRepo(r.name, r.readiness.err)
	}
	return r.readiness.err
}

// mayOpen returns why no proposals are opened: what the forge does not let the credentials open once,
// it refuses for all others too. That is tried again after readyPause.
func (r *repoState) mayOpen(now time.Time) error {
	if r.opening.over(now) {
		return nil
	}
	return r.opening.err
}

// pushRefused takes note of a push that the server refused for want of rights: the forge may say
// which ones.
func (r *repoState) pushRefused(err error, now time.Time) {
	if git.IsAuth(err) && now.Sub(r.readiness.asked) >= readyPause {
		r.readiness = readiness{}
	}
}

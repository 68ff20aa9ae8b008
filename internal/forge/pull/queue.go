package pull

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
)

const (
	// queuedTime and removedTime are for how long it is remembered that the queue has a pull
	// request, and that it has removed it.
	queuedTime  = time.Minute
	removedTime = 10 * time.Minute
)

// queued is a pull request that was added to the merge queue at a commit.
type queued struct {
	head git.Hash
	is   Queued
	// asked is when the server said that.
	asked time.Time
}

// over reports whether the server is asked again.
func (q queued) over(now time.Time) bool {
	if q.is.Is {
		return now.Sub(q.asked) >= queuedTime
	}
	return now.Sub(q.asked) >= removedTime
}

// checks says what the queue does with a pull request. One that it has removed is for a person:
// whatever was the cause would remove it again, and a person who removed it wanted that.
func (q queued) checks() forge.Checks {
	if q.is.Is {
		why := "it is in the merge queue"
		if q.is.Why != "" {
			why += ", " + q.is.Why
		}
		return forge.Checks{State: forge.ChecksQueued, Why: why}
	}
	why := "the merge queue has removed it"
	if q.is.Why != "" {
		why += " (" + q.is.Why + ")"
	}
	return forge.Checks{State: forge.ChecksFailed, Why: why + "; add it again on the forge, or change the seed"}
}

// queueChecks returns what the queue does with a pull request that was added to it at this commit.
func (f *Forge) queueChecks(ctx context.Context, at Request) (checks forge.Checks, known bool, err error) {
	f.mu.Lock()
	q, known := f.queued[at.Number]
	f.mu.Unlock()
	if !known || q.head != at.Head {
		return forge.Checks{}, false, nil
	}
	if now := f.clock.Now(); q.over(now) {
		if q.is, err = f.server.Queued(ctx, at.Number); err != nil {
			return forge.Checks{}, true, err
		}
		q.asked = now
		f.enqueued(at.Number, q)
	}
	return q.checks(), true, nil
}

// enqueued takes note of what the queue does with a pull request.
func (f *Forge) enqueued(number int64, q queued) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queued[number] = q
}

// mergeOnce merges a pull request, or has the queue do it. The error is forge.ErrQueued then.
func (f *Forge) mergeOnce(ctx context.Context, s observation, m Merge, queue bool) error {
	if !queue {
		err := f.server.Merge(ctx, s.at.Number, m)
		if !errors.Is(err, ErrMergeQueue) {
			return err
		}
	}
	if err := f.server.Enqueue(ctx, s.at.Number, m); err != nil {
		return err
	}
	f.enqueued(s.at.Number, queued{head: s.Head, is: Queued{Is: true}, asked: f.clock.Now()})
	return forge.ErrQueued
}

// blamed takes note of a merge that failed. What is only behind is stale from now on, so it is
// grafted anew: some methods merge only what is on top of base. A refusal by rules says what base
// asks for.
func (f *Forge) blamed(ctx context.Context, s observation, err error) error {
	failure, ok := errors.AsType[*forge.Error](err)
	switch {
	case errors.Is(err, forge.ErrConflict) && s.Base != s.base:
		f.mu.Lock()
		f.conflicts[s.at.Number] = conflict{head: s.Head, base: s.base, refused: true}
		f.mu.Unlock()
	case ok && failure.Reason == "MergeRefused":
		if required, requiredErr := f.Requires(ctx); requiredErr == nil && len(required.List()) > 0 {
			failure.Text += "; " + f.base + " asks for " + strings.Join(required.List(), ", ")
			if required.RequiresCheck(gateContext) {
				failure.Text += fmt.Sprintf(". Where %s is missing because the rule is new, 'furrow run' posts it within %s of the rule", gateContext, requiredTime)
			}
		}
	}
	return err
}

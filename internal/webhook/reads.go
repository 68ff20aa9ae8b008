package webhook

import (
	"context"
	"sync"
	"time"
)

// reads bounds how many events are read at once. Who is genuine is known only when a body has been
// read, so a body that takes longer than the grace is cut off once another one waits.
type reads struct {
	free    chan struct{}
	waiting chan struct{}

	mu sync.Mutex
	// active are the events that are being read, the oldest first.
	active []*reading
}

// reading is one event that is being read. cut makes its next read fail; nil once it was cut off.
type reading struct {
	began time.Time
	cut   func()
}

func newReads() *reads {
	r := &reads{free: make(chan struct{}, maxReads), waiting: make(chan struct{}, maxWaiting)}
	for range maxReads {
		r.free <- struct{}{}
	}
	return r
}

// acquire waits until the event may be read. ok is false if too many wait, or for too long.
func (r *reads) acquire(ctx context.Context, cut func()) (release func(), ok bool) {
	select {
	case <-r.free:
		return r.begin(cut), true
	default:
	}
	select {
	case r.waiting <- struct{}{}:
		defer func() { <-r.waiting }()
	default:
		return nil, false
	}
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	for {
		timer := time.NewTimer(r.cutSlow()) //nolint:forbidigo // of a network, as in net/http
		select {
		case <-r.free:
			timer.Stop()
			return r.begin(cut), true
		case <-ctx.Done():
			timer.Stop()
			return nil, false
		case <-timer.C:
		}
	}
}

func (r *reads) begin(cut func()) (release func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	mine := &reading{began: time.Now(), cut: cut} //nolint:forbidigo // as above
	r.active = append(r.active, mine)
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		for i, one := range r.active {
			if one == mine {
				r.active = append(r.active[:i], r.active[i+1:]...)
				break
			}
		}
		r.free <- struct{}{}
	}
}

// cutSlow cuts off the oldest event if its grace is over, and returns when to look again.
func (r *reads) cutSlow() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.active {
		if one.cut == nil {
			continue
		}
		if left := grace - time.Since(one.began); left > 0 { //nolint:forbidigo // as above
			return left
		}
		one.cut()
		one.cut = nil
		break
	}
	return grace
}

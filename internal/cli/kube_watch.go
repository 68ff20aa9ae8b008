package cli

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/backoff"
)

// rewatchPause is the pause before a watch that was broken off is begun again.
const rewatchPause = time.Second

// changes sends after something of the Seeds, or of one, and their Plantings has changed, until the
// context ends. A watch that the server ends is begun again. The error is that of the first
// attempt: what worked once is tried again.
//
// The channel has room for one: a change that comes while the last one is not received yet adds
// nothing, because the receiver reads everything anew.
func (c *kubeCluster) changes(ctx context.Context, seed string) (<-chan struct{}, error) {
	of, named := c.in(), c.in()
	if seed != "" {
		of, named = c.in(client.MatchingFields{metav1.ObjectNameField: seed}), c.in(client.MatchingLabels{v1alpha1.LabelSeed: seed})
	}
	out := make(chan struct{}, 1)
	for _, one := range []struct {
		list    client.ObjectList
		options []client.ListOption
	}{{&v1alpha1.SeedList{}, of}, {&v1alpha1.PlantingList{}, named}} {
		begin := func() (watch.Interface, error) { return c.Watch(ctx, one.list, one.options...) }
		w, err := begin()
		if err != nil {
			return nil, err
		}
		go followOn(ctx, w, begin, out)
	}
	return out, nil
}

// followOn sends after the events of a watch, and of those that are begun after it. It sends also
// when a watch ends: what changes until the next one has begun would be missed otherwise.
func followOn(ctx context.Context, w watch.Interface, begin func() (watch.Interface, error), out chan<- struct{}) {
	for err := error(nil); ctx.Err() == nil; w, err = begin() {
		for more := err == nil; more; {
			select {
			case <-ctx.Done():
				more = false
			case _, more = <-w.ResultChan():
			}
			select {
			case out <- struct{}{}:
			default: // it is read again anyway
			}
		}
		if err == nil {
			w.Stop()
		}
		_ = backoff.Sleep(ctx, backoff.RealClock{}, rewatchPause)
	}
}

// awaitSeed waits until a Seed is as it is wanted, and returns it as it is then; nil if it is
// deleted meanwhile. The watch begins before the Seed is read, so no change falls between the
// two.
func (c *kubeCluster) awaitSeed(ctx context.Context, key client.ObjectKey, reached func(*v1alpha1.Seed) bool) (*v1alpha1.Seed, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	changed, err := c.changes(ctx, key.Name)
	for err == nil {
		seed := &v1alpha1.Seed{}
		if err = c.Get(ctx, key, seed); err != nil {
			break
		}
		if reached(seed) {
			return seed, nil
		}
		select {
		case <-ctx.Done():
			err = ctx.Err()
		case <-changed:
		}
	}
	return nil, client.IgnoreNotFound(err)
}

package cli

import (
	"context"
	"io"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/furrow-dev/furrow/api/v1alpha1"
)

const (
	// settleTime is how long changes are gathered before they are shown.
	settleTime = 100 * time.Millisecond
	// redrawTime is how long a terminal shows the same ages.
	redrawTime = 10 * time.Second
	// rewatchPause is the pause before a watch that was broken off is begun again.
	rewatchPause = time.Second
)

// stream is one kind of resources that is followed.
type stream struct {
	list    func() client.ObjectList
	options []client.ListOption
	// found are the resources as they are now. It belongs to whoever receives the changes.
	found map[client.ObjectKey]client.Object
}

// change is something that happened to what a stream has found.
type change func()

// follow sends every change of the resources, those that are there first, until the
// context ends. A watch that the server ends is begun again. The error is that of
// the first attempt: what worked once is tried again.
func (c *kubeCluster) follow(ctx context.Context, s *stream, out chan<- change) error {
	for worked := false; ; worked = true {
		err := c.followOnce(ctx, s, out)
		if err != nil && !worked && ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(rewatchPause):
		}
	}
}

func (c *kubeCluster) followOnce(ctx context.Context, s *stream, out chan<- change) error {
	list := s.list()
	if err := c.List(ctx, list, s.options...); err != nil {
		return err
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return err
	}
	send(ctx, out, func() {
		clear(s.found)
		for _, item := range items {
			s.put(watch.Event{Type: watch.Added, Object: item})
		}
	})
	from := &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.GetResourceVersion()}}
	for _, o := range s.options {
		o.ApplyToList(from)
	}
	w, err := c.Watch(ctx, s.list(), from)
	if err != nil {
		return err
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		if e.Type == watch.Error {
			return nil // the server has forgotten where we were: look at everything again
		}
		send(ctx, out, func() { s.put(e) })
	}
	return nil
}

func send(ctx context.Context, out chan<- change, ch change) {
	select {
	case <-ctx.Done():
	case out <- ch:
	}
}

func (s *stream) put(e watch.Event) {
	o, ok := e.Object.(client.Object)
	switch {
	case !ok || e.Type == watch.Bookmark:
	case e.Type == watch.Deleted:
		delete(s.found, client.ObjectKeyFromObject(o))
	default:
		s.found[client.ObjectKeyFromObject(o)] = o
	}
}

// follow shows the status again whenever something of it changes.
func (s *kubeStatus) follow(ctx context.Context, w io.Writer, c *kubeCluster, name string) error {
	seeds := &stream{list: func() client.ObjectList { return &v1alpha1.SeedList{} }, options: c.in(), found: map[client.ObjectKey]client.Object{}}
	plantings := &stream{list: func() client.ObjectList { return &v1alpha1.PlantingList{} }, options: c.in(client.MatchingLabels{v1alpha1.LabelSeed: name}), found: map[client.ObjectKey]client.Object{}}
	streams := []*stream{seeds}
	if name != "" {
		if _, err := c.seed(ctx, name); err != nil {
			return err
		}
		seeds.options = c.in(client.MatchingFields{metav1.ObjectNameField: name})
		streams = append(streams, plantings)
	}
	controller := c.controllerSeen(ctx, s.controllerNamespace)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	changes, failed := make(chan change), make(chan error, len(streams))
	for _, st := range streams {
		go func() { failed <- c.follow(ctx, st, changes) }()
	}
	return newScreen(w).run(ctx, changes, failed, func(w io.Writer) {
		v := &kubeView{one: name != "", everywhere: c.namespace == "", where: c.where(), controller: controller, now: c.now()}
		for _, o := range seeds.found {
			if seed, ok := o.(*v1alpha1.Seed); ok {
				v.seeds = append(v.seeds, *seed)
			}
		}
		for _, o := range plantings.found {
			if planting, ok := o.(*v1alpha1.Planting); ok {
				v.plantings = append(v.plantings, *planting)
			}
		}
		v.sort()
		s.table(w, v)
	})
}

// run draws after changes have settled, until the context ends or something failed.
func (s *screen) run(ctx context.Context, changes <-chan change, failed <-chan error, draw func(io.Writer)) error {
	defer s.end()
	var redraw <-chan time.Time
	if s.terminal {
		ticker := time.NewTicker(redrawTime)
		defer ticker.Stop()
		redraw = ticker.C
	}
	var settled <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-failed:
			return err
		case apply := <-changes:
			apply()
			if settled == nil {
				settled = time.After(settleTime)
			}
		case <-settled:
			settled = nil
			s.show(draw)
		case <-redraw:
			s.show(draw)
		}
	}
}

// awaitSeed waits until a Seed is as it is wanted, and gives it as it is then; nil
// when it is deleted meanwhile.
func (c *kubeCluster) awaitSeed(ctx context.Context, key client.ObjectKey, reached func(*v1alpha1.Seed) bool) (*v1alpha1.Seed, error) {
	for {
		w, err := c.Watch(ctx, &v1alpha1.SeedList{}, client.InNamespace(key.Namespace), client.MatchingFields{metav1.ObjectNameField: key.Name})
		if err != nil {
			return nil, err
		}
		seed := &v1alpha1.Seed{}
		err = c.Get(ctx, key, seed)
		ended := err == nil && !reached(seed)
		if ended {
			seed, ended, err = awaitEvent(ctx, w, key, reached)
		}
		w.Stop()
		switch {
		case apierrors.IsNotFound(err):
			return nil, nil
		case err != nil || !ended:
			return seed, err
		}
	}
}

// awaitEvent is awaitSeed for one watch, which may end before that.
func awaitEvent(ctx context.Context, w watch.Interface, key client.ObjectKey, reached func(*v1alpha1.Seed) bool) (seed *v1alpha1.Seed, ended bool, err error) {
	for {
		select {
		case <-ctx.Done():
			return nil, false, ctx.Err()
		case e, more := <-w.ResultChan():
			seed, ok := e.Object.(*v1alpha1.Seed)
			switch {
			case !more || e.Type == watch.Error:
				return nil, true, nil
			case !ok || client.ObjectKeyFromObject(seed) != key:
			case e.Type == watch.Deleted:
				return nil, false, nil
			case reached(seed):
				return seed, false, nil
			}
		}
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/furrow-dev/furrow/test/servers"
)

const (
	// startLimit bounds the start of the servers, and of each cluster that a seed creates.
	startLimit = 5 * time.Minute
	// mergeLimit bounds the story with -merge, once all servers run.
	mergeLimit = 5 * time.Minute
)

// needed is all that has to be built.
var needed = []servers.Name{
	servers.GiteaServer, servers.Etcd, servers.Kubernetes, servers.KWOK,
	servers.SourceController, servers.KustomizeController, servers.ClusterAPI,
}

// demonstration is a demo under way: the servers, who uses them, and furrow. Its fields are set one
// after the other by start, and read by the goroutines of watches afterwards.
type demonstration struct {
	options options
	folder  *folder
	screen  *screen
	// program is furrow.
	program string
	// fail ends the demo with an error.
	fail context.CancelCauseFunc

	// again reports whether the folder holds a demo that was stopped.
	again       bool
	bin         servers.Bin
	gitea       *servers.Gitea
	mgmt, siteA *servers.Cluster
	people      *people
	provider    *provider
	furrow      *process
	// watches are the goroutines that watch what runs.
	watches sync.WaitGroup
}

// run starts everything, waits for the end, and stops everything again. The error says why it
// ended, unless all is as it was asked for. Of several errors the first one counts: when the demo
// is interrupted or a server ends, others fail for want of it.
func (d *demonstration) run(parent context.Context) error {
	ctx, cancel := context.WithCancel(parent)
	err := d.start(ctx)
	if err == nil {
		err = d.serve(ctx)
	}
	if cause := context.Cause(parent); cause != nil {
		err = cause // what failed after that only follows from it
	}
	cancel()
	return errors.Join(err, d.stop())
}

// start starts the servers and furrow, in the order in which they need each other.
func (d *demonstration) start(parent context.Context) error {
	ctx, cancel := context.WithTimeout(parent, startLimit)
	defer cancel()
	var err error
	if d.bin, err = servers.Find(needed...); err != nil {
		return err
	}
	if d.again, err = d.folder.begin(); err != nil {
		return err
	}
	d.screen.show("The demo on real servers, in %s\n", d.folder.dir)
	if d.again {
		d.screen.show("It holds a demo that was stopped: carrying on with that.\n")
	}
	d.screen.show("\n")
	steps := []func(context.Context) error{d.startServers, d.fill, d.bootstrap, d.equip}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	d.guide()
	d.startProvider(parent)
	d.watches.Go(func() { d.watch(parent) })
	return d.startFurrow(parent)
}

// startServers starts Gitea and the two clusters, all at once. When one does not start the others
// are given up.
func (d *demonstration) startServers(parent context.Context) error {
	ctx, giveUp := context.WithCancelCause(parent)
	defer giveUp(nil)
	var all sync.WaitGroup
	for _, start := range []func(context.Context) error{d.startGitea, d.startManagement, d.startSite} {
		all.Go(func() {
			if err := start(ctx); err != nil {
				giveUp(err)
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// serve waits until the demo is done with -merge, or else until it is ended.
func (d *demonstration) serve(ctx context.Context) error {
	if d.options.merge {
		if err := d.mergeAll(ctx); err != nil {
			return fmt.Errorf("%w\nfurrow run said last:\n%s", err, d.furrow.lastLines())
		}
		return nil
	}
	<-ctx.Done()
	return nil
}

// stop ends everything: first those who would complain of what is missing. It may be called however
// far start has come.
func (d *demonstration) stop() error {
	err := d.furrow.stop()
	if d.provider != nil {
		err = errors.Join(err, d.provider.stop())
	}
	d.watches.Wait()
	var stops []func() error
	for _, cluster := range []*servers.Cluster{d.mgmt, d.siteA} {
		if cluster != nil {
			stops = append(stops, cluster.Stop)
		}
	}
	if d.gitea != nil {
		stops = append(stops, d.gitea.Stop)
	}
	return errors.Join(err, together(stops...))
}

// together runs functions at once and joins their errors.
func together(functions ...func() error) error {
	errs := make([]error, len(functions))
	var all sync.WaitGroup
	for i, f := range functions {
		all.Go(func() { errs[i] = f() })
	}
	all.Wait()
	return errors.Join(errs...)
}

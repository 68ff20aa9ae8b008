// Package probe defines health channels, which report what the reconcilers on the clusters did with
// what was merged. Package probe/flux has the one for Flux, package simulator the one for simulated
// clusters; package health has what they report.
//
// A channel only reads. What it could not observe is left out or marked as unknown; it never
// guesses, because a wrong "healthy" releases what must wait. Channels are safe for use by several
// goroutines.
package probe

import (
	"context"

	"github.com/furrow-dev/furrow/internal/core/health"
)

type (
	// ReconcilerKey is what a Channel is asked about a reconciler object by.
	ReconcilerKey = health.ReconcilerKey
	// CreatorKey is what it is asked about a creator by.
	CreatorKey = health.CreatorKey
	// SecretKey names the Secret of a creator's cluster.
	SecretKey = health.SecretKey
	// RootKey is what it is asked about a root by.
	RootKey = health.RootKey
)

// Channel reads health, of several keys at once, so it can ask each cluster once and the
// clusters side by side. A key that is missing in an answer counts as not known, so a cluster that
// does not answer keeps no other from being known; an error means that nothing of the answer can be
// used.
type Channel interface {
	Reconcilers(ctx context.Context, keys []ReconcilerKey) (map[ReconcilerKey]health.Reconciler, error)
	Creators(ctx context.Context, keys []CreatorKey) (map[CreatorKey]health.Creator, error)
	Roots(ctx context.Context, keys []RootKey) (map[RootKey]health.Root, error)
}

// Watcher is a Channel that signals when its answers may have changed. The signal has a buffer of
// one, so no sender waits for a reader and no change after a read is missed. It says nothing
// about what has changed: the next pass asks for everything.
type Watcher interface {
	Changed() <-chan struct{}
}

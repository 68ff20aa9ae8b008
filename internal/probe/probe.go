// Package probe owns the health channels: how Furrow learns what the
// reconcilers on the clusters have made of what was merged.
//
// A channel only reads. What it could not see is left out or marked as not
// known; it never guesses. Channels are safe for use by several goroutines.
package probe

import (
	"context"

	"github.com/furrow-dev/furrow/internal/core/health"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// ReconcilerKey names one reconciler object.
type ReconcilerKey struct {
	// Cluster is the cluster that the object is on: the tier's own, or its hub.
	Cluster string
	// Namespace and Name are the object's.
	Namespace, Name string
}

// CreatorKey names one creator object and the cluster that it creates.
type CreatorKey struct {
	// Cluster is the management cluster that the creator is on.
	Cluster string
	// Object is the creator.
	Object manifest.ID
	// Creates is the name of the cluster that it brings into being.
	Creates string
	// KubeConfig is the Secret through which that cluster is reached; its key is "value".
	KubeConfig SecretKey
}

// SecretKey names a Secret on a cluster.
type SecretKey struct{ Cluster, Namespace, Name string }

// RootKey names a cluster's root by what it syncs.
type RootKey struct {
	Cluster string
	// Path is the directory in the GitOps repository, without "./" and slashes at the ends.
	Path string
	// Source is the source object that the root should read, as namespace/name: of
	// several that sync the directory, one that reads it is meant. It may be empty.
	Source string
}

// Channel reads health. A key that is missing in an answer counts as not known;
// an error means that nothing of the answer can be used.
type Channel interface {
	Reconcilers(ctx context.Context, keys []ReconcilerKey) (map[ReconcilerKey]health.Reconciler, error)
	Creators(ctx context.Context, keys []CreatorKey) (map[CreatorKey]health.Creator, error)
	Roots(ctx context.Context, keys []RootKey) (map[RootKey]health.Root, error)
}

// Watcher is a Channel that tells when what it would answer may have changed.
// The channel has room for one signal, so that nothing waits for a reader and no
// change after a read is missed.
type Watcher interface {
	Changed() <-chan struct{}
}

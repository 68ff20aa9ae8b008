package health

import (
	"cmp"
	"encoding/json"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// ReconcilerKey names one reconciler object.
type ReconcilerKey struct {
	// Cluster is the cluster that the object is on: the tier's own, or its hub.
	Cluster string
	// Namespace and Name are the object's.
	Namespace, Name string
}

// Compare orders keys.
func (k ReconcilerKey) Compare(other ReconcilerKey) int {
	return cmp.Or(cmp.Compare(k.Cluster, other.Cluster), cmp.Compare(k.Namespace, other.Namespace), cmp.Compare(k.Name, other.Name))
}

// CreatorKey names one creator object and the cluster that it creates.
type CreatorKey struct {
	// Cluster is the management cluster that the creator is on.
	Cluster string
	// Object is the creator.
	Object manifest.ID
	// Creates is the name of the cluster that it creates.
	Creates string
	// KubeConfig is the Secret through which that cluster is reached; its key is "value".
	KubeConfig SecretKey
}

// Compare orders keys.
func (k CreatorKey) Compare(other CreatorKey) int {
	return cmp.Or(cmp.Compare(k.Cluster, other.Cluster), k.Object.Compare(other.Object), cmp.Compare(k.Creates, other.Creates),
		cmp.Compare(k.KubeConfig.Cluster, other.KubeConfig.Cluster), cmp.Compare(k.KubeConfig.Namespace, other.KubeConfig.Namespace), cmp.Compare(k.KubeConfig.Name, other.KubeConfig.Name))
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

// Compare orders keys.
func (k RootKey) Compare(other RootKey) int {
	return cmp.Or(cmp.Compare(k.Cluster, other.Cluster), cmp.Compare(k.Path, other.Path), cmp.Compare(k.Source, other.Source))
}

// Keys are written as JSON also where they are keys of a map.

type (
	reconcilerFields ReconcilerKey
	creatorFields    CreatorKey
	rootFields       RootKey
)

// MarshalText implements encoding.TextMarshaler.
func (k ReconcilerKey) MarshalText() ([]byte, error) { return json.Marshal(reconcilerFields(k)) }

// UnmarshalText implements encoding.TextUnmarshaler.
func (k *ReconcilerKey) UnmarshalText(text []byte) error {
	return json.Unmarshal(text, (*reconcilerFields)(k))
}

// MarshalText implements encoding.TextMarshaler.
func (k CreatorKey) MarshalText() ([]byte, error) { return json.Marshal(creatorFields(k)) }

// UnmarshalText implements encoding.TextUnmarshaler.
func (k *CreatorKey) UnmarshalText(text []byte) error {
	return json.Unmarshal(text, (*creatorFields)(k))
}

// MarshalText implements encoding.TextMarshaler.
func (k RootKey) MarshalText() ([]byte, error) { return json.Marshal(rootFields(k)) }

// UnmarshalText implements encoding.TextUnmarshaler.
func (k *RootKey) UnmarshalText(text []byte) error { return json.Unmarshal(text, (*rootFields)(k)) }

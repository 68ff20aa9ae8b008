// Package kinds refuses what no API server of its clusters takes: objects of a kind that Kubernetes
// does not have, of a version that it or a CustomResourceDefinition does not serve, or of a kind
// that cannot be applied.
//
// The kinds of Kubernetes come from a table of all its releases (manifest.Served), and are judged by
// the release that a cluster runs, or by all that clusters may run where it is unknown. Custom
// resources are judged by the CustomResourceDefinitions of all seeds that are on the cluster, and by
// what its spec.provides lists. What only some of the releases take is a warning.
//
// All here is a pure function.
package kinds

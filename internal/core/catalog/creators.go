package catalog

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// CreatorKind is a kind whose objects create a cluster.
type CreatorKind struct {
	Group string `json:"group"`
	Kind  string `json:"kind"`
	// Version is the served version that health checks name.
	Version string `json:"version"`
	// Current is the CEL expression that is true once the cluster is expected
	// to be there; empty where the created API server alone is asked.
	Current string `json:"current,omitempty"`
	// KubeConfig is the Secret with the kubeconfig of the cluster, where it is not the one of
	// Cluster API's contract.
	KubeConfig CreatorSecret `json:"kubeConfig,omitzero"`
	// Namespaces are those that a new cluster has beside those of every cluster; openshift-* is every
	// name with that beginning.
	Namespaces []string `json:"namespaces,omitempty"`
}

// makesNamespace reports whether a new cluster has a Namespace by its creator.
func (k CreatorKind) makesNamespace(name string) bool {
	return slices.ContainsFunc(k.Namespaces, func(pattern string) bool {
		prefix, wild := strings.CutSuffix(pattern, "*")
		return name == pattern || wild && strings.HasPrefix(name, prefix)
	})
}

// CreatorSecret says where a controller leaves the kubeconfig of a cluster that it makes.
type CreatorSecret struct {
	// Suffix is what follows the creator's name in the Secret's: -admin-kubeconfig.
	Suffix string `json:"suffix,omitempty"`
	// Namespace is the Secret's; without one that of the creator.
	Namespace string `json:"namespace,omitempty"`
	// At is the field of the creator that names the Secret.
	At []string `json:"at,omitempty"`
	// Key of the Secret that holds the kubeconfig; value without one.
	Key string `json:"key,omitempty"`
}

// defaultKubeConfigKey is the key of Cluster API's contract, and Flux's.
const defaultKubeConfigKey = "value"

// KubeConfigKey is the key under which the kind's controller leaves a kubeconfig.
func (k CreatorKind) KubeConfigKey() string {
	return cmp.Or(k.KubeConfig.Key, defaultKubeConfigKey)
}

// NewCreation says that an object of a seed creates a cluster, from the cluster on.
func NewCreation(seed string, creator *manifest.Object, on string) *Creation {
	c := &Creation{Seed: seed, Object: creator.ID, On: on}
	secret := creators[creator.ID.GroupKind()].KubeConfig
	c.KubeConfig.Namespace = secret.Namespace
	if secret.Suffix != "" {
		c.KubeConfig.Name = creator.ID.Name + secret.Suffix
	}
	if named := creator.Map(secret.At...); len(secret.At) > 0 && named != nil {
		c.KubeConfig.Name, _ = named["name"].(string)
		c.KubeConfig.Namespace, _ = named["namespace"].(string)
	}
	return c
}

//go:embed creators.yaml
var creatorsYAML []byte

// creators is the table of creators.yaml. Nobody changes it.
var creators = mustCreators(creatorsYAML)

func mustCreators(data []byte) map[manifest.GroupKind]CreatorKind {
	var rows []CreatorKind
	if err := yaml.UnmarshalStrict(data, &rows); err != nil {
		panic(fmt.Sprintf("creators.yaml: %v", err))
	}
	table := make(map[manifest.GroupKind]CreatorKind, len(rows))
	for _, row := range rows {
		table[manifest.GroupKind{Group: row.Group, Kind: row.Kind}] = row
	}
	return table
}

// Creator returns the kind's entry in the list of kinds that create clusters.
func Creator(gk manifest.GroupKind) (CreatorKind, bool) {
	row, ok := creators[gk]
	return row, ok
}

// IsCreator reports whether objects of the kind create clusters.
func IsCreator(gk manifest.GroupKind) bool {
	_, ok := creators[gk]
	return ok
}

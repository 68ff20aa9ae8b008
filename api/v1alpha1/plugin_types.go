package v1alpha1

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Plugin is a program that reads the objects of a seed and writes those that replace them. It is a document of the
// control-plane repository, not a custom resource. Plugins of a seed run in the order of their weights, and of their
// names where those are equal.
type Plugin struct {
	metav1.TypeMeta `json:",inline"`
	// Metadata has the name, by which Seeds name the plugin.
	Metadata metav1.ObjectMeta `json:"metadata"`

	// +required
	Spec PluginSpec `json:"spec"`
}

// PluginSpec says what runs, for which seeds, and within which limits.
type PluginSpec struct {
	// Seeds are the seeds that the plugin runs for: Named, the default, for those that name it in spec.plugins; All for
	// every seed of the control plane.
	// +optional
	Seeds PluginSeeds `json:"seeds,omitempty"`

	// Weight orders the plugins of a seed: those with a lower one run first.
	// +optional
	Weight int32 `json:"weight,omitempty"`

	// Module is the path of a WASM module in the control-plane tree, such as plugins/labels.wasm. It gets standard
	// input and output, and nothing else.
	// +optional
	Module string `json:"module,omitempty"`

	// Executable is the name of a file in the directory that the operator of Furrow allows with --plugins. Nothing in
	// the control-plane tree is ever executed.
	// +optional
	Executable string `json:"executable,omitempty"`

	// Digest is that of the module or executable, as sha256:<64 hex digits>. No other is run.
	// +required
	Digest string `json:"digest"`

	// Protocol is what the program reads and writes: KRM, the default, is a ResourceList of
	// config.kubernetes.io/v1; Planter is the documents of the seed, as Planter's plugins have them.
	// +optional
	Protocol PluginProtocol `json:"protocol,omitempty"`

	// Config is the functionConfig of a KRM function.
	// +optional
	Config *runtime.RawExtension `json:"config,omitempty"`

	// AllowRemoval allows the plugin to leave out objects that it reads. Otherwise that holds the seed.
	// +optional
	AllowRemoval bool `json:"allowRemoval,omitempty"`

	// Timeout bounds how long the plugin may take for one seed; 10s when not given, and at most 1m.
	// +optional
	Timeout *metav1.Duration `json:"timeout,omitempty"`

	// Memory bounds what the plugin may use; 256Mi when not given, at least 16Mi and at most 1Gi.
	// +optional
	Memory *resource.Quantity `json:"memory,omitempty"`
}

// PluginSeeds says which seeds a plugin runs for.
//
// +kubebuilder:validation:Enum=Named;All
type PluginSeeds string

// The seeds that a plugin runs for.
const (
	PluginSeedsNamed PluginSeeds = "Named"
	PluginSeedsAll   PluginSeeds = "All"
)

// PluginProtocol is what a plugin reads and writes.
//
// +kubebuilder:validation:Enum=KRM;Planter
type PluginProtocol string

// The protocols of plugins.
const (
	PluginProtocolKRM     PluginProtocol = "KRM"
	PluginProtocolPlanter PluginProtocol = "Planter"
)

// The limits of plugins.
const (
	DefaultPluginTimeout = 10 * time.Second
	MaxPluginTimeout     = time.Minute
	DefaultPluginMemory  = 256 << 20
	MinPluginMemory      = 16 << 20
	MaxPluginMemory      = 1 << 30
)

// ProtocolOrDefault returns the protocol; KRM when none is given.
func (s PluginSpec) ProtocolOrDefault() PluginProtocol {
	return cmp.Or(s.Protocol, PluginProtocolKRM)
}

// SeedsOrDefault returns which seeds the plugin runs for; Named when nothing is given.
func (s PluginSpec) SeedsOrDefault() PluginSeeds { return cmp.Or(s.Seeds, PluginSeedsNamed) }

// TimeoutOrDefault returns how long the plugin may take.
func (s PluginSpec) TimeoutOrDefault() time.Duration {
	if s.Timeout == nil {
		return DefaultPluginTimeout
	}
	return s.Timeout.Duration
}

// MemoryOrDefault returns how many bytes of memory the plugin may use.
func (s PluginSpec) MemoryOrDefault() int64 {
	if s.Memory == nil {
		return DefaultPluginMemory
	}
	return s.Memory.Value()
}

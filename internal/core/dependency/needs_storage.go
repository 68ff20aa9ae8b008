package dependency

import (
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/placement"
)

// needsOfClaim lists the class and the volume of a claim. A claim that waits for a pod which mounts it counts as
// ready, so it does not need that.
func (s *surroundings) needsOfClaim(v int32, o *manifest.Object) []need {
	class := manifest.ID{Group: storageClassKind.Group, Kind: storageClassKind.Kind, Name: o.Text("spec", "storageClassName")}
	volume := manifest.ID{Kind: "PersistentVolume", Name: o.Text("spec", "volumeName")}
	return append(s.needsOfNamed(v, &placement.Name{ID: class, Field: "spec.storageClassName"}, ruleStorage, "it names "),
		s.needsOfNamed(v, &placement.Name{ID: volume, Field: "spec.volumeName"}, ruleStorage, "it names ")...)
}

// needsOfStorageClass lists what a class needs to give volumes: its driver, and the custom resources that its
// parameters name, as pools.
func (s *surroundings) needsOfStorageClass(v int32, o *manifest.Object) []need {
	var out []need
	provisioner := o.Text("provisioner")
	for _, to := range s.mentions(v, provisioner) {
		out = append(out, need{to: to, rule: ruleStorage, field: "provisioner", why: "provisioner: " + provisioner})
	}
	for field, value := range o.Map("parameters") {
		name, _ := value.(string)
		if name == "" || strings.HasPrefix(field, "csi.storage.k8s.io/") {
			continue
		}
		for _, to := range s.customNamed(v, name) {
			out = append(out, need{to: to, rule: ruleStorage, field: "parameters." + field, why: "parameters." + field + ": " + name})
		}
	}
	return out
}

// customNamed lists the custom resources of a name on the cluster of a vertex.
func (s *surroundings) customNamed(v int32, name string) []int32 {
	var out []int32
	for _, at := range s.beside(v) {
		if id := s.ID(at); id.Name == name && !manifest.ServedByKubernetes(id.GroupKind()) {
			out = append(out, at)
		}
	}
	return out
}

// devicePlugins lists the workloads on the cluster of a vertex that offer resources of nodes: they mount the
// kubelet's directory of device plugins.
func (s *surroundings) devicePlugins(v int32) []int32 {
	if s.plugins == nil {
		s.plugins = make([][]int32, len(s.graph.clusters))
		for cluster, workloads := range s.findWorkloads() {
			for _, at := range workloads {
				if _, spec := placement.PodsOf(s.content[at]); slices.Contains(hostPaths(spec), "/var/lib/kubelet/device-plugins") {
					s.plugins[cluster] = append(s.plugins[cluster], at)
				}
			}
		}
	}
	return s.plugins[s.graph.vertices[v].cluster]
}

// mentions lists the workloads on the cluster of a vertex that have a word in the arguments or the environment of
// their containers.
func (s *surroundings) mentions(v int32, word string) []int32 {
	if word == "" {
		return nil
	}
	key := groupOn{s.graph.vertices[v].cluster, word}
	if found, ok := s.mentioned[key]; ok {
		return found
	}
	var out []int32
	for _, at := range s.workloadsOn(v) {
		_, spec := placement.PodsOf(s.content[at])
		if inArguments(spec, func(text string) bool { return isWordIn(text, word) }) {
			out = append(out, at)
		}
	}
	if s.mentioned == nil {
		s.mentioned = map[groupOn][]int32{}
	}
	s.mentioned[key] = out
	return out
}

// isWordIn reports whether an argument is a word, or a flag whose value it is.
func isWordIn(text, word string) bool {
	_, value, _ := strings.Cut(text, "=")
	return text == word || value == word
}

// inArguments reports whether something is true of a word of the command lines of Pods.
func inArguments(spec map[string]any, is func(string) bool) bool {
	for text := range placement.Arguments(spec) {
		if is(text) {
			return true
		}
	}
	return false
}

// workloadsOn lists what has Pods on the cluster of a vertex.
func (s *surroundings) workloadsOn(v int32) []int32 {
	return s.findWorkloads()[s.graph.vertices[v].cluster]
}

// findWorkloads finds what has Pods, by cluster.
func (s *surroundings) findWorkloads() [][]int32 {
	if s.workloads != nil {
		return s.workloads
	}
	s.workloads = make([][]int32, len(s.graph.clusters))
	for _, run := range s.runs {
		if !placement.RunsPods(run.kind) {
			continue
		}
		for at := range s.those(s.stays, run.first, run.end) {
			on := s.graph.vertices[at].cluster
			s.workloads[on] = append(s.workloads[on], at)
		}
	}
	return s.workloads
}

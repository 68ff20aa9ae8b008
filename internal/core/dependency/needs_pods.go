package dependency

import (
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/makes"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/placement"
)

// needsOfPods lists what the Pods of a workload need to start.
func (s *surroundings) needsOfPods(v int32, o *manifest.Object) []need {
	var out []need
	for _, n := range placement.NamedByPods(o) {
		if !n.Optional {
			out = append(out, s.needsOfNamed(v, n, ruleMounts, "its pods need ")...)
		}
	}
	_, spec := placement.PodsOf(o)
	for _, resource := range extendedResources(spec) {
		for _, to := range append(s.makersOf(v, makes.Resource, "", resource, false), s.devicePlugins(v)...) {
			out = append(out, need{to, ruleMounts, "resources", "its pods need " + resource + " of a node, which it may offer"})
		}
	}
	if name, _ := spec["schedulerName"].(string); name != "" && name != "default-scheduler" {
		for _, to := range append(s.makersOf(v, makes.Scheduler, "", name, false), s.mentions(v, name)...) {
			out = append(out, need{to, ruleMounts, "schedulerName", "schedulerName: " + name})
		}
	}
	for _, configuration := range s.patchedBy(v, o, spec) {
		out = append(out, need{configuration, rulePatches, "args", "it patches the bundle of certificates into it"})
	}
	return out
}

// needsOfNamed lists an object that is named, if a seed has it, and what makes or fills it. The why begins with
// who needs it. What is on the cluster anyway is ready, whatever else may make it.
func (s *surroundings) needsOfNamed(v int32, n placement.Name, rule, who string) []need {
	if n.ID.Name == "" {
		return nil
	}
	var out []need
	to, known := s.Beside(v, n.ID)
	known = known && !s.leaving[to]
	if known {
		out = append(out, need{to, rule, n.Field, who + n.ID.Kind + " " + n.ID.Name})
	}
	if !known && s.Cluster(v).HasObject(n.ID) {
		return nil
	}
	for _, to := range s.makersOf(v, n.ID.Kind, n.ID.Namespace, n.ID.Name, known) {
		out = append(out, need{to, rule, n.Field, who + n.ID.Kind + " " + n.ID.Name + ", which that makes"})
	}
	return out
}

// extendedResources lists the resources that containers ask for and that are none of Kubernetes' own.
func extendedResources(spec map[string]any) []string {
	var out []string
	for _, list := range []string{"containers", "initContainers"} {
		for _, c := range mappingsOf(spec[list]) {
			resources, _ := c["resources"].(map[string]any)
			for _, kind := range []string{"limits", "requests"} {
				amounts, _ := resources[kind].(map[string]any)
				for name := range amounts {
					if domain, _, ok := strings.Cut(name, "/"); ok && !strings.HasSuffix("."+domain, ".kubernetes.io") {
						out = append(out, name)
					}
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// mappingsOf returns the mappings of a list.
func mappingsOf(value any) []map[string]any {
	list, _ := value.([]any)
	out := make([]map[string]any, 0, len(list))
	for _, item := range list {
		if m, ok := item.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// hostPaths lists the directories of their node that Pods mount.
func hostPaths(spec map[string]any) []string {
	var out []string
	for _, volume := range mappingsOf(spec["volumes"]) {
		host, _ := volume["hostPath"].(map[string]any)
		if path, _ := host["path"].(string); path != "" {
			out = append(out, strings.TrimSuffix(path, "/"))
		}
	}
	return out
}

package dependency

import (
	"strings"

	"github.com/furrow-dev/furrow/internal/core/makes"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/placement"
)

// needsOfPods lists what the Pods of a workload need to start.
func (s *surroundings) needsOfPods(v int32, o *manifest.Object) []need {
	var out []need
	for i := range s.placed[v].Names {
		n := &s.placed[v].Names[i]
		switch n.ID.Kind {
		case placement.Resource:
			for _, to := range append(s.makersOf(v, makes.Resource, "", n.ID.Name, false), s.devicePlugins(v)...) {
				out = append(out, need{to: to, rule: ruleMounts, field: n.Field, why: "its pods need " + n.ID.Name + " of a node, which it may offer"})
			}
		case placement.Scheduler:
			for _, to := range append(s.makersOf(v, makes.Scheduler, "", n.ID.Name, false), s.mentions(v, n.ID.Name)...) {
				out = append(out, need{to: to, rule: ruleMounts, field: n.Field, why: "schedulerName: " + n.ID.Name})
			}
		default:
			if !n.Optional {
				out = append(out, s.needsOfNamed(v, n, ruleMounts, "its pods need ")...)
			}
		}
	}
	for _, configuration := range s.patchedBy(v, o) {
		out = append(out, need{to: configuration, rule: rulePatches, field: "args", why: "it patches the bundle of certificates into it"})
	}
	return out
}

// needsOfNamed lists an object that is named, if a seed has it, and what makes or fills it. The why begins with
// who needs it. What is on the cluster anyway is ready, whatever else may make it.
func (s *surroundings) needsOfNamed(v int32, n *placement.Name, rule, who string) []need {
	if n.ID.Name == "" {
		return nil
	}
	var out []need
	to, known := s.Beside(v, n.ID)
	known = known && !s.leaving[to]
	if known {
		out = append(out, need{to: to, rule: rule, field: n.Field, why: who, named: &n.ID})
	}
	if !known && s.Cluster(v).HasObject(n.ID) {
		return nil
	}
	for _, to := range s.makersOf(v, n.ID.Kind, n.ID.Namespace, n.ID.Name, known) {
		out = append(out, need{to: to, rule: rule, field: n.Field, why: who, named: &n.ID, made: true})
	}
	return out
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

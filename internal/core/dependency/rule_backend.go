package dependency

import (
	"slices"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

var backend = Rule{
	Name:  "backend",
	Doc:   "A webhook configuration that fails closed, and an APIService, wait for the workload behind their Service.",
	Why:   "Until a webhook answers, the API server rejects all that it matches, also what is on the cluster already.",
	Phase: Backends,
	Draw: func(w *World) {
		for v, o := range w.SourcesOf(validatingKind, mutatingKind, apiServiceKind) {
			c, isConfiguration := configurationOf(o)
			if !isConfiguration && !isAPIService(o) {
				continue
			}
			s := w.surroundings()
			if !isConfiguration {
				s.waitForBackend(v, o.Map("spec", "service"), Reason{Field: "spec.service", Why: "spec.service: the API is served behind it", Once: true})
				continue
			}
			for _, h := range c.webhooks {
				reason := Reason{Field: h.field + ".clientConfig.service", Why: h.title() + " is served behind it", Folds: !s.matchesOthers(v, h), Once: true}
				s.waitForBackend(v, h.service, reason)
			}
			if to, ok := s.certificate(v); ok && c.injected && !w.Reaches(to, v) {
				w.Wait(v, to, Reason{Field: "metadata.annotations[" + injectPrefix + "ca-from]", Why: "its bundle of certificates comes from it", Folds: true, OrderOnly: true, Once: true})
			}
		}
	},
}

// waitForBackend draws edges from v to a Service and the workloads behind it. What depends on v already
// cannot be waited for.
func (s *surroundings) waitForBackend(v int32, service map[string]any, reason Reason) {
	for _, to := range s.behind(v, service) {
		if !s.Reaches(to, v) {
			s.Wait(v, to, reason)
		}
	}
}

// matchesOthers reports whether a webhook may match what is not from a plan: objects of kinds that
// every cluster has, or that no seed defines on the cluster of v.
func (s *surroundings) matchesOthers(v int32, h hook) bool {
	return slices.ContainsFunc(h.rules, func(r resourceRule) bool {
		return slices.ContainsFunc(r.groups, func(group string) bool {
			return manifest.ServedByKubernetes(manifest.GroupKind{Group: group}) || !s.groups[groupOn{s.graph.vertices[v].cluster, group}]
		})
	})
}

package dependency

import (
	"slices"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

var backend = Rule{
	Name:  "backend",
	Doc:   "A webhook configuration that fails closed, and an APIService, wait for the workload behind their Service; one that matches nothing which is there before may share its tier.",
	Why:   "Until a webhook answers, the API server rejects all that it matches, also what is on the cluster already.",
	Once:  true,
	Phase: Backends,
	Draw: func(w *World) {
		for v, o := range w.SourcesOf(validatingKind, mutatingKind, apiServiceKind) {
			c, isConfiguration := configurationOf(o)
			if !isConfiguration && !isAPIService(o) {
				continue
			}
			s := w.surroundings()
			if !isConfiguration {
				s.waitForBackend(v, o.Map("spec", "service"), w.Wait, Reason{Field: "spec.service", Why: "spec.service: the API is served behind it"})
				continue
			}
			for _, h := range c.webhooks {
				wait := w.Wait
				if !s.matchesOthers(v, h) || s.matchesNothingYet(v, h) {
					wait = w.Follow
				}
				s.waitForBackend(v, h.service, wait, Reason{Field: h.field + ".clientConfig.service", Why: h.title() + " is served behind it"})
			}
		}
	},
}

// waitForBackend draws edges from v to a Service and the workloads behind it. What depends on v already
// cannot be waited for.
func (s *surroundings) waitForBackend(v int32, service map[string]any, wait func(from, to int32, reason Reason), reason Reason) {
	for _, to := range s.behind(v, service) {
		if !s.Reaches(to, v) {
			wait(v, to, reason)
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

// unmade are resources of Kubernetes that nothing makes on a new cluster by itself.
var unmade = map[string][]string{
	"":                  {"limitranges", "persistentvolumes", "resourcequotas"},
	"autoscaling":       {"horizontalpodautoscalers"},
	"networking.k8s.io": {"ingressclasses", "ingresses", "networkpolicies"},
	"policy":            {"poddisruptionbudgets"},
	"scheduling.k8s.io": {"priorityclasses"},
	"storage.k8s.io":    {"storageclasses"},
}

// matchesNothingYet reports whether a webhook is about resources that a cluster has from the seed of the webhook only,
// where a seed creates the cluster. These wait for the webhook, so nothing can be refused before it answers.
func (s *surroundings) matchesNothingYet(v int32, h hook) bool {
	if s.Cluster(v).CreatedBy == nil {
		return false
	}
	for _, r := range h.rules {
		for _, group := range r.groups {
			for _, resource := range r.resources {
				if !slices.Contains(unmade[group], resource) || s.othersHave(v, group, resource) {
					return false
				}
			}
		}
	}
	return true
}

// othersHave reports whether another seed has resources of a kind on the cluster of a vertex.
func (s *surroundings) othersHave(v int32, group, resource string) bool {
	return slices.ContainsFunc(s.beside(v), func(at int32) bool {
		kind := s.ID(at).GroupKind()
		return kind.Group == group && s.graph.vertices[at].seed != s.graph.vertices[v].seed && slices.Contains(s.pluralsOf(kind), resource)
	})
}

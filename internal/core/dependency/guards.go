package dependency

import (
	"slices"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// guards lists the Services and workloads behind the webhooks and the conversions of seeds that are about
// the group of a custom resource, and not about all groups.
func (s *surroundings) guards(v int32) []int32 {
	if s.guardsOf == nil {
		s.guardsOf = map[groupOn][]int32{}
		for at, o := range s.VerticesOf(validatingKind, mutatingKind) {
			if s.leaving[at] {
				continue
			}
			c, _ := configurationOf(o)
			for _, h := range c.webhooks {
				for _, r := range h.rules {
					for _, group := range r.groups {
						key := groupOn{s.graph.vertices[at].cluster, group}
						s.guardsOf[key] = append(s.guardsOf[key], s.behind(at, h.service)...)
					}
				}
			}
		}
		for at, o := range s.VerticesOf(definitionKind) {
			if kind, _, ok := manifest.DefinedScope(*o); ok && converts(o) && !s.leaving[at] {
				service, _ := o.Map("spec", "conversion", "webhook", "clientConfig")["service"].(map[string]any)
				key := groupOn{s.graph.vertices[at].cluster, kind.Group}
				s.guardsOf[key] = append(s.guardsOf[key], s.behind(at, service)...)
			}
		}
		for key, list := range s.guardsOf {
			slices.Sort(list)
			s.guardsOf[key] = slices.Compact(list)
		}
	}
	return s.guardsOf[groupOn{s.graph.vertices[v].cluster, s.ID(v).Group}]
}

package dependency

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/furrow-dev/furrow/api/v1alpha1"
)

var webhook = Rule{
	Name:      "webhook",
	Doc:       "An object that a webhook may match, which fails closed, waits for the configuration and the workload behind its Service. If that needs the object, the configuration waits for the object.",
	Why:       "An API server rejects an object when a webhook that matches it does not answer.",
	OrderOnly: true,
	Once:      true,
	Phase:     Admission,
	Draw: func(w *World) {
		for _, c := range configurationsOf(w) {
			w.surroundings().drawWebhooks(c.vertex, c.configuration)
		}
		for i, c := range w.clusters {
			if len(c.Provides.WebhookConfigurations) > 0 {
				w.surroundings().drawProvided(index(i), c)
			}
		}
	},
}

// inOrder is a configuration and how much its backends need.
type inOrder struct {
	vertex int32
	configuration
	needs int
}

// configurationsOf lists the configurations of seeds whose webhooks fail closed, those first whose backends
// need least. What is decided first decides for the rest: where two configurations match what the backend
// of the other one needs, the one that needs more comes later. Names decide only between equals.
func configurationsOf(w *World) []inOrder {
	var all []inOrder
	for v, o := range w.VerticesOf(validatingKind, mutatingKind) {
		if c, _ := configurationOf(o); !w.leaving[v] && len(c.webhooks) > 0 {
			all = append(all, inOrder{vertex: v, configuration: c})
		}
	}
	if len(all) == 1 {
		return all
	}
	s := w.surroundings()
	for i := range all {
		all[i].needs = len(s.component(all[i].backends(s)))
	}
	slices.SortStableFunc(all, func(a, b inOrder) int {
		return cmp.Or(cmp.Compare(a.needs, b.needs), w.ID(a.vertex).Compare(w.ID(b.vertex)))
	})
	return all
}

// backends lists the Services and workloads behind all webhooks.
func (c inOrder) backends(s *surroundings) []int32 {
	var out []int32
	for _, h := range c.webhooks {
		out = append(out, s.behind(c.vertex, h.service)...)
	}
	return out
}

// drawWebhooks draws the edges of one configuration.
//
// An object that neither the configuration nor a workload behind it needs waits for both. One that is
// needed cannot wait, so the edge is turned round: the configuration, without which no webhook is
// called, waits for the object. Neither makes a cycle. Nothing that is needed reaches an object of
// the first kind, because what is needed is closed under the edges so far. And nothing of the second
// kind waits for the configuration unless an edge from before says so, which is checked: API servers
// send no configurations to webhooks, so none waits for another one.
func (s *surroundings) drawWebhooks(v int32, c configuration) {
	served := make([][]int32, len(c.webhooks))
	var workloads []int32
	for i, h := range c.webhooks {
		served[i] = s.behind(v, h.service)
		workloads = append(workloads, served[i]...)
	}
	s.warnOfNoBackend(v, c, served)
	own, needed := s.NeedsToBeReady(v), s.component(workloads)
	awaited, ready := s.awaited[v], ""
	if c.injected && len(workloads) > 0 && own[workloads[0]] {
		ready = hasBundle(s.ID(v).Name)
	}
	for _, b := range s.beside(v) {
		if b == v || isExempt(s.ID(b).GroupKind()) {
			continue
		}
		turned := own[b] || needed[b]
		for i := range c.webhooks {
			h := &c.webhooks[i]
			what, answer := s.matched(&h.matcher, b, turned)
			if answer == no {
				continue
			}
			why := h.title() + " " + what
			switch {
			case !turned && s.draws(b):
				s.Wait(b, v, Reason{Field: h.field + ".rules", Why: why, Ready: ready})
				for _, to := range served[i] {
					s.Wait(b, to, Reason{Field: h.field + ".clientConfig.service", Why: why})
				}
			case turned && awaited && s.Reaches(b, v):
				s.Show(b, v, Reason{Field: h.field + ".rules", Why: why + ", and the webhook needs it: neither can be first"})
			case turned && s.draws(v):
				s.Wait(v, b, Reason{Field: h.field + ".rules", Why: why + ", which the webhook needs"})
			}
		}
	}
}

// warnOfNoBackend warns of webhooks whose Service no seed has, if they match objects of the plan: an API
// server rejects those in any order. Mostly the Service went to another Namespace than it should.
func (s *surroundings) warnOfNoBackend(v int32, c configuration, served [][]int32) {
	for i := range c.webhooks {
		h := &c.webhooks[i]
		if h.service == nil || len(served[i]) > 0 || !s.draws(v) || !slices.ContainsFunc(s.beside(v), func(b int32) bool {
			_, answer := s.matched(&h.matcher, b, false)
			return answer == yes && !isExempt(s.ID(b).GroupKind())
		}) {
			continue
		}
		cluster := s.Cluster(v).Name
		if s.Cluster(v).HasObject(serviceOf(h.service)) {
			continue
		}
		s.Warn(v, Finding{Reason: v1alpha1.ReasonMissingDependency, Cluster: cluster, Missing: true, Field: h.field + ".clientConfig.service",
			Message: fmt.Sprintf("no seed contains Service %v of Namespace %v for cluster %s, which answers for %s: unless it is on the cluster, the API server rejects objects of the plan", h.service["name"], h.service["namespace"], cluster, h.title()),
			Next:    "Add it, correct its namespace (charts often do not write metadata.namespace), or list it in spec.provides.objects of the Cluster."})
	}
}

// matched returns what of an object a matcher matches, for people: the object, or what is made of
// it if that counts.
func (s *surroundings) matched(m *matcher, v int32, withMade bool) (string, truth) {
	if !s.concerns(m, v, withMade) {
		return "", no
	}
	requests := []*request{s.request(v)}
	if withMade {
		requests = s.requestsOf(v)
	}
	for _, r := range requests {
		switch answer, unknown := m.match(r); answer {
		case yes:
			return "matches " + r.kind.String(), yes
		case maybe:
			return "may match " + r.kind.String() + ": " + unknown, maybe
		}
	}
	return "", no
}

// concerns reports whether a matcher has a rule for the kind of an object, or of what is made of it.
// It is quick, because most objects are of other kinds.
func (s *surroundings) concerns(m *matcher, v int32, withMade bool) bool {
	kind := s.ID(v).GroupKind()
	if m.has(kind, s.pluralsOf(kind)) {
		return true
	}
	if withMade {
		for _, other := range made[kind] {
			if m.has(other, s.pluralsOf(other)) {
				return true
			}
		}
	}
	return false
}

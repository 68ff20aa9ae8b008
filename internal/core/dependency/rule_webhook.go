package dependency

var webhook = Rule{
	Name:  "webhook",
	Doc:   "An object that a webhook may match, which fails closed, waits for the configuration and the workload behind its Service. If that needs the object, the configuration waits for the object.",
	Why:   "An API server rejects an object when a webhook that matches it does not answer.",
	Phase: Admission,
	Draw: func(w *World) {
		for v, o := range w.VerticesOf(validatingKind, mutatingKind) {
			if c, _ := configurationOf(o); !w.leaving[v] && len(c.webhooks) > 0 {
				w.surroundings().drawWebhooks(v, c)
			}
		}
		for i, c := range w.clusters {
			if len(c.Provides.WebhookConfigurations) > 0 {
				w.surroundings().drawProvided(index(i), c)
			}
		}
	},
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
	own, needed := s.Needs(v), s.component(workloads)
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
				s.Wait(b, v, Reason{Field: h.field + ".rules", Why: why, Ready: ready, OrderOnly: true, Once: true})
				for _, to := range served[i] {
					s.Wait(b, to, Reason{Field: h.field + ".clientConfig.service", Why: why, OrderOnly: true, Once: true})
				}
			case turned && awaited && s.Reaches(b, v):
				s.Show(b, v, Reason{Field: h.field + ".rules", Why: why + ", and the webhook needs it: neither can be first", OrderOnly: true, Once: true})
			case turned && s.draws(v):
				s.Wait(v, b, Reason{Field: h.field + ".rules", Why: why + ", which the webhook needs", OrderOnly: true, Once: true})
			}
		}
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

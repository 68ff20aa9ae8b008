package dependency

import (
	"encoding/json"
	"fmt"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// drawProvided draws the edges of the webhook configurations that are on a cluster although no seed
// contains them. They are in force before anything of a seed is there. So where a seed contains the
// workload behind a webhook, what the webhook matches waits for that. If no seed does, the workload
// is there already, and nothing waits.
//
// Nothing can be turned round, because the configuration is there: the API server may reject what
// the workload itself needs, which is a warning.
func (s *surroundings) drawProvided(cluster int32, c *catalog.Cluster) {
	if len(s.onCluster[cluster]) == 0 {
		return
	}
	for _, p := range c.Provides.WebhookConfigurations {
		if s.isPlanned(cluster, p) {
			continue // the rules of the seed hold for it
		}
		conf, _ := configurationOf(objectOf(p))
		for i := range conf.webhooks {
			s.drawProvidedWebhook(cluster, p, &conf.webhooks[i])
		}
	}
}

func (s *surroundings) drawProvidedWebhook(cluster int32, p v1alpha1.ProvidedWebhookConfiguration, h *hook) {
	served := s.behind(s.onCluster[cluster][0], h.service)
	if len(served) == 0 {
		return
	}
	title := fmt.Sprintf("%s of %s %s, which is on the cluster,", h.title(), p.Kind, p.Name)
	needed := s.component(served)
	var before []int32
	for _, b := range s.onCluster[cluster] {
		if isExempt(s.ID(b).GroupKind()) {
			continue
		}
		what, answer := s.matched(&h.matcher, b, needed[b])
		switch {
		case answer == no, answer == maybe && needed[b]:
		case needed[b]:
			before = append(before, b)
		case s.draws(b):
			for _, to := range served {
				s.Wait(b, to, Reason{Field: "spec.provides.webhookConfigurations", Why: title + " " + what})
			}
		}
	}
	if len(before) > 0 && s.draws(before[0]) {
		text := s.ID(before[0]).String()
		if more := len(before) - 1; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		s.Warn(before[0], Finding{Reason: v1alpha1.ReasonWebhookBeforeBackend, Cluster: s.graph.clusters[cluster],
			Message: fmt.Sprintf("%s of %s %s matches %s on cluster %s, and the workload behind the webhook needs that: while the workload does not run, the API server rejects it", h.title(), p.Kind, p.Name, text, s.graph.clusters[cluster]),
			Next:    "Exclude these objects from the webhook, or remove the configuration from the cluster until the seed is released; nothing is wrong if the workload runs there already."})
	}
}

// isPlanned reports whether a seed has a configuration for a cluster.
func (s *surroundings) isPlanned(cluster int32, p v1alpha1.ProvidedWebhookConfiguration) bool {
	for _, v := range s.Everywhere(manifest.ID{Group: "admissionregistration.k8s.io", Kind: p.Kind, Name: p.Name}) {
		if s.graph.vertices[v].cluster == cluster && s.content[v] != nil && !s.leaving[v] {
			return true
		}
	}
	return false
}

// objectOf returns a configuration as the object that it is of: the fields are named alike.
func objectOf(p v1alpha1.ProvidedWebhookConfiguration) *manifest.Object {
	o := &manifest.Object{ID: manifest.ID{Group: "admissionregistration.k8s.io", Kind: p.Kind, Name: p.Name}, Version: "v1"}
	text, err := json.Marshal(p)
	if err == nil {
		err = json.Unmarshal(text, &o.Body)
	}
	if err != nil {
		panic(fmt.Sprintf("a configuration is a plain value: %v", err))
	}
	return o
}

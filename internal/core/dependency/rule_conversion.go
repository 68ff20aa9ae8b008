package dependency

import (
	"fmt"
	"slices"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

var conversion = Rule{
	Name:  "conversion",
	Doc:   "A custom resource whose version is not the stored one waits for the workload behind the conversion webhook.",
	Why:   "An API server rejects an object that it cannot convert to the stored version.",
	Phase: Backends,
	Draw: func(w *World) {
		definitions := definitionsOf(w)
		for kind, sources := range w.ByKind {
			if !slices.ContainsFunc(definitions[kind], func(crd int32) bool { return converts(w.content[crd]) }) {
				continue
			}
			for v, o := range sources {
				if crd, ok := w.Nearest(v, definitions[kind]); ok && !w.leaving[crd] && isConverted(w.content[crd], o.Version) {
					w.surroundings().waitForConversion(v, crd)
				}
			}
		}
	},
}

// waitForConversion draws the edges of one custom resource. Where the bundle of certificates is added
// on the cluster, the definition must not be in an earlier tier than the workload: that
// tier would wait for a bundle that comes later.
func (s *surroundings) waitForConversion(v, crd int32) {
	o := s.content[crd]
	client := o.Map("spec", "conversion", "webhook", "clientConfig")
	service, _ := client["service"].(map[string]any)
	reason := Reason{Field: "apiVersion", Why: fmt.Sprintf("apiVersion: %s is converted by the webhook of %s", s.content[v].APIVersion(), o.ID.Name), Once: true}
	follows := false
	for _, to := range s.behind(crd, service) {
		if s.Reaches(to, v) {
			continue
		}
		s.Wait(v, to, reason)
		if (isInjected(o) || isEmptyBundle(client["caBundle"])) && !s.Reaches(to, crd) {
			s.Wait(crd, to, Reason{Field: "spec.conversion.webhook.clientConfig", Why: "its conversion webhook is served behind it", Folds: true, OrderOnly: true, Once: true})
			follows = true
		}
	}
	if follows {
		reason.Ready = convertsResources(o.ID.Name)
		s.Wait(v, crd, reason)
	}
}

// converts reports whether a definition has a webhook that converts.
func converts(crd *manifest.Object) bool {
	return crd.Text("spec", "conversion", "strategy") == "Webhook"
}

// isConverted reports whether a definition has a webhook convert resources of a version.
func isConverted(crd *manifest.Object, version string) bool {
	if !converts(crd) {
		return false
	}
	for _, item := range crd.Slice("spec", "versions") {
		if fields, _ := item.(map[string]any); fields["storage"] == true {
			return fields["name"] != version
		}
	}
	return false
}

// convertsResources is true of a definition that is established and has a bundle for its conversion
// webhook, and of any other one that is established.
func convertsResources(name string) string {
	return fmt.Sprintf("status.conditions.exists(c, c.type == 'Established' && c.status == 'True') && (metadata.name != '%s' || has(spec.conversion.webhook.clientConfig.caBundle) && !(spec.conversion.webhook.clientConfig.caBundle in ['', '%s']))", name, placeholder)
}

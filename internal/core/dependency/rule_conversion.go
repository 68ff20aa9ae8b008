package dependency

import (
	"fmt"
	"slices"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

var conversion = Rule{
	Name:  "conversion",
	Doc:   "A custom resource whose version is not the stored one waits for the workload behind the conversion webhook, and for the Certificate and the workload from which that gets its bundle.",
	Why:   "An API server rejects an object that it cannot convert to the stored version.",
	Once:  true,
	Phase: Backends,
	Draw: func(w *World) {
		definitions := w.definitions()
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

// waitForConversion draws the edges of one custom resource, to what serves the webhook and what makes its bundle of
// certificates. Where the bundle is added on the cluster, the definition must not be in an earlier tier than these:
// that tier would wait for a bundle that comes later. If one of them needs the definition, nothing waits for the bundle.
func (s *surroundings) waitForConversion(v, crd int32) {
	o := s.content[crd]
	client := o.Map("spec", "conversion", "webhook", "clientConfig")
	service, _ := client["service"].(map[string]any)
	reason := Reason{Field: "apiVersion", Why: fmt.Sprintf("apiVersion: %s is converted by the webhook of %s", s.content[v].APIVersion(), o.ID.Name)}
	makers := s.bundleMakers(crd)
	behind := slices.Concat(s.behind(crd, service), makers)
	follows := len(behind) > 0 && (isInjected(o) || isEmptyBundle(client["caBundle"])) && !slices.ContainsFunc(behind, func(to int32) bool { return s.Reaches(to, crd) })
	for _, to := range behind {
		s.Wait(v, to, reason)
		switch {
		case !follows:
		case slices.Contains(makers, to):
			s.Follow(crd, to, Reason{Field: "metadata.annotations", Why: "its bundle of certificates comes from it"})
		default:
			s.Follow(crd, to, Reason{Field: "spec.conversion.webhook.clientConfig", Why: "its conversion webhook is served behind it"})
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

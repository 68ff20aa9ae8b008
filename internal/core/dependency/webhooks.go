package dependency

import (
	"fmt"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// configuration is the webhooks of one object that fail closed.
type configuration struct {
	webhooks []hook
	// injected reports whether something on the cluster adds the bundle of certificates by which the
	// API server trusts a webhook.
	injected bool
}

// hook is one admission webhook.
type hook struct {
	matcher
	name    string
	service map[string]any
}

var (
	validatingKind = manifest.GroupKind{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"}
	mutatingKind   = manifest.GroupKind{Group: "admissionregistration.k8s.io", Kind: "MutatingWebhookConfiguration"}
)

// configurationOf reads a webhook configuration, false for any other object. Webhooks that may be
// skipped when they do not answer are left out: nothing is rejected because of them.
func configurationOf(o *manifest.Object) (configuration, bool) {
	if kind := o.ID.GroupKind(); kind != validatingKind && kind != mutatingKind {
		return configuration{}, false
	}
	c := configuration{injected: isInjected(o)}
	for i, item := range o.Slice("webhooks") {
		fields, _ := item.(map[string]any)
		if fields["failurePolicy"] == "Ignore" {
			continue
		}
		h := hook{matcher: matcher{field: fmt.Sprintf("webhooks[%d]", i), exact: fields["matchPolicy"] == "Exact"}}
		h.name, _ = fields["name"].(string)
		rules, _ := fields["rules"].([]any)
		h.rules = rulesOf(rules)
		h.namespaces, _ = fields["namespaceSelector"].(map[string]any)
		h.objects, _ = fields["objectSelector"].(map[string]any)
		conditions, _ := fields["matchConditions"].([]any)
		h.conditions = expressionsOf(conditions)
		client, _ := fields["clientConfig"].(map[string]any)
		h.service, _ = client["service"].(map[string]any)
		c.injected = c.injected || h.service != nil && isEmptyBundle(client["caBundle"])
		c.webhooks = append(c.webhooks, h)
	}
	return c, true
}

// title names a webhook for people.
func (h hook) title() string { return "webhook " + h.name }

func expressionsOf(list []any) []string {
	var out []string
	for _, item := range list {
		fields, _ := item.(map[string]any)
		expression, _ := fields["expression"].(string)
		out = append(out, expression)
	}
	return out
}

// injectPrefix begins the annotations by which cert-manager adds bundles to configurations, APIServices and
// CustomResourceDefinitions.
const injectPrefix = "cert-manager.io/inject-"

// isInjected reports whether an object asks for a bundle.
func isInjected(o *manifest.Object) bool {
	for key := range o.Annotations() {
		if strings.HasPrefix(key, injectPrefix) {
			return true
		}
	}
	return false
}

// placeholder is an encoded line break, which generators write for a bundle to be replaced.
const placeholder = "Cg=="

func isEmptyBundle(bundle any) bool { return bundle == nil || bundle == "" || bundle == placeholder }

// certificate returns the Certificate whose bundle an object asks for.
func (s *surroundings) certificate(v int32) (int32, bool) {
	namespace, name, _ := strings.Cut(s.content[v].Annotation(injectPrefix+"ca-from"), "/")
	if name == "" {
		return 0, false
	}
	return s.Beside(v, manifest.ID{Group: "cert-manager.io", Kind: "Certificate", Namespace: namespace, Name: name})
}

// hasBundle is true of a webhook configuration whose webhooks behind Services have a bundle, and of
// any other one: what it is true of is one of all that a tier has of the kind.
func hasBundle(name string) string {
	return fmt.Sprintf("metadata.name != '%s' || webhooks.all(w, !has(w.clientConfig.service) || has(w.clientConfig.caBundle) && !(w.clientConfig.caBundle in ['', '%s']))", name, placeholder)
}

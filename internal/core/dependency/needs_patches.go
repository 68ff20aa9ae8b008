package dependency

import (
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/placement"
)

var jobKind = manifest.GroupKind{Group: "batch", Kind: "Job"}

// patchedBy lists the webhook configurations that a Job patches: its arguments name them, and its ServiceAccount
// may change such configurations.
func (s *surroundings) patchedBy(v int32, o *manifest.Object) []int32 {
	if o.ID.GroupKind() != jobKind {
		return nil
	}
	_, spec := placement.PodsOf(o)
	var out []int32
	if s.configurations == nil {
		s.configurations = make([][]int32, len(s.graph.clusters))
		for at := range s.VerticesOf(validatingKind, mutatingKind) {
			if cluster := s.graph.vertices[at].cluster; !s.leaving[at] {
				s.configurations[cluster] = append(s.configurations[cluster], at)
			}
		}
	}
	for _, at := range s.configurations[s.graph.vertices[v].cluster] {
		if inArguments(spec, func(text string) bool { return names(text, s.ID(at).Name) }) {
			out = append(out, at)
		}
	}
	if len(out) > 0 && !s.mayChangeConfigurations(v, placement.AccountOf(spec)) {
		return nil
	}
	return out
}

// names reports whether an argument names a webhook configuration: alone, by a flag for webhooks, or in a command
// that is about webhook configurations.
func names(text, name string) bool {
	flag, value, _ := strings.Cut(text, "=")
	if text == name || value == name && strings.Contains(flag, "webhook") {
		return true
	}
	words := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\n=,;'\"/", r) })
	return strings.Contains(text, "webhookconfiguration") && slices.Contains(words, name)
}

// mayChangeConfigurations reports whether a role of a seed lets a ServiceAccount change webhook configurations.
func (s *surroundings) mayChangeConfigurations(v int32, account string) bool {
	subject := manifest.ID{Kind: "ServiceAccount", Namespace: s.ID(v).Namespace, Name: account}
	for at, binding := range s.VerticesOf(clusterBindingKind, bindingKind) {
		if s.graph.vertices[at].cluster != s.graph.vertices[v].cluster || !slices.Contains(placement.SubjectsOf(binding), subject) {
			continue
		}
		name := placement.RoleOf(binding)
		if name.Name == "cluster-admin" {
			return true
		}
		if role, ok := s.Beside(v, name); ok && s.content[role] != nil && changesConfigurations(s.content[role]) {
			return true
		}
	}
	return false
}

func changesConfigurations(role *manifest.Object) bool {
	for _, rule := range mappingsOf(role.Body["rules"]) {
		has := func(field string, of ...string) bool {
			return slices.ContainsFunc(stringsOf(rule[field]), func(text string) bool { return slices.Contains(of, text) })
		}
		if has("apiGroups", "*", validatingKind.Group) && has("resources", "*", "validatingwebhookconfigurations", "mutatingwebhookconfigurations") && has("verbs", "*", "update", "patch") {
			return true
		}
	}
	return false
}

// needsOfConfiguration lists what gives a webhook configuration its bundle of certificates, without which no webhook
// of it can be called: Jobs that patch it, or a Certificate and what injects that.
func (s *surroundings) needsOfConfiguration(v int32, o *manifest.Object) []need {
	var out []need
	for _, job := range s.findPatchers()[v] {
		out = append(out, need{to: job, rule: rulePatches, field: "webhooks.clientConfig.caBundle", why: "it gets its bundle of certificates from it"})
	}
	if c, _ := configurationOf(o); len(c.webhooks) == 0 {
		return out
	}
	for _, to := range s.bundleMakers(v) {
		out = append(out, need{to: to, rule: ruleBundle, field: "metadata.annotations", why: "its bundle of certificates comes from it"})
	}
	return out
}

// bundleMakers lists what gives an object the bundle of certificates that its annotations ask for: a Certificate
// and the workloads that inject it.
func (s *surroundings) bundleMakers(v int32) []int32 {
	if !isInjected(s.content[v]) {
		return nil
	}
	var out []int32
	if to, ok := s.certificate(v); ok {
		out = append(out, to)
	}
	for _, to := range s.workloadsOn(v) {
		if _, spec := placement.PodsOf(s.content[to]); injects(spec) {
			out = append(out, to)
		}
	}
	return out
}

// injects reports whether Pods run the injector of cert-manager.
func injects(spec map[string]any) bool {
	return slices.ContainsFunc(mappingsOf(spec["containers"]), func(c map[string]any) bool {
		image, _ := c["image"].(string)
		return strings.Contains(image, "cainjector")
	})
}

// findPatchers finds the Jobs that patch each webhook configuration.
func (s *surroundings) findPatchers() map[int32][]int32 {
	if s.patchers != nil {
		return s.patchers
	}
	s.patchers = map[int32][]int32{}
	for job, o := range s.VerticesOf(jobKind) {
		if s.leaving[job] {
			continue
		}
		for _, at := range s.patchedBy(job, o) {
			s.patchers[at] = append(s.patchers[at], job)
		}
	}
	return s.patchers
}

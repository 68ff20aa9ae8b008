package placement

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

const rbacGroup = "rbac.authorization.k8s.io"

var (
	crdKind            = manifest.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
	apiServiceKind     = manifest.GroupKind{Group: "apiregistration.k8s.io", Kind: "APIService"}
	validatingKind     = manifest.GroupKind{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"}
	mutatingKind       = manifest.GroupKind{Group: "admissionregistration.k8s.io", Kind: "MutatingWebhookConfiguration"}
	namespaceKind      = manifest.GroupKind{Kind: "Namespace"}
	serviceKind        = manifest.GroupKind{Kind: "Service"}
	secretKind         = manifest.GroupKind{Kind: "Secret"}
	configMapKind      = manifest.GroupKind{Kind: "ConfigMap"}
	accountKind        = manifest.GroupKind{Kind: "ServiceAccount"}
	priorityClassKind  = manifest.GroupKind{Group: "scheduling.k8s.io", Kind: "PriorityClass"}
	runtimeClassKind   = manifest.GroupKind{Group: "node.k8s.io", Kind: "RuntimeClass"}
	clusterRoleKind    = manifest.GroupKind{Group: rbacGroup, Kind: "ClusterRole"}
	roleKind           = manifest.GroupKind{Group: rbacGroup, Kind: "Role"}
	clusterBindingKind = manifest.GroupKind{Group: rbacGroup, Kind: "ClusterRoleBinding"}
	claimKind          = manifest.GroupKind{Kind: "PersistentVolumeClaim"}
	storageClassKind   = manifest.GroupKind{Group: "storage.k8s.io", Kind: "StorageClass"}
	networkKind        = manifest.GroupKind{Group: "k8s.cni.cncf.io", Kind: "NetworkAttachmentDefinition"}
	bindingKind        = manifest.GroupKind{Group: rbacGroup, Kind: "RoleBinding"}
)

// link joins an object with those that it names and that work only together with it.
func (f *operators) link(n *node) {
	o := n.object
	switch n.kind.GroupKind {
	case crdKind:
		f.of(o.ID)
		f.linkService(o, o.Map("spec", "conversion", "webhook", "clientConfig", "service"), "spec.conversion.webhook.clientConfig.service")
		f.linkService(o, o.Map("spec", "conversion", "webhookClientConfig", "service"), "spec.conversion.webhookClientConfig.service")
	case validatingKind, mutatingKind:
		f.of(o.ID)
		for i, item := range o.Slice("webhooks") {
			hook, _ := item.(map[string]any)
			config, _ := hook["clientConfig"].(map[string]any)
			service, _ := config["service"].(map[string]any)
			f.linkService(o, service, fmt.Sprintf("webhooks[%d].clientConfig.service", i))
			f.linkRules(o, hook, i)
		}
	case apiServiceKind:
		f.of(o.ID)
		f.linkService(o, o.Map("spec", "service"), "spec.service")
	case serviceKind:
		for _, n := range f.selectedBy(o) {
			f.join(o.ID, n.object.ID, "spec.selector", "selects")
		}
	case clusterRoleKind, roleKind:
		f.linkRole(o)
	case clusterBindingKind, bindingKind:
		f.linkBinding(o)
	default:
		if n.kind.management != nil {
			f.linkServers(n)
		}
		if n.account != "" { // need not be in the seed
			account := manifest.ID{Kind: "ServiceAccount", Namespace: o.ID.Namespace, Name: n.account}
			f.join(o.ID, account, strings.Join(append(slices.Clone(n.kind.podPath), "spec", "serviceAccountName"), "."), "names")
		}
	}
	if len(n.annotations) > 0 {
		f.linkInjected(o)
	}
}

// linkService joins an object with the Service that a client configuration names.
func (f *operators) linkService(o *manifest.Object, service map[string]any, field string) {
	namespace, _ := service["namespace"].(string)
	name, _ := service["name"].(string)
	f.joinKnown(o.ID, manifest.ID{Kind: "Service", Namespace: namespace, Name: name}, field)
}

// linkServers joins an object for management clusters with the Services of the seed that answer its
// operator: those in a field called service, and those in URLs.
func (f *operators) linkServers(n *node) {
	o := n.object
	walkFields(o, func(field string, value any) {
		if service, ok := value.(map[string]any); ok && field == "service" {
			namespace, _ := service["namespace"].(string)
			name, _ := service["name"].(string)
			f.joinKnown(o.ID, manifest.ID{Kind: "Service", Namespace: cmp.Or(namespace, o.ID.Namespace), Name: name}, field)
		}
		forTexts(value, func(text string) {
			if name, namespace, ok := serviceIn(text); ok {
				f.joinKnown(o.ID, manifest.ID{Kind: "Service", Namespace: namespace, Name: name}, field)
			}
		})
	})
}

// serviceIn returns the Service of a host in a text, as in https://hooks.ext.svc:443/path.
func serviceIn(text string) (name, namespace string, ok bool) {
	host, rest, ok := strings.Cut(text, ".svc")
	if !ok || rest != "" && !strings.ContainsAny(rest[:1], ".:/") {
		return "", "", false
	}
	host = host[strings.LastIndexAny(host, "/@, ")+1:]
	labels := strings.Split(host, ".")
	if len(labels) < 2 {
		return "", "", false
	}
	return labels[len(labels)-2], labels[len(labels)-1], true
}

// linkRules joins a webhook configuration with the definitions of the kinds that it names: whoever
// checks the resources of a kind must be where they are.
func (f *operators) linkRules(o *manifest.Object, hook map[string]any, at int) {
	for _, rule := range mappings(hook["rules"]) {
		for _, group := range texts(rule["apiGroups"]) {
			for _, d := range f.crds[group] {
				if names(texts(rule["resources"]), d.plural, "") {
					f.join(o.ID, d.node.object.ID, fmt.Sprintf("webhooks[%d].rules", at), "checks the resources of")
				}
			}
		}
	}
}

// linkBinding joins a binding with its ServiceAccounts, and with a role of the seed that makes an
// operator of who has it. Other roles are shared by what has nothing else in common.
func (f *operators) linkBinding(o *manifest.Object) {
	role := RoleOf(o)
	if n := f.node(role); n != nil && (len(WritesStatus(n.object)) > 0 || n.object.Map("aggregationRule") != nil) {
		f.join(o.ID, role, "roleRef", "names")
	}
	for _, account := range SubjectsOf(o) {
		f.join(o.ID, account, "subjects", "name")
	}
}

// linkRole joins a role with the definitions of the kinds whose status it may write, and an
// aggregated one with those that it is made of.
func (f *operators) linkRole(o *manifest.Object) {
	for _, w := range WritesStatus(o) {
		f.of(o.ID)
		for _, d := range f.crds[w.Group] {
			if w.Writes(d.plural) {
				f.join(o.ID, d.node.object.ID, fmt.Sprintf("rules[%d]", w.at), "allows to write the status of the resources of")
			}
		}
	}
	for _, selector := range mappings(o.Map("aggregationRule")["clusterRoleSelectors"]) {
		wanted := labels.Set{}
		matched, _ := selector["matchLabels"].(map[string]any)
		for key, value := range matched {
			wanted[key], _ = value.(string)
		}
		for _, n := range f.resourcesOf(clusterRoleKind) {
			if len(wanted) > 0 && n.object != o && labels.SelectorFromSet(wanted).Matches(labels.Set(n.object.Labels())) {
				f.join(o.ID, n.object.ID, "aggregationRule", "selects")
			}
		}
	}
}

// granted returns the definitions of the kinds that the rules of a role name.
func (s *placer) granted(role *manifest.Object) []*node {
	var found []*node
	for _, rule := range mappings(role.Body["rules"]) {
		for _, group := range texts(rule["apiGroups"]) {
			for _, d := range s.findOperators().crds[group] {
				if names(texts(rule["resources"]), d.plural, "") {
					found = append(found, d.node)
				}
			}
		}
	}
	return found
}

// StatusWriting is a rule of a role by which a controller may write the status of custom resources. Nobody else
// needs that.
type StatusWriting struct {
	at        int
	Group     string
	Resources []string
}

// Writes reports whether the rule is about a resource, by its plural.
func (w StatusWriting) Writes(plural string) bool { return names(w.Resources, plural, "status") }

// WritesStatus lists the statuses that a role may write. A rule for all groups says nothing about any of them.
func WritesStatus(o *manifest.Object) []StatusWriting {
	var out []StatusWriting
	for i, rule := range mappings(o.Body["rules"]) {
		verbs := texts(rule["verbs"])
		if !slices.Contains(verbs, "*") && !slices.Contains(verbs, "update") && !slices.Contains(verbs, "patch") {
			continue
		}
		resources := slices.DeleteFunc(texts(rule["resources"]), func(r string) bool {
			return r != "*" && r != "*/*" && !strings.HasSuffix(r, "/status")
		})
		if len(resources) == 0 {
			continue
		}
		for _, group := range texts(rule["apiGroups"]) {
			if strings.Contains(group, ".") {
				out = append(out, StatusWriting{i, group, resources})
			}
		}
	}
	return out
}

// Annotations of cert-manager that name who has the certificate that is injected into an object.
const (
	annotationInjectCA     = "cert-manager.io/inject-ca-from"
	annotationInjectSecret = "cert-manager.io/inject-ca-from-secret"
)

// linkInjected joins an object with the Certificate or Secret whose authority is injected into it.
func (f *operators) linkInjected(o *manifest.Object) {
	for key, kind := range map[string]manifest.GroupKind{annotationInjectCA: {Group: "cert-manager.io", Kind: "Certificate"}, annotationInjectSecret: {Kind: "Secret"}} {
		namespace, name, ok := strings.Cut(o.Annotation(key), "/")
		if ok {
			f.joinKnown(o.ID, manifest.ID{Group: kind.Group, Kind: kind.Kind, Namespace: namespace, Name: name}, "annotation "+key)
		}
	}
}

// weigh notes what a member extends the API by, and where that belongs.
func (f *operators) weigh(c *component, v *vertex, o *manifest.Object) {
	switch o.ID.GroupKind() {
	case crdKind:
		if kind, _, ok := manifest.DefinedScope(*o); ok {
			c.operator, c.kinds = true, append(c.kinds, kind)
			c.weighKind(v, kind, "defines")
		}
	case validatingKind, mutatingKind:
		c.operator = true
		for _, item := range mappings(o.Body["webhooks"]) {
			for _, rule := range mappings(item["rules"]) {
				for _, group := range texts(rule["apiGroups"]) {
					c.weighResources(v, group, texts(rule["resources"]), "checks")
				}
			}
		}
	case apiServiceKind:
		c.operator = true
		c.weighResources(v, o.Text("spec", "group"), []string{"*"}, "serves")
	case clusterRoleKind, roleKind:
		for _, w := range WritesStatus(o) {
			c.operator = true
			c.weighResources(v, w.Group, w.Resources, "allows to write the status of")
		}
	default:
		if v.node.kind.management != nil { // it is here for the server that it names
			c.operator = true
			c.weighKind(v, o.ID.GroupKind(), "is of kind")
		}
	}
}

// weighKind notes where a kind belongs, if the table says so.
func (c *component) weighKind(v *vertex, kind manifest.GroupKind, verb string) {
	if row, ok := managementKind(kind); ok {
		c.evidence = append(c.evidence, evidence{v, fmt.Sprintf("%s %s, which belongs to management clusters (%s)", verb, kind, row.Why), true})
	} else if row, ok := managedKind(kind); ok {
		c.evidence = append(c.evidence, evidence{v, fmt.Sprintf("%s %s, which belongs to managed clusters (%s)", verb, kind, row.Why), false})
	}
}

// weighResources notes where resources of a group belong.
func (c *component) weighResources(v *vertex, group string, resources []string, verb string) {
	for _, row := range managementRows {
		if resource := row.resource(group, resources); resource != "" {
			c.evidence = append(c.evidence, evidence{v, fmt.Sprintf("%s %s, which belongs to management clusters (%s)", verb, resource, row.Why), true})
			return
		}
	}
}

// names reports whether resources of a rule include a plural, or a subresource of it.
func names(resources []string, plural, sub string) bool {
	return slices.ContainsFunc(resources, func(r string) bool {
		resource, subresource, _ := strings.Cut(r, "/")
		return (resource == plural || resource == "*") && (sub == "" || r == "*" || subresource == sub || subresource == "*")
	})
}

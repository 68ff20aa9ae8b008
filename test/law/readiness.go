package law

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/furrow-dev/furrow/internal/core/makes"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// groups are the API groups of what pods, claims and routes name.
var groups = map[string]string{
	"Secret": "core", "ConfigMap": "core", "PersistentVolumeClaim": "core", "PersistentVolume": "core",
	"NetworkAttachmentDefinition": "k8s.cni.cncf.io", "StorageClass": "storage.k8s.io",
	"RuntimeClass": "node.k8s.io", "PriorityClass": "scheduling.k8s.io",
	"IngressClass": "networking.k8s.io", "GatewayClass": "gateway.networking.k8s.io",
}

// lacks returns what a declared object lacks to become ready; nil if it is ready.
func (p *player) lacks(ctx context.Context, o *object) error {
	if path, ok := templates[kindOf(o)]; ok {
		return p.startable(ctx, o, path)
	}
	text := func(fields ...string) string {
		value, _, _ := unstructured.NestedString(o.body.Object, fields...)
		return value
	}
	switch kindOf(o) {
	case "core/Service":
		if text("spec", "type") == "LoadBalancer" {
			return p.made(o, makes.Address, "", o.body.GetName(), false)
		}
	case "core/PersistentVolumeClaim":
		return cmp.Or(p.there(ctx, o, "StorageClass", "", text("spec", "storageClassName")), p.there(ctx, o, "PersistentVolume", "", text("spec", "volumeName")))
	case "storage.k8s.io/StorageClass":
		return cmp.Or(p.pools(o), p.mentioned(o, text("provisioner")))
	case "networking.k8s.io/Ingress":
		return p.there(ctx, o, "IngressClass", "", cmp.Or(text("spec", "ingressClassName"), o.body.GetAnnotations()["kubernetes.io/ingress.class"]))
	case "networking.k8s.io/IngressClass":
		return p.mentioned(o, text("spec", "controller"))
	case "gateway.networking.k8s.io/GatewayClass":
		return p.mentioned(o, text("spec", "controllerName"))
	case "gateway.networking.k8s.io/Gateway":
		return cmp.Or(p.there(ctx, o, "GatewayClass", "", text("spec", "gatewayClassName")), p.acts(ctx, o))
	}
	if _, builtin := p.cluster.builtin[o.body.GroupVersionKind()]; !builtin {
		return p.acts(ctx, o)
	}
	return nil
}

// there reports why something that an object names is missing. What the plan puts on the cluster is there
// when the API server has it and it is ready. What an object of the plan makes, by the table of Furrow, is
// there when that object is ready. Anything else is made by others and counts as there.
func (p *player) there(ctx context.Context, by *object, kind, namespace, name string) error {
	if name == "" {
		return nil
	}
	id := groups[kind] + "/" + kind + "/" + namespace + "/" + name
	if namespace == "" {
		id = groups[kind] + "/" + kind + "/" + name
	}
	o := p.packaged[id]
	if o != nil && (!p.ready[o] || !p.cluster.exists(ctx, p.path(o))) {
		return fmt.Errorf("%s is missing", id)
	}
	return p.made(by, kind, namespace, name, o != nil)
}

// made reports why no object of the plan has made a thing; nil where none does.
func (p *player) made(by *object, kind, namespace, name string, known bool) error {
	makers := p.makers.MakersOf(kind, namespace, name, known)
	if len(makers) == 0 || slices.Contains(makers, by) {
		return nil
	}
	return p.anyReady(makers, kind+" "+name+" is made by")
}

// anyReady reports why none of some objects is ready.
func (p *player) anyReady(objects []*object, what string) error {
	if len(objects) == 0 || slices.ContainsFunc(objects, func(o *object) bool { return p.ready[o] }) {
		return nil
	}
	return fmt.Errorf("%s %s, which is not ready", what, objects[0].id)
}

// mentioned reports why the workloads that mention a word in their arguments or environment are not ready; nil if none
// mentions it. A driver mentions the provisioner of its class in that way.
func (p *player) mentioned(by *object, word string) error {
	if word == "" {
		return nil
	}
	var workloads []*object
	for _, o := range p.packaged {
		if _, ok := templates[kindOf(o)]; ok && o != by && slices.ContainsFunc(arguments(podSpec(o)), func(text string) bool {
			_, value, _ := strings.Cut(text, "=")
			return text == word || value == word
		}) {
			workloads = append(workloads, o)
		}
	}
	return p.anyReady(workloads, word+" is served by")
}

// pools reports which custom object that a parameter of a StorageClass names is missing.
func (p *player) pools(class *object) error {
	parameters, _, _ := unstructured.NestedStringMap(class.body.Object, "parameters")
	for field, name := range parameters {
		for _, o := range p.packaged {
			if _, builtin := p.cluster.builtin[o.body.GroupVersionKind()]; !builtin && o.body.GetName() == name && !strings.HasPrefix(field, "csi.storage.k8s.io/") && !p.ready[o] {
				return fmt.Errorf("%s, its %s, is not ready", o.id, field)
			}
		}
	}
	return nil
}

// podSpec returns the specification of a workload's pods.
func podSpec(o *object) map[string]any {
	spec, _, _ := unstructured.NestedMap(o.body.Object, append(slices.Clone(templates[kindOf(o)]), "spec")...)
	return spec
}

// arguments lists the command lines of pods, and the values of their variables.
func arguments(spec map[string]any) []string {
	var out []string
	walk("", spec, func(field string, m map[string]any) {
		switch field {
		case "containers", "initContainers":
			for _, list := range []string{"command", "args"} {
				words, _, _ := unstructured.NestedStringSlice(m, list)
				out = append(out, words...)
			}
		case "env":
			if value, ok := m["value"].(string); ok {
				out = append(out, value)
			}
		}
	})
	return out
}

// named reports which of the things that pods name, and do not mark as optional, is missing.
func (p *player) named(ctx context.Context, o *object, pod map[string]any) error {
	namespace := o.body.GetNamespace()
	var err error
	need := func(kind, name string) {
		if err == nil {
			err = p.there(ctx, o, kind, namespace, name)
		}
	}
	spec, _, _ := unstructured.NestedMap(pod, "spec")
	walk("", spec, func(field string, m map[string]any) {
		if optional, _ := m["optional"].(bool); optional {
			return
		}
		name, _ := m["name"].(string)
		switch field {
		case "secret":
			secret, _ := m["secretName"].(string)
			need("Secret", cmp.Or(secret, name))
		case "secretRef", "secretKeyRef", "nodePublishSecretRef":
			need("Secret", name)
		case "configMap", "configMapRef", "configMapKeyRef":
			need("ConfigMap", name)
		case "persistentVolumeClaim":
			claim, _ := m["claimName"].(string)
			need("PersistentVolumeClaim", claim)
		}
	})
	for _, n := range networks(pod, namespace) {
		err = cmp.Or(err, p.there(ctx, o, "NetworkAttachmentDefinition", n.namespace, n.name))
	}
	claims, _, _ := unstructured.NestedSlice(o.body.Object, "spec", "volumeClaimTemplates")
	for _, claim := range claims {
		class, _, _ := unstructured.NestedString(claim.(map[string]any), "spec", "storageClassName")
		err = cmp.Or(err, p.there(ctx, o, "StorageClass", "", class))
	}
	for kind, field := range classes {
		name, _ := spec[field].(string)
		err = cmp.Or(err, p.there(ctx, o, kind, "", name))
	}
	return cmp.Or(err, p.scheduled(o, spec), p.patched(o, spec))
}

// classes are the fields of pods that name a class, by its kind.
var classes = map[string]string{"RuntimeClass": "runtimeClassName", "PriorityClass": "priorityClassName"}

type network struct{ namespace, name string }

// networks lists the additional networks that a pod asks for, in both notations of Multus.
func networks(pod map[string]any, namespace string) []network {
	text, _, _ := unstructured.NestedString(pod, "metadata", "annotations", "k8s.v1.cni.cncf.io/networks")
	var listed []struct{ Namespace, Name string }
	var out []network
	if json.Unmarshal([]byte(text), &listed) == nil {
		for _, n := range listed {
			out = append(out, network{cmp.Or(n.Namespace, namespace), n.Name})
		}
		return out
	}
	for name := range strings.SplitSeq(text, ",") {
		name, _, _ = strings.Cut(strings.TrimSpace(name), "@")
		in, rest, found := strings.Cut(name, "/")
		if !found {
			in, rest = namespace, name
		}
		out = append(out, network{in, rest})
	}
	return out
}

// scheduled reports why no node takes a pod: its scheduler does not run, no node offers the resources that
// it asks for, or the nodes of a cluster that the plan creates have no network or no cloud provider yet.
func (p *player) scheduled(o *object, spec map[string]any) error {
	var err error
	if name, _ := spec["schedulerName"].(string); name != "" && name != "default-scheduler" {
		err = cmp.Or(p.made(o, makes.Scheduler, "", name, false), p.mentioned(o, name))
	}
	walk("", spec, func(field string, m map[string]any) {
		if field != "limits" && field != "requests" {
			return
		}
		for name := range m {
			if domain, _, extended := strings.Cut(name, "/"); extended && !strings.HasSuffix("."+domain, ".kubernetes.io") {
				err = cmp.Or(err, p.made(o, makes.Resource, "", name, false), p.offered(o, name))
			}
		}
	})
	if err != nil || !p.isCreated {
		return err
	}
	if onNode, _ := spec["hostNetwork"].(bool); !onNode {
		err = p.made(o, makes.Network, "", "pods", false)
	}
	if !strings.Contains(fmt.Sprint(spec["tolerations"]), "cloudprovider.kubernetes.io/uninitialized") {
		err = cmp.Or(err, p.made(o, makes.Cloud, "", "nodes", false))
	}
	return err
}

// offered reports why no device plugin of the plan runs; nil where there is none, or the table knows who
// brings the resource.
func (p *player) offered(o *object, resource string) error {
	if len(p.makers.MakersOf(makes.Resource, "", resource, false)) > 0 {
		return nil
	}
	var plugins []*object
	for _, other := range p.packaged {
		if other != o && mountsHost(other, "/var/lib/kubelet/device-plugins") {
			plugins = append(plugins, other)
		}
	}
	return p.anyReady(plugins, resource+" is offered by")
}

// mountsHost reports whether the pods of a workload mount a directory of their node.
func mountsHost(o *object, directory string) bool {
	found := false
	if _, ok := templates[kindOf(o)]; ok {
		walk("", podSpec(o), func(field string, m map[string]any) {
			path, _ := m["path"].(string)
			found = found || field == "hostPath" && strings.HasSuffix(strings.TrimSuffix(path, "/"), directory)
		})
	}
	return found
}

// patched reports which webhook configuration a Job patches that is missing: the Job fails then.
func (p *player) patched(o *object, spec map[string]any) error {
	for _, other := range p.packaged {
		if patches(o, spec, other) && !p.ready[other] {
			return fmt.Errorf("%s is missing", other.id)
		}
	}
	return nil
}

// patches reports whether a Job patches a webhook configuration, by the flag of the tools that do.
func patches(job *object, spec map[string]any, configuration *object) bool {
	return kindOf(job) == "batch/Job" && strings.HasSuffix(kindOf(configuration), "WebhookConfiguration") &&
		slices.Contains(arguments(spec), "--webhook-name="+configuration.body.GetName())
}

// patchedBy reports why no Job of the plan has patched the bundle of certificates into a webhook configuration;
// nil where none does.
func (p *player) patchedBy(configuration *object) error {
	var jobs []*object
	for _, o := range p.packaged {
		if kindOf(o) == "batch/Job" && patches(o, podSpec(o), configuration) {
			jobs = append(jobs, o)
		}
	}
	return p.anyReady(jobs, "its bundle comes from")
}

// acts reports why a custom object is not acted upon: its operator does not run, or what it names is
// missing.
func (p *player) acts(ctx context.Context, o *object) error {
	if err := p.operated(o); err != nil {
		return err
	}
	var err error
	for field, value := range o.body.Object {
		if field == "metadata" || field == "status" {
			continue
		}
		walk(field, value, func(field string, m map[string]any) {
			if optional, _ := m["optional"].(bool); err == nil && !optional {
				err = p.references(ctx, o, field, m)
			}
		})
	}
	if secret, _, _ := unstructured.NestedString(o.body.Object, "spec", "ca", "secretName"); kindOf(o) == "cert-manager.io/Issuer" {
		err = cmp.Or(err, p.there(ctx, o, "Secret", o.body.GetNamespace(), secret))
	}
	return err
}

// references reports why what a mapping in a custom object names, by kind and name, is missing.
func (p *player) references(ctx context.Context, o *object, field string, m map[string]any) error {
	kind, _ := m["kind"].(string)
	name, _ := m["name"].(string)
	namespace, _ := m["namespace"].(string)
	switch lower := strings.ToLower(field); {
	case kind != "":
	case lower == "secretref", strings.HasSuffix(lower, "secretkeyref"):
		kind = "Secret"
	case lower == "issuerref":
		kind = "Issuer"
	}
	namespace = cmp.Or(namespace, o.body.GetNamespace())
	if name == "" || kind == "" {
		return nil
	}
	if kind == "Secret" || kind == "ConfigMap" {
		return p.there(ctx, o, kind, namespace, name)
	}
	group, _ := m["group"].(string)
	for _, key := range []string{"apiVersion", "apiGroup"} {
		if text, ok := m[key].(string); ok && strings.Contains(text, ".") {
			group, _, _ = strings.Cut(text, "/")
		}
	}
	for _, other := range p.packaged {
		of, rest, _ := strings.Cut(other.id, "/")
		if (rest == kind+"/"+namespace+"/"+name || rest == kind+"/"+name) && (group == "" || group == of) && other != o && !p.ready[other] {
			return fmt.Errorf("%s, which it names in %s, is not ready", other.id, field)
		}
	}
	return nil
}

// operator is a workload with the role that lets it write objects of some kinds, and what binds the role.
type operator struct{ workload, role, binding *object }

// operated reports why no operator of a custom object's kind works; nil where the plan has none.
func (p *player) operated(o *object) error {
	group := o.body.GroupVersionKind().Group
	operators := slices.Concat(p.operators[group+"/"+p.kinds[o.body.GroupVersionKind()].plural], p.operators[group+"/*"])
	if len(operators) == 0 || slices.ContainsFunc(operators, func(by operator) bool { return p.ready[by.workload] && p.ready[by.role] && p.ready[by.binding] }) {
		return nil
	}
	return fmt.Errorf("its operator %s does not work", operators[0].workload.id)
}

// addOperators finds the operators of kinds: workloads whose ServiceAccount may write objects of the kind, or
// their status. A role for all groups makes no operator.
func (p *player) addOperators(binding *object) {
	kind, _, _ := unstructured.NestedString(binding.body.Object, "roleRef", "kind")
	name, _, _ := unstructured.NestedString(binding.body.Object, "roleRef", "name")
	id := "rbac.authorization.k8s.io/" + kind + "/" + name
	if kind == "Role" {
		id = "rbac.authorization.k8s.io/Role/" + binding.body.GetNamespace() + "/" + name
	}
	role := p.packaged[id]
	if role == nil {
		return
	}
	written := writes(role)
	subjects, _, _ := unstructured.NestedSlice(binding.body.Object, "subjects")
	for _, subject := range subjects {
		s, _ := subject.(map[string]any)
		for _, o := range p.packaged {
			if _, ok := templates[kindOf(o)]; !ok || kindOf(o) == "batch/Job" || s["kind"] != "ServiceAccount" || s["namespace"] != o.body.GetNamespace() {
				continue
			}
			if account, _ := podSpec(o)["serviceAccountName"].(string); cmp.Or(account, "default") == s["name"] {
				for _, resource := range written {
					p.operators[resource] = append(p.operators[resource], operator{o, role, binding})
				}
			}
		}
	}
}

// writes lists what a role lets write, as group/plural.
func writes(role *object) []string {
	var out []string
	rules, _, _ := unstructured.NestedSlice(role.body.Object, "rules")
	for _, rule := range rules {
		list := func(field string) []string {
			texts, _, _ := unstructured.NestedStringSlice(rule.(map[string]any), field)
			return texts
		}
		if !slices.ContainsFunc(list("verbs"), func(verb string) bool { return verb == "*" || verb == "update" || verb == "patch" }) {
			continue
		}
		for _, group := range list("apiGroups") {
			for _, resource := range list("resources") {
				if plural, _, _ := strings.Cut(resource, "/"); group != "*" && group != "" {
					out = append(out, group+"/"+plural)
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// makesOf returns what an object makes: by the table of Furrow, and the network of pods by DaemonSets that
// configure it on their node.
func (p *player) makesOf(o *object) []makes.Thing {
	if kindOf(o) == "apps/DaemonSet" && mountsHost(o, "/etc/cni/net.d") {
		return []makes.Thing{{Kind: makes.Network, Name: "*", Like: true}}
	}
	return makes.By(manifestOf(o), func(id manifest.ID) *manifest.Object {
		if source := p.packaged[id.String()]; source != nil {
			return manifestOf(source)
		}
		return nil
	})
}

func manifestOf(o *object) *manifest.Object {
	gvk := o.body.GroupVersionKind()
	return &manifest.Object{ID: manifest.ID{Group: gvk.Group, Kind: gvk.Kind, Namespace: o.body.GetNamespace(), Name: o.body.GetName()}, Version: gvk.Version, Body: o.body.Object}
}

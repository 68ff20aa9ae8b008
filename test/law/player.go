package law

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/furrow-dev/furrow/internal/core/makes"
)

// player does on one cluster what would run there: it starts workloads, and does the work of
// operators that the API server notices.
type player struct {
	cluster *cluster
	bundle  []byte
	// packaged are all objects that the plan puts on the cluster, by id; what is not among them is
	// made by others and counts as there.
	packaged map[string]*object
	// declared are the objects that the cluster has.
	declared []*object
	// kinds are how kinds are reached.
	kinds map[schema.GroupVersionKind]resource
	// isCreated reports whether the plan creates the cluster. Another one has all that its nodes need.
	isCreated bool
	// makers are who makes what, and operators who acts on custom objects, by group/plural.
	makers    makes.Index[*object]
	operators map[string][]operator
	// ready are the declared objects that lack nothing. Workloads of these run.
	ready map[*object]bool
	// trusted are the client configurations that have a caBundle.
	trusted map[string]bool
	// created are the objects that create clusters, and whether they have.
	created map[*object]bool
	// address counts the addresses of backends.
	address int
	serving map[string]bool
}

func newPlayer(c *cluster, bundle []byte, kinds map[schema.GroupVersionKind]resource, isCreated bool, all []*object) *player {
	p := &player{
		cluster: c, bundle: bundle, kinds: kinds, isCreated: isCreated, packaged: map[string]*object{}, operators: map[string][]operator{},
		ready: map[*object]bool{}, trusted: map[string]bool{}, created: map[*object]bool{}, serving: map[string]bool{},
	}
	for _, o := range all {
		p.packaged[o.id] = o
	}
	for _, o := range all {
		p.makers.Add(o, p.makesOf(o))
		if kind := kindOf(o); kind == "rbac.authorization.k8s.io/ClusterRoleBinding" || kind == "rbac.authorization.k8s.io/RoleBinding" {
			p.addOperators(o)
		}
	}
	return p
}

// templates has where each kind of workload keeps its pod.
var templates = map[string][]string{
	"apps/Deployment": {"spec", "template"}, "apps/StatefulSet": {"spec", "template"}, "apps/DaemonSet": {"spec", "template"},
	"apps/ReplicaSet": {"spec", "template"}, "batch/Job": {"spec", "template"}, "core/Pod": {},
}

// kindOf returns group/Kind, with core for the empty group, as in the id of an object.
func kindOf(o *object) string {
	group, rest, _ := strings.Cut(o.id, "/")
	kind, _, _ := strings.Cut(rest, "/")
	return group + "/" + kind
}

// unready is an object that does not become ready, and why.
type unready struct {
	object *object
	why    error
}

// play lets everything become ready that can, and returns what cannot.
func (p *player) play(ctx context.Context) ([]unready, error) {
	for {
		progress := false
		var waiting []unready
		for _, o := range p.declared {
			if p.ready[o] {
				continue
			}
			if why := p.lacks(ctx, o); why != nil {
				waiting = append(waiting, unready{o, why})
				continue
			}
			p.ready[o], progress = true, true
		}
		served, err := p.serve(ctx)
		if err != nil {
			return nil, err
		}
		trusted, err := p.trust(ctx)
		if err != nil {
			return nil, err
		}
		created, err := p.create(ctx)
		if err != nil {
			return nil, err
		}
		if !progress && !served && !trusted && !created {
			return waiting, nil
		}
	}
}

// startable reports why a workload cannot start: something that its pods need is missing, or a pod of it is
// not admitted.
func (p *player) startable(ctx context.Context, o *object, path []string) error {
	pod, _, err := unstructured.NestedMap(o.body.Object, path...)
	if err != nil {
		return err
	}
	if err := p.named(ctx, o, pod); err != nil {
		return err
	}
	spec, _, _ := unstructured.NestedMap(pod, "spec")
	for kind, field := range classes {
		// A class that an operator makes is there, as far as the plan shows.
		if name, _ := spec[field].(string); len(p.makers.MakersOf(kind, "", name, false)) > 0 {
			unstructured.RemoveNestedField(pod, "spec", field)
		}
	}
	if len(path) == 0 {
		return nil
	}
	claims, _, _ := unstructured.NestedSlice(o.body.Object, "spec", "volumeClaimTemplates")
	volumes, _, _ := unstructured.NestedSlice(pod, "spec", "volumes")
	for _, claim := range claims {
		name, _, _ := unstructured.NestedString(claim.(map[string]any), "metadata", "name")
		volumes = append(volumes, map[string]any{"name": name, "persistentVolumeClaim": map[string]any{"claimName": name}})
	}
	if len(claims) > 0 {
		if err := unstructured.SetNestedSlice(pod, volumes, "spec", "volumes"); err != nil {
			return err
		}
	}
	meta, _, _ := unstructured.NestedMap(pod, "metadata")
	if meta == nil {
		meta = map[string]any{}
	}
	delete(meta, "creationTimestamp")
	meta["generateName"], meta["namespace"] = "law-", o.body.GetNamespace()
	delete(meta, "name")
	pod["metadata"], pod["apiVersion"], pod["kind"] = meta, "v1", "Pod"
	err = p.cluster.admits(ctx, o.body.GetNamespace(), pod)
	var answer *refused
	if errors.As(err, &answer) && noDryRun(answer) {
		return nil
	}
	return err
}

// noDryRun reports whether a webhook was not asked because it does not support dry runs.
func noDryRun(r *refused) bool { return strings.Contains(r.message, "does not support dry run") }

// walk calls visit with all maps below value and the field that each is in, or whose list it is in.
func walk(field string, value any, visit func(field string, m map[string]any)) {
	switch v := value.(type) {
	case map[string]any:
		visit(field, v)
		for field, child := range v {
			walk(field, child, visit)
		}
	case []any:
		for _, child := range v {
			walk(field, child, visit)
		}
	}
}

// works reports why a controller, known by the name of its Deployment, does not run.
func (p *player) works(name string) error {
	for _, o := range p.declared {
		if kindOf(o) == "apps/Deployment" && o.body.GetName() == name {
			if p.ready[o] {
				return nil
			}
			return fmt.Errorf("%s does not run", o.id)
		}
	}
	return fmt.Errorf("no Deployment %s is declared", name)
}

func (p *player) find(id string) *object {
	i := slices.IndexFunc(p.declared, func(o *object) bool { return o.id == id })
	if i < 0 {
		return nil
	}
	return p.declared[i]
}

// clientConfig is what an API server calls: in a webhook configuration, the conversion of a CRD, or
// an APIService.
type clientConfig struct {
	owner *object
	// pointer is where its caBundle is.
	pointer         string
	namespace, name string
	port            int64
}

// clientConfigs lists those of an object that name a Service.
func clientConfigs(o *object) []clientConfig {
	var configs []clientConfig
	add := func(pointer string, service map[string]any) {
		namespace, _ := service["namespace"].(string)
		name, _ := service["name"].(string)
		port := int64(443)
		switch given := service["port"].(type) {
		case int64:
			port = given
		case float64:
			port = int64(given)
		}
		if name != "" {
			configs = append(configs, clientConfig{o, pointer, namespace, name, port})
		}
	}
	switch kindOf(o) {
	case "admissionregistration.k8s.io/ValidatingWebhookConfiguration", "admissionregistration.k8s.io/MutatingWebhookConfiguration":
		webhooks, _, _ := unstructured.NestedSlice(o.body.Object, "webhooks")
		for i, webhook := range webhooks {
			service, _, _ := unstructured.NestedMap(webhook.(map[string]any), "clientConfig", "service")
			add(fmt.Sprintf("/webhooks/%d/clientConfig/caBundle", i), service)
		}
	case "apiextensions.k8s.io/CustomResourceDefinition":
		service, _, _ := unstructured.NestedMap(o.body.Object, "spec", "conversion", "webhook", "clientConfig", "service")
		add("/spec/conversion/webhook/clientConfig/caBundle", service)
	case "apiregistration.k8s.io/APIService":
		service, _, _ := unstructured.NestedMap(o.body.Object, "spec", "service")
		pointer := "/spec/caBundle"
		if insecure, _, _ := unstructured.NestedBool(o.body.Object, "spec", "insecureSkipTLSVerify"); insecure {
			pointer = ""
		}
		add(pointer, service)
	}
	return configs
}

// serve gives endpoints to the Services that API servers call and that a running workload is
// behind. It reports whether one was new.
func (p *player) serve(ctx context.Context) (bool, error) {
	progress := false
	for _, o := range p.declared {
		for _, c := range clientConfigs(o) {
			service := p.find("core/Service/" + c.namespace + "/" + c.name)
			key := c.namespace + "/" + c.name
			if service == nil || p.serving[key] || !p.backed(service) {
				continue
			}
			if err := p.endpoints(ctx, service); err != nil {
				return false, err
			}
			p.serving[key], progress = true, true
		}
	}
	return progress, nil
}

// backed reports whether a running workload is behind a Service. One without a selector has its
// endpoints from elsewhere.
func (p *player) backed(service *object) bool {
	selector, _, _ := unstructured.NestedStringMap(service.body.Object, "spec", "selector")
	if len(selector) == 0 {
		return true
	}
	for o := range p.ready {
		path, isWorkload := templates[kindOf(o)]
		if !isWorkload {
			continue
		}
		pod, _, _ := unstructured.NestedStringMap(o.body.Object, append(slices.Clone(path), "metadata", "labels")...)
		if o.body.GetNamespace() == service.body.GetNamespace() && labels.SelectorFromSet(selector).Matches(labels.Set(pod)) {
			return true
		}
	}
	return false
}

// endpoints makes the EndpointSlice of a Service. Its address is the test's: nothing else is ever
// called by it.
func (p *player) endpoints(ctx context.Context, service *object) error {
	p.address++
	address := fmt.Sprintf("198.18.%d.%d", p.address/250, p.address%250+1)
	ports, _, _ := unstructured.NestedSlice(service.body.Object, "spec", "ports")
	var slicePorts []any
	for i, port := range ports {
		name, _, _ := unstructured.NestedString(port.(map[string]any), "name")
		number := 10000 + i
		slicePorts = append(slicePorts, map[string]any{"name": name, "port": number, "protocol": "TCP"})
		p.cluster.egress.listen(fmt.Sprintf("%s:%d", address, number))
	}
	slice := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
		"metadata": map[string]any{
			"name": "law-" + service.body.GetName(), "namespace": service.body.GetNamespace(),
			"labels": map[string]any{"kubernetes.io/service-name": service.body.GetName()},
		},
		"addressType": "IPv4", "ports": slicePorts,
		"endpoints": []any{map[string]any{"addresses": []any{address}, "conditions": map[string]any{"ready": true}}},
	}}
	return p.cluster.apply(ctx, resource{"endpointslices", true}, slice, false)
}

// trust writes the caBundle of each client configuration whose backend runs: the operator does it,
// or cert-manager where an annotation asks for it. It reports whether one was new.
func (p *player) trust(ctx context.Context) (bool, error) {
	progress := false
	for _, o := range p.declared {
		for _, c := range clientConfigs(o) {
			key := o.id + c.pointer
			if c.pointer == "" || p.trusted[key] || !p.trusts(c) {
				continue
			}
			patch := []any{map[string]any{"op": "add", "path": c.pointer, "value": base64.StdEncoding.EncodeToString(p.bundle)}}
			if err := p.cluster.call(ctx, http.MethodPatch, p.path(o), url.Values{"fieldManager": {"operator"}}, patchType, patch, nil); err != nil {
				return false, fmt.Errorf("write the caBundle of %s: %w", o.id, err)
			}
			p.trusted[key], progress = true, true
		}
	}
	return progress, nil
}

// path returns where an object is in the API.
func (p *player) path(o *object) string {
	return p.kinds[o.body.GroupVersionKind()].path(o.body)
}

// create lets Cluster API create clusters, and reports whether one was new.
func (p *player) create(ctx context.Context) (bool, error) {
	progress := false
	for o, done := range p.created {
		if done || !p.ready[o] {
			continue
		}
		status := map[string]any{"status": map[string]any{"initialization": map[string]any{"controlPlaneInitialized": true}}}
		path := resource{"clusters", true}.path(o.body) + "/status"
		if err := p.cluster.call(ctx, http.MethodPatch, path, url.Values{"fieldManager": {"operator"}}, mergeType, status, nil); err != nil {
			return false, fmt.Errorf("write the status of %s: %w", o.id, err)
		}
		p.created[o], progress = true, true
	}
	return progress, nil
}

// trusts reports whether somebody writes the caBundle.
func (p *player) trusts(c clientConfig) bool {
	from := c.owner.body.GetAnnotations()["cert-manager.io/inject-ca-from"]
	if from == "" {
		return p.serving[c.namespace+"/"+c.name] && p.patchedBy(c.owner) == nil
	}
	namespace, name, _ := strings.Cut(from, "/")
	certificate := p.find("cert-manager.io/Certificate/" + namespace + "/" + name)
	return certificate != nil && p.ready[certificate] && p.works("cert-manager-cainjector") == nil
}

package simulator

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"sigs.k8s.io/yaml"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

const (
	defaultNamespace = "flux-system"
	rootName         = "flux-system"
)

// declared is a Kustomization object as the API server understands it.
type declared struct {
	spec     kustomizev1.KustomizationSpec
	fields   map[string]any // of the spec, with the server's defaults
	rendered string
	fault    string // why the API server refuses it
}

// declare decodes the item once. It is called for Kustomizations only.
func (i *item) declare() *declared {
	if i.decoded == nil {
		i.decoded = decode(i.object)
	}
	return i.decoded
}

// decode reads a Kustomization of Flux as strictly as its API server does: a field that does not
// exist, or an invalid one, is a fault, which the root that applies it reports.
func decode(o manifest.Object) *declared {
	d := &declared{rendered: o.Annotation(v1alpha1.AnnotationRendered), fields: map[string]any{"force": false}}
	for name, value := range o.Map("spec") {
		d.fields[name] = value
	}
	var typed kustomizev1.Kustomization
	text, err := json.Marshal(o.Body)
	if err == nil {
		err = yaml.UnmarshalStrict(text, &typed)
	}
	d.spec = typed.Spec
	switch {
	case err != nil:
		d.fault = fmt.Sprintf("failed to create typed patch object: %v", err)
	case o.APIVersion() != kustomizev1.GroupVersion.String():
		d.fault = fmt.Sprintf("no matches for kind %q in version %q", o.ID.Kind, o.APIVersion())
	default:
		d.fault = invalid(o, typed.Spec)
	}
	return d
}

// invalid checks what the Kustomization CRD requires, in the words of an API server, or returns "".
func invalid(o manifest.Object, spec kustomizev1.KustomizationSpec) string {
	field, message := "", ""
	switch {
	case spec.Interval.Duration <= 0:
		field, message = "interval", "Required value"
	case spec.SourceRef.Kind == "" || spec.SourceRef.Name == "":
		field, message = "sourceRef", "Required value"
	case o.Map("spec")["prune"] == nil:
		field, message = "prune", "Required value"
	case !slices.Contains(deletionPolicies, spec.DeletionPolicy):
		field, message = "deletionPolicy", fmt.Sprintf("Unsupported value: %q", spec.DeletionPolicy)
	case spec.KubeConfig != nil && (spec.KubeConfig.SecretRef == nil || spec.KubeConfig.SecretRef.Name == ""):
		field, message = "kubeConfig", "Invalid value: only a secretRef is simulated"
	default:
		return ""
	}
	return fmt.Sprintf("Kustomization.kustomize.toolkit.fluxcd.io %q is invalid: spec.%s: %s", o.ID.Name, field, message)
}

// deletionPolicies are the values of spec.deletionPolicy.
var deletionPolicies = []string{
	"", kustomizev1.DeletionPolicyMirrorPrune, kustomizev1.DeletionPolicyDelete,
	kustomizev1.DeletionPolicyWaitForTermination, kustomizev1.DeletionPolicyOrphan,
}

// plantRoot gives a cluster its root, as people set it up once: it prunes, and
// does not wait.
func (s *Simulator) plantRoot(c *cluster) {
	root := &c.spec.Root
	if root.Path == "" {
		return
	}
	root.Namespace = cmp.Or(root.Namespace, defaultNamespace)
	root.Source = cmp.Or(root.Source, rootName)
	c.keep(root.Namespace)
	d := &declared{}
	d.spec.Path, d.spec.Prune = root.Path, true
	d.spec.Interval.Duration = 10 * time.Minute
	d.spec.SourceRef = kustomizev1.CrossNamespaceSourceReference{Kind: sourceKind, Name: root.Source, Namespace: root.Namespace}
	d.fields = map[string]any{
		"interval": "10m", "path": root.Path, "prune": true, "force": false,
		"sourceRef": map[string]any{"kind": sourceKind, "name": root.Source},
	}
	c.root = newKustomization(c, key{root.Namespace, rootName}, d)
	c.kustomizations[c.root.key] = c.root
	if r := s.repos[root.RepoID]; r != nil && r.head != nil {
		s.planFetch(c)
	}
}

const sourceKind = "GitRepository"

// adopt makes a Kustomization object known to the cluster's Flux, or hands a
// change of it on. A change of metadata alone does not raise the generation.
func (s *Simulator) adopt(c *cluster, l *live, d *declared) {
	k := l.kustomization
	if k == nil {
		k = newKustomization(c, key{l.id.Namespace, l.id.Name}, d)
		l.kustomization = k
		c.kustomizations[k.key] = k
		s.wake(k, s.schedule.now)
		return
	}
	changed := !reflect.DeepEqual(k.declared.fields, d.fields)
	k.declared = d
	if changed {
		k.generation++
		s.wake(k, s.schedule.now)
	}
}

// preflight holds all objects below a root against the API server before any is changed: Flux sends
// all of them as a dry run first. One refused object blocks every change of the root.
func (s *Simulator) preflight(a *attempt) []refusal {
	brought := bringing(a.content)
	var refused []refusal
	for _, it := range a.content.items {
		r := s.request(a, it)
		if message := admit(r, brought); message != "" {
			refused = append(refused, refusal{r.id, message})
		}
	}
	return refused
}

// own is what the objects below a root bring themselves. Flux applies them
// before the rest.
type own struct {
	namespaces map[string]bool
	kinds      map[manifest.GroupKind]bool
}

// bringing returns what the content itself defines, so objects of a new namespace or kind can
// be applied in the same run.
func bringing(c *content) own {
	o := own{map[string]bool{}, map[manifest.GroupKind]bool{}}
	for _, it := range c.items {
		if it.object.ID.GroupKind() == namespaceKind {
			o.namespaces[it.object.ID.Name] = true
		}
		if gk, _, ok := manifest.DefinedScope(it.object); ok {
			o.kinds[gk] = true
		}
	}
	return o
}

// hasKind and hasNamespace report whether what a request lacks comes with the root.
func (o own) hasKind(r request) bool      { return o.kinds[r.id.GroupKind()] }
func (o own) hasNamespace(r request) bool { return o.namespaces[r.id.Namespace] }

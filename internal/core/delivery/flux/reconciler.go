package flux

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/template"
	"github.com/furrow-dev/furrow/templates"
)

// BuiltIn implements delivery.Kind.
func (Kind) BuiltIn() template.Text {
	return template.Text{Name: "flux-kustomization.yaml.tmpl", Text: templates.FluxKustomization}
}

// Render implements delivery.Kind.
func (Kind) Render(t template.Text, vars template.Reconciler) (template.Rendered, error) {
	return template.RenderReconciler(t, vars, checkKustomization)
}

// CheckTemplate implements delivery.Kind.
func (Kind) CheckTemplate(t template.Text, labels map[string]string) error {
	return template.CheckReconciler(t, labels, checkKustomization)
}

// Orphaned returns a reconciler object as it was rendered, but for what becomes of its objects when
// it is deleted: they stay. Flux then does not ask their cluster.
func (Kind) Orphaned(at string, data []byte) (template.Rendered, error) {
	objects, err := manifest.Parse(at, data)
	if err != nil {
		return template.Rendered{}, err
	}
	if len(objects) != 1 || objects[0].ID.Kind != kustomizev1.KustomizationKind {
		return template.Rendered{}, manifest.Problem{Reason: v1alpha1.ReasonInvalidPlan, Path: at, Message: at + ": it holds no Flux Kustomization"}
	}
	o := objects[0]
	spec := maps.Clone(o.Map("spec"))
	if spec == nil {
		return template.Rendered{}, manifest.Problem{Reason: v1alpha1.ReasonInvalidPlan, Path: at, Message: at + ": the Kustomization has no spec"}
	}
	spec[fieldDeletionPolicy] = kustomizev1.DeletionPolicyOrphan
	o.Body = maps.Clone(o.Body)
	o.Body["spec"] = spec
	return template.Stamp(o)
}

const fieldDeletionPolicy = "deletionPolicy"

// Orphans says of the spec of a reconciler object that what it applied stays when it is deleted.
func (Kind) Orphans(spec map[string]any) bool {
	return spec[fieldDeletionPolicy] == kustomizev1.DeletionPolicyOrphan
}

// checkKustomization holds a template to what Furrow relies on: one Flux
// Kustomization, of the name it was given, that prunes and has no unknown field.
func checkKustomization(name string, text []byte, vars template.Reconciler) (manifest.Object, error) {
	objects, err := manifest.Parse(name, text)
	if err != nil {
		return manifest.Object{}, err
	}
	if len(objects) != 1 {
		return manifest.Object{}, fmt.Errorf("it must render exactly one Flux Kustomization, and renders %d objects", len(objects))
	}
	o := objects[0]
	var k kustomizev1.Kustomization
	if o.APIVersion() != kustomizev1.GroupVersion.String() || o.ID.Kind != kustomizev1.KustomizationKind {
		return o, fmt.Errorf("it must render a Kustomization of %s, and renders %s %s", kustomizev1.GroupVersion, o.APIVersion(), o.ID.Kind)
	}
	if err := yaml.UnmarshalStrict(text, &k); err != nil {
		message := strings.TrimPrefix(err.Error(), "error unmarshaling JSON: while decoding JSON: json: ")
		return o, fmt.Errorf("it renders no valid Kustomization: %s", message)
	}
	switch {
	case k.Name != vars.Name || k.Namespace != vars.Namespace:
		return o, fmt.Errorf("it renders %s/%s, where {{ .Namespace }}/{{ .Name }} is %s/%s", k.Namespace, k.Name, vars.Namespace, vars.Name)
	case k.Spec.Path != vars.Path:
		return o, fmt.Errorf("spec.path is %q, where {{ .Path }} is %q", k.Spec.Path, vars.Path)
	}
	if !vars.Wait && len(vars.HealthChecks) == 0 {
		return o, checkPrunes(k.Spec)
	}
	return o, checkSpec(k.Spec)
}

// checkPrunes holds a Kustomization to what every tier needs.
func checkPrunes(spec kustomizev1.KustomizationSpec) error {
	judged := map[schema.GroupKind]bool{}
	for _, e := range spec.HealthCheckExprs {
		kind := schema.FromAPIVersionAndKind(e.APIVersion, e.Kind).GroupKind()
		if judged[kind] {
			return fmt.Errorf("spec.healthCheckExprs has %s twice, which Flux refuses: Furrow has an expression for it. Write yours in spec.readiness of the ClusterType instead of in the Template", kind)
		}
		judged[kind] = true
	}
	switch {
	case !spec.Prune:
		return errors.New("spec.prune must be true: without it nothing is ever removed from a cluster")
	case spec.Suspend:
		return errors.New("spec.suspend must not be true: a tier that is suspended is never released")
	}
	return nil
}

// checkSpec refuses a Kustomization that would be Ready before its tier is healthy.
func checkSpec(spec kustomizev1.KustomizationSpec) error {
	switch err := checkPrunes(spec); {
	case err != nil:
		return err
	case !spec.Wait && len(spec.HealthChecks) == 0:
		return errors.New("spec.wait must be true, or spec.healthChecks be there: without them Flux says Ready before anything is healthy")
	}
	return nil
}

// CheckAmended returns an error if a person changed the spec of a reconciler object,
// compared to the planned one, so its health says nothing of the tier any more.
func (Kind) CheckAmended(spec, planned map[string]any) error {
	return manifest.About(manifest.Problem{Reason: v1alpha1.ReasonReconcilerEdited}, checkAmended(spec, planned))
}

// checkAmended decides by what the tier's health depends on: the path and the cluster must stay as
// they were planned, and the rest must be what a template may write.
func checkAmended(spec, planned map[string]any) error {
	var is, was kustomizev1.KustomizationSpec
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(planned, &was); err != nil {
		return err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(spec, &is); err != nil {
		return fmt.Errorf("the spec is not that of a Kustomization: %w", err)
	}
	switch {
	case is.Path != was.Path:
		return fmt.Errorf("spec.path must stay %q: the tier's objects are there", was.Path)
	case !reflect.DeepEqual(is.KubeConfig, was.KubeConfig):
		return errors.New("spec.kubeConfig must stay: it says which cluster the tier is on")
	}
	for _, check := range was.HealthCheckExprs {
		if !slices.Contains(is.HealthCheckExprs, check) {
			return fmt.Errorf("spec.healthCheckExprs must keep what it has for %s: other tiers wait until that is true", check.Kind)
		}
	}
	if !was.Wait && len(was.HealthChecks) == 0 {
		return checkPrunes(is)
	}
	return checkSpec(is)
}

package template

import (
	"crypto/sha256"
	"encoding/hex"
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
)

// Reconciler holds the variables of a template of type Reconciler, for one tier.
type Reconciler struct {
	// Name and Namespace of the reconciler object.
	Name, Namespace string
	// Seed, Cluster and Tier ("00", "01", …) that it reconciles.
	Seed, Cluster, Tier string
	// Labels are the cluster's.
	Labels map[string]string
	// ClusterType is the name of the cluster's type, or empty.
	ClusterType string
	// Path of the tier's objects from the root of the repository: "./planted/…".
	Path string
	// Source is the root's own source object.
	Source v1alpha1.ObjectReference
	// KubeConfigSecret names the Secret on the hub; empty when the cluster reconciles itself.
	KubeConfigSecret string
	// KubeConfigKey is the key of that Secret that holds the kubeconfig.
	KubeConfigKey string
	// DependsOn are the prerequisite tiers that the same cluster reconciles.
	DependsOn []ObjectName
	// Wait reports whether every object counts for health; else only HealthChecks do, if there are any.
	Wait             bool
	HealthChecks     []HealthCheck
	HealthCheckExprs []HealthCheckExpr
	Decryption       *v1alpha1.Decryption
}

// ObjectName is the name of another reconciler object.
type ObjectName struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace,omitempty"`
}

// HealthCheck names an object that counts for health.
type HealthCheck struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	Namespace  string `json:"namespace,omitempty"`
}

// HealthCheckExpr says in CEL when objects of a kind are healthy.
type HealthCheckExpr struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	InProgress string `json:"inProgress,omitempty"`
	Failed     string `json:"failed,omitempty"`
	Current    string `json:"current"`
}

// Rendered is a reconciler object as it lands in Git.
type Rendered struct {
	// Bytes is the canonical YAML, with Furrow's labels and annotation furrow.dev/rendered.
	Bytes []byte
	// Digest is the value of that annotation.
	Digest string
}

// RenderReconciler renders the reconciler object of a tier, checks that it is one
// and labels it.
func RenderReconciler(t Text, vars Reconciler) (Rendered, error) {
	if s := t.compiledFor(&vars); s != nil {
		return s.instantiate(&vars), nil
	}
	return renderReconciler(t, vars)
}

func renderReconciler(t Text, vars Reconciler) (Rendered, error) {
	text, err := Render(t, vars)
	if err != nil {
		return Rendered{}, err
	}
	o, err := checkKustomization(t.Name, text, vars)
	if err != nil {
		return Rendered{}, &Error{t, err}
	}
	return stamp(labelled(o, vars))
}

// labelled gives an object the labels that say what it reconciles, whatever a
// template wrote of them.
func labelled(o manifest.Object, vars Reconciler) manifest.Object {
	labels := map[string]any{}
	maps.Copy(labels, o.Map("metadata", "labels"))
	labels[v1alpha1.LabelSeed], labels[v1alpha1.LabelReconciledCluster], labels[v1alpha1.LabelTier] = vars.Seed, vars.Cluster, vars.Tier
	metadata := maps.Clone(o.Map("metadata"))
	metadata["labels"] = labels
	o.Body = maps.Clone(o.Body)
	o.Body["metadata"] = metadata
	return o
}

// Orphaned returns a reconciler object as it was rendered, but for what becomes of its objects when
// it is deleted: they stay. Flux then does not ask their cluster.
func Orphaned(at string, data []byte) (Rendered, error) {
	objects, err := manifest.Parse(at, data)
	if err != nil {
		return Rendered{}, err
	}
	if len(objects) != 1 || objects[0].ID.Kind != kustomizev1.KustomizationKind {
		return Rendered{}, manifest.Problem{Reason: v1alpha1.ReasonInvalidPlan, Path: at, Message: at + ": it holds no Flux Kustomization"}
	}
	o := objects[0]
	spec := maps.Clone(o.Map("spec"))
	if spec == nil {
		return Rendered{}, manifest.Problem{Reason: v1alpha1.ReasonInvalidPlan, Path: at, Message: at + ": the Kustomization has no spec"}
	}
	spec[fieldDeletionPolicy] = kustomizev1.DeletionPolicyOrphan
	o.Body = maps.Clone(o.Body)
	o.Body["spec"] = spec
	return stamp(o)
}

const fieldDeletionPolicy = "deletionPolicy"

// Orphans says of the spec of a reconciler object that what it applied stays when it is deleted.
func Orphans(spec map[string]any) bool {
	return spec[fieldDeletionPolicy] == kustomizev1.DeletionPolicyOrphan
}

// stamp annotates an object with the digest of what it is without that annotation.
func stamp(o manifest.Object) (Rendered, error) {
	plain, err := o.WithoutAnnotation(v1alpha1.AnnotationRendered).Bytes()
	if err != nil {
		return Rendered{}, err
	}
	digest := digestOf(plain)
	data, err := o.WithAnnotation(v1alpha1.AnnotationRendered, digest).Bytes()
	return Rendered{data, digest}, err
}

func digestOf(text []byte) string {
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// checkKustomization holds a template to what Furrow relies on: one Flux
// Kustomization, of the name it was given, that prunes and has no unknown field.
func checkKustomization(name string, text []byte, vars Reconciler) (manifest.Object, error) {
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

// checkSpec holds a Kustomization to what makes its health that of a tier.
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
// compared to the planned one, so its health is no longer that of the tier.
func CheckAmended(spec, planned map[string]any) error {
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

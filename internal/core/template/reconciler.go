package template

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"

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

// ReconcilerCheck reads what the named template has rendered: a reconciler object by which Furrow can plant a
// tier, or an error.
type ReconcilerCheck func(name string, text []byte, vars Reconciler) (manifest.Object, error)

// RenderReconciler renders the reconciler object of a tier, checks that it is one
// and labels it.
func RenderReconciler(t Text, vars Reconciler, check ReconcilerCheck) (Rendered, error) {
	if s := t.compiledFor(&vars, check); s != nil {
		return s.instantiate(&vars), nil
	}
	return renderReconciler(t, vars, check)
}

func renderReconciler(t Text, vars Reconciler, check ReconcilerCheck) (Rendered, error) {
	text, err := Render(t, vars)
	if err != nil {
		return Rendered{}, err
	}
	o, err := check(t.Name, text, vars)
	if err != nil {
		return Rendered{}, &Error{t, err}
	}
	return Stamp(labelled(o, vars))
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

// Stamp annotates an object with the digest of what it is without that annotation.
func Stamp(o manifest.Object) (Rendered, error) {
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

package servers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// RootOptions says what a cluster's Flux follows.
type RootOptions struct {
	// URL is that of the repository, Branch its branch; empty is main. Path is the folder in it, as
	// clusters/edge-1.
	URL    string
	Branch string
	Path   string
	// Namespace and Name are those of the Secret, the GitRepository and the Kustomization; empty is
	// flux-system.
	Namespace string
	Name      string
	// Interval is how often Flux fetches the repository; 0 is two seconds.
	Interval time.Duration
	// Username and Password are for the repository; without a password no Secret is created. A
	// token goes in as password.
	Username string
	Password string
}

// drift is how often Flux at least corrects what it applied of an unchanged commit. A new commit is applied at
// once, and what fails is tried again as often as the repository is fetched.
const drift = 30 * time.Second

// Bootstrap makes Flux follow a folder of a repository, as flux bootstrap does. It does not wait:
// see AwaitKustomization.
func (c *Cluster) Bootstrap(ctx context.Context, options RootOptions) error {
	orElse := func(value *string, other string) {
		if *value == "" {
			*value = other
		}
	}
	orElse(&options.Branch, "main")
	orElse(&options.Namespace, fluxNamespace)
	orElse(&options.Name, "flux-system")
	if options.Interval == 0 {
		options.Interval = 2 * time.Second
	}
	var documents []byte
	for _, object := range options.objects() {
		document, err := yaml.Marshal(object)
		if err != nil {
			return fmt.Errorf("write what Flux follows: %w", err)
		}
		documents = append(append(documents, "---\n"...), document...)
	}
	return c.Apply(ctx, documents)
}

// objects returns what Flux reads, the first needed first.
func (o RootOptions) objects() []any {
	named := metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name}
	interval := metav1.Duration{Duration: o.Interval}
	objects := []any{&corev1.Namespace{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{Name: o.Namespace},
	}}
	repository := &sourcev1.GitRepository{
		TypeMeta:   metav1.TypeMeta{APIVersion: sourcev1.GroupVersion.String(), Kind: sourcev1.GitRepositoryKind},
		ObjectMeta: named,
		Spec: sourcev1.GitRepositorySpec{
			URL: o.URL, Interval: interval, Reference: &sourcev1.GitRepositoryRef{Branch: o.Branch},
		},
	}
	if o.Password != "" {
		repository.Spec.SecretRef = &meta.LocalObjectReference{Name: o.Name}
		objects = append(objects, &corev1.Secret{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
			ObjectMeta: named,
			Data:       map[string][]byte{"username": []byte(o.Username), "password": []byte(o.Password)},
		})
	}
	return append(objects, repository, &kustomizev1.Kustomization{
		TypeMeta:   metav1.TypeMeta{APIVersion: kustomizev1.GroupVersion.String(), Kind: kustomizev1.KustomizationKind},
		ObjectMeta: named,
		Spec: kustomizev1.KustomizationSpec{
			Path: o.Path, Prune: true, Interval: metav1.Duration{Duration: max(drift, o.Interval)}, RetryInterval: &interval,
			SourceRef: kustomizev1.CrossNamespaceSourceReference{Kind: sourcev1.GitRepositoryKind, Name: o.Name},
		},
	})
}

// AwaitKustomization waits until a Kustomization is ready at the revision that ends with commit; an
// empty commit is any.
func (c *Cluster) AwaitKustomization(ctx context.Context, key client.ObjectKey, commit string) error {
	return Until(ctx, fmt.Sprintf("Kustomization %s is ready at %q", key, commit), func(ctx context.Context) error {
		var got kustomizev1.Kustomization
		if err := c.client.Get(ctx, key, &got); err != nil {
			return err
		}
		return readyAt(&got, commit)
	})
}

// readyAt says why a Kustomization is not ready at commit.
func readyAt(got *kustomizev1.Kustomization, commit string) error {
	for _, condition := range got.Status.Conditions {
		if condition.Type != meta.ReadyCondition {
			continue
		}
		current := condition.ObservedGeneration == got.Generation
		if condition.Status == metav1.ConditionTrue && current && strings.HasSuffix(got.Status.LastAppliedRevision, commit) {
			return nil
		}
		return fmt.Errorf("ready is %s at %q: %s: %s",
			condition.Status, got.Status.LastAppliedRevision, condition.Reason, condition.Message)
	}
	return errors.New("it was not observed")
}

package fleet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/engine"
)

// Document is a resource of a kind that may also be in a control-plane tree.
type Document struct {
	Kind, Name string
	Labels     map[string]string
	Spec       any
	// Version identifies the object and its generation.
	Version string `json:"-"`
}

// VersionOf identifies an object and its generation.
func VersionOf(o client.Object) string { return fmt.Sprintf("%s/%d", o.GetUID(), o.GetGeneration()) }

// RefOf names a resource in messages: "Cluster resource fleet/edge-1".
func RefOf(kind, namespace, name string) string {
	return fmt.Sprintf("%s resource %s/%s", kind, namespace, name)
}

// Documents returns the resources of a namespace other than its Seeds, sorted by kind and name, so
// equal resources make an equal version.
func Documents(ctx context.Context, r client.Reader, namespace string) ([]Document, error) {
	var docs []Document
	var clusters v1alpha1.ClusterList
	var types v1alpha1.ClusterTypeList
	var repos v1alpha1.GitOpsRepoList
	var templates v1alpha1.TemplateList
	var policies v1alpha1.RolloutPolicyList
	for _, list := range []client.ObjectList{&clusters, &types, &repos, &templates, &policies} {
		if err := r.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return nil, fmt.Errorf("listing the resources of namespace %s: %w", namespace, err)
		}
	}
	for i := range clusters.Items {
		docs = append(docs, Document{"Cluster", clusters.Items[i].Name, clusters.Items[i].Labels, clusters.Items[i].Spec, VersionOf(&clusters.Items[i])})
	}
	for i := range types.Items {
		docs = append(docs, Document{"ClusterType", types.Items[i].Name, nil, types.Items[i].Spec, VersionOf(&types.Items[i])})
	}
	for i := range repos.Items {
		docs = append(docs, Document{"GitOpsRepo", repos.Items[i].Name, nil, repos.Items[i].Spec, VersionOf(&repos.Items[i])})
	}
	for i := range templates.Items {
		docs = append(docs, Document{"Template", templates.Items[i].Name, nil, templates.Items[i].Spec, VersionOf(&templates.Items[i])})
	}
	for i := range policies.Items {
		docs = append(docs, Document{"RolloutPolicy", policies.Items[i].Name, nil, policies.Items[i].Spec, VersionOf(&policies.Items[i])})
	}
	slices.SortFunc(docs, func(a, b Document) int { return strings.Compare(a.Kind+"/"+a.Name, b.Kind+"/"+b.Name) })
	return docs, nil
}

// Settings returns what the resources add to a control plane's tree: the wanted and the removed
// Seeds, and the documents of the namespace. If nothing has changed since last was made, it returns
// last: the version then stays, and the engine does not parse the tree again.
func Settings(last engine.Settings, namespace string, wanted, removed []v1alpha1.Seed, docs []Document) (engine.Settings, error) {
	s := engine.Settings{Resources: catalog.Resources{Seeds: map[string]v1alpha1.SeedSpec{}, Faults: map[string]manifest.Problems{}}, Scope: map[string]bool{}}
	for i := range wanted {
		seed := &wanted[i]
		s.Seeds[seed.Name], s.Scope[seed.Name] = seed.Spec, true
		if faults := catalog.CheckSeedKeys(RefOf("Seed", namespace, seed.Name), seed.Name, seed.Annotations, seed.Labels); len(faults) > 0 {
			s.Faults[seed.Name] = faults
		}
	}
	for i := range removed {
		s.Scope[removed[i].Name] = true
	}
	data, err := json.Marshal([]any{s.Seeds, s.Faults, s.Scope, docs})
	if err != nil {
		return s, err
	}
	sum := sha256.Sum256(data)
	if s.Version = hex.EncodeToString(sum[:]); s.Version == last.Version {
		return last, nil
	}
	for _, d := range docs {
		o, err := d.object(namespace)
		if err != nil {
			return s, err
		}
		s.Documents = append(s.Documents, o)
	}
	return s, nil
}

// object returns the document as it would be in a file.
func (d Document) object(namespace string) (manifest.Object, error) {
	metadata := map[string]any{"name": d.Name}
	if len(d.Labels) > 0 {
		metadata["labels"] = d.Labels
	}
	ref := RefOf(d.Kind, namespace, d.Name)
	data, err := yaml.Marshal(map[string]any{"apiVersion": v1alpha1.APIVersion, "kind": d.Kind, "metadata": metadata, "spec": d.Spec})
	if err != nil {
		return manifest.Object{}, fmt.Errorf("%s: %w", ref, err)
	}
	objects, err := manifest.Parse(ref, data)
	if err != nil {
		return manifest.Object{}, err
	}
	o := objects[0]
	o.Source.Line = 0
	return o, nil
}

package plan_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
)

const (
	oldCluster = "apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: old}\nspec: {provides: {kubernetesVersion: \"1.30\"}}\n---\n"
	newCluster = "apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: new}\nspec: {provides: {kubernetesVersion: \"1.36\"}}\n---\n"
	policy     = `apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: a
  namespace: default
spec:
  policyTypes: [Ingress]
`
	widgets = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer}
              mode: {type: string, default: Auto}
            x-kubernetes-validations:
            - {rule: "self.mode == 'Auto'", message: only Auto is possible}
---
`
)

func widgetOf(spec string) string {
	return "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w, namespace: default}\nspec:\n  " + spec + "\n"
}

func TestObjectsHaveToFitTheSchemasOfTheirKinds(t *testing.T) {
	for name, tc := range map[string]struct {
		clusters, seed, other string
		want                  []string
	}{
		"a field that a cluster's release requires": {
			clusters: oldCluster, seed: policy,
			want: []string{`seeds/web.yaml:6: spec.podSelector is required, by the schema of Kubernetes 1.30. Correct it.`},
		},
		"and that a newer one does not": {clusters: newCluster, seed: policy},
		"of two releases, the one that refuses it is named": {
			clusters: newCluster + oldCluster, seed: policy,
			want: []string{`seeds/web.yaml:6: spec.podSelector is required, by the schema of Kubernetes 1.30. Correct it.`},
		},
		"a field of a custom resource": {
			clusters: newCluster, seed: widgets + widgetOf("size: big"),
			want: []string{`seeds/web.yaml:28: spec.size must be of type integer, by the schema in CustomResourceDefinition "widgets.example.com". Correct it.`},
		},
		"a rule of CEL, with defaults": {
			clusters: newCluster, seed: widgets + widgetOf("mode: Manual"),
			want: []string{`seeds/web.yaml:27: spec only Auto is possible, by the schema in CustomResourceDefinition "widgets.example.com". Correct it.`},
		},
		"a field that a kind lacks, by the definition of another seed": {
			clusters: newCluster, other: strings.TrimSuffix(widgets, "---\n"), seed: widgetOf("size: 1\n  colour: red"),
			want: []string{`seeds/web.yaml:6: the schema in CustomResourceDefinition "widgets.example.com" has no field spec.colour. Remove it, or correct its name.`},
		},
		"what fits": {clusters: newCluster, seed: widgets + widgetOf("size: 1")},
		"a kind whose definition nobody has": {
			clusters: newCluster, seed: widgetOf("size: big"),
		},
		"an object that was encrypted": {
			clusters: oldCluster, seed: policy + "sops: {mac: \"ENC[a]\"}\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			tree := fstest.MapFS{"clusters.yaml": {Data: []byte(tc.clusters)}, "seeds/web.yaml": {Data: []byte(tc.seed)}}
			if tc.other != "" {
				tree["seeds/other.yaml"] = &fstest.MapFile{Data: []byte(tc.other)}
			}
			in := plan.Input{Catalog: load(t, tree), Owner: owner, Revision: revision, Memo: &plan.Memo{}}
			for range 2 { // the second time by what is remembered
				o := plan.Compute(in)["web"]
				if o.Err != nil {
					t.Fatal(o.Err)
				}
				var got []string
				for _, w := range o.Plan.Warnings {
					if w.Reason == v1alpha1.ReasonSchemaMismatch {
						got = append(got, w.From+": "+w.Message)
					}
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("warnings (-want +got):\n%s", diff)
				}
			}
			strict := in
			strict.Strict = true
			enforced := fstest.MapFS{"plane.yaml": {Data: []byte("apiVersion: furrow.dev/v1alpha1\nkind: ControlPlane\nmetadata: {name: acme}\nspec: {validation: Enforce}\n")}}
			for file, data := range tree {
				enforced[file] = data
			}
			enforcing := in
			enforcing.Catalog = load(t, enforced)
			for how, in := range map[string]plan.Input{"strict": strict, "enforced": enforcing} {
				err := plan.Compute(in)["web"].Err
				refused := slices.ContainsFunc(manifest.ProblemsOf(err), func(p manifest.Problem) bool { return p.Reason == v1alpha1.ReasonSchemaMismatch })
				if refused != (len(tc.want) > 0) {
					t.Errorf("%s: %v", how, err)
				}
			}
		})
	}
}

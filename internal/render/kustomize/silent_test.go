package kustomize

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWhatKustomizePassesOverIsAWarning: each entry that selects nothing, and each manifest that nobody
// lists.
func TestWhatKustomizePassesOverIsAWarning(t *testing.T) {
	const deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, labels: {app: web}}\nspec: {template: {spec: {containers: [{name: a, image: \"acme/x:1\"}]}}}\n"
	patch := func(target string) string {
		return "resources: [d.yaml]\npatches:\n- target: {" + target + "}\n  patch: '[{\"op\": \"add\", \"path\": \"/metadata/annotations\", \"value\": {\"a\": \"b\"}}]'\n"
	}
	cases := map[string]struct {
		files map[string]string
		want  []string
	}{
		"an image that no object has": {
			map[string]string{"kustomization.yaml": "resources: [d.yaml]\nimages: [{name: nginx, newTag: \"9\"}, {name: acme/x, newTag: \"2\"}]\n"},
			[]string{`kustomization.yaml:2: images changes "nginx", and no object has an image of that name`},
		},
		"an image whose name has a tag": {
			map[string]string{"kustomization.yaml": "resources: [d.yaml]\nimages: [{name: 'acme/x:1', newTag: \"9\"}, {name: acme, newTag: \"9\"}]\n"},
			[]string{`kustomization.yaml:2: images changes "acme", and no object has an image of that name`},
		},
		"an image that another entry makes": {
			map[string]string{"kustomization.yaml": "resources: [b]\nimages: [{name: mirror/x, newTag: \"9\"}]\n", "b/kustomization.yaml": "resources: [d.yaml]\nimages: [{name: acme/x, newName: mirror/x}]\n", "b/d.yaml": deployment, "d.yaml": ""},
			nil,
		},
		"a patch for a kind that is not there":  {map[string]string{"kustomization.yaml": patch("kind: StatefulSet")}, []string{`kustomization.yaml:3: no object of the package is the target kind "StatefulSet" of a patch`}},
		"a patch for a name that is not there":  {map[string]string{"kustomization.yaml": patch("kind: Deployment, name: wbe")}, []string{`kustomization.yaml:3: no object of the package is the target kind "Deployment", name "wbe" of a patch`}},
		"a patch for a label that is not there": {map[string]string{"kustomization.yaml": patch("labelSelector: app=api")}, []string{`kustomization.yaml:3: no object of the package is the target labelSelector "app=api" of a patch`}},
		"a patch whose file is not an object": {
			map[string]string{"kustomization.yaml": "resources: [d.yaml]\npatches: [{path: p.yaml, target: {kind: Deployment, name: api}}]\n", "p.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: api}\nspec: {replicas: 2}\n"},
			[]string{`kustomization.yaml:2: no object of the package is the target kind "Deployment", name "api" of a patch`},
		},
		"patches that select something": {map[string]string{"kustomization.yaml": patch("kind: Deployment, name: w.*, labelSelector: app=web")}, nil},
		"a patch by the name of a base": {
			map[string]string{"kustomization.yaml": "resources: [b]\nnamePrefix: z-\npatches:\n- {target: {name: a-web}, patch: '[{\"op\": \"add\", \"path\": \"/metadata/annotations\", \"value\": {\"a\": \"b\"}}]'}\n", "b/kustomization.yaml": "resources: [d.yaml]\nnamePrefix: a-\n", "b/d.yaml": deployment, "d.yaml": ""},
			nil,
		},
		"a manifest that nobody lists": {
			map[string]string{"kustomization.yaml": "resources: [d.yaml]\n", "e.yaml": deployment, "deep/f.yaml": deployment, "values.yaml": "a: b\n", "seed.yaml": "apiVersion: furrow.dev/v1alpha1\nkind: Seed\nmetadata: {name: web}\n", "other/kustomization.yaml": "resources: [g.yaml]\n", "other/g.yaml": deployment},
			[]string{
				"deep/f.yaml:0: the file is not read: seeds/web/kustomization.yaml does not name it",
				"e.yaml:0: the file is not read: seeds/web/kustomization.yaml does not name it",
			},
		},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			files := map[string][]byte{"d.yaml": []byte(deployment)}
			for name, text := range c.files {
				files[name] = []byte(text)
			}
			builds, err := buildHere(t.Context(), request{Root: "seeds/web", Files: files, Overlays: []string{"."}, Budget: defaultBudget})
			if err != nil || builds[0].Fault != nil {
				t.Fatal(err, builds[0].Fault)
			}
			var got []string
			for _, w := range builds[0].Warnings {
				got = append(got, fmt.Sprintf("%s:%d: ", w.File, w.Line)+w.Message)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestTheLabelOfTheManagerIsValid: the version of Kustomize as a library has parentheses.
func TestTheLabelOfTheManagerIsValid(t *testing.T) {
	builds, err := buildHere(t.Context(), request{Root: "seeds/web", Files: packageOf("resources: [a.yaml]\nbuildMetadata: [managedByLabel]\n"), Overlays: []string{"."}, Budget: defaultBudget})
	if err != nil || builds[0].Fault != nil {
		t.Fatal(err, builds[0].Fault)
	}
	var o struct {
		Metadata struct{ Labels map[string]string }
	}
	if err := json.Unmarshal(builds[0].Objects[0].JSON, &o); err != nil || o.Metadata.Labels[managedBy] != "kustomize" {
		t.Errorf("%s: %v", builds[0].Objects[0].JSON, err)
	}
}

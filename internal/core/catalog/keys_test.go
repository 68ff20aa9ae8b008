package catalog

import (
	"errors"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

func TestUnknownKeysNameTheNearestKnownOne(t *testing.T) {
	object := func(metadata string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default, " + metadata + "}\n"
	}
	tests := map[string]struct {
		file, text string
		want       []string
	}{
		"all that are known": {"seeds/web.yaml", object("annotations: {furrow.dev/cluster: a, furrow.dev/cluster-selector: a, furrow.dev/role: a, furrow.dev/cluster-type: a, furrow.dev/depends-on: a}"), nil},
		"keys of others":     {"seeds/web.yaml", object("annotations: {nursery.furrow.dev/create-after: 1s, cluster: a, example.org/dependson: a}, labels: {cluster: a, example.org/cluster: a}"), nil},
		"a misspelled dependency": {"seeds/web.yaml", object("annotations: {furrow.dev/dependson: core/Namespace/a}"), []string{
			`seeds/web.yaml:1: ConfigMap "a": annotation "furrow.dev/dependson" is unknown. Write furrow.dev/depends-on, or remove it.`,
		}},
		"two mistakes": {"seeds/web.yaml", object("annotations: {furrow.dev/clusters: a, furrow.dev/rol: a}"), []string{
			`seeds/web.yaml:1: ConfigMap "a": annotation "furrow.dev/clusters" is unknown. Write furrow.dev/cluster, or remove it.`,
			`seeds/web.yaml:1: ConfigMap "a": annotation "furrow.dev/rol" is unknown. Write furrow.dev/role, or remove it.`,
		}},
		"another case": {"seeds/web.yaml", object("annotations: {Furrow.dev/Cluster: a}"), []string{
			`seeds/web.yaml:1: ConfigMap "a": annotation "Furrow.dev/Cluster" is unknown. Write furrow.dev/cluster, or remove it.`,
		}},
		"placement as a label": {"seeds/web.yaml", object("labels: {furrow.dev/cluster: east}"), []string{
			`seeds/web.yaml:1: ConfigMap "a": furrow.dev/cluster is an annotation, and has no effect as a label. Move it to metadata.annotations.`,
		}},
		"misspelled placement as a label": {"seeds/web.yaml", object("labels: {furrow.dev/cluster-selectors: east}"), []string{
			`seeds/web.yaml:1: ConfigMap "a": label "furrow.dev/cluster-selectors" is unknown. Write the annotation furrow.dev/cluster-selector, or remove it.`,
		}},
		"a Seed's annotation on an object": {"seeds/web.yaml", object("annotations: {furrow.dev/retry: now}"), []string{
			`seeds/web.yaml:1: ConfigMap "a": annotation furrow.dev/retry is for Seeds, and has no effect here. Remove it.`,
		}},
		"a label of Furrow as an annotation": {"seeds/web.yaml", object("annotations: {furrow.dev/tier: \"01\"}"), []string{
			`seeds/web.yaml:1: ConfigMap "a": furrow.dev/tier is a label that Furrow writes, and has no effect as an annotation. Remove it.`,
		}},
		"a reconciler object from a GitOps repository": {"seeds/web.yaml", "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n" +
			"metadata: {name: a, namespace: default, annotations: {furrow.dev/rendered: \"sha256:1\"}, labels: {furrow.dev/seed: a, furrow.dev/cluster: b, furrow.dev/tier: \"00\"}}\n", nil},
		"Planter's": {"seeds/web.yaml", object("annotations: {planter.nephio.org/cluster: SELF, planter.nephio.org/dependencies: a, planter.nephio.org/user: a, planter.nephio.org/networks: a}"), nil},
		"Planter's, misspelled": {"seeds/web.yaml", object("annotations: {planter.nephio.org/dependecies: a}"), []string{
			`seeds/web.yaml:1: ConfigMap "a": annotation "planter.nephio.org/dependecies" is unknown. Write planter.nephio.org/dependencies, or remove it.`,
		}},
		"Planter's as a label": {"seeds/web.yaml", object("labels: {planter.nephio.org/cluster: SELF}"), []string{
			`seeds/web.yaml:1: ConfigMap "a": planter.nephio.org/cluster is an annotation, and has no effect as a label. Move it to metadata.annotations.`,
		}},
		"on a Cluster document": {"clusters.yaml", "apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: a, annotations: {furrow.dev/role: Management}, labels: {furrow.dev/region: a}}\n", []string{
			`clusters.yaml:1: Cluster "a": annotation furrow.dev/role is for the objects of a seed, and has no effect here. Remove it.`,
			`clusters.yaml:1: Cluster "a": label "furrow.dev/region" is unknown. Remove it.`,
		}},
		"on a Seed document": {"seeds/web.yaml", "apiVersion: furrow.dev/v1alpha1\nkind: Seed\nmetadata: {name: web, annotations: {furrow.dev/retry: now, furrow.dev/confirm: now}}\n---\n" + object("labels: {a: b}"), []string{
			`seeds/web.yaml:1: Seed "web": annotation "furrow.dev/confirm" is unknown. Write furrow.dev/confirm-removal, or remove it.`,
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c, err := Load(fstest.MapFS{tc.file: {Data: []byte(tc.text)}})
			if err != nil {
				t.Fatal(err)
			}
			problems := c.Problems
			for _, s := range c.Seeds {
				if several, ok := errors.AsType[manifest.Problems](s.Err); ok {
					problems = append(problems, several...)
				}
			}
			var got []string
			for _, p := range problems {
				got = append(got, p.Error())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

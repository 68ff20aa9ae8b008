package catalog

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/test/golden"
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
		"keys of others":     {"seeds/web.yaml", object("annotations: {simulator.furrow.dev/create-after: 1s, cluster: a, example.org/dependson: a}, labels: {cluster: a, example.org/cluster: a}"), nil},
		"a misspelled dependency": {"seeds/web.yaml", object("annotations: {furrow.dev/dependson: core/Namespace/a}"), []string{
			`seeds/web.yaml:1: ConfigMap "a": UnknownKey field=furrow.dev/dependson`,
		}},
		"two mistakes": {"seeds/web.yaml", object("annotations: {furrow.dev/clusters: a, furrow.dev/rol: a}"), []string{
			`seeds/web.yaml:1: ConfigMap "a": UnknownKey field=furrow.dev/clusters`,
			`seeds/web.yaml:1: ConfigMap "a": UnknownKey field=furrow.dev/rol`,
		}},
		"another case": {"seeds/web.yaml", object("annotations: {Furrow.dev/Cluster: a}"), []string{
			`seeds/web.yaml:1: ConfigMap "a": UnknownKey field=Furrow.dev/Cluster`,
		}},
		"placement as a label": {"seeds/web.yaml", object("labels: {furrow.dev/cluster: east}"), []string{
			`seeds/web.yaml:1: ConfigMap "a": MisplacedKey field=furrow.dev/cluster`,
		}},
		"misspelled placement as a label": {"seeds/web.yaml", object("labels: {furrow.dev/cluster-selectors: east}"), []string{
			`seeds/web.yaml:1: ConfigMap "a": UnknownKey field=furrow.dev/cluster-selectors`,
		}},
		"a Seed's annotation on an object": {"seeds/web.yaml", object("annotations: {furrow.dev/retry: now}"), []string{
			`seeds/web.yaml:1: ConfigMap "a": MisplacedKey field=furrow.dev/retry`,
		}},
		"a label of Furrow as an annotation": {"seeds/web.yaml", object("annotations: {furrow.dev/tier: \"01\"}"), []string{
			`seeds/web.yaml:1: ConfigMap "a": MisplacedKey field=furrow.dev/tier`,
		}},
		"a reconciler object from a GitOps repository": {"seeds/web.yaml", "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n" +
			"metadata: {name: a, namespace: default, annotations: {furrow.dev/rendered: \"sha256:1\"}, labels: {furrow.dev/seed: a, furrow.dev/cluster: b, furrow.dev/tier: \"00\"}}\n", nil},
		"Planter's": {"seeds/web.yaml", object("annotations: {planter.nephio.org/cluster: SELF, planter.nephio.org/dependencies: a, planter.nephio.org/user: a, planter.nephio.org/networks: a}"), nil},
		"Planter's, misspelled": {"seeds/web.yaml", object("annotations: {planter.nephio.org/dependecies: a}"), []string{
			`seeds/web.yaml:1: ConfigMap "a": UnknownKey field=planter.nephio.org/dependecies`,
		}},
		"Planter's as a label": {"seeds/web.yaml", object("labels: {planter.nephio.org/cluster: SELF}"), []string{
			`seeds/web.yaml:1: ConfigMap "a": MisplacedKey field=planter.nephio.org/cluster`,
		}},
		"on a Cluster document": {"clusters.yaml", "apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: a, annotations: {furrow.dev/role: Management}, labels: {furrow.dev/region: a}}\n", []string{
			`clusters.yaml:1: Cluster "a": MisplacedKey field=furrow.dev/role`,
			`clusters.yaml:1: Cluster "a": UnknownKey field=furrow.dev/region`,
		}},
		"on a Seed document": {"seeds/web.yaml", "apiVersion: furrow.dev/v1alpha1\nkind: Seed\nmetadata: {name: web, annotations: {furrow.dev/retry: now, furrow.dev/confirm: now}}\n---\n" + object("labels: {a: b}"), []string{
			`seeds/web.yaml:1: Seed "web": UnknownKey field=furrow.dev/confirm`,
		}},
	}
	texts := golden.Of(t)
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
			var got, said []string
			for _, p := range problems {
				got = append(got, golden.Fields(p))
				said = append(said, p.Error())
			}
			texts.Add(name, strings.Join(said, "\n"))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

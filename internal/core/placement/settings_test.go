package placement

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/test/golden"
)

// TestSettingsThatMatchNothingAreNamed: a mistyped rule or name sends objects elsewhere, and must not be
// silent.
func TestSettingsThatMatchNothingAreNamed(t *testing.T) {
	const object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: default}\n"
	rule := func(rule string) string { return spec("placement: [" + rule + "]") }
	const patch = "target: {kind: ConfigMap}, strategicMerge: {data: {k: v}}}]"
	cases := map[string]struct{ spec, want string }{
		"a rule that is true of no object": {
			rule(`{name: a, objects: "object.kind == 'ConfigMpa'", clusters: "cluster.name == 'edge-eu'"}`),
			`warning seeds/web/web.yaml:4: Seed "web": PlacementUnused field=spec.placement[0].objects seed=web`,
		},
		"the second of two rules": {
			rule(`{name: a, objects: "object.kind == 'ConfigMap'", clusters: "true"}, {name: b, objects: "object.kind == 'Secrte'", clusters: "true"}`),
			`warning seeds/web/web.yaml:4: Seed "web": PlacementUnused field=spec.placement[1].objects seed=web`,
		},
		"a rule that is true of no cluster, after one that decides": {
			rule(`{name: a, clusters: "true"}, {name: b, clusters: "cluster.name == 'esat'"}`),
			`warning seeds/web/web.yaml:4: Seed "web": PlacementUnused field=spec.placement[1].clusters seed=web`,
		},
		"a rule that another one comes before": {rule(`{name: a, clusters: "true"}, {name: b, objects: "object.kind == 'ConfigMap'", clusters: "true"}`), ""},
		"an unknown cluster of an override": {
			spec("overrides: [{name: o, clusters: [edge-eu, edge-su], " + patch),
			`error seeds/web/web.yaml:4: Seed "web": UnknownCluster field=spec.overrides[0].clusters[1] seed=web`,
		},
		"only unknown clusters of an override": {
			spec("overrides: [{name: o, clusters: [a, b], " + patch),
			"error seeds/web/web.yaml:4: Seed \"web\": UnknownCluster field=spec.overrides[0].clusters[0] seed=web\nseeds/web/web.yaml:4: Seed \"web\": UnknownCluster field=spec.overrides[0].clusters[1] seed=web",
		},
		"an unknown management cluster":            {spec("managementCluster: mgtm"), `error seeds/web/web.yaml:4: Seed "web": UnknownCluster field=spec.managementCluster seed=web`},
		"a workload cluster as management cluster": {spec("managementCluster: edge-eu"), `error seeds/web/web.yaml:4: Seed "web": UnknownCluster field=spec.managementCluster seed=web`},
		"a toleration without a key":               {spec("tolerations: [{value: x}]"), `error seeds/web/web.yaml:4: Seed "web": MissingField field=spec.tolerations[0].key seed=web`},
		"an unknown cluster of a variant":          {spec("render: {kustomize: {variants: [{overlay: a, clusters: [edge-su]}]}}"), `error seeds/web/web.yaml:4: Seed "web": UnknownCluster field=spec.render.kustomize.variants[0].clusters[0] seed=web`},
		"settings that all match":                  {spec("managementCluster: mgmt, tolerations: [{key: a}], overrides: [{name: o, clusters: [edge-eu], " + patch), ""},
	}
	texts := golden.Of(t)
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			seed := seedOf(t, c.spec, object)
			placed, err := Place(&seed, inventoryOf(t, mgmt, edgeEU, edgeUS))
			var got string
			for _, w := range placed.Warnings {
				got += "warning " + golden.Fields(w)
				texts.Add(sentence, w.Error())
			}
			if err != nil {
				got = "error " + fields(err)
				texts.Add(sentence, err.Error())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("what is said differs (-want +got):\n%s", diff)
			}
		})
	}
}

package placement

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/test/golden"
)

// valued is an override that gives ConfigMaps a value.
func valued(name, clusters, value string) string {
	return fmt.Sprintf("{name: %s, %starget: {kind: ConfigMap}, strategicMerge: {data: {value: \"%s\"}}}", name, clusters, value)
}

func TestOverridesChangeWhatClustersHave(t *testing.T) {
	const us = "clusterSelector: {matchLabels: {region: us}}, "
	fleet := []string{mgmt, edgeEU, edgeUS}
	cases := map[string]struct {
		clusters  []string
		overrides []string
		variants  func() []catalog.Variant
		want      []string
	}{
		"only the clusters that are selected": {
			overrides: []string{valued("a", us, "1")},
			want:      []string{"own on edge-eu: 0", "own on edge-us: 1", "own has 2 contents", "a: own on edge-us: data.value 0 → 1", "variant a: edge-us"},
		},
		"all clusters without a selector; one content": {
			overrides: []string{valued("a", "", "1")},
			want:      []string{"own on edge-eu: 1", "own on edge-us: 1", "a: own on edge-eu,edge-us: data.value 0 → 1", "variant a: edge-eu,edge-us"},
		},
		"a later one comes after an earlier one": {
			overrides: []string{valued("b", "", "1"), valued("a", us, "2")},
			want: []string{"own on edge-eu: 1", "own on edge-us: 2", "own has 2 contents",
				"b: own on edge-eu,edge-us: data.value 0 → 1", "a: own on edge-us: data.value 1 → 2", "variant b: edge-eu", "variant b + a: edge-us"},
		},
		"different overrides that make the same": {
			overrides: []string{valued("a", us, "1"), valued("b", "clusters: [edge-eu], ", "1")},
			want: []string{"own on edge-eu: 1", "own on edge-us: 1",
				"a: own on edge-us: data.value 0 → 1", "b: own on edge-eu: data.value 0 → 1", "variant a: edge-us", "variant b: edge-eu"},
		},
		"one that makes what is there": {
			overrides: []string{valued("a", us, "0")},
			want:      []string{"own on edge-eu: 0", "own on edge-us: 0", "warning: OverrideUnused"},
		},
		"one for a cluster that the object does not go to": {
			overrides: []string{valued("a", "clusters: [mgmt], ", "1")},
			want:      []string{"own on edge-eu: 0", "own on edge-us: 0", "warning: OverrideUnused"},
		},
		"an object without a target keeps its content": {
			overrides: []string{"{name: a, target: {kind: Secret}, strategicMerge: {data: {value: a}}}"},
			want:      []string{"error: InvalidOverride"},
		},
		"variants of a renderer, each with its content": {
			overrides: []string{valued("a", us, "1")},
			variants: func() []catalog.Variant {
				return []catalog.Variant{variant(t, "eu", "edge-eu", settings("own", "2", "")), variant(t, "all", "", settings("own", "0", ""), settings("more", "1", ""))}
			},
			want: []string{"more on edge-us: 1", "own on edge-eu: 2", "own on edge-us: 1", "own has 2 contents", "a: own on edge-us: data.value 0 → 1", "variant all + a: edge-us", "variant eu: edge-eu"},
		},
		"objects of several variants on a management cluster": {
			overrides: []string{valued("a", us, "1"), "{name: m, clusters: [mgmt], target: {kind: MachinePool}, strategicMerge: {spec: {replicas: 5}}}"},
			variants: func() []catalog.Variant {
				return []catalog.Variant{variant(t, "eu", "edge-eu", settings("own", "2", ""), pool("3")), variant(t, "all", "", settings("own", "0", ""), pool("3"))}
			},
			want: []string{"own on edge-eu: 2", "own on edge-us: 1", "pool on mgmt: 5", "own has 2 contents",
				"a: own on edge-us: data.value 0 → 1", "m: pool on mgmt: replicas 3 → 5", "variant all + a: edge-us", "variant eu: edge-eu", "variant m: mgmt"},
		},
		"a different object of each variant on a management cluster is a conflict": {
			overrides: []string{"{name: m, clusters: [mgmt], target: {kind: MachinePool}, strategicMerge: {spec: {replicas: 5}}}"},
			variants: func() []catalog.Variant {
				return []catalog.Variant{variant(t, "eu", "edge-eu", settings("own", "2", ""), pool("3")), variant(t, "all", "", settings("own", "0", ""), pool("4"))}
			},
			want: []string{"error: VariantConflict"},
		},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			seed := seedOf(t, spec("overrides: ["+strings.Join(c.overrides, ", ")+"]"), settings("own", "0", ""))
			if c.variants != nil {
				seed.Variants = c.variants()
			}
			shown, _ := shownVariants(t, seed, append(fleet, c.clusters...)...)
			got := strings.Split(shown, "\n")
			if placed, err := Place(&seed, inventoryOf(t, fleet...)); err == nil {
				got = append(got, shownOverrides(placed)...)
			}
			got = slices.DeleteFunc(got, func(line string) bool {
				return strings.HasPrefix(line, "warning: ") && !strings.Contains(line, "Override")
			})
			for i, want := range c.want {
				kind, reason, problem := strings.Cut(want, ": ")
				if problem && (kind == "error" || kind == "warning") && i < len(got) && strings.HasPrefix(got[i], kind) && strings.Contains(got[i], ": "+reason+" ") {
					got[i] = want
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("placed (-want +got):\n%s", diff)
			}
		})
	}
}

func shownOverrides(placed Placed) []string {
	var lines []string
	for _, o := range placed.Overrides {
		line := fmt.Sprintf("%s: %s on %s:", o.Override, o.Object.Name, strings.Join(o.Clusters, ","))
		for _, f := range o.Changes {
			line += " " + f.String()
		}
		lines = append(lines, line)
	}
	if len(placed.Overrides) > 0 {
		for _, name := range sortedKeys(placed.Variants) {
			lines = append(lines, fmt.Sprintf("variant %s: %s", name, strings.Join(placed.Variants[name], ",")))
		}
	}
	return lines
}

func TestAnOverrideMayNameWhatGoesElsewhere(t *testing.T) {
	workload := func(configMap string) string {
		return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: default}\nspec: {template: {spec: {containers: [{name: web, image: web:1, envFrom: [{configMapRef: {name: " + configMap + "}}]}]}}}\n"
	}
	naming := func(name, clusters, configMap string) string {
		return fmt.Sprintf("{name: %s, %starget: {kind: Deployment}, strategicMerge: {spec: {template: {spec: {containers: [{name: web, envFrom: [{configMapRef: {name: %s}}]}]}}}}}", name, clusters, configMap)
	}
	const us, onlyEU = "clusters: [edge-us], ", "furrow.dev/cluster: edge-eu"
	cases := map[string]struct {
		overrides []string
		names     string
		// annotations are those of the ConfigMap b.
		annotations string
		want        []string
	}{
		"on a cluster to which it does not go": {
			overrides: []string{naming("a", us, "b")}, names: "a", annotations: onlyEU,
			want: []string{`seeds/web/web.yaml:4: Seed "web", override "a": OverrideReferenceMissing field=spec.overrides[0] seed=web cluster=edge-us`},
		},
		"on several clusters to which it does not go": {
			overrides: []string{naming("a", "", "b")}, names: "a", annotations: "furrow.dev/role: Management",
			want: []string{`seeds/web/web.yaml:4: Seed "web", override "a": OverrideReferenceMissing field=spec.overrides[0] seed=web cluster=edge-eu`},
		},
		"the override that names it is in the warning": {
			overrides: []string{naming("a", us, "a"), naming("c", us, "b")}, names: "c", annotations: onlyEU,
			want: []string{`seeds/web/web.yaml:4: Seed "web", override "c": OverrideReferenceMissing field=spec.overrides[1] seed=web cluster=edge-us`},
		},
		"not where it goes there": {
			overrides: []string{naming("a", us, "b")}, names: "a",
		},
		"not on another cluster": {
			overrides: []string{naming("a", "clusters: [edge-eu], ", "b")}, names: "a", annotations: onlyEU,
		},
		"not where a later override names another one": {
			overrides: []string{naming("a", us, "b"), naming("c", us, "a")}, names: "a", annotations: onlyEU,
		},
		"not where the seed lacks it": {
			overrides: []string{naming("a", us, "other")}, names: "a",
		},
		"not where the object named it before": {
			overrides: []string{"{name: a, target: {kind: Deployment}, strategicMerge: {spec: {replicas: 2}}}"}, names: "b", annotations: onlyEU,
		},
	}
	texts := golden.Of(t)
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			seed := seedOf(t, spec("overrides: ["+strings.Join(c.overrides, ", ")+"]"), workload(c.names), settings("a", "0", ""), settings("b", "0", c.annotations))
			placed, err := Place(&seed, inventoryOf(t, mgmt, edgeEU, edgeUS))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, w := range placed.Warnings {
				got = append(got, golden.Fields(w))
				texts.Add(sentence, w.Error())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnOverrideMayNameAClaimThatGoesElsewhere(t *testing.T) {
	const volumes = "[{name: v, persistentVolumeClaim: {claimName: data}}]"
	override := "{name: a, clusters: [edge-us], target: {kind: Deployment}, strategicMerge: {spec: {template: {spec: {volumes: " + volumes + "}}}}}"
	seed := seedOf(t, spec("overrides: ["+override+"]"),
		"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: default}\nspec: {template: {spec: {containers: [{name: web, image: web:1}]}}}\n",
		"apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data, namespace: default, annotations: {furrow.dev/cluster: edge-eu}}\n")
	placed, err := Place(&seed, inventoryOf(t, mgmt, edgeEU, edgeUS))
	if err != nil {
		t.Fatal(err)
	}
	if len(placed.Warnings) != 1 || placed.Warnings[0].Reason != v1alpha1.ReasonOverrideReferenceMissing || !strings.Contains(placed.Warnings[0].Message, "default/data") {
		t.Errorf("warnings: %v", placed.Warnings)
	}
}

// TestManyClustersHaveAsManyContentsAsClasses has three overrides whose clusters overlap.
func TestManyClustersHaveAsManyContentsAsClasses(t *testing.T) {
	var fleet []string
	for i := range 600 {
		fleet = append(fleet, fmt.Sprintf("apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: edge-%03d, labels: {a: \"%d\", b: \"%d\", c: \"%d\"}}\n", i, i%2, i%3, i%5))
	}
	var overrides []string
	for _, label := range []string{"a", "b", "c"} {
		overrides = append(overrides, fmt.Sprintf("{name: %s, clusterSelector: {matchLabels: {%s: \"0\"}}, target: {name: own}, jsonPatch: [{op: add, path: /data/%s, value: x}]}", label, label, label))
	}
	seed := seedOf(t, spec("overrides: ["+strings.Join(overrides, ", ")+"]"), settings("own", "0", ""), settings("same", "0", ""))
	placed, err := Place(&seed, inventoryOf(t, fleet...))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{"own": 8, "same": 1} {
		id := manifest.ID{Kind: "ConfigMap", Namespace: "default", Name: name}
		if got := len(placed.Contents.Of(id)); got != want {
			t.Errorf("%s has %d contents, want %d", name, got, want)
		}
	}
	if len(placed.Overrides) != 3 || len(placed.Variants) != 7 {
		t.Errorf("%d rows of overrides and %d variants", len(placed.Overrides), len(placed.Variants))
	}
	o := placed.Contents.On(manifest.ID{Kind: "ConfigMap", Namespace: "default", Name: "own"}, "edge-030").Object
	if diff := cmp.Diff(map[string]any{"value": "0", "a": "x", "b": "x", "c": "x"}, o.Map("data")); diff != "" {
		t.Errorf("edge-030 has (-want +got):\n%s", diff)
	}
}

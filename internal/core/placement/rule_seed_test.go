package placement

import (
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/internal/core/catalog"
)

func TestRuleSeed(t *testing.T) {
	fleet := []string{mgmt, edgeEU, edgeUS}
	plain := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: default}\n"
	rule := func(rules string) string { return spec("placement: [" + rules + "]") }
	const eu = `{name: europe, clusters: "has(cluster.labels.region) && cluster.labels.region == 'eu'"}`
	runPlaceCases(t, map[string]placeCase{
		"an object goes to the clusters that the expression is true of": {
			clusters: fleet, of: theConfigMap, seed: []string{rule(eu), plain},
			want: where{"edge-eu", "seed-rule"},
		},
		"of any role": {
			clusters: fleet, of: theConfigMap, seed: []string{rule(`{name: all, clusters: "true"}`), plain},
			want: where{"edge-eu,edge-us,mgmt", "seed-rule"},
		},
		"also an object of an API of management clusters": {
			clusters: fleet, of: "metal3.io/BareMetalHost/default/h",
			seed: []string{rule(eu), "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata: {name: h, namespace: default}\n"},
			want: where{"edge-eu", "seed-rule"},
		},
		"the first rule for an object decides": {
			clusters: fleet, of: theConfigMap,
			seed: []string{rule(`{name: secrets, objects: "object.kind == 'Secret'", clusters: "true"}, {name: maps, objects: "object.kind == 'ConfigMap'", clusters: "cluster.role == 'Management'"}, ` + eu), plain},
			want: where{"mgmt", "seed-rule"},
		},
		"an expression may be about both": {
			clusters: fleet, of: theConfigMap, seed: []string{rule(`{name: named, clusters: "cluster.name == 'edge-' + object.data.region"}`), plain + "data: {region: us}\n"},
			want: where{"edge-us", "seed-rule"},
		},
		"annotations come first": {
			clusters: fleet, of: theConfigMap, seed: []string{rule(eu), configMap("furrow.dev/cluster: edge-us")},
			want: where{"edge-us", "annotation"},
		},
		"an object that no rule is for goes by the next rules": {
			clusters: fleet, of: theConfigMap, seed: []string{rule(`{name: secrets, objects: "object.kind == 'Secret'", clusters: "true"}`), plain},
			want: where{"edge-eu,edge-us", "selected"},
		},
		"an expression that does not compile is refused once, with its rule": {
			clusters: fleet, seed: []string{rule(`{name: odd, clusters: "clusters.name == 1"}, {name: text, objects: "'a'", clusters: "true"}`), plain, slice("a", "")},
			wantError: "seeds/web/web.yaml:4: Seed \"web\": InvalidPlacement field=spec.placement[0].clusters seed=web\nseeds/web/web.yaml:4: Seed \"web\": InvalidPlacement field=spec.placement[1].objects seed=web",
		},
		"two rules of one name are one too many": {
			clusters: fleet, seed: []string{rule(eu + ", " + eu), plain},
			wantError: `seeds/web/web.yaml:4: Seed "web": InvalidPlacement field=spec.placement[1].name seed=web`,
		},
		"a field that is missing is not passed over": {
			clusters: fleet, seed: []string{rule(`{name: big, objects: "object.spec.replicas > 1", clusters: "true"}`), plain},
			wantError: `seeds/web/web.yaml:6: ConfigMap "c": InvalidPlacement field=spec.placement[0]`,
		},
		"an object that goes nowhere is refused": {
			clusters: fleet, seed: []string{rule(`{name: mars, clusters: "cluster.name == 'mars'"}`), plain},
			wantError: `seeds/web/web.yaml:6: ConfigMap "c": NoClusterMatches field=spec.placement[0].clusters`,
		},
		"an expression that costs too much is stopped": {
			clusters: fleet, seed: []string{rule(`{name: slow, clusters: "[1,2,3,4,5,6,7,8,9].all(a, [1,2,3,4,5,6,7,8,9].all(b, [1,2,3,4,5,6,7,8,9].all(c, [1,2,3,4,5,6,7,8,9].all(d, [1,2,3,4,5,6,7,8,9].all(e, a+b+c+d+e > 0)))))"}`), plain},
			wantError: `seeds/web/web.yaml:6: ConfigMap "c": InvalidPlacement field=spec.placement[0]`,
		},
	})
}

// FuzzSeedRules compiles and evaluates any expression: it must not panic, and ends within its bounds.
func FuzzSeedRules(f *testing.F) {
	for _, expression := range []string{"true", "cluster.name == object.metadata.name", "object.spec.list.all(x, x > 1)", "'a'.matches('(a+)+$')", "[[[", "cluster.labels['a'].size() / 0 == 1"} {
		f.Add(expression)
	}
	f.Fuzz(func(t *testing.T, expression string) {
		if len(expression) > 4096 || strings.ContainsRune(expression, 0) {
			return
		}
		program, err := compileRule("both", expression)
		if err != nil {
			return
		}
		seed := seedOf(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: default}\n")
		s := newPlacer(&seed, seed.Objects(), inventoryOf(t, edgeEU))
		_, _ = s.evaluate(&compiledRule{}, program, s.all[0].object, &catalog.Cluster{Name: "edge-eu"})
	})
}

func TestAnErrorInARuleHasThePositionOfItsExpression(t *testing.T) {
	const document = `apiVersion: furrow.dev/v1alpha1
kind: Seed
metadata: {name: web}
spec:
  placement:
  - name: secrets
    objects: object.kind = 'Secret'
    clusters: "true"
  - name: maps
    objects: |
      // ConfigMaps that
      // somebody labelled
      has(object.metadata.labels) &&
        labels.tier == 'a' && other
    clusters: >
      cluster.role ==
      nowhere
  - {name: maps, clusters: "1 + 1"}
  - name: folded
    clusters: >-
      somewhere
`
	_, _, err := placed(seedOf(t, document, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: default}\n"), inventoryOf(t, mgmt, edgeEU))
	want := []string{
		`seeds/web/web.yaml:7: Seed "web": the expression of rule "secrets" cannot be used: Syntax error: `,
		`seeds/web/web.yaml:14: Seed "web": the expression of rule "maps" cannot be used: undeclared reference to 'labels' at character 3, and 1 more. Correct the expression.`,
		`seeds/web/web.yaml:16: Seed "web": the expression of rule "maps" cannot be used: undeclared reference to 'nowhere' at character 17. Correct the expression.`,
		`seeds/web/web.yaml:18: Seed "web": another rule has the name "maps". Give each rule a name of its own.`,
		`seeds/web/web.yaml:18: Seed "web": the expression of rule "maps" cannot be used: it is of type int, and must be true or false. Correct the expression.`,
		`seeds/web/web.yaml:21: Seed "web": the expression of rule "folded" cannot be used: undeclared reference to 'somewhere' at character 1. Correct the expression.`,
	}
	if err == nil {
		t.Fatal("the rules are accepted")
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != len(want) {
		t.Fatalf("%d errors instead of %d:\n%v", len(lines), len(want), err)
	}
	for i, line := range lines {
		if !strings.HasPrefix(line, want[i]) {
			t.Errorf("got:  %s\nwant: %s", line, want[i])
		}
	}
}

func TestAnExpressionThatFailsNamesItsPosition(t *testing.T) {
	const document = "apiVersion: furrow.dev/v1alpha1\nkind: Seed\nmetadata: {name: web}\nspec:\n  placement:\n  - name: big\n    clusters: object.spec.replicas > 1\n"
	_, _, err := placed(seedOf(t, document, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: default}\n"), inventoryOf(t, edgeEU))
	const want = `seeds/web/web.yaml:9: ConfigMap "c": rule "big" of the seed (seeds/web/web.yaml:7) fails for cluster edge-eu: no such key: spec. Ask with has() for fields that may be missing.`
	if err == nil || err.Error() != want {
		t.Errorf("got:  %v\nwant: %s", err, want)
	}
}

package plan_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/test/golden"
)

// TestBadInputs has the messages for wrong commits. Each row replaces files of a
// valid control plane; want is the message of seed web. Mishaps in repositories are
// in the engine's tests.
func TestBadInputs(t *testing.T) {
	const (
		namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: web}\n"
		web       = namespace + "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: web}\nspec: {}\n"
	)
	tests := map[string]struct {
		files map[string]string
		want  manifest.Problem
	}{
		"a circle": {
			files: map[string]string{"seeds/web.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default, annotations: {furrow.dev/depends-on: core/ConfigMap/default/b}}\n---\n" +
				"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, namespace: default, annotations: {furrow.dev/depends-on: core/ConfigMap/default/a}}\n"},
			want: manifest.Problem{Reason: v1alpha1.ReasonDependencyCycle, Object: `seed "web"`, Seed: "web"},
		},
		"an unknown cluster": {
			files: map[string]string{"seeds/web.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: web, annotations: {furrow.dev/cluster: egde}}\n"},
			want:  manifest.Problem{Reason: v1alpha1.ReasonUnknownCluster, Source: at("seeds/web.yaml", 1), Object: `Namespace "web"`, Field: "furrow.dev/cluster", Cluster: "egde"},
		},
		"no matching cluster": {
			files: map[string]string{"seeds/web.yaml": web + "---\napiVersion: furrow.dev/v1alpha1\nkind: Seed\nmetadata: {name: web}\nspec: {clusterSelector: {matchLabels: {region: mars}}}\n"},
			want:  manifest.Problem{Reason: v1alpha1.ReasonNoClusterMatches, Source: at("seeds/web.yaml", 5), Object: `Deployment "web"`, Field: "spec.clusterSelector"},
		},
		"an unknown grouping": {
			files: map[string]string{"seeds/web.yaml": web + "---\napiVersion: furrow.dev/v1alpha1\nkind: Seed\nmetadata: {name: web}\nspec: {rollout: {groupBy: Wave}}\n"},
			want:  manifest.Problem{Reason: v1alpha1.ReasonInvalidField, Source: at("seeds/web.yaml", 13), Object: `Seed "web"`, Seed: "web", Field: "spec.rollout.groupBy"},
		},
		"a percentage of clusters that is none": {
			files: map[string]string{"seeds/web.yaml": web + `---
apiVersion: furrow.dev/v1alpha1
kind: Seed
metadata: {name: web}
spec: {rollout: {waves: [{name: all, maxUnavailable: 25}, {name: b, clusterSelector: {}, maxUnavailable: many}]}}
`},
			want: manifest.Problem{Reason: v1alpha1.ReasonInvalidField, Source: at("seeds/web.yaml", 13), Object: `Seed "web"`, Seed: "web", Field: "spec.rollout.waves[1].maxUnavailable"},
		},
		"a wave whose name is not a label": {
			files: map[string]string{"seeds/web.yaml": web + `---
apiVersion: furrow.dev/v1alpha1
kind: Seed
metadata: {name: web}
spec: {rollout: {waves: [{name: Canary}]}}
`},
			want: manifest.Problem{Reason: v1alpha1.ReasonInvalidField, Source: at("seeds/web.yaml", 13), Object: `Seed "web"`, Seed: "web", Field: "spec.rollout.waves[0].name"},
		},
		"two waves of one name": {
			files: map[string]string{"seeds/web.yaml": web + `---
apiVersion: furrow.dev/v1alpha1
kind: Seed
metadata: {name: web}
spec: {rollout: {waves: [{name: a, clusterSelector: {}}, {name: a}]}}
`},
			want: manifest.Problem{Reason: v1alpha1.ReasonInvalidField, Source: at("seeds/web.yaml", 13), Object: `Seed "web"`, Seed: "web", Field: "spec.rollout.waves[1].name"},
		},
		"two waves for all other clusters": {
			files: map[string]string{"seeds/web.yaml": web + `---
apiVersion: furrow.dev/v1alpha1
kind: Seed
metadata: {name: web}
spec: {rollout: {waves: [{name: a}, {name: b}]}}
`},
			want: manifest.Problem{Reason: v1alpha1.ReasonInvalidField, Source: at("seeds/web.yaml", 13), Object: `Seed "web"`, Seed: "web", Field: "spec.rollout.waves[1].clusterSelector"},
		},
		"a wave rest with a selector": {
			files: map[string]string{"seeds/web.yaml": web + `---
apiVersion: furrow.dev/v1alpha1
kind: Seed
metadata: {name: web}
spec: {rollout: {waves: [{name: rest, clusterSelector: {}}]}}
`},
			want: manifest.Problem{Reason: v1alpha1.ReasonInvalidField, Source: at("seeds/web.yaml", 13), Object: `Seed "web"`, Seed: "web", Field: "spec.rollout.waves[0].name"},
		},
		"a selector of a wave that cannot be used": {
			files: map[string]string{"seeds/web.yaml": web + `---
apiVersion: furrow.dev/v1alpha1
kind: Seed
metadata: {name: web}
spec: {rollout: {waves: [{name: a, clusterSelector: {matchExpressions: [{key: a, operator: Is}]}}]}}
`},
			want: manifest.Problem{Reason: v1alpha1.ReasonInvalidField, Source: at("seeds/web.yaml", 13), Object: `Seed "web"`, Seed: "web", Field: "spec.rollout.waves[0].clusterSelector"},
		},
		"a negative soak": {
			files: map[string]string{"seeds/web.yaml": web + `---
apiVersion: furrow.dev/v1alpha1
kind: Seed
metadata: {name: web}
spec: {rollout: {waves: [{name: a, soak: -1h}]}}
`},
			want: manifest.Problem{Reason: v1alpha1.ReasonInvalidField, Source: at("seeds/web.yaml", 13), Object: `Seed "web"`, Seed: "web", Field: "spec.rollout.waves[0].soak"},
		},
		"a window that closes at no time of day": {
			files: map[string]string{"seeds/web.yaml": web + `---
apiVersion: furrow.dev/v1alpha1
kind: Seed
metadata: {name: web}
spec: {rollout: {waves: [{name: a, windows: [{from: "09:00", to: "5pm"}]}]}}
`},
			want: manifest.Problem{Reason: v1alpha1.ReasonInvalidField, Source: at("seeds/web.yaml", 13), Object: `Seed "web"`, Seed: "web", Field: "spec.rollout.waves[0].windows[0].to"},
		},
		"a negative number of proposals": {
			files: map[string]string{"seeds/web.yaml": web + `---
apiVersion: furrow.dev/v1alpha1
kind: Seed
metadata: {name: web}
spec: {rollout: {maxOpenProposals: -1}}
`},
			want: manifest.Problem{Reason: v1alpha1.ReasonInvalidField, Source: at("seeds/web.yaml", 13), Object: `Seed "web"`, Seed: "web", Field: "spec.rollout.maxOpenProposals"},
		},
		"an unknown rule": {
			files: map[string]string{"seeds/web.yaml": web, "seeds/settings.yaml": "apiVersion: furrow.dev/v1alpha1\nkind: Seed\nmetadata: {name: web}\nspec: {disabledRules: [namespaces]}\n"},
			want:  manifest.Problem{Reason: v1alpha1.ReasonUnknownRule, Source: at("seeds/settings.yaml", 1), Object: `Seed "web"`, Seed: "web", Field: "spec.disabledRules"},
		},
		"two seeds with one object": {
			files: map[string]string{"seeds/other.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: web}\n"},
			want:  manifest.Problem{Reason: v1alpha1.ReasonObjectConflict, Source: at("seeds/web.yaml", 5), Other: at("seeds/other.yaml", 1), Object: `Deployment "web"`, Seed: "other", Cluster: "edge"},
		},
		"an object that is too large": {
			files: map[string]string{"seeds/web.yaml": namespace + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: big, namespace: web}\ndata: {big: " + strings.Repeat("x", 3<<20) + "}\n"},
			want:  manifest.Problem{Reason: v1alpha1.ReasonDocumentTooLarge, Source: at("seeds/web.yaml", 5), Object: `ConfigMap "big"`},
		},
		"a Secret in plain text": {
			files: map[string]string{"seeds/web.yaml": web + "---\napiVersion: v1\nkind: Secret\nmetadata: {name: key, namespace: web}\nstringData: {password: hunter2}\n"},
			want:  manifest.Problem{Reason: v1alpha1.ReasonPlainSecret, Source: at("seeds/web.yaml", 10), Object: `Secret "key"`, Field: "stringData.password"},
		},
		"a name that leaves its directory": {
			files: map[string]string{"seeds/web.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ../../etc/passwd, namespace: default}\n"},
			want:  manifest.Problem{Reason: v1alpha1.ReasonInvalidName, Source: at("seeds/web.yaml", 3), Object: "ConfigMap", Field: "metadata.name"},
		},
		"a control character in a name": {
			files: map[string]string{"seeds/web.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"a\\u0007b\", namespace: default}\n"},
			want:  manifest.Problem{Reason: v1alpha1.ReasonInvalidName, Source: at("seeds/web.yaml", 3), Object: "ConfigMap", Field: "metadata.name"},
		},
		"a tab": {
			files: map[string]string{"seeds/web.yaml": "apiVersion: v1\nkind: Namespace\nmetadata:\n\tname: web\n"},
			want:  manifest.Problem{Reason: v1alpha1.ReasonInvalidYAML, Source: at("seeds/web.yaml", 4)},
		},
		"an object without a kind": {
			files: map[string]string{"seeds/web.yaml": namespace + "---\napiVersion: v1\nmetadata: {name: x}\n"},
			want:  manifest.Problem{Reason: v1alpha1.ReasonMissingField, Source: at("seeds/web.yaml", 5), Object: `object "x"`, Field: "kind"},
		},
		"an alias bomb": {
			files: map[string]string{"seeds/web.yaml": "a: &a [x, x, x, x, x, x, x, x, x]\n" + bomb("bcdefghi")},
			want:  manifest.Problem{Reason: v1alpha1.ReasonDocumentTooLarge, Source: at("seeds/web.yaml", 1)},
		},
		"a namespaced object without a namespace": {
			files: map[string]string{"seeds/web.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n"},
			want:  manifest.Problem{Reason: v1alpha1.ReasonMissingNamespace, Source: at("seeds/web.yaml", 1), Object: `Deployment "web"`},
		},
		"a template with an error": {
			files: map[string]string{
				"clusters.yaml": fleetDocuments + "---\napiVersion: furrow.dev/v1alpha1\nkind: ClusterType\nmetadata: {name: odd}\nspec: {reconcilerTemplate: odd}\n---\napiVersion: furrow.dev/v1alpha1\nkind: Template\nmetadata: {name: odd}\nspec: {type: Reconciler, text: \"{{ .Names }}\"}\n---\n" +
					"apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: odd}\nspec: {type: odd}\n",
			},
			want: manifest.Problem{Reason: v1alpha1.ReasonInvalidTemplate, Object: `Template "Template/odd"`, Seed: "web", Cluster: "odd"},
		},
		"a cluster's document that cannot be used, and nothing else to be planted on": {
			files: map[string]string{
				"clusters.yaml":  fleetDocuments + "---\napiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: new}\nspec: {rloe: Workload}\n",
				"seeds/web.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: web, annotations: {furrow.dev/cluster: new}}\n",
			},
			want: manifest.Problem{Reason: v1alpha1.ReasonBrokenDocument, Source: at("seeds/web.yaml", 1), Object: `Namespace "web"`, Field: "furrow.dev/cluster", Cluster: "new"},
		},
		"a dependency on what is nowhere": {
			files: map[string]string{"seeds/web.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: web, annotations: {furrow.dev/depends-on: core/Namespace/wbe}}\n"},
			want:  manifest.Problem{Reason: v1alpha1.ReasonMissingDependency, Source: at("seeds/web.yaml", 1), Object: `Namespace "web"`, Field: "furrow.dev/depends-on", Seed: "web"},
		},
	}
	texts := golden.Of(t)
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"clusters.yaml": fleetDocuments, "seeds/web.yaml": web}
			maps.Copy(files, tc.files)
			tree := fstest.MapFS{}
			for p, text := range files {
				tree[p] = &fstest.MapFile{Data: []byte(text)}
			}
			o := compute(t, tree)["web"]
			if o == nil || o.Err == nil || o.Plan != nil {
				t.Fatalf("it was planned: %+v", o)
			}
			got := manifest.ProblemOf(o.Err)
			texts.Add(name, o.Err.Error())
			if diff := cmp.Diff(tc.want, got, cmpopts.IgnoreFields(manifest.Problem{}, "Message", "Next")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got.Message == "" || got.Next == "" {
				t.Errorf("it does not say what is wrong and what to do: %+v", got)
			}
		})
	}
}

func at(file string, line int) manifest.Source { return manifest.Source{File: file, Line: line} }

const fleetDocuments = `apiVersion: furrow.dev/v1alpha1
kind: Cluster
metadata: {name: mgmt}
spec: {role: Management}
---
apiVersion: furrow.dev/v1alpha1
kind: Cluster
metadata: {name: edge}
spec: {}
`

// bomb is lists of lists, each nine times the one before.
func bomb(names string) string {
	var b strings.Builder
	previous := "a"
	for _, name := range strings.Split(names, "") {
		b.WriteString(name + ": &" + name + " [" + strings.TrimSuffix(strings.Repeat("*"+previous+", ", 9), ", ") + "]\n")
		previous = name
	}
	return b.String()
}

// One Template that is slow must not take the time of all seeds.
func TestATemplateThatFailsIsNotRenderedForEverySeed(t *testing.T) {
	tree := fstest.MapFS{"clusters.yaml": {Data: []byte(`apiVersion: furrow.dev/v1alpha1
kind: ClusterType
metadata: {name: slow}
spec: {reconcilerTemplate: slow}
---
apiVersion: furrow.dev/v1alpha1
kind: Template
metadata: {name: slow}
spec: {type: Reconciler, text: "{{ range 100000000 }}{{ end }}"}
---
apiVersion: furrow.dev/v1alpha1
kind: Cluster
metadata: {name: edge}
spec: {type: slow}
`)}}
	const count = 50
	for i := range count {
		name := fmt.Sprintf("s%02d", i)
		tree["seeds/"+name+".yaml"] = &fstest.MapFile{Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + ", namespace: default}\n")}
	}
	said := map[string]int{}
	for _, o := range compute(t, tree) {
		p := manifest.ProblemOf(o.Err)
		if p.Reason != v1alpha1.ReasonTemplateBudget {
			t.Fatalf("got %v", o.Err)
		}
		said[p.Message]++
	}
	// Those for which it was executed have the one message, and the others the other.
	counts := slices.Sorted(maps.Values(said))
	if len(counts) != 2 || counts[0] > 20 || counts[0]+counts[1] != count {
		t.Errorf("of %d seeds the numbers of those with each message are %v", count, said)
	}
}

package placement

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/test/golden"
)

// variant is a variant with these documents. Its choice is names of clusters, or label=value.
func variant(t *testing.T, name, choice string, docs ...string) catalog.Variant {
	t.Helper()
	v := catalog.Variant{Name: name, Objects: seedOf(t, docs...).Objects()}
	if label, value, selects := strings.Cut(choice, "="); selects {
		var err error
		if v.Selector, err = catalog.SelectorOf(&metav1.LabelSelector{MatchLabels: map[string]string{label: value}}); err != nil {
			t.Fatal(err)
		}
	} else if choice != "" {
		v.Clusters = strings.Split(choice, ",")
	}
	return v
}

func settings(name, value, annotations string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + ", namespace: default, annotations: {" + annotations + "}}\ndata: {value: \"" + value + "\"}\n"
}

// pool goes to the management cluster.
func pool(replicas string) string {
	return "apiVersion: cluster.x-k8s.io/v1beta2\nkind: MachinePool\nmetadata: {name: pool, namespace: edge}\nspec: {replicas: " + replicas + "}\n"
}

// shownVariants says where all objects are and what they have there, and how many contents there are; the text is that of
// the error or of the warnings.
func shownVariants(t *testing.T, seed catalog.Seed, fleet ...string) (shown, text string) {
	t.Helper()
	cat, err := catalog.Load(fstest.MapFS{"clusters.yaml": {Data: []byte(join(fleet...))}}) // some may be broken
	if err != nil {
		t.Fatal(err)
	}
	inv := cat.Inventory
	if err := AddImplied(inv, []catalog.Seed{seed})["web"]; err != nil {
		return "error: " + fields(err), err.Error()
	}
	placed, err := Place(&seed, inv)
	if err != nil {
		return "error: " + strings.ReplaceAll(fields(err), "\n", "\nerror: "), err.Error()
	}
	var lines []string
	for _, p := range placed.Placements {
		for _, cluster := range p.Clusters {
			o := placed.Contents.On(p.Object, cluster).Object
			value, _ := o.Field("data", "value")
			if value == nil {
				value = o.Map("spec")["replicas"]
			}
			lines = append(lines, fmt.Sprintf("%s on %s: %v", p.Object.Name, cluster, value))
		}
	}
	for _, id := range placed.Contents.IDs() {
		if n := len(placed.Contents.Of(id)); n > 1 {
			lines = append(lines, fmt.Sprintf("%s has %d contents", id.Name, n))
		}
	}
	for _, w := range placed.Warnings {
		lines = append(lines, "warning: "+golden.Fields(w))
		text += w.Error()
	}
	return strings.Join(lines, "\n"), text
}

func TestVariantsArePlacedOnTheClustersThatChooseThem(t *testing.T) {
	fleet := []string{mgmt, edgeEU, edgeUS}
	cases := map[string]struct {
		clusters []string
		spec     string
		variants func() []catalog.Variant
		want     []string
	}{
		"by name and by label; what is equal is one content": {
			variants: func() []catalog.Variant {
				return []catalog.Variant{
					variant(t, "a", "edge-eu", settings("same", "0", ""), settings("own", "1", "")),
					variant(t, "b", "region=us", settings("same", "0", ""), settings("own", "2", "")),
				}
			},
			want: []string{"own on edge-eu: 1", "own on edge-us: 2", "same on edge-eu: 0", "same on edge-us: 0", "own has 2 contents"},
		},
		"one variant that is chosen by some": {
			spec: "clusterSelector: {matchLabels: {region: us}}",
			variants: func() []catalog.Variant {
				return []catalog.Variant{variant(t, "b", "region=us", settings("own", "2", ""))}
			},
			want: []string{"own on edge-us: 2"},
		},
		"a default is for all that no other one chooses": {
			variants: func() []catalog.Variant {
				return []catalog.Variant{variant(t, "all", "", settings("own", "1", "")), variant(t, "us", "edge-us", settings("own", "2", ""))}
			},
			want: []string{"own on edge-eu: 1", "own on edge-us: 2", "own has 2 contents"},
		},
		"a cluster that none chooses holds the seed": {
			variants: func() []catalog.Variant {
				return []catalog.Variant{variant(t, "us", "edge-us", settings("own", "2", ""))}
			},
			want: []string{`error: seeds/web/web.yaml:1: Seed "web": NoVariant seed=web cluster=edge-eu`},
		},
		"a cluster that two choose holds the seed": {
			variants: func() []catalog.Variant {
				return []catalog.Variant{variant(t, "us", "edge-us,edge-eu", settings("own", "2", "")), variant(t, "eu", "region=eu", settings("own", "2", ""))}
			},
			want: []string{`error: seeds/web/web.yaml:1: Seed "web": VariantAmbiguous seed=web cluster=edge-eu`},
		},
		"what nothing goes to may be chosen twice, or not at all": {
			variants: func() []catalog.Variant {
				return []catalog.Variant{
					variant(t, "a", "edge-eu", settings("a", "1", "furrow.dev/cluster: mgmt")),
					variant(t, "b", "edge-eu", settings("b", "2", "furrow.dev/cluster: mgmt")),
				}
			},
			want: []string{"a on mgmt: 1", "b on mgmt: 2"},
		},
		"a management cluster has what all variants put there, equal content once": {
			variants: func() []catalog.Variant {
				return []catalog.Variant{
					variant(t, "a", "edge-eu", pool("3"), settings("eu", "1", "furrow.dev/cluster: mgmt")),
					variant(t, "b", "edge-us", pool("3"), settings("us", "2", "furrow.dev/cluster: mgmt")),
				}
			},
			want: []string{"eu on mgmt: 1", "us on mgmt: 2", "pool on mgmt: 3"},
		},
		"unequal content on a management cluster holds the seed, with both positions": {
			variants: func() []catalog.Variant {
				return []catalog.Variant{variant(t, "a", "edge-eu", pool("3")), variant(t, "b", "edge-us", "# comment", pool("4"))}
			},
			want: []string{`error: seeds/web/web.yaml:3: MachinePool "pool": VariantConflict other=seeds/web/web.yaml:1 cluster=mgmt`},
		},
		"unequal content that overlays make of one document holds the seed, with that position once": {
			variants: func() []catalog.Variant {
				return []catalog.Variant{variant(t, "a", "edge-eu", pool("3")), variant(t, "b", "edge-us", pool("4"))}
			},
			want: []string{`error: seeds/web/web.yaml:1: MachinePool "pool": VariantConflict cluster=mgmt`},
		},
		"a management cluster has the content of the variant that puts it there": {
			variants: func() []catalog.Variant {
				return []catalog.Variant{
					variant(t, "a", "edge-eu", settings("own", "1", "")),
					variant(t, "b", "edge-us", settings("own", "2", `furrow.dev/cluster: "mgmt,edge-us"`)),
				}
			},
			want: []string{"own on edge-eu: 1", "own on edge-us: 2", "own on mgmt: 2", "own has 2 contents"},
		},
		"a variant that no cluster gets is a warning, and its objects go nowhere": {
			variants: func() []catalog.Variant {
				return []catalog.Variant{variant(t, "all", "", settings("own", "1", "")), variant(t, "none", "edge-uk", settings("x", "2", "furrow.dev/cluster: mgmt"))}
			},
			want: []string{"own on edge-eu: 1", "own on edge-us: 1", `warning: seeds/web/web.yaml:1: Seed "web": VariantUnused seed=web`},
		},
		"variants may create the clusters that choose them": {
			clusters: []string{mgmt},
			variants: func() []catalog.Variant {
				return []catalog.Variant{variant(t, "eu", "region=eu", capi, settings("own", "1", ""))}
			},
			want: []string{"own on edge-1: 1", "edge-1 on mgmt: <nil>"},
		},
		"a variant of a cluster that cannot be read holds what it has on management clusters": {
			clusters: []string{mgmt, edgeUS, "apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: edge-eu}\nspec: {typo: x}\n"},
			variants: func() []catalog.Variant {
				return []catalog.Variant{variant(t, "eu", "edge-eu", settings("eu", "1", "furrow.dev/cluster: mgmt")), variant(t, "us", "edge-us", settings("own", "1", ""))}
			},
			want: []string{`error: seeds/web/web.yaml:1: Seed "web": BrokenDocument seed=web`},
		},
		"a variant of a cluster that cannot be read holds nothing else": {
			clusters: []string{mgmt, edgeUS, "apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: edge-eu}\nspec: {typo: x}\n"},
			variants: func() []catalog.Variant {
				return []catalog.Variant{variant(t, "eu", "region=eu", settings("own", "2", "")), variant(t, "us", "edge-us", settings("own", "1", ""))}
			},
			want: []string{"own on edge-us: 1", `warning: seeds/web/web.yaml:1: Seed "web": VariantUnused seed=web`},
		},
		"a variant that creates a cluster must be chosen": {
			clusters: []string{mgmt},
			variants: func() []catalog.Variant {
				return []catalog.Variant{variant(t, "us", "region=us", capi, settings("own", "1", ""))}
			},
			want: []string{`error: seeds/web/web.yaml:1: Cluster "edge-1": VariantUnused cluster=edge-1`},
		},
	}
	texts := golden.Of(t)
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			seed := seedOf(t, spec(c.spec), settings("any", "0", ""))
			seed.Variants = c.variants()
			if c.clusters == nil {
				c.clusters = fleet
			}
			shown, text := shownVariants(t, seed, c.clusters...)
			got := strings.Split(shown, "\n")
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			texts.Add(sentence, text)
		})
	}
}

// TestContentIsSharedByClusters counts what is kept for a fleet: the contents of one cluster.
func TestContentIsSharedByClusters(t *testing.T) {
	var fleet []string
	for i := range 200 {
		fleet = append(fleet, fmt.Sprintf("apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: c%03d, labels: {odd: \"%v\"}}\n", i, i%2 == 1))
	}
	seed := seedOf(t, settings("any", "0", ""))
	seed.Variants = []catalog.Variant{variant(t, "odd", "odd=true", settings("own", "1", ""), settings("same", "0", "")), variant(t, "even", "odd=false", settings("own", "2", ""), settings("same", "0", ""))}
	placed, err := Place(&seed, inventoryOf(t, fleet...))
	if err != nil {
		t.Fatal(err)
	}
	contents := map[*Content]bool{}
	for _, p := range placed.Placements {
		for _, cluster := range p.Clusters {
			contents[placed.Contents.On(p.Object, cluster)] = true
		}
	}
	if len(contents) != 3 || len(placed.Placements) != 2 || len(placed.Variants["odd"]) != 100 {
		t.Errorf("%d contents, %d placements, %d clusters of one variant", len(contents), len(placed.Placements), len(placed.Variants["odd"]))
	}
	if on := placed.Contents.On(manifest.ID{Kind: "ConfigMap", Name: "nothing"}, "c000"); on != nil {
		t.Errorf("an object that is in no variant has %v", on)
	}
}

package review_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/review"
)

func TestWhyNowNamesWhicheverInputChanged(t *testing.T) {
	doc := func(kind, name, spec string) string {
		return "apiVersion: furrow.dev/v1alpha1\nkind: " + kind + "\nmetadata: {name: " + name + "}\nspec: {" + spec + "}\n"
	}
	cat, err := catalog.Load(fstest.MapFS{
		"fleet.yaml":            {Data: []byte(doc("Cluster", "east", "type: metro") + "---\n" + doc("Cluster", "mgmt", "role: Management"))},
		"types/metro.yaml":      {Data: []byte(doc("ClusterType", "metro", "reconcilerTemplate: patient"))},
		"patient.yaml":          {Data: []byte(doc("Template", "patient", "type: Reconciler, text: x"))},
		"slow.yaml":             {Data: []byte(doc("RolloutPolicy", "slow", "groupBy: Level"))},
		"seeds/web/seed.yaml":   {Data: []byte(doc("Seed", "web", "rollout: {policy: slow}"))},
		"seeds/web/config.yaml": {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		seed  string
		tiers []*plan.Tier
		want  []string
	}{
		"a cluster with a type and a template": {
			seed: "web", tiers: []*plan.Tier{{Cluster: "east", Repo: "fleet", Object: plan.ReconcilerObject{Cluster: "east"}}},
			want: []string{"document Cluster/east fleet.yaml", "document ClusterType/metro types/metro.yaml", "document GitOpsRepo/fleet", "document Plugin/labels",
				"document RolloutPolicy/slow slow.yaml", "document Template/patient patient.yaml", "seeds/web", "seeds/web/seed.yaml"},
		},
		"a cluster that is declared no more, behind a hub": {
			seed: "web", tiers: []*plan.Tier{{Cluster: "edge", Object: plan.ReconcilerObject{Cluster: "mgmt"}}},
			want: []string{"document Cluster/edge", "document Cluster/mgmt fleet.yaml", "document Plugin/labels", "document RolloutPolicy/slow slow.yaml", "seeds/web", "seeds/web/seed.yaml"},
		},
		"a seed that is gone": {
			seed: "shop", tiers: []*plan.Tier{{Cluster: "mgmt", Object: plan.ReconcilerObject{Cluster: "mgmt"}}},
			want: []string{"document Cluster/mgmt fleet.yaml", "document Plugin/labels", "seeds/shop"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := &plan.Plan{Seed: tt.seed, From: "seeds/" + tt.seed, Plugins: []catalog.RanPlugin{{Name: "labels"}}}
			causes := review.CausesOf(cat, p, tt.tiers)
			if diff := cmp.Diff(tt.want, strings.Split(string(causes), "\n")); diff != "" {
				t.Error(diff)
			}
			paths, documents := causes.Parse()
			if len(paths)+len(documents) != len(tt.want) {
				t.Errorf("%d paths and %d documents come from %d causes", len(paths), len(documents), len(tt.want))
			}
		})
	}
}

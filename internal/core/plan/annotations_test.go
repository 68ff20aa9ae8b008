package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/plan"
)

// planOne plans a seed of one cluster, and returns its outcome.
func planOne(t *testing.T, objects ...string) *plan.Outcome {
	t.Helper()
	return compute(t, fstest.MapFS{
		"clusters.yaml": {Data: []byte("apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: edge}\n")},
		"seeds/a.yaml":  {Data: []byte(strings.Join(objects, "---\n"))},
	})["a"]
}

func annotated(kind, name, annotations string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: %s\nmetadata: {name: %s, namespace: shop, annotations: {%s}}\n", kind, name, annotations)
}

func TestObjectsThatOtherToolsKeepAreKept(t *testing.T) {
	for annotation, want := range map[string]bool{
		`helm.sh/resource-policy: keep`:                                  true,
		`helm.sh/resource-policy: " Keep "`:                              true,
		`argocd.argoproj.io/sync-options: Prune=false`:                   true,
		`argocd.argoproj.io/sync-options: "Replace=true, Delete=false"`:  true,
		`kapp.k14s.io/delete-strategy: orphan`:                           true,
		`client.lifecycle.config.k8s.io/deletion: detach`:                true,
		`cli-utils.sigs.k8s.io/on-remove: keep`:                          true,
		`helm.sh/resource-policy: delete`:                                false,
		`argocd.argoproj.io/sync-options: "Replace=true,PruneLast=true"`: false,
		`argocd.argoproj.io/compare-options: "Prune=false"`:              false,
		`client.lifecycle.config.k8s.io/mutation: ignore`:                false,
	} {
		t.Run(annotation, func(t *testing.T) {
			o := planOne(t, annotated("ConfigMap", "c", annotation), "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n")
			if o.Err != nil {
				t.Fatal(o.Err)
			}
			for i := range o.Plan.Tiers {
				tier := &o.Plan.Tiers[i]
				for _, object := range o.Plan.Objects(tier) {
					file := string(o.Files[tier.Repo].Find(tier.FilePath(object)).Data)
					if object.Kept != want || strings.Contains(file, "kustomize.toolkit.fluxcd.io/prune: disabled") != want {
						t.Errorf("%s is kept: %v\n%s", object.ID, object.Kept, file)
					}
				}
			}
			said := slices.ContainsFunc(o.Plan.Warnings, func(w plan.Warning) bool { return w.Reason == v1alpha1.ReasonKeptOnCluster })
			if said != want {
				t.Errorf("the warnings are %v", o.Plan.Warnings)
			}
		})
	}
}

func TestAnObjectIsRecreatedWhereItsAnnotationAllowsIt(t *testing.T) {
	o := planOne(t, strings.ReplaceAll(annotated("ConfigMap", "c", "furrow.dev/recreate: allow"), "shop", "default"))
	if o.Err != nil {
		t.Fatal(o.Err)
	}
	tier := &o.Plan.Tiers[0]
	if file := string(o.Files[tier.Repo].Find(tier.FilePath(o.Plan.Objects(tier)[0])).Data); !strings.Contains(file, "kustomize.toolkit.fluxcd.io/force: enabled") {
		t.Error(file)
	}
	if o := planOne(t, strings.ReplaceAll(annotated("ConfigMap", "c", "furrow.dev/recreate: yes-please"), "shop", "default")); o.Err == nil {
		t.Error("an unknown value is accepted")
	}
}

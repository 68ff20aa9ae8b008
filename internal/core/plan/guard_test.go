package plan_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
)

// TestWhatOnlyAPersonMayLetGo: of what leaves a tier, by kind.
func TestWhatOnlyAPersonMayLetGo(t *testing.T) {
	guarded := map[string]bool{
		"core/Namespace/app": true, "core/PersistentVolumeClaim/app/data": true, "apiextensions.k8s.io/CustomResourceDefinition/toys.example.com": true,
		"cluster.x-k8s.io/Cluster/edge/edge-1": true, "planter.nephio.org/Cluster/edge/edge-1": true,
		"apps/Deployment/app/web": false, "core/ConfigMap/app/c": false, "example.com/Namespace/app": false, "core/PersistentVolume/data": false,
	}
	for text, want := range guarded {
		id, err := manifest.ParseID(text)
		if err != nil {
			t.Fatal(err)
		}
		tier := plan.Tier{Cluster: "site-0", Leaving: &plan.Leaving{Objects: []plan.Object{{ID: id}}}}
		if got := len(tier.Guarded()) > 0; got != want {
			t.Errorf("%s is guarded: %v, want %v", text, got, want)
		}
		if tier.Leaving = nil; len(tier.Guarded()) > 0 {
			t.Errorf("%s is guarded although it stays", text)
		}
	}
}

func TestWhatIsRemovedIsNamedOnce(t *testing.T) {
	app, shop := manifest.ID{Kind: "Namespace", Name: "app"}, manifest.ID{Kind: "PersistentVolumeClaim", Namespace: "shop", Name: "data"}
	removed := []plan.Removed{{Object: shop, Cluster: "b"}, {Object: app, Cluster: "b"}, {Object: app, Cluster: "a"}, {Object: app, Cluster: "a"}}
	if diff := cmp.Diff([]string{"Namespace app on 2 clusters", "PersistentVolumeClaim shop/data on b"}, plan.Describe(removed)); diff != "" {
		t.Errorf("the description differs (-want +got):\n%s", diff)
	}
	var many []plan.Removed
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		many = append(many, plan.Removed{Object: manifest.ID{Kind: "Namespace", Name: name}, Cluster: "x"})
	}
	for want, of := range map[string][]plan.Removed{
		"": nil, "Namespace app on b": removed[1:2], "Namespace app on 2 clusters and PersistentVolumeClaim shop/data on b": removed,
		"Namespace a on x, Namespace b on x, Namespace c on x, Namespace d on x and 2 more": many,
	} {
		if got := plan.List(of); got != want {
			t.Errorf("the list is %q, want %q", got, want)
		}
	}
}

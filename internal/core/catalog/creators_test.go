package catalog

import (
	"reflect"
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

func TestEveryRowOfTheCreatorTableIsReached(t *testing.T) {
	if rows := strings.Count(string(creatorsYAML), "- group:"); rows != len(creators) {
		t.Errorf("%d rows make %d kinds: one occurs twice", rows, len(creators))
	}
	for kind, row := range creators {
		if got, ok := Creator(kind); !ok || !reflect.DeepEqual(got, row) || !IsCreator(kind) {
			t.Errorf("%s is not found as a creator", kind)
		}
		if row.Version == "" {
			t.Errorf("%s has no version, which health checks name", kind)
		}
		if row.Current != "" && !strings.Contains(row.Current, "has(") {
			t.Errorf("%s: the expression is true, or fails, for an object without a status: %s", kind, row.Current)
		}
	}
	if IsCreator(manifest.GroupKind{Group: "cluster.x-k8s.io", Kind: "Machine"}) {
		t.Error("a Machine creates no cluster")
	}
}

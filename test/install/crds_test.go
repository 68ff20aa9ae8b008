package install

import (
	"path/filepath"
	"testing"

	"github.com/furrow-dev/furrow/test/servers"
)

func TestSamplesAndExamplesAreResources(t *testing.T) {
	servers.Need(t, servers.ForCluster...)
	cluster := startCluster(t, "samples")
	cluster.apply(t, crds(t))
	files, err := filepath.Glob("../../api/v1alpha1/examples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, file := range files {
		switch filepath.Base(file) {
		case "seed.yaml", "controlplane.yaml", "plugin.yaml": // documents of the control-plane repository only
			continue
		}
		if err := cluster.server.Apply(t.Context(), inNamespace(t, "default", read(t, file))); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	cluster.makeNamespace(t, "samples", nil)
	if err := cluster.server.Apply(t.Context(), inNamespace(t, "samples", kustomize(t, "../../config/samples"))); err != nil {
		t.Errorf("config/samples: %v", err)
	}
}

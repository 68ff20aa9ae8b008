// Package install holds the tests of what people install: the CRDs, the chart and the kustomize base, applied to a real
// API server.
package install

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/furrow-dev/furrow/test/servers"
)

// crds are all CustomResourceDefinitions as they are generated.
func crds(t *testing.T) []byte {
	t.Helper()
	files, err := filepath.Glob("../../config/crd/bases/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no CRDs: %v", err)
	}
	var all [][]byte
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, data)
	}
	return bytes.Join(all, []byte("\n---\n"))
}

func TestTheCRDsAreServed(t *testing.T) {
	servers.Need(t, servers.ForCluster...)
	cluster := servers.MustCluster(t, servers.ClusterOptions{Name: "install"})
	if err := cluster.Apply(t.Context(), crds(t)); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"../../api/v1alpha1/examples", "../../config/samples"} {
		files, err := filepath.Glob(dir + "/*.yaml")
		if err != nil || len(files) == 0 {
			t.Fatalf("no samples: %v", err)
		}
		for _, file := range files {
			if file == "../../api/v1alpha1/examples/seed.yaml" {
				continue // a document of the control-plane repository, and no resource
			}
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := cluster.Apply(t.Context(), inNamespace(data)); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
}

func inNamespace(data []byte) []byte {
	return bytes.ReplaceAll(data, []byte("\nmetadata:\n"), []byte("\nmetadata:\n  namespace: default\n"))
}

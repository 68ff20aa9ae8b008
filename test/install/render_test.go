// Package install tests what people install: the CRDs, the chart, the kustomize base and the image. All but the image are
// applied to a real API server.
package install

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	kubeyaml "sigs.k8s.io/yaml"

	"github.com/furrow-dev/furrow/test/servers"
)

const (
	chart     = "../../charts/furrow"
	namespace = "furrow-system"
)

// crds returns all generated CustomResourceDefinitions.
func crds(t *testing.T) []byte {
	t.Helper()
	return kustomize(t, "../../config/crd")
}

// kustomize renders a directory.
func kustomize(t *testing.T, dir string) []byte {
	t.Helper()
	bin := servers.Need(t, servers.Kubernetes)
	return must(t)(run(t, bin.Program(servers.Kubernetes, "kubectl"), "kustomize", dir))
}

// helm runs helm with its own home directory.
func helm(t *testing.T, args ...string) ([]byte, error) {
	t.Helper()
	bin := servers.Need(t, servers.Helm)
	return run(t, bin.Program(servers.Helm, "helm"), args...)
}

// render renders the chart with flags, --set and the like, as release furrow.
func render(t *testing.T, flags ...string) ([]byte, error) {
	t.Helper()
	return helm(t, append([]string{"template", "furrow", chart, "--namespace", namespace}, flags...)...)
}

// run returns a program's output; the error has its stderr.
func run(t *testing.T, program string, args ...string) ([]byte, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", filepath.Base(program), strings.Join(args, " "), err, stderr.String())
	}
	return out, nil
}

// must fails the test on an error.
func must(t *testing.T) func([]byte, error) []byte {
	return func(out []byte, err error) []byte {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	return must(t)(os.ReadFile(path))
}

// objects reads YAML documents.
func objects(t *testing.T, documents []byte) []*unstructured.Unstructured {
	t.Helper()
	var all []*unstructured.Unstructured
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(documents), 4096); ; {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(object.Object) > 0 {
			all = append(all, object)
		}
	}
}

// find returns the objects of a kind.
func find(t *testing.T, documents []byte, kind string) []*unstructured.Unstructured {
	t.Helper()
	return slices.DeleteFunc(objects(t, documents), func(o *unstructured.Unstructured) bool { return o.GetKind() != kind })
}

// theOne returns the only object of a kind.
func theOne(t *testing.T, documents []byte, kind string) *unstructured.Unstructured {
	t.Helper()
	found := find(t, documents, kind)
	if len(found) != 1 {
		t.Fatalf("there are %d objects of kind %s", len(found), kind)
	}
	return found[0]
}

// inNamespace sets the namespace of documents.
func inNamespace(t *testing.T, namespace string, documents []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	for _, object := range objects(t, documents) {
		object.SetNamespace(namespace)
		out.WriteString("---\n")
		out.Write(must(t)(kubeyaml.Marshal(object.Object)))
	}
	return out.Bytes()
}

package install

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/furrow-dev/furrow/test/soak"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kubeyaml "sigs.k8s.io/yaml"

	"github.com/furrow-dev/furrow/test/servers"
)

// olderChart makes a chart whose CRDs have no validation rules and no deletionTimeout.
func olderChart(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "furrow")
	if err := os.CopyFS(dir, os.DirFS(chart)); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "files/crds/*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no CRDs: %v", err)
	}
	for _, file := range files {
		var crd any
		if err := kubeyaml.Unmarshal(read(t, file), &crd); err != nil {
			t.Fatal(err)
		}
		without(crd, "x-kubernetes-validations", "deletionTimeout")
		if err := os.WriteFile(file, must(t)(kubeyaml.Marshal(crd)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// without removes keys from a value, at any depth.
func without(value any, keys ...string) {
	switch value := value.(type) {
	case map[string]any:
		for _, key := range keys {
			delete(value, key)
		}
		for _, below := range value {
			without(below, keys...)
		}
	case []any:
		for _, below := range value {
			without(below, keys...)
		}
	}
}

func TestResourcesSurviveUpgradeAndUninstall(t *testing.T) {
	soak.Only(t)
	servers.Need(t, append([]servers.Name{servers.Helm}, servers.ForCluster...)...)
	cluster := startCluster(t, "upgrade")
	release := func(args ...string) string {
		t.Helper()
		args = append(args, "--namespace", namespace, "--kubeconfig", cluster.server.KubeConfigFile)
		return string(must(t)(helm(t, args...)))
	}
	release("install", "furrow", olderChart(t), "--create-namespace")
	cluster.makeNamespace(t, "samples", nil)
	samples := objects(t, inNamespace(t, "samples", kustomize(t, "../../config/samples")))
	for _, sample := range samples {
		without(sample.Object, "deletionTimeout")
		if err := cluster.Create(t.Context(), sample); err != nil {
			t.Fatal(err)
		}
	}
	unchanged := func(when string) {
		t.Helper()
		for _, sample := range samples {
			live := &unstructured.Unstructured{}
			live.SetGroupVersionKind(sample.GroupVersionKind())
			if err := cluster.Get(t.Context(), client.ObjectKeyFromObject(sample), live); err != nil {
				t.Errorf("%s: %v", when, err)
			} else if diff := cmp.Diff(sample.Object, live.Object); diff != "" {
				t.Errorf("%s: %s %s (-before +after):\n%s", when, sample.GetKind(), sample.GetName(), diff)
			}
		}
	}
	bad := resource(t, "Seed", "samples", "bad", source)
	if err := unstructured.SetNestedField(bad.Object, "10ms", "spec", "deletionTimeout"); err != nil {
		t.Fatal(err)
	}
	strict := client.FieldValidation("Strict")
	if err := cluster.Create(t.Context(), bad.DeepCopy(), strict); err == nil || !strings.Contains(err.Error(), "unknown field") {
		t.Fatalf("the older CRD is not older: %v", err)
	}

	notes := release("upgrade", "furrow", chart)
	for _, want := range []string{"all namespaces", "rollout status deployment/furrow-controller", "kubectl -n NAMESPACE get seeds,plantings", "--set cluster.name="} {
		if !strings.Contains(notes, want) {
			t.Errorf("the notes do not have %q:\n%s", want, notes)
		}
	}
	unchanged("after the upgrade")
	soon, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := servers.Until(soon, "the CRD is that of the upgrade", func(ctx context.Context) error {
		err := cluster.Create(ctx, bad.DeepCopy(), strict, client.DryRunAll)
		if err != nil && strings.Contains(err.Error(), "deletionTimeout must be at least 1s") {
			return nil
		}
		return fmt.Errorf("a deletionTimeout that is too short: %w", err)
	})
	if err != nil {
		t.Error(err)
	}

	release("uninstall", "furrow")
	unchanged("after the release is gone")
	err = cluster.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "furrow-controller"}, &appsv1.Deployment{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the controller is not gone with the release: %v", err)
	}
	shipped, err := os.ReadDir("../../config/crd/bases")
	if err != nil {
		t.Fatal(err)
	}
	var crds apiextensionsv1.CustomResourceDefinitionList
	if err := cluster.List(t.Context(), &crds); err != nil || len(crds.Items) != len(shipped) {
		t.Errorf("%d of %d CRDs are left: %v", len(crds.Items), len(shipped), err)
	}

	release("install", "furrow", chart)
	unchanged("after the release is back")
}

package v1alpha1_test

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	"github.com/furrow-dev/furrow/api/v1alpha1"
)

// examples are the kinds that people write; each has a complete example.
var examples = map[string]func() any{
	"cluster.yaml":       func() any { return &v1alpha1.Cluster{} },
	"controlplane.yaml":  func() any { return &v1alpha1.ControlPlane{} },
	"clustertype.yaml":   func() any { return &v1alpha1.ClusterType{} },
	"gitopsrepo.yaml":    func() any { return &v1alpha1.GitOpsRepo{} },
	"rolloutpolicy.yaml": func() any { return &v1alpha1.RolloutPolicy{} },
	"plugin.yaml":        func() any { return &v1alpha1.Plugin{} },
	"template.yaml":      func() any { return &v1alpha1.Template{} },
	"seed.yaml":          func() any { return &v1alpha1.Seed{} },
}

func TestEveryExampleIsStrictlyOfItsKind(t *testing.T) {
	for file, newDoc := range examples {
		t.Run(file, func(t *testing.T) {
			for _, text := range documents(t, file) {
				doc := newDoc()
				if err := yaml.UnmarshalStrict(text, doc); err != nil {
					t.Fatal(err)
				}
				kind := reflect.TypeOf(doc).Elem().Name()
				meta := reflect.ValueOf(doc).Elem().FieldByName("TypeMeta").Interface()
				if diff := cmp.Diff(metav1.TypeMeta{APIVersion: v1alpha1.APIVersion, Kind: kind}, meta); diff != "" {
					t.Errorf("apiVersion and kind differ (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestEveryFieldOfAKindIsInItsExample(t *testing.T) {
	for file, newDoc := range examples {
		t.Run(file, func(t *testing.T) {
			used := map[string]bool{}
			for _, text := range append(documents(t, file), resources(t, file)...) {
				var body any
				if err := yaml.Unmarshal(text, &body); err != nil {
					t.Fatal(err)
				}
				addPaths(used, "", body)
			}
			for _, field := range fieldsOf(reflect.TypeOf(newDoc()), "") {
				if !used[field] {
					t.Errorf("the example does not use %s", field)
				}
			}
		})
	}
}

func TestEveryExampleFileBelongsToAKind(t *testing.T) {
	files, err := filepath.Glob("examples/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if _, ok := examples[filepath.Base(file)]; !ok {
			t.Errorf("%s is tested by nothing", file)
		}
	}
}

// resources are the documents of the sample that has what only a custom resource may say.
func resources(t *testing.T, file string) [][]byte {
	t.Helper()
	if file != "seed.yaml" {
		return nil
	}
	return documents(t, "../../../config/samples/"+file)
}

func documents(t *testing.T, file string) [][]byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("examples", file))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Split(data, []byte("\n---\n"))
}

// addPaths collects the paths of all keys; the items of a list share one.
func addPaths(paths map[string]bool, at string, value any) {
	switch value := value.(type) {
	case map[string]any:
		for key, item := range value {
			paths[at+"."+key] = true
			addPaths(paths, at+"."+key, item)
		}
	case []any:
		for _, item := range value {
			addPaths(paths, at, item)
		}
	}
}

// fieldsOf lists the JSON paths of a type, but for those of object metadata.
func fieldsOf(typ reflect.Type, at string) []string {
	switch typ.Kind() {
	case reflect.Pointer, reflect.Slice:
		return fieldsOf(typ.Elem(), at)
	case reflect.Struct:
	default:
		return nil
	}
	switch typ {
	case reflect.TypeFor[metav1.ObjectMeta]():
		return []string{at + ".name"}
	case reflect.TypeFor[metav1.Duration](), reflect.TypeFor[intstr.IntOrString](), reflect.TypeFor[resource.Quantity](), reflect.TypeFor[runtime.RawExtension]():
		return nil
	}
	var paths []string
	for i := range typ.NumField() {
		name, options, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
		if slices.Contains(strings.Split(options, ","), "inline") {
			paths = append(paths, fieldsOf(typ.Field(i).Type, at)...)
			continue
		}
		if at == "" && name == "status" {
			continue // nobody writes it
		}
		paths = append(paths, at+"."+name)
		paths = append(paths, fieldsOf(typ.Field(i).Type, at+"."+name)...)
	}
	return paths
}

func TestDefaultsAreThoseOfTheDocumentation(t *testing.T) {
	type defaults struct {
		Role   v1alpha1.ClusterRole
		Path   string
		Branch string
		Source v1alpha1.ObjectReference
		Rule   bool
	}
	want := defaults{
		Role: v1alpha1.RoleWorkload, Path: "clusters/edge-1", Branch: "main", Rule: true,
		Source: v1alpha1.ObjectReference{Name: "flux-system", Namespace: "flux-system"},
	}
	cluster := v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "edge-1"}}
	got := defaults{
		Role: cluster.RoleOrDefault(), Path: cluster.PathOrDefault(), Branch: v1alpha1.GitOpsRepoSpec{}.BranchOrDefault(),
		Source: v1alpha1.ClusterTypeSpec{}.SourceOrDefault(), Rule: v1alpha1.SeedSpec{}.RuleEnabled("namespace"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the defaults differ (-want +got):\n%s", diff)
	}
	if (v1alpha1.SeedSpec{DisabledRules: []string{"crd"}}).RuleEnabled("crd") {
		t.Error("a disabled rule is on")
	}
}

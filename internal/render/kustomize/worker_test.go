package kustomize

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestMain lets the test binary be its own worker, as furrow is.
func TestMain(m *testing.M) {
	if worker, code := Worker(os.Args[0], os.Args[1:], os.Stdin, os.Stdout); worker {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// package of a ConfigMap that its kustomization changes.
func packageOf(kustomization string) map[string][]byte {
	return map[string][]byte{
		"kustomization.yaml": []byte(kustomization),
		"a.yaml":             []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default}\ndata: {a: " + strings.Repeat("x", 1000) + "}\n"),
	}
}

func TestAWorkerBuildsWhatThisProcessBuilds(t *testing.T) {
	r := request{Root: "seeds/web", Files: packageOf("resources: [a.yaml]\nnamePrefix: x-\n"), Overlays: []string{"."}, Budget: defaultBudget}
	for name, build := range map[string]func(context.Context, request) ([]build, error){"worker": buildInWorker, "here": buildHere} {
		builds, err := build(t.Context(), r)
		if err != nil || len(builds) != 1 || builds[0].Fault != nil || len(builds[0].Objects) != 1 {
			t.Fatalf("%s: %+v, %v", name, builds, err)
		}
		if o := builds[0].Objects[0]; o.Name != "x-a" || o.Origin != "a.yaml" || !strings.HasPrefix(string(o.JSON), `{"apiVersion":"v1"`) {
			t.Errorf("%s: %+v", name, o)
		}
	}
}

// TestTheFirstPluginsAreNamed: of several fields that are refused it is always the same.
func TestTheFirstPluginsAreNamed(t *testing.T) {
	r := request{Root: "seeds/web", Files: packageOf("validators: [a.yaml]\ntransformers: [a.yaml]\ngenerators: [a.yaml]\n"), Overlays: []string{"."}, Budget: defaultBudget}
	for range 20 {
		builds, err := buildHere(t.Context(), r)
		if err != nil || len(builds) != 1 || builds[0].Fault == nil || !strings.Contains(builds[0].Fault.Message, "it has generators") {
			t.Fatalf("%+v, %v", builds, err)
		}
	}
}

// TestABuildOverItsBudgetEnds has what a few lines make of: twice as much with each of them.
func TestABuildOverItsBudgetEnds(t *testing.T) {
	doubling := packageOf("")
	for level := range 20 {
		next := fmt.Sprintf("../l%d", level+1)
		if level == 19 {
			next = "a.yaml"
			doubling["l19/a.yaml"] = doubling["a.yaml"]
		}
		for _, side := range []string{"left", "right"} {
			doubling[fmt.Sprintf("l%d%s/kustomization.yaml", level, side)] = fmt.Appendf(nil, "resources: [../l%d]\nnamePrefix: %s\n", level, side)
		}
		resources := fmt.Sprintf("[%sleft, %sright]", next, next)
		if level == 19 {
			resources = "[a.yaml]"
		}
		doubling[fmt.Sprintf("l%d/kustomization.yaml", level)] = []byte("resources: " + resources + "\n")
	}
	doubling["kustomization.yaml"] = []byte("resources: [l0left, l0right]\n")

	replacements := "resources: [a.yaml]\nreplacements:\n"
	for range 40 {
		replacements += "- source: {kind: ConfigMap, fieldPath: data.a}\n  targets: [{select: {kind: ConfigMap}, fieldPaths: [data.a], options: {delimiter: ',', index: 1000000}}]\n"
	}
	many := "configMapGenerator:\n"
	for i := range 11 {
		many += fmt.Sprintf("- {name: c%d, options: {disableNameSuffixHash: true}}\n", i)
	}
	cases := map[string]struct {
		files map[string][]byte
		want  string
	}{
		"bases that name bases twice":      {doubling, "more than 100 files are read"},
		"more bytes than are read":         {packageOf("configMapGenerator: [{name: b, files: [large]}]\n"), "more than 1 MiB are read"},
		"more bytes than are written":      {packageOf("configMapGenerator: [{name: b, files: [a=half, b=half, c=half]}]\n"), "it renders more than 1 MiB"},
		"replacements that double a value": {packageOf(replacements), "takes more than 512 MiB of memory"},
		"more objects than are read":       {packageOf(many), "it renders 11 objects, and at most 10 are read"},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			c.files["large"] = []byte(strings.Repeat("x", 2<<20))
			c.files["half"] = []byte(strings.Repeat("x", 400<<10))
			builds, err := run(t.Context(), request{Root: "seeds/web", Files: c.files, Overlays: []string{"."}, Budget: budget{Reads: 100, Read: 3 << 19, Objects: 10, Output: 1 << 20}})
			if len(builds) == 1 && builds[0].Fault != nil {
				err = builds[0].Fault
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func TestABuildEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := run(ctx, request{Root: "seeds/web", Files: packageOf("resources: [a.yaml]\n"), Overlays: []string{"."}, Budget: defaultBudget}); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}

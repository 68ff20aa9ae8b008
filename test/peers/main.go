// Command peers orders objects as other tools do. It reads a list of objects from stdin, as JSON,
// and prints, for each tool, the batches in which it applies them: indices in the list. A tool waits
// until a batch is ready before it applies the next one.
//
// It is a module of its own to keep the libraries of these tools out of furrow's.
package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"

	helm "helm.sh/helm/v4/pkg/release/v1/util"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/object"
	"sigs.k8s.io/cli-utils/pkg/object/graph"
)

// order is how one tool applies the objects.
type order struct {
	Tool    string
	Batches [][]int
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintf(os.Stderr, "peers: %v\n", err)
		os.Exit(1)
	}
}

func run() error {
	var objects []*unstructured.Unstructured
	if err := json.NewDecoder(os.Stdin).Decode(&objects); err != nil {
		return fmt.Errorf("read the objects: %w", err)
	}
	index := map[*unstructured.Unstructured]int{}
	for i, o := range objects {
		index[o] = i
	}
	var orders []order
	for _, tool := range []struct {
		name  string
		order func([]*unstructured.Unstructured) ([][]*unstructured.Unstructured, error)
	}{
		{"cli-utils", cliUtils}, {"kapp", kapp}, {"Helm", helmOrder}, {"Argo CD", argoCD},
	} {
		batches, err := tool.order(slices.Clone(objects))
		if err != nil {
			return fmt.Errorf("order as %s: %w", tool.name, err)
		}
		o := order{Tool: tool.name}
		for _, batch := range batches {
			var indices []int
			for _, object := range batch {
				indices = append(indices, index[object])
			}
			o.Batches = append(o.Batches, indices)
		}
		orders = append(orders, o)
	}
	return json.NewEncoder(os.Stdout).Encode(orders)
}

// cliUtils sorts by the library itself: what kpt and the Kustomize controllers of Config Sync use.
// It waits after each set.
func cliUtils(objects []*unstructured.Unstructured) ([][]*unstructured.Unstructured, error) {
	sets, err := graph.SortObjs(object.UnstructuredSet(objects))
	if err != nil {
		return nil, err
	}
	var batches [][]*unstructured.Unstructured
	for _, set := range sets {
		batches = append(batches, set)
	}
	return batches, nil
}

// helmOrder sorts by the kinds of the library. CRDs are in the directory crds of a chart: they are
// installed first, and waited for. The rest is created without waiting.
func helmOrder(objects []*unstructured.Unstructured) ([][]*unstructured.Unstructured, error) {
	var crds, rest []*unstructured.Unstructured
	for _, o := range objects {
		if o.GetKind() == "CustomResourceDefinition" {
			crds = append(crds, o)
		} else {
			rest = append(rest, o)
		}
	}
	sortByKind(rest, helm.InstallOrder, func(o *unstructured.Unstructured) string { return o.GetKind() })
	return [][]*unstructured.Unstructured{crds, rest}, nil
}

// argoCD sorts by the kinds that Helm had before it knew PriorityClasses and webhook configurations,
// other kinds last, then by name. Then it moves Namespaces and CRDs before the first object that
// needs them. Within a sync wave it does not wait.
func argoCD(objects []*unstructured.Unstructured) ([][]*unstructured.Unstructured, error) {
	kinds := slices.DeleteFunc(slices.Clone(helm.InstallOrder), func(kind string) bool {
		return kind == "PriorityClass" || kind == "MutatingWebhookConfiguration" || kind == "ValidatingWebhookConfiguration"
	})
	sortByKind(objects, kinds, func(o *unstructured.Unstructured) string { return o.GetName() })
	objects = bubble(objects, func(o *unstructured.Unstructured) string {
		if o.GetKind() == "Namespace" {
			return o.GetName()
		}
		return ""
	}, (*unstructured.Unstructured).GetNamespace)
	objects = bubble(objects, definedKind, func(o *unstructured.Unstructured) string {
		return o.GroupVersionKind().Group + "/" + o.GetKind()
	})
	return [][]*unstructured.Unstructured{objects}, nil
}

// definedKind returns group/kind of a CRD.
func definedKind(o *unstructured.Unstructured) string {
	if o.GetKind() != "CustomResourceDefinition" {
		return ""
	}
	group, _, _ := unstructured.NestedString(o.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(o.Object, "spec", "names", "kind")
	return group + "/" + kind
}

// sortByKind sorts by a list of kinds, others last, and then by a key.
func sortByKind(objects []*unstructured.Unstructured, kinds []string, key func(*unstructured.Unstructured) string) {
	rank := func(o *unstructured.Unstructured) int {
		if i := slices.Index(kinds, o.GetKind()); i >= 0 {
			return i
		}
		return len(kinds)
	}
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int {
		if d := cmp.Compare(rank(a), rank(b)); d != 0 || rank(a) < len(kinds) && key(a) == a.GetKind() {
			return d
		}
		return cmp.Compare(key(a), key(b))
	})
}

// bubble moves each object that brings something before the first one that needs it.
func bubble(objects []*unstructured.Unstructured, brings, needs func(*unstructured.Unstructured) string) []*unstructured.Unstructured {
	for i := 0; i < len(objects); i++ {
		what := brings(objects[i])
		if what == "" {
			continue
		}
		first := slices.IndexFunc(objects[:i], func(o *unstructured.Unstructured) bool { return needs(o) == what })
		if first >= 0 {
			moved := objects[i]
			objects = slices.Insert(slices.Delete(objects, i, i+1), first, moved)
		}
	}
	return objects
}

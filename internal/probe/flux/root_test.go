package flux

import (
	kind "github.com/furrow-dev/furrow/internal/core/delivery/flux"

	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/health"
)

func TestDirectory(t *testing.T) {
	for path, want := range map[string]string{
		"": "", ".": "", "./": "", "/": "", "./clusters/x/": "clusters/x", "clusters/x": "clusters/x", "/clusters//x/.": "clusters/x",
		"./a/../b": "b", "../b": "b",
	} {
		if got := directory(path); got != want {
			t.Errorf("%q: got %+v, want %q", path, got, want)
		}
	}
}

func TestRootOf(t *testing.T) {
	row := func(path string) *rootRow { return &rootRow{path: path, here: true} }
	rows := map[name]*rootRow{
		{"apps", "everything"}:        row(""),
		{"flux-system", "clusters"}:   row("clusters"),
		{"apps", "edge-again"}:        row("clusters/edge"),
		{"flux-system", "edge"}:       row("clusters/edge"),
		{"flux-system", "edge-later"}: row("clusters/edge"),
		{"flux-system", "deeper"}:     row("clusters/edge/apps"),
		{"a", "b"}:                    row("fleet/b"),
		{"a", "a"}:                    row("fleet/b"),
		{"flux-system", "remote"}:     {path: "clusters/far"},
	}
	for dir, want := range map[string]name{
		"clusters/edge":      {"flux-system", "edge"},
		"clusters/edge-2":    {"flux-system", "clusters"},
		"clusters/far":       {"flux-system", "clusters"},
		"clusters/edge/apps": {"flux-system", "deeper"},
		"fleet/b":            {"a", "a"},
		"fleet":              {"apps", "everything"},
		"":                   {"apps", "everything"},
	} {
		if got := rootOf(rows, dir, ""); got != rows[want] {
			t.Errorf("%q: got %+v, want %s", dir, got, want)
		}
	}
	rows[name{"flux-system", "clusters"}].root.Source = "flux-system/fleet"
	if got := rootOf(rows, "clusters/edge", "flux-system/fleet"); got != rows[name{"flux-system", "clusters"}] {
		t.Errorf("of the roots that read a source: got %+v", got)
	}
	if rootOf(nil, "clusters/edge", "") != nil {
		t.Error("a root of nothing")
	}
}

func TestReadRoot(t *testing.T) {
	object := func(spec map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"namespace": "n", "name": "r"}, "spec": spec}}
	}
	ref := map[string]any{"kind": "GitRepository", "name": "g"}
	row := readRoot(object(map[string]any{"path": "./a/", "prune": true, "sourceRef": ref}), nil)
	if row.path != "a" || row.root.Path != "a" || !row.here || !row.root.Prune || row.root.Source != "n/g" || row.root.Name != "n/r" || row.root.SourceKind != "GitRepository" {
		t.Errorf("got %+v", row)
	}
	if readRoot(object(map[string]any{"kubeConfig": map[string]any{}}), nil).here {
		t.Error("what applies to another cluster is not a root of this one")
	}
}

func TestBranchOf(t *testing.T) {
	for want, refs := range map[string][]map[string]any{
		"master": {nil, {}},
		"main":   {{"branch": "main"}, {"name": "refs/heads/main"}, {"name": "refs/heads/main", "branch": "other"}},
		"": {
			{"branch": "main", "commit": "1234"}, {"branch": "main", "tag": "v1"}, {"branch": "main", "semver": ">1"}, {"name": "refs/tags/v1"},
		},
	} {
		for _, ref := range refs {
			object := map[string]any{"kind": "GitRepository", "spec": map[string]any{}}
			if ref != nil {
				object["spec"] = map[string]any{"ref": ref}
			}
			if got := branchOf(&unstructured.Unstructured{Object: object}); got != want {
				t.Errorf("%v: got %q, want %q", ref, got, want)
			}
		}
	}
}

// A root of the whole repository, or of the directories of all clusters, applies what
// is for others, and the contents of all tiers besides.
func TestARootOfMoreThanTheDirectoryIsFoundAndNotFit(t *testing.T) {
	for path, want := range map[string]v1alpha1.Reason{
		"./":                v1alpha1.ReasonRootTooWide,
		"":                  v1alpha1.ReasonRootTooWide,
		"./clusters":        v1alpha1.ReasonRootTooWide,
		"clusters/edge-1":   "",
		"./clusters/edge-1": "",
	} {
		object := &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"namespace": "flux-system", "name": "flux-system"},
			"spec":     map[string]any{"path": path, "prune": true, "sourceRef": map[string]any{"kind": kindGitRepository, "name": "flux-system"}},
		}}
		row := rootOf(map[name]*rootRow{nameOf(object): readRoot(object, nil)}, "clusters/edge-1", "flux-system/flux-system")
		if row == nil {
			t.Fatalf("%q: there is no root", path)
		}
		root := row.root
		root.SourceFound, root.URL, root.Branch = true, "https://forge/o/r", "main"
		got := kind.Kind{}.RootUnfit(root, health.WantRoot{Cluster: "edge-1", Path: "clusters/edge-1", Source: "flux-system/flux-system", URL: "https://forge/o/r", Branch: "main"})
		if got.Reason != want || want != "" && got.Object != "flux-system/flux-system" {
			t.Errorf("%q: got %+v, want %q", path, got, want)
		}
	}
}

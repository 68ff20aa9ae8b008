package simulator

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// garden is a GitOps repository in memory.
type garden struct {
	mu       sync.Mutex
	revision int
	tree     fstest.MapFS
	served   fs.FS // instead of tree, when it is set
	down     error
}

func (g *garden) Head(context.Context) (string, fs.FS, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.served != nil {
		return revisionOf(g.revision), g.served, g.down
	}
	return revisionOf(g.revision), g.tree, g.down
}

func revisionOf(number int) string { return fmt.Sprintf("main@sha1:%040x", number) }

// commit writes files; an empty text removes one.
func (g *garden) commit(files map[string]string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	tree := maps.Clone(g.tree)
	if tree == nil {
		tree = fstest.MapFS{}
	}
	for name, text := range files {
		tree[name] = &fstest.MapFile{Data: []byte(text)}
		if text == "" {
			delete(tree, name)
		}
	}
	g.tree = tree
	g.revision++
}

// world is a simulator with its repository, for stories.
type world struct {
	t *testing.T
	*Simulator
	git *garden
}

func (w *world) ticks(count int) {
	w.t.Helper()
	for range count {
		if err := w.Tick(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *world) commit(files map[string]string) { w.git.commit(files) }

// after makes a step that commits and lets time pass.
func after(ticks int, files map[string]string) func(*world) {
	return func(w *world) {
		w.commit(files)
		w.ticks(ticks)
	}
}

func pass(ticks int) func(*world) { return func(w *world) { w.ticks(ticks) } }

// story is what happens and what has come of it.
type story struct {
	options func(*Options)
	steps   []func(*world)
	// wantReady has "<status> <reason>" by "<cluster> <namespace>/<name>".
	wantReady map[string]string
	// wantMessage has a part of the message of some of the same.
	wantMessage map[string]string
	// wantObjects has ids by cluster, Kustomizations left out.
	wantObjects    map[string][]string
	wantRejections []string
	wantLosses     []string
}

var clusterKind = manifest.GroupKind{Group: "cluster.x-k8s.io", Kind: "Cluster"}

func newWorld(t *testing.T, change func(*Options)) *world {
	t.Helper()
	git := &garden{}
	o := Options{
		Sources:   map[string]Source{"fleet": git},
		IsCreator: func(gk manifest.GroupKind) bool { return gk == clusterKind },
		Clusters: []Cluster{
			{Name: "mgmt", Role: RoleManagement, Namespaces: []string{"fleet"}, CRDs: []manifest.GroupKind{clusterKind},
				Root: Root{Path: "clusters/mgmt", RepoID: "fleet"}},
			{Name: "shop", Role: RoleWorkload, Root: Root{Path: "clusters/shop", RepoID: "fleet"}},
		},
	}
	git.commit(map[string]string{"clusters/mgmt/README.md": "root", "clusters/shop/README.md": "root"})
	if change != nil {
		change(&o)
	}
	return &world{t, New(o), git}
}

func (s story) run(t *testing.T) {
	w := newWorld(t, s.options)
	for _, step := range s.steps {
		step(w)
	}
	w.compareReady(s)
	for cluster, want := range s.wantObjects {
		var got []string
		for _, id := range w.Objects(cluster) {
			if id.GroupKind() != kustomizationKind {
				got = append(got, id.String())
			}
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("objects on %s (-want +got):\n%s", cluster, diff)
		}
	}
	var rejections, losses []string
	for _, r := range w.Rejections() {
		rejections = append(rejections, fmt.Sprintf("%s %s %s: %s", r.Cluster, r.Kustomization, title(r.Object), r.Message))
	}
	for _, l := range w.Losses() {
		losses = append(losses, fmt.Sprintf("%s %s %s: %s", l.Cluster, l.Owner, title(l.Object), l.Message))
	}
	if diff := cmp.Diff(s.wantRejections, rejections, cmpopts.EquateEmpty(), cmpopts.SortSlices(strings.Compare)); diff != "" {
		t.Errorf("rejections (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(s.wantLosses, losses, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("losses (-want +got):\n%s", diff)
	}
}

func (w *world) compareReady(s story) {
	w.t.Helper()
	got, messages := map[string]string{}, map[string]string{}
	for _, c := range w.Describe() {
		for _, k := range c.Kustomizations {
			name := fmt.Sprintf("%s %s/%s", c.Name, k.Namespace, k.Name)
			messages[name] = k.Message
			if _, asked := s.wantReady[name]; asked {
				got[name] = strings.TrimSpace(k.Ready + " " + k.Reason)
			}
		}
	}
	for name, want := range s.wantReady {
		if want == "gone" {
			got[name] = orGone(got[name])
		}
	}
	if diff := cmp.Diff(s.wantReady, got, cmpopts.EquateEmpty()); diff != "" {
		w.t.Errorf("Ready (-want +got):\n%s", diff)
	}
	for name, want := range s.wantMessage {
		if !strings.Contains(messages[name], want) {
			w.t.Errorf("message of %s is %q, want %q in it", name, messages[name], want)
		}
	}
}

func orGone(state string) string {
	if state == "" {
		return "gone"
	}
	return state
}

func runStories(t *testing.T, stories map[string]story) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(stories)) {
		t.Run(name, stories[name].run)
	}
}

const (
	succeeded = "True ReconciliationSucceeded"
	refused   = "False ReconciliationFailed"
	gone      = "gone"
)

// tier is the Kustomization of a tier as Furrow renders it.
type tier struct {
	name, namespace, path string
	more                  string // lines of the spec
	noWait                bool
	interval              string
}

func (k tier) String() string {
	return fmt.Sprintf(`apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: %s, namespace: %s, annotations: {furrow.dev/rendered: "sha256:1"}}
spec:
  interval: %s
  retryInterval: 30s
  timeout: 5m
  path: %s
  prune: true
  wait: %t
  deletionPolicy: WaitForTermination
  sourceRef: {kind: GitRepository, name: flux-system, namespace: flux-system}
%s`, k.name, orText(k.namespace, "flux-system"), orText(k.interval, "10m"), k.path, !k.noWait, indent(k.more))
}

func orText(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}

func indent(lines string) string {
	var b strings.Builder
	for line := range strings.Lines(lines) {
		b.WriteString("  " + line)
	}
	return b.String()
}

func object(apiVersion, kind, namespace, name, more string) string {
	metadata := fmt.Sprintf("{name: %s}", name)
	if namespace != "" {
		metadata = fmt.Sprintf("{name: %s, namespace: %s}", name, namespace)
	}
	return fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: %s\n%s", apiVersion, kind, metadata, more)
}

func configMap(namespace, name string) string { return object("v1", "ConfigMap", namespace, name, "") }
func namespace(name string) string            { return object("v1", "Namespace", "", name, "") }
func deployment(name string) string           { return object("apps/v1", "Deployment", "default", name, "") }
func creator(name string) string {
	return object("cluster.x-k8s.io/v1beta2", "Cluster", "fleet", name, "")
}

const widgetCRD = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.demo.example}
spec:
  group: demo.example
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions: [{name: v1, served: true, storage: true}]
`

func widget(version string) string {
	return object("demo.example/"+version, "Widget", "default", "w", "")
}

func idOf(text string) manifest.ID {
	id, err := manifest.ParseID(text)
	if err != nil {
		panic(err)
	}
	return id
}

// kustomization is one on the cluster shop.
func (w *world) kustomization(name string) *kustomization {
	return w.clusters["shop"].kustomizations[key{"flux-system", name}]
}

package standalone_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/internal/controlplane"
	"github.com/furrow-dev/furrow/internal/standalone"
	"github.com/furrow-dev/furrow/test/gitcmd"
)

// commit writes files into a repository, which is made where there is none, and commits them.
func commit(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "--quiet", "--initial-branch=main"}, {"add", "--all"}, {"commit", "--quiet", "--message=change"}} {
		gitcmd.Run(t, dir, args...)
	}
}

func document(kind, name, spec string) string {
	return fmt.Sprintf("apiVersion: furrow.dev/v1alpha1\nkind: %s\nmetadata: {name: %s}\nspec: {%s}\n", kind, name, spec)
}

// configMaps is a seed of n objects.
func configMaps(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c-%d, namespace: default}\n", i)
	}
	return b.String()
}

// simulate opens a control plane in dir with the cluster east and a seed, and lets its simulation begin.
func simulate(t testing.TB, dir, seed string) *standalone.Simulation {
	t.Helper()
	commit(t, filepath.Join(dir, "gitops"), map[string]string{"clusters/east/README.md": "the root\n"})
	commit(t, filepath.Join(dir, "control"), map[string]string{
		"repo.yaml": document("GitOpsRepo", "gitops", "url: ../gitops"), "east.yaml": document("Cluster", "east", ""), "seeds/web.yaml": seed,
	})
	session, simulation, err := standalone.Simulate(t.Context(), controlplane.Options{
		ControlPlane: filepath.Join(dir, "control"), Cache: filepath.Join(dir, "cache"), ID: "acme", Simulation: &controlplane.Simulation{AnyLocal: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	tick(t, simulation)
	return simulation
}

func tick(t testing.TB, s *standalone.Simulation) {
	t.Helper()
	if err := s.Tick(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestSimulatedClustersFollowTheControlPlane(t *testing.T) {
	dir := t.TempDir()
	s := simulate(t, dir, configMaps(1))
	first := s.Simulator()

	commit(t, filepath.Join(dir, "control"), map[string]string{"seeds/web.yaml": configMaps(2)})
	tick(t, s)
	if s.Simulator() != first {
		t.Error("the clusters start anew although only a seed has changed")
	}

	commit(t, filepath.Join(dir, "control"), map[string]string{"west.yaml": document("Cluster", "west", "")})
	tick(t, s)
	if got, want := s.Simulator().Clusters(), []string{"east", "west"}; !slices.Equal(got, want) {
		t.Errorf("the clusters %v are simulated, want %v", got, want)
	}
}

func TestATickDoesNotParseSeedsThatHaveNotChanged(t *testing.T) {
	const objects = 1000
	s := simulate(t, t.TempDir(), configMaps(objects))
	if n := testing.AllocsPerRun(5, func() { tick(t, s) }); n > objects {
		t.Errorf("a tick makes %.0f allocations with an unchanged seed of %d objects, want fewer than one for each", n, objects)
	}
}

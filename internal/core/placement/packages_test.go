package placement

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/furrow-dev/furrow/test/golden"
)

// TestPackages places the seeds of testdata/*.txtar: as people write them, and as projects publish
// them. Each file says in its first lines what people want; file want has every object with its
// clusters, its rule and why. Only commit a want that you understand.
func TestPackages(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no packages: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			parts := map[string]string{"clusters.yaml": mgmt}
			for _, f := range archive.Files {
				parts[f.Name] = string(f.Data)
			}
			seed := seedOf(t, parts["seed.yaml"])
			inv := inventoryOf(t, parts["clusters.yaml"])
			got, why, err := placed(seed, inv)
			var b strings.Builder
			for _, line := range strings.Split(fields(err), "\n") {
				if line != "" {
					fmt.Fprintf(&b, "! %s\n", line)
				}
			}
			for _, o := range sortedKeys(got) {
				fmt.Fprintf(&b, "%s\n\t%s by %s: %s\n", o, got[o].Clusters, got[o].Rule, why[o])
			}
			checkWant(t, file, archive, b.String())
		})
	}
}

// checkWant compares the last file of an archive, or writes it.
func checkWant(t *testing.T, file string, archive *txtar.Archive, got string) {
	t.Helper()
	last := &archive.Files[len(archive.Files)-1]
	if last.Name != "want" {
		t.Fatalf("%s has no last file want", file)
	}
	if golden.Update() {
		last.Data = []byte(got)
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(last.Data), got); diff != "" {
		t.Errorf("the placements differ (-want +got):\n%s", diff)
	}
}

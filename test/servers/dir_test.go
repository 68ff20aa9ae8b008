package servers

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAFolderOfOthersIsRefused(t *testing.T) {
	root := t.TempDir()
	for _, folder := range []string{"empty", "before/pki", "others/things"} {
		if err := os.MkdirAll(filepath.Join(root, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for folder, want := range map[string]bool{"nonesuch": true, "empty": true, "before": true, "others": false} {
		if got, err := ownDir(filepath.Join(root, folder), "pki"); (err == nil) != want {
			t.Errorf("%s: %q, %v", folder, got, err)
		}
	}
	if _, err := ownDir("", "pki"); err == nil {
		t.Error("no folder is treated as one")
	}
}

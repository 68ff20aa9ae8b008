package servers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAJournalIsReadAsItGrows(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	understood := 0
	var j journal[string]
	for _, step := range []struct {
		written string
		want    []string
	}{
		{"one\ntw", []string{"one"}},
		{"", []string{"one"}},
		{"o\nnoise\nthree\n", []string{"one", "two", "three"}},
	} {
		file, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.WriteString(step.written); err != nil {
			t.Fatal(err)
		}
		_ = file.Close()
		got, err := j.all(log, func(line []byte) (string, bool, error) {
			understood++
			text := strings.TrimSpace(string(line))
			return text, text != "noise", nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("after %q (-want +got):\n%s", step.written, diff)
		}
	}
	if understood != 4 {
		t.Errorf("%d lines were understood, not each of 4 once", understood)
	}
}

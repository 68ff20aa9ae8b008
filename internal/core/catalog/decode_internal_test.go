package catalog

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTheValuesOfEveryEnumAreNamed compares enums with the markers of the API.
func TestTheValuesOfEveryEnumAreNamed(t *testing.T) {
	files, err := filepath.Glob("../../../api/v1alpha1/*_types.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	marker := regexp.MustCompile(`(?m)^// \+kubebuilder:validation:Enum=(\S+)\ntype (\w+) string$`)
	want := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range marker.FindAllStringSubmatch(string(text), -1) {
			want[found[2]] = found[1]
		}
	}
	got := map[string]string{}
	for kind, values := range enums {
		got[kind.Name()] = strings.Join(values, ";")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the values differ from the API's (-want +got):\n%s", diff)
	}
}

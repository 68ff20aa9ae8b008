package docs

import (
	"os"
	"regexp"
	"testing"
)

// The patch release of Go is written once for people and make, and once for the image.
func TestTheImageIsBuiltWithTheToolchainOfTheModule(t *testing.T) {
	find := func(file, pattern string) string {
		t.Helper()
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(pattern).FindSubmatch(text)
		if found == nil {
			t.Fatalf("%s has no %s", file, pattern)
		}
		return string(found[1])
	}
	toolchain, image := find("../../go.mod", `(?m)^toolchain go(\S+)$`), find("../../Dockerfile", `golang:([0-9.]+)-`)
	if toolchain != image {
		t.Errorf("go.mod names Go %s, and the image is built with %s", toolchain, image)
	}
}

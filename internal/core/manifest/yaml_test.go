package manifest_test

import (
	"testing"
	"unicode/utf8"

	"sigs.k8s.io/yaml"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

func TestAnyTextIsWrittenAsYAML(t *testing.T) {
	for r := rune(0); r < 0x1_1000; r++ {
		if r >= 0x100 && r < 0x2000 || r >= 0x2100 && r < 0xf800 || !utf8.ValidRune(r) {
			continue
		}
		text := "a: " + string(r) + " b"
		data, err := manifest.YAML(map[string]string{"text": text})
		if err != nil {
			t.Fatalf("%U: %v", r, err)
		}
		var read map[string]string
		if err := yaml.Unmarshal(data, &read); err != nil || read["text"] != text {
			t.Errorf("%U: %q became %q: %v", r, text, read["text"], err)
		}
	}
}

package manifest_test

import (
	"testing"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "",
		"core/ConfigMap/default/a":  "core/ConfigMap/default/a",
		"Ünïcode 名前 é":              "Ünïcode 名前 é",
		`a "quoted" \ text`:         `a "quoted" \ text`,
		"a\nb\r\tc":                 `a\nb\r\tc`,
		"\x1b[31mred":               `\x1b[31mred`,
		"user\u202etxt.exe":         `user\u202etxt.exe`,
		"\u2066a\u2069\u200b\ufeff": `\u2066a\u2069\u200b\ufeff`,
		"a\u2028b\u0085c":           `a\u2028b\u0085c`,
		"\xff\xfe":                  `\xff\xfe`,
	} {
		if got := manifest.Printable(text); got != want {
			t.Errorf("Printable(%q) = %q, want %q", text, got, want)
		}
	}
}

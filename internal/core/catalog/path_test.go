package catalog

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestALongPathIsCutBetweenCharacters(t *testing.T) {
	for _, before := range []string{"", "a", "ab"} {
		w := &walker{most: 1}
		if err := w.visit(before+strings.Repeat("€", maxPath)+".yaml", 0); err != nil || len(w.skipped) != 1 {
			t.Fatalf("%v, %v", w.skipped, err)
		}
		if name := w.skipped[0].Source.File; !utf8.ValidString(name) || !strings.HasSuffix(name, "…") {
			t.Errorf("the name is %q", name)
		}
	}
}

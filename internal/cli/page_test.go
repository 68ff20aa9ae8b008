package cli

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestTablesWrapAtTheWidthOfTheTerminal(t *testing.T) {
	lines := [][]string{
		{"  mgmt tier 00", "Released", "healthy"},
		{"  edge-1 tier 01", "Held", "the root has no directory clusters/edge-1. Set the reconciler up, or correct spec.path"},
		{"  edge-1 tier 02", "Blocked", "waits in a circle:\n  a waits for b\n  b waits for a"},
	}
	cases := map[string]struct {
		width int
		want  string
	}{
		"lines of any length, where nobody says how wide": {0, `  mgmt tier 00    Released  healthy
  edge-1 tier 01  Held      the root has no directory clusters/edge-1. Set the reconciler up, or correct spec.path
  edge-1 tier 02  Blocked   waits in a circle:
                              a waits for b
                              b waits for a
`},
		"the widest column takes what is left": {60, `  mgmt tier 00    Released  healthy
  edge-1 tier 01  Held      the root has no directory
                            clusters/edge-1. Set the
                            reconciler up, or correct
                            spec.path
  edge-1 tier 02  Blocked   waits in a circle:
                              a waits for b
                              b waits for a
`},
		"a column keeps a readable width": {20, `  mgmt tier 00    Released  healthy
  edge-1 tier 01  Held      the root has no
                            directory
                            clusters/edge-1. Set the
                            reconciler up, or
                            correct spec.path
  edge-1 tier 02  Blocked   waits in a circle:
                              a waits for b
                              b waits for a
`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := &page{width: c.width}
			rows(w, lines)
			if diff := cmp.Diff(c.want, w.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheColumnThatIsWrappedNeedNotBeTheLast(t *testing.T) {
	w := &page{width: 51}
	rows(w, [][]string{
		{"NAME", "WAITING FOR", "AGE"},
		{"web", "the review of its proposal, and then for the cluster", "2d"},
	})
	want := `NAME  WAITING FOR                               AGE
web   the review of its proposal, and then for  2d
      the cluster
`
	if diff := cmp.Diff(want, w.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWrappingLosesNothing(t *testing.T) {
	texts := []string{
		"", "word", "two words", "https://git.example.com/a/very/long/url/that/is/longer/than/any/line and then some",
		"ends with https://git.example.com/a/very/long/url/that/is/longer", "Ünïcode wörter die ümbrochen würden", "  - an item that is indented and long",
	}
	for _, text := range texts {
		for width := 1; width < 60; width++ {
			lines := wrapped(text, width)
			if got := strings.Join(strings.Fields(strings.Join(lines, " ")), " "); got != strings.Join(strings.Fields(text), " ") {
				t.Errorf("%q at %d becomes %q", text, width, lines)
			}
			for _, line := range lines {
				if utf8.RuneCountInString(line) > width && strings.Contains(strings.TrimSpace(line), " ") && !strings.HasPrefix(line, "  ") {
					t.Errorf("%q at %d has a line of %d: %q", text, width, len(line), line)
				}
			}
		}
	}
}

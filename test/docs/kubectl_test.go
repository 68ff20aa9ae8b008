package docs

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// plugin knows the help texts of kubectl furrow.
func plugin(t *testing.T) *manual {
	return &manual{filepath.Join(furrow(t, "kubectl-furrow"), "kubectl-furrow"), map[string]string{}}
}

func TestEveryCommandOfThePluginExists(t *testing.T) {
	m, seen, documented := plugin(t), 0, map[string]bool{}
	for _, p := range pages(t) {
		for _, b := range p.blocks() {
			if b.language != "sh" {
				continue
			}
			// As commands of furrow, so they are found like those.
			for _, words := range commands(strings.ReplaceAll(b.text, "kubectl furrow", "kubectl/furrow")) {
				if !strings.Contains(b.text, "kubectl furrow "+words[0]) || words[0] == "__complete" {
					continue
				}
				seen++
				documented[words[0]] = true
				if err := m.check(t, words); err != nil {
					t.Errorf("%s:%d: kubectl furrow %s: %v", p.path, b.line, strings.Join(words, " "), err)
				}
			}
		}
	}
	if seen == 0 {
		t.Error("no command was found")
	}
	page := page{"docs/kubectl.md", read(t, "docs/kubectl.md")}
	for _, name := range subcommands(m.help(t)) {
		if !documented[name] && !strings.Contains(page.prose(), "`"+name+"`") {
			t.Errorf("%s does not describe kubectl furrow %s", page.path, name)
		}
	}
}

// TestThePluginShowsWhatItsPageSays compares with what the tests of the plugin compare with.
func TestThePluginShowsWhatItsPageSays(t *testing.T) {
	page := page{"docs/kubectl.md", read(t, "docs/kubectl.md")}
	var seen []string
	for _, b := range page.blocks() {
		name, marked := strings.CutPrefix(b.mark, "output: ")
		if !marked {
			continue
		}
		seen = append(seen, name)
		if diff := cmp.Diff(read(t, "internal/cli/testdata/kube/"+name), b.text); diff != "" {
			t.Errorf("%s:%d differs from %s (-file +docs):\n%s", page.path, b.line, name, diff)
		}
	}
	for _, name := range []string{"status-all.txt", "plan-ref.txt"} {
		if !slices.Contains(seen, name) {
			t.Errorf("%s does not show %s", page.path, name)
		}
	}
}

package cli

import (
	"os"
	"strings"
	"testing"
)

func TestAGraphIsOfOneSeed(t *testing.T) {
	t.Parallel()
	p := newWorkspace(t, map[string]string{"seeds/web.yaml": webSeed, "seeds/shop.yaml": strings.ReplaceAll(webSeed, "web", "shop"), "seeds/circle.yaml": circleSeed})
	if r := p.furrow("graph"); r.code != exitFailed || !strings.Contains(r.stderr, "choose one with --seed") {
		t.Errorf("of all seeds it ends with %d: %s", r.code, r.stderr)
	}
	if r := p.furrow("graph", "--seed", "circle"); r.code != exitProblems || r.stdout != "" {
		t.Errorf("of a seed that cannot be planned it ends with %d: %s", r.code, r.all())
	}
	for format, want := range map[string]string{"mermaid": "flowchart LR\n", "dot": "digraph plan {\n"} {
		text := p.must("graph", "--seed", "web", "-o", format)
		if !strings.HasPrefix(text, want) || text != p.must("plan", "--seed", "web", "-o", format) {
			t.Errorf("as %s it is:\n%s", format, text)
		}
	}
	mustContain(t, p.must("graph", "--seed", "web", "-o", "json"), `"seed": "web"`, `"name": "east"`, `"rule": "declared"`)
	p.git("control-plane", "clone", "--quiet", "--bare", ".", p.at("control-plane.git"))
	if r := call(t.Context(), "", "graph", "--seed", "web", "--control-plane", p.at("control-plane.git"), "--cache", p.cache); r.stdout != p.must("graph", "--seed", "web") {
		t.Errorf("of a repository it ends with %d: %s", r.code, r.all())
	}
	if r := p.furrow("plan", "--diff", "-o", "dot"); r.code != exitUsage || !strings.Contains(r.stderr, "--diff has no graph") {
		t.Errorf("of changes it ends with %d: %s", r.code, r.stderr)
	}
}

func TestTheExtensionOfAFileChoosesTheFormatOfAGraph(t *testing.T) {
	t.Parallel()
	p := newWorkspace(t, map[string]string{"seeds/web.yaml": webSeed})
	for extension, want := range map[string]string{"svg": "<svg ", "gv": "digraph", "dot": "digraph", "mmd": "flowchart", "MERMAID": "flowchart", "json": "{"} {
		file := p.at("plan." + extension)
		out := p.must("graph", "--out", file)
		if text, err := os.ReadFile(file); out != "" || err != nil || !strings.HasPrefix(string(text), want) {
			t.Errorf("%s: %s has %q (%v)", extension, file, text, err)
		}
	}
	if r := p.furrow("graph", "--out", p.at("plan.txt")); r.code != exitUsage || !strings.Contains(r.stderr, "choose one with -o") {
		t.Errorf("with another extension it ends with %d: %s", r.code, r.stderr)
	}
}

func TestAGraphHasTheStatesOfTheLastPass(t *testing.T) {
	t.Parallel()
	p := newWorkspace(t, map[string]string{"seeds/web.yaml": webSeed})
	if r := p.furrow("graph", "--states"); r.code == 0 || !strings.Contains(r.stderr, "furrow run") {
		t.Errorf("before the first pass it ends with %d: %s", r.code, r.all())
	}
	p.must("run", "--once")
	for _, format := range graphFormats {
		mustContain(t, p.must("graph", "--states", "-o", format), "Proposed", "Blocked")
		if text := p.must("graph", "-o", format); strings.Contains(text, "Proposed") {
			t.Errorf("without --states, as %s it has states:\n%s", format, text)
		}
	}
	if r := p.furrow("graph", "--states", "-f", p.at("control-plane/seeds/web.yaml")); r.code != exitUsage {
		t.Errorf("of a file it ends with %d: %s", r.code, r.all())
	}
}

// Package docs keeps the documentation honest: links lead somewhere, commands
// and documents are ones that Furrow takes, tables list what the code has, messages
// are quoted as it says them, and the walk-through of the README and the tutorial
// run word for word.
package docs

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/furrow-dev/furrow/test/golden"
	"github.com/furrow-dev/furrow/test/program"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	kubeyaml "sigs.k8s.io/yaml"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/dependency"
	"github.com/furrow-dev/furrow/internal/core/placement"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/release"
)

const root = "../.."

// page is one Markdown file, by its path from the root of the repository.
type page struct {
	path string
	text string
}

// pages are the README, its neighbours and everything below docs/.
func pages(t *testing.T) []page {
	t.Helper()
	paths := []string{"README.md", "CHANGELOG.md", "CONTRIBUTING.md"}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Ext(p) == ".md" {
			rel, _ := filepath.Rel(root, p)
			paths = append(paths, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	out := make([]page, len(paths))
	for i, p := range paths {
		out[i] = page{p, read(t, p)}
	}
	return out
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// block is one fenced block, with the HTML comment on the line before it.
type block struct {
	language string
	mark     string
	text     string
	line     int
	indent   string
}

// blocks finds the fenced blocks, also those of lists, which are indented.
func (p page) blocks() []block {
	var out []block
	var open *block
	last := ""
	for i, line := range strings.Split(p.text, "\n") {
		text := strings.TrimLeft(line, " ")
		fence, fenced := strings.CutPrefix(text, "```")
		switch {
		case open == nil && fenced:
			mark, _ := strings.CutPrefix(last, "<!-- ")
			mark, marked := strings.CutSuffix(mark, " -->")
			if !marked {
				mark = ""
			}
			open = &block{language: fence, mark: mark, line: i + 2, indent: strings.TrimSuffix(line, text)}
		case open != nil && fenced:
			out, open = append(out, *open), nil
		case open != nil:
			open.text += strings.TrimPrefix(line, open.indent) + "\n"
		}
		last = line
	}
	return out
}

// marked joins the texts of all blocks with a mark.
func (p page) marked(t *testing.T, mark string) string {
	t.Helper()
	var texts []string
	for _, b := range p.blocks() {
		if b.mark == mark {
			texts = append(texts, b.text)
		}
	}
	if len(texts) == 0 {
		t.Fatalf("%s has no block after <!-- %s -->", p.path, mark)
	}
	return strings.Join(texts, "\n")
}

// prose is the page without its fenced blocks.
func (p page) prose() string {
	parts := regexp.MustCompile("(?ms)^ *```.*?^ *```$").Split(p.text, -1)
	return strings.Join(parts, "\n")
}

var (
	linkPattern    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	headingPattern = regexp.MustCompile(`(?m)^#+ (.+)$`)
	notInAnchor    = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// anchors are the fragments that a forge gives to the page's headings.
func (p page) anchors() map[string]bool {
	out := map[string]bool{}
	for _, m := range headingPattern.FindAllStringSubmatch(p.prose(), -1) {
		out[strings.ReplaceAll(notInAnchor.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")] = true
	}
	return out
}

func TestEveryRelativeLinkResolves(t *testing.T) {
	for _, p := range pages(t) {
		for _, m := range linkPattern.FindAllStringSubmatch(p.prose(), -1) {
			link := m[1]
			if strings.Contains(link, "://") {
				continue
			}
			file, anchor, _ := strings.Cut(link, "#")
			target := p.path
			if file != "" {
				target = filepath.ToSlash(filepath.Join(filepath.Dir(p.path), file))
			}
			if _, err := os.Stat(filepath.Join(root, target)); err != nil {
				t.Errorf("%s links to %s, which is not there", p.path, link)
				continue
			}
			if anchor != "" && !(page{target, read(t, target)}).anchors()[anchor] {
				t.Errorf("%s links to %s, and %s has no such heading", p.path, link, target)
			}
		}
	}
}

// furrow returns a directory that holds the program under the given names.
func furrow(t *testing.T, names ...string) (dir string) {
	t.Helper()
	built, err := program.Furrow(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	for _, name := range names {
		if err := os.Symlink(built, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// manual knows the help texts of the binary's commands.
type manual struct {
	binary string
	known  map[string]string
}

func newManual(t *testing.T) *manual {
	return &manual{filepath.Join(furrow(t, "furrow"), "furrow"), map[string]string{}}
}

func (m *manual) help(t *testing.T, path ...string) string {
	t.Helper()
	key := strings.Join(path, " ")
	if _, ok := m.known[key]; !ok {
		out, err := exec.CommandContext(t.Context(), m.binary, append(slices.Clone(path), "--help")...).CombinedOutput()
		if err != nil {
			t.Fatalf("furrow %s --help: %v\n%s", key, err, out)
		}
		m.known[key] = string(out)
	}
	return m.known[key]
}

// listed is a line that lists a command, under whatever heading.
var listed = regexp.MustCompile(`(?m)^  (\w+) {2,}\S`)

// subcommands are those that a help text lists.
func subcommands(help string) []string {
	_, list, _ := strings.Cut(help, "\nUsage:\n")
	list, _, _ = strings.Cut(list, "\nFlags:\n")
	var names []string
	for _, m := range listed.FindAllStringSubmatch(list, -1) {
		if m[1] != "furrow" && m[1] != "completion" && m[1] != "help" {
			names = append(names, m[1])
		}
	}
	return names
}

// check says what is wrong with the words that follow furrow on a command line.
func (m *manual) check(t *testing.T, words []string) error {
	t.Helper()
	if len(words) > 0 && words[0] == "completion" {
		return nil // cobra's, and not among those that are listed
	}
	var path []string
	for len(words) > 0 && slices.Contains(subcommands(m.help(t, path...)), words[0]) {
		path, words = append(path, words[0]), words[1:]
	}
	help := m.help(t, path...)
	if len(words) > 0 && !strings.HasPrefix(words[0], "-") && len(subcommands(help)) > 0 {
		return fmt.Errorf("command %q does not exist", strings.Join(append(path, words[0]), " "))
	}
	for _, word := range words {
		flag, _, _ := strings.Cut(word, "=")
		if flag == "-" || !strings.HasPrefix(flag, "-") {
			continue
		}
		if !regexp.MustCompile(`(?m)^ +(-\w, )?` + regexp.QuoteMeta(flag) + `[ ,]`).MatchString(help) {
			return fmt.Errorf("furrow %s has no flag %s", strings.Join(path, " "), flag)
		}
	}
	return nil
}

var (
	heredoc    = regexp.MustCompile(`(?ms)<<'?END'?\n.*?^END$`)
	separators = regexp.MustCompile(`\|\||&&|[|;&\n]`)
	assignment = regexp.MustCompile(`^\w+=`)
	redirect   = regexp.MustCompile(`\d?>+ ?\S+|"[^"]*"|'[^']*'`)
)

// commands finds the words that follow furrow in a shell text.
func commands(text string) [][]string {
	text = heredoc.ReplaceAllString(text, "")
	text = redirect.ReplaceAllString(text, " _ ")
	var out [][]string
	for _, part := range separators.Split(text, -1) {
		words := strings.Fields(part)
		for len(words) > 0 && (slices.Contains([]string{"until", "while", "if", "do", "then", "!"}, words[0]) || assignment.MatchString(words[0])) {
			words = words[1:]
		}
		if len(words) > 0 && filepath.Base(words[0]) == "furrow" {
			out = append(out, words[1:])
		}
	}
	return out
}

func TestEveryCommandInAShellBlockExists(t *testing.T) {
	m := newManual(t)
	seen := 0
	for _, p := range pages(t) {
		for _, b := range p.blocks() {
			if b.language != "sh" {
				continue
			}
			for _, words := range commands(b.text) {
				seen++
				if err := m.check(t, words); err != nil {
					t.Errorf("%s:%d: furrow %s: %v", p.path, b.line, strings.Join(words, " "), err)
				}
			}
		}
	}
	if seen == 0 {
		t.Error("no command was found")
	}
}

func TestCommandsThatDoNotExistAreNoticed(t *testing.T) {
	m := newManual(t)
	for _, line := range []string{"sow", "pr sow", "plan --sow", "status -x"} {
		if m.check(t, strings.Fields(line)) == nil {
			t.Errorf("furrow %s passes", line)
		}
	}
	for _, line := range []string{"", "plan -n web -f -", "pr merge --all", "status web --watch"} {
		if err := m.check(t, strings.Fields(line)); err != nil {
			t.Errorf("furrow %s: %v", line, err)
		}
	}
	want := [][]string{{"status"}, {"plan", "-f", "-"}, {"run", "--simulate", "_", "_"}}
	got := commands("until furrow status | grep -q x; do sleep 1; done\nA=b bin/furrow plan -f -\ncat <<'END'\nfurrow sow\nEND\nfurrow run --simulate > run.log 2>&1 &\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
}

// kinds are the documents that people write.
var kinds = map[string]func() any{
	"Seed":          func() any { return &v1alpha1.Seed{} },
	"ControlPlane":  func() any { return &v1alpha1.ControlPlane{} },
	"Cluster":       func() any { return &v1alpha1.Cluster{} },
	"ClusterType":   func() any { return &v1alpha1.ClusterType{} },
	"GitOpsRepo":    func() any { return &v1alpha1.GitOpsRepo{} },
	"Plugin":        func() any { return &v1alpha1.Plugin{} },
	"Template":      func() any { return &v1alpha1.Template{} },
	"RolloutPolicy": func() any { return &v1alpha1.RolloutPolicy{} },
}

// decode reads a document strictly as its kind.
func decode(text string) error {
	var head struct{ APIVersion, Kind string }
	if err := yaml.Unmarshal([]byte(text), &struct {
		APIVersion *string `yaml:"apiVersion"`
		Kind       *string `yaml:"kind"`
	}{&head.APIVersion, &head.Kind}); err != nil {
		return err
	}
	switch kind, known := kinds[head.Kind]; {
	case !strings.HasPrefix(head.APIVersion, v1alpha1.Group+"/"):
		return nil
	case head.APIVersion != v1alpha1.APIVersion:
		return fmt.Errorf("apiVersion is %s, and not %s", head.APIVersion, v1alpha1.APIVersion)
	case head.Kind == plan.Kind:
		strict := yaml.NewDecoder(strings.NewReader(text)) // a reader ignores fields of newer versions
		strict.KnownFields(true)
		if err := strict.Decode(&plan.Plan{}); err != nil {
			return err
		}
		_, err := plan.Decode(fstest.MapFS{"plan.yaml": {Data: []byte(text)}})
		return err
	case known:
		return kubeyaml.UnmarshalStrict([]byte(text), kind())
	}
	return fmt.Errorf("kind %q does not exist", head.Kind)
}

func TestEveryDocumentIsStrictlyOfItsKind(t *testing.T) {
	seen := 0
	for _, p := range pages(t) {
		for _, b := range p.blocks() {
			if b.language != "yaml" {
				continue
			}
			for _, text := range strings.Split(b.text, "\n---\n") {
				seen++
				if err := decode(text); err != nil {
					t.Errorf("%s:%d: %v", p.path, b.line, err)
				}
			}
		}
	}
	if seen == 0 {
		t.Error("no document was found")
	}
	for _, wrong := range []string{
		"apiVersion: furrow.dev/v1alpha1\nkind: Seed\nspec: {sow: true}", "apiVersion: furrow.dev/v2\nkind: Seed",
		"apiVersion: furrow.dev/v1alpha1\nkind: Sow", "apiVersion: furrow.dev/v1alpha1\nkind: Plan\nsow: true",
	} {
		if decode(wrong) == nil {
			t.Errorf("this passes:\n%s", wrong)
		}
	}
}

func TestTheReferenceHasTheCompleteExamples(t *testing.T) {
	reference := page{"docs/reference.md", read(t, "docs/reference.md")}
	files, err := filepath.Glob(filepath.Join(root, "api/v1alpha1/examples/*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		want := read(t, "api/v1alpha1/examples/"+name)
		if diff := cmp.Diff(want, reference.marked(t, "example: "+name)); diff != "" {
			t.Errorf("docs/reference.md differs from %s (-file +docs):\n%s", name, diff)
		}
	}
}

// table gives the cells of the table after a mark, without its head.
func (p page) table(t *testing.T, mark string) [][]string {
	t.Helper()
	_, text, found := strings.Cut(p.text, "<!-- "+mark+" -->\n")
	if !found {
		t.Fatalf("%s has no <!-- %s -->", p.path, mark)
	}
	text, _, _ = strings.Cut(text, "\n\n")
	var out [][]string
	for _, line := range strings.Split(strings.TrimSpace(text), "\n")[2:] {
		var cells []string
		for _, cell := range strings.Split(strings.Trim(line, "|"), " | ") {
			cells = append(cells, strings.Trim(strings.TrimSpace(cell), "`"))
		}
		out = append(out, cells)
	}
	return out
}

// columns are the first n cells of each row.
func columns(rows [][]string, n int) [][]string {
	out := make([][]string, len(rows))
	for i, row := range rows {
		out[i] = row[:min(n, len(row))]
	}
	return out
}

// TestTheTableOfDependencyRulesIsGenerated compares the table with the rules. With -update it writes the table.
func TestTheTableOfDependencyRulesIsGenerated(t *testing.T) {
	const path, mark = "docs/rules.md", "<!-- dependency rules -->\n"
	text := read(t, path)
	before, after, found := strings.Cut(text, mark)
	if !found {
		t.Fatalf("%s has no %s", path, mark)
	}
	_, after, _ = strings.Cut(after, "\n\n")
	table := "| rule | what it does | why |\n|---|---|---|\n"
	for _, r := range dependency.Rules() {
		table += fmt.Sprintf("| `%s` | %s | %s |\n", r.Name, r.Doc, r.Why)
	}
	want := before + mark + table + "\n" + after
	if golden.Update() {
		if err := os.WriteFile(filepath.Join(root, path), []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, text); diff != "" {
		t.Errorf("the table of %s is not that of the rules (-want +got); write it with: go test ./test/docs -run TestTheTableOfDependencyRulesIsGenerated -update\n%s", path, diff)
	}
}

func TestTablesListWhatTheCodeHas(t *testing.T) {
	rules := page{"docs/rules.md", read(t, "docs/rules.md")}
	concepts := page{"docs/concepts.md", read(t, "docs/concepts.md")}
	reference := page{"docs/reference.md", read(t, "docs/reference.md")}
	var placements, states, names [][]string
	for _, r := range placement.Rules() {
		placements = append(placements, []string{r.Name, r.Doc})
	}
	for _, s := range release.States {
		states = append(states, []string{string(s)})
	}
	for _, name := range subcommands(newManual(t).help(t)) {
		names = append(names, []string{"furrow " + name})
	}
	inOrder := func(rows [][]string) [][]string {
		slices.SortFunc(rows, slices.Compare)
		return rows
	}
	for what, tc := range map[string]struct{ want, got [][]string }{
		"placement rules": {placements, columns(rules.table(t, "placement rules"), 2)},
		"states":          {states, columns(concepts.table(t, "states"), 1)},
		"commands":        {inOrder(names), inOrder(columns(reference.table(t, "commands"), 1))},
	} {
		if diff := cmp.Diff(tc.want, tc.got); diff != "" {
			t.Errorf("%s (-code +docs):\n%s", what, diff)
		}
	}
}

// story runs a text of a page with bash -eu, in a directory and a home of
// its own, with furrow on the PATH.
func story(t *testing.T, text string) (dir, output string) {
	t.Helper()
	for _, tool := range []string{"git", "bash"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("SKIPPED: %s is not installed, so the commands of the documentation are not run", tool)
		}
	}
	dir = t.TempDir()
	// Whatever goes wrong, nothing stays behind in the background.
	const head = "trap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT\nstarted=$SECONDS\n"
	cmd := exec.CommandContext(t.Context(), "timeout", "--kill-after=10s", storyLimit, "bash", "-eu", "-c", head+text)
	if _, err := exec.LookPath("timeout"); err != nil {
		cmd = exec.CommandContext(t.Context(), "bash", "-eu", "-c", head+text)
	}
	cmd.Dir = dir
	cmd.Env = append(withoutSettings(os.Environ()), "HOME="+t.TempDir(), "PATH="+furrow(t, "furrow")+string(os.PathListSeparator)+os.Getenv("PATH"),
		"XDG_CACHE_HOME="+t.TempDir(), "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.com", "GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=ann@example.com")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() == 124 {
			err = errors.New("it takes longer than " + storyLimit)
		}
		for _, log := range logs(dir) {
			out.WriteString("\n--- " + log)
		}
		t.Fatalf("%v\n%s", err, out.String())
	}
	return dir, out.String()
}

const storyLimit = "180s"

// withoutSettings leaves out what would lead git or furrow elsewhere.
func withoutSettings(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		return strings.HasPrefix(kv, "GIT_") || strings.HasPrefix(kv, "FURROW_") || strings.HasPrefix(kv, "XDG_")
	})
}

// logs are the ends of what ran in the background.
func logs(dir string) []string {
	var out []string
	files, _ := filepath.Glob(filepath.Join(dir, "*.log"))
	more, _ := filepath.Glob(filepath.Join(dir, "*/*.log"))
	for _, file := range append(files, more...) {
		if data, err := os.ReadFile(file); err == nil {
			out = append(out, filepath.Base(file)+"\n"+string(data[max(0, len(data)-4000):]))
		}
	}
	return out
}

func mustContain(t *testing.T, output string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(output, part) {
			t.Errorf("the output lacks %q:\n%s", part, output)
		}
	}
}

func TestTheTutorialRunsWordForWord(t *testing.T) {
	tutorial := page{"docs/tutorial.md", read(t, "docs/tutorial.md")}
	dir, output := story(t, tutorial.marked(t, "tutorial"))
	mustContain(t, output,
		"Seed web: 9 objects in 9 tiers on 3 clusters", "1 seed checked: 0 errors, 0 warnings",
		"Merged furrow/main/tier/web/east/00 into main of fleet.", "Rejected", "not before Monday",
		"+       - image: registry.example.com/web:1.1.0", "blocked by the deletion guard: removing it deletes Namespace web on 3 clusters")
	left, err := exec.CommandContext(t.Context(), "git", "-C", filepath.Join(dir, "furrow-tutorial/fleet"), "ls-files").Output()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("clusters/east/README.md\nclusters/north/README.md\nclusters/west/README.md\n", string(left)); diff != "" {
		t.Errorf("what is left (-want +got):\n%s", diff)
	}
}

func TestTheDemoCanBeWalkedByHand(t *testing.T) {
	readme := page{"README.md", read(t, "README.md")}
	start := strings.TrimSpace(readme.marked(t, "demo: start"))
	script := start + " > demo.log 2>&1 &\n" +
		`until FURROW_CONTROL_PLANE="$PWD/.furrow/demo/control-plane" furrow status > first.log 2>&1 && grep -q '^Seed edge-5g: Proposed' first.log; do sleep 1; done` + "\n" +
		readme.marked(t, "demo: walk")
	_, output := story(t, script)
	mustContain(t, output,
		"Waiting for you: 3 proposals", "Plant edge-5g on mgmt, tier 00\n\nState       Open\n", "because the seed selects fabric=5g (rule selected)",
		"a person rejected it: not before Monday", "Update edge-5g on site-a, tier 01\n\nState       Open\n", "Leaving later:\n  ran.example.com/Slice/core/silver\n")
}

package cli

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/furrow-dev/furrow/test/gitcmd"
	"github.com/furrow-dev/furrow/test/program"
)

// TestMain keeps the user's settings out of the tests.
func TestMain(m *testing.M) {
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "FURROW_") && name != program.Variable || strings.HasPrefix(name, "GIT_") {
			os.Unsetenv(name)
		}
	}
	gitcmd.Isolate()
	testscript.Main(inProcess{m}, map[string]func(){
		"furrow": func() { os.Exit(Main("furrow", os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

// inProcess runs the tests with shorter intervals than people may ask for. Scripts run
// the command as people do.
type inProcess struct{ *testing.M }

func (m inProcess) Run() int {
	leastInterval = time.Millisecond
	return m.M.Run()
}

func needGit(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("SKIPPED: git is not installed, so no command is run against real repositories")
	}
}

// result is how a command ended.
type result struct {
	code   int
	stdout string
	stderr string
}

func (r result) all() string { return r.stdout + r.stderr }

// call runs a command with nothing but its arguments.
func call(ctx context.Context, stdin string, args ...string) result {
	var stdout, stderr bytes.Buffer
	code := execute(ctx, args, strings.NewReader(stdin), &stdout, &stderr)
	return result{code, stdout.String(), stderr.String()}
}

// workspace is a control plane and a GitOps repository in a temporary directory.
type workspace struct {
	t     *testing.T
	dir   string
	cache string
}

// fleetFiles are a control plane with two clusters and no seed.
func fleetFiles() map[string]string {
	return map[string]string{
		"gitops-repo.yaml": document("GitOpsRepo", "fleet", "spec: {url: ../fleet.git}"),
		"clusters.yaml":    document("Cluster", "east", "spec: {}") + "---\n" + document("Cluster", "west", "spec: {}"),
	}
}

func document(kind, name, rest string) string {
	return "apiVersion: furrow.dev/v1alpha1\nkind: " + kind + "\nmetadata: {name: " + name + "}\n" + rest + "\n"
}

// webSeed has three tiers on each cluster.
const webSeed = `apiVersion: v1
kind: Namespace
metadata: {name: web}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: web}
data: {color: green}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: web
  annotations: {furrow.dev/depends-on: core/ConfigMap/web/settings}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: registry.example.com/web:1}]}
`

// circleSeed cannot be planned.
const circleSeed = `apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: default, annotations: {furrow.dev/depends-on: core/ConfigMap/default/b}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: b, namespace: default, annotations: {furrow.dev/depends-on: core/ConfigMap/default/a}}
`

// newWorkspace makes the repositories: the fleet, and the seeds by their file's name.
func newWorkspace(t *testing.T, seeds map[string]string) *workspace {
	t.Helper()
	needGit(t)
	dir := t.TempDir()
	p := &workspace{t: t, dir: dir, cache: filepath.Join(dir, "cache")}
	p.write("work", map[string]string{"clusters/east/README.md": "the root of east", "clusters/west/README.md": "the root of west"})
	p.git("work", "init", "--quiet", "--initial-branch=main")
	p.git("work", "add", ".")
	p.git("work", "commit", "--quiet", "--message=Bootstrap")
	p.git("work", "clone", "--quiet", "--bare", ".", p.at("fleet.git"))
	p.git("work", "remote", "add", "origin", p.at("fleet.git"))
	p.git("fleet.git", "config", "furrow.simulation", "true")
	p.write("control-plane", fleetFiles())
	p.git("control-plane", "init", "--quiet", "--initial-branch=main")
	p.commit(seeds)
	return p
}

func (p *workspace) at(rel string) string { return filepath.Join(p.dir, filepath.FromSlash(rel)) }

func (p *workspace) write(dir string, files map[string]string) {
	p.t.Helper()
	for name, text := range files {
		file := filepath.Join(p.at(dir), filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			p.t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			p.t.Fatal(err)
		}
	}
}

// commit writes files of the control plane, and commits all that differs.
func (p *workspace) commit(files map[string]string) {
	p.t.Helper()
	p.write("control-plane", files)
	p.git("control-plane", "add", "--all")
	p.git("control-plane", "commit", "--quiet", "--allow-empty", "--message=Change")
}

func (p *workspace) git(dir string, args ...string) string {
	p.t.Helper()
	cmd := exec.CommandContext(p.t.Context(), "git", args...)
	cmd.Dir = p.at(dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// flags point a command to the workspace.
func (p *workspace) flags(args ...string) []string {
	return append(args, "--control-plane", p.at("control-plane"), "--cache", p.cache)
}

func (p *workspace) furrow(args ...string) result {
	p.t.Helper()
	return call(p.t.Context(), "", p.flags(args...)...)
}

// must runs a command that ends well.
func (p *workspace) must(args ...string) string {
	p.t.Helper()
	r := p.furrow(args...)
	if r.code != exitOK {
		p.t.Fatalf("furrow %s ends with %d:\n%s", strings.Join(args, " "), r.code, r.all())
	}
	return r.stdout
}

// pass makes one pass.
func (p *workspace) pass() string {
	p.t.Helper()
	return p.must("run", "--once", "--simulate")
}

// plant makes passes and merges all proposals until the status has a text.
func (p *workspace) plant(until string) {
	p.t.Helper()
	const rounds = 12
	var status string
	for range rounds {
		p.pass()
		if status = p.must("status"); strings.Contains(status, until) {
			return
		}
		p.must("pr", "merge", "--all", "--removals")
	}
	p.t.Fatalf("after %d rounds the status lacks %q:\n%s", rounds, until, status)
}

// running is furrow run in the background.
type running struct {
	stop context.CancelFunc
	done chan result
	once sync.Once
	end  result
}

// start begins a run with a cache of its own; it ends with the test at the latest.
func (p *workspace) start(cache string) *running {
	p.t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	r := &running{stop: stop, done: make(chan result, 1)}
	args := []string{"run", "--simulate", "--interval=50ms", "--control-plane", p.at("control-plane"), "--cache", p.at(cache)}
	go func() { r.done <- call(ctx, "", args...) }()
	p.t.Cleanup(func() { r.ended() })
	return r
}

// ended interrupts the run and says how it ended.
func (r *running) ended() result {
	r.once.Do(func() {
		r.stop()
		r.end = <-r.done
	})
	return r.end
}

const (
	pollLimit    = 40 * time.Second
	pollInterval = 50 * time.Millisecond
)

// eventually polls until a fact holds.
func eventually(t *testing.T, what string, holds func() (ok bool, seen string)) {
	t.Helper()
	limit := time.After(pollLimit)
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		ok, seen := holds()
		if ok {
			return
		}
		select {
		case <-limit:
			t.Fatalf("%s: not within %s; the last that was seen:\n%s", what, pollLimit, seen)
		case <-ticker.C:
		}
	}
}

// ages are those of tiers in a table.
var ages = regexp.MustCompile(`  +(\d+[smhdy])+ {2,}`)

// states is the status, each cluster by itself and without ages.
func (p *workspace) states() string {
	p.t.Helper()
	return ages.ReplaceAllString(p.must("status", "-o", "wide"), "  ")
}

func mustContain(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("it lacks %q:\n%s", part, text)
		}
	}
}

func mustNotContain(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if strings.Contains(text, part) {
			t.Errorf("it has %q:\n%s", part, text)
		}
	}
}

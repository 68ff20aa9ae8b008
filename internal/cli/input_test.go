package cli

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func bareConfigMap(name string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + ", namespace: default}\n"
}

func TestEveryFileNamedWithFIsRead(t *testing.T) {
	p := &workspace{t: t, dir: t.TempDir()}
	p.write(".", map[string]string{
		"a.yaml": bareConfigMap("a"), "b.txt": bareConfigMap("b"), "dir/c.yaml": bareConfigMap("c"),
		"plain.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: plain, namespace: default}\nstringData: {password: hunter2}\n",
	})
	t.Chdir(p.dir)
	r := call(t.Context(), bareConfigMap("d"), "plan", "-f", "a.yaml", "-f", "b.txt", "--file", "dir", "-f", "-")
	if r.code != exitOK {
		t.Errorf("it ends with %d", r.code)
	}
	mustContain(t, r.all(), "Seed a: 4 objects", "core/ConfigMap/default/a", "core/ConfigMap/default/b", "core/ConfigMap/default/c", "core/ConfigMap/default/d")

	for _, args := range [][]string{{"-f", "plain.yaml", "-f", "a.yaml"}, {"-f", "a.yaml", "-f", "plain.yaml"}} {
		for _, command := range []string{"plan", "lint"} {
			if r := call(t.Context(), "", append([]string{command}, args...)...); r.code != exitProblems {
				t.Errorf("%s %q ends with %d: %s", command, args, r.code, r.all())
			}
		}
	}
}

func TestAFileThatIsNamedTwiceIsReadOnce(t *testing.T) {
	p := &workspace{t: t, dir: t.TempDir()}
	p.write(".", map[string]string{"dir/a.yaml": bareConfigMap("a")})
	t.Chdir(p.dir)
	r := call(t.Context(), "", "plan", "-f", "dir", "-f", "./dir/a.yaml", "-f", "dir/a.yaml", "-f", filepath.Join(p.dir, "dir"))
	if r.code != exitOK {
		t.Errorf("it ends with %d: %s", r.code, r.all())
	}
	mustContain(t, r.stdout, "Seed dir: 1 object in")
}

// linkedFiles adds to a control plane what Git can hold beside files and directories, and what is not read.
func linkedFiles(p *workspace) {
	p.write("control-plane", map[string]string{
		"manifests/linked.yaml": bareConfigMap("linked"), "manifests/shop.yaml": bareConfigMap("shop"), "manifests/dir/deep.yml": bareConfigMap("deep"),
		"seeds/web/a.yaml": bareConfigMap("a"), "seeds/web/b.YAML": bareConfigMap("b"), "seeds/web/c.YML": bareConfigMap("c"), "seeds/web/old.yaml.bak": "x",
	})
	for link, target := range map[string]string{
		"seeds/web/linked.yaml": "../../manifests/linked.yaml", "seeds/web/dir": "../../manifests/dir", "seeds/shop.yaml": "../manifests/shop.yaml",
		"seeds/web/out.yaml": "../../../outside.yaml", "seeds/web/absolute.yaml": p.at("outside.yaml"), "seeds/web/nowhere.yaml": "nowhere", "seeds/web/loop": "..",
		"clusters/north.yaml": "../../outside.yaml",
	} {
		at := p.at("control-plane/" + link)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			p.t.Fatal(err)
		}
		if err := os.Symlink(target, at); err != nil {
			p.t.Skip("SKIPPED: symbolic links cannot be made here: ", err)
		}
	}
	p.write(".", map[string]string{"outside.yaml": bareConfigMap("secret")})
	for _, at := range []string{"seeds/web/module", "seeds/gone", "vendor"} {
		p.git("control-plane", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "--force", p.at("work"), at)
	}
}

// The same objects are planned, and the same is named as not read, from a directory, from a commit and by a run.
func TestACommitIsReadAsTheDirectoryIs(t *testing.T) {
	p := newWorkspace(t, nil)
	linkedFiles(p)
	onDisk, lintDisk := p.furrow("plan", "-o", "yaml", "--seed", "web"), p.furrow("lint")
	p.commit(nil)
	p.git(".", "clone", "--quiet", "--bare", "control-plane", "cp.git")
	fromCommit := func(args ...string) result {
		return call(t.Context(), "", append(args, "--control-plane", p.at("cp.git"), "--cache", p.cache)...)
	}
	committed := fromCommit("plan", "-o", "yaml", "--seed", "web")
	for _, name := range []string{"a", "b", "c", "linked", "deep"} {
		mustContain(t, onDisk.stdout, "core/ConfigMap/default/"+name)
	}
	mustNotContain(t, onDisk.stdout, "ConfigMap/default/secret")
	if diff := cmp.Diff(withoutLine(onDisk.stdout, "revision:"), withoutLine(committed.stdout, "revision:")); diff != "" {
		t.Errorf("the plans (-disk +commit):\n%s", diff)
	}
	if onDisk.stderr != committed.stderr {
		t.Errorf("on disk it says\n%s\nof the commit\n%s", onDisk.stderr, committed.stderr)
	}

	lint := findings(lintDisk.stdout)
	if diff := cmp.Diff(lint, findings(fromCommit("lint").stdout)); diff != "" {
		t.Errorf("lint (-disk +commit):\n%s", diff)
	}
	for _, name := range []string{"seeds/web/module", "seeds/web/out.yaml", "seeds/web/absolute.yaml", "seeds/web/nowhere.yaml", "seeds/web/loop", "seeds/web/old.yaml.bak", "vendor", "clusters/north.yaml"} {
		if !slices.ContainsFunc(lint, func(line string) bool { return strings.HasPrefix(line, "warning: ") && strings.Contains(line, name) }) {
			t.Errorf("lint does not name %s:\n%s", name, strings.Join(lint, "\n"))
		}
	}
	mustContain(t, lintDisk.stdout, `error: seeds/gone: seed "gone": it is a submodule`)

	run := p.furrow("run", "--once")
	for _, line := range lint {
		if strings.HasPrefix(line, "warning: ") && !strings.Contains(run.stdout, line) {
			t.Errorf("run does not say %q:\n%s", line, run.stdout)
		}
	}
	mustContain(t, run.stdout, `gone       Stalled: seeds/gone: seed "gone": it is a submodule`)
}

func withoutLine(text, prefix string) string {
	lines := strings.Split(text, "\n")
	return strings.Join(slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(l, prefix) }), "\n")
}

// findings are the errors and warnings that lint has printed, without the path of the GitOps repository.
func findings(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		if !strings.Contains(line, "GitOpsRepo") && !strings.Contains(line, "checked:") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// What was planted from a file stays planted when a link replaces its directory.
func TestAPackageThatBecomesUnreadableIsNotRemoved(t *testing.T) {
	p := newWorkspace(t, map[string]string{"seeds/web/web.yaml": bareConfigMap("a"), "seeds/shop.yaml": bareConfigMap("b")})
	p.pass()
	p.git("control-plane", "rm", "-r", "--quiet", "seeds/web")
	p.git("control-plane", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "--force", p.at("work"), "seeds/web")
	p.commit(nil)
	r := p.furrow("run", "--once")
	mustContain(t, r.stdout, `web        Stalled: seeds/web: seed "web": it is a submodule`)
	if list := p.must("pr", "list"); strings.Contains(list, "Remove web") {
		t.Errorf("its removal is proposed:\n%s", list)
	}
}

// silentInput is an input that has nothing and goes on until the test ends.
type silentInput struct {
	// begun is closed by the first Read.
	begun chan struct{}
	once  sync.Once
	ended <-chan struct{}
}

func (s *silentInput) Read([]byte) (int, error) {
	s.once.Do(func() { close(s.begun) })
	<-s.ended
	return 0, io.EOF
}

// silentPipe makes a named pipe into which nothing is written. What it gives is closed once a reader has opened it.
func silentPipe(t *testing.T, name string) <-chan struct{} {
	t.Helper()
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	begun, left, ended := make(chan struct{}), make(chan struct{}), t.Context().Done()
	go func() {
		defer close(left)
		file, err := os.OpenFile(name, os.O_WRONLY, 0) // blocks until there is a reader
		if err != nil {
			t.Error(err)
			return
		}
		defer file.Close()
		close(begun)
		<-ended
	}()
	t.Cleanup(func() {
		file, err := os.OpenFile(name, os.O_RDWR, 0) // lets the writer go where no reader came
		if err != nil {
			t.Fatal(err)
		}
		<-left
		file.Close()
	})
	return begun
}

// Reading what never ends is given up when the command is interrupted.
func TestReadingEndsWithTheContext(t *testing.T) {
	for _, command := range []string{"plan", "lint"} {
		t.Run(command+" of standard input", func(t *testing.T) {
			stdin := &silentInput{begun: make(chan struct{}), ended: t.Context().Done()}
			mustEndReading(t, command, "-", stdin, stdin.begun, "reading standard input was interrupted")
		})
		t.Run(command+" of a pipe", func(t *testing.T) {
			fifo := filepath.Join(t.TempDir(), "pipe")
			mustEndReading(t, command, fifo, nil, silentPipe(t, fifo), "reading "+fifo+" was interrupted")
		})
	}
}

// mustEndReading interrupts a command once it reads.
func mustEndReading(t *testing.T, command, input string, stdin io.Reader, begun <-chan struct{}, want string) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan result, 1)
	go func() {
		var stdout, stderr strings.Builder
		code := execute(ctx, []string{command, "-f", input}, stdin, &stdout, &stderr)
		done <- result{code, stdout.String(), stderr.String()}
	}()
	select {
	case <-begun:
	case r := <-done:
		t.Fatalf("%s ends with %d before it reads:\n%s", command, r.code, r.all())
	}
	stop()
	select {
	case r := <-done:
		if r.code != exitFailed {
			t.Errorf("%s ends with %d", command, r.code)
		}
		mustContain(t, r.stderr, want)
	case <-time.After(pollLimit):
		t.Fatalf("%s goes on reading", command)
	}
}

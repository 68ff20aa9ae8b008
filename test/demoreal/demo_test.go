package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/furrow-dev/furrow/test/program"
	"github.com/furrow-dev/furrow/test/soak"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/furrow-dev/furrow/test/servers"
)

// testLimit bounds one run of the demo; it takes about a minute where nothing else runs.
const testLimit = 8 * time.Minute

// stage is where a test plays the demo: the programs, and a temporary folder that all of it is in.
type stage struct {
	demoreal, furrow, tmp string
}

// newStage builds the programs. The folder is one that Gitea may enter when it runs as another user.
func newStage(t *testing.T) stage {
	t.Helper()
	soak.Only(t)
	servers.Need(t, needed...)
	dir, err := os.MkdirTemp("", "furrow-demo-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	s := stage{demoreal: filepath.Join(dir, "demoreal"), tmp: filepath.Join(dir, "tmp")}
	if err := errors.Join(os.Chmod(dir, 0o755), os.Mkdir(s.tmp, 0o755)); err != nil {
		t.Fatal(err)
	}
	if output, err := exec.CommandContext(t.Context(), "go", "build", "-o", s.demoreal, ".").CombinedOutput(); err != nil {
		t.Fatalf("build the demo: %v\n%s", err, output)
	}
	if s.furrow, err = program.Furrow(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	return s
}

// play is a demo under way.
type play struct {
	cmd  *exec.Cmd
	done chan struct{}
	// err is how it ended, once done is closed.
	err error

	mu     sync.Mutex
	output bytes.Buffer
}

// Write implements io.Writer.
func (p *play) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.output.Write(b)
}

func (p *play) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.output.String()
}

// play starts the demo.
func (s stage) play(t *testing.T, args ...string) *play {
	t.Helper()
	p := &play{done: make(chan struct{})}
	p.cmd = exec.Command(s.demoreal, append([]string{"-furrow", s.furrow}, args...)...)
	p.cmd.Env = append(os.Environ(), "TMPDIR="+s.tmp)
	p.cmd.Stdout, p.cmd.Stderr = p, p
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.done
	})
	return p
}

// until waits until the demo has said what matches, or has ended.
func (p *play) until(t *testing.T, pattern string) []string {
	t.Helper()
	matcher := regexp.MustCompile(pattern)
	ctx, cancel := context.WithTimeout(t.Context(), testLimit)
	defer cancel()
	var found []string
	err := servers.Until(ctx, "the demo says "+pattern, func(context.Context) error {
		if found = matcher.FindStringSubmatch(p.said()); found != nil {
			return nil
		}
		select {
		case <-p.done:
			cancel()
		default:
		}
		return errors.New("not yet")
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, p.said())
	}
	return found
}

// ends waits for the end and checks the exit code.
func (p *play) ends(t *testing.T, code int) {
	t.Helper()
	timer := time.NewTimer(testLimit)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
		t.Fatalf("the demo does not end\n%s", p.said())
	}
	if got := p.cmd.ProcessState.ExitCode(); got != code {
		t.Fatalf("exit code %d, want %d: %v\n%s", got, code, p.err, p.said())
	}
}

// reaches checks that the kubeconfig that is shown has a context for each cluster, with the URL that is shown, and that
// the clusters answer by it.
func (p *play) reaches(t *testing.T, urls map[string]string) {
	t.Helper()
	file := p.until(t, `Kubeconfig +(/\S+)\n`)[1]
	for name, url := range urls {
		config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
			&clientcmd.ClientConfigLoadingRules{ExplicitPath: file}, &clientcmd.ConfigOverrides{CurrentContext: name},
		).ClientConfig()
		if err != nil {
			t.Fatal(err)
		}
		if config.Host != url {
			t.Errorf("context %s is of %s, and shown is %s", name, config.Host, url)
		}
		asked, err := discovery.NewDiscoveryClientForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := asked.ServerGroups(); err != nil {
			t.Errorf("context %s: %v", name, err)
		}
	}
}

// interrupt is a Ctrl-C.
func (p *play) interrupt(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
}

// leavesNoProcess checks that nothing runs any more in the folder, or with it on its command line.
func (s stage) leavesNoProcess(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("/proc/self/cwd"); err != nil {
		t.Log("/proc does not exist here: processes are not checked")
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	err := servers.Until(ctx, "all processes are gone", func(context.Context) error { return s.processes() })
	if err != nil {
		t.Error(err)
	}
}

// processes are an error that names the processes of the stage.
func (s stage) processes() error {
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return err
	}
	var errs []error
	for _, process := range all {
		cwd, _ := os.Readlink(process + "/cwd")
		command, _ := os.ReadFile(process + "/cmdline")
		if strings.HasPrefix(cwd, s.tmp) || bytes.Contains(command, []byte(s.tmp)) {
			errs = append(errs, fmt.Errorf("%s runs: %q", filepath.Base(process), command))
		}
	}
	return errors.Join(errs...)
}

// leavesNothing checks that the temporary folder is empty, and that nothing runs in it.
func (s stage) leavesNothing(t *testing.T) {
	t.Helper()
	s.leavesNoProcess(t)
	entries, err := os.ReadDir(s.tmp)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		t.Errorf("%s is left", entry.Name())
	}
}

func TestTheDemoMergesEverythingAndEnds(t *testing.T) {
	s := newStage(t)
	p := s.play(t, "-merge")
	mgmt := p.until(t, `Clusters +mgmt +(https://\S+) +context mgmt\n`)
	siteA := p.until(t, `\n +site-a +(https://\S+) +context site-a\n`)
	edge := p.until(t, `edge-1 +Running +(https://\S+) +context edge-1\n`)
	p.reaches(t, map[string]string{"mgmt": mgmt[1], "site-a": siteA[1], "edge-1": edge[1]})
	p.ends(t, 0)
	t.Log(p.said())
	for _, want := range []string{
		"log in as  you", "mgmt tier 00     merged", "edge-1           Available",
		"Seed edge-5g: Released", "Everything is Released",
	} {
		if !strings.Contains(p.said(), want) {
			t.Errorf("it does not say %q", want)
		}
	}
	s.leavesNothing(t)
}

func TestAnInterruptedDemoLeavesNothingAndContinues(t *testing.T) {
	s := newStage(t)
	t.Run("as it starts", func(t *testing.T) {
		p := s.play(t)
		p.until(t, `s  (Gitea|mgmt|site-a) `) // the others are still starting
		p.interrupt(t)
		p.ends(t, 0)
		s.leavesNothing(t)
	})
	dir := filepath.Join(s.tmp, "kept")
	proposed := `mgmt tier 00 +Proposed`
	p := s.play(t, "-dir", dir)
	url := p.until(t, `Gitea +(http://127.0.0.1:\d+/)`)[1]
	p.until(t, proposed)
	t.Run("one at a time", func(t *testing.T) {
		other := s.play(t, "-dir", dir)
		other.ends(t, 1)
		if !strings.Contains(other.said(), "a demo runs in") {
			t.Error(other.said())
		}
	})
	p.interrupt(t)
	p.ends(t, 0)
	s.leavesNoProcess(t)
	t.Run("continued, and killed", func(t *testing.T) {
		p := s.play(t, "-dir", dir)
		p.until(t, proposed)
		if !strings.Contains(p.said(), "carrying on") || !strings.Contains(p.said(), url) {
			t.Errorf("it does not continue:\n%s", p.said())
		}
		p.interrupt(t)
		p.until(t, "Stopping everything")
		p.interrupt(t)
		p.ends(t, interruptedCode)
		s.leavesNoProcess(t)
	})
	t.Run("continued, and furrow ends by itself", func(t *testing.T) {
		p := s.play(t, "-dir", dir)
		p.until(t, proposed)
		if err := endFurrow(s.furrow); err != nil {
			t.Fatal(err)
		}
		p.ends(t, 1)
		if !strings.Contains(p.said(), "furrow run ended by itself") {
			t.Error(p.said())
		}
		s.leavesNoProcess(t)
	})
}

// endFurrow kills the processes of a program.
func endFurrow(program string) error {
	all, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		return err
	}
	for _, link := range all {
		if target, _ := os.Readlink(link); target == program {
			var pid int
			if _, err := fmt.Sscanf(link, "/proc/%d/exe", &pid); err != nil {
				return err
			}
			return syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	return errors.New("furrow does not run")
}

func TestAFolderOfSomethingElseIsRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "thesis.txt"), []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	var out, problems bytes.Buffer
	if code := run([]string{"-dir", dir}, &out, &problems); code != 1 || !strings.Contains(problems.String(), "holds no demo") {
		t.Errorf("exit code %d: %s", code, &problems)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("it holds %v, %v", entries, err)
	}
}

func TestADemoThatHadNotGotFarBeginsAnew(t *testing.T) {
	dir := t.TempDir()
	begin := func() (*folder, bool) {
		t.Helper()
		f, err := openFolder(dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.close() })
		again, err := f.begin()
		if err != nil {
			t.Fatal(err)
		}
		return f, again
	}
	first, again := begin()
	if err := errors.Join(first.write([]byte("x"), "gitea", "half"), first.lock.Close()); err != nil || again {
		t.Fatalf("again %t, %v", again, err)
	}
	second, again := begin()
	if _, err := os.Stat(second.path("gitea")); !errors.Is(err, os.ErrNotExist) || again {
		t.Fatalf("again %t, %v", again, err)
	}
	if err := errors.Join(second.filled(), second.lock.Close()); err != nil {
		t.Fatal(err)
	}
	if third, again := begin(); !again || third.state.Password != second.state.Password {
		t.Errorf("again %t, password %q, then %q", again, second.state.Password, third.state.Password)
	}
}

func TestLinesStayWhole(t *testing.T) {
	var out bytes.Buffer
	w := newScreen(&out).lines()
	for _, part := range []string{"one\ntw", "o\n", "", "three"} {
		if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatalf("Write = %d, %v", n, err)
		}
	}
	if got := out.String(); got != "one\ntwo\n" {
		t.Errorf("shown: %q", got)
	}
}

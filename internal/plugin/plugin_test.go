package plugin_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/furrow-dev/furrow/internal/core/plugin"
	edge "github.com/furrow-dev/furrow/internal/plugin"
)

// TestMain lets the test binary be its own worker, as furrow is.
func TestMain(m *testing.M) {
	if worker, code := edge.Worker(os.Args[0], os.Args[1:], os.Stdin, os.Stdout); worker {
		os.Exit(code)
	}
	os.Setenv("FURROW_TEST_TOKEN", "s3cret")
	os.Exit(m.Run())
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// script is a plugin of a shell script in a directory of its own.
func script(t *testing.T, text string) (*edge.Host, plugin.Plugin) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED: executables run only on Linux")
	}
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("SKIPPED: /bin/sh is not installed, so no script is run")
	}
	data := []byte("#!/bin/sh\n" + text + "\n")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "script"), data, 0o700); err != nil {
		t.Fatal(err)
	}
	host := &edge.Host{Dir: dir}
	t.Cleanup(host.Close)
	return host, plugin.Plugin{Name: "test", Executable: "script", Digest: digestOf(data), Memory: 64 << 20, Timeout: 30 * time.Second}
}

// testModule is built by the standard toolchain, once.
var testModule = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "furrow-test-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "module.wasm")
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", out, "./testdata/module")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, errors.New(string(text))
	}
	return os.ReadFile(out)
})

func module(t *testing.T) plugin.Plugin {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("SKIPPED: go is not installed, so no module is built")
	}
	data, err := testModule()
	if err != nil {
		t.Fatal(err)
	}
	return plugin.Plugin{Name: "test", Module: data, Digest: digestOf(data), Memory: 64 << 20, Timeout: 30 * time.Second}
}

func run(t *testing.T, host *edge.Host, p plugin.Plugin, input string) plugin.Run {
	t.Helper()
	got, err := host.Run(t.Context(), p, []byte(input), p.Timeout)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

const brief = 500 * time.Millisecond

func TestExecutablesAreBounded(t *testing.T) {
	for name, tc := range map[string]struct {
		text, input string
		timeout     time.Duration
		want        plugin.Run
	}{
		"one that repeats its input":           {text: "cat", input: "hello", want: plugin.Run{Ending: plugin.Exited, Output: []byte("hello")}},
		"one that reads nothing":               {text: "echo hello", input: strings.Repeat("x", 1<<20), want: plugin.Run{Ending: plugin.Exited, Output: []byte("hello\n")}},
		"one that ends with another code":      {text: "echo no >&2; exit 7", want: plugin.Run{Ending: plugin.Exited, Code: 7, Stderr: "no\n"}},
		"one that crashes":                     {text: "kill -SEGV $$", want: plugin.Run{Ending: plugin.Signalled, Detail: "segmentation fault"}},
		"one that hangs":                       {text: "while :; do :; done", timeout: brief, want: plugin.Run{Ending: plugin.OverTime}},
		"one that sleeps":                      {text: "sleep 1000", timeout: brief, want: plugin.Run{Ending: plugin.OverTime}},
		"one that ignores signals":             {text: "trap '' TERM INT HUP; while :; do sleep 1000; done", timeout: brief, want: plugin.Run{Ending: plugin.OverTime}},
		"one that floods its output":           {text: "cat /dev/zero", want: plugin.Run{Ending: plugin.OverOutput}},
		"one that takes memory":                {text: `x=x; while :; do x=$x$x$x$x; done`, want: plugin.Run{Ending: plugin.OverMemory}},
		"one that fills its directory":         {text: "i=0; while :; do head -c 8000000 /dev/zero > f$i; i=$((i+1)); done", want: plugin.Run{Ending: plugin.OverFiles}},
		"one that leaves a process with pipe":  {text: "sleep 1000 & echo hello", want: plugin.Run{Ending: plugin.Exited, Output: []byte("hello\n")}},
		"one that starts a session":            {text: "if command -v setsid >/dev/null; then setsid sleep 1000 & fi; echo hello", want: plugin.Run{Ending: plugin.Exited, Output: []byte("hello\n")}},
		"one that does not exist as a program": {text: "exec /no/such/interpreter", want: plugin.Run{Ending: plugin.Exited, Code: 127}},
	} {
		t.Run(name, func(t *testing.T) {
			host, p := script(t, tc.text)
			if tc.timeout > 0 {
				p.Timeout = tc.timeout
			}
			got := run(t, host, p, tc.input)
			if got.Ending != tc.want.Ending || got.Code != tc.want.Code {
				t.Fatalf("got %s %d (%s) %.200s, want %s %d", got.Ending, got.Code, got.Detail, got.Stderr, tc.want.Ending, tc.want.Code)
			}
			if tc.want.Output != nil && string(got.Output) != string(tc.want.Output) {
				t.Errorf("the output is %.100q", got.Output)
			}
			if !strings.Contains(got.Detail, tc.want.Detail) || !strings.Contains(got.Stderr, tc.want.Stderr) {
				t.Errorf("detail %q, standard error %q", got.Detail, got.Stderr)
			}
		})
	}
}

func TestAnExecutableHasNothingOfFurrow(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(outside, []byte("s3cret"), 0o600); err != nil {
		t.Fatal(err)
	}
	host, p := script(t, `env; pwd; ls -A; echo x > file && cat file; cat `+outside+` /proc/$PPID/environ; ls /proc/self/fd 2>/dev/null; true`)
	got := run(t, host, p, "")
	text := string(got.Output) + got.Stderr
	if strings.Contains(text, "s3cret") && landlocked() {
		t.Errorf("it read a credential: %s", text)
	}
	for _, line := range strings.Split(string(got.Output), "\n") {
		if key, _, is := strings.Cut(line, "="); is && key != "PWD" && key != "SHLVL" && key != "_" && key != "OLDPWD" {
			t.Errorf("its environment has %s", key)
		}
	}
	if !strings.Contains(string(got.Output), "furrow-plugin-") || !strings.Contains(string(got.Output), "\nx\n") {
		t.Errorf("it has no working directory of its own: %s", text)
	}
	if dirs, _ := filepath.Glob(filepath.Join(os.TempDir(), "furrow-plugin-*")); len(dirs) > 0 {
		for _, dir := range dirs {
			if strings.Contains(text, dir) {
				t.Errorf("its directory was left behind: %s", dir)
			}
		}
	}
}

// landlocked reports whether the kernel can refuse files.
func landlocked() bool {
	data, err := os.ReadFile("/proc/self/status")
	return err == nil && len(data) > 0 && kernelHasLandlock()
}

func TestOnlyWhatIsAllowedAndPinnedIsExecuted(t *testing.T) {
	host, p := script(t, "echo hello")
	if got := run(t, &edge.Host{}, p, ""); got.Ending != plugin.NotAllowed {
		t.Errorf("without a directory: %+v", got)
	}
	other := p
	other.Digest = digestOf(nil)
	if got := run(t, host, other, ""); got.Ending != plugin.OtherDigest || got.Detail != p.Digest || len(got.Output) > 0 {
		t.Errorf("with another digest: %+v", got)
	}
	if err := os.Symlink("/bin/sh", filepath.Join(host.Dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("script", filepath.Join(host.Dir, "inside")); err != nil {
		t.Fatal(err)
	}
	inside := p
	inside.Executable = "inside"
	if got := run(t, host, inside, ""); got.Ending != plugin.Exited || string(got.Output) != "hello\n" {
		t.Errorf("a link within the directory: %+v", got)
	}
	for _, name := range []string{"absent", "../" + filepath.Base(host.Dir) + "/script", "/bin/sh", ".", "link"} {
		p := p
		p.Executable = name
		if got := run(t, host, p, ""); got.Ending != plugin.NotFound {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestModulesAreBounded(t *testing.T) {
	p := module(t)
	host := &edge.Host{}
	defer host.Close()
	for name, tc := range map[string]struct {
		input   string
		timeout time.Duration
		want    plugin.Run
	}{
		"one that repeats its input":      {input: "repeat hello", want: plugin.Run{Ending: plugin.Exited, Output: []byte("hello")}},
		"one that ends with another code": {input: "exit", want: plugin.Run{Ending: plugin.Exited, Code: 7, Stderr: "it is not my day\n"}},
		"one that crashes":                {input: "panic", want: plugin.Run{Ending: plugin.Exited, Code: 2, Stderr: "panic: out of order"}},
		"one that hangs":                  {input: "hang", timeout: brief, want: plugin.Run{Ending: plugin.OverTime}},
		"one that floods its output":      {input: "flood", want: plugin.Run{Ending: plugin.OverOutput}},
		"one that floods its errors":      {input: "mutter", want: plugin.Run{Ending: plugin.Exited, Stderr: "the end\n"}},
		"one that takes memory":           {input: "grow", want: plugin.Run{Ending: plugin.Exited, Code: 2, Stderr: "out of memory"}},
		"one that looks around":           {input: "inspect", want: plugin.Run{Ending: plugin.Exited, Output: []byte("[] [test] true true true")}},
	} {
		t.Run(name, func(t *testing.T) {
			p := p
			if tc.timeout > 0 {
				p.Timeout = tc.timeout
			}
			got := run(t, host, p, tc.input)
			if got.Ending != tc.want.Ending || got.Code != tc.want.Code {
				t.Fatalf("got %s %d (%s) %.200s, want %s %d", got.Ending, got.Code, got.Detail, got.Stderr, tc.want.Ending, tc.want.Code)
			}
			if tc.want.Output != nil && string(got.Output) != string(tc.want.Output) {
				t.Errorf("the output is %.100q", got.Output)
			}
			if !strings.Contains(got.Stderr, tc.want.Stderr) || len(got.Stderr) > plugin.MaxStderr {
				t.Errorf("the standard error is %.1000q", got.Stderr)
			}
			if got := run(t, host, p, "repeat again"); string(got.Output) != "again" {
				t.Errorf("the next run: %+v", got)
			}
		})
	}
}

func TestAModuleThatIsNoneIsRefused(t *testing.T) {
	for name, data := range map[string][]byte{
		"text":             []byte("not a module"),
		"an empty module":  {0, 'a', 's', 'm', 1, 0, 0, 0},
		"half of a module": []byte("\x00asm\x01\x00\x00\x00\x01\x20"),
		"nothing":          nil,
		"more memory":      []byte("\x00asm\x01\x00\x00\x00\x05\x05\x01\x00\x80\x80\x02"),
	} {
		host := &edge.Host{}
		got := run(t, host, plugin.Plugin{Name: "test", Module: data, Digest: digestOf(data), Memory: 16 << 20, Timeout: time.Second}, "")
		host.Close()
		if got.Ending != plugin.InvalidProgram || got.Detail == "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestAPluginEndsWithItsContext(t *testing.T) {
	host, p := script(t, "sleep 1000")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := host.Run(ctx, p, nil, p.Timeout); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the error is %v", err)
	}
}

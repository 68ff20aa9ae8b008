package store

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// echo and bell are servers that are quick to build, with a module of their own in modules.
func testRecipes() []recipe {
	return []recipe{
		{
			name: "echo", version: "v1.0.0", source: source{dir: "echo"},
			packages: []string{"."}, programs: []string{"echo"}, ldflags: "-s -w", seconds: 30,
		},
		{
			name: "bell", version: "v2.0.0", source: source{dir: "bell"},
			packages: []string{"."}, programs: []string{"bell"}, aliases: map[string]string{"gong": "bell"}, seconds: 40,
		},
	}
}

// testStore is a store of testRecipes, whose go command writes the program's file.
func testStore(t *testing.T) *Store {
	t.Helper()
	s := &Store{dir: filepath.Join(t.TempDir(), "cache"), modules: t.TempDir(), recipes: testRecipes(), now: time.Now}
	for _, r := range s.recipes {
		write(t, filepath.Join(s.modules, string(r.name), "go.mod"), "module example.invalid/"+string(r.name)+"\n")
		write(t, filepath.Join(s.modules, string(r.name), "go.sum"), "")
	}
	s.run = writeProgram
	return s
}

// writeProgram replaces a go command that succeeds.
func writeProgram(_ context.Context, dir string, _, args []string) (stdout, all []byte, err error) {
	for i, arg := range args {
		if arg == "-o" {
			return nil, nil, os.WriteFile(args[i+1], []byte(dir), 0o755)
		}
	}
	return nil, nil, errors.New("it does not say where to write")
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// build builds all and gives what was said.
func build(t *testing.T, s *Store) string {
	t.Helper()
	var out bytes.Buffer
	if err := s.Build(t.Context(), &out); err != nil {
		t.Fatalf("Build: %v\n%s", err, &out)
	}
	return out.String()
}

func TestWhatIsMissingIsBuiltOnce(t *testing.T) {
	s := testStore(t)
	_, err := s.Find()
	if err == nil || err.Error() != "echo, bell are not built; run: make servers" {
		t.Errorf("Find before: %v", err)
	}
	said := build(t, s)
	want := "servers: building 2 of them into " + s.dir + ", about 1m10s on 2 cores when Go's caches are empty\n" +
		"servers: 1 of 2 echo …\nservers: 1 of 2 echo … 0s\nservers: 2 of 2 bell …\nservers: 2 of 2 bell … 0s\nservers: 2 built in 0s\n"
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("it says (-want +got):\n%s", diff)
	}
	bin, err := s.Find("bell")
	if err != nil {
		t.Fatal(err)
	}
	if program := bin.Program("bell", "gong"); !strings.HasPrefix(program, filepath.Join(s.dir, "bell-v2.0.0-")) {
		t.Errorf("program %s", program)
	} else if _, err := os.Stat(program); err != nil {
		t.Error(err)
	}
	s.run = func(context.Context, string, []string, []string) ([]byte, []byte, error) {
		t.Error("built again")
		return nil, nil, nil
	}
	if said := build(t, s); strings.Count(said, "\n") != 1 || !strings.Contains(said, "all built") {
		t.Errorf("when all are there it says:\n%s", said)
	}
}

func TestNobodyIsAskedForWhatIsNotKnown(t *testing.T) {
	err := testStore(t).Build(t.Context(), &bytes.Buffer{}, "echo", "nonesuch")
	if err == nil || err.Error() != `no server is called "nonesuch"; there are echo, bell` {
		t.Errorf("Build = %v", err)
	}
}

func TestTheKeyChangesWithWhatAServerIsMadeOf(t *testing.T) {
	changes := map[string]func(s *Store, r *recipe){
		"flags":    func(_ *Store, r *recipe) { r.ldflags = "-s" },
		"tags":     func(_ *Store, r *recipe) { r.tags = "sqlite" },
		"cgo":      func(_ *Store, r *recipe) { r.cgo = true },
		"packages": func(_ *Store, r *recipe) { r.packages = []string{"./cmd"} },
		"data":     func(_ *Store, r *recipe) { r.data = []data{{module{"m", "v1", "h1:x"}, "a", "b"}} },
		"go.mod": func(s *Store, r *recipe) {
			write(t, filepath.Join(s.modules, string(r.name), "go.mod"), "module example.invalid/other\n")
		},
		"go.sum": func(s *Store, r *recipe) { write(t, filepath.Join(s.modules, string(r.name), "go.sum"), "m v1 h1:y\n") },
		"a program of ours": func(s *Store, r *recipe) {
			write(t, filepath.Join(s.modules, string(r.name), "_own", "main.go"), "package main\n")
		},
		"aliases": func(_ *Store, r *recipe) { r.aliases = map[string]string{"other": "echo"} },
		"copies": func(_ *Store, r *recipe) {
			r.source.copies = []copied{{path: "m", drop: []string{"a.go"}}}
		},
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			s := testStore(t)
			r := s.recipes[0]
			before, err := s.key(r)
			if err != nil {
				t.Fatal(err)
			}
			if same, err := s.key(r); err != nil || same != before || len(before) != 12 {
				t.Errorf("key = %q, then %q, %v", before, same, err)
			}
			change(s, &r)
			if after, err := s.key(r); err != nil || after == before {
				t.Errorf("key = %q, %v, as before", after, err)
			}
		})
	}
}

func TestOneThatCannotBeBuiltDoesNotKeepOthersFromIt(t *testing.T) {
	s := testStore(t)
	s.run = func(ctx context.Context, dir string, env, args []string) ([]byte, []byte, error) {
		if strings.HasSuffix(dir, "echo") {
			return nil, []byte("go: downloading m v1\nmain.go:7: no such thing\n"), errors.New("go build: exit status 1")
		}
		return writeProgram(ctx, dir, env, args)
	}
	var out bytes.Buffer
	err := s.Build(t.Context(), &out)
	if err == nil || err.Error() != "not built: echo; the reason is above" {
		t.Errorf("Build = %v", err)
	}
	const want = "servers: 1 of 2 echo … CANNOT BE BUILT: go build: exit status 1\n    main.go:7: no such thing\n"
	if !strings.Contains(out.String(), want) {
		t.Errorf("it says:\n%s", &out)
	}
	if _, err := s.Find("bell"); err != nil {
		t.Error(err)
	}
}

func TestAnInterruptedBuildLeavesNothingThatCounts(t *testing.T) {
	s := testStore(t)
	ctx, cancel := context.WithCancel(t.Context())
	s.run = func(ctx context.Context, dir string, env, args []string) ([]byte, []byte, error) {
		_, _, _ = writeProgram(ctx, dir, env, args)
		cancel()
		return nil, nil, ctx.Err()
	}
	if err := s.Build(ctx, &bytes.Buffer{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Build = %v", err)
	}
	if _, err := s.Find("echo"); err == nil {
		t.Error("what was interrupted counts as built")
	}
	// One that was killed leaves its folder.
	leftover := filepath.Join(s.dir, ".build-echo-1")
	write(t, filepath.Join(leftover, "bin", "echo"), "half")
	s.run = writeProgram
	build(t, s)
	if _, err := os.Stat(leftover); !os.IsNotExist(err) {
		t.Errorf("the killed build's folder is there: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(s.dir, ".build-*")); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestTwoThatBuildAtOnceBuildOnce(t *testing.T) {
	s := testStore(t)
	var runs atomic.Int32
	waited := make(chan struct{})
	isWaiting := sync.OnceFunc(func() { close(waited) })
	s.run = func(ctx context.Context, dir string, env, args []string) ([]byte, []byte, error) {
		runs.Add(1)
		// The first one goes on when the second one waits for it.
		<-waited
		return writeProgram(ctx, dir, env, args)
	}
	out := writerFunc(func(line string) {
		if strings.Contains(line, "waiting for another process") {
			isWaiting()
		}
	})
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			if err := s.Build(t.Context(), out); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	if got := runs.Load(); got != 2 {
		t.Errorf("2 servers were built in %d runs", got)
	}
}

// writerFunc is called with each line.
type writerFunc func(line string)

func (f writerFunc) Write(line []byte) (int, error) {
	f(string(line))
	return len(line), nil
}

func TestOlderBuildsAreClearedAwayWhenNobodyUsesThem(t *testing.T) {
	s := testStore(t)
	long := time.Now().Add(-keptUnused - time.Hour)
	for name, used := range map[string]time.Time{
		"echo-v0.9.0-0123456789ab":      long,
		"echo-v0.9.1-0123456789ab":      time.Now(),
		"echo-more-v0.9.0-0123456789ab": long,
		"echo-notes":                    long,
	} {
		write(t, filepath.Join(s.dir, name, "bin", "echo"), "")
		if err := os.Chtimes(filepath.Join(s.dir, name), used, used); err != nil {
			t.Fatal(err)
		}
	}
	build(t, s)
	var left []string
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), "echo-v0") || strings.HasPrefix(entry.Name(), "echo-m") || strings.HasPrefix(entry.Name(), "echo-n") {
			left = append(left, entry.Name())
		}
	}
	if got := strings.Join(left, " "); got != "echo-more-v0.9.0-0123456789ab echo-notes echo-v0.9.1-0123456789ab" {
		t.Errorf("left: %s", got)
	}
}

func TestTheGoCommandIsDeafToTheCallersFlags(t *testing.T) {
	s := testStore(t)
	s.recipes = s.recipes[:1]
	s.run = runGo
	module := filepath.Join(s.modules, "echo")
	write(t, filepath.Join(module, "go.mod"), "module example.invalid/echo\n\ngo 1.26.0\n")
	write(t, filepath.Join(module, "main.go"), "package main\n\nfunc main() { println(\"hello\") }\n")
	t.Setenv("GOFLAGS", "-mod=vendor -tags=nonesuch")
	t.Setenv("GOWORK", filepath.Join(s.modules, "nonesuch.work"))
	build(t, s)
	write(t, filepath.Join(module, "go.sum"), "another key\n")
	write(t, filepath.Join(module, "main.go"), "package main\n\nfunc main() { return 1 }\n")
	var out bytes.Buffer
	if err := s.Build(t.Context(), &out); err == nil || !strings.Contains(out.String(), "too many return values") {
		t.Errorf("Build of what does not compile = %v\n%s", err, &out)
	}
}

// Package store builds the servers that tests run on, and finds what is built.
//
// Each server is a main package of a dependency, or one of ours that calls a dependency's, pinned
// by a Go module: cluster pins all that has to do with clusters, gitea Gitea. It is built into a
// folder whose name holds a digest of all that it is made of, and that appears by one rename: a
// folder that is there is complete. Nothing is read from the module cache once it is built. Several
// processes may build at once.
package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Store is the folder where built servers are kept.
type Store struct {
	// dir is where they are kept, modules the folder that holds the Go modules that pin them.
	dir     string
	modules string
	recipes []recipe
	// run runs the go command with args in dir and answers what it printed on stdout and, mixed, on
	// both streams.
	run func(ctx context.Context, dir string, env, args []string) (stdout, all []byte, err error)
	now func() time.Time
}

// workingDir is where this process was started; tests may change their directory later.
var workingDir, _ = os.Getwd()

// Open opens the user's store for the checkout around the working directory:
// ${XDG_CACHE_HOME:-$HOME/.cache}/furrow/servers.
func Open() (*Store, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("find where built servers are kept: %w", err)
	}
	modules, err := findModules(workingDir)
	if err != nil {
		return nil, err
	}
	return &Store{
		dir:     filepath.Join(cache, "furrow", "servers"),
		modules: modules,
		recipes: recipes,
		run:     runGo,
		now:     time.Now,
	}, nil
}

// findModules finds test/servers in the checkout that holds dir.
func findModules(dir string) (string, error) {
	for at := dir; ; at = filepath.Dir(at) {
		modules := filepath.Join(at, "test", "servers")
		if _, err := os.Stat(filepath.Join(modules, clusterSource.dir, "go.mod")); err == nil {
			return modules, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("no test/servers above %q: start in a checkout of furrow", dir)
		}
	}
}

// Names returns all servers, in the order in which they are built.
func (s *Store) Names() []Name {
	var names []Name
	for _, r := range s.recipes {
		names = append(names, r.name)
	}
	return names
}

// Bin says where built servers are.
type Bin struct {
	dirs map[Name]string
}

// Program returns the path of a program of a server, as "etcd" of Etcd.
func (b Bin) Program(server Name, program string) string {
	return filepath.Join(b.Dir(server), "bin", program)
}

// Dir returns the folder of a server: bin/ and what it reads at run time. It must not be written
// to. It panics when server was not asked for.
func (b Bin) Dir(server Name) string {
	dir, ok := b.dirs[server]
	if !ok {
		panic(fmt.Sprintf("server %s was not asked for", server))
	}
	return dir
}

// NotBuiltError names the servers that are not built.
type NotBuiltError struct {
	Names []Name
}

// Error names the servers and the command that builds them.
func (e *NotBuiltError) Error() string {
	verb := "is"
	if len(e.Names) > 1 {
		verb = "are"
	}
	return fmt.Sprintf("%s %s not built; run: make servers", join(e.Names), verb)
}

// Find finds servers that are built; no names are all of them. The error is a NotBuiltError when
// one is missing.
func (s *Store) Find(names ...Name) (Bin, error) {
	chosen, err := s.choose(names)
	if err != nil {
		return Bin{}, err
	}
	bin := Bin{dirs: map[Name]string{}}
	missing := &NotBuiltError{}
	for _, r := range chosen {
		dir, err := s.folder(r)
		if err != nil {
			return Bin{}, err
		}
		if !complete(dir, r) {
			missing.Names = append(missing.Names, r.name)
			continue
		}
		bin.dirs[r.name] = dir
		s.markUsed(dir)
	}
	if len(missing.Names) > 0 {
		return bin, missing
	}
	return bin, nil
}

// choose returns the recipes of names, in the order in which they are built.
func (s *Store) choose(names []Name) ([]recipe, error) {
	if len(names) == 0 {
		return s.recipes, nil
	}
	wanted := map[Name]bool{}
	for _, name := range names {
		wanted[name] = true
	}
	var chosen []recipe
	for _, r := range s.recipes {
		if wanted[r.name] {
			chosen = append(chosen, r)
			delete(wanted, r.name)
		}
	}
	for name := range wanted {
		return nil, fmt.Errorf("no server is called %q; there are %s", name, join(s.Names()))
	}
	return chosen, nil
}

// complete reports whether dir holds what r makes: it appears whole, but somebody may have deleted
// a program.
func complete(dir string, r recipe) bool {
	if _, err := os.Stat(dir); err != nil {
		return false
	}
	for _, program := range slices.Concat(r.programs, slices.Collect(maps.Keys(r.aliases))) {
		if _, err := os.Stat(filepath.Join(dir, "bin", program)); err != nil {
			return false
		}
	}
	return true
}

// markUsed keeps dir from being cleared away as unused. Who may not write there does not clear it
// either.
func (s *Store) markUsed(dir string) {
	_ = os.Chtimes(dir, time.Time{}, s.now())
}

// Build builds those of names that are missing, one after the other, and says on out what it does;
// no names are all. When one cannot be built the others still are, and the error names those that
// are missing.
func (s *Store) Build(ctx context.Context, out io.Writer, names ...Name) error {
	chosen, err := s.choose(names)
	if err != nil {
		return err
	}
	_, err = s.Find(names...)
	var missing *NotBuiltError
	if err == nil {
		say(out, "servers: %s: all built, in %s", join(namesOf(chosen)), s.dir)
		return nil
	} else if !errors.As(err, &missing) {
		return err
	}
	there := slices.DeleteFunc(namesOf(chosen), func(name Name) bool { return slices.Contains(missing.Names, name) })
	chosen, err = s.choose(missing.Names)
	if err != nil {
		return err
	}
	s.announce(out, there, chosen)
	var failed []Name
	began := s.now()
	for i, r := range chosen {
		began := s.now()
		line := fmt.Sprintf("servers: %d of %d %s …", i+1, len(chosen), r.name)
		say(out, "%s", line)
		if err := s.buildOne(ctx, out, r); err != nil {
			if ctx.Err() != nil {
				return fmt.Errorf("stopped while building %s: %w", r.name, context.Cause(ctx))
			}
			failed = append(failed, r.name)
			say(out, "%s CANNOT BE BUILT: %v", line, err)
			continue
		}
		say(out, "%s %s", line, s.since(began))
	}
	if len(failed) > 0 {
		return fmt.Errorf("not built: %s; the reason is above", join(failed))
	}
	say(out, "servers: %d built in %s", len(chosen), s.since(began))
	return nil
}

// since returns how long ago a time is, in whole seconds.
func (s *Store) since(began time.Time) time.Duration {
	return s.now().Sub(began).Round(time.Second)
}

// announce says what is there, what will be built, and how long that may take.
func (s *Store) announce(out io.Writer, there []Name, chosen []recipe) {
	total := 0
	for _, r := range chosen {
		total += r.seconds
	}
	if len(there) > 0 {
		say(out, "servers: built already: %s", join(there))
	}
	say(out, "servers: building %d of them into %s, about %s on 2 cores when Go's caches are empty", len(chosen), s.dir,
		(time.Duration(total) * time.Second).Round(10*time.Second))
}

func namesOf(recipes []recipe) []Name {
	var names []Name
	for _, r := range recipes {
		names = append(names, r.name)
	}
	return names
}

func join(names []Name) string {
	var words []string
	for _, name := range names {
		words = append(words, string(name))
	}
	return strings.Join(words, ", ")
}

// say writes a line, and ignores that it cannot be written.
func say(out io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(out, format+"\n", args...)
}

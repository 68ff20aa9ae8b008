package architecture

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	module = "github.com/furrow-dev/furrow"
	root   = "../.."
)

// pkg is one package as go list reports it. Test files and their imports are not part of it.
type pkg struct {
	ImportPath string
	Name       string
	Standard   bool
	Imports    []string
}

// graph holds the packages of the module and all that they reach, by import path.
type graph map[string]pkg

// loadGraph asks go list once for the whole module.
func loadGraph(t *testing.T) graph {
	t.Helper()
	watchSources(t)
	cmd := exec.CommandContext(t.Context(), "go", "list", "-buildvcs=false", "-deps",
		"-json=ImportPath,Name,Standard,Imports", "./...")
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	g := graph{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return g
		}
		if err != nil {
			t.Fatalf("go list: %v", err)
		}
		g[p.ImportPath] = p
	}
}

// watchSources reads every folder of the module. The go command caches a test result until a file that the test
// itself has opened changes; what a child process reads does not count.
func watchSources(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "bin") {
			return fs.SkipDir
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// own lists the module's own packages, relative to the module ("." for main), sorted.
func (g graph) own() []string {
	var rels []string
	for path := range g {
		if rel, ok := relative(path); ok {
			rels = append(rels, rel)
		}
	}
	slices.Sort(rels)
	return rels
}

// relative cuts the module's path off an import path; ok is false for packages of others.
func relative(path string) (rel string, ok bool) {
	if path == module {
		return ".", true
	}
	return strings.CutPrefix(path, module+"/")
}

// within reports whether path is dir or lies below it.
func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, dir+"/")
}

// find returns the first of rules whose path path is or lies below.
func find(rules []rule, path string) (rule, bool) {
	i := slices.IndexFunc(rules, func(r rule) bool { return within(path, r.path) })
	if i < 0 {
		return rule{}, false
	}
	return rules[i], true
}

// offence is a shortest chain of imports from a package of core to something that it must not reach.
type offence struct {
	chain []string
	why   string
}

func (o offence) String() string {
	return strings.Join(o.chain, "\n    → ") + "\n    " + o.why
}

// offences walks breadth first from one package. Packages that are forbidden for a reason are reported, the standard library
// and leaves are not walked further.
func (g graph) offences(from string, forbidden func(path string) (why string)) []offence {
	var found []offence
	cameFrom := map[string]string{from: ""}
	for queue := []string{from}; len(queue) > 0; queue = queue[1:] {
		for _, next := range g[queue[0]].Imports {
			if _, seen := cameFrom[next]; seen {
				continue
			}
			cameFrom[next] = queue[0]
			if why := forbidden(next); why != "" {
				found = append(found, offence{chain: chainTo(next, cameFrom), why: why})
				continue
			}
			if _, leaf := find(leaves, next); !leaf && !g[next].Standard {
				queue = append(queue, next)
			}
		}
	}
	return found
}

func chainTo(path string, cameFrom map[string]string) []string {
	var chain []string
	for ; path != ""; path = cameFrom[path] {
		chain = append(chain, path)
	}
	slices.Reverse(chain)
	return chain
}

// networkBecause says why a package without a remote must not reach a package, or nothing where it may.
func networkBecause(path string) string {
	if _, ok := find(harmless, path); ok {
		return ""
	}
	r, _ := find(network, path)
	return r.why
}

// forbiddenBecause says why core must not reach a package, or nothing where it may.
func forbiddenBecause(path string) string {
	if rel, own := relative(path); own {
		if within(rel, "api") || within(rel, "templates") || within(rel, "internal/core") {
			return ""
		}
		return "core knows no package of ours but api, the embedded templates, and core"
	}
	if _, ok := find(harmless, path); ok {
		return ""
	}
	r, _ := find(forbidden, path)
	return r.why
}

// Command kinds writes internal/core/manifest/served.yaml: the kinds that API servers of Kubernetes
// serve by themselves, with the versions of each and the releases that have them, and
// internal/core/validate/schemas.json.gz, the schemas of these kinds. It reads what the
// project publishes of each release, the OpenAPI document in the Go module k8s.io/kubernetes, and so
// needs the network and some minutes. Run it when a release of Kubernetes is out, from the root of
// the repository:
//
//	go run ./config/kinds
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// The oldest release whose kinds are recorded, to name when one was gone, and the oldest one that
// clusters may run.
const (
	oldestKnown     = 9
	oldestSupported = 25
)

func main() {
	newest := flag.Int("newest", 37, "the minor version of the newest release")
	out := flag.String("out", "internal/core/manifest/served.yaml", "the file of kinds")
	schemas := flag.String("schemas", "internal/core/validate/schemas.json.gz", "the file of schemas")
	flag.Parse()
	if err := run(*newest, *out, *schemas); err != nil {
		fmt.Fprintf(os.Stderr, "kinds: %v\n", err)
		os.Exit(1)
	}
}

// run reads every release. It writes the table, and the schemas of the releases that clusters may run.
func run(newest int, out, schemasOut string) error {
	t, s := table{}, schemas{}
	for minor := oldestKnown; minor <= newest; minor++ {
		document, err := download(minor)
		if err != nil {
			return fmt.Errorf("release 1.%d: %w", minor, err)
		}
		if err := t.add(minor, document); err != nil {
			return fmt.Errorf("release 1.%d: %w", minor, err)
		}
		if minor < oldestSupported {
			continue
		}
		if err := s.add(minor, document); err != nil {
			return fmt.Errorf("release 1.%d: %w", minor, err)
		}
	}
	packed, err := s.write()
	if err != nil {
		return err
	}
	if err := os.WriteFile(schemasOut, packed, 0o644); err != nil {
		return err
	}
	text, err := t.write(newest)
	if err != nil {
		return err
	}
	return os.WriteFile(out, text, 0o644)
}

// download returns the OpenAPI document of a release. The module is big, so it goes to a cache of
// its own, which is removed.
func download(minor int) (document []byte, err error) {
	cache, err := os.MkdirTemp("", "kinds")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(cache)) }()
	cmd := exec.Command("go", "mod", "download", "-modcacherw", "-json", fmt.Sprintf("k8s.io/kubernetes@v1.%d.0", minor))
	cmd.Env = append(os.Environ(), "GOMODCACHE="+cache, "GOFLAGS=")
	answer, runErr := cmd.Output()
	var module struct{ Dir, Error string }
	if err := json.Unmarshal(answer, &module); err != nil {
		return nil, errors.Join(runErr, err)
	}
	if module.Error != "" {
		return nil, errors.New(module.Error)
	}
	return os.ReadFile(filepath.Join(module.Dir, "api", "openapi-spec", "swagger.json"))
}

// kind is one row of the table.
type kind struct {
	plural, scope string
	// patched reports whether objects of the kind can be applied, and are not only created or read.
	patched bool
	// served has the minor releases that serve each version.
	served map[string][]int
}

// table has the kinds by group and name.
type table map[string]map[string]*kind

// operation is what is read of one of an OpenAPI document.
type operation struct {
	Kind struct{ Group, Version, Kind string } `json:"x-kubernetes-group-version-kind"`
}

// resourcePath matches the path of a resource and that of one object of it, not those of
// subresources and watches.
var resourcePath = regexp.MustCompile(`^/(?:api|apis/[^/]+)/v[0-9a-z]+/(namespaces/\{namespace\}/)?([a-z]+)(/\{name\})?/?$`)

// add takes in what a release serves: all that can be created, and what can be read by name.
func (t table) add(minor int, document []byte) error {
	var doc struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(document, &doc); err != nil {
		return err
	}
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		match := resourcePath.FindStringSubmatch(path)
		if match == nil {
			continue
		}
		for verb, raw := range doc.Paths[path] {
			one := verb == "patch" || verb == "get"
			if (!one || match[3] == "") && (verb != "post" || match[3] != "") {
				continue
			}
			var op operation
			if err := json.Unmarshal(raw, &op); err != nil {
				return fmt.Errorf("%s %s: %w", verb, path, err)
			}
			if gvk := op.Kind; gvk.Kind != "" && gvk.Kind != "APIResourceList" {
				k := t.row(gvk.Group, gvk.Kind)
				k.plural, k.scope = match[2], "Cluster"
				if match[1] != "" {
					k.scope = "Namespaced"
				}
				k.patched = k.patched || verb == "patch"
				if list := k.served[gvk.Version]; !slices.Contains(list, minor) {
					k.served[gvk.Version] = append(list, minor)
				}
			}
		}
	}
	return nil
}

// row returns the row of a kind, which it adds where there is none.
func (t table) row(group, name string) *kind {
	if t[group] == nil {
		t[group] = map[string]*kind{}
	}
	if t[group][name] == nil {
		t[group][name] = &kind{served: map[string][]int{}}
	}
	return t[group][name]
}

const header = `# Code generated by go run ./config/kinds. DO NOT EDIT.
#
# The kinds that API servers of Kubernetes serve by themselves, by API group ("core" is the group
# without a name), and the releases that serve each version: "1.26..1.31" from 1.26 to 1.31,
# "1.30.." to the newest one known, "..1.15" from the oldest one known, which is 1.9. "supported" are
# the releases that clusters may run. "applied: false" is a kind whose objects can be created or read,
# and not changed.
`

// write returns the table as YAML, one line a kind.
func (t table) write(newest int) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(header)
	fmt.Fprintf(&b, "supported: 1.%d..1.%d\ngroups:\n", oldestSupported, newest)
	for _, group := range slices.Sorted(maps.Keys(t)) {
		fmt.Fprintf(&b, "  %s:\n", cmp.Or(group, "core"))
		for _, name := range slices.Sorted(maps.Keys(t[group])) {
			k := t[group][name]
			var versions []string
			for _, version := range slices.Sorted(maps.Keys(k.served)) {
				releases, err := span(k.served[version], newest)
				if err != nil {
					return nil, fmt.Errorf("%s/%s %s %w", group, version, name, err)
				}
				versions = append(versions, fmt.Sprintf("%s: %q", version, releases))
			}
			applied := ""
			if !k.patched {
				applied = ", applied: false"
			}
			fmt.Fprintf(&b, "    %s: {plural: %s, scope: %s%s, versions: {%s}}\n", name, k.plural, k.scope, applied, strings.Join(versions, ", "))
		}
	}
	return b.Bytes(), nil
}

// span writes a list of releases, which has no gap, as a range.
func span(releases []int, newest int) (string, error) {
	first, last := releases[0], releases[len(releases)-1]
	if last-first+1 != len(releases) {
		return "", fmt.Errorf("was served with a gap: %v", releases)
	}
	from, to := "", ""
	if first > oldestKnown {
		from = fmt.Sprintf("1.%d", first)
	}
	if last < newest {
		to = fmt.Sprintf("1.%d", last)
	}
	return from + ".." + to, nil
}

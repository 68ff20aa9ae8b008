package kustomize

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	yaml3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// guard is the file system of one build. It ends the build when it has read too much or its
// time is up, and refuses kustomizations that name what a build may not have.
//
// Kustomize takes an error of ReadFile for a file that is not there, and tries something
// else: the first fault stays, and nothing is read after it.
type guard struct {
	filesys.FileSystem
	request
	ctx context.Context
	// overlay is the directory that is built, and root its kustomization, once it was read.
	overlay, root string
	// keepOrigins reports whether the overlay itself asks for annotations with origins.
	keepOrigins bool
	reads, read int
	fault       *fault
	// seen are the files that were read, and kustomizations those among them, by path.
	seen           map[string][]byte
	kustomizations map[string]*types.Kustomization
}

// ReadFile is all that Kustomize reads by, so it can bound a build: by how much it reads, by
// aliases that would expand to too much, and by kustomizations that name what is not in the
// package. The first fault stays: Kustomize goes on after some errors, and wraps others.
func (g *guard) ReadFile(name string) ([]byte, error) {
	if g.fault != nil {
		return nil, g.fault
	}
	if err := g.ctx.Err(); err != nil {
		return nil, err
	}
	data, err := g.FileSystem.ReadFile(name)
	if err != nil {
		return nil, err
	}
	g.reads, g.read, g.seen[name] = g.reads+1, g.read+len(data), data
	switch {
	case g.reads > g.Budget.Reads:
		g.fault = g.over(fmt.Sprintf("to build it, more than %d files are read", g.Budget.Reads))
	case g.read > g.Budget.Read:
		g.fault = g.over(fmt.Sprintf("to build it, more than %d MiB are read", g.Budget.Read>>20))
	case manifest.Foreign(name, data) != nil:
		p := manifest.Foreign(name, data)
		g.fault = &fault{Reason: p.Reason, File: g.within(name), Line: p.Source.Line, Message: p.Message, Next: p.Next}
	case aliasesExplode(data):
		g.fault = &fault{Reason: v1alpha1.ReasonRenderBudget, File: g.within(name), Message: "its aliases (*) expand to too much", Next: "Write less by anchors (&) and aliases."}
	case slices.Contains(konfig.RecognizedKustomizationFileNames(), path.Base(name)):
		data = g.kustomization(name, data)
	}
	if g.fault != nil {
		return nil, g.fault
	}
	return data, nil
}

// within returns a path relative to the root of the package.
func (g *guard) within(name string) string {
	if name == "" {
		name = path.Join(g.overlay, konfig.DefaultKustomizationFileName())
	}
	return strings.TrimPrefix(strings.TrimPrefix(name, g.mount()), "/")
}

// kustomizationOf returns the path of a directory's kustomization.
func (g *guard) kustomizationOf(dir string) string {
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		if g.Exists(path.Join(dir, name)) {
			return path.Join(dir, name)
		}
	}
	return g.root
}

// over returns a fault of the overlay as a whole.
func (g *guard) over(message string) *fault {
	return &fault{Reason: v1alpha1.ReasonRenderBudget, File: g.within(g.root), Message: message, Next: "Name fewer resources in it, or split it into several seeds."}
}

// kustomization checks one kustomization, when Kustomize reads it, and so before anything that it
// names is read. That of the overlay comes back with origins switched on.
func (g *guard) kustomization(name string, data []byte) []byte {
	var k types.Kustomization
	if err := k.Unmarshal(data); err != nil {
		g.fault = &fault{Reason: v1alpha1.ReasonRenderFailed, File: g.within(name), Message: "it is not a kustomization: " + g.readable(err.Error()), Next: "Correct the file."}
		return nil
	}
	g.kustomizations[name] = &k
	c := check{guard: g, dir: path.Dir(name)}
	c.fields(&k)
	if c.message != "" {
		g.fault = &fault{Reason: c.reason, File: g.within(name), Line: lineOf(data, c.value), Message: c.message, Next: c.next}
		return nil
	}
	if path.Dir(name) != g.overlay {
		return data
	}
	g.root = name
	if g.keepOrigins = slices.Contains(k.BuildMetadata, types.OriginAnnotations); g.keepOrigins {
		return data
	}
	with := k
	with.BuildMetadata = append(slices.Clone(k.BuildMetadata), types.OriginAnnotations)
	out, err := yaml.Marshal(with)
	if err != nil {
		g.fault = &fault{Reason: v1alpha1.ReasonRenderFailed, File: g.within(name), Message: "it is not a kustomization: " + err.Error(), Next: "Correct the file."}
	}
	return out
}

// lineOf returns the first line that has a text; 0 where there is none.
func lineOf(data []byte, text string) int {
	at := bytes.Index(data, []byte(text))
	if at < 0 || text == "" {
		return 0
	}
	return bytes.Count(data[:at], []byte("\n")) + 1
}

// check finds the first thing in a kustomization that a build may not have.
type check struct {
	*guard
	dir                  string
	reason               v1alpha1.Reason
	value, message, next string
}

func (c *check) refuse(value, message, next string) {
	c.report(v1alpha1.ReasonRenderRefused, value, message, next)
}

func (c *check) report(reason v1alpha1.Reason, value, message, next string) {
	if c.message == "" {
		c.reason, c.value, c.message, c.next = reason, value, message, next
	}
}

// fields goes through all fields that make Kustomize read or run something. A field that is missing
// here is still bounded: the file system has nothing but the package, and the process has no
// network. But the error would be one that people cannot act on.
func (c *check) fields(k *types.Kustomization) {
	for _, plugins := range []struct {
		field string
		are   []string
	}{{"generators", k.Generators}, {"transformers", k.Transformers}, {"validators", k.Validators}} {
		if len(plugins.are) > 0 {
			c.refuse(plugins.field, "it has "+plugins.field+", which are plugins, and those are not run", "Use the fields of a kustomization instead, such as configMapGenerator, patches and replacements, or commit what 'kustomize build' prints.")
		}
	}
	if len(k.HelmCharts)+len(k.HelmChartInflationGenerator) > 0 || k.HelmGlobals != nil {
		c.refuse("helm", "it inflates Helm charts, and those are not run", "Commit what 'helm template' prints, and list that file in resources.")
	}
	for _, name := range slices.Concat(k.Resources, k.Bases) { //nolint:staticcheck // Kustomize still reads it
		c.base("resources", name)
	}
	for _, name := range k.Components {
		c.base("components", name)
	}
	c.files("crds", k.Crds...)
	c.files("configurations", k.Configurations...)
	c.files("openapi", k.OpenAPI["path"])
	for _, p := range k.PatchesStrategicMerge { //nolint:staticcheck // Kustomize still reads it
		if isURL.MatchString(string(p)) || !strings.ContainsAny(string(p), "\n{") { // else it is the patch itself
			c.files("patchesStrategicMerge", string(p))
		}
	}
	for _, p := range slices.Concat(k.Patches, k.PatchesJson6902) { //nolint:staticcheck // Kustomize still reads it
		c.files("patches", p.Path)
	}
	for _, r := range k.Replacements {
		c.files("replacements", r.Path)
	}
	for _, g := range k.ConfigMapGenerator {
		c.sources("configMapGenerator", g.KvPairSources)
	}
	for _, g := range k.SecretGenerator {
		c.sources("secretGenerator", g.KvPairSources)
	}
}

func (c *check) sources(field string, s types.KvPairSources) {
	for _, source := range s.FileSources {
		if _, file, keyed := strings.Cut(source, "="); keyed {
			source = file
		}
		c.files(field, source)
	}
	c.files(field, s.EnvSources...)
	c.files(field, s.EnvSource)
}

// remote are the forms in which Kustomize accepts what is elsewhere.
var remote = regexp.MustCompile(`(?i)^(git::|github\.com|[a-z][a-z0-9+.-]*:)|^[^/]*[@:]|\?`)

// base checks a file or directory that is named as a resource or component.
func (c *check) base(field, name string) {
	at := path.Join(c.dir, name)
	switch {
	case remote.MatchString(name):
		c.refuse(name, fmt.Sprintf("%s names %q, which is not in the package, and nothing is fetched", field, name), "Copy its files into the package, and name their directory.")
	case path.IsAbs(name) || !c.inPackage(at):
		c.refuse(name, fmt.Sprintf("%s names %q, which leads out of the package", field, name), "Copy it into the package.")
	case !c.Exists(at):
		c.report(v1alpha1.ReasonRenderFailed, name, fmt.Sprintf("%s names %q, which is not there", field, name), "Add it, or correct the path.")
	case !c.IsDir(at):
		c.files(field, name)
	}
}

// files checks files, which must be in the kustomization's own directory or below. Kustomize would
// report them too, in words for those who know its loader.
func (c *check) files(field string, names ...string) {
	for _, name := range names {
		at := path.Join(c.dir, name)
		switch {
		case name == "":
		case remote.MatchString(name) && !c.Exists(at), isURL.MatchString(name):
			c.refuse(name, fmt.Sprintf("%s names %q, which is not in the package, and nothing is fetched", field, name), "Copy the file into the package, and name it by its path.")
		case path.IsAbs(name) || !c.inPackage(at):
			c.refuse(name, fmt.Sprintf("%s names %q, which leads out of the package", field, name), "Copy it into the package.")
		case !strings.HasPrefix(at, c.dir+"/"):
			c.refuse(name, fmt.Sprintf("%s names the file %q, and Kustomize reads files only in the directory of the kustomization or below", field, name), "Move the file there, or name a directory that has a kustomization of its own.")
		case !c.Exists(at):
			c.report(v1alpha1.ReasonRenderFailed, name, fmt.Sprintf("%s names %q, which is not there", field, name), "Add it, or correct the path.")
		}
	}
}

// isURL matches a file that Kustomize would fetch.
var isURL = regexp.MustCompile(`(?i)^\s*https?:`)

func (c *check) inPackage(at string) bool {
	return at == c.mount() || strings.HasPrefix(at, c.mount()+"/")
}

// maxNodes is how many values a file may have once its aliases are written out.
const maxNodes = 1_000_000

// aliasesExplode reports whether aliases make a file much larger than it is written. It counts as
// if they were written out, and stops at maxNodes, so the check itself takes bounded time.
func aliasesExplode(data []byte) bool {
	if !bytes.Contains(data, []byte("&")) || !bytes.Contains(data, []byte("*")) {
		return false
	}
	left := maxNodes
	var count func(n *yaml3.Node)
	count = func(n *yaml3.Node) {
		if left--; n == nil || left < 0 {
			return
		}
		count(n.Alias)
		for _, child := range n.Content {
			if count(child); left < 0 {
				return
			}
		}
	}
	decoder := yaml3.NewDecoder(bytes.NewReader(data))
	for left >= 0 {
		var doc yaml3.Node
		if decoder.Decode(&doc) != nil {
			return false // Kustomize says what is wrong with it, or does not read it as YAML
		}
		count(&doc)
	}
	return true
}

func asFault(err error, to **fault) bool { return errors.As(err, to) }

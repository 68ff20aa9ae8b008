package catalog

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plugin"
)

// plugins are the Plugin documents, while they are read.
type plugins struct {
	named map[string]plugin.Plugin
	// all are the names of those that run for every seed. A document that cannot be used is among
	// them, unless it certainly runs only for the seeds that name it.
	all map[string]bool
	// weights order them.
	weights map[string]int32
	// paths are those of the modules.
	paths map[string]string
	// unparsed is the position of a document that may be meant as a Plugin and cannot be read.
	unparsed manifest.Source
}

func newPlugins() plugins {
	return plugins{named: map[string]plugin.Plugin{}, all: map[string]bool{}, weights: map[string]int32{}, paths: map[string]string{}}
}

var digestForm = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// takePlugin reads a Plugin document. Whatever is wrong with it, it is known for which seeds it is.
func (d *documents) takePlugin(o manifest.Object) error {
	if mayRunForAll(o) {
		d.plugins.all[o.ID.Name] = true
	}
	doc, err := decode[v1alpha1.Plugin](o)
	if err != nil {
		return err
	}
	s := doc.Spec
	config, err := configOf(o, s)
	if err != nil {
		return err
	}
	if field, message, next := pluginFault(doc); message != "" {
		return o.Problem(v1alpha1.ReasonInvalidField, message, next).WithField(field)
	}
	d.plugins.named[o.ID.Name] = plugin.Plugin{
		Name: o.ID.Name, Source: o.Source, Protocol: s.ProtocolOrDefault(), Executable: s.Executable, Digest: s.Digest, Config: config,
		AllowRemoval: s.AllowRemoval, Timeout: s.TimeoutOrDefault(), Memory: s.MemoryOrDefault(),
	}
	d.plugins.weights[o.ID.Name], d.plugins.paths[o.ID.Name] = s.Weight, s.Module
	return nil
}

// mayRunForAll reports whether a document is meant to run for every seed, as far as it can be read.
func mayRunForAll(o manifest.Object) bool {
	spec := o.Map("spec")
	if value, ok := spec["seeds"]; ok {
		return value != string(v1alpha1.PluginSeedsNamed)
	}
	for key := range spec {
		if manifest.Distance(strings.ToLower(key), "seeds") <= slip {
			return true
		}
	}
	return spec == nil
}

// configOf returns the functionConfig.
func configOf(o manifest.Object, s v1alpha1.PluginSpec) (map[string]any, error) {
	if s.Config == nil {
		return nil, nil
	}
	var config map[string]any
	if err := json.Unmarshal(s.Config.Raw, &config); err != nil {
		return nil, o.Problem(v1alpha1.ReasonInvalidField, "spec.config is not an object", "Write the fields of a functionConfig.").WithField("spec.config")
	}
	return config, nil
}

// pluginFault returns what is wrong with a Plugin document; no message where nothing is.
func pluginFault(doc v1alpha1.Plugin) (field, message, next string) {
	s := doc.Spec
	memory, timeout := s.MemoryOrDefault(), s.TimeoutOrDefault()
	switch {
	case nameFault(doc.Metadata.Name) != "":
		return "metadata.name", nameFault(doc.Metadata.Name), "Correct metadata.name."
	case (s.Module == "") == (s.Executable == ""):
		return "spec.module", "it must have either spec.module or spec.executable", "Name one program."
	case s.Module != "" && !cleanPath(s.Module):
		return "spec.module", fmt.Sprintf("spec.module %q is not a file inside the control-plane tree", s.Module), "Write a relative path without '..'."
	case s.Executable != "" && (path.Base(s.Executable) != s.Executable || !cleanPath(s.Executable)):
		return "spec.executable", fmt.Sprintf("spec.executable %q is not the name of a file", s.Executable), "Write its name in the directory of --plugins, without a path."
	case !digestForm.MatchString(s.Digest):
		return "spec.digest", "spec.digest is not of the form sha256:<64 hex digits>", "Write what 'sha256sum' prints of the program."
	case !slices.Contains([]v1alpha1.PluginSeeds{v1alpha1.PluginSeedsNamed, v1alpha1.PluginSeedsAll}, s.SeedsOrDefault()):
		return "spec.seeds", fmt.Sprintf("spec.seeds %q is unknown", s.Seeds), "Write Named or All."
	case !slices.Contains([]v1alpha1.PluginProtocol{v1alpha1.PluginProtocolKRM, v1alpha1.PluginProtocolPlanter}, s.ProtocolOrDefault()):
		return "spec.protocol", fmt.Sprintf("spec.protocol %q is unknown", s.Protocol), "Write KRM or Planter."
	case s.Config != nil && s.ProtocolOrDefault() == v1alpha1.PluginProtocolPlanter:
		return "spec.config", "the protocol of Planter has no configuration", "Remove spec.config, or write a KRM function."
	case timeout <= 0 || timeout > v1alpha1.MaxPluginTimeout:
		return "spec.timeout", fmt.Sprintf("spec.timeout is %s", timeout), fmt.Sprintf("Write a duration of at most %s.", v1alpha1.MaxPluginTimeout)
	case memory < v1alpha1.MinPluginMemory || memory > v1alpha1.MaxPluginMemory:
		return "spec.memory", fmt.Sprintf("spec.memory is %s", s.Memory), "Write a size from 16Mi to 1Gi."
	}
	return "", "", ""
}

// readModules reads the modules that documents name, and compares their digests.
func (d *documents) readModules(tree fs.FS) error {
	for _, name := range slices.Sorted(maps.Keys(d.plugins.named)) {
		at := d.plugins.paths[name]
		if at == "" {
			continue
		}
		data, fault, err := d.readModule(tree, at)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(data)
		p := d.plugins.named[name]
		switch found := "sha256:" + hex.EncodeToString(sum[:]); {
		case fault != "":
			d.report(v1alpha1.ReasonFileUnreadable, "Plugin", name, "spec.module", fmt.Sprintf("spec.module %s %s", manifest.Printable(at), fault), "Commit the module, or correct the path.")
		case found != p.Digest:
			d.report(v1alpha1.ReasonPluginDigest, "Plugin", name, "spec.digest", fmt.Sprintf("spec.digest is %s, and %s has %s", p.Digest, manifest.Printable(at), found), "Review what changed, and correct spec.digest.")
		default:
			p.Module = data
			d.plugins.named[name] = p
			continue
		}
		delete(d.plugins.named, name)
	}
	return nil
}

// readModule reads a file of the tree. fault says why it cannot be read.
func (d *documents) readModule(tree fs.FS, at string) (data []byte, fault string, err error) {
	target, kind, fault, err := resolve(tree, at)
	switch {
	case err != nil || fault != "":
		return nil, fault, err
	case !kind.IsRegular():
		return nil, "is not a file", nil
	}
	files := NewFiles(d.reading)
	if err := files.addFile(tree, target, at); err != nil {
		return nil, "", err
	}
	if len(files.Problems) > 0 {
		return nil, "is too large: " + files.Problems[0].Message, nil
	}
	return files.Content[at], "", nil
}

// mayHoldPlugin reports whether a file that cannot be parsed may hold a Plugin document.
func mayHoldPlugin(text []byte) bool {
	return pluginKind.Match(bytes.ReplaceAll(text, []byte{0}, nil)) // UTF-16, or nearly
}

var pluginKind = regexp.MustCompile(`kind["']?\s*:\s*["']?Plugin\b`)

// Plugins returns the plugins that run for a package, in their order. Where that is not known,
// because a document that says so cannot be used, there are problems and no plugins: the package
// must not be planned without one.
func (p *Packages) Plugins(pkg *Package) ([]plugin.Plugin, manifest.Problems) {
	var problems manifest.Problems
	names := maps.Clone(p.docs.plugins.all)
	if pkg.spec != nil {
		for _, name := range pkg.spec.Plugins {
			names[name] = true
		}
	}
	if at := p.docs.plugins.unparsed; at != (manifest.Source{}) {
		problems = append(problems, pkg.Problem(v1alpha1.ReasonBrokenDocument, at, "this file cannot be read and may hold a plugin for the seed", "Correct the file."))
	}
	var found []plugin.Plugin
	for _, name := range slices.Sorted(maps.Keys(names)) {
		one, declared := p.docs.plugins.named[name]
		fault, broken := p.docs.faults.named[documentKey{"Plugin", name}]
		switch {
		case broken:
			problems = append(problems, pkg.Problem(cmp.Or(fault.Reason, v1alpha1.ReasonBrokenDocument), fault.Source, fmt.Sprintf("Plugin %q runs for the seed, and cannot be used: %s", name, fault.Message), fault.Next))
		case declared:
			found = append(found, one)
		case names[name]:
			problems = append(problems, pkg.Problem(v1alpha1.ReasonUnknownPlugin, pkg.RenderAt(), cmp.Or(p.docs.faults.of("Plugin", name), fmt.Sprintf("spec.plugins names %q, and no Plugin of that name is declared", name)), "Declare it in the control plane, or correct spec.plugins.").WithField("spec.plugins"))
		}
	}
	if len(problems) > 0 {
		return nil, problems
	}
	slices.SortStableFunc(found, func(a, b plugin.Plugin) int {
		return cmp.Compare(p.docs.plugins.weights[a.Name], p.docs.plugins.weights[b.Name])
	})
	return found, nil
}

// cleanPath reports whether a path is one of the tree, written in its shortest form.
func cleanPath(p string) bool {
	return fs.ValidPath(p) && p != "." && !strings.ContainsFunc(p, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' })
}

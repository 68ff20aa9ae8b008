// Package plugin has what plugins are, what they read, and what becomes of what they write. It runs
// nothing: internal/plugin does.
//
//	Input ─▶ a process or a WASM module ─▶ Run ─▶ Output
//
// A plugin reads all objects of one variant of a seed, and writes all that replace them. What holds:
//
//   - Documents that SOPS encrypted, and the Seed document, are not for plugins: Input leaves them
//     out, and Output puts them back.
//   - A plugin that fails in any way changes nothing, and its problem names it. Only its own seed has
//     the problem.
//   - Of each annotation that a plugin wrote it is known which one did (manifest.Written). Where a
//     person said where an object goes, that stays.
//   - Texts of plugins are bounded, and have no value of a Secret that the plugin read.
package plugin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// Plugin is one plugin as it runs for a seed.
type Plugin struct {
	Name string
	// Source is the position of its document, which is that of the objects it adds.
	Source   manifest.Source
	Protocol v1alpha1.PluginProtocol
	// Executable is a name in the directory that the operator allows; empty for a module.
	Executable string
	// Module is a WASM module.
	Module []byte
	// Digest is that of the executable or module, which it must have: "sha256:…".
	Digest string
	// Config is the functionConfig; nil where there is none.
	Config       map[string]any
	AllowRemoval bool
	// Timeout bounds all its runs for one seed, and Memory each.
	Timeout time.Duration
	Memory  int64
}

// MaxOutput bounds what a plugin writes for one variant of a seed.
const MaxOutput = 64 << 20

// Ending is how a run ended.
type Ending string

// The endings.
const (
	Exited         Ending = "Exited" // by itself, with Run.Code
	Signalled      Ending = "Signalled"
	OverTime       Ending = "OverTime"
	OverMemory     Ending = "OverMemory"
	OverOutput     Ending = "OverOutput"
	OverFiles      Ending = "OverFiles"
	NotAllowed     Ending = "NotAllowed"
	NotFound       Ending = "NotFound"
	NotStarted     Ending = "NotStarted"
	OtherDigest    Ending = "OtherDigest"
	InvalidProgram Ending = "InvalidProgram"
)

// Run is what became of one run of a plugin.
type Run struct {
	Output []byte
	// Stderr is the end of what it wrote on the standard error.
	Stderr string
	Ending Ending
	Code   int
	// Detail says more: the error, or the digest that was found.
	Detail string
}

// ours reports whether an object is not for plugins.
func ours(o manifest.Object) bool {
	return o.Encrypted() || o.ID.Group == v1alpha1.Group && o.ID.Kind == "Seed"
}

// Input returns what the plugin reads of objects.
func (p Plugin) Input(objects []manifest.Object) ([]byte, error) {
	objects = slices.DeleteFunc(slices.Clone(objects), ours)
	if p.Protocol == v1alpha1.PluginProtocolPlanter {
		return stream(objects)
	}
	return resourceList(p.Config, objects)
}

// stream returns documents of YAML, as Planter's plugins read and write them.
func stream(objects []manifest.Object) ([]byte, error) {
	var b bytes.Buffer
	for i, o := range objects {
		data, err := o.Bytes()
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b.WriteString("---\n")
		}
		b.Write(data)
	}
	return b.Bytes(), nil
}

// resourceList returns a ResourceList of version v1 in JSON, which every parser of YAML reads, and
// programs without one as well.
func resourceList(config map[string]any, objects []manifest.Object) ([]byte, error) {
	items := make([]map[string]any, len(objects))
	for i, o := range objects {
		items[i] = o.Body
	}
	list := struct {
		APIVersion     string           `json:"apiVersion"`
		Kind           string           `json:"kind"`
		FunctionConfig map[string]any   `json:"functionConfig,omitempty"`
		Items          []map[string]any `json:"items"`
	}{listGroup + "/v1", listKind, config, items}
	data, err := json.MarshalIndent(list, "", "  ")
	return append(data, '\n'), err
}

// Output returns the objects that replace those that the plugin read. Where there are problems, it
// has failed and the objects are as before.
func (p Plugin) Output(before []manifest.Object, run Run) (after []manifest.Object, warnings, problems manifest.Problems) {
	o := output{Plugin: p, hidden: secretsIn(before)}
	var written []manifest.Object
	switch {
	case run.Ending != Exited:
		o.ended(run)
	case p.Protocol == v1alpha1.PluginProtocolPlanter:
		written = o.planter(run)
	default:
		written = o.function(run, before)
	}
	if len(o.problems) == 0 {
		after = o.replace(before, written)
	}
	if len(o.problems) > 0 {
		return before, nil, o.problems
	}
	return after, o.warnings, nil
}

// output is the work on one run.
type output struct {
	Plugin
	hidden             hidden
	warnings, problems manifest.Problems
}

// refuse notes why the plugin failed.
func (o *output) refuse(reason v1alpha1.Reason, message, next string) {
	o.problems = append(o.problems, o.problem(reason, message, next))
}

func (o *output) problem(reason v1alpha1.Reason, message, next string) manifest.Problem {
	return manifest.Problem{Reason: reason, Source: o.Source, Object: o.Title(), Message: message, Next: next}
}

// Unstable returns a warning if a second run with the same input made other objects of it, in whatever order,
// and nil otherwise, or if that run did not succeed.
func (p Plugin) Unstable(before, first []manifest.Object, second Run) *manifest.Problem {
	again, _, problems := p.Output(before, second)
	bodies := make(map[manifest.ID]map[string]any, len(again))
	for _, o := range again {
		bodies[o.ID] = o.Body
	}
	differs := func(o manifest.Object) bool { return !reflect.DeepEqual(bodies[o.ID], o.Body) }
	if len(problems) > 0 || len(again) == len(first) && !slices.ContainsFunc(first, differs) {
		return nil
	}
	return &manifest.Problem{Reason: v1alpha1.ReasonPluginUnstable, Source: p.Source, Object: p.Title(), Message: "two runs with the same input wrote different output, so every start of Furrow would make a new plan",
		Next: "Let its output depend on its input alone, without times, random values or the order of a map."}
}

// Title names the plugin for people.
func (p Plugin) Title() string { return fmt.Sprintf("Plugin %q", p.Name) }

// ended explains a run that the plugin did not end by itself.
func (o *output) ended(run Run) {
	stderr := o.stderr(run)
	what := "module"
	if o.Executable != "" {
		what = "executable " + manifest.Printable(o.Executable)
	}
	switch run.Ending {
	case OverTime:
		o.refuse(v1alpha1.ReasonPluginBudget, fmt.Sprintf("it took longer than %s%s", o.Timeout, stderr), "Make it faster, or raise spec.timeout.")
	case OverMemory:
		o.refuse(v1alpha1.ReasonPluginBudget, fmt.Sprintf("it took more than %d MiB of memory%s", o.Memory>>20, stderr), "Make it use less, or raise spec.memory.")
	case OverOutput:
		o.refuse(v1alpha1.ReasonPluginBudget, fmt.Sprintf("it wrote more than %d MiB%s", MaxOutput>>20, stderr), "Make it write the objects of the seed, and nothing else.")
	case OverFiles:
		o.refuse(v1alpha1.ReasonPluginBudget, fmt.Sprintf("it wrote more than %d MiB of files%s", MaxOutput>>20, stderr), "Make it keep less in its working directory.")
	case NotAllowed:
		o.refuse(v1alpha1.ReasonPluginNotAllowed, "executables are not allowed here", "Start Furrow with --plugins and the directory that holds "+manifest.Printable(o.Executable)+", or use a WASM module.")
	case NotFound:
		o.refuse(v1alpha1.ReasonPluginNotAllowed, "the directory of --plugins has no "+what+note(run.Detail), "Add it there, or correct spec.executable.")
	case OtherDigest:
		o.refuse(v1alpha1.ReasonPluginDigest, fmt.Sprintf("spec.digest is %s, and the %s has %s", o.Digest, what, run.Detail), "Review what changed, and correct spec.digest.")
	case InvalidProgram:
		o.refuse(v1alpha1.ReasonPluginFailed, "the "+what+" cannot be run"+note(run.Detail), "Build it anew: a module must have the command interface of WASI (GOOS=wasip1 GOARCH=wasm).")
	case NotStarted:
		o.refuse(v1alpha1.ReasonPluginFailed, "the "+what+" cannot be started"+note(run.Detail), "Correct that where Furrow runs.")
	default:
		o.refuse(v1alpha1.ReasonPluginFailed, "it was ended by a signal"+note(run.Detail)+stderr, "Correct the plugin.")
	}
}

func note(detail string) string {
	if detail == "" {
		return ""
	}
	return " (" + manifest.Printable(detail) + ")"
}

// failed refuses a run that ended with another code than 0.
func (o *output) failed(run Run) {
	o.refuse(v1alpha1.ReasonPluginFailed, fmt.Sprintf("it ended with code %d%s", run.Code, o.stderr(run)), "Correct the plugin, or what it objects to.")
}

// planter reads documents.
func (o *output) planter(run Run) []manifest.Object {
	if run.Code != 0 {
		o.failed(run)
		return nil
	}
	return o.parse(run)
}

// maxProblems is how many problems of one output are reported.
const maxProblems = 5

// parse reads the objects of an output. Lines of an output are nowhere to be found, so a problem is
// at the plugin, and its message has what is known of the object.
func (o *output) parse(run Run) []manifest.Object {
	objects, err := manifest.Parse("output", run.Output)
	problems := manifest.ProblemsOf(err)
	for i, p := range problems {
		if i == maxProblems {
			o.refuse(v1alpha1.ReasonPluginOutput, fmt.Sprintf("%d more problems are in what it wrote", len(problems)-i), "Correct the plugin.")
			break
		}
		o.refuse(v1alpha1.ReasonPluginOutput, "what it wrote cannot be used: "+strings.TrimSuffix(o.clean(p.Error()), ".")+o.stderr(run), "Correct the plugin.")
	}
	if len(problems) == 0 && len(objects) == 0 {
		o.refuse(v1alpha1.ReasonPluginOutput, "it wrote no objects"+o.stderr(run), "Correct the plugin: what it writes replaces the whole seed.")
	}
	return objects
}

// replace joins what the plugin wrote with what it did not read.
func (o *output) replace(before, written []manifest.Object) []manifest.Object {
	was := map[manifest.ID][]manifest.Object{}
	var kept []manifest.Object
	for _, b := range before {
		if ours(b) {
			kept = append(kept, b)
			continue
		}
		was[b.ID] = append(was[b.ID], b)
	}
	after := make([]manifest.Object, 0, len(written)+len(kept))
	for _, w := range written {
		if ours(w) {
			o.refuse(v1alpha1.ReasonPluginOutput, "it wrote "+w.ID.String()+", which plugins may not write", "Correct the plugin: it cannot write Seed documents, nor encrypted ones.")
			continue
		}
		after = append(after, o.object(w, was))
	}
	if !o.AllowRemoval {
		o.removed(before, was)
	}
	return append(after, kept...)
}

// object returns one object that the plugin wrote, and takes what it was out of was.
func (o *output) object(w manifest.Object, was map[manifest.ID][]manifest.Object) manifest.Object {
	w = withoutInternal(w, was[w.ID])
	of := was[w.ID]
	if len(of) == 0 {
		w = o.judge(w)
		w.Source = o.Source
		return w.After(o.Name, manifest.Object{})
	}
	i := max(0, slices.IndexFunc(of, func(b manifest.Object) bool { return reflect.DeepEqual(b.Body, w.Body) }))
	b := of[i]
	was[w.ID] = slices.Delete(slices.Clone(of), i, i+1)
	if reflect.DeepEqual(b.Body, w.Body) {
		return b
	}
	w = o.judge(w)
	w.Source = b.Source
	return o.keepPlacement(w, b).After(o.Name, b)
}

// judge says of the plugin what reading its output found in an object that it wrote.
func (o *output) judge(w manifest.Object) manifest.Object {
	for _, p := range w.Faults() {
		if len(o.problems) < maxProblems {
			o.refuse(v1alpha1.ReasonPluginOutput, "what it wrote cannot be used: "+w.Title()+": "+o.clean(p.Message), "Correct the plugin, for example to quote text that YAML reads as a number.")
		}
	}
	for _, p := range w.Warnings() {
		o.warnings = append(o.warnings, o.problem(p.Reason, "it wrote "+w.Title()+": "+o.clean(p.Message), p.Next))
	}
	w.Remarks = nil
	return w
}

// removed refuses what the plugin read and did not write.
func (o *output) removed(before []manifest.Object, left map[manifest.ID][]manifest.Object) {
	var names []string
	for _, b := range before {
		if len(left[b.ID]) > 0 {
			left[b.ID] = left[b.ID][1:]
			names = append(names, b.ID.String()+" of "+b.Source.String())
		}
	}
	const most = 5
	if n := len(names); n > most {
		names = append(names[:most], fmt.Sprintf("and %d more", n-most))
	}
	if len(names) > 0 {
		o.refuse(v1alpha1.ReasonPluginRemoval, "it removed "+strings.Join(names, ", "), "Correct the plugin, or set spec.allowRemoval if it may remove objects.")
	}
}

// keepPlacement puts back where a person said that the object goes: that comes before what a plugin
// writes.
func (o *output) keepPlacement(w, before manifest.Object) manifest.Object {
	said, now := before.Annotations(), w.Annotations()
	person, changed := "", false
	for _, key := range v1alpha1.PlacementAnnotations {
		if value, ok := said[key]; ok && before.WrittenBy(key, value) == "" {
			person = key
		}
		changed = changed || said[key] != now[key]
	}
	if person == "" || !changed {
		return w
	}
	for _, key := range v1alpha1.PlacementAnnotations {
		w = w.WithoutAnnotation(key)
		if value, ok := said[key]; ok {
			w = w.WithAnnotation(key, value)
		}
	}
	p := before.Problem(v1alpha1.ReasonConflictingPlacement, fmt.Sprintf("plugin %s says where it goes, and so does its annotation %s, which stays", o.Name, person), "Remove the annotation if the plugin is to decide.")
	o.warnings = append(o.warnings, p.WithField(person))
	return w
}

// internal are annotations by which functions and what runs them keep track of files.
var internal = []string{"config.kubernetes.io/path", "config.kubernetes.io/index", "config.kubernetes.io/id"}

// withoutInternal removes those that the plugin has added.
func withoutInternal(w manifest.Object, before []manifest.Object) manifest.Object {
	for key := range w.Annotations() {
		if !slices.Contains(internal, key) && !strings.HasPrefix(key, "internal.config.kubernetes.io/") {
			continue
		}
		if !slices.ContainsFunc(before, func(b manifest.Object) bool { _, had := b.Annotations()[key]; return had }) {
			w = w.WithoutAnnotation(key)
		}
	}
	return w
}

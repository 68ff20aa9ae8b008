package plugin

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	yaml3 "go.yaml.in/yaml/v3"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

const (
	listGroup = "config.kubernetes.io"
	listKind  = "ResourceList"
)

// list is a ResourceList without its items, which manifest.Parse reads.
type list struct {
	APIVersion string     `yaml:"apiVersion"`
	Kind       string     `yaml:"kind"`
	Items      yaml3.Node `yaml:"items"`
	Results    yaml3.Node `yaml:"results"`
}

// result is one finding of a function.
type result struct {
	Message     string `yaml:"message"`
	Severity    string `yaml:"severity"`
	ResourceRef struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string `yaml:"kind"`
		Name       string `yaml:"name"`
		Namespace  string `yaml:"namespace"`
	} `yaml:"resourceRef"`
	Field struct {
		Path string `yaml:"path"`
	} `yaml:"field"`
}

// function reads a ResourceList. A function reports what it finds in results, also where it ends
// with another code than 0.
func (o *output) function(run Run, before []manifest.Object) []manifest.Object {
	l, err := readList(run.Output)
	if run.Code != 0 {
		if err == nil {
			o.report(l, before)
		}
		if len(o.problems) == 0 {
			o.failed(run)
		}
		return nil
	}
	if err != nil {
		o.refuse(v1alpha1.ReasonPluginOutput, fmt.Sprintf("what it wrote is not a ResourceList: %s%s", o.clean(err.Error()), o.stderr(run)), "Correct the plugin; with the protocol of Planter, set spec.protocol.")
		return nil
	}
	if o.report(l, before); len(o.problems) > 0 {
		return nil
	}
	if len(l.Items.Content) == 0 {
		return nil
	}
	return o.parse(run)
}

// readList reads the only document of an output.
func readList(data []byte) (list, error) {
	var l list
	if len(bytes.TrimSpace(data)) == 0 {
		return l, errors.New("there is nothing")
	}
	d := yaml3.NewDecoder(bytes.NewReader(data))
	if err := d.Decode(&l); err != nil {
		return l, err
	}
	if err := d.Decode(&yaml3.Node{}); !errors.Is(err, io.EOF) {
		return l, errors.New("there is more than one document")
	}
	switch {
	case l.Kind != listKind:
		return l, fmt.Errorf("kind is %q", l.Kind)
	case l.APIVersion != listGroup+"/v1" && l.APIVersion != listGroup+"/v1beta1":
		return l, fmt.Errorf("apiVersion is %q", l.APIVersion)
	case l.Items.Kind != yaml3.SequenceNode:
		return l, errors.New("it has no items")
	}
	for i, item := range l.Items.Content {
		var object struct{ Kind string }
		if err := item.Decode(&object); err != nil || object.Kind == "" {
			return l, fmt.Errorf("item %d is not an object with a kind", i)
		}
	}
	return l, nil
}

// results returns those of a list; version v1beta1 also has them below items.
func (l list) results() ([]result, error) {
	var found []result
	if l.Results.Kind == yaml3.MappingNode {
		var wrapped struct {
			Items []result `yaml:"items"`
		}
		err := l.Results.Decode(&wrapped)
		return wrapped.Items, err
	}
	if l.Results.IsZero() {
		return nil, nil
	}
	err := l.Results.Decode(&found)
	return found, err
}

// rank orders results, errors first. Without a severity, a result is for information.
func (r result) rank() int {
	switch strings.ToLower(r.Severity) {
	case "error":
		return 0
	case "warning":
		return 1
	}
	return 2
}

// maxResults is how many results of one run are shown.
const maxResults = 50

// report makes problems of the errors among the results, and warnings of all others.
func (o *output) report(l list, before []manifest.Object) {
	results, err := l.results()
	if err != nil {
		o.refuse(v1alpha1.ReasonPluginOutput, "its results cannot be read: "+o.clean(err.Error()), "Correct the plugin.")
		return
	}
	slices.SortStableFunc(results, func(a, b result) int { return cmp.Compare(a.rank(), b.rank()) })
	for i, r := range results {
		severe := r.rank() == 0
		p := o.finding(r, before)
		if i == maxResults {
			p = o.problem(v1alpha1.ReasonPluginFinding, fmt.Sprintf("it reports %d more results", len(results)-i), "Correct the first ones.")
		}
		if severe {
			o.problems = append(o.problems, p)
		} else {
			o.warnings = append(o.warnings, p)
		}
		if i == maxResults {
			return
		}
	}
}

// about returns the object that a result names; nil if there is none. Functions often leave out the
// apiVersion or the namespace, which is enough where one object fits.
func (r result) about(objects []manifest.Object) *manifest.Object {
	ref := r.ResourceRef
	group, _, grouped := strings.Cut(ref.APIVersion, "/")
	if !grouped {
		group = ""
	}
	var found *manifest.Object
	for i := range objects {
		id := objects[i].ID
		switch {
		case id == manifest.ID{Group: group, Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name}:
			return &objects[i]
		case id.Kind != ref.Kind || id.Name != ref.Name, ref.APIVersion != "" && id.Group != group, ref.Namespace != "" && id.Namespace != ref.Namespace:
		case found != nil:
			return nil
		default:
			found = &objects[i]
		}
	}
	return found
}

// finding returns a result as a problem, at the object that it names.
func (o *output) finding(r result, before []manifest.Object) manifest.Problem {
	p := o.problem(v1alpha1.ReasonPluginFinding, o.clean(cmp.Or(r.Message, "it gives no message")), "")
	if about := r.about(before); about != nil {
		p.Source, p.Object = about.Source, about.Title()
		p.Message = fmt.Sprintf("plugin %s: %s", o.Name, p.Message)
	} else if ref := r.ResourceRef; ref.Kind+ref.Name != "" {
		names := slices.DeleteFunc([]string{ref.Kind, ref.Namespace, ref.Name}, func(part string) bool { return part == "" })
		p.Message = fmt.Sprintf("%s: %s", o.clean(strings.Join(names, "/")), p.Message)
	}
	if path := o.clean(r.Field.Path); path != "" {
		p.Field = path
		p.Message += " (" + path + ")"
	}
	return p
}

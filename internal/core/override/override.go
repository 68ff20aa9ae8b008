// Package override changes objects of a seed on some clusters, as spec.overrides of the seed says.
//
//	spec.overrides ─▶ New: what can be checked alone ─▶ Selects a cluster, Targets an object ─▶ Apply
//
// It is about one object and one override; which objects are on which clusters, and who shares the
// result, is up to package placement. What holds:
//
//   - An override changes what an object is. Which object it is (API version, kind, namespace and
//     name), and where it goes, is decided before; an override that would change that is refused,
//     as is one that removes an object (docs/decisions/0022).
//   - What Apply returns is as sound as what is read from a file: it passes the same checks.
//   - Documents that SOPS encrypted are never changed, and no Secret becomes readable.
//   - No message has a value of a patch or an object.
package override

import (
	"encoding/json"
	"fmt"
	"slices"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/schema"
)

// Override is one override of a seed, ready to be applied.
type Override struct {
	Name string
	// Source is its position in the Seed document.
	Source manifest.Source

	seed     *catalog.Seed
	index    int
	clusters []string
	selector labels.Selector
	target   v1alpha1.OverrideTarget
	labels   labels.Selector
	// merge is the strategic merge patch as JSON; operations are those of a JSON patch, where that
	// is nil.
	merge      []byte
	operations jsonpatch.Patch
}

// New checks the overrides of a seed, and returns them in their order. The error is
// manifest.Problems with all that is wrong.
func New(seed *catalog.Seed) ([]*Override, error) {
	var problems manifest.Problems
	out := make([]*Override, len(seed.Spec.Overrides))
	names := map[string]bool{}
	for i, spec := range seed.Spec.Overrides {
		o := &Override{Name: spec.Name, seed: seed, index: i, clusters: spec.Clusters, target: spec.Target}
		o.Source = seed.At(o.field(""))
		out[i] = o
		report := func(part, message, next string) {
			problems = append(problems, o.problem(part, message, next))
		}
		switch {
		case len(validation.IsDNS1123Label(spec.Name)) > 0:
			report("name", fmt.Sprintf("the name %q of an override is not a valid DNS label", spec.Name), "Name it by lower case letters, digits, and '-' in between.")
		case names[spec.Name]:
			report("name", fmt.Sprintf("another override has the name %q", spec.Name), "Give each override a name of its own.")
		}
		names[spec.Name] = true
		var err error
		if o.selector, err = catalog.SelectorOf(spec.ClusterSelector); err != nil {
			report("clusterSelector", "its clusterSelector is not valid: "+err.Error(), "Correct it.")
		}
		if o.labels, err = catalog.SelectorOf(spec.Target.LabelSelector); err != nil {
			report("target.labelSelector", "its labelSelector is not valid: "+err.Error(), "Correct it.")
		}
		if spec.Target == (v1alpha1.OverrideTarget{}) {
			report("target", "its target has no field", "Say which objects it changes, by kind or labelSelector.")
		}
		if part, fault, next := o.takePatch(spec); fault != "" {
			report(part, fault, next)
		}
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return out, nil
}

// takePatch reads the patch. It returns what is wrong with it, and in which part.
func (o *Override) takePatch(spec v1alpha1.Override) (part, fault, next string) {
	if (spec.StrategicMerge != nil) == (spec.JSONPatch != nil) {
		return "", "it has to have either strategicMerge or jsonPatch", "Give exactly one of them."
	}
	if spec.StrategicMerge != nil {
		var fields map[string]any
		if json.Unmarshal(spec.StrategicMerge.Raw, &fields) != nil || fields == nil {
			return "strategicMerge", "strategicMerge is not a mapping", "Write the fields that it changes, as spec.replicas in a Deployment."
		}
		o.merge = spec.StrategicMerge.Raw
		return "", "", ""
	}
	for i, op := range spec.JSONPatch {
		if part, fault, next := operationFault(op); fault != "" {
			return fmt.Sprintf("jsonPatch[%d].%s", i, part), fault, next
		}
	}
	data, err := json.Marshal(spec.JSONPatch)
	if err == nil {
		o.operations, err = jsonpatch.DecodePatch(data)
	}
	if err != nil {
		return "jsonPatch", "jsonPatch is not a JSON patch", "Write a list of operations (RFC 6902)."
	}
	return "", "", ""
}

// operationFault returns what is wrong with an operation of a JSON patch, and in which part.
func operationFault(op v1alpha1.JSONPatchOperation) (part, fault, next string) {
	needsValue := op.Op == v1alpha1.JSONPatchAdd || op.Op == v1alpha1.JSONPatchReplace || op.Op == v1alpha1.JSONPatchTest
	needsFrom := op.Op == v1alpha1.JSONPatchMove || op.Op == v1alpha1.JSONPatchCopy
	switch {
	case !needsValue && !needsFrom && op.Op != v1alpha1.JSONPatchRemove:
		return "op", fmt.Sprintf("%q is not an operation of a JSON patch", string(op.Op)), "Write add, replace, remove, move, copy or test."
	case op.Path == "" || op.Path[0] != '/' || needsFrom && (op.From == "" || op.From[0] != '/'):
		return "path", fmt.Sprintf("the operation %s needs JSON pointers to fields", op.Op), "Write them as in /spec/replicas."
	case needsValue && op.Value == nil:
		return "value", fmt.Sprintf("the operation %s has no value", op.Op), "Add one; null is none."
	}
	return "", "", ""
}

// field returns the path of a part of the override in the Seed document.
func (o *Override) field(part string) string {
	field := fmt.Sprintf("spec.overrides[%d]", o.index)
	if part != "" {
		field += "." + part
	}
	return field
}

// problem returns what is wrong with the override itself.
func (o *Override) problem(part, message, next string) manifest.Problem {
	field := o.field(part)
	return manifest.Problem{Reason: v1alpha1.ReasonInvalidOverride, Source: o.seed.At(field), Object: fmt.Sprintf("Seed %q, override %q", o.seed.Name, o.Name), Seed: o.seed.Name, Message: message, Next: next, Field: field}
}

// refused returns why it cannot be applied to an object.
func (o *Override) refused(part string, to *manifest.Object, message, next string) manifest.Problem {
	p := o.problem(part, fmt.Sprintf("it cannot be applied to %s (%s): %s", to.ID, to.Source, message), next)
	p.Other = to.Source
	return p
}

// NoTarget returns the problem that no object of the seed is a target.
func (o *Override) NoTarget() manifest.Problem {
	return o.problem("target", "no object of the seed is its target", "Correct the target, or remove the override.")
}

// Unused returns the warning that it changes nothing.
func (o *Override) Unused() manifest.Problem {
	p := o.problem("", "it changes nothing on any cluster: no target goes to one of its clusters, or all have that content already", "Correct its clusters or target, or remove it.")
	p.Reason = v1alpha1.ReasonOverrideUnused
	return p
}

// Dropped returns the warnings that it removes fields of an object which API servers require.
func (o *Override) Dropped(before, after *manifest.Object) []manifest.Problem {
	typed := schema.Typed(before.ID.Group, before.Version, before.ID.Kind)
	if typed == nil {
		return nil
	}
	part := "strategicMerge"
	if o.merge == nil {
		part = "jsonPatch"
	}
	var out []manifest.Problem
	for _, path := range schema.Dropped(before.Body, after.Body, typed) {
		p := o.problem(part, fmt.Sprintf("it removes %s of %s, and API servers require that field", manifest.PathText(path), before.ID), "Give the field another value, or leave it out of the override.")
		p.Reason = v1alpha1.ReasonOverrideRemovesField
		out = append(out, p)
	}
	return out
}

// MissingReference returns the warning that it makes an object name another one of the seed, which does
// not go to some of the same clusters.
func (o *Override) MissingReference(object, named manifest.ID, clusters []string) manifest.Problem {
	on := clusters[0]
	if n := len(clusters) - 1; n > 0 {
		on += fmt.Sprintf(" and %d more", n)
	}
	p := o.problem("", fmt.Sprintf("it makes %s name %s, which does not go to %s: what is named follows objects as they were before overrides", object, named, on),
		"Place "+named.String()+" there by an annotation or a rule in spec.placement; or keep the reference, and override the content of what it names.")
	p.Reason = v1alpha1.ReasonOverrideReferenceMissing
	return p.WithCluster(clusters[0])
}

// Selects reports whether it is for a cluster.
func (o *Override) Selects(c catalog.Cluster) bool {
	if len(o.clusters) == 0 && o.selector == nil {
		return true
	}
	return slices.Contains(o.clusters, c.Name) || o.selector != nil && o.selector.Matches(labels.Set(c.Labels))
}

// Targets reports whether it is for an object, given as it is before any override.
func (o *Override) Targets(object *manifest.Object) bool {
	id, t := object.ID, o.target
	group := id.Group
	if group == "" {
		group = manifest.CoreGroup
	}
	is := func(wanted, has string) bool { return wanted == "" || wanted == has }
	return is(t.Group, group) && is(t.Version, object.Version) && is(t.Kind, id.Kind) && is(t.Namespace, id.Namespace) && is(t.Name, id.Name) &&
		(o.labels == nil || o.labels.Matches(labels.Set(object.Labels())))
}

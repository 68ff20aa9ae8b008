package override

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/truncate"
)

const (
	// maxCopied bounds, in bytes, what the copy operations of one JSON patch add: each may copy what
	// the one before it made.
	maxCopied = 1 << 20
	// maxMessage is how long a message of a library is shown.
	maxMessage = 200
)

// decided are the annotations that are read before overrides are applied: those that say where an object
// goes, and the type of a cluster that it creates.
var decided = append([]string{v1alpha1.AnnotationClusterType}, v1alpha1.PlacementAnnotations...)

// Apply returns the object as the override makes it, and the object itself where nothing changes.
// The error is manifest.Problems.
func (o *Override) Apply(to *manifest.Object) (*manifest.Object, error) {
	if to.Encrypted() {
		return nil, manifest.Problems{o.refused("target", to, "it is encrypted by SOPS, and nobody can change it without its key", "Leave it out of the target; use an overlay of Kustomize for another document.")}
	}
	part := "strategicMerge"
	if o.merge == nil {
		part = "jsonPatch"
	}
	text, at, err := o.patched(to)
	if err != nil {
		return nil, manifest.Problems{o.refused(part+at, to, err.Error(), "Correct the patch, or the target.")}
	}
	made, err := manifest.NewJSON(to.Source, text)
	if err != nil || made.ID != to.ID { // refused below: only a document says what else it may be
		found, err := manifest.Parse("", text)
		if err != nil {
			return nil, o.unsound(part, to, err)
		}
		if len(found) != 1 {
			return nil, manifest.Problems{o.refused(part, to, "nothing is left of the object", "Use a rule in spec.placement to keep an object off a cluster.")}
		}
		made = found[0]
	}
	after := &made
	after.Source, after.Written = to.Source, to.Written
	if reflect.DeepEqual(after.Body, to.Body) {
		return to, nil
	}
	if problems := o.check(part, to, after); len(problems) > 0 {
		return nil, problems
	}
	after.Remarks = nil
	return after, nil
}

// patched returns the object's JSON after the patch. On an error it returns the part of the patch that
// cannot be applied, where that is known.
func (o *Override) patched(to *manifest.Object) (text []byte, at string, err error) {
	defer func() {
		if recover() != nil {
			text, err = nil, errors.New("the patch does not fit it")
		}
	}()
	before, err := json.Marshal(to.Body)
	if err != nil {
		return nil, "", errors.New("it is not JSON")
	}
	if o.merge == nil {
		return o.operate(before)
	}
	text, err = o.merged(before, to)
	return text, "", err
}

// merged applies a strategic merge patch, or, to a kind that is not of Kubernetes itself, a merge
// patch.
func (o *Override) merged(before []byte, to *manifest.Object) ([]byte, error) {
	if removes(o.merge) {
		return nil, errors.New("it would remove the object, and overrides cannot: a rule in spec.placement says where an object goes")
	}
	meta := schemaOf(*to)
	if meta == nil {
		if key := directive(o.merge); key != "" {
			return nil, fmt.Errorf("%s has a meaning only for the kinds of Kubernetes itself; write a jsonPatch for this one", key)
		}
		text, err := jsonpatch.MergePatch(before, o.merge)
		return text, fault(err)
	}
	text, err := strategicpatch.StrategicMergePatchUsingLookupPatchMeta(before, o.merge, meta)
	return text, fault(err)
}

// removes reports whether a strategic merge patch removes the object.
func removes(patch []byte) bool {
	var top struct {
		Directive any `json:"$patch"`
	}
	return json.Unmarshal(patch, &top) == nil && top.Directive == "delete"
}

// directive returns the first key of a patch that is a directive of strategic merge patches.
func directive(patch []byte) string {
	var value any
	if json.Unmarshal(patch, &value) != nil {
		return ""
	}
	var find func(value any) string
	find = func(value any) string {
		switch value := value.(type) {
		case map[string]any:
			for key, one := range value {
				name, _, _ := strings.Cut(key, "/")
				if slices.Contains([]string{"$patch", "$retainKeys", "$setElementOrder", "$deleteFromPrimitiveList"}, name) {
					return name
				}
				if found := find(one); found != "" {
					return found
				}
			}
		case []any:
			for _, one := range value {
				if found := find(one); found != "" {
					return found
				}
			}
		}
		return ""
	}
	return find(value)
}

// operate applies a JSON patch. The operation that cannot be applied is searched only after an error.
func (o *Override) operate(before []byte) (text []byte, at string, err error) {
	options := jsonpatch.NewApplyOptions()
	options.SupportNegativeIndices, options.AccumulatedCopySizeLimit, options.EscapeHTML = false, maxCopied, false
	if text, err = o.operations.ApplyWithOptions(before, options); err == nil {
		return text, "", nil
	}
	for i := range o.operations {
		if _, first := o.operations[:i+1].ApplyWithOptions(before, options); first != nil {
			return nil, fmt.Sprintf("[%d]", i), fault(first)
		}
	}
	return nil, "", fault(err)
}

// fixed are errors of libraries that quote no value.
var fixed = []error{
	mergepatch.ErrBadJSONDoc, mergepatch.ErrNoListOfLists, mergepatch.ErrBadPatchFormatForPrimitiveList, mergepatch.ErrBadPatchFormatForRetainKeys,
	mergepatch.ErrBadPatchFormatForSetElementOrderList, mergepatch.ErrPatchContentNotMatchRetainKeys,
	jsonpatch.ErrTestFailed, jsonpatch.ErrMissing, jsonpatch.ErrInvalid, jsonpatch.ErrInvalidIndex, jsonpatch.ErrUnknownType, jsonpatch.ErrExpectedObject,
}

// fault returns an error of a library without the values that it may quote.
func fault(err error) error {
	if err == nil {
		return nil
	}
	var copied *jsonpatch.AccumulatedCopySizeError
	text := err.Error()
	_, key, unkeyed := strings.Cut(text, "does not contain declared merge key: ")
	switch {
	case errors.As(err, &copied):
		return fmt.Errorf("its copies are larger than %d bytes", maxCopied)
	case unkeyed:
		return fmt.Errorf("an item of a list has no %s, by which items are merged", manifest.Printable(truncate.Text(key, maxMessage)))
	case slices.ContainsFunc(fixed, func(one error) bool { return errors.Is(err, one) }), strings.HasPrefix(text, "unable to find api field"), strings.HasPrefix(text, "expected a "):
		return errors.New(manifest.Printable(truncate.Text(text, maxMessage)))
	}
	return errors.New("the patch does not fit it")
}

// unsound returns what is wrong with an object after the patch.
func (o *Override) unsound(part string, to *manifest.Object, err error) manifest.Problems {
	var found manifest.Problems
	if !errors.As(err, &found) {
		return manifest.Problems{o.refused(part, to, "the result is not an object", "Correct the patch.")}
	}
	var out manifest.Problems
	for _, p := range found {
		out = append(out, o.refused(part, to, p.Message, p.Next))
	}
	return out
}

// check refuses changes that overrides must not make.
func (o *Override) check(part string, before, after *manifest.Object) manifest.Problems {
	refuse := func(message, next string) manifest.Problems {
		return manifest.Problems{o.refused(part, before, message, next)}
	}
	switch {
	case after.ID != before.ID || after.Version != before.Version:
		return refuse(fmt.Sprintf("it would become %s, of version %s", after.ID, after.APIVersion()), "Leave apiVersion, kind, metadata.name and metadata.namespace out of the patch.")
	case after.Encrypted():
		return refuse("it would become a document of SOPS", "Remove the key sops.")
	}
	for _, key := range decided {
		if before.Annotation(key) != after.Annotation(key) {
			return refuse("it changes annotation "+key+", which is read before overrides are applied", "Write the annotation on the object itself, or a rule in spec.placement.")
		}
	}
	var problems manifest.Problems
	for _, p := range slices.Concat(after.Faults(), catalog.CheckObjectKeys(*after)) {
		problems = append(problems, o.refused(part, before, p.Message, p.Next))
	}
	if exposed := manifest.Exposed(*after); exposed != nil && manifest.Exposed(*before) == nil && o.seed.Spec.PlainSecrets != v1alpha1.PlainSecretsAllow {
		problems = append(problems, o.refused(part, before, exposed.Message, "Encrypt a Secret for each cluster by SOPS; or set spec.plainSecrets: Allow in the Seed."))
	}
	return problems
}

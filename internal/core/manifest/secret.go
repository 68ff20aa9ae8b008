package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
)

// readableFields are the fields of a Secret that hold nothing secret. All others
// count as secret: whatever is misspelled there was meant as data.
var readableFields = []string{"apiVersion", "kind", "metadata", "type", "immutable", "sops"}

// copyAnnotations are where tools keep a copy of the whole object.
var copyAnnotations = []string{
	"kubectl.kubernetes.io/last-applied-configuration",
	"kapp.k14s.io/original",
	"objectset.rio.cattle.io/applied",
	"banzaicloud.com/last-applied",
}

// Exposed returns what of a Secret can be read in the bytes that Git gets, by field and never by
// value, and what to do; nil when nothing can, and for other kinds.
//
// In a document with a sops key every value must have the form that SOPS gives it: the key alone
// encrypts nothing, and encrypted_regex may leave values out. Without the key nothing would decrypt
// such a value.
func Exposed(o Object) *Problem {
	p := exposed(o)
	if p == nil {
		return nil
	}
	p.Source, p.Object = o.Source, o.Title()
	return p
}

// IsPlainSecret reports whether an object is a Secret whose values nothing has encrypted.
func IsPlainSecret(o Object) bool {
	return isSecret(o.ID.GroupKind()) && !o.Encrypted() && fieldWith(o.Body, isPlain) != ""
}

// exposed returns what of a Secret could be read by everyone who can read the repository, or nil.
// It reports the first of: values that are not encrypted; a copy of them in an annotation; values
// that are encrypted without what Flux needs to decrypt them; and text beside the values in a
// document of SOPS, such as in comments. What only looks encrypted counts as exposed.
func exposed(o Object) *Problem {
	if !isSecret(o.ID.GroupKind()) {
		if key := copiedSecret(o); key != "" {
			return plainSecret(key, fmt.Sprintf("annotation %s has a copy of a Secret that is not encrypted", key), "Remove the annotation")
		}
		if o.ID.GroupKind() == (GroupKind{Group: "bitnami.com", Kind: "SealedSecret"}) {
			return exposedInTemplate(o.Map("spec", "template"))
		}
		return nil
	}
	next := "Encrypt it with SOPS"
	if o.Encrypted() {
		next = "Encrypt it again, with sops encrypt --encrypted-regex '^(data|stringData)$'"
	}
	if field := fieldWith(o.Body, isPlain); field != "" {
		return plainSecret(field, field+" is not encrypted, and everyone with access to the GitOps repository could read it", next)
	}
	if key := exposedCopy(o.Body); key != "" {
		return plainSecret(key, fmt.Sprintf("annotation %s has a copy of the object that is not encrypted", key), "Remove the annotation")
	}
	if !o.Encrypted() {
		if field := fieldWith(o.Body, isSopsValue); field != "" {
			return notSops(field, field+" is encrypted, but the document has no sops key, so Flux would not decrypt it", "Encrypt the whole document with SOPS")
		}
		return nil
	}
	if mac, _ := o.Field("sops", "mac"); !isSopsValue(mac) {
		return notSops("sops.mac", "it has a sops key, but sops.mac is not what SOPS writes, so the object counts as not encrypted", next)
	}
	sops, _ := o.Field("sops")
	if field := strangeField("sops", sops); field != "" {
		return notSops(field, field+" is not a field that SOPS writes, and everyone with access to the GitOps repository could read it", "Remove it")
	}
	return exposedInText(o.Raw, next)
}

func plainSecret(field, message, next string) *Problem {
	return &Problem{Reason: v1alpha1.ReasonPlainSecret, Field: field, Message: message, Next: next}
}

func notSops(field, message, next string) *Problem {
	return &Problem{Reason: v1alpha1.ReasonInvalidEncryption, Field: field, Message: message, Next: next}
}

// isSecret reports whether an object was meant as a Secret, with its kind misspelled as well: no
// group of Kubernetes has another kind of that name.
func isSecret(kind GroupKind) bool {
	name := strings.ToLower(kind.Kind)
	return ServedByKubernetes(kind) && (name == "secret" || name == "secrets")
}

// fieldWith names the first field of a Secret that has such a value.
func fieldWith(body map[string]any, such func(any) bool) string {
	for _, key := range slices.Sorted(maps.Keys(body)) {
		if slices.Contains(readableFields, key) {
			continue
		}
		if path := leafWith(fieldName(key), body[key], such); path != "" {
			return path
		}
	}
	return ""
}

// leafWith returns the path of the first value without structure that is such a one, "" if there is
// none. Keys are visited in order, so the same Secret always has the same problem.
func leafWith(path string, value any, such func(any) bool) string {
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			if found := leafWith(path+"."+fieldName(key), value[key], such); found != "" {
				return found
			}
		}
		return ""
	case []any:
		for i, item := range value {
			if found := leafWith(fmt.Sprintf("%s[%d]", path, i), item, such); found != "" {
				return found
			}
		}
		return ""
	}
	if such(value) {
		return path
	}
	return ""
}

// isPlain reports whether a value is one, and can be read.
func isPlain(value any) bool { return value != nil && value != "" && !isSopsValue(value) }

// fieldName returns a key as a message has it: one that needs quotes gets them.
func fieldName(key string) string {
	if quoted := shorten(key); quoted != `"`+key+`"` || strings.ContainsAny(key, " .") {
		return quoted
	}
	return key
}

// exposedInTemplate checks the template of a SealedSecret. Its data is meant to be read:
// text into which the controller puts values. It has no stringData.
func exposedInTemplate(template map[string]any) *Problem {
	if field := leafWith("spec.template.stringData", template["stringData"], isPlain); field != "" {
		return plainSecret(field, field+" is not sealed, and everyone with access to the GitOps repository could read it", "Remove it, and seal the value with kubeseal")
	}
	if key := exposedCopy(template); key != "" {
		return plainSecret(key, fmt.Sprintf("annotation %s of spec.template has a copy of the object that is not encrypted", key), "Remove the annotation")
	}
	return nil
}

// exposedCopy names the annotation of an object that holds a Secret whose values can be
// read, or something that cannot be checked.
func exposedCopy(body map[string]any) string {
	annotations := Object{Body: body}.Map("metadata", "annotations")
	for _, key := range copyAnnotations {
		if text, _ := annotations[key].(string); text != "" && !isSopsValue(text) && exposesCopy(text) {
			return key
		}
	}
	return ""
}

// copiedSecret names the annotation of another kind of object that holds a Secret whose values can be
// read.
func copiedSecret(o Object) string {
	for _, key := range copyAnnotations {
		text := o.Annotation(key)
		value, err := decodeJSON([]byte(text))
		if copied, _ := value.(map[string]any); text != "" && err == nil && isSecretBody(copied) && exposesCopy(text) {
			return key
		}
	}
	return ""
}

// exposesCopy reports whether a copy has readable values, or cannot be read as tools would read it.
// A copy may have copies itself.
func exposesCopy(text string) bool {
	trees, _, err := readJSON(document{raw: []byte(text)})
	if err != nil || len(trees) != 1 {
		return true
	}
	if problems, _ := checkTree(position{node: trees[0].root}, true); len(problems) > 0 {
		return true
	}
	value, err := trees[0].decode()
	copied, _ := value.(map[string]any)
	return err != nil || copied == nil || fieldWith(copied, isPlain) != "" || exposedCopy(copied) != ""
}

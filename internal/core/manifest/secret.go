package manifest

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	yaml3 "go.yaml.in/yaml/v3"
)

// sopsValue is what SOPS makes of a value. It leaves empty text and null as they are.
var sopsValue = regexp.MustCompile(`^ENC\[AES256_GCM,data:[A-Za-z0-9+/]+={0,2},iv:[A-Za-z0-9+/]+={0,2},tag:[A-Za-z0-9+/]+={0,2},type:(str|int|float|bool|bytes|time|comment)\]$`)

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

// Exposed says what of a Secret can be read in the bytes that Git gets, by field
// and never by value, and what to do; "" when nothing can, and for other kinds. In a
// document with a sops key every value must have the form that SOPS gives it, for the
// key alone encrypts nothing, and encrypted_regex may leave values out. Without the key
// nobody would decrypt such a value.
func Exposed(o Object) (message, next string) {
	if !isSecret(o.ID.GroupKind()) {
		return "", ""
	}
	next = "Encrypt it with SOPS"
	if o.Encrypted() {
		next = "Encrypt it again, with sops encrypt --encrypted-regex '^(data|stringData)$'"
	}
	if field := fieldWith(o.Body, isPlain); field != "" {
		return field + " is not encrypted, and everyone with access to the GitOps repository could read it", next
	}
	annotations := o.Map("metadata", "annotations")
	for _, key := range copyAnnotations {
		if text, _ := annotations[key].(string); exposesCopy(text) {
			return fmt.Sprintf("annotation %s has a copy of the object that is not encrypted", key), "Remove the annotation"
		}
	}
	if !o.Encrypted() {
		if field := fieldWith(o.Body, isSopsValue); field != "" {
			return field + " is encrypted, but the document has no sops key, so Flux would not decrypt it", "Encrypt the whole document with SOPS"
		}
		return "", ""
	}
	if mac, _ := o.Field("sops", "mac"); !isSopsValue(mac) {
		return "it has a sops key, but sops.mac is not what SOPS writes, so the object counts as not encrypted", next
	}
	return exposedInText(o.Raw), next
}

// isSecret takes in what was meant as a Secret: no group of Kubernetes has another kind of
// that name.
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

// isPlain says that a value is one, and that it can be read.
func isPlain(value any) bool { return value != nil && value != "" && !isSopsValue(value) }

// fieldName is a key as a message has it: one that needs quotes gets them.
func fieldName(key string) string {
	if quoted := shorten(key); quoted != `"`+key+`"` || strings.ContainsAny(key, " .") {
		return quoted
	}
	return key
}

func isSopsValue(value any) bool {
	s, ok := value.(string)
	return ok && sopsValue.MatchString(s)
}

// exposesCopy says that an annotation holds a Secret whose values can be read, or
// something that cannot be checked.
func exposesCopy(text string) bool {
	if text == "" || isSopsValue(text) {
		return false
	}
	var copied map[string]any
	return json.Unmarshal([]byte(text), &copied) != nil || fieldWith(copied, isPlain) != ""
}

const unreadable = "the document cannot be read again, so the object counts as not encrypted"

// exposedInText finds what can be read in a document that is kept byte for byte,
// beside the values that it comes to: comments among them, and what a merge or an
// anchor has that no value shows. SOPS encrypts the comments and writes no anchors.
func exposedInText(raw []byte) string {
	documents := split(raw)
	if len(documents) != 1 {
		return unreadable
	}
	if trees, _, err := readJSON(documents[0]); err == nil && len(trees) == 1 {
		return ""
	}
	t, err := readYAML(documents[0])
	if err != nil {
		return unreadable
	}
	if hasAnchor(t.root) {
		return "it has YAML anchors or merges, which SOPS does not write, so the object counts as not encrypted"
	}
	for i := 0; i+1 < len(t.root.Content); i += 2 {
		key := t.root.Content[i].Value
		if !slices.Contains(readableFields, key) && hasPlainComment(t.root.Content[i+1]) {
			return "a comment in " + fieldName(key) + " is not encrypted, and everyone with access to the GitOps repository could read it"
		}
	}
	return ""
}

func hasAnchor(node *yaml3.Node) bool {
	return node.Anchor != "" || node.Kind == yaml3.AliasNode || isMerge(node) || slices.ContainsFunc(node.Content, hasAnchor)
}

func hasPlainComment(node *yaml3.Node) bool {
	for line := range strings.Lines(node.HeadComment + "\n" + node.LineComment + "\n" + node.FootComment) {
		if text := strings.Trim(line, "# \t\r\n"); text != "" && !isSopsValue(text) {
			return true
		}
	}
	return slices.ContainsFunc(node.Content, hasPlainComment)
}

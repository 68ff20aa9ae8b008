package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	yaml3 "go.yaml.in/yaml/v3"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/schema"
)

// Parse returns the objects of one file, YAML or JSON, in order. The error is of type Problems and
// has every problem of the file, not only the first; documents without a problem are returned all
// the same.
//
// Each document goes through the same steps, and the first that finds something ends it: bounds on
// its text; the syntax; bounds on what its aliases expand to; what tools read differently;
// decoding; lists taken apart; identity. No error quotes a value, except those that identify the
// object.
func Parse(file string, data []byte) ([]Object, error) {
	return ParseSome(file, data, func([]byte) bool { return true })
}

// ParseSome is Parse of the documents of a file whose text is wanted.
func ParseSome(file string, data []byte, wanted func(text []byte) bool) ([]Object, error) {
	r := reader{file: file}
	for _, doc := range split(data) {
		if wanted(doc.text) {
			r.document(doc)
		}
	}
	return r.objects, r.problems.err()
}

// New makes an object of a body that was not read from a file, with the same
// checks as Parse. The body is copied. The error is of type Problems.
func New(source Source, body map[string]any) (Object, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return Object{}, Problems{{Reason: v1alpha1.ReasonUnsupportedValue, Source: source, Message: "the object is not JSON", Next: "Use JSON types only."}}
	}
	return NewJSON(source, text)
}

// NewJSON is New of a body as JSON.
func NewJSON(source Source, text []byte) (Object, error) {
	r := reader{file: source.File}
	at := position{file: source.File, line: source.Line}
	value, err := decodeJSON(text)
	if err != nil {
		return Object{}, Problems{{Reason: v1alpha1.ReasonUnsupportedValue, Source: source, Message: "the object is not JSON", Next: "Use JSON types only."}}
	}
	fields, _ := value.(map[string]any)
	r.object(fields, at, nil)
	if len(r.problems) > 0 {
		return Object{}, r.problems.err()
	}
	return r.objects[0], nil
}

// reader gathers what one file has.
type reader struct {
	file     string
	objects  []Object
	problems Problems
	// ambiguities are about the document that is read; its first object gets them.
	ambiguities Problems
}

func (r *reader) report(reason v1alpha1.Reason, at position, object, message, next string) {
	r.problems = append(r.problems, Problem{Reason: reason, Source: at.source(), Field: at.field(), Object: object, Message: message, Next: next})
}

var (
	kindLine = regexp.MustCompile(`(?m)^kind:[ \t]*"?([A-Za-z0-9]+)`)
	nameLine = regexp.MustCompile(`(?m)^metadata:(?:[ \t]*\{[^}\n]*?|[ \t]*\n(?:[ \t]+.*\n)*?[ \t]+)name:[ \t]*"?([^\s,"}]+)`)
)

// likelyTitle names the object of a document that is too large to be parsed, by
// its lines; empty when they do not say.
func likelyTitle(text []byte) string {
	text = text[:min(len(text), 64<<10)]
	kind, name := kindLine.FindSubmatch(text), nameLine.FindSubmatch(text)
	switch {
	case kind == nil:
		return ""
	case name == nil:
		return string(kind[1])
	}
	return fmt.Sprintf("%s %q", kind[1], name[1])
}

// document reads one document of the file. Text that begins like JSON is tried as JSON first, and
// then as flow style YAML, unless the name of the file says that it must be JSON.
func (r *reader) document(doc document) {
	at := position{file: r.file, line: doc.line + leadingLines(doc.text), base: doc.line - 1}
	if len(doc.text) > maxDocument {
		r.report(v1alpha1.ReasonDocumentTooLarge, at, likelyTitle(doc.text), fmt.Sprintf("the document has %d bytes, and Furrow reads at most %d (3 MiB) as one", len(doc.text), maxDocument),
			"Split it into several objects.")
		return
	}
	if line, message, next := foreign(doc.text); message != "" {
		at.line = at.base + line
		r.report(v1alpha1.ReasonInvalidYAML, at, "", message, next)
		return
	}
	if line := invalidLine(doc.text); line > 0 {
		at.line = at.base + line
		r.report(v1alpha1.ReasonInvalidYAML, at, "", "the text is not UTF-8", "Save the file as UTF-8.")
		return
	}
	if (isJSONFile(r.file) || mayBeJSON(doc.raw)) && r.json(doc, at) {
		return
	}
	t, err := readYAML(doc)
	if err != nil {
		r.problems = append(r.problems, syntaxProblem(doc, at, err))
		return
	}
	r.trees([]tree{t}, at)
}

// json reads a document as JSON, false if it is something else, such as flow style
// YAML.
func (r *reader) json(doc document, at position) bool {
	at.base = doc.rawLine - 1
	trees, line, err := readJSON(doc)
	if err == nil {
		r.trees(trees, at)
		return true
	}
	if !isJSONFile(r.file) {
		return false
	}
	at.line = at.base + line
	r.report(v1alpha1.ReasonInvalidYAML, at, "", "JSON: "+unquoted.ReplaceAllString(err.Error(), "invalid character "), "Correct the document there.")
	return true
}

// unquoted is what a message of the JSON parser quotes of the text.
var unquoted = regexp.MustCompile(`^invalid character '(\\?.|\\[^']+)' `)

// leadingLines counts the lines of text before its first content.
func leadingLines(text []byte) int {
	count := 0
	for line := range bytes.Lines(text) {
		rest, _ := cutMarker(line)
		if !blank(rest) && !bytes.HasPrefix(line, []byte{'%'}) {
			return count
		}
		count++
	}
	return 0
}

// invalidLine returns the line of the first byte that is not UTF-8, 0 when
// all are.
func invalidLine(text []byte) int {
	if utf8.Valid(text) {
		return 0
	}
	number := 0
	for line := range bytes.Lines(text) {
		number++
		if !utf8.Valid(line) {
			break
		}
	}
	return number
}

func (r *reader) trees(trees []tree, at position) {
	for _, t := range trees {
		at.node = t.root
		r.tree(t, at.first())
	}
}

// tree turns one value of the file into objects, or into problems. It checks the extent before
// anything else: only then may the value be walked and decoded.
func (r *reader) tree(t tree, at position) {
	if p := checkExtent(at); p != nil {
		r.problems = append(r.problems, *p)
		return
	}
	name := nodeTitle(at)
	problems, ambiguities := checkTree(at, t.isJSON)
	if len(problems) > 0 {
		for i := range problems {
			problems[i].Object = name
		}
		r.problems = append(r.problems, problems...)
		return
	}
	switch root := target(t.root); {
	case root.Kind == yaml3.MappingNode:
	case isNull(root):
		return
	case root.Kind == yaml3.SequenceNode:
		r.report(v1alpha1.ReasonNotAnObject, at, "", "the document is a list and not an object",
			"Put each object in a document of its own, or in the items of a v1 List; keep other data out of the seed.")
		return
	default:
		r.report(v1alpha1.ReasonNotAnObject, at, "", "the document is a single value and not an object", "Write an object, or keep the file out of the seed.")
		return
	}
	value, err := t.decode()
	if err != nil {
		p := unreadableProblem(at)
		p.Object = name
		r.problems = append(r.problems, p)
		return
	}
	body, ok := value.(map[string]any)
	if !ok {
		r.report(v1alpha1.ReasonNotAnObject, at, name, "the document is not an object", "Write an object, or keep the file out of the seed.")
		return
	}
	r.ambiguities = ambiguities.problems(at, isTyped(body), isSecretBody(body))
	r.expand(body, at, t.raw)
}

// isTyped reports whether a body is one of a kind of Kubernetes itself.
func isTyped(body map[string]any) bool {
	o := Object{Body: body}
	group, version := splitAPIVersion(o.Text("apiVersion"))
	return schema.Typed(group, version, o.Text("kind")) != nil
}

// splitAPIVersion returns the group, empty for the core group, and the version.
func splitAPIVersion(text string) (group, version string) {
	group, version, grouped := strings.Cut(text, "/")
	if !grouped {
		return "", text
	}
	return group, version
}

// isSecretBody reports whether a body is meant as a Secret.
func isSecretBody(body map[string]any) bool {
	o := Object{Body: body}
	group, _ := splitAPIVersion(o.Text("apiVersion"))
	return isSecret(GroupKind{Group: group, Kind: o.Text("kind")})
}

// nodeTitle names an object before its values are known.
func nodeTitle(at position) string {
	text := func(path ...string) string {
		if node := target(at.at(path...).node); node != nil && node.Kind == yaml3.ScalarNode {
			return node.Value
		}
		return ""
	}
	return safeTitle(text("kind"), text("metadata", "name"))
}

// safeTitle is title for text that has not been checked.
func safeTitle(kind, name string) string {
	if kindFault(kind) != "" {
		kind = ""
	}
	if nameFault(name) != "" {
		name = ""
	}
	return title(kind, name)
}

// expand takes lists apart, also lists in lists; raw is nil inside of a list, whose items have no
// bytes of their own to keep.
func (r *reader) expand(body map[string]any, at position, raw []byte) {
	if !isList(body) {
		r.object(body, at, raw)
		return
	}
	kind, _ := body["kind"].(string)
	if _, encrypted := body["sops"]; encrypted {
		r.report(v1alpha1.ReasonInvalidEncryption, at, kind, "a list that is encrypted with sops cannot be taken apart", "Encrypt each object in a document of its own.")
		return
	}
	if body["items"] == nil {
		return
	}
	items, ok := body["items"].([]any)
	if !ok {
		r.report(v1alpha1.ReasonNotAnObject, at.at("items"), kind, "items is not a list", "Write the objects as a list.")
		return
	}
	for i, item := range items {
		at := at.at("items").item(i)
		fields, ok := item.(map[string]any)
		if !ok {
			r.report(v1alpha1.ReasonNotAnObject, at, kind, fmt.Sprintf("item %d is not an object", i), "Write an object, or remove the item.")
			continue
		}
		inheritKind(fields, body)
		r.expand(fields, at, nil)
	}
}

// isList reports whether an object only wraps others: a v1 List, and any other *List with items and
// without a name. A custom resource whose kind ends in List has a name, and is kept. In v1 a name
// makes no difference: all its *Lists wrap.
func isList(body map[string]any) bool {
	kind, _ := body["kind"].(string)
	if kind == "List" && body["apiVersion"] == "v1" {
		return true
	}
	metadata, _ := body["metadata"].(map[string]any)
	_, items := body["items"].([]any)
	return strings.HasSuffix(kind, "List") && items && (metadata["name"] == nil || body["apiVersion"] == "v1")
}

// inheritKind gives an item of a typed list the kind that the list says.
func inheritKind(item, list map[string]any) {
	kind, _ := list["kind"].(string)
	kind = strings.TrimSuffix(kind, "List")
	if kind == "" {
		return
	}
	if item["kind"] == nil {
		item["kind"] = kind
	}
	if item["apiVersion"] == nil && item["kind"] == kind {
		item["apiVersion"] = list["apiVersion"]
	}
}

// object checks one object and keeps it when it is sound.
func (r *reader) object(body map[string]any, at position, raw []byte) {
	c := identify(body, at)
	o := Object{ID: c.id.interned(), Version: c.version, Source: at.source(), Body: withoutNullTimestamp(body)}
	if _, encrypted := body["sops"]; encrypted {
		if raw == nil {
			c.report(v1alpha1.ReasonInvalidEncryption, at, "the object is encrypted with sops but is not a separate document, and so cannot be kept byte for byte",
				"Put it in a document of its own.")
		}
		o.Raw = bytes.Clone(raw)
	}
	if o.ID.Group == v1alpha1.Group {
		o.Lines = at.lines()
	}
	if message, next := sizeFault(o); message != "" {
		c.report(v1alpha1.ReasonObjectTooLarge, at, message, next)
	}
	if len(c.problems) > 0 {
		r.problems = append(r.problems, c.problems...)
		return
	}
	for i := range r.ambiguities {
		r.ambiguities[i].Object = o.Title()
	}
	if at.node == nil {
		r.ambiguities = beyond(o.Body, nil, at)
	}
	o.Remarks, r.ambiguities = remark(o, at, r.ambiguities), nil
	r.objects = append(r.objects, o)
}

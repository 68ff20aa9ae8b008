package flux

import (
	"bytes"
	"errors"
	"io"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	yaml3 "go.yaml.in/yaml/v3"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// chunk is the text between two separators; kustomize reads one document of it
// and ignores the rest.
type chunk struct {
	text string
	// before is how many lines of the file come before it.
	before int
}

var (
	separator = regexp.MustCompile(`\n---.*\n`)
	lineOf    = regexp.MustCompile(`^line (\d+): `)
)

// chunks cuts a file as kustomize does, and returns the line of a separator that it refuses, or 0.
// It is not the split of package manifest, which follows YAML: what kustomize makes of a file
// decides whether the root can be built.
func chunks(data []byte) (out []chunk, refused int) {
	text := strings.ReplaceAll(string(data), "\r\n", "\n")
	start, line := 0, 0
	for _, at := range separator.FindAllStringIndex(text, -1) {
		content := strings.TrimSpace(text[at[0]+len("\n---") : at[1]])
		lines := strings.Count(text[start:at[0]+1], "\n")
		if content != "" && content[0] != '#' {
			return nil, line + lines + 1
		}
		out = append(out, chunk{text: text[start : at[0]+1], before: line})
		start, line = at[1], line+lines+1
	}
	return append(out, chunk{text: text[start:], before: line}), 0
}

// maxObjects bounds the objects that the aliases of one file can expand to.
const maxObjects = 10_000

// manifests reads a file of objects, as kustomize does: document by document, and with aliases
// expanded up to maxObjects. The first fault ends the file: behind it nothing is certain.
func (r *folderReader) manifests(file string, data []byte) {
	parts, refused := chunks(data)
	if refused > 0 {
		r.stops(manifest.Source{File: file, Line: refused}, "kustomize does not take text after ---. Start the document on the next line")
		return
	}
	f := fileReader{folderReader: r, file: file, left: maxObjects, seen: map[*yaml3.Node]bool{}}
	for _, part := range parts {
		f.before = part.before
		root, err := firstDocument(part.text)
		if err != nil {
			f.malformed(part.text, err)
			return
		}
		if root == nil {
			continue
		}
		if at := selfContained(root, nil); at != nil {
			f.stops(f.at(at), "an alias (*) is inside its own anchor. Write the value out")
			return
		}
		f.objectsOf(root, len(parts) == 1)
	}
}

// firstDocument is nil for text without content.
func firstDocument(text string) (root *yaml3.Node, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.New("the parser gives up") // what it panics with may quote a value
		}
	}()
	var document yaml3.Node
	err = yaml3.NewDecoder(strings.NewReader(text)).Decode(&document)
	if errors.Is(err, io.EOF) || err == nil && len(document.Content) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return document.Content[0], nil
}

// selfContained finds an alias inside the value that it refers to, which makes
// kustomize overflow its stack. No other aliases make a cycle.
func selfContained(node *yaml3.Node, around []*yaml3.Node) *yaml3.Node {
	if node.Kind == yaml3.AliasNode {
		if slices.Contains(around, node.Alias) {
			return node
		}
		return nil
	}
	if node.Anchor != "" {
		around = append(around, node)
	}
	for _, child := range node.Content {
		if found := selfContained(child, around); found != nil {
			return found
		}
	}
	return nil
}

// fileReader reads one file.
type fileReader struct {
	*folderReader
	file   string
	before int // lines before the current chunk
	left   int // objects that the file may still have
	seen   map[*yaml3.Node]bool
}

func (f *fileReader) at(node *yaml3.Node) manifest.Source {
	return manifest.Source{File: f.file, Line: f.before + node.Line}
}

// malformed explains why a document cannot be parsed, in manifest's words where
// it comes to the same.
func (f *fileReader) malformed(text string, err error) {
	at := manifest.Source{File: f.file, Line: f.before + 1}
	last := f.before + strings.Count(strings.TrimRight(text, "\n"), "\n") + 1
	if strings.HasPrefix(text, "%") {
		f.stops(at, "kustomize does not take a %% line before ---. Remove it")
		return
	}
	var explained manifest.Problems
	if _, other := manifest.Parse(f.file, []byte(text)); errors.As(other, &explained) {
		at.Line = min(f.before+max(explained[0].Source.Line, 1), last)
		f.stops(at, "%s. %s", explained[0].Message, strings.TrimSuffix(explained[0].Next, "."))
		return
	}
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	if found := lineOf.FindStringSubmatch(message); found != nil {
		line, _ := strconv.Atoi(found[1])
		at.Line, message = min(f.before+line, last), message[len(found[0]):]
	}
	f.stops(at, "YAML: %s", message)
}

// objectsOf reads the objects of a value. alone reports whether the file has no other
// document; kustomize then reads a List more leniently.
func (f *fileReader) objectsOf(node *yaml3.Node, alone bool) {
	node = target(node)
	if isEmpty(node) || f.left == 0 {
		return
	}
	f.left--
	kind, name := scalar(field(node, "kind")), scalar(field(node, "metadata", "name"))
	items := field(node, "items")
	switch {
	case node.Kind != yaml3.MappingNode || !isObject(node):
		f.stops(f.at(node), "this is not a Kubernetes object: it has no apiVersion, kind and metadata. Move the file out of %s", shownRoot(f.root))
	case kind == "":
		f.stops(f.at(node), "the object has no kind. Add it, or move the file out of %s", shownRoot(f.root))
	case strings.HasSuffix(kind, "List") && items != nil:
		f.items(node, items, alone && (kind == "List" || kind == "ResourceList"))
	case name == "" && !strings.HasSuffix(kind, "List"):
		f.stops(f.at(node), "the %s has no metadata.name. Add it, or move the file out of %s", kind, shownRoot(f.root))
	default:
		f.object(node, kind, name)
	}
}

// items reads the objects of a list. lenient is for a List that is alone in its file: there
// kustomize takes an empty or scalar value for no items.
func (f *fileReader) items(list, items *yaml3.Node, lenient bool) {
	switch {
	case isNull(items), lenient && (items.Kind == yaml3.ScalarNode || isEmpty(items)):
	case items.Kind != yaml3.SequenceNode:
		f.stops(f.at(list), "the items of the %s are not a list. Write the objects as a list", scalar(field(list, "kind")))
	default:
		for _, item := range items.Content {
			f.objectsOf(item, true)
		}
	}
}

// object takes in one object by its id. Each node is checked for bad keys once, however many
// aliases lead to it.
func (f *fileReader) object(node *yaml3.Node, kind, name string) {
	if !f.seen[node] {
		if key, why := badKey(node, true); key != nil {
			f.stops(f.at(key), "the key %s %s", key.Value, why)
		}
		f.seen[node] = true
	}
	group, version, grouped := strings.Cut(scalar(field(node, "apiVersion")), "/")
	if !grouped {
		group, version = "", group
	}
	f.add(objectID{
		ID:      manifest.ID{Group: group, Kind: kind, Namespace: scalar(field(node, "metadata", "namespace")), Name: name},
		version: version,
	}, f.at(node))
}

// unwritten are the types of keys that kustomize reads and cannot write as JSON,
// but in the outermost mapping.
var unwritten = []string{"!!int", "!!float", "!!bool", "!!null", "!!timestamp"}

// badKey finds a key on which kustomize fails: a duplicate in its mapping, or one
// that is not text. The value of an alias is checked once, at the anchor.
func badKey(node *yaml3.Node, outermost bool) (key *yaml3.Node, why string) {
	if node.Kind == yaml3.MappingNode {
		seen := map[string]bool{}
		for i := 0; i+1 < len(node.Content); i += 2 {
			key := node.Content[i]
			tag := key.ShortTag()
			switch {
			case key.Kind != yaml3.ScalarNode || tag == mergeTag:
				continue
			case seen[key.Value]:
				return key, "occurs twice in one mapping. Remove one of them"
			case !outermost && slices.Contains(unwritten, tag):
				return key, "is not text. Quote it"
			}
			seen[key.Value] = true
		}
	}
	for _, child := range node.Content {
		if key, why := badKey(child, false); key != nil {
			return key, why
		}
	}
	return nil, ""
}

// kustomization checks the kustomization file of a sub-directory, as far as possible
// without the other files: which of those are read depends on it.
func (r *folderReader) kustomization(dir, file string) {
	if path.Dir(file) != dir || !slices.Contains(kustomizationFiles, path.Base(file)) {
		return
	}
	at := manifest.Source{File: file, Line: 1}
	if first := r.kustomizationOf(dir); first != file {
		r.stops(manifest.Source{File: file}, "the directory has two kustomization files, this one and %s. Remove one", first)
		return
	}
	f := fileReader{folderReader: r, file: file}
	data := bytes.ReplaceAll(r.files[file], []byte("\r\n"), []byte("\n"))
	root, err := firstDocument(string(data))
	switch {
	case err != nil:
		f.malformed(string(data), err)
		return
	case root == nil || isEmpty(root) && root.Kind != yaml3.SequenceNode:
		r.stops(at, "the kustomization file is empty. Fill it, or remove it: Flux then takes all files of %s", dir)
		return
	case root.Kind != yaml3.MappingNode:
		r.stops(f.at(root), "the kustomization file is not a mapping. Correct it, or remove it: Flux then takes all files of %s", dir)
		return
	}
	at = f.at(root)
	apiVersion, kind := scalar(field(root, "apiVersion")), scalar(field(root, "kind"))
	group, _, _ := strings.Cut(apiVersion, "/")
	switch {
	case group == fluxGroup:
		r.stops(at, "kustomize reads a file of this name as its own, and this one holds a %s of Flux. Give the file another name", kind)
	case kind == "Component":
		r.stops(at, "a Component cannot be built by itself. Move %s out of %s", dir, shownRoot(r.root))
	case kind != "" && kind != "Kustomization":
		r.stops(at, "kustomize reads a file of this name as its own, and this one holds a %s. Give the file another name", kind)
	case apiVersion != "" && apiVersion != kustomizeVersion:
		r.stops(at, "the apiVersion of a kustomization file is %s, and not %s. Correct it", kustomizeVersion, apiVersion)
	}
}

const (
	fluxGroup        = "kustomize.toolkit.fluxcd.io"
	kustomizeVersion = "kustomize.config.k8s.io/v1beta1"
)

func shownRoot(root string) string {
	if root == "" {
		return "the repository"
	}
	return root
}

// isObject reports whether a mapping has anything that objects have.
func isObject(node *yaml3.Node) bool {
	for _, at := range [][]string{
		{"apiVersion"}, {"kind"}, {"metadata", "name"}, {"metadata", "namespace"}, {"metadata", "labels"}, {"metadata", "annotations"},
	} {
		if value := field(node, at...); value != nil && !isEmpty(value) {
			return true
		}
	}
	return false
}

// mergeTag is the type of the key <<, which merges the entries of its value.
const mergeTag = "!!merge"

func isNull(node *yaml3.Node) bool { return node.ShortTag() == "!!null" }

// isEmpty reports whether kustomize passes over a value.
func isEmpty(node *yaml3.Node) bool {
	collection := node.Kind == yaml3.MappingNode || node.Kind == yaml3.SequenceNode
	return isNull(node) || collection && len(node.Content) == 0
}

// target returns the node that an alias refers to, and any other node itself.
func target(node *yaml3.Node) *yaml3.Node {
	if node.Kind == yaml3.AliasNode {
		return node.Alias
	}
	return node
}

func scalar(node *yaml3.Node) string {
	if node == nil || node.Kind != yaml3.ScalarNode || isNull(node) {
		return ""
	}
	return node.Value
}

// field descends into mappings, and into what they merge; nil where there is nothing.
func field(node *yaml3.Node, names ...string) *yaml3.Node {
	for _, name := range names {
		l := lookup{name: name}
		if node = l.in(target(node)); node == nil {
			return nil
		}
	}
	return target(node)
}

// lookup searches for one key. It enters each merged mapping once, however often aliases name it,
// so a few lines of aliases to aliases cost no more than they are long.
type lookup struct {
	name    string
	visited map[*yaml3.Node]bool
}

// in returns the value of a key in a mapping, its own before one that a merge key (<<) brings in.
func (l *lookup) in(node *yaml3.Node) (found *yaml3.Node) {
	if node.Kind != yaml3.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], target(node.Content[i+1])
		switch {
		case key.Kind != yaml3.ScalarNode:
		case key.Value == l.name:
			return value
		case key.ShortTag() == mergeTag && found == nil:
			found = l.merged(value)
		}
	}
	return found
}

// merged reads what a merge key names, a mapping or a list of them; the first one counts.
// Each is visited once: aliases can form a loop, and many paths can lead to one mapping.
func (l *lookup) merged(from *yaml3.Node) *yaml3.Node {
	if l.visited[from] {
		return nil
	}
	if l.visited == nil {
		l.visited = map[*yaml3.Node]bool{}
	}
	l.visited[from] = true
	if from.Kind != yaml3.SequenceNode {
		return l.in(from)
	}
	for _, one := range from.Content {
		if found := l.merged(target(one)); found != nil {
			return found
		}
	}
	return nil
}

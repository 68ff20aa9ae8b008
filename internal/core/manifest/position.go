package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	yaml3 "go.yaml.in/yaml/v3"
)

// position is where a value is in a file. If the tree does not have the value, as for a field that
// is missing, the position is that of the nearest enclosing one. A position is a value: at and item
// return another one.
type position struct {
	file string
	line int // of the value's key, or of its first key
	// node is the value's node, nil when it is not known; node lines count
	// from 1 at the line that comes after base lines of the file.
	node *yaml3.Node
	base int
	// path is that of the value in its document: metadata.name.
	path string
}

// field returns the path of the value; empty for the document itself.
func (p position) field() string { return strings.TrimPrefix(p.path, ".") }

func (p position) source() Source { return Source{File: p.file, Line: p.line} }

// at descends into mappings; the line is that of the last key found.
func (p position) at(path ...string) position {
	p.path += "." + strings.Join(path, ".")
	for _, key := range path {
		node := target(p.node)
		p.node = nil
		if node == nil || node.Kind != yaml3.MappingNode {
			return p
		}
		for i := 0; i+1 < len(node.Content); i += 2 {
			if is, text := keyText(node.Content[i]); text && is == key {
				p.line = p.base + node.Content[i].Line
				p.node = node.Content[i+1]
			}
		}
	}
	return p
}

// item descends into a list; the line is that of the item's first key.
func (p position) item(i int) position {
	p.path += fmt.Sprintf("[%d]", i)
	node := target(p.node)
	p.node = nil
	if node == nil || node.Kind != yaml3.SequenceNode || i >= len(node.Content) {
		return p
	}
	p.node = node.Content[i]
	return p.first()
}

// first moves the line to the first key of the value itself.
func (p position) first() position {
	node := target(p.node)
	if node == nil {
		return p
	}
	p.line = p.base + node.Line
	if node.Kind == yaml3.MappingNode && len(node.Content) > 0 {
		p.line = p.base + node.Content[0].Line
	}
	return p
}

// Lines are those of the fields of a document, by path; of a text that is a block, its first line.
type Lines map[string]int

// Of returns the line of a field, or that of the nearest field around it; false where none is known.
func (l Lines) Of(field string) (int, bool) {
	for field != "" {
		if line, known := l[field]; known {
			return line, true
		}
		field = field[:max(strings.LastIndexAny(field, ".["), 0)]
	}
	return 0, false
}

// LinesAt returns the lines of the fields of an object that begins at a line of a file; nil where none does.
func LinesAt(object Source, data []byte) Lines {
	for _, doc := range split(data) {
		t, err := readYAML(doc)
		if err != nil {
			continue
		}
		at := position{file: object.File, base: doc.line - 1, node: t.root}
		candidates := []position{at.first()}
		if items := target(at.at("items").node); items != nil && items.Kind == yaml3.SequenceNode {
			for i := range items.Content {
				candidates = append(candidates, at.at("items").item(i))
			}
		}
		for _, c := range candidates {
			if c.line == object.Line {
				return c.lines()
			}
		}
	}
	return nil
}

// Without returns the lines of all fields but one and those below it.
func (l Lines) Without(field string) Lines {
	out := maps.Clone(l)
	maps.DeleteFunc(out, func(path string, _ int) bool {
		rest, below := strings.CutPrefix(path, field)
		return below && (rest == "" || rest[0] == '.' || rest[0] == '[')
	})
	return out
}

// lines returns those of all fields of the value.
func (p position) lines() Lines {
	out := Lines{}
	var walk func(at position)
	walk = func(at position) {
		if field := at.field(); field != "" {
			out[field] = at.line
			if isBlock(at.node) {
				out[field]++
			}
		}
		node := target(at.node)
		if node == nil {
			return
		}
		switch node.Kind {
		case yaml3.MappingNode:
			for i := 0; i+1 < len(node.Content); i += 2 {
				walk(at.at(node.Content[i].Value))
			}
		case yaml3.SequenceNode:
			for i := range node.Content {
				walk(at.item(i))
			}
		}
	}
	p.path = ""
	walk(p)
	return out
}

// target returns the node that an alias refers to, and any other node itself.
func target(node *yaml3.Node) *yaml3.Node {
	if node != nil && node.Kind == yaml3.AliasNode {
		return node.Alias
	}
	return node
}

// plain reports whether a scalar's text decides its type.
func plain(node *yaml3.Node) bool {
	const quoted = yaml3.SingleQuotedStyle | yaml3.DoubleQuotedStyle | yaml3.LiteralStyle | yaml3.FoldedStyle
	return node.Kind == yaml3.ScalarNode && node.Style&(quoted|yaml3.TaggedStyle) == 0
}

// isBlock reports whether a text begins on the line below its key, after '|' or '>'.
func isBlock(node *yaml3.Node) bool {
	return node != nil && node.Style&(yaml3.LiteralStyle|yaml3.FoldedStyle) != 0
}

// isNull reports whether a document says nothing.
func isNull(node *yaml3.Node) bool {
	return plain(node) && slices.Contains(nullWords, node.Value)
}

package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	yaml3 "go.yaml.in/yaml/v3"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// tree is one value of a file: its nodes for the positions, and its text for the values. yaml3 keeps
// lines but reads YAML 1.2 types; sigs.k8s.io/yaml reads values as kubectl and Flux do, but forgets
// lines. Where nodes do not say what a value is for the latter, it reads the same text again.
type tree struct {
	root *yaml3.Node
	raw  []byte
	// isJSON reports whether the text is JSON and not YAML.
	isJSON bool
	// decode returns the value in JSON types. It expands aliases.
	decode func() (any, error)
}

// readYAML parses one document into nodes. A second one in the same text means that --- was where
// only one of the two parsers reads it as a marker.
func readYAML(doc document) (t tree, err error) {
	defer recovered(&err)
	decoder := yaml3.NewDecoder(bytes.NewReader(doc.text))
	var root, more yaml3.Node
	if err := decoder.Decode(&root); err != nil {
		return tree{}, err
	}
	if err := decoder.Decode(&more); !errors.Is(err, io.EOF) {
		return tree{}, errSecondDocument
	}
	t = tree{root: root.Content[0], raw: doc.raw}
	t.decode = func() (any, error) {
		if readAlike(doc.text) {
			if value, ok := valueOf(t.root); ok {
				return value, nil
			}
		}
		return decodeYAML(doc.text)
	}
	return t, nil
}

var errSecondDocument = errors.New("a second document starts here without a line of its own for ---")

// decodeYAML gives text the meaning that it has for kubectl and Flux.
func decodeYAML(text []byte) (value any, err error) {
	defer recovered(&err)
	asJSON, err := yaml.YAMLToJSON(text)
	if err != nil {
		return nil, err
	}
	return decodeJSON(asJSON)
}

// decodeJSON keeps integers exact as int64; other numbers are float64.
func decodeJSON(text []byte) (any, error) {
	var value any
	err := kjson.UnmarshalCaseSensitivePreserveInts(text, &value)
	return withIntegers(value), err
}

// withIntegers makes 1.0 and 1e3 integers, in place: neither JSON nor the YAML
// tools distinguish them.
func withIntegers(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, one := range value {
			value[key] = withIntegers(one)
		}
	case []any:
		for i, one := range value {
			value[i] = withIntegers(one)
		}
	case float64:
		const limit = 1 << 63
		if value == math.Trunc(value) && value >= -limit && value < limit {
			return int64(value)
		}
	}
	return value
}

// recovered turns a panic of a parser into an error: what people commit must
// not end the process.
func recovered(err *error) {
	if r := recover(); r != nil {
		*err = errors.New("the parser gives up") // what it panics with may quote a value
	}
}

// readJSON parses JSON values that follow one another. On an error it returns
// the line of the text, from 1, on which it was found.
func readJSON(doc document) (trees []tree, line int, err error) {
	r := jsonReader{text: doc.raw, line: 1, decoder: json.NewDecoder(bytes.NewReader(doc.raw))}
	r.decoder.UseNumber()
	for {
		end := int(r.decoder.InputOffset())
		token, err := r.token()
		if errors.Is(err, io.EOF) {
			break
		}
		start := end + indexNonSpace(doc.raw[end:])
		var root *yaml3.Node
		if err == nil {
			root, err = r.value(token, 0)
		}
		if err != nil {
			return nil, r.line, err
		}
		raw := doc.raw[start:r.decoder.InputOffset()]
		trees = append(trees, tree{root: root, raw: raw, isJSON: true, decode: func() (any, error) { return decodeJSON(raw) }})
	}
	if len(trees) == 1 {
		trees[0].raw = doc.raw
	}
	return trees, 0, nil
}

func indexNonSpace(text []byte) int {
	return len(text) - len(bytes.TrimLeft(text, " \t\r\n"))
}

// jsonReader makes the nodes that the same text would have as YAML. JSON is read as JSON where it
// is possible, although it is nearly YAML, so tabs, and several values in a row, mean what
// they mean to JSON tools.
type jsonReader struct {
	text    []byte
	decoder *json.Decoder
	line    int // of the last token
	counted int // bytes of text whose line breaks are in line
}

var errTooDeep = fmt.Errorf("the document is nested more than %d levels deep", maxDepth)

// token reads the next token and counts the lines up to its end. After an error it counts up to the
// text at which the decoder failed.
func (r *jsonReader) token() (json.Token, error) {
	token, err := r.decoder.Token()
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("the text ends inside of a value")
	}
	end := int(r.decoder.InputOffset())
	if err != nil {
		end += indexNonSpace(r.text[end:])
	}
	r.line += bytes.Count(r.text[r.counted:end], []byte{'\n'})
	r.counted = end
	return token, err
}

// value makes a node of a value that begins with a token. Strings are quoted, so "true" stays
// text; the other scalars are what YAML resolves them to.
func (r *jsonReader) value(token json.Token, depth int) (*yaml3.Node, error) {
	node := &yaml3.Node{Kind: yaml3.ScalarNode, Line: r.line}
	switch token := token.(type) {
	case json.Delim:
		node.Kind = yaml3.SequenceNode
		if token == '{' {
			node.Kind = yaml3.MappingNode
		}
		return node, r.content(node, depth+1)
	case string:
		node.Style, node.Value = yaml3.DoubleQuotedStyle, token
	case json.Number:
		node.Value = token.String()
	case bool:
		node.Value = fmt.Sprint(token)
	case nil:
		node.Value = "null"
	}
	return node, nil
}

// content reads up to the closing bracket of a mapping or list. Keys come as tokens like values, so
// the nodes of a mapping are keys and values in turn, as yaml.v3 has them.
func (r *jsonReader) content(node *yaml3.Node, depth int) error {
	if depth > maxDepth {
		return errTooDeep
	}
	for {
		token, err := r.token()
		if errors.Is(err, io.EOF) {
			return errors.New("the text ends inside of a value")
		}
		if err != nil {
			return err
		}
		if delim, ok := token.(json.Delim); ok && (delim == '}' || delim == ']') {
			return nil
		}
		child, err := r.value(token, depth)
		if err != nil {
			return err
		}
		node.Content = append(node.Content, child)
	}
}

// mayBeJSON reports whether text may be JSON; it may be flow style YAML too.
func mayBeJSON(text []byte) bool {
	text = bytes.TrimLeft(text, " \t\r\n")
	return len(text) > 0 && (text[0] == '{' || text[0] == '[')
}

// isJSONFile reports whether a file can be nothing but JSON.
func isJSONFile(file string) bool { return strings.HasSuffix(strings.ToLower(file), ".json") }

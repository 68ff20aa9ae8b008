package manifest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	yaml2 "go.yaml.in/yaml/v2"
	yaml3 "go.yaml.in/yaml/v3"

	"github.com/furrow-dev/furrow/api/v1alpha1"
)

// Bounds on one document. What aliases add is bounded apart from the size of the
// text, since a few lines can expand to any amount of data.
const (
	maxDocument   = 3 << 20 // bytes of text; what an API server takes in one request, and twice what etcd stores
	maxDepth      = 1000
	maxAliasNodes = 100_000
	maxAliasBytes = maxDocument
	overflow      = 1 << 40 // sums stop here
)

// extent is the size of a node once aliases are expanded: how many nodes, how many bytes of
// scalars, and how deep it is. The sums stop at overflow, since ten lines of aliases to aliases can
// mean 10^10 nodes.
type extent struct{ nodes, bytes, depth int }

func (e *extent) add(other extent) {
	e.nodes = min(e.nodes+other.nodes, overflow)
	e.bytes = min(e.bytes+other.bytes, overflow)
	e.depth = max(e.depth, other.depth+1)
}

// measure finds the extent of a tree without expanding it: each node is visited once, and an alias
// adds what its anchor was found to have. An alias comes after its anchor in the text, so the
// anchor is measured then, unless the alias is inside of it: that is a loop.
type measure struct {
	anchors    map[*yaml3.Node]extent
	own        extent // the tree without what aliases add
	loop, deep *yaml3.Node
}

// of returns the extent of a node with what its aliases add, without expanding any: an anchor is
// measured when it is met, and each alias adds that result. The cost is linear, whatever the
// aliases would multiply to. An alias within its own anchor is a loop, because the anchor is not
// measured yet.
func (m *measure) of(node *yaml3.Node, depth int) extent {
	if node.Kind == yaml3.AliasNode {
		found, done := m.anchors[node.Alias]
		if !done {
			m.loop = node
		}
		return found
	}
	e := extent{nodes: 1, bytes: len(node.Value)}
	m.own.nodes, m.own.bytes = m.own.nodes+1, m.own.bytes+len(node.Value)
	if depth > maxDepth {
		m.deep = node
		return e
	}
	for _, child := range node.Content {
		e.add(m.of(child, depth+1))
	}
	if e.depth+depth > maxDepth && m.deep == nil {
		m.deep = node
	}
	if node.Anchor != "" {
		m.anchors[node] = e
	}
	return e
}

// checkExtent refuses a tree that is too deep or grows too much. Nothing may expand aliases before
// this has passed. What the text has written out is bounded by maxDocument; only what aliases add
// is compared here.
func checkExtent(at position) *Problem {
	m := measure{anchors: map[*yaml3.Node]extent{}}
	e := m.of(at.node, 0)
	switch {
	case m.deep != nil:
		return at.problem(v1alpha1.ReasonDocumentTooLarge, m.deep, fmt.Sprintf("the document is nested more than %d levels deep", maxDepth),
			"Check the brackets and the indentation.")
	case m.loop != nil:
		return at.problem(v1alpha1.ReasonAmbiguousYAML, m.loop, "an alias (*) is inside the value that it refers to",
			"Write the value out instead of the alias.")
	case e.nodes-m.own.nodes > maxAliasNodes || e.bytes-m.own.bytes > maxAliasBytes:
		return at.problem(v1alpha1.ReasonDocumentTooLarge, nil, "the document's aliases expand to more data than an API server accepts",
			"Write out what is needed, or split it into several objects.")
	}
	return nil
}

// problem makes a problem at a node of the tree, or at the position itself.
func (p position) problem(reason v1alpha1.Reason, node *yaml3.Node, message, next string) *Problem {
	if node != nil {
		p.line = p.base + node.Line
	}
	return &Problem{Reason: reason, Source: p.source(), Message: message, Next: next}
}

// checkTree returns what is wrong with the mappings and scalars of a tree: what is ambiguous, and what
// JSON cannot hold; and the ambiguities about what it can hold. It works on nodes, because the values do not
// show it any longer: of two equal keys only one is left.
func checkTree(at position, isJSON bool) (Problems, ambiguities) {
	c := treeCheck{at: at, isJSON: isJSON}
	c.walk(at.node)
	return c.problems, c.ambiguities
}

// treeCheck is the check of one document, before it is decoded.
type treeCheck struct {
	at          position
	isJSON      bool
	key         string // of the value that is walked; empty while a key is
	problems    Problems
	ambiguities ambiguities
}

func (c *treeCheck) report(reason v1alpha1.Reason, node *yaml3.Node, message, next string) {
	c.problems = append(c.problems, *c.at.problem(reason, node, message, next))
}

// walk checks a node and all below it. key is the last key that was met, for messages about its
// value.
func (c *treeCheck) walk(node *yaml3.Node) {
	switch node.Kind {
	case yaml3.MappingNode:
		c.keys(node)
	case yaml3.ScalarNode:
		c.scalar(node)
	}
	if tag := node.ShortTag(); node.Style&yaml3.TaggedStyle != 0 && len(tag) > 1 && !strings.HasPrefix(tag, "!!") {
		c.ambiguities.add(ambiguity{node, c.key, tagDropped})
	}
	for i, child := range node.Content {
		if node.Kind != yaml3.MappingNode {
			c.walk(child)
			continue
		}
		if i%2 == 0 {
			c.key = ""
			c.walk(child)
			c.key = written(child)
			continue
		}
		key := c.key
		c.walk(child)
		c.key = key
	}
}

// written returns a key as the file has it.
func written(key *yaml3.Node) string { return target(key).Value }

// scalar refuses values that would reach the API server as something else than people wrote, and
// notes what tools read differently.
func (c *treeCheck) scalar(node *yaml3.Node) {
	if plain(node) {
		if other := elsewhere(node.Value, c.isJSON); other != "" {
			c.ambiguities.add(ambiguity{node, c.key, other})
		}
	}
	if plain(node) && slices.Contains(infinite, strings.ToLower(strings.TrimLeft(node.Value, "+-"))) {
		c.report(v1alpha1.ReasonUnsupportedValue, node, fmt.Sprintf("the value of %s is infinite or not a number, which JSON, and so an API server, cannot hold", shorten(c.key)),
			"Quote it if it is meant as text.")
	}
	if node.ShortTag() == "!!binary" {
		c.report(v1alpha1.ReasonUnsupportedValue, node, "!!binary values do not survive the way to an API server",
			"Remove the tag, and write base64 as plain text where the field takes base64.")
	}
}

// unreadableProblem explains why a tree has no value in JSON, without the value.
func unreadableProblem(at position) Problem {
	node, key, message, next := misfit(at.node, "")
	if node == nil {
		return *at.problem(v1alpha1.ReasonInvalidYAML, nil, "the document cannot be read", "Check its tags (!!) and merges (<<).")
	}
	return *at.problem(v1alpha1.ReasonUnsupportedValue, node, fmt.Sprintf("the value of %s %s", shorten(key), message), next)
}

// misfit finds the first scalar that does not have the type that its tag or its text says, and the
// key that it belongs to. The library's own error quotes the value, which may be secret.
func misfit(node *yaml3.Node, key string) (found *yaml3.Node, of, message, next string) {
	if node.Kind == yaml3.ScalarNode {
		var ignored any
		_, err := strconv.ParseFloat(node.Value, 64)
		switch {
		case plain(node) && errors.Is(err, strconv.ErrRange):
			return node, key, "is a number that is too large", "Quote it if it is meant as text."
		case node.Style&yaml3.TaggedStyle != 0 && node.Decode(&ignored) != nil:
			return node, key, "is not what its tag says", "Correct the value, or remove the tag."
		}
	}
	for i, child := range node.Content {
		if node.Kind == yaml3.MappingNode && i%2 == 0 {
			key, _ = keyText(child)
			continue
		}
		if found, of, message, next = misfit(child, key); found != nil {
			return found, of, message, next
		}
	}
	return nil, "", "", ""
}

// keys refuses keys that are not text, duplicate keys, and merges that tools
// read differently.
func (c *treeCheck) keys(node *yaml3.Node) {
	first := make(map[string]*yaml3.Node, len(node.Content)/2)
	for i := 0; i+1 < len(node.Content); i += 2 {
		keyNode, value := node.Content[i], node.Content[i+1]
		key, ok := keyText(keyNode)
		if !ok {
			c.report(v1alpha1.ReasonUnsupportedValue, keyNode, "a key of this mapping is not text", c.keyAdvice(keyNode))
			continue
		}
		if isMerge(keyNode) {
			c.mergeAfter(keyNode, value, first)
			key = "<<" // a quoted "<<" beside it is as confusing as a second one
		}
		if before, again := first[key]; again {
			c.report(v1alpha1.ReasonAmbiguousYAML, keyNode, fmt.Sprintf("%s in one mapping, first on line %d", twice(before, keyNode, key), c.at.base+before.Line),
				"Keep one of the two.")
			continue
		}
		first[key] = keyNode
	}
}

// twice says that two nodes are the same key, by what the file has.
func twice(a, b *yaml3.Node, key string) string {
	switch {
	case written(a) != written(b):
		return fmt.Sprintf("the keys %s and %s are both read as %s", shorten(written(a)), shorten(written(b)), shorten(key))
	case written(a) != key:
		return fmt.Sprintf("the key %s, which is read as %s, occurs twice", shorten(written(a)), shorten(key))
	}
	return fmt.Sprintf("the key %s occurs twice", shorten(key))
}

// keyAdvice returns what to do about a key that is not text. A mapping in braces as a key is nearly
// always a template that was not rendered.
func (c *treeCheck) keyAdvice(key *yaml3.Node) string {
	if inner := target(key); inner.Kind == yaml3.MappingNode && inner.Style&yaml3.FlowStyle != 0 {
		return "Quote it; if the file is a template with {{ }}, render it first."
	}
	return "Quote the key."
}

// mergeAfter refuses a merge of keys that are defined before it: YAML 1.1
// parsers disagree on which of the two wins.
func (c *treeCheck) mergeAfter(keyNode, value *yaml3.Node, before map[string]*yaml3.Node) {
	for _, key := range mergedKeys(value) {
		if first, ok := before[key]; ok {
			text := shorten(written(first))
			if written(first) != key {
				text += ", read as " + shorten(key)
			}
			c.report(v1alpha1.ReasonAmbiguousYAML, keyNode, fmt.Sprintf("<< merges the key %s, which is before it on line %d: tools disagree on which one counts", text, c.at.base+first.Line),
				"Put << first in the mapping.")
		}
	}
}

// mergedKeys returns the keys that a merge brings in. The extent of the tree
// bounds its work.
func mergedKeys(node *yaml3.Node) []string {
	var keys []string
	node = target(node)
	switch node.Kind {
	case yaml3.SequenceNode:
		for _, one := range node.Content {
			keys = append(keys, mergedKeys(one)...)
		}
	case yaml3.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			if isMerge(node.Content[i]) {
				keys = append(keys, mergedKeys(node.Content[i+1])...)
			} else if key, ok := keyText(node.Content[i]); ok {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

func isMerge(key *yaml3.Node) bool { return plain(key) && key.Value == "<<" }

var (
	nullWords  = []string{"", "~", "null", "Null", "NULL"}
	trueWords  = []string{"y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"}
	falseWords = []string{"n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"}
	infinite   = []string{".inf", ".nan"}
)

// keyText returns the string that a key becomes in JSON, false when it becomes none. It follows
// sigs.k8s.io/yaml, which kubectl and Flux use: unquoted keys have YAML 1.1 types, so "on:" is the
// key "true". Two keys are duplicates if these strings are equal, not if their texts are.
func keyText(key *yaml3.Node) (string, bool) {
	key = target(key)
	switch {
	case key.Kind != yaml3.ScalarNode:
		return "", false
	case !plain(key):
		return key.Value, key.Style&yaml3.TaggedStyle == 0 || key.ShortTag() == "!!str"
	case slices.Contains(nullWords, key.Value):
		return "", false
	case slices.Contains(trueWords, key.Value):
		return "true", true
	case slices.Contains(falseWords, key.Value):
		return "false", true
	case strings.IndexByte("+-.0123456789", key.Value[0]) < 0:
		return key.Value, true
	}
	return numberText(key.Value), true
}

// numberText writes a numeric key as sigs.k8s.io/yaml does.
func numberText(s string) string {
	var value any
	if err := yaml2.Unmarshal([]byte(s), &value); err != nil {
		return s
	}
	switch value := value.(type) {
	case int:
		return strconv.Itoa(value)
	case float64:
		return strconv.FormatFloat(value, 'g', -1, 32)
	}
	return s
}

package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
)

// identity reads who an object is, and gathers why it cannot be that. It checks what an API server
// would refuse for any kind, so a mistake is found when it is written and not when its tier is
// applied.
type identity struct {
	body     map[string]any
	at       position
	id       ID
	version  string
	problems Problems
}

// identify reads the identity of a body. If it has problems, id is what could be read.
func identify(body map[string]any, at position) *identity {
	c := &identity{body: body, at: at}
	if body["apiVersion"] == nil && body["kind"] == nil {
		c.report(v1alpha1.ReasonNotAnObject, at, "the document is not a Kubernetes object: it has neither apiVersion nor kind",
			"Add both, or keep the file out of the seed.")
		return c
	}
	c.readAPIVersion()
	c.readKind()
	c.readMetadata()
	return c
}

// report adds a problem. It names the object by what is there, which may be half of a name or
// nothing.
func (c *identity) report(reason v1alpha1.Reason, at position, message, next string) {
	kind, _ := c.body["kind"].(string)
	metadata, _ := c.body["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	c.problems = append(c.problems, Problem{Reason: reason, Source: at.source(), Field: at.field(), Object: safeTitle(kind, name), Message: message, Next: next})
}

// text returns a required string and where it is; ok is false, and the problem reported, if it is
// missing, empty, encrypted or of another type.
func (c *identity) text(fields map[string]any, key, path, next string) (string, position, bool) {
	at := c.at.at(strings.Split(path, ".")...)
	switch value := fields[key].(type) {
	case nil:
		c.report(v1alpha1.ReasonMissingField, at, path+" is missing", next)
	case string:
		if value == "" {
			c.report(v1alpha1.ReasonMissingField, at, path+" is empty", next)
		}
		if strings.HasPrefix(value, "ENC[") {
			c.report(v1alpha1.ReasonEncryptedMetadata, at, path+" is encrypted", "Encrypt with --encrypted-regex '^(data|stringData)$', so the object can be identified.")
			return "", at, false
		}
		return value, at, value != ""
	default:
		c.report(v1alpha1.ReasonInvalidField, at, fmt.Sprintf("%s is %s and not text", path, c.typeOf(value, at)), "Quote it if it is meant as text.")
	}
	return "", at, false
}

// readAPIVersion reads the group and the version. "core" is how Furrow writes the core group in
// ids, so nobody can have it as a group.
func (c *identity) readAPIVersion() {
	value, at, ok := c.text(c.body, "apiVersion", "apiVersion", "Add it, as in apiVersion: apps/v1.")
	if !ok {
		return
	}
	group, version, grouped := strings.Cut(value, "/")
	if !grouped {
		group, version = "", value
	}
	why := versionFault(version)
	if grouped && why == "" {
		why = groupFault(group)
	}
	switch {
	case group == CoreGroup:
		c.report(v1alpha1.ReasonUnknownKind, at, fmt.Sprintf("there is no API group %q", CoreGroup), "Write apiVersion: "+version+".")
	case why != "":
		c.report(v1alpha1.ReasonInvalidField, at, fmt.Sprintf("apiVersion %s is malformed: %s", shorten(value), why), "Write group/version, or v1 for the core group.")
	}
	c.id.Group, c.version = group, version
}

func (c *identity) readKind() {
	value, at, ok := c.text(c.body, "kind", "kind", "Add it, as in kind: Deployment.")
	if !ok {
		return
	}
	if why := kindFault(value); why != "" {
		c.report(v1alpha1.ReasonInvalidField, at, "kind "+why, "Write the kind as the API server knows it.")
	}
	c.id.Kind = value
}

// readMetadata reads what of the metadata identifies the object, and checks that labels and
// annotations are text, as the API server does.
func (c *identity) readMetadata() {
	at := c.at.at("metadata")
	metadata, ok := c.body["metadata"].(map[string]any)
	if !ok && c.body["metadata"] != nil {
		c.report(v1alpha1.ReasonInvalidField, at, "metadata is not a mapping", "Write metadata with name: below it.")
		return
	}
	c.readName(metadata)
	c.readNamespace(metadata)
	c.checkStrings(metadata, "labels")
	c.checkStrings(metadata, "annotations")
}

// readName reads the name. Which names are allowed depends on the kind: most are DNS subdomains.
func (c *identity) readName(metadata map[string]any) {
	if metadata["name"] == nil && metadata["generateName"] != nil {
		c.report(v1alpha1.ReasonMissingField, c.at.at("metadata", "generateName"), "metadata.generateName without metadata.name: Git needs a name that stays",
			"Write metadata.name instead.")
		return
	}
	value, at, ok := c.text(metadata, "name", "metadata.name", "Add it.")
	if !ok {
		return
	}
	if why := kindNameFault(c.id.GroupKind(), value, c.body); why != "" {
		c.report(v1alpha1.ReasonInvalidName, at, "metadata.name "+why, "Choose another name.")
	}
	c.id.Name = value
}

func (c *identity) readNamespace(metadata map[string]any) {
	if value := metadata["namespace"]; value == nil || value == "" {
		return
	}
	value, at, ok := c.text(metadata, "namespace", "metadata.namespace", "")
	if !ok {
		return
	}
	if why := labelFault(value); why != "" {
		c.report(v1alpha1.ReasonInvalidName, at, "metadata.namespace "+why, "Choose another namespace.")
	}
	c.id.Namespace = value
}

// checkStrings refuses labels and annotations that an API server refuses: keys of
// another form, and values that are not text or, for labels, too much of it.
func (c *identity) checkStrings(metadata map[string]any, field string) {
	if metadata[field] == nil {
		return
	}
	values, ok := metadata[field].(map[string]any)
	if !ok {
		c.report(v1alpha1.ReasonInvalidField, c.at.at("metadata", field), "metadata."+field+" is not a mapping", "Write one key: value a line below it.")
		return
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		at := c.at.at("metadata", field, key)
		if why := keyFault(key); why != "" {
			c.report(v1alpha1.ReasonInvalidLabel, at, "metadata."+field+": "+why, "Correct the key.")
		}
		value, ok := values[key].(string)
		if !ok {
			c.report(v1alpha1.ReasonInvalidLabel, at, fmt.Sprintf("metadata.%s: the value of %s is %s and not text", field, shorten(key), c.typeOf(values[key], at)), "Quote the value.")
		} else if why := valueFault(value); field == "labels" && why != "" && !isSopsValue(value) {
			c.report(v1alpha1.ReasonInvalidLabel, at, fmt.Sprintf("metadata.labels: the value of %s %s", shorten(key), why), "Correct the value, or make it an annotation.")
		}
	}
}

// typeOf returns what a value is, and how the file has it, unless that is part of a Secret.
func (c *identity) typeOf(value any, at position) string {
	if isSecretBody(c.body) {
		return typeName(value)
	}
	return at.typeAsWritten(value)
}

// typeName returns what a value is that has the wrong type.
func typeName(value any) string {
	switch value.(type) {
	case nil:
		return "empty"
	case bool:
		return "a boolean"
	case int64, float64:
		return "a number"
	case []any:
		return "a list"
	case string:
		return "text"
	}
	return "a mapping"
}

package manifest

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
	"unique"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/furrow-dev/furrow/internal/core/truncate"
)

// CoreGroup is how an empty API group is written in an object id.
const CoreGroup = "core"

// GroupKind names a kind of object, whatever its version.
type GroupKind struct{ Group, Kind string }

// String returns "Kind.group", or "Kind" for the core group.
func (k GroupKind) String() string {
	if k.Group == "" {
		return k.Kind
	}
	return k.Kind + "." + k.Group
}

// ParseGroupKind reads a kind of a group as String writes it: Certificate.cert-manager.io.
func ParseGroupKind(text string) (GroupKind, bool) {
	kind, group, _ := strings.Cut(text, ".")
	valid := kind != "" && kind[0] >= 'A' && kind[0] <= 'Z' && IsAPIVersion(strings.ToLower(kind)) && strings.Contains(group, ".") && IsAPIVersion(group+"/v1")
	return GroupKind{Group: group, Kind: kind}, valid
}

// Plurals returns the names that the resources of a kind may have if they are regular; the first is the likeliest.
func (k GroupKind) Plurals() []string {
	singular := strings.ToLower(k.Kind)
	return []string{singular + "s", singular + "es", strings.TrimSuffix(singular, "y") + "ies", singular}
}

// Compare orders by group, then by kind.
func (k GroupKind) Compare(other GroupKind) int {
	if c := strings.Compare(k.Group, other.Group); c != 0 {
		return c
	}
	return strings.Compare(k.Kind, other.Kind)
}

// ID is the identity of an object inside one cluster. It is comparable, and used as a key. The
// version is not part of it: two versions of one object are the same object. Two objects with one
// ID cannot both be applied.
type ID struct{ Group, Kind, Namespace, Name string }

// GroupKind returns the kind of the object.
func (id ID) GroupKind() GroupKind { return GroupKind{Group: id.Group, Kind: id.Kind} }

// interned returns the ID with the one copy of its group, kind and namespace: many objects have the
// same, and comparing them is quick then.
func (id ID) interned() ID {
	id.Group, id.Kind, id.Namespace = unique.Make(id.Group).Value(), unique.Make(id.Kind).Value(), unique.Make(id.Namespace).Value()
	return id
}

// String returns group/Kind/namespace/name, or group/Kind/name for an object
// without a namespace, with an empty group written as "core".
func (id ID) String() string {
	group := cmp.Or(id.Group, CoreGroup)
	if id.Namespace == "" {
		return group + "/" + id.Kind + "/" + id.Name
	}
	return group + "/" + id.Kind + "/" + id.Namespace + "/" + id.Name
}

// Compare orders by group, kind, namespace and name.
func (id ID) Compare(other ID) int {
	if c := id.GroupKind().Compare(other.GroupKind()); c != 0 {
		return c
	}
	if c := strings.Compare(id.Namespace, other.Namespace); c != 0 {
		return c
	}
	return strings.Compare(id.Name, other.Name)
}

// MarshalText makes an ID usable as a JSON or YAML string and map key.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText is the inverse of MarshalText.
func (id *ID) UnmarshalText(text []byte) error {
	parsed, err := ParseID(string(text))
	if err != nil {
		return err
	}
	*id = parsed
	return nil
}

// ParseID reads what String writes, and refuses everything that could not be the id of an object.
// None of the parts can have a slash, so their number decides whether there is a namespace.
func ParseID(s string) (ID, error) {
	parts := strings.Split(s, "/")
	var id ID
	switch len(parts) {
	case 3:
		id = ID{Group: parts[0], Kind: parts[1], Name: parts[2]}
	case 4:
		id = ID{Group: parts[0], Kind: parts[1], Namespace: parts[2], Name: parts[3]}
	default:
		return ID{}, fmt.Errorf("object id %q is neither group/Kind/namespace/name nor group/Kind/name", s)
	}
	if id.Group == CoreGroup {
		id.Group = ""
	} else if why := groupFault(id.Group); why != "" {
		return ID{}, fmt.Errorf("object id %q: group %s", s, why)
	}
	if why := kindFault(id.Kind); why != "" {
		return ID{}, fmt.Errorf("object id %q: kind %s", s, why)
	}
	if why := labelFault(id.Namespace); len(parts) == 4 && why != "" {
		return ID{}, fmt.Errorf("object id %q: namespace %s", s, why)
	}
	if why := nameFault(id.Name); why != "" {
		return ID{}, fmt.Errorf("object id %q: name %s", s, why)
	}
	return id, nil
}

const (
	maxName  = 253 // bytes of an object's name or an API group
	maxLabel = 63  // bytes of a namespace, a kind or a version
)

// nameFault returns why an API server could not have an object of this name in the path of a URL,
// or "". Most kinds are stricter than this: see nameRules.
func nameFault(name string) string {
	switch {
	case name == "":
		return "is empty"
	case name == "." || name == "..":
		return fmt.Sprintf("is %q, which is a path and not a name", name)
	case len(name) > maxName:
		return fmt.Sprintf("has %d bytes, more than %d", len(name), maxName)
	case !utf8.ValidString(name):
		return "is not UTF-8"
	case strings.ContainsAny(name, "/%"):
		return fmt.Sprintf("%q has a character that names cannot have: / or %%", name)
	}
	for _, r := range name {
		if !unicode.IsPrint(r) {
			return fmt.Sprintf("%+q has a character that cannot be printed: %U", name, r)
		}
	}
	return ""
}

// kindFault returns why a kind cannot be one, or "".
func kindFault(kind string) string {
	if len(validation.IsDNS1035Label(strings.ToLower(kind))) > 0 {
		return fmt.Sprintf("%s is not an identifier (letters and digits, at most %d)", shorten(kind), maxLabel)
	}
	return ""
}

func groupFault(group string) string {
	if len(validation.IsDNS1123Subdomain(group)) > 0 {
		return fmt.Sprintf("%s is not a DNS name in lower case", shorten(group))
	}
	return ""
}

func versionFault(version string) string {
	if len(validation.IsDNS1035Label(version)) > 0 {
		return fmt.Sprintf("%s is not a version such as v1 or v1beta1", shorten(version))
	}
	return ""
}

// IsAPIVersion reports whether a text is a version of the core group, or group/version.
func IsAPIVersion(text string) bool {
	group, version, grouped := strings.Cut(text, "/")
	if !grouped {
		return versionFault(text) == ""
	}
	return groupFault(group) == "" && versionFault(version) == ""
}

// shorten quotes text that people wrote, so a message stays one short line.
func shorten(s string) string {
	const most = 80
	if len(s) <= most {
		return fmt.Sprintf("%+q", s)
	}
	return fmt.Sprintf("%+q", truncate.Prefix(s, most)) + truncate.Ellipsis
}

package manifest

import (
	"maps"
	"slices"
	"strings"
)

// Written says which plugin wrote what in the annotations of an object: whole values, and the
// entries of those that are lists. It is not changed after it is made.
type Written map[annotated]string

// annotated is the value of an annotation, or an entry of it.
type annotated struct{ key, value string }

// WrittenBy returns the plugin that wrote the value of an annotation, or an entry of it, which
// commas separate; empty if a person did.
func (o Object) WrittenBy(key, value string) (plugin string) {
	return o.Written[annotated{key, strings.TrimSpace(value)}]
}

// After returns the object as a plugin left it, with what the plugin wrote in its annotations. before
// is the object as the plugin read it; without one, the plugin added the object and wrote all of it.
func (o Object) After(plugin string, before Object) Object {
	written, was, old := Written{}, map[annotated]bool{}, before.Annotations()
	for key, value := range old {
		for _, v := range valuesOf(value) {
			was[annotated{key, v}] = true
		}
	}
	annotations := o.Annotations()
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		for _, v := range valuesOf(annotations[key]) {
			at := annotated{key, v}
			switch author := before.Written[at]; {
			case !was[at]:
				written[at] = plugin
			case author != "":
				written[at] = author
			}
		}
	}
	o.Written = nil
	if len(written) > 0 {
		o.Written = written
	}
	return o
}

// valuesOf returns the value of an annotation, and its entries.
func valuesOf(value string) []string {
	values := []string{strings.TrimSpace(value)}
	if strings.Contains(value, ",") {
		for entry := range strings.SplitSeq(value, ",") {
			values = append(values, strings.TrimSpace(entry))
		}
	}
	return values
}

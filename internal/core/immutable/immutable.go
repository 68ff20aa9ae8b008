// Package immutable says which part of an update an API server refuses, from the two forms of an
// object. It is pure.
//
//	object before, object after ─▶ Refused ─▶ the fields that cannot change
//
// The rules are those of Kubernetes 1.36's validation of updates. A server compares objects with
// their defaults filled in, so a field that is written with its default is not a change, and neither
// are another form of a quantity or an empty list.
package immutable

import (
	"fmt"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/leaves"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// Field is one that an API server does not let anybody change.
type Field struct {
	// Path names the field, as in spec.template.spec.containers[web].image.
	Path string
	// Why says what else has to be known of the refusal; mostly empty.
	Why string
	// Rule reports whether it is refused by a rule of the kind's definition. Of a field with parts, such a rule may
	// refuse the change of one of them only.
	Rule bool
}

// String returns the field for people.
func (f Field) String() string {
	if f.Why == "" {
		return f.Path
	}
	return f.Path + " (" + f.Why + ")"
}

// Recreate is the annotation by which Flux deletes an object and creates it again where the API
// server refuses a change.
const Recreate = "kustomize.toolkit.fluxcd.io/force"

// Recreates reports whether the reconciler deletes the object and creates it again where the API
// server refuses a change.
func Recreates(o manifest.Object) bool { return strings.EqualFold(o.Annotation(Recreate), "enabled") }

// Refused returns the fields of an update that an API server does not let anybody change, in order of
// their paths. It checks nothing else: a server may
// refuse an update for other reasons.
func Refused(was, is manifest.Object) []Field {
	if was.ID.GroupKind() != is.ID.GroupKind() {
		return nil
	}
	kind, known := kinds[is.ID.GroupKind()]
	if !known {
		return nil
	}
	u := update{was: was, is: is}
	for _, r := range kind {
		r(&u)
	}
	slices.SortFunc(u.refused, func(a, b Field) int { return strings.Compare(a.Path, b.Path) })
	return slices.Compact(u.refused)
}

// update is one that is being checked.
type update struct {
	was, is manifest.Object
	refused []Field
}

func (u *update) refuse(path, why string) { u.refused = append(u.refused, Field{Path: path, Why: why}) }

// fields returns the value of a field before and after; nil where it is absent.
func (u *update) fields(path string) (was, is any) {
	keys := strings.Split(path, ".")
	was, _ = u.was.Field(keys...)
	is, _ = u.is.Field(keys...)
	return was, is
}

// text returns the text of a field before and after.
func (u *update) texts(path string) (was, is string) {
	keys := strings.Split(path, ".")
	return u.was.Text(keys...), u.is.Text(keys...)
}

// differences calls found for each leaf that differs for a server.
func (u *update) differences(path string, found func(at string, was, is any)) {
	was, is := u.fields(path)
	walk(path, was, is, found)
}

// rule checks one or more fields of an update.
type rule func(*update)

// fixed are fields that never change. A field includes all below it.
func fixed(paths ...string) rule {
	return func(u *update) {
		for _, path := range paths {
			u.differences(path, func(at string, _, _ any) { u.refuse(at, "") })
		}
	}
}

// fixedWithDefault is a field that never changes, and that a server fills in where it is absent.
func fixedWithDefault(path string, value any) rule {
	return func(u *update) {
		was, is := u.fields(path)
		if was == nil {
			was = value
		}
		if is == nil {
			is = value
		}
		walk(path, was, is, func(at string, _, _ any) { u.refuse(at, "") })
	}
}

// onceSet are fields that may be set later, and do not change after that.
func onceSet(paths ...string) rule {
	return func(u *update) {
		for _, path := range paths {
			was, is := u.fields(path)
			if !isEmpty(was) {
				walk(path, was, is, func(at string, _, _ any) { u.refuse(at, "") })
			}
		}
	}
}

// fixedBelow is a mapping with only some fields that change.
func fixedBelow(path string, changes ...string) rule {
	return func(u *update) {
		u.differences(path, func(at string, _, _ any) {
			if !slices.ContainsFunc(changes, func(may string) bool { return leaves.Within(at, path+"."+may) }) {
				u.refuse(at, "")
			}
		})
	}
}

// whenFrozen are fields that do not change once the object says that it is immutable.
func whenFrozen(paths ...string) rule {
	return func(u *update) {
		if frozen, _ := u.was.Field("immutable"); frozen != true {
			return
		}
		const why = "the object says that it is immutable"
		if still, _ := u.is.Field("immutable"); still != true {
			u.refuse("immutable", why)
		}
		for _, path := range paths {
			u.differences(path, func(at string, _, _ any) { u.refuse(at, why) })
		}
	}
}

// secretData compares the data of a Secret that says that it is immutable, in whichever of the two
// fields it is written. Two forms of an encrypted Secret may hold the same data.
func secretData(u *update) {
	if frozen, _ := u.was.Field("immutable"); frozen != true || u.was.Encrypted() || u.is.Encrypted() {
		return
	}
	walk("data", dataOf(u.was), dataOf(u.is), func(at string, _, _ any) {
		u.refuse(at, "the object says that it is immutable")
	})
}

// storedVersions refuses that a version goes which was the stored one: objects may still be stored in
// it.
func storedVersions(u *update) {
	has := map[string]bool{}
	for _, v := range u.is.Slice("spec", "versions") {
		if version, ok := v.(map[string]any); ok {
			name, _ := version["name"].(string)
			has[name] = true
		}
	}
	for _, v := range u.was.Slice("spec", "versions") {
		version, _ := v.(map[string]any)
		name, _ := version["name"].(string)
		if version["storage"] == true && !has[name] {
			u.refuse(fmt.Sprintf("spec.versions[%s]", name), "objects may be stored in this version, so it stays until they are migrated and status.storedVersions lacks it")
		}
	}
}

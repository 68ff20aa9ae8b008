package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
)

// Options is what Complete needs to know besides the objects.
type Options struct {
	// Namespace fills namespaced objects that have none (Seed.spec.namespace, -n).
	Namespace string
	// Scopes has the scopes of custom resources that are known from elsewhere.
	// Built-in kinds, and definitions among the objects, come before it.
	Scopes map[GroupKind]Scope
}

// Result is what Complete makes of the objects of one seed.
type Result struct {
	Objects  []Object // in the order in which they were given
	Warnings []Problem
}

// Complete fills in what a package leaves out, drops what is not meant to be applied, and refuses
// duplicate objects. The error is of type Problems; the result then has the objects without a
// problem.
//
// The steps are: drop, collect the scopes that definitions among the objects give their kinds, remove
// what only API servers write, and give each object the namespace that its scope requires. Dropped objects
// define nothing: their scopes do not count. Duplicates are found last, since two objects may
// differ in nothing but a namespace that one of them leaves out.
func Complete(objects []Object, opts Options) (Result, error) {
	if why := labelFault(opts.Namespace); opts.Namespace != "" && why != "" {
		return Result{}, Problems{{Reason: v1alpha1.ReasonInvalidName, Field: "Seed.spec.namespace", Message: "the namespace for objects without one " + why, Next: "Set Seed.spec.namespace or -n to another one."}}
	}
	c := completion{opts: opts, defined: map[GroupKind]Scope{}, first: map[ID]Object{}, warnings: faults{}, problems: faults{}}
	kept := c.drop(objects)
	for _, hooks := range []hookStages{helmHooks, argoHooks} {
		c.warnOfHooks(kept, hooks)
	}
	for _, o := range kept {
		for _, d := range Defines(o) {
			c.defined[d.Kind] = d.Scope
		}
	}
next:
	for _, o := range kept {
		for _, step := range []func(Object) (Object, bool){c.unexport, c.resolveNamespace, c.fillSubjects} {
			var ok bool
			if o, ok = step(o); !ok {
				continue next
			}
		}
		c.keep(o)
	}
	c.result.Warnings = c.warnings.problems().sorted()
	return c.result, c.problems.problems().err()
}

// completion is one call of Complete. first has the object of each id that was kept, for
// duplicates.
type completion struct {
	opts    Options
	defined map[GroupKind]Scope // by definitions among the objects
	first   map[ID]Object

	result             Result
	warnings, problems faults
}

// faults are problems without position and object, with the objects that have them. Those of one
// cause are one problem.
type faults map[Problem][]Object

func (f faults) problems() (all Problems) {
	for p, objects := range f {
		all = append(all, p.OfAll(objects))
	}
	return all
}

func (c *completion) warn(reason v1alpha1.Reason, o Object, message, next string) {
	p := Problem{Reason: reason, Message: message, Next: next}
	c.warnings[p] = append(c.warnings[p], o)
}

func (c *completion) refuse(reason v1alpha1.Reason, o Object, message, next string) {
	p := Problem{Reason: reason, Message: message, Next: next}
	c.problems[p] = append(c.problems[p], o)
}

// dropRules name the objects that are not meant to be applied; each returns
// why, or "".
var dropRules = []func(Object) string{hookWithoutInstall, hookWithoutSync, localConfig}

// drop leaves out the objects for which a rule says so, each with a warning.
func (c *completion) drop(objects []Object) []Object {
	var kept []Object
next:
	for _, o := range objects {
		for _, rule := range dropRules {
			if why := rule(o); why != "" {
				c.warn(v1alpha1.ReasonLeftOut, o, "the object is left out: "+why, "Remove the annotation if it is meant to be applied.")
				continue next
			}
		}
		kept = append(kept, o)
	}
	return kept
}

// hookWithoutInstall returns why an object is left out that Helm would create only in hooks that an
// install does not run, such as tests and those of upgrades. One that is for other hooks as well stays.
func hookWithoutInstall(o Object) string {
	if !helmHooks.isIdle(o) {
		return ""
	}
	return fmt.Sprintf("its Helm hooks (%s) do not run when the chart is installed", Printable(o.Annotation(annotationHelmHook)))
}

// hookWithoutSync is the same for Argo CD, whose hook Skip is for nothing at all.
func hookWithoutSync(o Object) string {
	if !argoHooks.isIdle(o) {
		return ""
	}
	return fmt.Sprintf("no sync that succeeds runs its hooks of Argo CD (%s)", Printable(o.Annotation(annotationArgoHook)))
}

// localConfig returns why an object is left out that is for tools alone, as kustomize and kpt mark
// it.
func localConfig(o Object) string {
	const key = "config.kubernetes.io/local-config"
	value, ok := o.Annotations()[key]
	if !ok || value == "false" {
		return ""
	}
	return fmt.Sprintf("its annotation %s says that it is for tools alone", key)
}

// warnOfHooks warns once of the hooks of a tool, however many objects have one. They order objects,
// and are objects like all others in every other way. A hook that is unknown has no effect at all.
func (c *completion) warnOfHooks(objects []Object, hooks hookStages) {
	var first Object
	count := 0
	for _, o := range objects {
		if value := strings.TrimSpace(o.Annotation(hooks.annotation)); value != "" && value != "crd-install" {
			if count++; count == 1 {
				first = o
			}
		}
	}
	if count == 0 {
		return
	}
	others := ""
	if count > 1 {
		others = fmt.Sprintf(" (one of %d in the seed)", count)
	}
	effect, next := "orders the object, which does not run again at each change, and stays after it has run", "Give a Job a new name whenever it changes."
	if _, known := hooks.stage(first); !known {
		effect = "has no effect: the object is planned like any other, and does not run again at each change"
		next = "Declare what has to wait for it with furrow.dev/depends-on, and give a Job a new name whenever it changes."
	}
	c.warn(v1alpha1.ReasonAnnotationIgnored, first, fmt.Sprintf("annotation %s: %s%s %s", hooks.annotation, Printable(first.Annotation(hooks.annotation)), others, effect), next)
}

// serverFields are the fields of metadata that only API servers write. An object that was exported from
// a cluster has them, and no other cluster accepts them: a uid and a resourceVersion are those of one
// object on one cluster, and a server-side apply refuses managedFields.
var serverFields = []string{"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid"}

// unexport removes what an export from a cluster adds to an object: fields that API servers write, the status, the
// annotation of kubectl apply, and owners with a uid. No other cluster has these owners, so its garbage collector
// would delete the object.
func (c *completion) unexport(o Object) (Object, bool) {
	metadata := o.Map("metadata")
	owners, foreign := ownersOf(o)
	if !foreign && !slices.ContainsFunc(serverFields, func(key string) bool { return metadata[key] != nil }) {
		return o, true
	}
	if o.Encrypted() {
		c.refuse(v1alpha1.ReasonExportedObject, o, "it was exported from a cluster: metadata has fields that only API servers write, or an owner by its uid, and nothing can be removed because the object is encrypted with sops", "Remove these fields before encrypting it.")
		return o, false
	}
	c.warn(v1alpha1.ReasonExportedObject, o, "exported from a cluster: what only API servers write in metadata, the status, owners by their uid, and last-applied-configuration are removed", "Remove them.")
	metadata = maps.Clone(metadata)
	for _, key := range serverFields {
		delete(metadata, key)
	}
	if foreign {
		metadata["ownerReferences"] = owners
		if len(owners) == 0 {
			delete(metadata, "ownerReferences")
		}
	}
	o = o.withMetadata(metadata)
	delete(o.Body, "status") // withMetadata made the body anew
	return o.WithoutAnnotation("kubectl.kubernetes.io/last-applied-configuration"), true
}

// ownersOf returns the owners of an object that are not named by a uid, and whether there are others.
func ownersOf(o Object) (owners []any, foreign bool) {
	for _, owner := range o.Slice("metadata", "ownerReferences") {
		if fields, _ := owner.(map[string]any); fields["uid"] != nil && fields["uid"] != "" {
			foreign = true
			continue
		}
		owners = append(owners, owner)
	}
	return owners, foreign
}

// resolveNamespace gives the object the namespace that its scope requires, false if it cannot. It
// never guesses a namespace: one that is missing is filled from the options or refused, and one
// that is too much is removed with a warning. If the scope is unknown, what is written counts; where nothing is, an object of
// a seed that names a namespace gets that, because most kinds are namespaced.
func (c *completion) resolveNamespace(o Object) (Object, bool) {
	scope, known := c.scope(o.ID.GroupKind())
	switch {
	case !known && o.ID.Group == "": // no CustomResourceDefinition and no API server adds to it
		p := UnknownKind(o.ID.GroupKind())
		c.problems[p] = append(c.problems[p], o)
		return o, false
	case !known && ServedByKubernetes(o.ID.GroupKind()): // judged where its clusters are known
	case !known && o.ID.Namespace == "" && c.opts.Namespace != "" && !o.Encrypted():
		c.warn(v1alpha1.ReasonUnknownScope, o, fmt.Sprintf("unknown whether %s is namespaced: the seed names a namespace, so the object gets %s", o.ID.GroupKind(), c.opts.Namespace),
			"Add its CustomResourceDefinition; or list the kind in spec.provides.clusterScopedKinds of the Cluster if it is cluster-scoped.")
		return o.WithNamespace(c.opts.Namespace), true
	case !known && o.ID.Namespace == "":
		c.warn(v1alpha1.ReasonUnknownScope, o, fmt.Sprintf("unknown whether %s is namespaced: the object has no namespace, so it is treated as cluster-scoped", o.ID.GroupKind()),
			"Write metadata.namespace if it is namespaced, or add its CustomResourceDefinition.")
	case !known:
		c.warn(v1alpha1.ReasonUnknownScope, o, fmt.Sprintf("unknown whether %s is namespaced: the object has a namespace, so it is treated as namespaced", o.ID.GroupKind()),
			"Add its CustomResourceDefinition to be sure.")
	case scope == Namespaced && o.ID.Namespace == "":
		return c.fill(o)
	case scope == ClusterScoped && o.ID.Namespace != "":
		return c.strip(o)
	}
	return o, true
}

// scope asks definitions of the seed, then those known from elsewhere, then the built-in table,
// which may be out of date for other projects.
func (c *completion) scope(kind GroupKind) (Scope, bool) {
	if scope, ok := c.defined[kind]; ok {
		return scope, true
	}
	if scope, ok := c.opts.Scopes[kind]; ok {
		return scope, true
	}
	return BuiltinScope(kind)
}

// fill adds the namespace of the options. A sops document cannot be changed: see Object.Raw.
func (c *completion) fill(o Object) (Object, bool) {
	switch {
	case c.opts.Namespace == "":
		c.refuse(v1alpha1.ReasonMissingNamespace, o, "the object is namespaced and has no namespace", "Write metadata.namespace, or set Seed.spec.namespace or -n.")
		return o, false
	case o.Encrypted():
		c.refuse(v1alpha1.ReasonMissingNamespace, o, "the object has no namespace, and none can be filled in because it is encrypted with sops",
			fmt.Sprintf("Write metadata.namespace: %s before encrypting it.", c.opts.Namespace))
		return o, false
	}
	return o.WithNamespace(c.opts.Namespace), true
}

// fillSubjects adds the namespace of the options to the ServiceAccounts of a ClusterRoleBinding that
// have none, which no API server accepts. In a RoleBinding these are in its own namespace.
func (c *completion) fillSubjects(o Object) (Object, bool) {
	subjects := o.Slice("subjects")
	lacks := func(subject any) bool {
		s, _ := subject.(map[string]any)
		return s["kind"] == "ServiceAccount" && (s["namespace"] == nil || s["namespace"] == "")
	}
	if o.ID.Group != "rbac.authorization.k8s.io" || o.ID.Kind != "ClusterRoleBinding" || o.Encrypted() || !slices.ContainsFunc(subjects, lacks) {
		return o, true
	}
	if c.opts.Namespace == "" {
		c.refuse(v1alpha1.ReasonMissingNamespace, o, "a ServiceAccount in its subjects has no namespace", "Write subjects[].namespace, or set Seed.spec.namespace or -n.")
		return o, false
	}
	filled := slices.Clone(subjects)
	for i, subject := range filled {
		if lacks(subject) {
			s := maps.Clone(subject.(map[string]any))
			s["namespace"] = c.opts.Namespace
			filled[i] = s
		}
	}
	o.Body = clone(o.Body)
	o.Body["subjects"] = filled
	return o, true
}

// strip removes the namespace of an object that has none on an API server. It would be part of the
// object's identity here.
func (c *completion) strip(o Object) (Object, bool) {
	if o.Encrypted() {
		c.refuse(v1alpha1.ReasonInvalidEncryption, o, fmt.Sprintf("%s is cluster-scoped, and the namespace cannot be removed because the object is encrypted with sops", o.ID.GroupKind()),
			"Remove metadata.namespace before encrypting it.")
		return o, false
	}
	c.warn(v1alpha1.ReasonNamespaceRemoved, o, fmt.Sprintf("%s is cluster-scoped: the namespace %s is removed", o.ID.GroupKind(), o.ID.Namespace), "Remove metadata.namespace.")
	return o.WithNamespace(""), true
}

// keep takes in a completed object. Two with the same id are a problem, even if they are equal.
func (c *completion) keep(o Object) {
	if first, again := c.first[o.ID]; again {
		p := Problem{Reason: v1alpha1.ReasonDuplicateObject, Other: first.Source, Message: fmt.Sprintf("the object %s is defined twice: first at %s", o.ID, first.Source), Next: "Keep one of the two."}
		c.problems[p] = append(c.problems[p], o)
		return
	}
	c.first[o.ID] = o
	c.result.Objects = append(c.result.Objects, o)
}

package simulator

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/immutable"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// request is one object sent to a simulated API server by a Kustomization, in the tick now. decrypt
// is that the Kustomization decrypts what it applies.
type request struct {
	cluster *cluster
	now     int
	id      manifest.ID
	item    *item
	by      *kustomization
	decrypt bool
}

// check returns the server's message, or "" when it has no objection.
type check struct {
	holds func(request) string
	// brought reports whether what is missing comes in the same apply, before the
	// rest; nil where that does not help.
	brought func(own, request) bool
}

// admission is what an API server checks, in its order. A check that is missing here hides a tier
// that a real API server would reject; one that is too strict fails tests for plans that are right.
var admission = []check{
	{kindServed, own.hasKind},          // the kind is built in, or its CRD is established
	{readable, nil},                    // a sops document was decrypted on the way
	{ownerLabelsFit, nil},              // Flux writes the Kustomization's name into a label
	{namespaceThere, own.hasNamespace}, // the Namespace exists and is not being deleted
	{kustomizationFits, nil},           // a Kustomization has the fields of its schema
	{podAccepted, nil},                 // what a bare Pod names is there
	{fieldsMayChange, nil},             // an update leaves immutable fields as they are
}

// admit returns why the API server rejects the request, "" when it does not. What comes in the same
// apply counts as there for the checks that allow it.
func admit(r request, o own) string {
	for _, c := range admission {
		message := c.holds(r)
		if message == "" || c.brought != nil && c.brought(o, r) {
			continue
		}
		return message
	}
	return ""
}

// fluxGroups are those that `flux install` brings to a cluster with a root.
var fluxGroups = []string{
	"helm.toolkit.fluxcd.io", "kustomize.toolkit.fluxcd.io", "notification.toolkit.fluxcd.io", "source.toolkit.fluxcd.io",
}

// builtin reports whether a cluster serves a kind and version from the start: those of the newest
// Kubernetes, and those of Flux on a cluster with a root.
func builtin(c *cluster, gk manifest.GroupKind, version string) bool {
	if kind, known := manifest.Served(gk); known {
		releases, served := kind.Versions[version]
		return served && releases.Includes(manifest.Release(manifest.SupportedReleases().Last))
	}
	_, known := manifest.BuiltinScope(gk)
	return known && c.root != nil && slices.Contains(fluxGroups, gk.Group)
}

// kindServed is how a client finds the resource of a kind by discovery: a CRD serves it only once
// it is established, and a kind that is being deleted takes no new objects.
func kindServed(r request) string {
	gk := r.id.GroupKind()
	if builtin(r.cluster, gk, r.item.object.Version) {
		return ""
	}
	k := r.cluster.kinds[gk]
	switch {
	case k == nil, r.now < k.establishedAt, k.versions != nil && !slices.Contains(k.versions, r.item.object.Version):
		return fmt.Sprintf("no matches for kind %q in version %q", gk.Kind, r.item.object.APIVersion())
	case k.terminating && r.cluster.objects[r.id] == nil:
		return "create not allowed while custom resource definition is terminating"
	}
	return ""
}

// readable refuses an object that is encrypted where nothing decrypts it, as the API server does,
// which does not know its field sops.
func readable(r request) string {
	if r.item.object.Encrypted() && !r.decrypt {
		return "failed to create typed patch object: .sops: field not declared in schema"
	}
	return ""
}

// ownerLabelsFit refuses what Flux could not label with the name of its Kustomization.
func ownerLabelsFit(r request) string {
	const most = 63 // characters of a label's value
	if len(r.by.key.name) > most {
		return fmt.Sprintf("metadata.labels: Invalid value: %q: must be no more than %d characters", r.by.key.name, most)
	}
	return ""
}

// namespaceThere is the admission plugin NamespaceLifecycle.
func namespaceThere(r request) string {
	name := r.id.Namespace
	if name == "" || r.cluster.objects[r.id] != nil {
		return ""
	}
	switch ns := r.cluster.objects[namespaceID(name)]; {
	case ns == nil:
		return fmt.Sprintf("namespaces %q not found", name)
	case ns.deleting:
		return fmt.Sprintf("%q is forbidden: unable to create new content in namespace %s because it is being terminated", r.id.Name, name)
	}
	return ""
}

func kustomizationFits(r request) string {
	if r.id.GroupKind() != kustomizationKind {
		return ""
	}
	return r.item.declare().fault
}

// podAccepted holds for bare Pods what admission plugins hold against them.
// The account "default" comes with its Namespace.
func podAccepted(r request) string {
	if r.id.GroupKind() != podKind || r.cluster.objects[r.id] != nil {
		return ""
	}
	o := r.item.object
	account := manifest.ID{Kind: "ServiceAccount", Namespace: r.id.Namespace, Name: o.Text("spec", "serviceAccountName")}
	if account.Name != "" && account.Name != "default" && r.cluster.objects[account] == nil {
		return fmt.Sprintf("pods %q is forbidden: error looking up service account %s/%s: serviceaccount %q not found",
			r.id.Name, account.Namespace, account.Name, account.Name)
	}
	priority := manifest.ID{Group: "scheduling.k8s.io", Kind: "PriorityClass", Name: o.Text("spec", "priorityClassName")}
	if priority.Name != "" && !strings.HasPrefix(priority.Name, "system-") && r.cluster.objects[priority] == nil {
		return fmt.Sprintf("pods %q is forbidden: no PriorityClass with name %s was found", r.id.Name, priority.Name)
	}
	runtime := manifest.ID{Group: "node.k8s.io", Kind: "RuntimeClass", Name: o.Text("spec", "runtimeClassName")}
	if runtime.Name != "" && r.cluster.objects[runtime] == nil {
		return fmt.Sprintf("pods %q is forbidden: pod rejected: RuntimeClass %q not found", r.id.Name, runtime.Name)
	}
	return ""
}

// fieldsMayChange refuses an update of fields that API servers, or the rules of a kind, do not let anybody change.
func fieldsMayChange(r request) string {
	live := r.cluster.objects[r.id]
	if live == nil {
		return ""
	}
	var definition *immutable.Definition
	if k := r.cluster.kinds[r.id.GroupKind()]; k != nil {
		definition = k.definition
	}
	refused := definition.Refused(live.object, r.item.object)
	if len(refused) > 0 && !immutable.Recreates(r.item.object) {
		return fmt.Sprintf("%s %q is invalid: %s: %s", r.id.GroupKind(), r.id.Name, refused[0].Path, cmp.Or(refused[0].Why, "field is immutable"))
	}
	return ""
}

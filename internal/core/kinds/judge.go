package kinds

import (
	"fmt"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// fault is why API servers of clusters do not take a version of a kind. Clusters with an equal one
// are reported together.
type fault struct {
	reason  v1alpha1.Reason
	field   string
	message string
	next    string
	refused bool
	// ofCluster reports whether the message has a verb (%s) for the clusters.
	ofCluster bool
	// other is the definition that the message names.
	other manifest.Source
}

// judge returns what is wrong with a version of a kind on a cluster, nil where nothing is. The
// definitions that seeds have there count before what the cluster lists, and that before what
// Kubernetes serves by itself.
func (c *checker) judge(seed string, v versioned, cluster string) *fault {
	if d, ok := c.definitionOn(seed, v.GroupKind, cluster); ok {
		return d.judge(v)
	}
	if versions := c.served[cluster][v.Group]; slices.Contains(versions, v.version) {
		return nil
	} else if len(versions) > 0 && !manifest.ServedByKubernetes(v.GroupKind) {
		return &fault{reason: v1alpha1.ReasonVersionNotServed, field: "apiVersion", refused: true, ofCluster: true,
			message: fmt.Sprintf("on %%s, %s has the version %s, and not %s", v.Group, strings.Join(versions, ", "), v.version),
			next:    "Write a version that is there, or correct spec.provides.apiVersions of the Cluster."}
	}
	if !manifest.ServedByKubernetes(v.GroupKind) {
		return nil // the crd rule reports a kind without a definition
	}
	on := c.inventory.Clusters[cluster]
	if on.Imagined && on.Provides.KubernetesVersion == "" && judgeBuiltin(v, maintained(), "") == nil {
		return nil
	}
	return judgeBuiltin(v, releasesOf(on), on.Provides.KubernetesVersion)
}

// maintained returns the releases that the Kubernetes project still maintains.
func maintained() manifest.Releases {
	last := manifest.SupportedReleases().Last
	return manifest.Releases{First: last - 2, Last: last}
}

// definitionOn returns the definition of a kind that is on a cluster: that of the own
// seed, else of the first seed that has one there.
func (c *checker) definitionOn(seed string, kind manifest.GroupKind, cluster string) (definition, bool) {
	var found definition
	for _, d := range c.defined[kind] {
		if d.clusters[cluster] && (found.object == nil || d.seed == seed) {
			found = d
		}
	}
	return found, found.object != nil
}

func (d definition) judge(v versioned) *fault {
	if d.serves(v.version) {
		return nil
	}
	f := &fault{reason: v1alpha1.ReasonVersionNotServed, field: "apiVersion", refused: true, other: d.object.Source,
		message: fmt.Sprintf("the %s of %s (%s) serves no version", d.object.ID.Kind, v.GroupKind, d.object.Source),
		next:    "Let it serve " + v.version + "."}
	if len(d.versions) > 0 {
		f.message = fmt.Sprintf("the %s of %s (%s) does not serve version %s, but %s", d.object.ID.Kind, v.GroupKind, d.object.Source, v.version, strings.Join(d.versions, ", "))
		f.next = fmt.Sprintf("Write apiVersion: %s, whose fields may differ.", apiVersion(v.Group, slices.MaxFunc(d.versions, manifest.CompareVersions)))
	}
	return f
}

// judgeBuiltin judges a kind of a group of Kubernetes itself. text is the version of the cluster as
// somebody wrote it, empty where it is unknown.
func judgeBuiltin(v versioned, on manifest.Releases, text string) *fault {
	newer := on.Last > manifest.SupportedReleases().Last
	f := &fault{reason: v1alpha1.ReasonVersionNotServed, field: "apiVersion", refused: !newer}
	kind, known := manifest.Served(v.GroupKind)
	releases, served := kind.Versions[v.version]
	switch {
	case !known:
		unknown := manifest.UnknownKind(v.GroupKind)
		f.reason, f.field, f.message, f.next = unknown.Reason, "kind", unknown.Message, unknown.Next
	case !kind.Applied:
		f.reason, f.field, f.refused = v1alpha1.ReasonCannotApply, "kind", true
		f.message, f.next = fmt.Sprintf("an API server does not store objects of kind %s, so none can be applied", v.Kind), "Remove it from the seed."
	case !served:
		f.message, f.next = fmt.Sprintf("Kubernetes has no version %s of %s", v.apiVersion(), v.Kind), instead(v, on)
	case !releases.Overlaps(on) && on.First > releases.Last:
		f.message, f.next, f.refused = fmt.Sprintf("Kubernetes does not serve %s of %s since 1.%d", v.Kind, v.apiVersion(), releases.Last+1), instead(v, on), true
		if text != "" && releases.Overlaps(manifest.SupportedReleases()) {
			f.message, f.ofCluster = f.message+", and the release of %s is "+text, true
		}
	case !releases.Overlaps(on):
		f.message, f.next, f.ofCluster, f.refused = fmt.Sprintf("Kubernetes serves %s of %s since 1.%d, and the release of %%s is %s", v.Kind, v.apiVersion(), releases.First, text), "Update the cluster, or place the object elsewhere"+orWrite(v, on), true, true
	case !releases.Includes(on):
		f.message, f.ofCluster, f.refused = fmt.Sprintf("Kubernetes serves %s of %s %s, and the release of %%s is unknown", v.Kind, v.apiVersion(), span(releases, on)), true, false
		f.next = "Set spec.provides.kubernetesVersion of the Cluster" + orWrite(v, on)
	case !byDefault(v, releases):
		f.message, f.ofCluster, f.refused = fmt.Sprintf("API servers serve %s only where it is switched on, and nothing says so of %%s", v.apiVersion()), true, false
		f.next = fmt.Sprintf("List %s in spec.provides.apiVersions of the Cluster", v.apiVersion()) + orWrite(v, on)
	default:
		return nil
	}
	return f
}

// betaIsOff is the release from which new beta versions are off unless they are switched on; alpha
// versions always were.
const betaIsOff = 24

// byDefault reports whether API servers serve a version of a kind unless that is switched off.
// Version v1beta3 of flow control went on with what its v1beta2 had.
func byDefault(v versioned, served manifest.Releases) bool {
	switch manifest.Prerelease(v.version) {
	case "alpha":
		return false
	case "beta":
		return served.First < betaIsOff || v.Group == "flowcontrol.apiserver.k8s.io"
	}
	return true
}

// span says which of the releases that a cluster may run serve something.
func span(served, on manifest.Releases) string {
	switch {
	case served.First <= on.First:
		return fmt.Sprintf("until 1.%d", served.Last)
	case served.Last >= on.Last:
		return fmt.Sprintf("since 1.%d", served.First)
	case served.First == served.Last:
		return fmt.Sprintf("in 1.%d alone", served.First)
	}
	return fmt.Sprintf("from 1.%d to 1.%d", served.First, served.Last)
}

// instead returns what to write instead of a version that the releases of a cluster do not serve.
func instead(v versioned, on manifest.Releases) string {
	if better := replacement(v, on); better != "" {
		return "Write apiVersion: " + better + ", whose fields may differ."
	}
	return "Remove it: Kubernetes has nothing that replaces it."
}

// orWrite is the end of a next step that names the better version, where there is one.
func orWrite(v versioned, on manifest.Releases) string {
	if better := replacement(v, on); better != "" && better != v.apiVersion() {
		return ", or write apiVersion: " + better + "."
	}
	return "."
}

// replacement returns the API version in which some releases, or at least the last of them, serve a
// kind by default: of the own group, else of another one that has a kind of that name; "" where
// there is none.
func replacement(v versioned, on manifest.Releases) string {
	last := manifest.Release(min(on.Last, manifest.SupportedReleases().Last))
	for _, releases := range []manifest.Releases{{First: min(on.First, last.First), Last: last.Last}, last} {
		for _, group := range append([]string{v.Group}, manifest.ServedElsewhere(v.GroupKind, releases)...) {
			kind := manifest.GroupKind{Group: group, Kind: v.Kind}
			row, _ := manifest.Served(kind)
			version := row.Newest(releases)
			if version != "" && row.Applied && byDefault(versioned{kind, version}, row.Versions[version]) {
				return apiVersion(group, version)
			}
		}
	}
	return ""
}

package flux

import (
	"cmp"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/furrow-dev/furrow/internal/core/health"
	"github.com/furrow-dev/furrow/internal/core/redact"
	"github.com/furrow-dev/furrow/internal/probe"
)

// answeredRoot is what was answered for a directory, and when it was asked for.
type answeredRoot struct {
	root  health.Root
	asked time.Time
}

// rootRow is a Kustomization that is none of a tier's.
type rootRow struct {
	path string
	// here reports whether it applies to the cluster that it is on and is not being deleted.
	here bool
	// root has all but the source's fields.
	root   health.Root
	source name
}

// sourceRow is a source, as roots use it.
type sourceRow struct {
	url, branch    string
	verify         health.Verify
	ignore         string
	suspended      bool
	ready, message string
}

// readRoot makes a row of a Kustomization. While Flux reconciles it again, the previous conclusion
// remains valid.
func readRoot(u *unstructured.Unstructured, before *rootRow) *rootRow {
	ready := conditionOf(u.Object, "Ready")
	spec, _ := u.Object["spec"].(map[string]any)
	_, elsewhere := spec["kubeConfig"]
	row := &rootRow{
		path: directory(text(spec, "path")), here: !elsewhere && u.GetDeletionTimestamp() == nil,
		source: name{cmp.Or(text(spec, "sourceRef", "namespace"), u.GetNamespace()), text(spec, "sourceRef", "name")},
	}
	row.root = health.Root{
		Known: true, Found: true, Name: nameOf(u).String(), Path: row.path,
		Suspended: truth(spec, "suspend"), Prune: truth(spec, "prune"), Wait: truth(spec, "wait"),
		Ready: ready.status, Reason: ready.reason, Message: ready.message,
		Source: row.source.String(), SourceKind: text(spec, "sourceRef", "kind"),
	}
	if before != nil && before.root.Ready != "" && underWay(ready) {
		row.root.Ready, row.root.Reason, row.root.Message = before.root.Ready, before.root.Reason, before.root.Message
	}
	return row
}

func underWay(ready condition) bool {
	return ready.status == "Unknown" && ready.reason == reasonProgressing
}

// readSource makes a row of a source. While Flux fetches again, the previous result remains valid.
func readSource(u *unstructured.Unstructured, before *sourceRow) *sourceRow {
	row := sourceOf(u)
	if before != nil && before.ready != "" && underWay(conditionOf(u.Object, "Ready")) {
		row.ready, row.message = before.ready, before.message
	}
	return row
}

func sourceOf(u *unstructured.Unstructured) *sourceRow {
	ready := conditionOf(u.Object, "Ready")
	return &sourceRow{
		url: redact.URL(text(u.Object, "spec", "url")), branch: branchOf(u), verify: verifyOf(u), ignore: text(u.Object, "spec", "ignore"),
		suspended: truth(u.Object, "spec", "suspend"), ready: ready.status, message: ready.message,
	}
}

func judgeSource(u *unstructured.Unstructured) (any, time.Duration) {
	if u == nil {
		return nil, rereadInterval
	}
	return sourceOf(u), rereadInterval
}

// defaultBranch is the one that Flux follows where none is named.
const defaultBranch = "master"

// branchOf returns the branch that a GitRepository follows; empty where it follows something else.
// What Flux prefers comes first.
func branchOf(u *unstructured.Unstructured) string {
	ref, _, _ := unstructured.NestedMap(u.Object, "spec", "ref")
	switch {
	case u.GetKind() != kindGitRepository, text(ref, "commit") != "":
		return ""
	case text(ref, "name") != "":
		branch, _ := strings.CutPrefix(text(ref, "name"), "refs/heads/")
		if branch == text(ref, "name") {
			return ""
		}
		return branch
	case text(ref, "semver") != "", text(ref, "tag") != "":
		return ""
	case text(ref, "branch") != "":
		return text(ref, "branch")
	}
	return defaultBranch
}

// covers reports whether a root of the path syncs the directory, which is at or below it.
func covers(path, dir string) bool {
	return path == "" || path == dir || strings.HasPrefix(dir, path+"/")
}

// fluxNamespace is where flux bootstrap puts a root.
const fluxNamespace = "flux-system"

// rootOf finds the root of a directory: one that reads the source, then the
// deepest, then one in flux-system, then the first by name.
func rootOf(rows map[name]*rootRow, dir, source string) *rootRow {
	var best *rootRow
	var bestName name
	better := func(n name, row *rootRow) bool {
		switch {
		case best == nil:
			return true
		case (row.root.Source == source) != (best.root.Source == source):
			return row.root.Source == source
		case len(row.path) != len(best.path):
			return len(row.path) > len(best.path)
		case (n.namespace == fluxNamespace) != (bestName.namespace == fluxNamespace):
			return n.namespace == fluxNamespace
		}
		return n.String() < bestName.String()
	}
	for n, row := range rows {
		if row.here && covers(row.path, dir) && better(n, row) {
			best, bestName = row, n
		}
	}
	return best
}

// root answers for a directory.
func (c *cluster) root(key probe.RootKey) health.Root {
	c.mu.Lock()
	defer c.mu.Unlock()
	root := c.rootNow(key)
	c.roots[key] = answeredRoot{root, c.asked}
	return root
}

// rootNow returns what is known of a directory's root; cluster.mu is held.
func (c *cluster) rootNow(key probe.RootKey) health.Root {
	if ok, why := c.feed(theirs); !ok {
		return health.Root{Message: why.text}
	}
	row := rootOf(c.session.roots.rows, directory(key.Path), key.Source)
	if row == nil {
		return health.Root{Known: true}
	}
	root := row.root
	source, why := c.sourceNow(row)
	if why != "" {
		return health.Root{Message: why}
	}
	if source != nil {
		root.SourceFound, root.URL, root.Branch, root.Ignore = true, source.url, source.branch, source.ignore
		root.Verify = c.verifyKeys(source.verify)
		root.SourceSuspended, root.SourceReady, root.SourceMessage = source.suspended, source.ready, source.message
	}
	return root
}

// sourceNow returns a root's source, nil where there is none, or why that is not known.
func (c *cluster) sourceNow(row *rootRow) (source *sourceRow, why string) {
	if row.root.SourceKind == kindGitRepository {
		if ok, why := c.feed(sources); !ok {
			return nil, why.text
		}
		return c.session.repositories.rows[row.source], ""
	}
	o := c.watched(objectKey{schema.GroupVersionKind{Group: sourceGroup, Version: "v1", Kind: row.root.SourceKind}, row.source}, judgeSource)
	source, _ = o.seen.kept.(*sourceRow)
	return source, "" // a root that reads no GitRepository is not fit, whatever is known of the source
}

// rootsChanged reports whether what was answered for a directory is not what would be answered
// now; cluster.mu is held. A change of any Kustomization or source may change which root is
// meant, so the answers are compared instead of the objects.
func (c *cluster) rootsChanged() bool {
	for key, last := range c.roots {
		if c.rootNow(key) != last.root {
			return true
		}
	}
	return false
}

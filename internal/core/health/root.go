package health

import (
	"fmt"
	"net/url"
	"path"
	"strings"
)

// WantRoot is what the root of a directory has to be.
type WantRoot struct {
	Cluster string
	// Path is the directory in the GitOps repository.
	Path string
	// Source is the source object that tiers refer to, as namespace/name; empty where that is not known.
	Source string
	// URL and Branch are those of the GitOps repository.
	URL, Branch string
}

// rootChecks are asked in this order; the first that has an answer decides. Each
// answers with what is wrong and what to do.
var rootChecks = []func(Root, WantRoot) string{
	rootIsFound, rootSyncsNoMore, rootPrunes, rootDoesNotWait, rootIsNotSuspended, rootHasSource, sourceIsOurs, sourceFetches, rootBuilds,
}

// RootUnfit says what keeps a root from taking up what lands in its directory, and
// what to do about it; empty when it is fit. Of a root that is not Known it says nothing.
func RootUnfit(r Root, w WantRoot) string {
	if !r.Known {
		return ""
	}
	for _, check := range rootChecks {
		if problem := check(r, w); problem != "" {
			return problem
		}
	}
	return ""
}

// RootUnknown says why nothing can be said about a root; empty when something can.
func RootUnknown(r Root, w WantRoot) string {
	if r.Known {
		return ""
	}
	return fmt.Sprintf("whether a root on cluster %s syncs %s is not known yet%s", w.Cluster, shown(w.Path), suffix(r.Message))
}

func rootIsFound(r Root, w WantRoot) string {
	if r.Found {
		return ""
	}
	return fmt.Sprintf("no Flux Kustomization on cluster %s syncs %s. Set the root up: flux bootstrap git --path %s, or a GitRepository of %s and a Kustomization with that path", w.Cluster, shown(w.Path), orRoot(w.Path), withoutUser(w.URL))
}

// rootSyncsNoMore refuses a root of a directory above: it applies what is for other
// clusters, and below the repository's own root the contents of all tiers, too.
func rootSyncsNoMore(r Root, w WantRoot) string {
	want := path.Clean("/" + w.Path)[1:]
	if r.Path == want {
		return ""
	}
	return fmt.Sprintf("the root %s on cluster %s syncs %s, and with it what is for other clusters. Set its spec.path to ./%s", r.Name, w.Cluster, shown(r.Path), want)
}

func rootPrunes(r Root, w WantRoot) string {
	if r.Prune {
		return ""
	}
	return fmt.Sprintf("the root %s on cluster %s has spec.prune: false, so that what leaves would stay. Set it to true", r.Name, w.Cluster)
}

func rootDoesNotWait(r Root, w WantRoot) string {
	if !r.Wait {
		return ""
	}
	return fmt.Sprintf("the root %s on cluster %s has spec.wait: true, so that one tier that is not healthy holds back the others. Set it to false", r.Name, w.Cluster)
}

func rootIsNotSuspended(r Root, w WantRoot) string {
	if !r.Suspended {
		return ""
	}
	return fmt.Sprintf("the root %s on cluster %s is suspended. Resume it: flux resume kustomization%s", r.Name, w.Cluster, argument(r.Name))
}

func rootHasSource(r Root, w WantRoot) string {
	if r.SourceFound {
		return ""
	}
	return fmt.Sprintf("the root %s on cluster %s reads the %s %s, which is not there. Create it", r.Name, w.Cluster, r.SourceKind, r.Source)
}

// gitRepository is the only kind of source that reads a Git repository.
const gitRepository = "GitRepository"

func sourceIsOurs(r Root, w WantRoot) string {
	switch {
	case r.SourceKind != gitRepository:
		return fmt.Sprintf("the root %s on cluster %s reads a %s. Let it read a GitRepository of %s", r.Name, w.Cluster, r.SourceKind, withoutUser(w.URL))
	case w.Source != "" && r.Source != w.Source:
		return fmt.Sprintf("the root %s on cluster %s reads the GitRepository %s, and the tiers would read %s. Name it in spec.source of the cluster's ClusterType", r.Name, w.Cluster, r.Source, w.Source)
	case r.URL != "" && !sameRepository(r.URL, w.URL):
		return fmt.Sprintf("the GitRepository %s on cluster %s reads %s, and proposals go to %s. Correct one of them", r.Source, w.Cluster, withoutUser(r.URL), withoutUser(w.URL))
	case r.URL != "" && r.Branch != w.Branch:
		return fmt.Sprintf("the GitRepository %s on cluster %s follows branch %q, and proposals go to %q. Correct spec.ref.branch, or the GitOpsRepo's spec.branch", r.Source, w.Cluster, r.Branch, w.Branch)
	}
	return ""
}

func sourceFetches(r Root, w WantRoot) string {
	switch {
	case r.SourceSuspended:
		return fmt.Sprintf("the GitRepository %s on cluster %s is suspended. Resume it: flux resume source git%s", r.Source, w.Cluster, argument(r.Source))
	case r.SourceReady == "False":
		return fmt.Sprintf("the GitRepository %s on cluster %s cannot fetch%s. Correct its spec.url, spec.ref or spec.secretRef, or what it says", r.Source, w.Cluster, suffix(r.SourceMessage))
	}
	return ""
}

func rootBuilds(r Root, w WantRoot) string {
	if r.Ready != "False" || r.Reason == reasonDependency {
		return ""
	}
	return fmt.Sprintf("the root %s on cluster %s takes up no change: %s%s. Correct what lies under %s", r.Name, w.Cluster, r.Reason, suffix(r.Message), shown(w.Path))
}

// argument writes namespace/name as the commands of flux take it.
func argument(object string) string {
	namespace, name, ok := strings.Cut(object, "/")
	if !ok {
		return " " + object
	}
	return " " + name + " -n " + namespace
}

func shown(path string) string {
	if path == "" {
		return "the whole repository"
	}
	return "the directory " + path
}

func orRoot(path string) string {
	if path == "" {
		return "./"
	}
	return path
}

// sameRepository compares what URLs of one repository have in common, whatever
// the protocol, the user and the name of the host: clusters often reach a server
// by another name. Of a directory on this machine only the last element counts.
func sameRepository(a, b string) bool {
	as, aLocal := elements(a)
	bs, bLocal := elements(b)
	n := 2
	if aLocal || bLocal {
		n = 1
	}
	n = min(n, len(as), len(bs))
	for i := 1; i <= n; i++ {
		if !strings.EqualFold(as[len(as)-i], bs[len(bs)-i]) {
			return false
		}
	}
	return n > 0
}

// elements are those of the URL's path, without .git.
func elements(address string) (path []string, local bool) {
	scheme, rest, hasScheme := strings.Cut(address, "://")
	switch {
	case hasScheme:
		_, rest, _ = strings.Cut(rest, "/")
		local = strings.EqualFold(scheme, "file")
	case strings.Contains(address, "@") && strings.Contains(address, ":"):
		_, rest, _ = strings.Cut(address, ":")
	default:
		rest, local = address, true
	}
	rest = strings.TrimSuffix(strings.Trim(rest, "/"), ".git")
	return strings.FieldsFunc(rest, func(r rune) bool { return r == '/' }), local
}

// withoutUser leaves out what stands before the host, which may be a secret, and
// a query, which may be one too. Of a URL that is none only the scheme is left.
func withoutUser(address string) string {
	scheme, _, ok := strings.Cut(address, "://")
	if !ok {
		host, _, _ := strings.Cut(address, "/")
		return address[strings.LastIndex(host, "@")+1:]
	}
	u, err := url.Parse(address)
	if err != nil {
		return scheme + "://…"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

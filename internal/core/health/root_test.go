package health_test

import (
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/internal/core/health"
)

var wantRoot = health.WantRoot{
	Cluster: "edge-1", Path: "clusters/edge-1", Source: "flux-system/flux-system", URL: "https://git.example/org/fleet", Branch: "main",
}

// fit is a root as it should be; the tests change what they are about.
func fit(changes ...func(*health.Root)) health.Root {
	r := health.Root{
		Known: true, Found: true, Name: "flux-system/root", Path: "clusters/edge-1", Prune: true, Ready: "True", Reason: "ReconciliationSucceeded",
		Source: "flux-system/flux-system", SourceKind: "GitRepository", SourceFound: true, SourceReady: "True",
		URL: "ssh://git@git.example:22/org/fleet.git", Branch: "main",
	}
	for _, change := range changes {
		change(&r)
	}
	return r
}

func TestRootUnfit(t *testing.T) {
	notReady := func(reason, message string) func(*health.Root) {
		return func(r *health.Root) { r.Ready, r.Reason, r.Message = "False", reason, message }
	}
	const root, source = "the root flux-system/root on cluster edge-1 ", "the GitRepository flux-system/flux-system on cluster edge-1 "
	tests := map[string]struct {
		root health.Root
		want string
	}{
		"a root as it should be is fit":                    {fit(), ""},
		"a root of which nothing is known is not unfit":    {health.Root{Message: "no route to host"}, ""},
		"a root that has not reconciled yet is fit":        {fit(func(r *health.Root) { r.Ready, r.SourceReady = "", "" }), ""},
		"a root that reconciles is fit":                    {fit(func(r *health.Root) { r.Ready, r.Reason = "Unknown", "Progressing" }), ""},
		"a source that fetches is fit":                     {fit(func(r *health.Root) { r.SourceReady = "Unknown" }), ""},
		"a root that waits for a dependency is fit":        {fit(notReady("DependencyNotReady", "")), ""},
		"a source whose URL cannot be read is not refused": {fit(func(r *health.Root) { r.URL, r.Branch = "", "" }), ""},
		"no root": {
			health.Root{Known: true},
			"no Flux Kustomization on cluster edge-1 syncs the directory clusters/edge-1. Set the root up: flux bootstrap git --path clusters/edge-1, or a GitRepository of https://git.example/org/fleet and a Kustomization with that path",
		},
		"of a directory above": {
			fit(func(r *health.Root) { r.Path, r.Prune = "clusters", false }),
			root + "syncs the directory clusters, and with it what is for other clusters. Set its spec.path to ./clusters/edge-1",
		},
		"of the whole repository": {
			fit(func(r *health.Root) { r.Path = "" }),
			root + "syncs the whole repository, and with it what is for other clusters. Set its spec.path to ./clusters/edge-1",
		},
		"without prune": {fit(func(r *health.Root) { r.Prune = false }), root + "has spec.prune: false, so that what leaves would stay. Set it to true"},
		"with wait":     {fit(func(r *health.Root) { r.Wait = true }), root + "has spec.wait: true, so that one tier that is not healthy holds back the others. Set it to false"},
		"suspended":     {fit(func(r *health.Root) { r.Suspended = true }), root + "is suspended. Resume it: flux resume kustomization root -n flux-system"},
		"without its source": {
			fit(func(r *health.Root) { r.SourceFound = false }), root + "reads the GitRepository flux-system/flux-system, which is not there. Create it",
		},
		"of a source that is no Git repository": {
			fit(func(r *health.Root) { r.SourceKind = "OCIRepository" }), root + "reads a OCIRepository. Let it read a GitRepository of https://git.example/org/fleet",
		},
		"of another source than the tiers": {
			fit(func(r *health.Root) { r.Source = "flux-system/fleet" }),
			root + "reads the GitRepository flux-system/fleet, and the tiers would read flux-system/flux-system. Name it in spec.source of the cluster's ClusterType",
		},
		"of another repository": {
			fit(func(r *health.Root) { r.URL = "https://robot:s3cret@git.example/org/other?token=s3cret" }),
			source + "reads https://git.example/org/other, and proposals go to https://git.example/org/fleet. Correct one of them",
		},
		"of another branch": {
			fit(func(r *health.Root) { r.Branch = "master" }),
			source + `follows branch "master", and proposals go to "main". Correct spec.ref.branch, or the GitOpsRepo's spec.branch`,
		},
		"of a tag or a commit, which is no branch": {fit(func(r *health.Root) { r.Branch = "" }), source + `follows branch "", and proposals go to "main"`},
		"of a suspended source":                    {fit(func(r *health.Root) { r.SourceSuspended = true }), source + "is suspended. Resume it: flux resume source git flux-system -n flux-system"},
		"of a source that cannot fetch, though the root stays Ready": {
			fit(func(r *health.Root) { r.SourceReady, r.SourceMessage = "False", "authentication required" }),
			source + "cannot fetch: authentication required. Correct its spec.url, spec.ref or spec.secretRef, or what it says",
		},
		"with YAML that does not build": {
			fit(notReady("BuildFailed", "MalformedYAMLError: yaml: line 2")),
			root + "takes up no change: BuildFailed: MalformedYAMLError: yaml: line 2. Correct what lies under the directory clusters/edge-1",
		},
		"with a kind that the cluster does not know": {
			fit(notReady("ReconciliationFailed", `Nope/default/n dry-run failed: no matches for kind "Nope"`)), root + "takes up no change: ReconciliationFailed: Nope/default/n",
		},
		"with a namespace that is not there": {
			fit(notReady("ReconciliationFailed", `namespaces "nonesuch" not found`)), root + "takes up no change: ReconciliationFailed: namespaces",
		},
		"with a path that is gone": {fit(notReady("ArtifactFailed", "kustomization path not found")), root + "takes up no change: ArtifactFailed: kustomization path not found"},
		"the first thing that is wrong is told": {
			fit(notReady("BuildFailed", "yaml"), func(r *health.Root) { r.Prune, r.Suspended = false, true }), root + "has spec.prune: false",
		},
		"what is wrong with the source comes before what the root makes of it": {
			fit(notReady("ArtifactFailed", "Source artifact not found"), func(r *health.Root) { r.SourceReady = "False" }), source + "cannot fetch.",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := health.RootUnfit(tc.root, wantRoot)
			if !strings.HasPrefix(got, tc.want) || (got == "") != (tc.want == "") {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
			if strings.Contains(got, "s3cret") {
				t.Errorf("the message has a secret: %s", got)
			}
		})
	}
}

func TestRootUnknown(t *testing.T) {
	if got := health.RootUnknown(fit(), wantRoot); got != "" {
		t.Errorf("of a known root: %s", got)
	}
	got := health.RootUnknown(health.Root{Message: "no route to host"}, wantRoot)
	if want := "whether a root on cluster edge-1 syncs the directory clusters/edge-1 is not known yet: no route to host"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestRootOfTheWholeRepository(t *testing.T) {
	got := health.RootUnfit(health.Root{Known: true}, health.WantRoot{Cluster: "edge-1", URL: "https://robot:s3cret@git.example/org/fleet"})
	want := "no Flux Kustomization on cluster edge-1 syncs the whole repository. Set the root up: flux bootstrap git --path ./, or a GitRepository of https://git.example/org/fleet and a Kustomization with that path"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestRootNeedNotNameItsSourceWhereThatIsNotKnown(t *testing.T) {
	anySource := wantRoot
	anySource.Source = ""
	if got := health.RootUnfit(fit(func(r *health.Root) { r.Source = "flux-system/fleet" }), anySource); got != "" {
		t.Errorf("got %s", got)
	}
}

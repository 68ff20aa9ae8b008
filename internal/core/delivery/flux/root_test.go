package flux_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/health"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/test/golden"
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
	texts := golden.Of(t)
	tests := map[string]struct {
		root   health.Root
		reason v1alpha1.Reason
		object string
	}{
		"a root as it should be is fit":                    {fit(), "", ""},
		"a root whose state is unknown is not unfit":       {health.Root{Message: "no route to host"}, "", ""},
		"a root that has not reconciled yet is fit":        {fit(func(r *health.Root) { r.Ready, r.SourceReady = "", "" }), "", ""},
		"a root that reconciles is fit":                    {fit(func(r *health.Root) { r.Ready, r.Reason = "Unknown", "Progressing" }), "", ""},
		"a source that fetches is fit":                     {fit(func(r *health.Root) { r.SourceReady = "Unknown" }), "", ""},
		"a root that waits for a dependency is fit":        {fit(notReady("DependencyNotReady", "")), "", ""},
		"a source whose URL cannot be read is not refused": {fit(func(r *health.Root) { r.URL, r.Branch = "", "" }), "", ""},
		"no root": {
			health.Root{Known: true}, v1alpha1.ReasonRootMissing, "",
		},
		"of a directory above": {
			fit(func(r *health.Root) { r.Path, r.Prune = "clusters", false }), v1alpha1.ReasonRootTooWide, "flux-system/root",
		},
		"of the whole repository": {
			fit(func(r *health.Root) { r.Path = "" }), v1alpha1.ReasonRootTooWide, "flux-system/root",
		},
		"without prune": {fit(func(r *health.Root) { r.Prune = false }), v1alpha1.ReasonRootDoesNotPrune, "flux-system/root"},
		"with wait":     {fit(func(r *health.Root) { r.Wait = true }), v1alpha1.ReasonRootWaits, "flux-system/root"},
		"suspended":     {fit(func(r *health.Root) { r.Suspended = true }), v1alpha1.ReasonRootSuspended, "flux-system/root"},
		"without its source": {
			fit(func(r *health.Root) { r.SourceFound = false }), v1alpha1.ReasonRootSourceMissing, "flux-system/flux-system",
		},
		"of a source that is not a Git repository": {
			fit(func(r *health.Root) { r.SourceKind = "OCIRepository" }), v1alpha1.ReasonRootSourceMismatch, "flux-system/root",
		},
		"of another source than the tiers": {
			fit(func(r *health.Root) { r.Source = "flux-system/fleet" }), v1alpha1.ReasonRootSourceMismatch, "flux-system/root",
		},
		"of another repository": {
			fit(func(r *health.Root) { r.URL = "https://robot:s3cret@git.example/org/other?token=s3cret" }), v1alpha1.ReasonRootRepositoryMismatch, "flux-system/flux-system",
		},
		"of another branch": {
			fit(func(r *health.Root) { r.Branch = "master" }), v1alpha1.ReasonRootBranchMismatch, "flux-system/flux-system",
		},
		"of a tag or a commit, which is not a branch": {fit(func(r *health.Root) { r.Branch = "" }), v1alpha1.ReasonRootBranchMismatch, "flux-system/flux-system"},
		"of a suspended source":                       {fit(func(r *health.Root) { r.SourceSuspended = true }), v1alpha1.ReasonRootSourceSuspended, "flux-system/flux-system"},
		"of a source that cannot fetch, though the root stays Ready": {
			fit(func(r *health.Root) { r.SourceReady, r.SourceMessage = "False", "authentication required" }), v1alpha1.ReasonRootSourceFailed, "flux-system/flux-system",
		},
		"with YAML that does not build": {
			fit(notReady("BuildFailed", "MalformedYAMLError: yaml: line 2")), v1alpha1.ReasonRootFailed, "flux-system/root",
		},
		"with a kind that the cluster does not know": {
			fit(notReady("ReconciliationFailed", `Nope/default/n dry-run failed: no matches for kind "Nope"`)), v1alpha1.ReasonRootFailed, "flux-system/root",
		},
		"with a namespace that is not there": {
			fit(notReady("ReconciliationFailed", `namespaces "nonesuch" not found`)), v1alpha1.ReasonRootFailed, "flux-system/root",
		},
		"with a path that is gone": {fit(notReady("ArtifactFailed", "kustomization path not found")), v1alpha1.ReasonRootFailed, "flux-system/root"},
		"the first thing that is wrong is reported": {
			fit(notReady("BuildFailed", "yaml"), func(r *health.Root) { r.Prune, r.Suspended = false, true }), v1alpha1.ReasonRootDoesNotPrune, "flux-system/root",
		},
		"what is wrong with the source comes before what the root makes of it": {
			fit(notReady("ArtifactFailed", "Source artifact not found"), func(r *health.Root) { r.SourceReady = "False" }), v1alpha1.ReasonRootSourceFailed, "flux-system/flux-system",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := kind.RootUnfit(tc.root, wantRoot)
			texts.Add(name, got.Text())
			want := manifest.Problem{Reason: tc.reason, Object: tc.object, Cluster: "edge-1", Path: "clusters/edge-1", Message: got.Message, Next: got.Next}
			if tc.reason == "" {
				want = manifest.Problem{}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if strings.Contains(got.Text(), "s3cret") {
				t.Errorf("the message has a secret: %s", got.Text())
			}
		})
	}
}

func TestRootUnknown(t *testing.T) {
	if got := kind.RootUnknown(fit(), wantRoot); got.Reason != "" {
		t.Errorf("of a known root: %s", got)
	}
	got := kind.RootUnknown(health.Root{Message: "no route to host"}, wantRoot)
	golden.Of(t).Add("no route", got.Text())
	if got.Reason != v1alpha1.ReasonRootUnknown || got.Cluster != "edge-1" || got.Path != "clusters/edge-1" {
		t.Errorf("got %+v", got)
	}
}

func TestRootOfTheWholeRepository(t *testing.T) {
	got := kind.RootUnfit(health.Root{Known: true}, health.WantRoot{Cluster: "edge-1", URL: "https://robot:s3cret@git.example/org/fleet"})
	golden.Of(t).Add("no root", got.Text())
	if got.Reason != v1alpha1.ReasonRootMissing || got.Path != "" {
		t.Errorf("got %+v", got)
	}
}

func TestRootNeedNotNameItsSourceWhereThatIsNotKnown(t *testing.T) {
	anySource := wantRoot
	anySource.Source = ""
	if got := kind.RootUnfit(fit(func(r *health.Root) { r.Source = "flux-system/fleet" }), anySource); got.Reason != "" {
		t.Errorf("got %s", got)
	}
}

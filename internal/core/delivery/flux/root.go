package flux

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/health"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/merging"
	"github.com/furrow-dev/furrow/internal/core/redact"
)

// MergeBy returns the ways to merge that leave a signature which the root's source accepts; none if its
// source verifies nothing, or any way of Git will do. The problem is a warning if the repository allows
// others too, and RootVerification if it accepts none.
func (Kind) MergeBy(r health.Root, w health.WantRoot) (accepted []merging.Way, problem manifest.Problem) {
	if !r.Verifies() {
		return nil, problem
	}
	v := r.Verifier(w)
	accepted, refused := w.Merging.Sort(v)
	switch {
	case len(accepted) == 0:
		problem = sourceAcceptsSignatures(r, w)
		problem.Cluster = w.Cluster
		return nil, problem
	case len(refused) == 0:
		return accepted, problem
	}
	problem = unfit(v1alpha1.ReasonRootRefusesMethod, r.Source, fmt.Sprintf("the GitRepository %s on cluster %s accepts what is merged by %s only, and the repository also allows other ways: %s",
		r.Source, w.Cluster, merging.Names(accepted), w.Merging.Why(v, refused)), fmt.Sprintf("Do not allow %s there", merging.Names(refused)))
	problem.Cluster = w.Cluster
	return accepted, problem
}

// rootChecks are asked in this order; the first that has an answer decides. Each
// answers with what is wrong and what to do.
var rootChecks = []func(health.Root, health.WantRoot) manifest.Problem{
	rootIsFound, rootSyncsNoMore, rootPrunes, rootDoesNotWait, rootIsNotSuspended, rootHasSource, sourceIsOurs, sourceAcceptsSignatures, sourceFetches, rootBuilds,
}

// RootUnfit returns what keeps a root from taking up what lands in its directory, and what to do
// about it; without a reason when it is fit. Of a root that is not Known it says nothing.
func (Kind) RootUnfit(r health.Root, w health.WantRoot) manifest.Problem {
	if !r.Known {
		return manifest.Problem{}
	}
	for _, check := range rootChecks {
		if p := check(r, w); p.Reason != "" {
			p.Cluster, p.Path = w.Cluster, w.Path
			return p
		}
	}
	return manifest.Problem{}
}

// RootUnknown returns why nothing can be said about a root; without a reason when something can.
func (Kind) RootUnknown(r health.Root, w health.WantRoot) manifest.Problem {
	if r.Known && (r.Verify.Mode == "" || r.Verify.Unknown == "") {
		return manifest.Problem{}
	}
	if r.Known {
		p := unfit(v1alpha1.ReasonRootUnknown, r.Source, fmt.Sprintf("whether the GitRepository %s on cluster %s accepts Furrow's signatures is unknown: %s", r.Source, w.Cluster, r.Verify.Unknown), fmt.Sprintf("Allow Furrow to get the Secret %s there, which has public keys only", r.Verify.Secret))
		p.Cluster, p.Path = w.Cluster, w.Path
		return p
	}
	p := unfit(v1alpha1.ReasonRootUnknown, "", fmt.Sprintf("whether a root on cluster %s syncs %s is not known yet%s", w.Cluster, shown(w.Path), suffix(r.Message)), "")
	p.Cluster, p.Path = w.Cluster, w.Path
	return p
}

func unfit(reason v1alpha1.Reason, object, message, next string) manifest.Problem {
	return manifest.Problem{Reason: reason, Object: object, Message: message, Next: next}
}

func rootIsFound(r health.Root, w health.WantRoot) manifest.Problem {
	if r.Found {
		return manifest.Problem{}
	}
	return unfit(v1alpha1.ReasonRootMissing, "", fmt.Sprintf("no Flux Kustomization on cluster %s syncs %s", w.Cluster, shown(w.Path)), fmt.Sprintf("Set the root up: flux bootstrap git --path %s, or a GitRepository of %s and a Kustomization with that path", orRoot(w.Path), redact.URL(w.URL)))
}

// rootSyncsNoMore refuses a root of a directory above: it applies what is for other
// clusters, and below the repository's own root the contents of all tiers, too.
func rootSyncsNoMore(r health.Root, w health.WantRoot) manifest.Problem {
	want := path.Clean("/" + w.Path)[1:]
	if r.Path == want {
		return manifest.Problem{}
	}
	return unfit(v1alpha1.ReasonRootTooWide, r.Name, fmt.Sprintf("the root %s on cluster %s syncs %s, and with it what is for other clusters", r.Name, w.Cluster, shown(r.Path)), fmt.Sprintf("Set its spec.path to ./%s", want))
}

func rootPrunes(r health.Root, w health.WantRoot) manifest.Problem {
	if r.Prune {
		return manifest.Problem{}
	}
	return unfit(v1alpha1.ReasonRootDoesNotPrune, r.Name, fmt.Sprintf("the root %s on cluster %s has spec.prune: false, so removed objects would stay", r.Name, w.Cluster), "Set it to true")
}

func rootDoesNotWait(r health.Root, w health.WantRoot) manifest.Problem {
	if !r.Wait {
		return manifest.Problem{}
	}
	return unfit(v1alpha1.ReasonRootWaits, r.Name, fmt.Sprintf("the root %s on cluster %s has spec.wait: true, so one unhealthy tier blocks the others", r.Name, w.Cluster), "Set it to false")
}

func rootIsNotSuspended(r health.Root, w health.WantRoot) manifest.Problem {
	if !r.Suspended {
		return manifest.Problem{}
	}
	return unfit(v1alpha1.ReasonRootSuspended, r.Name, fmt.Sprintf("the root %s on cluster %s is suspended", r.Name, w.Cluster), fmt.Sprintf("Resume it: flux resume kustomization%s", argument(r.Name)))
}

func rootHasSource(r health.Root, w health.WantRoot) manifest.Problem {
	if r.SourceFound {
		return manifest.Problem{}
	}
	return unfit(v1alpha1.ReasonRootSourceMissing, r.Source, fmt.Sprintf("the root %s on cluster %s reads the %s %s, which is not there", r.Name, w.Cluster, r.SourceKind, r.Source), "Create it")
}

// gitRepository is the only kind of source that reads a Git repository.
const gitRepository = "GitRepository"

// sourceIsOurs returns why the source that a root reads is not the one that proposals go to; the
// zero value if it is, or if what is known does not say otherwise.
func sourceIsOurs(r health.Root, w health.WantRoot) manifest.Problem {
	switch {
	case r.SourceKind != gitRepository:
		return unfit(v1alpha1.ReasonRootSourceMismatch, r.Name, fmt.Sprintf("the root %s on cluster %s reads a %s", r.Name, w.Cluster, r.SourceKind), fmt.Sprintf("Let it read a GitRepository of %s", redact.URL(w.URL)))
	case w.Source != "" && r.Source != w.Source:
		return unfit(v1alpha1.ReasonRootSourceMismatch, r.Name, fmt.Sprintf("the root %s on cluster %s reads the GitRepository %s, and the tiers would read %s", r.Name, w.Cluster, r.Source, w.Source), "Name it in spec.source of the cluster's ClusterType")
	case r.URL != "" && !catalog.SameRepository(r.URL, w.URL):
		return unfit(v1alpha1.ReasonRootRepositoryMismatch, r.Source, fmt.Sprintf("the GitRepository %s on cluster %s reads %s, and proposals go to %s", r.Source, w.Cluster, redact.URL(r.URL), redact.URL(w.URL)), "Correct one of them")
	case r.URL != "" && r.Branch != w.Branch:
		return unfit(v1alpha1.ReasonRootBranchMismatch, r.Source, fmt.Sprintf("the GitRepository %s on cluster %s follows branch %q, and proposals go to %q", r.Source, w.Cluster, r.Branch, w.Branch), "Correct spec.ref.branch, or the GitOpsRepo's spec.branch")
	}
	return manifest.Problem{}
}

// sourceAcceptsSignatures returns why a source that verifies signatures would refuse what is merged;
// the zero value if it may accept it, or its keys are not known.
func sourceAcceptsSignatures(r health.Root, w health.WantRoot) manifest.Problem {
	v := r.Verify
	refuses := func(why, next string) manifest.Problem {
		return unfit(v1alpha1.ReasonRootVerification, r.Source, fmt.Sprintf("the GitRepository %s on cluster %s verifies signatures (mode %s), and %s", r.Source, w.Cluster, v.Mode, why), next)
	}
	by := r.Verifier(w)
	accepted, refused := w.Merging.Sort(by)
	switch {
	case v.Mode == "":
	case v.Mode != "HEAD" && v.Mode != "head":
		return refuses("Furrow commits to a branch and makes no tags", "Set spec.verify.mode to HEAD")
	case v.Unknown != "" || len(accepted) > 0:
	case len(refused) > 0:
		return refuses(fmt.Sprintf("would refuse what is merged: of the ways to merge that the repository allows, %s", w.Merging.Why(by, refused)), w.Merging.Next(by, v.Secret, refused))
	case w.SigningKey == "":
		return refuses("Furrow does not sign its commits", fmt.Sprintf("Set spec.signing of GitOpsRepo %q, and add the public key to the Secret %s", w.Repo, v.Secret))
	case !slices.Contains(by.Keys, w.SigningKey):
		return refuses(fmt.Sprintf("its Secret does not have Furrow's key %s", w.SigningKey), fmt.Sprintf("Add the public key to the Secret %s: an OpenPGP key as furrow.asc, an SSH key as furrow.sshpub, which takes a Flux that verifies SSH signatures", v.Secret))
	}
	return manifest.Problem{}
}

// sourceFetches returns why the source of a root brings nothing new; the zero value if it does, or
// has not said yet.
func sourceFetches(r health.Root, w health.WantRoot) manifest.Problem {
	switch {
	case r.SourceSuspended:
		return unfit(v1alpha1.ReasonRootSourceSuspended, r.Source, fmt.Sprintf("the GitRepository %s on cluster %s is suspended", r.Source, w.Cluster), fmt.Sprintf("Resume it: flux resume source git%s", argument(r.Source)))
	case r.SourceReady == "False" && !r.Verify.Failed: // the next commit of Furrow may be one that it accepts
		return unfit(v1alpha1.ReasonRootSourceFailed, r.Source, fmt.Sprintf("the GitRepository %s on cluster %s cannot fetch%s", r.Source, w.Cluster, suffix(r.SourceMessage)), "Correct its spec.url, spec.ref or spec.secretRef, or what it says")
	}
	return manifest.Problem{}
}

func rootBuilds(r health.Root, w health.WantRoot) manifest.Problem {
	if r.Ready != "False" || r.Reason == reasonDependency || r.Verify.Failed {
		return manifest.Problem{}
	}
	return unfit(v1alpha1.ReasonRootFailed, r.Name, fmt.Sprintf("the root %s on cluster %s takes up no change: %s%s", r.Name, w.Cluster, r.Reason, suffix(r.Message)), fmt.Sprintf("Correct what lies under %s", shown(w.Path)))
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

func suffix(message string) string {
	if message == "" {
		return ""
	}
	return ": " + message
}

package flux_test

import (
	"testing"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/health"
)

func TestJudgeRevisions(t *testing.T) {
	judge(t, map[string]judgement{
		"Ready at the merged revision":                                     {seen: ready(at(merged, merged)), want: health.Ready, reason: v1alpha1.ReasonHealthy},
		"Ready at a later revision that has the same: commits are skipped": {seen: ready(at(later, later)), want: health.Ready, reason: v1alpha1.ReasonHealthy},
		"Ready=True of an old revision is Behind: the source is broken or slow, and Flux sends nothing": {
			seen: ready(at(before, before)), want: health.Behind, reason: v1alpha1.ReasonRevisionBehind, awaitsRoot: true,
		},
		"Ready=True at a revision where the folder is empty is Behind: perfect success with nothing": {
			seen: ready(at(before, before), saying("True", "ReconciliationSucceeded", "Applied revision: "+before)), want: health.Behind, reason: v1alpha1.ReasonRevisionBehind, awaitsRoot: true,
		},
		"a failure at an old revision says nothing about the merged one, and is reported": {
			seen: ready(at(before, before), saying("False", "BuildFailed", "yaml: line 2")), want: health.Behind, reason: v1alpha1.ReasonRevisionBehind, awaitsRoot: true,
		},
		"ArtifactFailed of a commit from before the path is Behind": {
			seen: ready(neverReady, at("", ""), saying("False", "ArtifactFailed", "kustomization path not found")), want: health.Behind, reason: v1alpha1.ReasonNotFetched, awaitsRoot: true,
		},
		"ArtifactFailed as the path is gone from a newer commit is Behind until that is known": {
			seen: ready(at(before, before), saying("False", "ArtifactFailed", "kustomization path not found")), want: health.Behind, reason: v1alpha1.ReasonRevisionBehind, awaitsRoot: true,
		},
		"a revision that the mirror does not know is Unknown": {seen: ready(at(alien, alien)), want: health.Unknown, reason: v1alpha1.ReasonRevisionUnknown},
		"an attempt at what is not known is Unknown":          {seen: ready(reconciling, at(before, alien)), want: health.Unknown, reason: v1alpha1.ReasonRevisionUnknown},
		"an attempt at what is not known is Unknown, though it was Ready with this": {
			seen: ready(reconciling, at(merged, alien)), want: health.Unknown, reason: v1alpha1.ReasonRevisionUnknown,
		},
		"an attempt that failed at what is not known is Unknown": {
			seen: ready(at(merged, alien), saying("False", "BuildFailed", "")), want: health.Unknown, reason: v1alpha1.ReasonRevisionUnknown,
		},
		"Ready=True without a revision is Unknown": {seen: ready(at("", "")), want: health.Unknown, reason: v1alpha1.ReasonRevisionUnknown},
	})
}

// Who knows a form puts it into Want.At; what is not there is never Ready.
func TestJudgeFormsOfRevisions(t *testing.T) {
	const hex = "1111111111111111111111111111111111111111"
	forms := map[string]string{
		"a branch in the old form":      "main/" + hex,
		"a commit alone":                "sha1:" + hex,
		"plain hex":                     hex,
		"a tag":                         "v1.2.3@sha1:" + hex,
		"a tag in the old form":         "v1.2.3/" + hex,
		"a reference":                   "refs/heads/main@sha1:" + hex,
		"sha256":                        "main@sha256:" + hex + "111111111111111111111111",
		"the digest of an OCI artifact": "latest@sha256:" + hex + "111111111111111111111111",
		"a commit that is cut":          "main@sha1:1111111",
		"capitals":                      "main@SHA1:" + hex,
		"white space":                   " " + merged,
		"garbage":                       "@sha1:",
		"a branch alone":                "main",
	}
	for name, revision := range forms {
		t.Run(name, func(t *testing.T) {
			seen := ready(at(revision, revision))
			if got := judged(seen, want); got.Phase != health.Unknown {
				t.Errorf("not known: got %s (%s)", got.Phase, got.Message)
			}
			for match, phase := range map[health.Match]health.Phase{
				health.Matches: health.Ready, health.Differs: health.Behind, health.MatchUnknown: health.Unknown,
			} {
				known := health.Want{Rendered: want.Rendered, Spec: want.Spec, At: map[string]health.Match{revision: match}}
				if got := judged(seen, known); got.Phase != phase {
					t.Errorf("%q: got %s (%s), want %s", match, got.Phase, got.Message, phase)
				}
			}
		})
	}
}

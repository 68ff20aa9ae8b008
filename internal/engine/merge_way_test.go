package engine_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/health"
	"github.com/furrow-dev/furrow/internal/core/merging"
	"github.com/furrow-dev/furrow/internal/forge/pull"
	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/internal/git/signature"
	"github.com/furrow-dev/furrow/test/signingkey"
)

// TestFurrowMergesByTheWayThatTheRootsAccept follows the ways to merge from what roots verify to the
// method that the forge is asked for, and to the status, from which furrow pr merge takes it.
func TestFurrowMergesByTheWayThatTheRootsAccept(t *testing.T) {
	signer := signingkey.New(t).Signer
	squash, rebase, commit := pull.Squash, pull.Rebase, pull.MergeCommit
	for name, c := range map[string]struct {
		signs bool
		// keys are in the Secret of every root, and allowed are the ways to merge, the preferred one first.
		// The server signs what it makes; a rebase keeps Furrow's signature.
		keys    string
		allowed []pull.Method
		want    pull.Method
		wantAny bool
	}{
		"the roots have Furrow's key":                              {true, signer.Key().ID(), []pull.Method{squash, commit, rebase}, rebase, false},
		"the roots have the key of the forge":                      {true, "forge", []pull.Method{rebase, squash}, squash, false},
		"the roots have the key of the forge, and Furrow has none": {false, "forge", []pull.Method{rebase, commit}, commit, false},
		"the roots verify nothing":                                 {true, "", []pull.Method{squash, rebase}, squash, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newRollout(t, "{groupBy: Level, autoMerge: WhenGreen}")
			onPulls(w)
			w.pulls.methods, w.pulls.signing = c.allowed, pull.Signing{Rebase: merging.ByFurrow}
			if c.signs {
				w.gitops.keys = git.Keys{Own: signature.Keyring{signer.Key()}, Signer: signer}
			}
			w.onRoot = func(r *health.Root) {
				if c.keys != "" {
					r.Verify = health.Verify{Mode: "HEAD", Keys: c.keys, Secret: "flux-system/keys"}
				}
			}
			w.restart()
			w.pass()
			wantWays, wantWarned := []string{string(c.want)}, 1
			if c.wantAny {
				wantWays, wantWarned = nil, 0
			}
			if diff := cmp.Diff(wantWays, w.report.Repositories[0].MergeBy); diff != "" {
				t.Errorf("ways in the status (-want +got):\n%s", diff)
			}
			warned := 0
			for _, p := range w.report.Warnings {
				if p.Reason == v1alpha1.ReasonRootRefusesMethod {
					warned++
				}
			}
			if warned != wantWarned {
				t.Errorf("warned %d times, want %d: %v", warned, wantWarned, w.report.Warnings)
			}
			w.rounds(20)
			for _, tier := range []string{"east/tier-01", "north/tier-01", "west/tier-01"} {
				w.mustBe(tier, "Released (Healthy)")
			}
			if diff := cmp.Diff([]pull.Method{c.want, c.want}, w.pulls.used); diff != "" {
				t.Errorf("merged by (-want +got):\n%s", diff)
			}
		})
	}
}

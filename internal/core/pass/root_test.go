package pass_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/health"
	"github.com/furrow-dev/furrow/internal/core/merging"
)

func TestAProposalIsMergedByAWayWhoseSignatureTheRootAccepts(t *testing.T) {
	squash, commit := merging.Way{Name: "squash", Signer: merging.ByForge}, merging.Way{Name: "merge", Signer: merging.ByForge}
	rebase := merging.Way{Name: "rebase", Signer: merging.ByFurrow, Current: true}
	for name, c := range map[string]struct {
		signing, keys string
		ways          []merging.Way
		unsigned      bool
		wantState     string
		want          []string
		wantWarned    string
	}{
		"the forge signs nothing, and only squashes": {"ours", "ours theirs", []merging.Way{squash}, true, "web/east/00 Held RootVerification", nil, ""},
		"one way of several works":                   {"ours", "ours", []merging.Way{commit, rebase, squash}, true, "web/east/00 Proposed ProposalOpen", []string{"rebase"}, "Do not allow merge commit and squash there"},
		"all ways work":                              {"ours", "ours theirs", []merging.Way{commit, rebase}, false, "web/east/00 Proposed ProposalOpen", []string{"merge", "rebase"}, ""},
		"nobody verifies anything":                   {"ours", "", []merging.Way{squash}, true, "web/east/00 Proposed ProposalOpen", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := one(t)
			f.signing, f.merging = c.signing, merging.Repository{Ways: c.ways, Unsigned: c.unsigned}
			f.onRoot = func(r *health.Root) {
				if r.SourceReady = "True"; c.keys != "" {
					r.Verify = health.Verify{Mode: "HEAD", Keys: c.keys, Secret: "flux-system/keys"}
				}
			}
			f.seed("web", configMap("first", 1, on("east")))
			f.step()
			d := f.step()
			if got := states(d); len(got) != 1 || !strings.HasPrefix(got[0], c.wantState) {
				t.Errorf("%v, want %s", got, c.wantState)
			}
			if diff := cmp.Diff(c.want, d.MergeBy["a"].Ways); diff != "" {
				t.Errorf("ways (-want +got):\n%s", diff)
			}
			next := ""
			for _, w := range d.MergeBy["a"].Warnings {
				if next = w.Next; w.Reason != v1alpha1.ReasonRootRefusesMethod {
					t.Errorf("warned of %s", w.Reason)
				}
			}
			if next != c.wantWarned {
				t.Errorf("next step %q, want %q", next, c.wantWarned)
			}
		})
	}
}

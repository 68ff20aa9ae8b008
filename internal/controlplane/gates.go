package controlplane

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/internal/state"
)

// Gates are the reasons why open proposals must not be merged now, by branch, as the runs of all
// owners reported last. Only runs know the health of clusters.
type Gates struct {
	found map[string]reportedGate
	// unread says, by owner, why a status cannot be read.
	unread map[string]manifest.Problem
}

// reportedGate is what a status says of a proposal, and when it was reported.
type reportedGate struct {
	why manifest.Problem
	at  time.Time
}

// Shut says why the proposal of a branch must not be merged now; without a reason when it may be. A
// proposal that no status has yet was just opened, so that nothing held it. While the status
// of its owner cannot be read, nobody knows; an owner that is not known may be any.
func (g *Gates) Shut(branch, owner string) manifest.Problem {
	if why := g.unread[owner]; why.Reason != "" {
		return why
	}
	if owner == "" && len(g.unread) > 0 {
		return g.unread[slices.Min(slices.Collect(maps.Keys(g.unread)))]
	}
	return g.found[branch].why
}

// Read takes in the statuses that are on branches of a repository. The last report on a proposal
// counts: an owner that was deleted leaves its status behind.
func (g *Gates) Read(ctx context.Context, r *Repo, refs git.Refs) error {
	if g.found == nil {
		g.found, g.unread = map[string]reportedGate{}, map[string]manifest.Problem{}
	}
	for _, branch := range slices.Sorted(maps.Keys(refs)) {
		if !layout.IsStatusBranch(r.Base, branch) {
			continue
		}
		report, err := readStatus(ctx, r, refs[branch])
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil { // the other owners do not have to wait for it
			owner := strings.TrimPrefix(branch, layout.StatusBranch(r.Base, ""))
			g.unread[owner] = manifest.Problem{Reason: v1alpha1.ReasonNoStatus, Repo: r.Name, Path: branch,
				Message: fmt.Sprintf("branch %s of GitOpsRepo %q, which has the status of its control plane, cannot be read: %v. Its next pass writes it anew", branch, r.Name, err)}
			continue
		}
		g.add(report)
	}
	return nil
}

func (g *Gates) add(report *state.State) {
	for i := range report.Seeds {
		for _, t := range report.Seeds[i].Tiers {
			if p := t.Proposal; p != nil && !g.found[p.Branch].at.After(report.LastPass) {
				why := manifest.Problem{Reason: p.GateReason, Message: p.Gate}
				if p.Gate != "" && why.Reason == "" { // of a version that reports none
					why.Reason = v1alpha1.ReasonGateShut
				}
				g.found[p.Branch] = reportedGate{why, report.LastPass}
			}
		}
	}
}

package controlplane

import (
	"context"
	"fmt"
	"time"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/git"
)

// Gates are the reasons why open proposals must not be merged now, by branch, as the runs
// of all owners reported last. Health is known to runs alone, so that nobody else can tell.
type Gates struct {
	found map[string]reportedGate
}

// reportedGate is what a status says of a proposal, and when it was reported.
type reportedGate struct {
	why string
	at  time.Time
}

// Shut says why the proposal of a branch must not be merged now; empty when it may be. A
// proposal that no status has yet was just opened, so that nothing held it.
func (g *Gates) Shut(branch string) string { return g.found[branch].why }

// Read takes in the statuses that are on branches of a repository. What was reported last
// of a proposal counts: an owner that is no more leaves its status behind.
func (g *Gates) Read(ctx context.Context, r *Repo, refs git.Refs) error {
	if g.found == nil {
		g.found = map[string]reportedGate{}
	}
	for branch, commit := range refs {
		if !layout.IsStatusBranch(r.Base, branch) {
			continue
		}
		report, err := readStatus(ctx, r, commit)
		if err != nil {
			return fmt.Errorf("branch %s of GitOpsRepo %q: %w", branch, r.Name, err)
		}
		g.add(report)
	}
	return nil
}

func (g *Gates) add(report *engine.Report) {
	for i := range report.Seeds {
		for _, t := range report.Seeds[i].Tiers {
			if p := t.Proposal; p != nil && !g.found[p.Branch].at.After(report.LastPass) {
				g.found[p.Branch] = reportedGate{p.Gate, report.LastPass}
			}
		}
	}
}

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
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/internal/state"
)

// Gates are the reasons why open proposals must not be merged now, by branch, as the runs of all
// owners reported last. Only runs know the health of clusters.
type Gates struct {
	found map[string]reportedGate
	// unread has, by owner, why a status cannot be read.
	unread map[string]manifest.Problem
	// mergeBy has, by repository, the ways to merge that were reported last.
	mergeBy map[string]reportedWays
	// seeds has what was reported of seeds, by name.
	seeds map[string]SeedStates
}

// SeedStates are the states of a seed's tiers and waves, as a run reported them last.
type SeedStates struct {
	Tiers map[layout.Tier]release.State
	Waves []release.WaveStatus
	// Confirmed says who confirmed what the deletion guard held, and Abandoned who abandoned clusters
	// that the seed is on.
	Confirmed string
	Abandoned []state.Abandonment
	// Clusters are all that the report has.
	Clusters []state.Cluster
}

// Seed returns what was reported of a seed; nothing where no run did.
func (g *Gates) Seed(name string) SeedStates { return g.seeds[name] }

// MergeBy returns the ways to merge that leave a signature which reconcilers accept; any will do if there
// are none. A repository has the same ones for all proposals.
func (g *Gates) MergeBy(repo string) []string { return g.mergeBy[repo].ways }

// reportedWays are the ways to merge in a status, and when they were reported.
type reportedWays struct {
	ways []string
	at   time.Time
}

// reportedGate is a proposal's gate in a status, and when it was reported.
type reportedGate struct {
	why manifest.Problem
	at  time.Time
}

// Shut returns why the proposal of a branch must not be merged now; the reason is empty if it may
// be. A proposal that is not in any status was just opened, so its gate was open: tiers are
// proposed only then. While the status of its owner cannot be read, the gate is unknown. The owner
// is empty if it is unknown; it may then be any.
func (g *Gates) Shut(branch, owner string) manifest.Problem {
	if why := g.unread[owner]; why.Reason != "" {
		return why
	}
	if owner == "" && len(g.unread) > 0 {
		return g.unread[slices.Min(slices.Collect(maps.Keys(g.unread)))]
	}
	return g.found[branch].why
}

// Read reads the statuses on the branches of a repository. The latest report on a proposal wins,
// because a deleted owner leaves its status behind.
func (g *Gates) Read(ctx context.Context, r *Repo, refs git.Refs) error {
	if g.found == nil {
		g.found, g.unread, g.seeds, g.mergeBy = map[string]reportedGate{}, map[string]manifest.Problem{}, map[string]SeedStates{}, map[string]reportedWays{}
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

// add takes in the gates of a report, except where a later one is known.
func (g *Gates) add(report *state.State) {
	for _, r := range report.Repositories {
		if len(r.MergeBy) > 0 && !g.mergeBy[r.Name].at.After(report.LastPass) {
			g.mergeBy[r.Name] = reportedWays{r.MergeBy, report.LastPass}
		}
	}
	for i := range report.Seeds {
		seed := report.Seeds[i].Name
		states := SeedStates{Tiers: map[layout.Tier]release.State{}, Confirmed: report.Seeds[i].Confirmed, Abandoned: report.Seeds[i].Abandoned, Clusters: report.Clusters}
		for _, t := range report.Seeds[i].Tiers {
			states.Tiers[layout.Tier{Seed: seed, Cluster: t.Cluster, Ordinal: t.Ordinal}] = t.State
			if p := t.Proposal; p != nil && !g.found[p.Branch].at.After(report.LastPass) {
				why := manifest.Problem{Reason: p.GateReason, Message: p.Gate}
				if p.Gate != "" && why.Reason == "" { // of a version that reports none
					why.Reason = v1alpha1.ReasonGateShut
				}
				g.found[p.Branch] = reportedGate{why, report.LastPass}
			}
		}
		if rollout := report.Seeds[i].Rollout; rollout != nil {
			for _, w := range rollout.Waves {
				states.Waves = append(states.Waves, release.WaveStatus{Name: w.Name, State: w.State, Leaving: w.Leaving, Clusters: w.Clusters, Done: w.Done, Reason: w.Reason, Message: w.Message, Until: w.Until})
			}
		}
		if len(states.Tiers) > 0 {
			g.seeds[seed] = states
		}
	}
}

package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/core/window"
	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/standalone"
	"github.com/furrow-dev/furrow/internal/state"
)

// inWaves is planOf six clusters in two waves.
func inWaves() *plan.Plan {
	p := planOf(6)
	p.Rollout = &plan.Rollout{MaxOpenProposals: 10, Waves: []plan.Wave{
		{Name: "canary", Clusters: []string{"c01"}, Soak: 24 * time.Hour},
		{Name: "fleet", Clusters: []string{"c02", "c03", "c04", "c05", "c06"}, MaxUnavailable: 2, Windows: []window.Window{{Days: []string{"Mon", "Tue"}, From: "09:00", To: "17:00", TimeZone: "Europe/Berlin"}, {}}},
	}}
	return p
}

func TestAPlanShowsItsRollout(t *testing.T) {
	p := &page{width: 120}
	planTable(p, inWaves(), nil, false)
	mustContain(t, p.String(), `
Rollout
  - 12 proposals, one for each tier of each cluster
  - wave canary: c01; soaks for 24h
  - wave fleet: c02 … c06 (5 clusters); at most 2 at once; open Mon, Tue 09:00–17:00 Europe/Berlin; or every day all
    day UTC
  - at most 10 proposals open at once in a repository
`)
}

func TestADiffShowsWhatChangesAboutTheRollout(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*plan.Plan)
		want   []string
	}{
		"nothing": {func(*plan.Plan) {}, nil},
		"a cluster moves to another wave": {func(p *plan.Plan) {
			w := p.Rollout.Waves
			w[0].Clusters, w[1].Clusters = []string{"c01", "c02"}, w[1].Clusters[1:]
		}, []string{"~ c02: from wave fleet to wave canary"}},
		"a cluster leaves all waves":    {func(p *plan.Plan) { p.Rollout.Waves[0].Clusters = nil }, []string{"~ c01: from wave canary to no wave"}},
		"a wave soaks for longer":       {func(p *plan.Plan) { p.Rollout.Waves[0].Soak = 48 * time.Hour }, []string{"~ wave canary: soaks for 48h (was: soaks for 24h)"}},
		"a wave is no longer held back": {func(p *plan.Plan) { p.Rollout.Waves[0].Soak = 0 }, []string{"~ wave canary: all at once, without soaking (was: soaks for 24h)"}},
		"a wave comes first":            {func(p *plan.Plan) { p.Rollout.Waves = append([]plan.Wave{{Name: "lab"}}, p.Rollout.Waves...) }, []string{"+ wave lab: no cluster"}},
		"waves swap":                    {func(p *plan.Plan) { w := p.Rollout.Waves; w[0], w[1] = w[1], w[0] }, []string{"~ order of waves: fleet, canary (was: canary, fleet)"}},
		"tiers are grouped":             {func(p *plan.Plan) { p.GroupBy = v1alpha1.GroupByCluster }, []string{"~ proposals: one for each cluster (was: one for each tier of each cluster)"}},
		"no limit, and merging by itself": {func(p *plan.Plan) { p.Rollout.MaxOpenProposals, p.Rollout.AutoMerge = 0, true },
			[]string{"+ Furrow merges a proposal once its checks have passed", "- at most 10 proposals open at once in a repository"}},
		"the waves go": {func(p *plan.Plan) { p.Rollout = nil }, []string{"- wave canary", "- wave fleet", "- at most 10 proposals open at once in a repository"}},
	} {
		t.Run(name, func(t *testing.T) {
			next := inWaves()
			tt.change(next)
			if diff := cmp.Diff(tt.want, rolloutChanges(inWaves(), next, fleetIn(nil, inWaves(), next))); diff != "" {
				t.Error(diff)
			}
			p := &page{}
			planDiffOf(&engine.Preview{Seed: "contour", Revision: "main", InForce: inWaves(), Next: next}).table(p, false)
			if nothing := strings.Contains(p.String(), "nothing changes"); nothing != (tt.want == nil) {
				t.Errorf("it prints %s", p.String())
			}
		})
	}
}

func TestADiffOfASeedThatCannotBePlannedSaysOneThing(t *testing.T) {
	p := &page{}
	planDiffOf(&engine.Preview{Seed: "contour", Revision: "the files on disk", InForce: inWaves(), Next: inWaves(), Message: "broken"}).table(p, false)
	if want := "Seed contour cannot be planned with the files on disk; the plan in force stays.\n"; p.String() != want {
		t.Errorf("got %q, want %q", p.String(), want)
	}
}

// proposedOn are tiers that wait for review.
func proposedOn(clusters ...string) []state.Tier {
	var out []state.Tier
	for _, c := range clusters {
		out = append(out, state.Tier{Cluster: c, State: release.Proposed, Message: "waits to be merged", Proposal: &state.Proposal{Repo: "fleet", Branch: "furrow/main/tier/web/" + c + "/00", Title: "Plant web on " + c + ", tier 00"}})
	}
	return out
}

func TestProposalsOfManyClustersAreMergedByOneCommand(t *testing.T) {
	for name, tt := range map[string]struct {
		tiers []state.Tier
		want  string
	}{
		"all of a seed": {proposedOn("c01", "c02", "c03"), "c01, c02, c03: Plant web on <cluster>, tier 00: furrow pr merge --all --seed web\n"},
		"some of them": {append(proposedOn("c01", "c02", "c03"), state.Tier{Cluster: "c04", Ordinal: 1, State: release.Proposed, Message: "waits", Proposal: &state.Proposal{Title: "Update web on c04, tier 01"}}),
			"furrow pr merge --all --seed web --cluster c01,c02,c03\n"},
	} {
		p := &page{}
		(&statusView{State: &state.State{Seeds: []state.Seed{{Name: "web", State: "Proposed", Tiers: tt.tiers}}}, now: noon}).body(p)
		if !strings.Contains(p.String(), tt.want) || strings.Contains(p.String(), "web/<cluster>") {
			t.Errorf("%s: it prints\n%s", name, p.String())
		}
	}
}

func TestTheLogOfARunFoldsEqualClusters(t *testing.T) {
	var out strings.Builder
	log := newTransitions(&out, func() time.Time { return noon })
	seeds := func(tiers []state.Tier) standalone.Result {
		return standalone.Result{Report: &engine.Report{State: state.State{Seeds: []state.Seed{{Name: "web", Tiers: tiers}}}}}
	}
	log.add(seeds(proposedOn("c01", "c02", "c03", "c04", "c05", "c06")))
	if n := strings.Count(out.String(), "\n"); n != 1 || !strings.Contains(out.String(), "c01 … c06 tier 00") {
		t.Errorf("six equal clusters are %d lines:\n%s", n, out.String())
	}
	log.add(seeds(append(proposedOn("c01", "c02", "c03", "c04", "c05"), state.Tier{Cluster: "c06", State: release.Merged, Message: "merged"})))
	if lines := strings.Split(strings.TrimSpace(out.String()), "\n"); len(lines) != 2 || !strings.Contains(lines[1], "c06 tier 00") {
		t.Errorf("one cluster that goes on is not a line of its own:\n%s", out.String())
	}
}

package release_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/furrow-dev/furrow/internal/core/health"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/release"
)

// fleetInWaves is a plan of five tiers on each of some clusters, in waves of a hundred.
func fleetInWaves(clusters int) *fixture {
	f := &fixture{plan: &plan.Plan{Seed: "app", Inputs: "i", Rollout: &plan.Rollout{}, Contents: []plan.Contents{{ID: "c1", Objects: []plan.Object{{File: "a.yaml"}}}}}}
	f.facts.Tiers, f.facts.Now = map[layout.Tier]release.TierFacts{}, time.Unix(1_800_000_000, 0)
	for i := range clusters {
		cluster := fmt.Sprintf("c%04d", i)
		if i%100 == 0 {
			f.plan.Rollout.Waves = append(f.plan.Rollout.Waves, plan.Wave{Name: "from-" + cluster, MaxUnavailable: 10, Soak: time.Hour})
		}
		w := &f.plan.Rollout.Waves[len(f.plan.Rollout.Waves)-1]
		w.Clusters = append(w.Clusters, cluster)
		for ordinal := range 5 {
			name := layout.Tier{Seed: "app", Cluster: cluster, Ordinal: ordinal}
			var needs []plan.Prerequisite
			if ordinal > 0 {
				needs = append(needs, plan.Prerequisite{Cluster: cluster, Ordinal: ordinal - 1})
			}
			t := makeTier(name, name.String(), needs...)
			t.Level = ordinal
			f.plan.Tiers = append(f.plan.Tiers, t)
			f.facts.Tiers[name] = release.TierFacts{Base: release.BaseNothing, Closed: release.ClosedNone}
		}
	}
	return f
}

// TestAWaveNeverGoesBeforeAnEarlierOne plays a rollout in which whatever is proposed is merged and
// becomes ready: at no time is a cluster begun while one of an earlier wave is not done, or more
// clusters of a wave than may be.
func TestAWaveNeverGoesBeforeAnEarlierOne(t *testing.T) {
	const clusters = 300
	f := fleetInWaves(clusters)
	for pass := 0; ; pass++ {
		if pass > 1000 {
			t.Fatal("it does not end")
		}
		result := release.Next(f.plan, f.facts)
		f.facts.Record = result.Rollout.Record
		if result.Done {
			break
		}
		waves, begun := map[int]bool{}, map[string]bool{}
		for _, s := range result.Tiers {
			if s.Act == release.ActPropose {
				waves[f.plan.Rollout.WaveOf(s.Tier.Cluster)], begun[s.Tier.Cluster] = true, true
				f.merged(s.Tier, health.Ready)
			}
		}
		if len(waves) > 1 || len(begun) > 10 {
			t.Fatalf("pass %d proposes on %d clusters of waves %v", pass, len(begun), waves)
		}
		for wave := range waves {
			for cluster := range wave * 100 {
				for ordinal := range 5 {
					name := layout.Tier{Seed: "app", Cluster: fmt.Sprintf("c%04d", cluster), Ordinal: ordinal}
					if f.facts.Tiers[name].Base != release.BaseEntries {
						t.Fatalf("wave %d is proposed before %s", wave, name)
					}
				}
			}
		}
		if until := result.Rollout.Until(); len(waves) == 0 && !until.IsZero() {
			f.facts.Now = until
		}
	}
	if least := time.Unix(1_800_000_000, 0).Add(2 * time.Hour); f.facts.Now.Before(least) {
		t.Errorf("the soaks of two waves end at %s, before %s", f.facts.Now, least)
	}
}

func BenchmarkWaves(b *testing.B) {
	f := fleetInWaves(1000)
	for b.Loop() {
		release.Next(f.plan, f.facts)
	}
}

func BenchmarkWithoutWaves(b *testing.B) {
	f := fleetInWaves(1000)
	f.plan.Rollout = nil
	for b.Loop() {
		release.Next(f.plan, f.facts)
	}
}

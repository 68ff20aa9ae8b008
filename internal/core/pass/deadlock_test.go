package pass_test

import (
	"fmt"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/release"
)

// turns are waves of one cluster each, and inTurn is a seed with them.
func turns(clusters ...string) string {
	var waves []string
	for _, cluster := range clusters {
		waves = append(waves, fmt.Sprintf("{name: %[1]s-turn, clusterSelector: {matchLabels: {name: %[1]s}}}", cluster))
	}
	return fmt.Sprintf("waves: [%s]", strings.Join(waves, ", "))
}

func inTurn(name string, clusters ...string) string {
	return document("Seed", name, "rollout: {"+turns(clusters...)+"}")
}

// crossed is a fleet of two seeds in waves. On east, alpha needs beta; on west, beta needs alpha.
func crossed(t *testing.T, alpha, beta string) *fleet {
	f := one(t)
	for _, cluster := range []string{"east", "west"} {
		f.put("clusters/"+cluster+".yaml", fmt.Sprintf("apiVersion: %s\nkind: Cluster\nmetadata: {name: %s, labels: {name: %s}}\nspec: {gitOpsRepo: a}\n", v1alpha1.APIVersion, cluster, cluster))
	}
	f.seed("alpha", configMap("alpha-east", 1, on("east"), after("beta-east")), configMap("alpha-west", 1, on("west")), alpha)
	f.seed("beta", configMap("beta-east", 1, on("east")), configMap("beta-west", 1, on("west"), after("alpha-west")), beta)
	return f
}

func TestWavesThatWaitForEachOtherSaySo(t *testing.T) {
	f := crossed(t, inTurn("alpha", "east", "west"), document("Seed", "beta", "rollout: {policy: slow}"))
	f.put("policy.yaml", document("RolloutPolicy", "slow", turns("west", "east")))
	d := f.step()
	want := []string{
		"alpha/east/00 Blocked WaitingForTier", "alpha/west/00 Held WaveDeadlock",
		"beta/east/00 Held WaveDeadlock", "beta/west/00 Blocked WaitingForTier",
	}
	if diff := gocmp.Diff(want, states(d)); diff != "" {
		t.Fatalf("the states (-want +got):\n%s", diff)
	}
	const text = `waves wait for each other: wave "east-turn" of seed alpha waits for seed alpha on east tier 00, which waits for seed beta on east tier 00, which waits for wave "west-turn" of seed beta, ` +
		`which waits for seed beta on west tier 00, which waits for seed alpha on west tier 00, which waits for wave "east-turn" of seed alpha. ` +
		`Change the order of the waves in spec.rollout of seed alpha or RolloutPolicy slow of seed beta, or run 'furrow rollout skip alpha east-turn' to go on without waiting for it`
	alpha := d.Seeds["alpha"].Result
	if got := alpha.Tiers[1].Message; got != text {
		t.Errorf("it says:\n%s\nwant:\n%s", got, text)
	}
	if w := alpha.Rollout.Waves[0]; w.Reason != v1alpha1.ReasonWaveDeadlock || w.Message != text {
		t.Errorf("the wave is %s: %s", w.Reason, w.Message)
	}
	if w := alpha.Rollout.Waves[1]; w.State != release.WaveWaiting || w.Reason != v1alpha1.ReasonWaveDeadlock {
		t.Errorf("the wave behind it is %s (%s): %s", w.State, w.Reason, w.Message)
	}
	if waits := alpha.Tiers[0].Waits; len(waits) != 1 || waits[0].State != release.Held {
		t.Errorf("it waits for %+v", waits)
	}

	// Whichever of the two waves a person does not wait for, everything goes on.
	for seed, wave := range map[string]string{"alpha": "east-turn", "beta": "west-turn"} {
		t.Run("without "+wave+" of "+seed, func(t *testing.T) {
			f := crossed(t, inTurn("alpha", "east", "west"), inTurn("beta", "west", "east"))
			f.step()
			d := f.decide()
			f.record(seed, release.Record{Skips: []release.Skip{{Wave: wave, Inputs: d.Seeds[seed].Plan.Inputs}}})
			f.releaseAll()
			for _, s := range states(f.decide()) {
				if !strings.HasSuffix(s, "Released Healthy") {
					t.Errorf("in the end, %s", s)
				}
			}
		})
	}
}

// TestRemovalsInWavesThatWaitForEachOtherSaySo removes both seeds: the last wave of each goes first, and is needed by
// the last but one of the other.
func TestRemovalsInWavesThatWaitForEachOtherSaySo(t *testing.T) {
	f := crossed(t, inTurn("alpha", "east", "west"), inTurn("beta", "east", "west"))
	f.put("seeds/other.yaml", configMap("other", 1))
	f.releaseAll()
	f.put("seeds/beta.yaml", strings.Replace(string(f.tree["seeds/beta.yaml"].Data), inTurn("beta", "east", "west"), inTurn("beta", "west", "east"), 1))
	f.releaseAll()
	f.put("seeds/alpha.yaml", "")
	f.put("seeds/beta.yaml", "")
	f.step()
	want := []string{
		"alpha/east/00 Held WaveDeadlock", "alpha/west/00 Blocked NeededBySeed",
		"beta/east/00 Blocked NeededBySeed", "beta/west/00 Held WaveDeadlock", "other/east/00 Released Healthy", "other/west/00 Released Healthy",
	}
	d := f.step()
	if diff := gocmp.Diff(want, states(d)); diff != "" {
		t.Fatalf("the states (-want +got):\n%s", diff)
	}
	f.record("alpha", release.Record{Skips: []release.Skip{{Wave: "west-turn", Inputs: d.Seeds["alpha"].Plan.Inputs}}})
	f.releaseAll()
	if got := states(f.decide()); len(got) != 2 {
		t.Errorf("in the end, %s", got)
	}
}

func TestWavesInOneOrderDoNotWaitForEachOther(t *testing.T) {
	f := crossed(t, inTurn("alpha", "east", "west"), inTurn("beta", "east", "west"))
	f.releaseAll()
	for _, s := range states(f.decide()) {
		if !strings.HasSuffix(s, "Released Healthy") {
			t.Errorf("in the end, %s", s)
		}
	}
}

// record writes the record of a seed's rollout.
func (f *fleet) record(seed string, r release.Record) {
	r.Seed = seed
	data, err := r.Encode()
	if err != nil {
		f.t.Fatal(err)
	}
	f.repos["a"].write("furrow/main/rollout/"+seed, map[string]string{release.RecordFile: string(data)})
}

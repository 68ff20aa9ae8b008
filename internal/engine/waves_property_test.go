package engine_test

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/core/window"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
)

// TestRandomHistoriesInWaves is TestRandomHistories where seeds go out in waves, now in these and then in those, and by
// policies that change; where people pause rollouts, resume them and skip waves; and where Furrow merges some itself.
// No wave begins before those before it are done and have soaked, no more clusters are under way and no more proposals
// are open than may be, and Furrow merges nothing while the windows are closed.
func TestRandomHistoriesInWaves(t *testing.T) {
	eachHistory(t, func(t *testing.T, seed int64) { history(t, seed, nil, inWaves, paced) })
}

// TestRandomHistoriesInWavesAcrossSeeds is the same for seeds that wait for each other. Waves of theirs may wait for each
// other as well; people then do what the messages say.
func TestRandomHistoriesInWavesAcrossSeeds(t *testing.T) {
	eachHistory(t, func(t *testing.T, seed int64) { historyAcrossSeeds(t, seed, inWaves, paced) })
}

// inWaves is a random rollout of a seed.
func inWaves(r *rand.Rand, name string) string {
	by := []v1alpha1.GroupBy{v1alpha1.GroupByTier, v1alpha1.GroupByTier, v1alpha1.GroupByLevel, v1alpha1.GroupBySeed}[r.IntN(4)]
	rollout := fmt.Sprintf("groupBy: %s, %s", by, randomPace(r))
	if r.IntN(3) == 0 {
		rollout = "policy: " + []string{"slow", "fast"}[r.IntN(2)]
	}
	return "---\n" + document("Seed", name, fmt.Sprintf("spec: {rollout: {%s}}", rollout))
}

// randomPace has waves of random clusters, and limits.
func randomPace(r *rand.Rand) string {
	clusters := []string{"site-0", "site-1", "site-2", "east", "west"}
	var waves []string
	for i := range 1 + r.IntN(3) {
		of := slices.Clone(clusters)
		r.Shuffle(len(of), func(i, j int) { of[i], of[j] = of[j], of[i] })
		wave := fmt.Sprintf("name: w%d, clusterSelector: {matchExpressions: [{key: name, operator: In, values: [%s]}]}", i, strings.Join(of[:1+r.IntN(3)], ", "))
		if r.IntN(3) == 0 {
			wave += ", maxUnavailable: 1"
		}
		if r.IntN(2) == 0 {
			wave += ", soak: " + []string{"10m", "3h"}[r.IntN(2)]
		}
		if r.IntN(3) == 0 {
			wave += `, windows: [{days: [Mon, Wed, Thu], from: "08:00", to: "18:00", timeZone: Europe/Berlin}, {days: [Sun], holidays: ["2023-11-26"]}]`
		}
		waves = append(waves, "{"+wave+"}")
	}
	pace := fmt.Sprintf("waves: [%s]", strings.Join(waves, ", "))
	if r.IntN(3) == 0 {
		pace += fmt.Sprintf(", maxOpenProposals: %d", 1+r.IntN(3))
	}
	if r.IntN(3) == 0 {
		pace += ", autoMerge: WhenGreen"
	}
	return pace
}

// paced has people act on rollouts, and holds what is proposed and merged against them.
func paced(w *world) {
	policies := func(r *rand.Rand) {
		w.control.put("main", "policies", map[string]string{
			"policies.yaml": document("RolloutPolicy", "slow", fmt.Sprintf("spec: {%s}", randomPace(r))) + "---\n" + document("RolloutPolicy", "fast", "spec: {groupBy: Level}"),
		})
	}
	policies(rand.New(rand.NewPCG(1, 2)))
	// The plan in force may be one that is pushed after the merges of the same pass.
	var suspected []layout.Tier
	w.onForge = func(f forge.Forge) forge.Forge { return pacedForge{f, w, &suspected} }
	w.onStep = func(r *rand.Rand) {
		switch n := r.IntN(24); {
		case n < 4:
			w.now = w.now.Add(time.Duration(r.IntN(300)) * time.Minute)
		case n < 5:
			policies(r)
		case n < 8 && w.report != nil && len(w.report.Seeds) > 0:
			w.askOfRollout(r, w.report.Seeds[r.IntN(len(w.report.Seeds))].Name)
		}
	}
	w.onPass = func(before map[string]bool) {
		for _, tier := range suspected {
			if why := w.mayNotMerge(tier); why != "" {
				w.t.Errorf("%s was merged at %s, while %s", tier, w.now, why)
			}
		}
		suspected = nil
		w.mustKeepLimits(before)
	}
}

// askOfRollout lets a person ask something; there may be nothing to do.
func (w *world) askOfRollout(r *rand.Rand, seed string) {
	q, err := w.person().Requests(context.Background())
	if err != nil {
		return
	}
	changed, what := false, ""
	switch r.IntN(4) {
	case 0:
		what = "pause"
		changed, err = q.Pause(context.Background(), seed, "Ada", "")
	case 1:
		what = "resume"
		changed, err = q.Resume(context.Background(), seed)
	case 2:
		what = fmt.Sprintf("skip w%d", r.IntN(3))
		changed, err = q.Skip(context.Background(), seed, strings.TrimPrefix(what, "skip "), "Ada", "")
	default:
		what = "skip all"
		changed, err = q.Skip(context.Background(), seed, "", "Ada", "roll back")
	}
	w.say("%s of %s: %v, %v", what, seed, changed, err)
}

// letRolloutsGoOn does what people can about rollouts that wait for them, and lets the time pass that others wait for.
func (w *world) letRolloutsGoOn() {
	if w.report == nil {
		return
	}
	for _, s := range w.report.Seeds {
		skip, retry := "", false
		for _, t := range s.Tiers {
			retry = retry || t.Retry && w.newForge != nil // reopen does not list closed pull requests
			if t.Reason == v1alpha1.ReasonWaveDeadlock {
				_, command, _ := strings.Cut(t.Message, "'furrow rollout skip "+s.Name+" ")
				skip, _, _ = strings.Cut(command, "'")
			}
		}
		if skip == "" && !retry && (s.Rollout == nil || s.Rollout.Paused == "") {
			continue
		}
		q, err := w.person().Requests(context.Background())
		if err == nil && retry {
			err = q.Retry(context.Background(), s.Name, "Ada", "all is well")
			w.say("asked to retry %s", s.Name)
		}
		if err == nil && skip != "" {
			_, err = q.Skip(context.Background(), s.Name, skip, "Ada", "they wait for each other")
			w.say("skipped %s of %s", skip, s.Name)
		} else if err == nil && s.Rollout != nil && s.Rollout.Paused != "" {
			_, err = q.Resume(context.Background(), s.Name)
		}
		if err != nil {
			w.t.Errorf("of the rollout of %s: %v", s.Name, err)
		}
	}
	if until := w.report.Until; !w.report.Changed && until.After(w.now) {
		w.now = until
	}
}

// pacedForge holds proposals and merges against the rollouts of their seeds. All checks of proposals pass.
type pacedForge struct {
	forge.Forge
	w *world
	// suspected are the tiers that Furrow merged, and that the plan on the branch does not let it merge.
	suspected *[]layout.Tier
}

func (f pacedForge) Checks(context.Context, forge.Proposal) (forge.Checks, error) {
	return forge.Checks{State: forge.ChecksPassed, Why: "ci"}, nil
}

func (f pacedForge) Propose(ctx context.Context, r forge.Request) (forge.Proposal, error) {
	f.w.mustBeInTurn(r)
	return f.Forge.Propose(ctx, r)
}

func (f pacedForge) Merge(ctx context.Context, p forge.Proposal, by git.Person) error {
	for _, m := range p.Tiers {
		if f.w.mayNotMerge(m.Tier) != "" {
			*f.suspected = append(*f.suspected, m.Tier)
		}
	}
	f.w.say("Furrow merges %s", p.Branch)
	return f.Forge.Merge(ctx, p, by)
}

// mayNotMerge returns why the plan and the record on the branches keep a tier from being merged by itself.
func (w *world) mayNotMerge(tier layout.Tier) string {
	refs, _ := w.gitops.Fetch(context.Background(), "main")
	turn := w.turnOf(refs, tier.Seed)
	t, ok := turn.plan.Find(tier.Cluster, tier.Ordinal)
	if !ok || turn.record.Skipping(turn.plan, "") != nil || turn.plan.Rollout == nil {
		return ""
	}
	if turn.record.Paused != nil {
		return "the rollout is paused"
	}
	if wave := turn.wave(turn.staying[turn.plan.Name(t)]); !open(wave, w.now) && !open(wave, w.now.Add(-time.Minute)) {
		return "the windows of wave " + wave.Name + " are closed"
	}
	return ""
}

// open reports whether the windows of a wave are.
func open(w plan.Wave, at time.Time) bool {
	berlin, err := time.LoadLocation("Europe/Berlin")
	return err == nil && window.At(w.Windows, map[string]window.Zone{"Europe/Berlin": window.ZoneOf(berlin, at)}, at).Open
}

// turn is in which order the tiers of a plan go.
type turn struct {
	plan   *plan.Plan
	record *release.Record
	// staying and leaving are the positions of tiers, counted from the first wave that goes.
	staying, leaving map[layout.Tier]int
}

// turnOf finds the order of a seed, from its plan alone.
func (w *world) turnOf(refs git.Refs, seed string) turn {
	t := turn{plan: w.planOf(refs, seed), record: &release.Record{}, staying: map[layout.Tier]int{}, leaving: map[layout.Tier]int{}}
	if at, ok := refs[layout.RolloutBranch("main", seed)]; ok {
		tree, _ := w.gitops.FS(context.Background(), at)
		data, err := fs.ReadFile(tree, release.RecordFile)
		if err != nil {
			w.t.Fatal(err)
		}
		if t.record, err = release.DecodeRecord(seed, layout.RolloutBranch("main", seed), data); err != nil {
			w.t.Fatal(err)
		}
	}
	p := t.plan
	if p.Rollout == nil {
		return t
	}
	for i := range p.Tiers {
		name := p.Name(&p.Tiers[i])
		t.staying[name], t.leaving[name] = p.Rollout.WaveOf(name.Cluster), p.Rollout.WaveOf(name.Cluster)
		if p.Removal {
			t.leaving[name] = len(p.Rollout.Waves) - t.leaving[name]
		}
	}
	for range p.Tiers { // as often as a chain may be long
		for i := range p.Tiers {
			one := &p.Tiers[i]
			name := p.Name(one)
			for _, pre := range one.Prerequisites {
				if of := (layout.Tier{Seed: seed, Cluster: pre.Cluster, Ordinal: pre.Ordinal}); pre.Seed == "" {
					t.staying[of] = min(t.staying[of], t.staying[name])
				}
			}
			if one.Leaving != nil {
				for _, after := range one.Leaving.After {
					t.leaving[name] = max(t.leaving[name], t.leaving[layout.Tier{Seed: seed, Cluster: after.Cluster, Ordinal: after.Ordinal}])
				}
			}
		}
	}
	return t
}

// wave is the one at a position.
func (t turn) wave(at int) plan.Wave {
	if at < len(t.plan.Rollout.Waves) {
		return t.plan.Rollout.Waves[at]
	}
	return plan.Wave{Name: plan.RestWave}
}

// mustBeInTurn holds a proposal that may be merged against the waves before it.
func (w *world) mustBeInTurn(r forge.Request) {
	if r.Shut != "" {
		return
	}
	refs, _ := w.gitops.Fetch(context.Background(), "main")
	t := w.turnOf(refs, r.Tiers[0].Tier.Seed)
	if t.record.Paused != nil {
		w.t.Errorf("%s was proposed while the rollout is paused", r.Branch)
	}
	if t.plan.Rollout == nil || len(t.plan.Rollout.Waves) == 0 || t.record.Skipping(t.plan, "") != nil {
		return
	}
	for _, m := range r.Tiers {
		one, ok := t.plan.Find(m.Tier.Cluster, m.Tier.Ordinal)
		if !ok || one.Orphan != nil {
			continue
		}
		leaves := one.Leaving != nil && w.isOnBase(refs, one)
		if wave := t.wave(t.staying[m.Tier]); !leaves && !open(wave, w.now) && !open(wave, w.now.Add(-time.Minute)) {
			w.t.Errorf("%s was proposed at %s, while the windows of wave %s are closed", m.Tier, w.now, wave.Name)
		}
		for i := range t.plan.Tiers {
			other := &t.plan.Tiers[i]
			w.mustGoFirst(refs, t, m.Tier, other, leaves)
		}
	}
}

// mustGoFirst asserts that a tier of an earlier wave than the proposed one is done, and has soaked.
func (w *world) mustGoFirst(refs git.Refs, t turn, proposed layout.Tier, other *plan.Tier, leaves bool) {
	name, at, before := t.plan.Name(other), t.staying, other.Leaving == nil || !w.isOnBase(refs, other)
	if leaves {
		at, before = t.leaving, other.Leaving != nil && w.isOnBase(refs, other)
	}
	if at[name] >= at[proposed] || other.Orphan != nil {
		return
	}
	wave := t.wave(at[name])
	if leaves && t.plan.Removal {
		wave = t.wave(len(t.plan.Rollout.Waves) - at[name])
	}
	if t.record.Skipping(t.plan, wave.Name) != nil {
		return
	}
	switch {
	case leaves && before:
		w.t.Errorf("%s was proposed, and %s of wave %s has not left", proposed, name, wave.Name)
	case leaves || !before || other.Gone():
		return
	default:
		w.mustBeMerged(proposed, refs, t.plan, other)
		for _, o := range t.plan.Objects(other) {
			w.mustRun(proposed, refs, other, o)
		}
	}
	if wave.Soak <= 0 {
		return
	}
	i := slices.IndexFunc(t.record.Soaks, func(s release.Soak) bool { return s.Wave == wave.Name && s.Leaving == leaves })
	if i < 0 || w.now.Before(t.record.Soaks[i].Since.Add(wave.Soak)) {
		w.t.Errorf("%s was proposed at %s, and wave %s has to soak for %s: %+v", proposed, w.now, wave.Name, wave.Soak, t.record.Soaks)
	}
}

// isOnBase reports whether base has something of a tier.
func (w *world) isOnBase(refs git.Refs, t *plan.Tier) bool {
	have, err := w.gitops.Entries(refs["main"], t.Paths())
	if err != nil {
		w.t.Fatal(err)
	}
	return len(have) > 0
}

// mustKeepLimits asserts, where a pass has opened proposals, that no more are open and no more clusters of a wave under
// way than may be.
func (w *world) mustKeepLimits(before map[string]bool) {
	of, fresh := map[string]int{}, map[string]bool{}
	for _, p := range w.open() {
		of[p.Seed]++
		if !before[p.Branch] {
			fresh[p.Seed] = true
		}
	}
	for _, s := range w.report.Seeds {
		p := w.report.Plans[s.Name]
		if p == nil || p.Rollout == nil || !fresh[s.Name] || s.Rollout != nil && s.Rollout.Unpaced != "" {
			continue
		}
		if most := p.Rollout.MaxOpenProposals; most > 0 && of[s.Name] > most {
			w.t.Errorf("%d proposals of %s are open, and at most %d may be", of[s.Name], s.Name, most)
		}
		begun, under := map[string]bool{}, map[string]map[string]bool{}
		for _, t := range s.Tiers {
			if t.Wave == "" {
				continue
			}
			underWay := slices.Contains([]release.State{release.Merged, release.Progressing, release.Failed}, t.State)
			if t.Proposal != nil && t.Proposal.GateReason == "" && t.State == release.Proposed {
				underWay = true
				begun[t.Wave] = begun[t.Wave] || !before[t.Proposal.Branch]
			}
			if underWay {
				if under[t.Wave] == nil {
					under[t.Wave] = map[string]bool{}
				}
				under[t.Wave][t.Cluster] = true
			}
		}
		for _, wave := range p.Rollout.Waves {
			if most := wave.MaxUnavailable; most > 0 && begun[wave.Name] && len(under[wave.Name]) > cmp.Or(most, 1) {
				w.t.Errorf("of wave %s of %s, %v are under way, and at most %d may be", wave.Name, s.Name, under[wave.Name], most)
			}
		}
	}
}

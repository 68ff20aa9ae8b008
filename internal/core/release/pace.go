package release

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/health"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/window"
)

// Pace holds back tiers that are free to be proposed: until their wave's turn has come, while its
// windows are closed, while enough of its clusters are under way, and while a person has the rollout
// paused. It is decided from the same facts as gates, and from the record, which says since when
// waves have been released.
//
// What stays and what leaves are two sequences, and neither waits for the other: what leaves goes
// only once all else is released. A tier is in the wave of its cluster, or in the earliest wave with
// a tier that needs it: so prerequisites never wait for what needs them. What leaves goes through
// the waves in the same order, or in reverse when the whole seed is removed, and never before what
// must leave before it.

// WaveState is how far a wave is.
type WaveState string

const (
	// WaveWaiting means that a wave before it has to be done first.
	WaveWaiting WaveState = "Waiting"
	// WaveProgressing means that its tiers are being proposed, merged and applied.
	WaveProgressing WaveState = "Progressing"
	// WaveFailed means that a cluster of it has failed, so the next wave does not open.
	WaveFailed WaveState = "Failed"
	// WaveSoaking means that it is done, and watched for a while before the next wave opens.
	WaveSoaking WaveState = "Soaking"
	// WaveComplete means that it is done.
	WaveComplete WaveState = "Complete"
	// WaveSkipped means that a person asked not to wait for it.
	WaveSkipped WaveState = "Skipped"
)

// WaveStatus is how far the clusters of a wave are.
type WaveStatus struct {
	Name  string
	State WaveState
	// Leaving reports whether it is about what leaves the clusters.
	Leaving bool
	// Clusters counts those with tiers in the wave, Done those whose tiers are all Released or Gone.
	Clusters, Done int
	// Reason and Message say what it waits for; empty where nothing holds it.
	Reason  v1alpha1.Reason
	Message string
	// Until is when it goes on by itself; zero where that is not a matter of time.
	Until time.Time
}

// Progress returns how far the wave is, for people, as in "wave canary: 3 of 20 clusters done".
func (w WaveStatus) Progress() string {
	return fmt.Sprintf("wave %s: %d of %d %s done", w.Name, w.Done, w.Clusters, plural(w.Clusters, "cluster"))
}

// RolloutStatus is what was decided about the pace of a seed.
type RolloutStatus struct {
	// Waves in the order in which they go.
	Waves []WaveStatus
	// Paused is who paused the rollout, and Unpaced who asked that all be proposed at once.
	Paused, Unpaced *Request
	// Record is what has to be recorded now.
	Record *Record
}

// Until returns when something goes on by itself; zero where nothing does.
func (r *RolloutStatus) Until() time.Time {
	var out time.Time
	if r != nil {
		for _, w := range r.Waves {
			if !w.Until.IsZero() && (out.IsZero() || w.Until.Before(out)) {
				out = w.Until
			}
		}
	}
	return out
}

// hold is why a tier is not proposed, or its open proposal not merged, although nothing else is in
// the path.
type hold struct {
	manifest.Problem
	// withdraws reports whether an open proposal of an earlier plan is withdrawn: others come first.
	withdraws bool
	// behind is the wave that is waited for; nil where it is something else.
	behind *stage
}

// shut has the gate of a tier's open proposal say so, after a text.
func (h *hold) shut(s *TierStatus, after string) {
	s.Gate, s.GateReason, s.behind = after+h.Message, h.Reason, h.behind
	if h.Reason == v1alpha1.ReasonMaxUnavailable {
		s.full = h.Message
	}
}

// stage is the tiers of one sequence that go at the same time.
type stage struct {
	wave    plan.Wave
	leaving bool
	tiers   []*decision
	// failed reports whether one of its tiers has failed, and clusters has those of its tiers.
	clusters []string
	open     map[string]bool // clusters with tiers that are not done
	failed   bool
	// undone reports whether base does not have what a tier is to become, or has it no longer.
	undone bool
	status WaveStatus
	hold   *hold
	// windows is whether those of the wave are open, once that was asked.
	windows *window.State
	// full holds the clusters beyond MaxUnavailable that are not under way.
	full *hold
	// free are the clusters that may begin, asked those about which may be asked.
	free, asked map[string]bool
	// deadlock says why the stage never ends; empty where nothing is known against that.
	deadlock string
}

// frozen reports whether nothing of a tier is proposed or updated at present, whatever its state: the
// rollout is paused, or the windows of its wave are closed.
func (p *pace) frozen(name layout.Tier) bool {
	if p == nil {
		return false
	}
	s := p.of[name]
	return p.paused != nil || s != nil && !s.opening(p.facts).Open && p.record.Skipping(p.plan, "") == nil
}

// opening returns whether the windows of the stage are open.
func (s *stage) opening(facts Facts) window.State {
	if s.windows == nil {
		at := window.At(s.wave.Windows, facts.Zones, facts.Now)
		s.windows = &at
	}
	return *s.windows
}

// pace is the pace of one plan. A nil pace holds nothing.
type pace struct {
	facts  Facts
	plan   *plan.Plan
	paused *hold
	// stages of what stays, and of what leaves; of is that of each tier.
	stages []*stage
	of     map[layout.Tier]*stage
	record *Record
	status *RolloutStatus
}

// newPace puts the tiers of a plan into waves; nil where neither the seed nor a person asks for a pace.
func newPace(p *plan.Plan, facts Facts, tiers []*decision) *pace {
	if p.Rollout == nil && facts.Record.Empty() {
		return nil
	}
	out := &pace{facts: facts, plan: p, of: map[layout.Tier]*stage{}, status: &RolloutStatus{}, record: &Record{Seed: p.Seed}}
	if facts.Record != nil {
		out.record.Paused = facts.Record.Paused
		if facts.Record.Retrying(p) != nil {
			out.record.Retried = facts.Record.Retried
		}
		out.record.Skips = slices.DeleteFunc(slices.Clone(facts.Record.Skips), func(s Skip) bool { return s.Inputs != p.Inputs })
	}
	if paused := out.record.Paused; paused != nil {
		out.status.Paused = paused
		out.paused = &hold{Problem: manifest.Problem{Reason: v1alpha1.ReasonRolloutPaused, Message: fmt.Sprintf("the rollout is paused (%s). Run 'furrow rollout resume %s' to go on", paused, p.Seed)}}
	}
	if p.Rollout != nil && len(p.Rollout.Waves) > 0 {
		out.arrange(tiers)
	}
	return out
}

// decide decides whose turn it is. It is called once it is known which proposals the tiers are in.
func (p *pace) decide() {
	if p == nil {
		return
	}
	for _, s := range p.stages {
		s.count()
	}
	p.turn(false)
	p.turn(true)
	if all := p.record.Skipping(p.plan, ""); all != nil {
		p.status.Unpaced = &all.Request
		for _, s := range p.stages {
			if s.hold, s.full = nil, nil; len(s.open) > 0 {
				s.status.State = WaveProgressing
			}
			s.status.Reason, s.status.Message, s.status.Until = "", "", time.Time{}
		}
	}
	for _, s := range p.stages {
		p.status.Waves = append(p.status.Waves, s.status)
	}
	p.status.Record = p.record
}

// leaves reports whether something of the tier is to go, so it is in the sequence of what leaves.
func (d *decision) leaves() bool {
	return d.tier.Gone() || d.tier.Leaving != nil && d.have.Base != BaseNothing
}

// arrange puts the tiers into stages. An abandoned cluster is in none: nothing is to wait for it.
func (p *pace) arrange(tiers []*decision) {
	waves := p.plan.Rollout.Waves
	own := make(map[layout.Tier]int, len(tiers))
	for _, d := range tiers {
		own[d.name] = p.plan.Rollout.WaveOf(d.tier.Cluster)
	}
	staying, leaving := earliest(p.plan, own), latest(p.plan, own, len(waves))
	type position struct {
		leaving bool
		at      int
	}
	stages := map[position]*stage{}
	for _, d := range tiers {
		if d.tier.Orphan != nil {
			continue
		}
		at := position{d.leaves(), staying[d.name]}
		if at.leaving {
			at.at = leaving[d.name]
		}
		if stages[at] == nil {
			wave, i := plan.Wave{Name: plan.RestWave}, at.at
			if at.leaving && p.plan.Removal {
				i = len(waves) - i
			}
			if i < len(waves) {
				wave = waves[i]
			}
			stages[at] = &stage{wave: wave, leaving: at.leaving, open: map[string]bool{}, free: map[string]bool{}, asked: map[string]bool{}}
		}
		stages[at].tiers = append(stages[at].tiers, d)
		p.of[d.name] = stages[at]
	}
	for i, w := range waves { // people are to notice that it selects nothing
		at := position{p.plan.Removal, i}
		if p.plan.Removal {
			at.at = len(waves) - i
		}
		if len(w.Clusters) == 0 && stages[at] == nil {
			stages[at] = &stage{wave: w, leaving: at.leaving}
		}
	}
	for _, sequence := range []bool{false, true} {
		for i := range len(waves) + 1 {
			if s := stages[position{sequence, i}]; s != nil {
				p.stages = append(p.stages, s)
			}
		}
	}
}

// earliest gives tiers the index of the earliest wave that needs them.
func earliest(p *plan.Plan, own map[layout.Tier]int) map[layout.Tier]int {
	out := make(map[layout.Tier]int, len(own))
	for name, wave := range own {
		out[name] = wave
	}
	order := p.InOrder()
	slices.Reverse(order)
	for changed := true; changed; { // once more only where pins keep tiers out of their order
		changed = false
		for _, t := range order {
			for _, pre := range t.Prerequisites {
				name := prerequisite(p.Seed, pre)
				if wave, ours := out[name]; ours && out[p.Name(t)] < wave {
					out[name], changed = out[p.Name(t)], true
				}
			}
		}
	}
	return out
}

// latest gives tiers that leave their position: that of their wave, from the last one on when the
// whole seed is removed, and not before that of a tier which must leave before them. Each round moves
// at least one tier on, of as many as there are positions for.
func latest(p *plan.Plan, own map[layout.Tier]int, last int) map[layout.Tier]int {
	out := make(map[layout.Tier]int, len(own))
	for name, wave := range own {
		if out[name] = wave; p.Removal {
			out[name] = last - wave
		}
	}
	for changed := true; changed; {
		changed = false
		for i := range p.Tiers {
			t := &p.Tiers[i]
			if t.Leaving == nil {
				continue
			}
			for _, before := range t.Leaving.After {
				at := out[layout.Tier{Seed: p.Seed, Cluster: before.Cluster, Ordinal: before.Ordinal}]
				if name := p.Name(t); at > out[name] {
					out[name], changed = at, true
				}
			}
		}
	}
	return out
}

// count counts what is done.
func (s *stage) count() {
	for _, d := range s.tiers {
		if last := len(s.clusters) - 1; last < 0 || s.clusters[last] != d.tier.Cluster { // tiers are in order
			s.clusters = append(s.clusters, d.tier.Cluster)
		}
		state := d.gates.baseState(d.name)
		if state.Done() {
			continue
		}
		s.open[d.tier.Cluster] = true
		s.undone = s.undone || state == ""
		s.failed = s.failed || state == Failed || state != "" && d.have.Health.Phase == health.Failed
	}
}

// digest identifies what the stage's tiers are to become.
func (s *stage) digest() string {
	sum := sha256.New()
	for _, d := range s.tiers {
		fmt.Fprintln(sum, d.name, d.tier.Digest())
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil))
}

// turn decides, wave by wave, whose turn it is in a sequence.
func (p *pace) turn(leaving bool) {
	var stages []*stage
	for _, s := range p.stages {
		if s.leaving == leaving {
			stages = append(stages, s)
		}
	}
	var before *hold
	for i, s := range stages {
		more := slices.ContainsFunc(stages[i+1:], func(later *stage) bool { return len(later.open) > 0 })
		s.status = WaveStatus{Name: s.wave.Name, Leaving: leaving, Clusters: len(s.clusters), Done: len(s.clusters) - len(s.open)}
		skipped := p.record.Skipping(p.plan, s.wave.Name) != nil
		until := p.soaks(s, more && before == nil && !skipped)
		s.hold = before
		s.status.State = s.state(before != nil, skipped, until)
		if before != nil {
			continue
		}
		switch s.status.State {
		case WaveSoaking:
			s.status.Until, s.status.Reason = until, v1alpha1.ReasonWaveSoaking
			s.status.Message = fmt.Sprintf("wave %q is done, and the next one opens at %s if it stays so", s.wave.Name, showTime(until))
			before = &hold{Problem: manifest.Problem{Reason: v1alpha1.ReasonWaveSoaking, Message: fmt.Sprintf("wave %q is done, and soaks until %s", s.wave.Name, showTime(until))}, withdraws: true}
		case WaveSkipped:
			p.window(s)
			p.fill(s)
		case WaveProgressing, WaveFailed:
			p.window(s)
			p.fill(s)
			before = &hold{Problem: manifest.Problem{Reason: s.reason(), Message: fmt.Sprintf("waits for wave %q", s.wave.Name)}, withdraws: true, behind: s}
			if s.failed {
				before.Message = fmt.Sprintf("wave %q has failed%s", s.wave.Name, s.skipText())
			}
		}
	}
}

// state returns how far a stage is, and whether the next one opens.
func (s *stage) state(waits, skipped bool, until time.Time) WaveState {
	switch {
	case len(s.open) == 0 && !until.IsZero():
		return WaveSoaking
	case len(s.open) == 0:
		return WaveComplete
	case waits:
		return WaveWaiting
	case skipped:
		return WaveSkipped
	case s.failed:
		return WaveFailed
	}
	return WaveProgressing
}

// soaks returns until when a stage that is done must stay so before the next one opens; zero where it
// need not. It notes in the record since when the stage is done. A failure, other entries, and
// a revert on the base branch begin it anew. A cluster that is silent or not ready for a while only holds the next wave for that
// while: in a wave of a hundred clusters one always is, and the soak would never end.
func (p *pace) soaks(s *stage, needed bool) time.Time {
	if s.wave.Soak <= 0 || len(s.tiers) == 0 {
		return time.Time{}
	}
	is := Soak{Wave: s.wave.Name, Leaving: s.leaving}
	had, begins := p.facts.Record.soak(is), len(s.open) == 0 && needed
	if had == nil && !begins {
		return time.Time{}
	}
	is.Digest = s.digest()
	switch {
	case had != nil && had.Digest == is.Digest && !s.failed && !s.undone:
		is.Since = had.Since
	case begins:
		is.Since = p.facts.Now.UTC().Truncate(time.Second)
	default:
		return time.Time{}
	}
	p.record.Soaks = append(p.record.Soaks, is)
	if until := is.Since.Add(s.wave.Soak); needed && len(s.open) == 0 && p.facts.Now.Before(until) {
		return until
	}
	return time.Time{}
}

// window holds a stage while its windows are closed.
func (p *pace) window(s *stage) {
	at := s.opening(p.facts)
	if at.Open {
		return
	}
	text := fmt.Sprintf("the windows of wave %q are closed", s.wave.Name)
	switch {
	case at.Unknown != "":
		text += fmt.Sprintf(" because there is no time zone %q", at.Unknown)
	case at.Changes.IsZero():
		text += ", and none opens within a year"
	default:
		text += " until " + window.Show(at.Changes, at.TimeZone, p.facts.Zones)
	}
	s.hold = &hold{Problem: manifest.Problem{Reason: v1alpha1.ReasonWindowClosed, Message: text}}
	s.status.Reason, s.status.Message, s.status.Until = s.hold.Reason, text, at.Changes
}

// fill lets as many clusters of a stage begin as there is room for besides those under way: not ready
// with what was merged, or with an open proposal that may be merged. Of more open proposals than
// there is room for, as when what they waited for is released, the gates of the last ones are shut.
// Clusters begin in order of their names. One
// that is known to be unable to begin leaves its room to the next one. To find that out, about as many
// more may be asked as have turned out so: the number of rounds stays small however many there are.
func (p *pace) fill(s *stage) {
	most := s.wave.MaxUnavailable
	if most <= 0 || s.hold != nil {
		return
	}
	under, open := s.underWay(most)
	cannot, can := map[string]bool{}, []string{}
	for _, d := range s.tiers {
		cluster := d.tier.Cluster
		if under[cluster] || open[cluster] || len(can) > 0 && can[len(can)-1] == cluster || !d.begins() {
			continue
		}
		if d.cannotBegin() {
			cannot[cluster] = true
			continue
		}
		can = append(can, cluster)
	}
	room := max(0, most-len(under))
	for i, cluster := range can {
		s.free[cluster] = i < room
		s.asked[cluster] = i < room || room > 0 && i < room+len(cannot)
	}
	for cluster := range cannot { // what keeps it is shown
		s.asked[cluster] = true
	}
	for cluster := range under {
		s.free[cluster], s.asked[cluster] = true, true
	}
	names := slices.Sorted(maps.Keys(under))
	s.full = &hold{Problem: manifest.Problem{Reason: v1alpha1.ReasonMaxUnavailable, Message: fmt.Sprintf("at most %d %s of wave %q may be under way at once", most, plural(most, "cluster"), s.wave.Name)}}
	if len(names) > 0 {
		s.full.Message += ", as " + strings.Join(names[:min(len(names), 3)], ", ")
		if more := len(names) - 3; more > 0 {
			s.full.Message += fmt.Sprintf(" and %d more", more)
		}
		s.full.Message += " " + isAre(len(names))
	}
}

// underWay returns the clusters that take room: those not ready with what was merged, and of those
// with an open proposal that may be merged, which are open, as many as there is room for.
func (s *stage) underWay(most int) (under, open map[string]bool) {
	under, open = map[string]bool{}, map[string]bool{}
	for _, d := range s.tiers {
		if d.gates.baseState(d.name).changing() {
			under[d.tier.Cluster] = true
		}
	}
	for _, d := range s.tiers {
		if d.mergeable() {
			open[d.tier.Cluster] = true
			if len(under) < most {
				under[d.tier.Cluster] = true
			}
		}
	}
	return under, open
}

// mergeable reports whether the tier has an open proposal that waits for no other tier. One that does
// takes no room: what it waits for may need it.
func (d *decision) mergeable() bool { return d.open && len(d.waits()) == 0 }

// begins reports whether the tier would be proposed next on its cluster.
func (d *decision) begins() bool {
	return d.gates.baseState(d.name) == "" && len(d.waits()) == 0
}

// cannotBegin reports whether something about the tier itself is known to keep it from being proposed.
func (d *decision) cannotBegin() bool {
	if _, held := unconfirmed(d); held {
		return true
	}
	rejected := d.have.Proposal != nil && d.have.Proposal.Rejected && d.proposed()
	return rejected || d.have.Base == BaseForeign || d.have.LeftBehind != nil || d.have.RootUnfit != nil || d.have.RootUnknown != nil ||
		d.have.Closed == ClosedRejected || d.have.Closed == ClosedMerged
}

// hold returns what holds a tier; nil where nothing does. asking is whether it is only about what may
// be asked to find that out.
func (p *pace) hold(name layout.Tier, asking bool) *hold {
	if p == nil {
		return nil
	}
	s := p.of[name]
	switch {
	case p.paused != nil:
		return p.paused
	case s == nil:
		return nil
	case s.hold != nil:
		return s.hold
	case s.full == nil || s.free[name.Cluster] || asking && s.asked[name.Cluster]:
		return nil
	}
	return s.full
}

// waveOf returns the name of the wave that a tier goes in; empty where there are none.
func (p *pace) waveOf(name layout.Tier) string {
	if p == nil || p.of[name] == nil {
		return ""
	}
	return p.of[name].wave.Name
}

// nameWave writes what a tier waits for whose wave's turn has not come, once the states of all are
// known.
func (r *Result) nameWave(behind *stage) string {
	w, verb := behind.status, "waits for wave %q"
	if behind.failed {
		verb = "wave %q has failed"
	}
	text := fmt.Sprintf(verb+" (%d of %d %s done)", w.Name, w.Done, w.Clusters, plural(w.Clusters, "cluster"))
	if worst := r.worst(behind); worst != "" {
		text += ": " + worst
	}
	if behind.failed {
		text += behind.skipText()
	}
	return text
}

// skipText says what people can do about a stage that has failed.
func (s *stage) skipText() string {
	return fmt.Sprintf(". Correct or revert the seed, or run 'furrow rollout skip %s %s' to go on without it", s.tiers[0].name.Seed, s.wave.Name)
}

// worst says which tier of a stage most needs attention.
func (r *Result) worst(of *stage) string {
	var worst *TierStatus
	for _, d := range of.tiers {
		s, found := r.find(d.name)
		if !found || s.State.Done() {
			continue
		}
		if worst == nil || slices.Index(urgency, s.State) < slices.Index(urgency, worst.State) {
			worst = s
		}
	}
	switch {
	case worst == nil:
		return ""
	case worst.Message == "" || worst.State == Blocked || worst.Reason == v1alpha1.ReasonProposing:
		return fmt.Sprintf("%s is %s", worst.Tier.Name(), worst.State)
	}
	return fmt.Sprintf("%s is %s (%s)", worst.Tier.Name(), worst.State, worst.Message)
}

// urgency orders states by how much they need attention.
var urgency = []State{Failed, Held, Rejected, Reverted, Merged, Progressing, Outdated, Proposed, Queued, Blocked}

// nameWaves gives the waves of the result, and the tiers behind them, their messages. Gates do not
// say how far the wave is: each change of a message from a cluster would be written to all open
// proposals.
func (r *Result) nameWaves() {
	if r.pace == nil {
		return
	}
	texts := map[*stage]string{}
	for _, s := range r.pace.stages {
		switch {
		case s.hold == nil || s.hold.behind == nil || texts[s.hold.behind] != "":
		case s.hold.behind.deadlock != "":
			texts[s.hold.behind] = s.hold.behind.deadlock
		default:
			texts[s.hold.behind] = r.nameWave(s.hold.behind)
		}
	}
	for i := range r.Tiers {
		t := &r.Tiers[i]
		if t.behind == nil || texts[t.behind] == "" {
			continue
		}
		if t.State == Queued {
			t.Message = texts[t.behind]
		}
	}
	for i, s := range r.pace.stages {
		w := &r.Rollout.Waves[i]
		switch {
		case s.deadlock != "":
			w.Reason, w.Message = v1alpha1.ReasonWaveDeadlock, s.deadlock
		case w.State == WaveWaiting && s.hold != nil:
			w.Reason, w.Message, w.Until = s.hold.Reason, cmp.Or(texts[s.hold.behind], s.hold.Message), time.Time{}
			if s.hold.behind != nil && s.hold.behind.deadlock != "" {
				w.Reason = v1alpha1.ReasonWaveDeadlock
			}
		case w.State == WaveFailed:
			w.Reason, w.Message = v1alpha1.ReasonWaveFailed, r.worst(s)
		}
	}
}

// reason is why the next wave does not open.
func (s *stage) reason() v1alpha1.Reason {
	if s.failed {
		return v1alpha1.ReasonWaveFailed
	}
	return v1alpha1.ReasonWaitingForWave
}

// plural returns a noun as it is after a number.
func plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}

func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/controllers/fleet"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/engine"
)

// Tiers replaces the tiers of a control plane by those in its Plantings.
func (m *Metrics) Tiers(cp fleet.ControlPlane, plantings []v1alpha1.Planting) {
	for _, l := range m.snapshots.setTiers(cp, plantings) {
		m.tierDuration.WithLabelValues(l.state).Observe(l.after.Seconds())
	}
}

// snapshots has the last report and tiers of each control plane.
type snapshots struct {
	clock                             clock.PassiveClock
	seeds, tiers, oldest, open, waits gauges

	mu   sync.Mutex
	last map[fleet.ControlPlane]snapshot
}

// snapshot has the last report and tiers of a control plane.
type snapshot struct {
	repos map[string]bool
	// seeds counts them by state.
	seeds map[string]int
	tiers map[tierKey]tier
}

// tierKey identifies a tier of one control plane.
type tierKey struct {
	seed, cluster string
	ordinal       int32
}

// tier has what metrics need of a tier.
type tier struct {
	state string
	since time.Time
	// proposal identifies the open proposal by its branch and page, and opened is since
	// when it is known. repo is empty if there is none.
	repo, proposal string
	opened         time.Time
	// shut means that it must not be merged now.
	shut bool
}

// left is a state that a tier has left, after some time.
type left struct {
	state string
	after time.Duration
}

func newSnapshots(clock clock.PassiveClock) *snapshots {
	return &snapshots{
		clock: clock, last: map[fleet.ControlPlane]snapshot{},
		seeds: seeds.gauges(), tiers: tiers.gauges(), oldest: tierOldest.gauges(), open: proposalsOpen.gauges(), waits: proposalOldest.gauges(),
	}
}

// atRest reports whether the state is final.
func atRest(state string) bool {
	return state == string(release.Released) || state == string(release.Gone)
}

// update records a pass's report, and returns the repositories that are no longer named.
func (b *snapshots) update(cp fleet.ControlPlane, report *engine.Report) (gone []repo) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.last[cp]
	before := p.repos
	p.repos, p.seeds = map[string]bool{}, map[string]int{}
	for name := range report.Repos {
		p.repos[name] = true
	}
	for i := range report.Seeds {
		p.seeds[report.Seeds[i].State]++
	}
	b.last[cp] = p
	return b.unnamed(cp.Namespace, before)
}

// forget drops a control plane. It returns the repositories that are no longer named, and
// whether this was the last control plane of its namespace.
func (b *snapshots) forget(cp fleet.ControlPlane) (gone []repo, last bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.last[cp].repos
	delete(b.last, cp)
	last = true
	for other := range b.last {
		last = last && other.Namespace != cp.Namespace
	}
	return b.unnamed(cp.Namespace, before), last
}

// unnamed returns the repositories that no control plane of the namespace names any more. The
// caller holds b.mu.
func (b *snapshots) unnamed(namespace string, before map[string]bool) (gone []repo) {
	for name := range before {
		named := false
		for cp, p := range b.last {
			named = named || cp.Namespace == namespace && p.repos[name]
		}
		if !named {
			gone = append(gone, repo{namespace, name})
		}
	}
	return gone
}

// setTiers replaces the tiers of a control plane, and returns the states that tiers left, which is
// what the histogram counts. After a restart nothing is known of before, so nothing is counted
// twice.
func (b *snapshots) setTiers(cp fleet.ControlPlane, plantings []v1alpha1.Planting) (leaving []left) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.last[cp]
	now := map[tierKey]tier{}
	for i := range plantings {
		planting := &plantings[i]
		for j := range planting.Status.Tiers {
			t := &planting.Status.Tiers[j]
			key := tierKey{planting.Spec.Seed, planting.Spec.Cluster, t.Ordinal}
			before, known := p.tiers[key]
			is := tierOf(t, before)
			now[key] = is
			if known && is.state != before.state && !atRest(before.state) && !is.since.Before(before.since) {
				leaving = append(leaving, left{before.state, is.since.Sub(before.since)})
			}
		}
	}
	p.tiers = now
	b.last[cp] = p
	return leaving
}

// tierOf returns a tier of a Planting. It keeps the age of a proposal from before.
func tierOf(t *v1alpha1.PlantingTier, before tier) tier {
	is := tier{state: t.State, since: t.Since.Time}
	if t.Proposal == nil || t.State == string(release.Rejected) {
		return is
	}
	is.repo, is.proposal, is.opened = t.Proposal.Repo, t.Proposal.Branch+" "+t.Proposal.URL, t.Since.Time
	is.shut = t.Proposal.Gate != ""
	if before.repo == is.repo && before.proposal == is.proposal && before.opened.Before(is.opened) {
		is.opened = before.opened
	}
	return is
}

// Describe implements prometheus.Collector.
func (b *snapshots) Describe(out chan<- *prometheus.Desc) {
	for _, g := range []gauges{b.seeds, b.tiers, b.oldest, b.open, b.waits} {
		out <- g.of
	}
}

// group has the labels of a metric for what is counted together.
type group struct{ namespace, a, b string }

// tally has a count and the earliest time.
type tally struct {
	count int
	first time.Time
}

type tallies map[group]tally

// add counts n more of a group, and keeps the oldest time.
func (t tallies) add(g group, n int, since time.Time) {
	was, known := t[g]
	was.count += n
	if !known || since.Before(was.first) {
		was.first = since
	}
	t[g] = was
}

// Collect implements prometheus.Collector. It counts anew from the last snapshots each time, so a
// control plane or tier that is gone leaves no series behind; ages are those of now.
func (b *snapshots) Collect(out chan<- prometheus.Metric) {
	ofSeeds, ofTiers, ofProposals := tallies{}, tallies{}, tallies{}
	b.mu.Lock()
	for cp, p := range b.last {
		for state, n := range p.seeds {
			ofSeeds.add(group{cp.Namespace, state, ""}, n, time.Time{})
		}
		for name := range p.repos {
			ofProposals.add(group{cp.Namespace, name, ""}, 0, b.clock.Now())
		}
		seen := map[string]bool{} // tiers may share a proposal
		for key, t := range p.tiers {
			ofTiers.add(group{cp.Namespace, key.seed, t.state}, 1, t.since)
			n := 1
			if seen[t.repo+" "+t.proposal] {
				n = 0
			}
			seen[t.repo+" "+t.proposal] = true
			switch g := (group{cp.Namespace, t.repo, ""}); {
			case t.repo == "":
			case t.shut: // open, but not waiting for a person
				ofProposals.add(g, n, b.clock.Now())
			default:
				ofProposals.add(g, n, t.opened)
			}
		}
	}
	b.mu.Unlock()
	age := func(since time.Time) float64 { return max(0, b.clock.Since(since).Seconds()) }
	for g, t := range ofSeeds {
		b.seeds.send(out, float64(t.count), g.namespace, g.a)
	}
	for g, t := range ofTiers {
		b.tiers.send(out, float64(t.count), g.namespace, g.a, g.b)
		if !atRest(g.b) {
			b.oldest.send(out, age(t.first), g.namespace, g.a, g.b)
		}
	}
	for g, t := range ofProposals {
		b.open.send(out, float64(t.count), g.namespace, g.a)
		if t.count > 0 {
			b.waits.send(out, age(t.first), g.namespace, g.a)
		}
	}
}

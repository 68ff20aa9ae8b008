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

// Tiers is told of all tiers of a control plane, as they are shown in its Plantings.
// They replace those that were told of before.
func (m *Metrics) Tiers(cp fleet.ControlPlane, plantings []v1alpha1.Planting) {
	for _, l := range m.board.show(cp, plantings) {
		m.tierDuration.WithLabelValues(l.state).Observe(l.after.Seconds())
	}
}

// board has what was told of each control plane last.
type board struct {
	clock                             clock.PassiveClock
	seeds, tiers, oldest, open, waits gauges

	mu     sync.Mutex
	planes map[fleet.ControlPlane]plane
}

// plane is what was told of a control plane.
type plane struct {
	repos map[string]bool
	// seeds counts them by state.
	seeds map[string]int
	tiers map[tierKey]tier
}

type tierKey struct {
	seed, cluster string
	ordinal       int32
}

// tier is what counts of a tier here.
type tier struct {
	state string
	since time.Time
	// proposal is the open one: the branch or page that tells it from another, and
	// since when it was seen. repo is empty where there is none.
	repo, proposal string
	opened         time.Time
	// shut says that it must not be merged now.
	shut bool
}

// left is a state that a tier has left.
type left struct {
	state string
	after time.Duration
}

func newBoard(clock clock.PassiveClock) *board {
	return &board{
		clock: clock, planes: map[fleet.ControlPlane]plane{},
		seeds: seeds.gauges(), tiers: tiers.gauges(), oldest: tierOldest.gauges(), open: proposalsOpen.gauges(), waits: proposalOldest.gauges(),
	}
}

// atRest says that nobody waits for a tier to leave the state.
func atRest(state string) bool {
	return state == string(release.Released) || state == string(release.Gone)
}

// seen takes in a pass's report, and tells which repositories nobody names any more.
func (b *board) seen(cp fleet.ControlPlane, report *engine.Report) (gone []repo) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.planes[cp]
	before := p.repos
	p.repos, p.seeds = map[string]bool{}, map[string]int{}
	for name := range report.Repos {
		p.repos[name] = true
	}
	for i := range report.Seeds {
		p.seeds[report.Seeds[i].State]++
	}
	b.planes[cp] = p
	return b.unnamed(cp.Namespace, before)
}

// forget drops a control plane, and tells which repositories nobody names any more,
// and whether it was the last of its namespace.
func (b *board) forget(cp fleet.ControlPlane) (gone []repo, last bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.planes[cp].repos
	delete(b.planes, cp)
	last = true
	for other := range b.planes {
		last = last && other.Namespace != cp.Namespace
	}
	return b.unnamed(cp.Namespace, before), last
}

// unnamed are those of the repositories that no control plane of the namespace has; b.mu is held.
func (b *board) unnamed(namespace string, before map[string]bool) (gone []repo) {
	for name := range before {
		named := false
		for cp, p := range b.planes {
			named = named || cp.Namespace == namespace && p.repos[name]
		}
		if !named {
			gone = append(gone, repo{namespace, name})
		}
	}
	return gone
}

// show replaces the tiers of a control plane, and tells which states were left.
func (b *board) show(cp fleet.ControlPlane, plantings []v1alpha1.Planting) (leaving []left) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.planes[cp]
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
	b.planes[cp] = p
	return leaving
}

// tierOf is a tier as a Planting shows it, and as it was before.
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
func (b *board) Describe(out chan<- *prometheus.Desc) {
	for _, g := range []gauges{b.seeds, b.tiers, b.oldest, b.open, b.waits} {
		out <- g.of
	}
}

// group is what is counted together, by the labels of its metric.
type group struct{ namespace, a, b string }

// tally counts, and keeps the first time.
type tally struct {
	count int
	first time.Time
}

type tallies map[group]tally

func (t tallies) add(g group, n int, since time.Time) {
	was, known := t[g]
	was.count += n
	if !known || since.Before(was.first) {
		was.first = since
	}
	t[g] = was
}

// Collect implements prometheus.Collector.
func (b *board) Collect(out chan<- prometheus.Metric) {
	ofSeeds, ofTiers, ofProposals := tallies{}, tallies{}, tallies{}
	b.mu.Lock()
	for cp, p := range b.planes {
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
			case t.shut: // it is open, and waits for nobody
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

package law

import "fmt"

// minimal returns what is wrong with the number of tiers: the objects of a seed on a cluster need
// as many as the longest chain of dependencies has of them, and no more. The chain may lead through
// objects of other seeds and on other clusters; objects that a weak dependency joins count once. It is
// found by the dependencies alone, which the plan lists.
func (p *planned) minimal() []string {
	var wrong []string
	waits := map[*object][]wait{}
	for _, w := range p.waits {
		waits[w.from] = append(waits[w.from], w)
		if w.from.level < w.to.level || w.from.level == w.to.level && !w.weak {
			wrong = append(wrong, fmt.Sprintf("%s is on level %d, and what it waits for, %s, on %d", w.from, w.from.level, w.to, w.to.level))
		}
	}
	if wrong != nil {
		return wrong
	}
	tiers := map[group]map[int]bool{}
	for _, o := range p.objects {
		g := group{o.seed, o.cluster}
		if tiers[g] == nil {
			tiers[g] = map[int]bool{}
		}
		tiers[g][o.ordinal] = true
	}
	for g, ordinals := range tiers {
		chains := map[*object]chain{}
		longest := 0
		for _, o := range p.objects {
			longest = max(longest, g.chain(o, waits, chains).tiers())
		}
		if len(ordinals) != longest {
			wrong = append(wrong, fmt.Sprintf("seed %s has %d tiers on %s, and %d do", g.seed, len(ordinals), g.cluster, longest))
		}
	}
	return wrong
}

// group is a seed on a cluster.
type group struct{ seed, cluster string }

// chain counts the tiers of a group on the longest chain that ends with an object: chains whose last
// tier has no object of the group yet, and chains whose last tier has one. -1 means that there are none.
type chain struct{ without, with int }

func (c chain) tiers() int { return max(c.without, c.with) }

func (g group) chain(o *object, waits map[*object][]wait, chains map[*object]chain) chain {
	if c, done := chains[o]; done {
		return c
	}
	c := chain{without: 0, with: -1}
	chains[o] = c // weak dependencies may lead back here
	for _, w := range waits[o] {
		before := g.chain(w.to, waits, chains)
		if w.weak {
			c.without, c.with = max(c.without, before.without), max(c.with, before.with)
		} else {
			c.without = max(c.without, before.tiers())
		}
	}
	if o.seed == g.seed && o.cluster == g.cluster {
		c = chain{without: -1, with: max(c.without+1, c.with)}
	}
	chains[o] = c
	return c
}

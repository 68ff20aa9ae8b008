package plan

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/furrow-dev/furrow/internal/core/layout"
)

// Memo remembers the plans that were found to stay, each with the digest of all that it is made
// from. Assembling a plan costs in proportion to the clusters, and mostly only one of many seeds
// has changed. The outcomes are the same without it. The zero value is ready to use; it is for one
// goroutine.
type Memo struct {
	kept    map[string]keptPlan
	schemas schemaMemo
}

// keptPlan is a plan that stays as long as the digest does. Plans are compared by their pointers:
// they are read-only.
type keptPlan struct {
	plan   *Plan
	digest digest
}

type digest [sha256.Size]byte

// keeps reports whether the seed's plan is known to stay.
func (m *Memo) keeps(seed string, by keptPlan) bool {
	return m != nil && by.plan != nil && m.kept[seed] == by
}

// note takes in an outcome that was computed.
func (m *Memo) note(seed string, by keptPlan, o *Outcome) {
	switch {
	case m == nil:
	case by.plan != nil && o != nil && o.Kept && o.Files == nil && o.Plan == by.plan:
		if m.kept == nil {
			m.kept = map[string]keptPlan{}
		}
		m.kept[seed] = by
	default:
		delete(m.kept, seed)
	}
}

// keptBy returns the plan of a seed and the digest of what assembling it anew would read. There is
// none of a seed without a plan, and where something leaves, is held or is not in all
// repositories: assemble has to find out. TestNothingIsMissingInWhatIsRemembered searches for what
// is missing in the digest.
func (c *computation) keptBy(s *seedState) keptPlan {
	p := s.previous
	if c.in.Memo == nil || p == nil || p.Plan == nil || p.Replaced != nil || len(p.Others)+len(p.Older)+len(s.leaving)+len(s.held)+len(s.broken)+len(s.before)+len(s.moving)+len(s.awaits) > 0 || c.dropping[s.seed.Name] {
		return keptPlan{}
	}
	var d digester
	d.value(rulesVersion, c.in.Owner, c.in.Origin, s.pace, s.seed.Spec.DisabledRules, s.seed.Plugins, s.seed.Spec.Health, s.seed.Spec.Readiness)
	d.text(c.fleetDigest())
	for _, deadlock := range c.tiering.Deadlocks {
		d.text(deadlock.Deadlock())
	}
	if !c.digestVertices(s, &d) {
		return keptPlan{}
	}
	return keptPlan{p.Plan, d.sum()}
}

// digestVertices adds where the seed's objects are, with what content, in which tiers, and what
// they wait for. It is false where something has no content that could be written.
func (c *computation) digestVertices(s *seedState, d *digester) bool {
	first, end := c.graph.Of(s.seed.Name)
	for i := first; i < end; i++ {
		v := c.graph.Vertex(i)
		content := s.contents.On(v.Object, v.Cluster)
		if content == nil {
			return false
		}
		file, err := s.fileOf(content)
		if err != nil {
			return false
		}
		d.text(v.Object.String(), content.Object.APIVersion(), content.Object.Source.String(), file.Hash.String())
		d.text(c.classes.membersOf(v.Cluster)...)
		_, judged := c.readinessOf(s.seed, i, v.Cluster)
		d.text(strconv.Itoa(c.ordinalOf(i)), strconv.FormatBool(c.waited[i]), strconv.FormatBool(judged))
		d.text(c.ready[i]...)
		for _, id := range c.beside[i] {
			d.text(id.String())
		}
		for _, e := range c.graph.Waits(i) {
			r := c.graph.Reason(e)
			to, ordinal := c.graph.Vertex(e.To), c.ordinalOf(e.To)
			cluster, namespace := c.reconciledOn(layout.Tier{Seed: to.Seed, Cluster: to.Cluster, Ordinal: ordinal})
			later, awaited := strconv.FormatBool(c.tiering.Level[i] > c.tiering.Level[e.To]), strconv.FormatBool(c.awaited(e.To))
			d.text(to.Seed, to.Cluster, to.Object.String(), strconv.Itoa(ordinal), string(r.Kind), later, awaited, r.Rule, r.Why, r.Ready, cluster, namespace)
		}
	}
	return true
}

// fleetDigest returns the digest of all that is known of clusters, repositories and templates.
func (c *computation) fleetDigest() string {
	if c.fleet == "" {
		var d digester
		for _, name := range c.inventory.Names() {
			cl := c.inventory.Clusters[name]
			d.value(cl, cl.KubeConfigKey())
		}
		d.value(c.in.Catalog.Repos, c.in.Catalog.Templates)
		if p := c.in.Catalog.ControlPlane; p != nil {
			d.value(p.Spec.Readiness)
		}
		for _, name := range sortedKeys(c.in.Catalog.Templates) {
			d.text(c.in.Catalog.Positions["Template/"+name].String())
		}
		sum := d.sum()
		c.fleet = string(sum[:])
	}
	return c.fleet
}

// digester collects what a digest is made of. Different lists of values never give the same bytes.
type digester struct{ all []byte }

func (d *digester) text(texts ...string) {
	d.all = append(strconv.AppendInt(d.all, int64(len(texts)), 10), ':')
	for _, t := range texts {
		d.all = append(append(strconv.AppendInt(d.all, int64(len(t)), 10), ':'), t...)
	}
}

func (d *digester) value(values ...any) {
	data, err := json.Marshal(values)
	if err != nil {
		panic(fmt.Sprintf("what plans are made from are plain values: %v", err))
	}
	d.text(string(data))
}

func (d *digester) sum() digest { return sha256.Sum256(d.all) }

// Package review says what people need to know of a proposal to decide on it: what changes, why
// now, what came before and what comes next, how far the rollout is, where clusters differ.
//
//	plan, states ─▶ NewSeed ─▶ Describe: a proposal of one tier or several ─▶ template.Proposal
//
// It makes the variables of a template, which decides how a page or a terminal shows them. All text
// that people wrote is escaped for where it is shown: nothing in a seed may become markup, a mention
// or a link in a pull request, or a control character in a terminal.
package review

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/change"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/core/template"
)

// What a proposal does to a tier.
const (
	Plant  = "Plant"
	Update = "Update"
	Remove = "Remove"
	Orphan = "Orphan"
)

// Seed is what the proposals of one plan have in common. It is made once for all of them.
type Seed struct {
	plan   *plan.Plan
	states map[layout.Tier]release.State
	// waiting has what waits for each tier; leaving has what leaves after it.
	waiting, leaving map[layout.Tier][]plan.Reference
	differ           map[manifest.ID]plan.Differing
	rollout          template.Rollout
	waves            []release.WaveStatus
}

// NewSeed prepares a plan whose tiers and waves have these states; a tier without one is not known.
func NewSeed(p *plan.Plan, states map[layout.Tier]release.State, waves []release.WaveStatus) *Seed {
	s := &Seed{plan: p, states: states, waves: waves, waiting: p.Waiting(), leaving: map[layout.Tier][]plan.Reference{}, differ: map[manifest.ID]plan.Differing{}}
	for i := range p.Tiers {
		t := &p.Tiers[i]
		if t.Leaving == nil {
			continue
		}
		for _, after := range t.Leaving.After {
			name := layout.Tier{Seed: p.Seed, Cluster: after.Cluster, Ordinal: after.Ordinal}
			s.leaving[name] = append(s.leaving[name], plan.Reference{Cluster: t.Cluster, Ordinal: t.Ordinal, Why: after.Why})
		}
	}
	for _, one := range p.Differ() {
		s.differ[one.Object] = one
	}
	s.rollout = s.countClusters()
	return s
}

// Tier is one tier that a proposal carries.
type Tier struct {
	*plan.Tier
	// Verb says what becomes of it.
	Verb string
	// Changes are what merging changes against base; Unchanged counts the objects that stay as they
	// are.
	Changes   []change.Change
	Unchanged int
	// Leaves reports whether its order is that of what leaves: what needed it goes before it.
	Leaves bool
	// Abandoned reports whether its cluster was abandoned, so the objects stay there.
	Abandoned bool
	// Reconciler says whether its reconciler object comes or goes: change.Added or change.Removed, empty
	// where it stays or is among the Changes. Unusual are the fields of one that comes that are not
	// as usual.
	Reconciler change.Kind
	Unusual    []template.Field
	// Deletes and Replaces are files at its paths that others put there.
	Deletes, Replaces []string
}

// Proposal is how the tiers are proposed.
type Proposal struct {
	Tiers  []Tier
	Base   string
	Branch string
	// Shut says why it must not be merged now; empty when it may be.
	Shut string
	// Page reports whether it is a pull request on a page that draws graphs, and Amends whether the
	// forge remembers what people change in it before merging.
	Page, Amends bool
	// Commit is the one of the control plane that it comes of; nil where that is not known.
	Commit *Commit
	// Retried is who asked to propose the plan again; nil where nobody did.
	Retried *release.Request
	// Confirmed is who confirmed what the deletion guard held of it, and AbandonedBy who abandoned its
	// cluster; nil where nobody did, or it is not known who.
	Confirmed, AbandonedBy *release.Request
	// Terminal reports whether it is shown in a terminal, and not as Markdown.
	Terminal bool
}

// Commit is a commit of the control-plane repository.
type Commit struct {
	ID      string `json:"id"`
	Subject string `json:"subject,omitempty"`
	Author  string `json:"author,omitempty"`
	// URL is its page; empty where there is none.
	URL string `json:"url,omitempty"`
}

const (
	// maxNames is how many names a line has.
	maxNames = 8
	// maxLines is how many lines a list has.
	maxLines = 100
	// maxContents is how many different contents a proposal of several tiers shows.
	maxContents = 10
	// maxText bounds, in bytes, what is said of changes; the rest is counted. Of several tiers it is
	// less, because the lines that name them follow.
	maxText, maxGroupText = 24_000, 8_000
	// maxListed is how many added, changed or removed objects are listed one by one; of more, those
	// that become the same are one.
	maxListed = 10
	// maxGraph is how many tiers a graph has.
	maxGraph = 12
)

// Describe says what a proposal does. What differs between several tiers becomes the more general
// of the two ("Update", or the name of the reconciler alone), and equal changes are shown once, with the tiers that have them: a
// group of a hundred clusters is mostly one text.
func (s *Seed) Describe(p Proposal) template.Proposal {
	d := &description{Seed: s, Proposal: p}
	first := p.Tiers[0]
	d.out = template.Proposal{
		Verb: first.Verb, Seed: s.plan.Seed, Cluster: first.Cluster, Tier: s.plan.Name(first.Tier).Number(), TierCount: len(s.plan.On(first.Cluster)),
		Removal: first.Gone(), SeedGone: s.plan.Removal, Abandoned: first.Abandoned, ReconciledBy: reconciler(first), Name: layout.ProposalName(p.Base, p.Branch),
		Shut: d.show(p.Shut), Amends: p.Amends, Page: p.Page, From: d.plain(s.plan.From), Revision: d.plain(s.plan.Revision), Branch: p.Branch, Rollout: s.rollout,
	}
	if c := p.Commit; c != nil {
		d.out.Commit = template.Commit{ID: c.ID[:min(len(c.ID), 10)], Subject: d.show(c.Subject), Author: d.show(c.Author), URL: c.URL}
	}
	d.out.Retried, d.out.Confirmed, d.out.AbandonedBy = d.asked(p.Retried), d.asked(p.Confirmed), d.asked(p.AbandonedBy)
	for _, t := range p.Tiers {
		d.out.Clusters = append(d.out.Clusters, t.Cluster)
	}
	d.out.Clusters = unique(slices.Sorted(slices.Values(d.out.Clusters)))
	if len(p.Tiers) > 1 {
		d.members()
	}
	for _, w := range s.waves {
		d.out.Rollout.Waves = append(d.out.Rollout.Waves, template.Wave{Progress: w.Progress(), State: string(w.State), Why: d.show(w.Message)})
	}
	for _, t := range p.Tiers {
		if t.Leaving != nil && t.Leaving.Why != "" && !t.Abandoned {
			d.out.WhyLeaves = append(d.out.WhyLeaves, d.plain(t.Leaving.Why))
		}
	}
	d.out.WhyLeaves = firstOf(unique(slices.Sorted(slices.Values(d.out.WhyLeaves))), maxNames)
	d.changes()
	d.reconcilers()
	d.order()
	d.graph()
	return d.out
}

func reconciler(t Tier) string { return t.Delivery().Words().Reconciler + " on " + t.Object.Cluster }

// asked shows who asked for something.
func (d *description) asked(r *release.Request) template.Request {
	if r == nil {
		return template.Request{}
	}
	return template.Request{By: d.show(r.By), At: r.When(), Why: d.show(r.Why)}
}

// description is one proposal being described.
type description struct {
	*Seed
	Proposal
	out template.Proposal
}

// show escapes text that people wrote.
func (d *description) show(text string) string {
	if d.Terminal {
		return manifest.Printable(text)
	}
	return template.Code(text)
}

// plain shows a name of a branch, a file or a revision.
func (d *description) plain(text string) string {
	if d.Terminal {
		return manifest.Printable(text)
	}
	return template.Ordinary(text)
}

// shown are several texts, cut.
func (d *description) shown(texts []string) []string {
	out := make([]string, 0, len(texts))
	for _, text := range texts {
		out = append(out, d.show(text))
	}
	return firstOf(out, maxLines)
}

// members lists the tiers of a proposal of several.
func (d *description) members() {
	var numbers []string
	for _, t := range d.Tiers {
		if t.Verb != d.out.Verb {
			d.out.Verb = Update
		}
		if reconciler(t) != d.out.ReconciledBy {
			d.out.ReconciledBy = t.Delivery().Words().Reconciler
		}
		d.out.Removal, d.out.Abandoned = d.out.Removal && t.Gone(), d.out.Abandoned && t.Abandoned
		number := d.plan.Name(t.Tier).Number()
		numbers = append(numbers, number)
		d.out.Members = append(d.out.Members, template.Member{Verb: t.Verb, Cluster: t.Cluster, Tier: number, ReconciledBy: reconciler(t), Abandoned: t.Abandoned, Summary: summary(t)})
	}
	d.out.Cluster, d.out.Tier, d.out.TierCount = inWords(d.out.Clusters, "clusters"), inWords(numbers, "numbers"), len(d.Tiers)
}

// summary counts what becomes of the objects of a tier.
func summary(t Tier) string {
	counts := change.Counts(t.Changes)
	var parts []string
	for _, kind := range []change.Kind{change.Added, change.Changed, change.Moved, change.Removed} {
		if n := counts[kind]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, kind))
		}
	}
	if t.Unchanged > 0 {
		parts = append(parts, fmt.Sprintf("%d unchanged", t.Unchanged))
	}
	return cmp.Or(strings.Join(parts, ", "), "no object changes")
}

// changes says what merging changes, and what leaves, differs and is overwritten.
func (d *description) changes() {
	left := maxText
	if len(d.Tiers) > 1 {
		left = maxGroupText
	}
	shown := map[string]int{}
	several := len(d.Tiers) > 1
	show := d.elsewhere
	if several {
		show = d.everywhere
	}
	for _, t := range d.Tiers {
		key := signature(t)
		at, had := shown[key]
		if !had {
			at = len(d.out.Changes)
			shown[key] = at
			d.out.Changes = append(d.out.Changes, template.Changes{Summary: summary(t)})
			if at < maxContents {
				d.out.Changes[at].Objects, d.out.Changes[at].More = d.objects(t, &left)
			}
		}
		d.out.Changes[at].Tiers = append(d.out.Changes[at].Tiers, t.String())
		on := ""
		if several {
			on = " on " + t.Cluster
		}
		for _, m := range d.plan.MovesOn(t.Tier) {
			d.out.Moves = append(d.out.Moves, d.show(m.String())+on)
		}
		for _, h := range d.plan.HandedOver(t.Tier) {
			d.out.Moves = append(d.out.Moves, d.show(h.String())+on)
		}
		if !t.Abandoned {
			for _, c := range t.Changes {
				d.warnOf(c, d.show(c.Name())+on)
			}
		}
		for _, o := range d.plan.Objects(t.Tier) {
			if o.Leaving {
				d.out.Leaving = append(d.out.Leaving, d.show(o.ID.String())+on)
			}
			if one, differs := d.differ[o.ID]; differs && !o.Leaving {
				d.out.Differs = append(d.out.Differs, show(one, o))
			}
		}
		d.out.Deletes, d.out.Replaces = append(d.out.Deletes, d.shown(t.Deletes)...), append(d.out.Replaces, d.shown(t.Replaces)...)
	}
	for i := range d.out.Changes {
		d.out.Changes[i].Tiers = firstOf(d.out.Changes[i].Tiers, maxNames)
	}
	d.out.Changes, d.out.MoreChanges = cutTo(d.out.Changes, maxContents)
	for _, list := range []*[]string{&d.out.Destroys, &d.out.Stays, &d.out.WillFail, &d.out.Recreates, &d.out.Moves, &d.out.Leaving, &d.out.Deletes, &d.out.Replaces, &d.out.Differs} {
		*list = firstOf(unique(*list), maxLines)
	}
}

// warnOf lists what people may not expect of a change. name is the name of the object.
func (d *description) warnOf(c change.Change, name string) {
	if c.Stays {
		d.out.Stays = append(d.out.Stays, name)
	}
	if c.Destroys != "" {
		d.out.Destroys = append(d.out.Destroys, name+", and "+c.Destroys)
	}
	switch line := name + ": " + d.refused(c); {
	case len(c.Refused) == 0:
	case c.Recreated:
		d.out.Recreates = append(d.out.Recreates, line)
	default:
		d.out.WillFail = append(d.out.WillFail, line)
	}
}

// refused lists the fields of a change that cannot change.
func (d *description) refused(c change.Change) string {
	var fields []string
	for _, field := range c.Refused {
		fields = append(fields, d.show(field))
	}
	return strings.Join(firstOf(fields, maxNames), ", ")
}

// maxReconcilers is how many lines say which reconciler objects come and go.
const maxReconcilers = 5

// reconcilers says which reconciler objects come and go, those with equal settings in one line.
func (d *description) reconcilers() {
	type line struct {
		first Tier
		count int
		is    string
	}
	var lines []line
	for _, t := range d.Tiers {
		is := string(t.Reconciler)
		for _, f := range t.Unusual {
			is += fmt.Sprintf(", %s %s", d.show(f.Path), d.show(f.Is))
		}
		i := slices.IndexFunc(lines, func(l line) bool { return l.is == is })
		switch {
		case t.Reconciler == "":
		case i < 0:
			lines = append(lines, line{t, 1, is})
		default:
			lines[i].count++
		}
	}
	for _, l := range lines {
		name := d.show(l.first.Delivery().Words().Object.Kind + "/" + l.first.Object.Namespace + "/" + l.first.Object.Name)
		if l.count > 1 {
			name += fmt.Sprintf(" and %d like it", l.count-1)
		}
		d.out.Reconcilers = append(d.out.Reconcilers, fmt.Sprintf("%s in %s: %s", name, d.plain(l.first.ReconcilerFile()), l.is))
	}
	d.out.Reconcilers = firstOf(d.out.Reconcilers, maxReconcilers)
}

// signature is equal of tiers whose changes are shown as one.
func signature(t Tier) string {
	var b strings.Builder
	fmt.Fprint(&b, t.Unchanged, t.Abandoned)
	for _, c := range t.Changes {
		for _, part := range []string{string(c.Kind), c.Where, c.Object.Group, c.Object.Kind, c.Object.Namespace, c.Object.Name, c.File} {
			b.WriteString("\n" + part)
		}
		fmt.Fprint(&b, "\n", c.More, c.Hidden, c.Unread)
		fmt.Fprint(&b, c.Refused, c.Recreated)
		for _, f := range c.Fields {
			b.WriteString("\n" + f.Path + "\n" + f.Was + "\n" + f.Is)
		}
	}
	return b.String()
}

// objects lists what becomes of a tier's objects, those that change alike as one where they are many.
// left is how much text may follow; what has no room is counted.
func (d *description) objects(t Tier, left *int) (out []template.Change, more int) {
	for _, same := range alike(t.Changes) {
		c := same[0]
		one := template.Change{What: string(c.Kind), Object: d.show(c.Name()), More: c.More, Count: len(same)}
		needs := size(c)
		if one.Count > 1 {
			names := d.names(same)
			one.Object, one.Note = d.show(cmp.Or(c.Object.Group, "core")+"/"+c.Object.Kind), strings.Join(names, ", ")
			needs += len(one.Note)
		}
		if len(out) == maxLines || needs > *left {
			more += len(same)
			continue
		}
		for _, f := range c.Fields {
			one.Fields = append(one.Fields, template.Field{Path: d.show(f.Path), Was: d.show(f.Was), Is: d.show(f.Is)})
		}
		why := ""
		switch {
		case c.Destroys != "" && !t.Abandoned:
			one.Destroys = c.Destroys
		case c.Hidden:
			why = "values are secret and not shown"
		case c.Unread:
			why = "fields are not compared here"
		}
		if c.Where != "" {
			one.Note = strings.TrimPrefix(one.Note+"; "+c.Where, "; ")
		}
		switch {
		case why == "":
		case one.Count > 1:
			one.Note += "; their " + why
		default:
			one.Note = "its " + why
		}
		*left -= needs
		out = append(out, one)
	}
	return out, more
}

// alike has together the objects of a kind that become the same, where many are added, changed or
// removed. What destroys data stays alone.
func alike(changes []change.Change) [][]change.Change {
	var out [][]change.Change
	counts, at := change.Counts(changes), map[string]int{}
	for _, c := range changes {
		key := ""
		if counts[c.Kind] > maxListed && c.Destroys == "" && c.Object != (manifest.ID{}) {
			of := c
			of.File, of.Object.Namespace, of.Object.Name = "", "", ""
			key = signature(Tier{Changes: []change.Change{of}})
		}
		if i, had := at[key]; had && key != "" {
			out[i] = append(out[i], c)
			continue
		}
		at[key] = len(out)
		out = append(out, []change.Change{c})
	}
	return out
}

// names shows those of objects of one kind: on a page, all that are changed or removed, up to a limit.
func (d *description) names(of []change.Change) []string {
	var out []string
	for _, c := range of {
		out = append(out, d.show(strings.TrimPrefix(c.Object.Namespace+"/"+c.Object.Name, "/")))
	}
	slices.Sort(out)
	if of[0].Kind == change.Added || d.Terminal { // furrow pr diff shows all
		return firstOf(out, maxNames)
	}
	return firstOf(out, maxLines)
}

// size is about how many bytes a change takes on the page; escaping adds little.
func size(c change.Change) int {
	n := len(c.Name()) + len(c.Destroys) + 80
	for _, f := range c.Fields {
		n += len(f.Path) + len(f.Was) + len(f.Is) + 16
	}
	return n
}

// elsewhere shows the clusters that have another content than a tier.
func (d *description) elsewhere(one plan.Differing, o plan.Object) string {
	on, more := one.Elsewhere(o.Hash, maxNames)
	if more > 0 {
		on = append(on, fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("%s has another content on %s", d.show(one.Object.String()), strings.Join(on, ", "))
}

// everywhere shows which clusters have the same content, in a proposal for several of them.
func (d *description) everywhere(one plan.Differing, _ plan.Object) string {
	var on []string
	for _, c := range one.Contents {
		on = append(on, strings.Join(firstOf(c.Clusters, maxNames), ", "))
	}
	return fmt.Sprintf("%s has one content on %s", d.show(one.Object.String()), strings.Join(firstOf(on, maxNames), "; another one on "))
}

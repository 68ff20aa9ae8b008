package pass

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/core/template"
	"github.com/furrow-dev/furrow/templates"
)

// proposalTemplate is the name of the Template document that replaces the built-in one.
const proposalTemplate = "proposal"

// propose adds to an action what opens or updates the proposal of tiers, which must not be
// merged yet for a reason, if there is one.
func (d *decider) propose(s *Seed, tiers []layout.Tier, gate string, act Action) (Action, error) {
	r := d.facts.Repos[act.Repo]
	act.Verb, act.Tiers, act.Entries, act.Why, act.Revision = Propose, nil, nil, gate, s.Plan.Revision
	want := map[string]layout.Hash{}
	all := make([]*plan.Tier, len(tiers))
	for i, name := range tiers {
		t, _ := s.Plan.Find(name.Cluster, name.Ordinal)
		all[i] = t
		act.Tiers = append(act.Tiers, layout.Member{Tier: name, Digest: t.Digest()})
		act.Entries = append(act.Entries, t.Entries...)
		maps.Copy(want, t.Want())
	}
	act.Digest = plan.EntriesDigest(want)
	vars := d.describe(s, r, all[0])
	if len(all) > 1 {
		vars = d.describeAll(s, r, all)
	}
	vars.Shut, vars.HowToReject, vars.Branch = template.Code(gate), howToReject(r, act), act.Branch
	text := template.Text{Name: "proposal.md.tmpl", Text: templates.Proposal}
	if doc, ok := d.catalog().Templates[proposalTemplate]; ok && doc.Spec.Type == v1alpha1.TemplateProposal {
		name := "Template/" + proposalTemplate
		text = template.Text{Name: name, Source: d.catalog().Positions[name].String(), Text: doc.Spec.Text, Total: &d.rendered}
	}
	text.Parsed = &d.parsed
	var err error
	act.Title, act.Body, err = template.RenderProposal(text, vars)
	return act, err
}

// describe says what a proposal does to a tier. All text that people wrote goes through
// template.Code or Ordinary, which escape it: nothing in a seed may become markup, a mention or a
// link in a pull request.
func (d *decider) describe(s *Seed, r *Repo, t *plan.Tier) template.Proposal {
	name := s.Plan.Name(t)
	facts := s.Tiers[name]
	planted := !r.Entries[r.Head][t.ReconcilerFile()].IsZero()
	vars := template.Proposal{
		Verb: verb(t, facts, planted), Seed: s.Name, Cluster: t.Cluster, Tier: name.Number(), TierCount: len(s.Plan.On(t.Cluster)),
		Removal: t.Gone(), Abandoned: t.Orphan != nil && d.abandoned[t.Cluster], ReconciledBy: "Flux on " + t.Object.Cluster, Objects: byKind(s.Plan.Objects(t)), Next: d.waitingFor(s.Plan, t),
		Amends: r.Amends, From: template.Ordinary(s.Plan.From), Revision: template.Ordinary(s.Plan.Revision),
	}
	for _, pre := range t.Prerequisites {
		vars.Prerequisites = append(vars.Prerequisites, template.Prerequisite{Tier: pre.String(), Why: template.Code(pre.Why)})
	}
	vars.Differs = d.differs(s.Plan, t, elsewhere)
	for _, o := range s.Plan.Objects(t) {
		if o.Leaving {
			vars.Leaving = append(vars.Leaving, template.Code(o.ID.String()))
		}
	}
	if t.Leaving != nil {
		vars.Drops = true
		for _, o := range t.Leaving.Objects {
			vars.Leaving = append(vars.Leaving, template.Code(o.ID.String()))
		}
	}
	var overwrites Overwrites
	overwrites.add(s.Plan, t, facts.Foreign)
	vars.Deletes, vars.Replaces = codeList(overwrites.Deletes), codeList(overwrites.Replaces)
	return vars
}

// describeAll says what a proposal of several tiers does, and shows equal contents once, with the
// tiers that have them: a group of a hundred clusters is mostly one text. What differs between the
// tiers becomes the more general of the two ("Update", "Flux"); lists are joined and cut, with how
// many are left out.
func (d *decider) describeAll(s *Seed, r *Repo, tiers []*plan.Tier) template.Proposal {
	var all template.Proposal
	var clusters, numbers []string
	contents := map[string]int{}
	for i, t := range tiers {
		one := d.describe(s, r, t)
		if i == 0 {
			all = one
			all.Objects, all.Prerequisites, all.Next, all.Differs, all.Leaving, all.Deletes, all.Replaces = nil, nil, nil, nil, nil, nil, nil
		}
		if one.Verb != all.Verb {
			all.Verb = "Update"
		}
		all.Removal, all.Abandoned, all.Drops = all.Removal && one.Removal, all.Abandoned && one.Abandoned, all.Drops || one.Drops
		if one.ReconciledBy != all.ReconciledBy {
			all.ReconciledBy = "Flux"
		}
		clusters, numbers = append(clusters, t.Cluster), append(numbers, one.Tier)
		all.Members = append(all.Members, template.Member{Verb: one.Verb, Cluster: t.Cluster, Tier: one.Tier, ReconciledBy: one.ReconciledBy, Abandoned: one.Abandoned})
		for _, leaving := range one.Leaving {
			if !one.Abandoned { // else it stays, as the line of the tier says
				all.Leaving = append(all.Leaving, leaving+" on "+t.Cluster)
			}
		}
		all.Prerequisites, all.Next = append(all.Prerequisites, one.Prerequisites...), append(all.Next, one.Next...)
		all.Deletes, all.Replaces, all.Differs = append(all.Deletes, one.Deletes...), append(all.Replaces, one.Replaces...), append(all.Differs, d.differs(s.Plan, t, everywhere)...)
		if t.Contents == "" {
			continue
		}
		at, shown := contents[t.Contents]
		if !shown {
			at = len(all.Contents)
			contents[t.Contents] = at
			all.Contents = append(all.Contents, template.Content{Objects: one.Objects})
		}
		all.Contents[at].Tiers = append(all.Contents[at].Tiers, t.String())
	}
	for i := range all.Contents {
		all.Contents[i].Tiers = firstOf(all.Contents[i].Tiers, maxNames)
	}
	all.Cluster, all.Tier = inWords(clusters, "clusters"), inWords(numbers, "numbers")
	all.TierCount = len(tiers)
	all.Contents, all.MoreContents = cutTo(all.Contents, maxContents)
	all.Prerequisites, all.MorePrerequisites = cutTo(unique(all.Prerequisites), maxFiles)
	all.Next, all.Leaving = firstOf(unique(all.Next), maxNames), firstOf(all.Leaving, maxFiles)
	all.Deletes, all.Replaces, all.Differs = firstOf(all.Deletes, maxFiles), firstOf(all.Replaces, maxFiles), firstOf(unique(all.Differs), maxFiles)
	return all
}

// maxContents is how many different contents a proposal of several tiers shows.
const maxContents = 10

// cutTo returns the beginning of a list, and how many more there are.
func cutTo[T any](list []T, most int) ([]T, int) {
	shown := list[:min(len(list), most)]
	return shown, len(list) - len(shown)
}

// firstOf shows the first of a list, and how many more there are.
func firstOf(list []string, most int) []string {
	if more := len(list) - most; more > 0 {
		return append(slices.Clone(list[:most]), fmt.Sprintf("and %d more", more))
	}
	return list
}

// unique leaves out what came before.
func unique[T comparable](list []T) []T {
	seen := map[T]bool{}
	return slices.DeleteFunc(list, func(one T) bool {
		had := seen[one]
		seen[one] = true
		return had
	})
}

// inWords names a few, or says how many there are.
func inWords(names []string, noun string) string {
	names = unique(slices.Sorted(slices.Values(names)))
	if len(names) > 3 {
		return fmt.Sprintf("%d %s", len(names), noun)
	}
	return strings.Join(names, ", ")
}

// howToReject returns the line of a proposal that says how to reject it on its forge.
func howToReject(r *Repo, act Action) string {
	if r.Amends {
		return fmt.Sprintf("Close this pull request; it is not opened again until the plan changes or somebody runs `furrow retry %s`.", act.Seed)
	}
	return fmt.Sprintf("Run `furrow pr reject %s`; a branch that is merely deleted is proposed again.", layout.ProposalName(r.Base, act.Branch))
}

// verb returns what the proposal of a tier does; planted means that base has a reconciler object of
// it, and so more than files of others.
func verb(t *plan.Tier, f release.TierFacts, planted bool) string {
	switch {
	case t.Gone():
		return "Remove"
	case t.Orphans():
		return "Orphan"
	case f.Base == release.BaseNothing, !planted && len(f.Foreign) > 0:
		return "Plant"
	}
	return "Update"
}

// Overwrites are files on the base branch that others put there, and that proposals delete
// or replace with what the seed says.
type Overwrites struct{ Deletes, Replaces []string }

// None reports whether no file is overwritten.
func (o Overwrites) None() bool { return len(o.Deletes)+len(o.Replaces) == 0 }

// add parts the files of others at a tier's paths into those that the tier's proposal
// deletes and those that it replaces.
func (o *Overwrites) add(pl *plan.Plan, t *plan.Tier, foreign []string) {
	lands := map[string]bool{}
	if !t.Gone() {
		lands[t.ReconcilerFile()] = true
		for _, object := range pl.Objects(t) {
			lands[t.FilePath(object)] = true
		}
	}
	for _, at := range foreign {
		if lands[at] {
			o.Replaces = append(o.Replaces, at)
		} else {
			o.Deletes = append(o.Deletes, at)
		}
	}
}

// Overwritten returns the files that the proposals of a seed's plan overwrite once a person asks to
// retry it.
func (m *Memo) Overwritten(f *Facts, seed string) (Overwrites, []Question, error) {
	var out Overwrites
	d := newDecider(f, m)
	p := d.previous[seed]
	tiers, err := d.tierFacts(p.Plan, p)
	if err != nil || tiers == nil {
		return out, d.questions(), err
	}
	for i := range p.Plan.Tiers {
		t := &p.Plan.Tiers[i]
		have := tiers[p.Plan.Name(t)]
		if have.Base == release.BaseAmended { // it counts as planted, until it is retried
			d.missing = false
			have.Foreign = d.foreignFiles(t, p)
		}
		out.add(p.Plan, t, have.Foreign)
	}
	return out, d.questions(), nil
}

// maxFiles is how many files of others a proposal names.
const maxFiles = 100

// codeList shows paths in a proposal, as Markdown.
func codeList(paths []string) []string {
	out := make([]string, 0, len(paths))
	for _, at := range paths {
		out = append(out, template.Code(at))
	}
	return firstOf(out, maxFiles)
}

// maxNames is how many objects of a kind a proposal names.
const maxNames = 8

// byKind counts the objects of a tier by kind.
func byKind(objects []plan.Object) []template.ObjectsOfKind {
	names := map[string][]string{}
	for _, o := range objects {
		kind := o.ID.GroupKind().String()
		name := o.ID.Name
		if o.ID.Namespace != "" {
			name = o.ID.Namespace + "/" + name
		}
		names[kind] = append(names[kind], template.Code(name))
	}
	out := make([]template.ObjectsOfKind, 0, len(names))
	for kind, list := range names {
		slices.Sort(list)
		out = append(out, template.ObjectsOfKind{Kind: kind, Count: len(list), Names: strings.Join(firstOf(list, maxNames), ", ")})
	}
	slices.SortFunc(out, func(a, b template.ObjectsOfKind) int { return cmp.Compare(a.Kind, b.Kind) })
	return out
}

// differs shows the objects of a tier that clusters have with different contents.
func (d *decider) differs(pl *plan.Plan, t *plan.Tier, show func(plan.Differing, layout.Hash) string) []string {
	differ, known := d.differ[pl]
	if !known {
		differ = map[manifest.ID]plan.Differing{}
		for _, one := range pl.Differ() {
			differ[one.Object] = one
		}
		d.differ[pl] = differ
	}
	var out []string
	for _, o := range pl.Objects(t) {
		if one, differs := differ[o.ID]; differs && !o.Leaving {
			out = append(out, show(one, o.Hash))
		}
	}
	return firstOf(out, maxFiles)
}

// elsewhere shows the clusters that have another content than a tier.
func elsewhere(d plan.Differing, hash layout.Hash) string {
	return fmt.Sprintf("%s has another content on %s", template.Code(d.Object.String()), strings.Join(firstOf(d.Elsewhere(hash), maxNames), ", "))
}

// everywhere shows which clusters have the same content, in a proposal for several of them.
func everywhere(d plan.Differing, _ layout.Hash) string {
	var on []string
	for _, c := range d.Contents {
		on = append(on, strings.Join(firstOf(c.Clusters, maxNames), ", "))
	}
	return fmt.Sprintf("%s has one content on %s", template.Code(d.Object.String()), strings.Join(firstOf(on, maxNames), "; another one on "))
}

// waitingFor names the tiers that wait for one.
func (d *decider) waitingFor(pl *plan.Plan, t *plan.Tier) []string {
	if d.waiting[pl] == nil {
		d.waiting[pl] = pl.Waiting()
	}
	tiers := d.waiting[pl][pl.Name(t)]
	var out []string
	for i, r := range tiers {
		if i == maxNames {
			return append(out, fmt.Sprintf("and %d more tiers", len(tiers)-i))
		}
		out = append(out, fmt.Sprintf("%s: %s", r, template.Code(r.Why)))
	}
	return out
}

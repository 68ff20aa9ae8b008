package pass

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/core/template"
	"github.com/furrow-dev/furrow/templates"
)

// proposalTemplate is the name of the Template document that takes the place of the built-in one.
const proposalTemplate = "proposal"

// proposal adds to an action what opens or updates the proposal of a tier.
func (d *decider) proposal(s *Seed, t *plan.Tier, status release.TierStatus, act Action) (Action, error) {
	r := d.facts.Repos[t.Repo]
	facts := s.Tiers[status.Tier]
	planted := r.Entries[r.Head][t.ReconcilerFile()] != ""
	vars := template.Proposal{
		Verb: verb(t, facts, planted), Shut: template.Code(status.Gate), Seed: s.Name, Cluster: t.Cluster, Tier: status.Tier.Number(), TierCount: len(s.Plan.On(t.Cluster)),
		Removal: t.Gone(), Abandoned: t.Orphan != nil && d.abandoned[t.Cluster], ReconciledBy: "Flux on " + t.Object.Cluster, Objects: byKind(s.Plan.Objects(t)), Next: d.waitingFor(s.Plan, t),
		HowToReject: howToReject(r, status), Amends: r.Amends, From: template.Ordinary(s.Plan.From), Revision: template.Ordinary(s.Plan.Revision), Branch: act.Branch,
	}
	for _, pre := range t.Prerequisites {
		vars.Prerequisites = append(vars.Prerequisites, template.Prerequisite{Tier: prerequisiteName(pre), Why: template.Code(pre.Why)})
	}
	vars.Differs = d.differs(s.Plan, t)
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
	text := template.Text{Name: "proposal.md.tmpl", Text: templates.Proposal}
	if doc, ok := d.catalog().Templates[proposalTemplate]; ok && doc.Spec.Type == v1alpha1.TemplateProposal {
		name := "Template/" + proposalTemplate
		text = template.Text{Name: name, Source: d.catalog().Places[name].String(), Text: doc.Spec.Text, Total: &d.rendered}
	}
	var err error
	act.Verb, act.Tier, act.Entries, act.Wants, act.Why, act.Revision = Propose, &status.Tier, t.Entries, t.Wants(), status.Gate, s.Plan.Revision
	act.Title, act.Body, err = template.RenderProposal(text, vars)
	return act, err
}

func howToReject(r *Repo, status release.TierStatus) string {
	if r.Amends {
		return fmt.Sprintf("Close this pull request; it is not opened again until the plan changes or somebody runs `furrow retry %s`.", status.Tier.Seed)
	}
	return fmt.Sprintf("Run `furrow pr reject %s/%s/%s`; a branch that is merely deleted is proposed again.", status.Tier.Seed, status.Tier.Cluster, status.Tier.Number())
}

// verb says what the proposal of a tier does; planted says that base has a reconciler
// object of it, and so more than files of others.
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

// None says that no file is overwritten.
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

// Overwritten are the files that the proposals of a seed's plan overwrite once a person asks to retry it.
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
	var out []string
	for i, at := range paths {
		if i == maxFiles {
			return append(out, fmt.Sprintf("and %d more", len(paths)-i))
		}
		out = append(out, template.Code(at))
	}
	return out
}

func prerequisiteName(p plan.Prerequisite) string {
	name := fmt.Sprintf("%s tier %02d", p.Cluster, p.Ordinal)
	if p.Seed != "" {
		name = "seed " + p.Seed + " on " + name
	}
	return name
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
		shown := list
		if len(shown) > maxNames {
			shown = append(slices.Clone(list[:maxNames]), fmt.Sprintf("and %d more", len(list)-maxNames))
		}
		out = append(out, template.ObjectsOfKind{Kind: kind, Count: len(list), Names: strings.Join(shown, ", ")})
	}
	slices.SortFunc(out, func(a, b template.ObjectsOfKind) int { return cmp.Compare(a.Kind, b.Kind) })
	return out
}

// differs names the objects of a tier that other clusters have with another content.
func (d *decider) differs(pl *plan.Plan, t *plan.Tier) []string {
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
		elsewhere := differ[o.ID].Elsewhere(o.Hash)
		if len(elsewhere) == 0 || o.Leaving {
			continue
		}
		if more := len(elsewhere) - maxNames; more > 0 {
			elsewhere = append(elsewhere[:maxNames:maxNames], fmt.Sprintf("%d more", more))
		}
		if len(out) == maxFiles {
			return append(out, "more objects differ")
		}
		out = append(out, fmt.Sprintf("%s has another content on %s", template.Code(o.ID.String()), strings.Join(elsewhere, ", ")))
	}
	return out
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

package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/core/template"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/templates"
)

// proposalTemplate is the name of the Template document that takes the place of the built-in one.
const proposalTemplate = "proposal"

// request renders what the proposal of a tier says.
func (p *pass) request(out *push, t *plan.Tier, s release.TierStatus, branch string) (forge.Request, error) {
	pl := out.seed.plan
	request := forge.Request{Tier: s.Tier, Branch: branch, Wants: t.Wants(), Shut: s.Gate}
	facts := out.seed.facts.Tiers[s.Tier]
	have, err := out.repo.at(out.repo.head, t.ReconcilerFile())
	if err != nil {
		return request, err
	}
	if out.waiting == nil {
		out.waiting = pl.Waiting()
	}
	vars := template.Proposal{
		Verb: verb(t, facts, have[t.ReconcilerFile()] != ""), Shut: template.Code(s.Gate), Seed: pl.Seed, Cluster: t.Cluster, Tier: s.Tier.Number(), TierCount: len(pl.On(t.Cluster)),
		Removal: t.Gone(), Abandoned: t.Orphan != nil && p.abandoned[t.Cluster], ReconciledBy: "Flux on " + t.Object.Cluster, Objects: byKind(pl.Objects(t)), Next: waiting(out.waiting[s.Tier]),
		HowToReject: out.repo.Forge.HowToReject(request), Amends: out.repo.Forge.Amends(), From: template.Ordinary(pl.From), Revision: template.Ordinary(pl.Revision), Branch: branch,
	}
	for _, pre := range t.Prerequisites {
		vars.Prerequisites = append(vars.Prerequisites, template.Prerequisite{Tier: prerequisiteName(pre), Why: template.Code(pre.Why)})
	}
	for _, o := range pl.Objects(t) {
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
	overwrites.add(pl, t, facts.Foreign)
	vars.Deletes, vars.Replaces = codeList(overwrites.Deletes), codeList(overwrites.Replaces)
	text := template.Text{Name: "proposal.md.tmpl", Text: templates.Proposal}
	if doc, ok := p.catalog.Templates[proposalTemplate]; ok && doc.Spec.Type == v1alpha1.TemplateProposal {
		name := "Template/" + proposalTemplate
		text = template.Text{Name: name, Source: p.catalog.Places[name].String(), Text: doc.Spec.Text, Total: &p.rendered}
	}
	request.Title, request.Body, err = template.RenderProposal(text, vars)
	return request, err
}

// commitMessage is the proposal's text with Furrow's trailers.
func (p *pass) commitMessage(out *push, r forge.Request) string {
	return forge.AddTrailers(r.Title+"\n\n"+r.Body, []forge.Trailer{
		{Key: forge.TrailerSeed, Value: out.seed.plan.Seed},
		revisionTrailer(out.seed.plan.Revision),
		{Key: forge.TrailerTier, Value: r.Tier.String()},
		{Key: forge.TrailerPlan, Value: out.planCommit.String()},
		{Key: forge.TrailerWants, Value: r.Wants},
	})
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

// revisionTrailer is for people; nothing reads it.
func revisionTrailer(revision string) forge.Trailer {
	return forge.Trailer{Key: forge.TrailerRevision, Value: template.Ordinary(revision)}
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

// waiting names the tiers that wait for one.
func waiting(tiers []plan.Reference) []string {
	var out []string
	for i, r := range tiers {
		if i == maxNames {
			return append(out, fmt.Sprintf("and %d more tiers", len(tiers)-i))
		}
		out = append(out, fmt.Sprintf("%s: %s", r, template.Code(r.Why)))
	}
	return out
}

// tierName is a tier's name within its seed, for people.
func tierName(of string, t layout.Tier) string {
	name := fmt.Sprintf("%s tier %s", t.Cluster, t.Number())
	if t.Seed != of {
		name = t.Seed + " on " + name
	}
	return name
}

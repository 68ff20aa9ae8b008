package pass

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/change"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/core/review"
	"github.com/furrow-dev/furrow/internal/core/template"
	"github.com/furrow-dev/furrow/templates"
)

// proposalTemplate is the name of the Template document that replaces the built-in one.
const proposalTemplate = "proposal"

// propose adds to an action what opens or updates the proposal of tiers, which must not be
// merged yet for a reason, if there is one. While something about base is not known, the action is
// without a text, and questions are open.
func (d *decider) propose(s *Seed, tiers []layout.Tier, gate string, act Action) (Action, error) {
	r := d.facts.Repos[act.Repo]
	act.Verb, act.Tiers, act.Entries, act.Why, act.Revision = Propose, nil, nil, gate, s.Plan.Revision
	want := map[string]layout.Hash{}
	p := review.Proposal{Base: r.Base, Branch: act.Branch, Shut: gate, Page: r.Amends, Amends: r.Amends}
	d.missing = false
	planned := make([]*plan.Tier, 0, len(tiers))
	for _, name := range tiers {
		t, _ := s.Plan.Find(name.Cluster, name.Ordinal)
		planned = append(planned, t)
		act.Tiers = append(act.Tiers, layout.Member{Tier: name, Digest: t.Digest()})
		act.Entries = append(act.Entries, t.Entries...)
		maps.Copy(want, t.Want())
		p.Tiers = append(p.Tiers, d.reviewed(s, r, t))
		if t.Gone() || t.Leaving != nil {
			p.Confirmed = d.facts.ConfirmedBy(s)
		}
		if last := len(p.Tiers) - 1; p.Tiers[last].Abandoned {
			p.AbandonedBy = d.facts.AbandonedBy(t.Cluster)
		}
		if by := s.record.Retrying(s.Plan); by != nil && d.proposedBefore(s, t, act.Branch) {
			p.Retried = by
		}
	}
	act.Digest = plan.EntriesDigest(want)
	p.Commit = d.commit(s.Plan.Revision, review.CausesOf(d.catalog(), s.Plan, planned), r.Amends)
	if d.missing {
		return act, nil
	}
	vars := d.review(s).Describe(p)
	vars.HowToReject = howToReject(r, act)
	spec := d.catalog().Repos[act.Repo].Spec.Proposals
	var err error
	if act.Title, act.Body, err = template.RenderProposal(d.proposalText(), vars); err != nil {
		return act, err
	}
	act.Message = review.Message(vars)
	act.Labels, err = template.RenderLabels(d.labelsText(act.Repo, spec), vars)
	if act.Destroys = len(vars.Destroys) > 0; act.Destroys { // also where a template of the control plane leaves it out
		act.Title += template.DestroysMark
	}
	return act, err
}

// proposedBefore reports whether a tier would not be proposed unless a person had asked for it: it was
// rejected or reverted, or others have put something else at its paths.
func (d *decider) proposedBefore(s *Seed, t *plan.Tier, branch string) bool {
	name := s.Plan.Name(t)
	closed := d.closed(t.Repo, name, t.Digest(), t.Paths()).Outcome
	return closed == release.ClosedRejected || closed == release.ClosedMerged || s.Tiers[name].BaseDetail != "" || d.repo(t.Repo).Proposals[branch].Rejected
}

// proposalText returns the template of title and body.
func (d *decider) proposalText() template.Text {
	text := template.Text{Name: "proposal.md.tmpl", Text: templates.Proposal}
	if doc, ok := d.catalog().Templates[proposalTemplate]; ok && doc.Spec.Type == v1alpha1.TemplateProposal {
		name := "Template/" + proposalTemplate
		text = template.Text{Name: name, Source: d.catalog().Positions[name].String(), Text: doc.Spec.Text, Total: &d.rendered}
	}
	text.Parsed = &d.parsed
	return text
}

// labelsText returns the template of labels in a repository.
func (d *decider) labelsText(repo string, spec v1alpha1.ProposalsSpec) template.Text {
	text := template.Text{Name: "labels.txt.tmpl", Text: templates.Labels}
	if spec.Labels != nil {
		name := "GitOpsRepo/" + repo
		text = template.Text{Name: name, Source: d.catalog().Positions[name].String(), Text: strings.Join(spec.Labels, "\n"), Total: &d.rendered}
	}
	text.Parsed = &d.labels
	return text
}

// review returns what the proposals of a seed have in common.
func (d *decider) review(s *Seed) *review.Seed {
	known, ok := d.reviews[s.Plan]
	if !ok {
		states := make(map[layout.Tier]release.State, len(s.Result.Tiers))
		for _, t := range s.Result.Tiers {
			states[t.Tier] = t.State
		}
		var waves []release.WaveStatus
		if s.Result.Rollout != nil {
			waves = s.Result.Rollout.Waves
		}
		known = review.NewSeed(s.Plan, states, waves)
		d.reviews[s.Plan] = known
	}
	return known
}

// reviewed says what becomes of a tier.
func (d *decider) reviewed(s *Seed, r *Repo, t *plan.Tier) review.Tier {
	facts := s.Tiers[s.Plan.Name(t)]
	planted := !r.Entries[r.Head][t.ReconcilerFile()].IsZero()
	out := review.Tier{
		Tier: t, Verb: verb(t, facts, planted), Abandoned: t.Orphan != nil && d.abandoned[t.Cluster],
		Leaves: t.Orphans() || t.Leaving != nil && facts.Base != release.BaseNothing,
	}
	var overwrites Overwrites
	overwrites.add(s.Plan, t, facts.Foreign)
	out.Deletes, out.Replaces = overwrites.Deletes, overwrites.Replaces
	out.Changes, out.Unchanged = d.changes(s, r, t, overwrites.Deletes)
	switch {
	case planted && t.ReconcilerHash().IsZero():
		out.Reconciler = change.Removed
	case !planted && !t.ReconcilerHash().IsZero():
		out.Reconciler = change.Added
		if cl, known := d.catalog().Inventory.Clusters[t.Cluster]; known && cl.ReconcilerTemplate == "" {
			break // the plan was verified, so it is what the built-in template makes
		}
		if data := d.content(s, t, reconcilerName, t.ReconcilerHash()); data != nil {
			out.Unusual = t.Delivery().Unusual(t.ReconcilerFile(), t.Dir(), data)
		}
	}
	return out
}

// howToReject returns the line of a proposal that says how to reject it on its forge.
func howToReject(r *Repo, act Action) string {
	if r.Amends {
		return "Close this pull request."
	}
	return fmt.Sprintf("Run `furrow pr reject %s`; a branch that is merely deleted is proposed again.", layout.ProposalName(r.Base, act.Branch))
}

// verb returns what the proposal of a tier does; planted means that base has a reconciler object of
// it, and so more than files of others.
func verb(t *plan.Tier, f release.TierFacts, planted bool) string {
	switch {
	case t.Gone():
		return review.Remove
	case t.Orphans():
		return review.Orphan
	case f.Base == release.BaseNothing, !planted && len(f.Foreign) > 0:
		return review.Plant
	}
	return review.Update
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
// retry it, or only some of its tiers.
func (m *Memo) Overwritten(f *Facts, seed string, only ...layout.Tier) (Overwrites, []Question, error) {
	var out Overwrites
	d := newDecider(f, m)
	p := d.previous[seed]
	tiers, err := d.tierFacts(p.Plan, p)
	if err != nil || tiers == nil {
		return out, d.questions(), err
	}
	for i := range p.Plan.Tiers {
		t := &p.Plan.Tiers[i]
		if len(only) > 0 && !slices.Contains(only, p.Plan.Name(t)) {
			continue
		}
		have := tiers[p.Plan.Name(t)]
		if have.Base == release.BaseAmended { // it counts as planted, until it is retried
			d.missing = false
			have.Foreign = d.foreignFiles(t, p)
		}
		out.add(p.Plan, t, have.Foreign)
	}
	return out, d.questions(), nil
}

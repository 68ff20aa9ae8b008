package pass

import (
	"fmt"
	"maps"
	"slices"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/core/template"
)

// Verb says what an action does.
type Verb string

// What can be done. Actions on the forge that take something back come before the push of
// a repository's branches, proposals after it.
const (
	// Gate shows on an open proposal why it must not be merged, or that it may be.
	Gate Verb = "Gate"
	// Supersede closes an open proposal that Furrow withdraws.
	Supersede Verb = "Supersede"
	// PushPlan commits a plan to its branch.
	PushPlan Verb = "PushPlan"
	// Propose grafts the entries of tiers onto base, pushes that and opens the proposal, or updates
	// it.
	Propose Verb = "Propose"
	// MoveToPlan moves a marker to the commit that the seed's plan has after this pass.
	MoveToPlan Verb = "MoveToPlan"
	// Merge merges an open proposal whose checks have passed. It comes before all else but its gate.
	Merge Verb = "Merge"
	// RecordRollout commits the record of a seed's rollout to its branch.
	RecordRollout Verb = "RecordRollout"
	// Drop deletes a branch.
	Drop Verb = "Drop"
)

// Action is one thing to do in one GitOps repository. It has all that is needed to do it, and where
// the branch must be: if somebody has moved the branch since it was observed, the action fails and
// nothing is lost.
type Action struct {
	Verb Verb   `json:"verb"`
	Repo string `json:"repo"`
	// Seed is what it is about; empty for what belongs to no seed.
	Seed   string `json:"seed,omitempty"`
	Branch string `json:"branch"`
	// Old is where the branch is: it moves from there or not at all.
	Old layout.Hash `json:"old,omitzero"`
	// Why is what people read of Gate (empty: it may be merged) and Supersede.
	Why string `json:"why,omitempty"`

	// Plan and Files are those of PushPlan.
	Plan  *plan.Plan `json:"plan,omitempty"`
	Files plan.Files `json:"files,omitempty"`

	// Rollout is that of RecordRollout.
	Rollout *release.Record `json:"rollout,omitempty"`

	// Tiers are those of the proposal that it is about. Entries, Digest (of Entries), Title, Body
	// and what follows are those of Propose. Message is what the commit says below the title.
	Tiers   []layout.Member `json:"tiers,omitempty"`
	Entries []plan.Entry    `json:"entries,omitempty"`
	Digest  string          `json:"digest,omitempty"`
	Title   string          `json:"title,omitempty"`
	Body    string          `json:"body,omitempty"`
	Message string          `json:"message,omitempty"`
	// Destroys reports whether merging it destroys data.
	Destroys bool `json:"destroys,omitempty"`
	// Labels are for a forge that has them.
	Labels []string `json:"labels,omitempty"`
	// Revision is that of the control plane that the plan was made from.
	Revision string `json:"revision,omitempty"`
}

// act lists the actions, by seed and repository, in the order in which they must be done. It is called
// once all states are known. Of what base has it asks for no more than the texts of the proposals that
// it opens need, so nothing where it opens none.
func (d *decider) act() {
	d.compared, d.rendered = map[[2]layout.Hash]bool{}, template.Total{}
	var out []Action
	for _, name := range slices.Sorted(maps.Keys(d.seeds)) {
		s := d.seeds[name]
		switch {
		case s.Plan == nil:
		case s.gone && s.Result.Done:
			out = append(out, d.forget(s)...)
		default:
			for _, repo := range s.Plan.Repos() {
				out = append(out, d.actionsIn(s, repo)...)
			}
			out = append(out, d.leaveRepos(s)...)
			out = append(out, d.recordRollout(s)...)
		}
	}
	out = append(out, d.shutRest()...)
	out = append(out, d.dropAbandoned()...)
	if d.facts.ControlPlane.Scope != nil { // people use custom resources
		for i := range out {
			out[i].Why, out[i].Body = manifest.PluginCommands(out[i].Why), manifest.PluginCommands(out[i].Body)
		}
	}
	d.done = out
}

// actionsIn lists the actions for a seed in one repository: its plan first, so no tier
// is proposed whose plan is not on its branch.
func (d *decider) actionsIn(s *Seed, repo string) []Action {
	r := d.repo(repo)
	if r == nil {
		return nil
	}
	var out []Action
	pushes := s.pushesPlan(repo)
	if pushes {
		out = append(out, Action{Verb: PushPlan, Repo: repo, Seed: s.Name, Branch: layout.PlanBranch(r.Base, s.Name), Old: s.previous.commit(repo), Plan: s.planWithOrphans, Files: s.files[repo]})
	}
	for i, status := range s.Result.Tiers {
		if t := &s.Plan.Tiers[i]; t.Repo == repo {
			out = append(out, d.actionsOn(s, t, status)...)
		}
	}
	out = append(out, d.actionsOnGroups(s, repo)...)
	return append(out, d.markers(s, repo, !pushes)...)
}

// pushesPlan reports whether a repository lacks the plan.
func (s *Seed) pushesPlan(repo string) bool {
	return s.files != nil && (s.previous.generation(repo) != s.planWithOrphans.Generation)
}

// actionsOn does what the state of a tier asks for, as far as it is proposed alone. A proposal of a
// tier that now goes with others is closed first: two open proposals of one tier could be merged
// one after the other.
func (d *decider) actionsOn(s *Seed, t *plan.Tier, status release.TierStatus) []Action {
	r := d.facts.Repos[t.Repo]
	branch := layout.TierBranch(r.Base, status.Tier)
	at := r.Refs[branch]
	proposal, open := d.verified(s.Plan, s.previous, t.Repo, branch)
	act := Action{Repo: t.Repo, Seed: s.Name, Branch: branch, Old: at}
	var out []Action
	do := func(verb Verb, why string) {
		a := act
		a.Verb, a.Why, a.Tiers = verb, why, []layout.Member{{Tier: status.Tier, Digest: t.Digest()}}
		out = append(out, a)
	}
	if open && !proposal.Edited && (status.Group != "" || status.Moves && s.Plan.GroupBy != "") {
		do(Supersede, "it is proposed together with other tiers")
		do(Drop, "")
		return out
	}
	if status.Group != "" {
		return nil
	}
	// What is updated gets the gate that it needs with its new commit, unless the old one
	// must not be merged whatever becomes of the update.
	if open && !proposal.Rejected && status.Act != release.ActSupersede && (status.Act != release.ActUpdate || proposal.Stale) {
		do(Gate, status.Shut())
	}
	switch status.Act {
	case release.ActPropose, release.ActUpdate:
		a, err := d.propose(s, []layout.Tier{status.Tier}, status.Gate, act)
		if err != nil {
			s.Failures[status.Tier] = Fail(err, false)
			break
		}
		out = append(out, a)
	case release.ActSupersede:
		do(Supersede, status.Message)
		do(Drop, "")
	case release.ActMerge:
		do(Merge, "")
	default:
		switch status.State {
		case release.Released, release.Gone, release.Merged, release.Progressing, release.Failed:
			if !at.IsZero() && !open { // it was merged
				do(Drop, "")
			}
		}
	}
	return out
}

// leaveRepos deletes the plan branch where the plan in force no longer writes.
func (d *decider) leaveRepos(s *Seed) []Action {
	repos := s.Plan.Repos()
	if s.previous == nil || len(repos) == 0 {
		return nil
	}
	var out []Action
	for _, name := range slices.Sorted(maps.Keys(s.previous.Commits)) {
		if r := d.repo(name); r != nil && !slices.Contains(repos, name) {
			out = append(out, Action{Verb: Drop, Repo: name, Seed: s.Name, Branch: layout.PlanBranch(r.Base, s.Name), Old: s.previous.Commits[name]})
		}
	}
	return out
}

// markers deletes the markers of a seed that have done their work, or that ask about an earlier
// plan, and keeps the others at the plan. stays means that the plan's branch does not move in this
// pass. A marker counts only at the commit of the plan, so one that is kept moves together with the
// plan, or it would be forgotten.
func (d *decider) markers(s *Seed, repo string, stays bool) []Action {
	r := d.facts.Repos[repo]
	keep := map[string]bool{}
	keep[layout.ConfirmBranch(r.Base, s.Name)], keep[layout.ConfirmLeavingBranch(r.Base, s.Name)] = d.confirmations(s, repo, stays)
	keep[layout.RetryBranch(r.Base, s.Name)] = s.retryLater[[2]string{repo, layout.RetryBranch(r.Base, s.Name)}] && stays && d.retries(repo, s.previous, s.Name)
	for branch := range r.Refs {
		if tier, ok := layout.RetriedTier(r.Base, branch); ok && tier.Seed == s.Name {
			keep[branch] = s.retryLater[[2]string{repo, branch}] && stays && r.Asked(branch) == s.previous.commit(repo)
		}
	}
	var out []Action
	for _, branch := range slices.Sorted(maps.Keys(keep)) {
		a := Action{Verb: Drop, Repo: repo, Seed: s.Name, Branch: branch, Old: r.Refs[branch]}
		switch {
		case keep[branch] && stays && r.Asked(branch) == s.previous.commit(repo), !keep[branch] && a.Old.IsZero():
			continue
		case keep[branch]:
			a.Verb = MoveToPlan
		}
		out = append(out, a)
	}
	return out
}

// confirmations keeps what was confirmed known while it is under way: the marker of a removal
// goes along with the plan of the removal, that of what leaves stays at its plan. Who
// confirmed that so many plantings go confirmed also what goes with them.
func (d *decider) confirmations(s *Seed, repo string, stays bool) (removal, leaving bool) {
	r := d.facts.Repos[repo]
	sure := d.facts.ControlPlane.Unread == "" && s.Failure == nil // removals are not decided while something is unreadable
	ours := func(marker string) bool {
		return !r.Asked(marker).IsZero() && r.Asked(marker) == s.previous.commit(repo)
	}
	confirmed := ours(layout.ConfirmBranch(r.Base, s.Name))
	removal = confirmed && (s.Plan.Removal || stays && !sure)
	leaving = ours(layout.ConfirmLeavingBranch(r.Base, s.Name)) && (stays || s.sameLeaving()) && (!sure || s.leaves())
	return removal, leaving || confirmed && !removal && sure && s.leaves()
}

// forget deletes the branches of a seed that is wholly gone: first those of its tiers and, once
// there is none that somebody could merge, the plan. Without the plan nothing would be known of a
// tier that somebody merges after that.
func (d *decider) forget(s *Seed) []Action {
	var tiers, rest []Action
	kept := "" // the branch of a proposal that a person has edited
	for _, name := range slices.Sorted(maps.Keys(s.previous.Commits)) {
		r := d.repo(name)
		if r == nil {
			return nil
		}
		act := Action{Verb: Drop, Repo: name, Seed: s.Name}
		drop := func(branch string) Action { act.Branch, act.Old = branch, r.Refs[branch]; return act }
		for _, branch := range slices.Sorted(maps.Keys(r.Refs)) {
			if seed, ok := layout.SeedOfBranch(r.Base, branch); !ok || seed != s.Name {
				continue
			}
			proposal, listed := d.verified(s.Plan, s.previous, name, branch)
			if proposal.Edited {
				kept = branch
				continue
			}
			act.Tiers = proposal.Tiers
			if tier, ok := layout.TierOfBranch(r.Base, branch); ok {
				act.Tiers = []layout.Member{{Tier: tier}}
			}
			if listed && !proposal.Rejected {
				a := drop(branch)
				a.Verb, a.Why = Supersede, "the seed is gone"
				tiers = append(tiers, a)
			}
			tiers = append(tiers, drop(branch))
		}
		act.Tiers = nil
		markers := []string{layout.PlanBranch(r.Base, s.Name), layout.RetryBranch(r.Base, s.Name), layout.ConfirmBranch(r.Base, s.Name), layout.ConfirmLeavingBranch(r.Base, s.Name), layout.RolloutBranch(r.Base, s.Name)}
		for _, branch := range slices.Sorted(maps.Keys(r.Refs)) {
			if tier, ok := layout.RetriedTier(r.Base, branch); ok && tier.Seed == s.Name {
				markers = append(markers, branch)
			}
		}
		for _, branch := range markers {
			if !r.Refs[branch].IsZero() {
				rest = append(rest, drop(branch))
			}
		}
	}
	switch {
	case kept != "" && len(tiers) == 0:
		s.fail(manifest.OfSeed(v1alpha1.ReasonEditedByPerson, s.Name, "it is gone, but a person has edited a proposal of it that is still open", "Merge it, or delete its branch: "+layout.DeleteCommand(kept)))
		return nil
	case kept != "" || len(tiers) > 0:
		return tiers
	}
	return rest
}

// shutRest shuts the gates of stale proposals of our seeds about which nothing was
// decided, as where the plan cannot be read: nobody grafts them anew. It closes those whose
// tiers the plan does not have, as where one that nobody vouched for was replaced.
func (d *decider) shutRest() []Action {
	var out []Action
	for _, name := range slices.Sorted(maps.Keys(d.facts.Repos)) {
		r := d.repo(name)
		if r == nil {
			continue
		}
		for _, branch := range slices.Sorted(maps.Keys(r.Proposals)) {
			proposal := r.Proposals[branch]
			s, ours := d.seeds[proposal.Seed]
			unverified := ours && s.previous != nil && s.previous.replaced != nil && s.Plan == s.previous.Plan
			if !ours || s.Foreign() || d.othersPlan(s.Name, name) || proposal.Rejected {
				continue
			}
			if s.forgets(proposal) {
				a := Action{Verb: Supersede, Repo: name, Seed: s.Name, Branch: branch, Old: r.Refs[branch], Why: "the plan has no such tier any more", Tiers: proposal.Tiers}
				if edited, _ := d.verified(s.Plan, s.previous, name, branch); edited.Edited {
					a.Verb = Gate
				}
				out = append(out, a)
				continue
			}
			if !proposal.Stale && !unverified {
				continue
			}
			decided := slices.ContainsFunc(proposal.Tiers, func(m layout.Member) bool { _, found := s.Result.Find(m.Tier); return found })
			if !decided {
				why := fmt.Sprintf("the base branch has changed under it, and seed %q cannot be observed now, so it is not updated", s.Name)
				if unverified {
					why = fmt.Sprintf("the plan of seed %q could not be verified, and does not say what this is", s.Name)
				}
				out = append(out, Action{Verb: Gate, Repo: name, Seed: s.Name, Branch: branch, Old: r.Refs[branch], Why: why, Tiers: proposal.Tiers})
			}
		}
	}
	return out
}

// forgets reports whether the plan of a seed, which can be used, has none of the tiers of a proposal.
func (s *Seed) forgets(proposal Proposal) bool {
	if s.Plan == nil || s.Failure != nil || len(proposal.Tiers) == 0 || s.previous == nil || s.gone && s.Result.Done {
		return false
	}
	if s.previous.replaced != nil && s.Plan == s.previous.Plan {
		return false
	}
	return !slices.ContainsFunc(proposal.Tiers, func(m layout.Member) bool { _, has := s.Plan.Find(m.Tier.Cluster, m.Tier.Ordinal); return has })
}

// othersPlan reports whether another control plane has a plan of the seed in a repository: its
// proposals there are not ours to judge.
func (d *decider) othersPlan(seed, repo string) bool {
	p := d.previous[seed]
	if p == nil {
		return false
	}
	_, others := p.Others[repo]
	return others || p.Foreign
}

// Foreign reports whether the seed is another engine's, and not ours to report.
func (s *Seed) Foreign() bool { return s.Plan == nil && s.Failure == nil }

// dropAbandoned deletes the markers of clusters on which no plan of this owner has
// anything any more. While a plan or a repository cannot be read that is not known.
func (d *decider) dropAbandoned() []Action {
	var out []Action
	for _, name := range slices.Sorted(maps.Keys(d.facts.Repos)) {
		r := d.facts.Repos[name]
		for _, branch := range slices.Sorted(maps.Keys(r.Refs)) {
			if cluster, ok := layout.AbandonedCluster(r.Base, MarkerScope(d.facts.Self), branch); ok && !d.needs(cluster) {
				out = append(out, Action{Verb: Drop, Repo: name, Branch: branch, Old: r.Refs[branch]})
			}
		}
	}
	return out
}

// Works reports whether there is more to do than to show gates.
func Works(actions []Action) bool {
	return slices.ContainsFunc(actions, func(a Action) bool { return a.Verb != Gate })
}

package state

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/core/truncate"
)

// MaxText bounds a text in the status of a resource, as the API has it.
const MaxText = 512

// Cut makes a text fit for a resource: its commands are kubectl's, it is bounded at a whole
// character, and nothing in it but line breaks acts on a terminal.
func Cut(text string) string {
	return truncate.Text(manifest.PrintableLines(manifest.PluginCommands(text)), MaxText)
}

// Count returns a number as resources have it.
func Count(n int) int32 { return int32(min(n, 1<<30)) } //nolint:gosec // G115: bounded

// shown returns the first texts of a list, and how many there are beside them.
func shown(texts []string, most int) (first []string, omitted int32) {
	for _, text := range texts[:min(most, len(texts))] {
		first = append(first, Cut(text))
	}
	return first, Count(len(texts) - len(first))
}

// ToStatus writes into the status of a Seed what sums its tiers up. Statuses of resources are
// bounded, so lists are cut there, and how much is missing is noted.
func (s *Seed) ToStatus(status *v1alpha1.SeedStatus) {
	status.State, status.Warnings, status.Progress, status.WaitingFor = s.State, Count(len(s.Warnings)), s.Progress(), s.WaitingFor()
	if s.State == Stalled {
		status.WaitingFor = Cut(s.Message)
	}
	counts := map[release.State]int{}
	for i := range s.Tiers {
		counts[s.Tiers[i].State]++
	}
	status.Proposals, status.Tiers = Count(len(openProposals(s.Tiers))), nil
	for _, of := range release.States {
		if n := counts[of]; n > 0 {
			status.Tiers = append(status.Tiers, v1alpha1.StateCount{State: string(of), Count: Count(n)})
		}
	}
	status.Blockers, status.Rollout = s.blockers(), s.Rollout.toStatus()
	status.Unconfirmed, status.OmittedUnconfirmed = shown(s.Unconfirmed, v1alpha1.MaxUnconfirmed)
	status.Confirmed = Cut(s.Confirmed)
	status.Abandoned = nil
	for _, a := range s.Abandoned[:min(v1alpha1.MaxUnconfirmed, len(s.Abandoned))] {
		status.Abandoned = append(status.Abandoned, v1alpha1.AbandonedCluster{Cluster: a.Cluster, By: Cut(a.By)})
	}
}

// toStatus writes a rollout as a Seed has it.
func (r *Rollout) toStatus() *v1alpha1.RolloutProgress {
	if r == nil {
		return nil
	}
	out := &v1alpha1.RolloutProgress{Paused: Cut(r.Paused), Unpaced: Cut(r.Unpaced)}
	for _, w := range r.Waves {
		wave := v1alpha1.WaveProgress{Name: w.Name, State: string(w.State), Leaving: w.Leaving, Clusters: Count(w.Clusters), Done: Count(w.Done), Reason: w.Reason, Message: Cut(w.Message)}
		if !w.Until.IsZero() {
			until := metav1.NewTime(w.Until)
			wave.Until = &until
		}
		out.Waves = append(out.Waves, wave)
	}
	return out
}

// rolloutOf is the inverse of toStatus, but for what was cut.
func rolloutOf(r *v1alpha1.RolloutProgress) *Rollout {
	if r == nil {
		return nil
	}
	out := &Rollout{Paused: r.Paused, Unpaced: r.Unpaced}
	for _, w := range r.Waves {
		wave := Wave{Name: w.Name, State: release.WaveState(w.State), Leaving: w.Leaving, Clusters: int(w.Clusters), Done: int(w.Done), Reason: w.Reason, Message: w.Message}
		if w.Until != nil {
			wave.Until = w.Until.UTC()
		}
		out.Waves = append(out.Waves, wave)
	}
	return out
}

// Progress returns how many tiers are where they should be: "7/12".
func (s *Seed) Progress() string { return fmt.Sprintf("%d/%d", s.Finished(), len(s.Tiers)) }

// blockers returns the tiers that most need a person. Those that merely wait for others are none.
func (s *Seed) blockers() []v1alpha1.Blocker {
	rest := slices.DeleteFunc(slices.Clone(s.Tiers), func(t Tier) bool { return t.IsComplete() || t.UrgentAs() == release.Blocked })
	slices.SortStableFunc(rest, func(a, b Tier) int {
		return cmp.Compare(slices.Index(urgency, a.UrgentAs()), slices.Index(urgency, b.UrgentAs()))
	})
	var out []v1alpha1.Blocker
	for _, t := range rest[:min(len(rest), v1alpha1.MaxBlockers)] {
		b := v1alpha1.Blocker{Tier: t.Name(), State: string(t.State), Reason: t.Reason, Message: Cut(t.Message)}
		if t.Proposal != nil {
			b.URL, b.Gate = t.Proposal.URL, Cut(t.Proposal.Gate)
		}
		out = append(out, b)
	}
	return out
}

// WaitingFor says in a line what tiers wait for first; nothing when all are where they should be.
func (s *Seed) WaitingFor() string {
	t := MostUrgent(s.Tiers)
	switch {
	case t == nil || t.IsComplete():
		return ""
	case t.State == release.Proposed && !t.Shut():
		return Cut(s.review())
	case (t.State == release.Blocked || t.State == release.Proposed) && len(t.Waits) > 0:
		return Cut(fmt.Sprintf("%s (%s)", t.Waits[0].Tier, t.Waits[0].State))
	}
	return Cut(fmt.Sprintf("%s: %s", t.Name(), t.Message))
}

// review returns which proposals wait for a person.
func (s *Seed) review() string {
	open := ForReview(s.Tiers)
	switch len(open) {
	case 0:
		return "review"
	case 1:
		p := open[0].Proposal
		return "review of " + cmp.Or(p.URL, "branch "+p.Branch+" of "+p.Repo)
	}
	text := fmt.Sprintf("review of %d proposals", len(open))
	if many := s.ManyProposals(); many != nil {
		text += ". " + many.Next
	}
	return text
}

// ToPlanting writes the tiers of one cluster into the status of its Planting: those with the lowest
// numbers, if there are very many.
func ToPlanting(tiers []Tier, status *v1alpha1.PlantingStatus) {
	tiers = slices.SortedFunc(slices.Values(tiers), func(a, b Tier) int { return a.Ordinal - b.Ordinal })
	status.Tiers, status.OmittedTiers = nil, Count(max(0, len(tiers)-v1alpha1.MaxTiers))
	for i := range tiers[:min(len(tiers), v1alpha1.MaxTiers)] {
		status.Tiers = append(status.Tiers, toTier(&tiers[i]))
	}
}

// toTier writes a tier as a Planting has it: texts and lists are cut to what the CRD allows, with
// how many are left out.
func toTier(t *Tier) v1alpha1.PlantingTier {
	out := v1alpha1.PlantingTier{
		Ordinal: Count(t.Ordinal), Level: Count(t.Level), Wave: t.Wave, State: string(t.State), Since: metav1.NewTime(t.Since), Reason: t.Reason, Message: Cut(t.Message),
		Digest: t.Digest, Objects: Count(t.Objects), Amended: Cut(t.Amended), Retry: t.Retry,
	}
	for _, w := range t.Waits[:min(len(t.Waits), v1alpha1.MaxWaits)] {
		out.Waits = append(out.Waits, v1alpha1.TierWait{Tier: w.Tier, State: string(w.State), Reason: w.Reason, Why: Cut(w.Why)})
	}
	out.OmittedWaits = Count(len(t.Waits) - len(out.Waits))
	out.Foreign, out.OmittedForeign = shown(t.Foreign, v1alpha1.MaxForeign)
	if p := t.Proposal; p != nil {
		out.Proposal = &v1alpha1.ProposalLink{Repo: p.Repo, Branch: p.Branch, Title: Cut(p.Title), URL: p.URL, Gate: Cut(p.Gate)}
	}
	return out
}

// FromPlanting returns what the status of a Planting has of tiers.
func FromPlanting(p *v1alpha1.Planting) []Tier {
	tiers := make([]Tier, len(p.Status.Tiers))
	for i := range p.Status.Tiers {
		tiers[i] = fromTier(p.Spec.Cluster, &p.Status.Tiers[i])
	}
	return tiers
}

// fromTier is the inverse of toTier, but for what was cut.
func fromTier(cluster string, t *v1alpha1.PlantingTier) Tier {
	out := Tier{
		Cluster: cluster, Ordinal: int(t.Ordinal), Level: int(t.Level), Wave: t.Wave, State: release.State(t.State), Since: t.Since.UTC(), Reason: t.Reason,
		Message: t.Message, Digest: t.Digest, Objects: int(t.Objects), Amended: t.Amended, Retry: t.Retry, Foreign: t.Foreign, OmittedForeign: int(t.OmittedForeign),
	}
	for _, w := range t.Waits {
		out.Waits = append(out.Waits, Edge{Tier: w.Tier, State: release.State(w.State), Reason: w.Reason, Why: w.Why})
	}
	if p := t.Proposal; p != nil {
		out.Proposal = &Proposal{Repo: p.Repo, Branch: p.Branch, Title: p.Title, URL: p.URL, Gate: p.Gate}
	}
	return out
}

// FromResources returns what resources say of seeds; of a Seed alone where its Plantings are not
// given. What does not fit into them is missing, which is noted.
func FromResources(seeds []v1alpha1.Seed, plantings []v1alpha1.Planting) *State {
	type key struct{ namespace, seed string }
	of := map[key][]*v1alpha1.Planting{}
	for i := range plantings {
		p := &plantings[i]
		of[key{p.Namespace, p.Spec.Seed}] = append(of[key{p.Namespace, p.Spec.Seed}], p)
	}
	out := New("", "", "")
	for i := range seeds {
		s := &seeds[i]
		one := fromSeed(s)
		for _, p := range of[key{s.Namespace, s.Name}] {
			one.Tiers = append(one.Tiers, FromPlanting(p)...)
			one.Omitted += int(p.Status.OmittedTiers)
		}
		slices.SortFunc(one.Tiers, Tier.Compare)
		out.Seeds = append(out.Seeds, one)
	}
	slices.SortFunc(out.Seeds, func(a, b Seed) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return &out
}

// fromSeed reads a Seed's own status; its tiers are in its Plantings. The message is only that of a
// seed that is Stalled or cannot be observed: otherwise the tiers say more.
func fromSeed(s *v1alpha1.Seed) Seed {
	out := Seed{
		Namespace: s.Namespace, Name: s.Name, State: cmp.Or(s.Status.State, Unknown), Suspended: s.Spec.Suspend,
		Removal:     s.Status.Plan != nil && s.Status.Plan.Removal || !s.DeletionTimestamp.IsZero(),
		Unconfirmed: s.Status.Unconfirmed, OmittedWarnings: int(s.Status.Warnings), Rollout: rolloutOf(s.Status.Rollout),
		Confirmed: s.Status.Confirmed,
	}
	for _, a := range s.Status.Abandoned {
		out.Abandoned = append(out.Abandoned, Abandonment(a))
	}
	if p := s.Status.Plan; p != nil {
		out.Revision = cmp.Or(p.Revision, s.Status.Revision)
	}
	if c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady); c != nil && (out.State == Stalled || c.Status == metav1.ConditionUnknown) {
		out.Reason, out.Message = v1alpha1.Reason(c.Reason), c.Message
	}
	return out
}

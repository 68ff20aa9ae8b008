package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/controllers/fleet"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/state"
)

// age is how long ago something was, as kubectl tells it.
func age(now, then time.Time) string { return duration.HumanDuration(now.Sub(then)) }

// table shows what is to be seen to people.
func (s *kubeStatus) table(w io.Writer, v *kubeView) {
	if v.controller.silent > 0 {
		fmt.Fprintf(w, "! no controller seems to run: Lease %s was renewed %s ago\n", v.controller.lease, duration.HumanDuration(v.controller.silent))
	}
	switch {
	case len(v.seeds) == 0 && !v.one:
		fmt.Fprintf(w, "There are no Seeds in %s.\n", v.where)
	case v.one && len(v.seeds) == 0:
		fmt.Fprintln(w, "The Seed is gone.")
	case v.one:
		v.oneTable(w, s.output.wide())
	default:
		v.seedsTable(w, s.output.wide())
	}
}

// seedsTable has a line for each Seed, and what is to be said about some.
func (v *kubeView) seedsTable(w io.Writer, wide bool) {
	head := []string{"NAME", "READY", "STATE", "TIERS", "PROPOSALS", "WAITING FOR"}
	if v.everywhere {
		head = slices.Insert(head, 0, "NAMESPACE")
	}
	if wide {
		head = append(head, "REVISION", "AGE")
	}
	lines := [][]string{head}
	var doubts, mine []string
	for i := range v.seeds {
		s := &v.seeds[i]
		lines = append(lines, v.seedCells(s, wide))
		for _, d := range v.doubts(s) {
			doubts = append(doubts, fmt.Sprintf("! Seed %s: %s", v.nameOf(s), d))
		}
		for _, b := range s.Status.Blockers {
			if !waitsForPerson(release.State(b.State), b.Gate != "") {
				continue
			}
			what := b.Message
			if b.Gate == "" {
				what = cmp.Or(b.URL, b.Message)
			}
			mine = append(mine, fmt.Sprintf("%s: %s is %s: %s", v.nameOf(s), b.Tier, b.State, what))
		}
	}
	rows(w, lines)
	for _, d := range doubts {
		paragraph(w, "  ", d)
	}
	section(w, "Waiting for you:", mine)
}

// nameOf names a Seed among those that are shown.
func (v *kubeView) nameOf(s *v1alpha1.Seed) string {
	if v.everywhere {
		return s.Namespace + "/" + s.Name
	}
	return s.Name
}

func (v *kubeView) seedCells(s *v1alpha1.Seed, wide bool) []string {
	cells := []string{
		s.Name, conditionStatus(s.Status.Conditions, v1alpha1.ConditionReady), seedState(s), cmp.Or(s.Status.Progress, "-"),
		fmt.Sprint(s.Status.Proposals), cmp.Or(s.Status.WaitingFor, "-"),
	}
	if v.everywhere {
		cells = slices.Insert(cells, 0, s.Namespace)
	}
	if wide {
		cells = append(cells, cmp.Or(s.Status.Revision, "-"), age(v.now, s.CreationTimestamp.Time))
	}
	return cells
}

// seedState is the state, with what else is to be known of it.
func seedState(s *v1alpha1.Seed) string {
	state := cmp.Or(s.Status.State, "Unknown")
	if s.Spec.Suspend {
		state += " (Suspended)"
	}
	if !s.DeletionTimestamp.IsZero() {
		state += " (Removing)"
	}
	return state
}

// decisive are the states in which a tier may wait for a person.
var decisive = []release.State{release.Held, release.Failed, release.Rejected, release.Reverted, release.Outdated, release.Proposed}

// waitsForPerson says that a person is asked to act on a tier: not where all that it has is a
// proposal that must not be merged now.
func waitsForPerson(state release.State, shut bool) bool {
	if shut && (state == release.Proposed || state == release.Outdated) {
		return false
	}
	return slices.Contains(decisive, state)
}

// oneTable shows one Seed with all its tiers: those of the cluster that needs a person most first.
func (v *kubeView) oneTable(w io.Writer, wide bool) {
	s := &v.seeds[0]
	for _, d := range v.doubts(s) {
		paragraph(w, "  ", "! "+d)
	}
	v.head(w, s)
	report := reportOf(s, v.plantings)
	var lines [][]string
	var mine, amended []string
	for i := range v.plantings {
		p := &v.plantings[i]
		for j := range p.Status.Tiers {
			t := tierReport(p.Spec.Cluster, &p.Status.Tiers[j])
			lines = append(lines, v.tierCells(&t, p.Status.Tiers[j].Since.Time, wide)...)
			if line, ok := todo(s.Name, t); ok && !slices.Contains(mine, line) { // tiers may share a proposal
				mine = append(mine, line)
			}
			if t.Amended != "" {
				amended = append(amended, fmt.Sprintf("%s: %s", tierLabel(t), t.Amended))
			}
		}
		if n := p.Status.OmittedTiers; n > 0 {
			lines = append(lines, []string{fmt.Sprintf("  %s: %s more, which the Planting does not show", p.Spec.Cluster, plural(int(n), "tier"))})
		}
	}
	if len(lines) == 0 {
		fmt.Fprintln(w, "  There are no Plantings.")
	}
	rows(w, lines)
	section(w, "Waiting for you:", mine)
	nextTable(w, &state.State{Seeds: []state.Seed{*report}})
	section(w, "Amended before merging:", amended)
}

// head says how the Seed is as a whole.
func (v *kubeView) head(w io.Writer, s *v1alpha1.Seed) {
	line := seedState(s)
	if s.Status.Progress != "" {
		line += ", " + s.Status.Progress + " tiers done"
	}
	fmt.Fprintf(w, "Seed %s: %s\n", s.Name, line)
	source := strings.TrimPrefix(fleet.Of(s).String(), s.Namespace+"/")
	facts := [][]string{{"  from", source}}
	if s.Status.Revision != "" {
		facts = append(facts, []string{"  revision", s.Status.Revision})
	}
	if p := s.Status.Plan; p != nil {
		text := fmt.Sprintf("%s in %s on %s", plural(int(p.Objects), "object"), plural(int(p.Tiers), "tier"), plural(int(p.Clusters), "cluster"))
		if p.Removal {
			text = fmt.Sprintf("removes %s from %s", plural(int(p.Tiers), "tier"), plural(int(p.Clusters), "cluster"))
		}
		if s.Status.Warnings > 0 {
			text += ", with " + plural(int(s.Status.Warnings), "warning")
		}
		facts = append(facts, []string{"  plan", text})
	}
	if c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady); c != nil {
		facts = append(facts, []string{"  ready", fmt.Sprintf("%s, for %s: %s", c.Status, age(v.now, c.LastTransitionTime.Time), c.Message)})
	}
	rows(w, facts)
	fmt.Fprintln(w)
}

// tierCells are the lines of a tier; with wide, one for each further tier that it waits for.
func (v *kubeView) tierCells(t *state.Tier, since time.Time, wide bool) [][]string {
	lines := [][]string{{"  " + tierLabel(*t), shownState(*t), age(v.now, since), t.Message}}
	if wide && len(t.Waits) > 1 {
		for _, wait := range t.Waits[1:] { // the message has the first
			lines = append(lines, []string{"", "", "", fmt.Sprintf("waits for %s (%s): %s", wait.Tier, wait.State, wait.Why)})
		}
	}
	return lines
}

// todo is what a person is asked to do about a tier.
func todo(seed string, t state.Tier) (string, bool) {
	switch {
	case !waitsForPerson(t.State, t.Shut()):
		return "", false
	case t.WaitsForReview():
		return proposalLine(seed, t), true
	}
	return fmt.Sprintf("%s is %s: %s", tierLabel(t), t.State, t.Message), true
}

// section writes a heading and lines, where there are any.
func section(w io.Writer, heading string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintln(w, "\n"+heading)
	for _, line := range lines {
		fmt.Fprintln(w, "  "+line)
	}
}

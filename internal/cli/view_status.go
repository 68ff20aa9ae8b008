package cli

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/state"
)

// statusView shows a state to people, whichever front end it comes from. It has three parts: head,
// the age of the state; body, the seeds with their tiers, and then lists of what people can do; and
// outdated, the warning that nobody keeps the state current.
type statusView struct {
	*state.State
	now time.Time
	// whole shows each cluster by itself, and everything that a tier waits for.
	whole bool
	// none is said where there are no seeds; by default what to do about it.
	none string
	// known is what fleet returned first.
	known clusterSet
}

// age returns how long ago something was, as kubectl shows it. Clocks differ, so it is never
// negative.
func age(now, then time.Time) string { return duration.HumanDuration(max(0, now.Sub(then))) }

// head says how old the state is.
func (v *statusView) head(w io.Writer) {
	if !v.LastPass.IsZero() {
		paragraph(w, "  ", fmt.Sprintf("Last pass reported %s ago, at %s, by %s", age(v.now, v.LastPass), v.LastPass.Format(time.RFC3339), v.Owner))
	}
	if v.Writer != "" {
		paragraph(w, "  ", fmt.Sprintf("Written by %s, from %s", v.Writer, v.Revision))
	}
	for _, r := range v.Refused {
		paragraph(w, "  ", fmt.Sprintf("! %s ago %s did nothing (%s): %s", age(v.now, r.At), r.Process, r.Reason, r.Message))
	}
	if text := v.outdated(); text != "" {
		paragraph(w, "  ", text)
	}
}

// outdated warns of a state that nobody keeps current; empty where passes are reported as often as
// their interval promises. A state without an interval, as of resources, has other signs
// (staleSigns).
func (v *statusView) outdated() string {
	interval, outdated := v.Outdated(v.now)
	if !outdated {
		return ""
	}
	return fmt.Sprintf("! This is out of date: no pass was reported since %s, and one is expected every %s. Start 'furrow run', or read the log of the one that runs", v.LastPass.Format(time.RFC3339), shortDuration(interval))
}

// staleText returns what cannot be known any better.
func staleText(s state.Stale) string {
	if s.Repo == "" {
		return fmt.Sprintf("The control plane has not been read since %s: what was read before stays in force", s.Since.Format(time.RFC3339))
	}
	return fmt.Sprintf("GitOps repository %s has not been read since %s: what is planted there goes on as it was then, and may be out of date", s.Repo, s.Since.Format(time.RFC3339))
}

// body has the seeds, those that need a person first, with their tiers in the order in which they
// are released; then what waits for a person, and what comes next.
func (v *statusView) body(w io.Writer) {
	v.problems(w)
	if len(v.Seeds) == 0 {
		fmt.Fprintln(w, cmp.Or(v.none, "There are no seeds. Commit one under seeds/ of the control-plane repository."))
	}
	var lists [4][]string
	for _, s := range slices.SortedStableFunc(slices.Values(v.Seeds), func(a, b state.Seed) int {
		return cmp.Compare(state.Urgency(a.State), state.Urgency(b.State))
	}) {
		v.seed(w, &s)
		for i, lines := range [][]string{v.forReview(&s), v.toDecide(&s), v.next(&s), v.amended(&s)} {
			lists[i] = append(lists[i], lines...)
		}
	}
	section(w, "Waiting for you: "+plural(v.proposals(), "proposal"), lists[0])
	for _, s := range v.Seeds {
		if many := s.ManyProposals(); many != nil {
			paragraph(w, "  ", fmt.Sprintf("Seed %s: %s", v.name(&s), many.Error()))
		}
	}
	section(w, "Waiting for your decision:", lists[1])
	section(w, "Next:", lists[2])
	section(w, "Amended before merging:", lists[3])
}

// problems has what is wrong with the state as a whole.
func (v *statusView) problems(w io.Writer) {
	for _, note := range v.Notes {
		paragraph(w, "  ", "! "+note)
	}
	for _, p := range v.Problems {
		paragraph(w, "  ", "! "+p.Error())
	}
	for _, p := range v.Warnings {
		if p.Repo != "" { // of proposals; those of files are shown with plans
			paragraph(w, "  ", "! "+p.Error())
		}
	}
	for _, s := range v.Seeds {
		for _, p := range s.Warnings {
			if p.Reason == v1alpha1.ReasonPlanNotVerified { // somebody has tried to pass as Furrow
				paragraph(w, "  ", "! "+p.Error())
			}
		}
	}
	for _, c := range v.Clusters {
		if c.Abandoned {
			paragraph(w, "  ", strings.TrimSpace(fmt.Sprintf("! cluster %s was abandoned %s", c.Name, c.AbandonedBy)))
		}
	}
	for _, s := range v.Stale {
		paragraph(w, "  ", "! "+staleText(s))
	}
	for _, r := range v.Repositories {
		if r.Limit != nil {
			paragraph(w, "  ", fmt.Sprintf("GitOps repository %s: %s", r.Name, r.Limit.Message))
		}
	}
}

// proposals counts those that wait for a person, in all seeds. One of several tiers counts once.
func (v *statusView) proposals() int {
	n := 0
	for i := range v.Seeds {
		n += len(state.ForReview(v.Seeds[i].Tiers))
	}
	return n
}

// section writes a heading and lines, where there are any.
func section(w io.Writer, heading string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintln(w, "\n"+heading)
	for _, line := range lines {
		paragraph(w, "    ", "  "+line)
	}
}

// name names a seed among those that are shown.
func (v *statusView) name(s *state.Seed) string {
	if slices.ContainsFunc(v.Seeds, func(o state.Seed) bool { return o.Namespace != s.Namespace }) {
		return s.Namespace + "/" + s.Name
	}
	return s.Name
}

// fleet returns all clusters, as far as they are known.
func (v *statusView) fleet() clusterSet {
	if v.known.names != nil {
		return v.known
	}
	names := map[string]bool{}
	for _, c := range v.Clusters {
		names[c.Name] = true
	}
	for i := range v.Seeds {
		for j := range v.Seeds[i].Tiers {
			names[v.Seeds[i].Tiers[j].Cluster] = true
		}
	}
	v.known = clusterSet{slices.Collect(maps.Keys(names)), traitsOf(v.Clusters)}
	return v.known
}

// seed shows one seed and its tiers, equal clusters as one. What makes tiers equal here is
// everything that their line shows, except for the age: that is a range.
func (v *statusView) seed(w io.Writer, s *state.Seed) {
	stateParagraph(w, "  ", fmt.Sprintf("Seed %s: %s", v.name(s), seedLine(s, progress(s))), s.State)
	for _, note := range s.Notes {
		paragraph(w, "    ", "  ! "+note)
	}
	if s.Revision != "" && len(v.Seeds) == 1 && len(s.Tiers) > 0 {
		paragraph(w, "    ", "  "+planLine(s))
	}
	if s.Confirmed != "" {
		paragraph(w, "    ", "  ! what the deletion guard held was confirmed "+s.Confirmed)
	}
	for _, line := range rolloutLines(s.Rollout) {
		paragraph(w, "    ", "  "+line)
	}
	tiers := inOrder(s.Tiers)
	texts := make([]ofCluster, len(tiers))
	for i, t := range tiers {
		texts[i] = ofCluster{t.Cluster, strings.Join([]string{layout.NameOnCluster(t.Ordinal), shownState(t), t.Message}, "\x00")}
	}
	var lines [][]string
	for _, f := range folded(v.fleet(), texts, v.whole) {
		cells := strings.Split(f.text, "\x00")
		since := func(i int) time.Time { return tiers[i].Since }
		lines = append(lines, []string{"  " + f.on + " " + cells[0], cells[1], v.ages(f.members, since), cells[2]})
		if t := tiers[f.members[0]]; v.whole && len(t.Waits) > 1 {
			for _, wait := range t.Waits[1:] { // the message has the first
				lines = append(lines, []string{"", "", "", fmt.Sprintf("waits for %s (%s): %s", wait.Tier, wait.State, wait.Why)})
			}
		}
	}
	stateRows(w, 1, lines)
	if s.Omitted > 0 {
		fmt.Fprintf(w, "  %s more, which the Plantings do not show\n", plural(s.Omitted, "tier"))
	}
}

// rolloutLines says how far the waves of a seed are, and what people asked of its rollout.
func rolloutLines(r *state.Rollout) []string {
	if r == nil {
		return nil
	}
	var out []string
	if r.Paused != "" {
		out = append(out, "! the rollout is paused "+r.Paused)
	}
	if r.Unpaced != "" {
		out = append(out, "! everything is proposed at once, as asked for "+r.Unpaced)
	}
	for _, wave := range r.Waves {
		line := fmt.Sprintf("wave %s: %s, %d of %s done", wave.Name, wave.State, wave.Done, plural(wave.Clusters, "cluster"))
		if wave.Leaving {
			line = fmt.Sprintf("wave %s, what leaves: %s, %d of %s done", wave.Name, wave.State, wave.Done, plural(wave.Clusters, "cluster"))
		}
		if wave.Message != "" && wave.State != release.WaveWaiting {
			line += ": " + wave.Message
		}
		out = append(out, line)
	}
	return out
}

// ages returns how long tiers have been in their state: of several, the youngest and the oldest.
// Empty where it is not known of one. sinceOf returns since when the one of an index is.
func (v *statusView) ages(members []int, sinceOf func(int) time.Time) string {
	first, last := time.Time{}, time.Time{}
	for _, i := range members {
		since := sinceOf(i)
		if since.IsZero() {
			return ""
		}
		if first.IsZero() || since.Before(first) {
			first = since
		}
		if since.After(last) {
			last = since
		}
	}
	young, old := age(v.now, last), age(v.now, first)
	if young == old {
		return old
	}
	return young + "–" + old
}

// progress returns how many tiers are where they should be, with a comma before it; empty if all
// are.
func progress(s *state.Seed) string {
	done, total := s.Finished(), len(s.Tiers)+s.Omitted
	if done == total {
		return ""
	}
	return fmt.Sprintf(", %d of %s done", done, plural(total, "tier"))
}

// seedLine returns how a seed is.
func seedLine(s *state.Seed, progress string) string {
	line := s.State + progress
	if s.Removal {
		line += ", being removed"
	}
	if s.Suspended {
		line += ", suspended"
	}
	if s.Message != "" {
		line += ": " + seedMessage(s)
	}
	return line
}

// seedMessage is the message of a seed, for a line that names the seed already.
func seedMessage(s *state.Seed) string {
	return strings.TrimPrefix(s.Message, fmt.Sprintf("seed %q: ", s.Name))
}

// planLine returns what the plan in force was made of, and how large it is.
func planLine(s *state.Seed) string {
	objects, clusters := 0, map[string]bool{}
	for _, t := range s.Tiers {
		objects += t.Objects
		clusters[t.Cluster] = true
	}
	line := fmt.Sprintf("%s: %s in %s on %s", s.Revision, plural(objects, "object"), plural(len(s.Tiers)+s.Omitted, "tier"), plural(len(clusters), "cluster"))
	if n := len(s.Warnings) + s.OmittedWarnings; n > 0 {
		line += ", with " + plural(n, "warning")
	}
	return line
}

// lines returns what is said about some tiers of a seed, equal clusters folded. say returns the
// text that is compared, and whether there is one; show makes the line of a fold, with the first of
// its tiers.
func (v *statusView) lines(tiers []state.Tier, say func(t state.Tier) (text string, ok bool), show func(f fold, t state.Tier) string) []string {
	var texts []ofCluster
	var of []state.Tier
	for _, t := range tiers {
		if text, ok := say(t); ok {
			texts, of = append(texts, ofCluster{t.Cluster, text}), append(of, t)
		}
	}
	var out []string
	for _, f := range folded(v.fleet(), texts, v.whole) {
		out = append(out, show(f, of[f.members[0]]))
	}
	return out
}

// forReview returns the proposals that wait for a person. Those that are equal on many clusters are
// one line, without their URLs.
func (v *statusView) forReview(s *state.Seed) []string {
	say := func(t state.Tier) (string, bool) {
		if t.Proposal.URL != "" {
			return t.Proposal.Title + ": -o wide has the URLs", true
		}
		return proposalLine(s.Name, t), true
	}
	open := state.ForReview(inOrder(s.Tiers))
	return v.lines(open, say, func(f fold, t state.Tier) string {
		switch {
		case len(f.members) == 1:
			return proposalLine(s.Name, t)
		case t.Proposal.URL != "":
			return fmt.Sprintf("%s: %s", f.on, f.text)
		}
		title := general(ofCluster{t.Cluster, t.Proposal.Title})
		return fmt.Sprintf("%s: %s: %s", f.on, title, mergeAll(s.Name, open, f.members))
	})
}

// mergeAll returns the command that merges some of the open proposals of a seed, by their indexes. By
// clusters it names only a few.
func mergeAll(seed string, open []state.Tier, members []int) string {
	command := "furrow pr merge --all --seed " + seed
	var clusters []string
	for _, i := range members {
		clusters = append(clusters, open[i].Cluster)
		if open[i].Reason == v1alpha1.ReasonRemovalOpen && !strings.HasSuffix(command, " --removals") {
			command += " --removals"
		}
	}
	if len(members) < len(open) && len(clusters) <= maxRuns {
		command += " --cluster " + strings.Join(slices.Compact(clusters), ",")
	}
	return command
}

// toDecide returns the tiers about which a person decides beside a review.
func (v *statusView) toDecide(s *state.Seed) []string {
	say := func(t state.Tier) (string, bool) {
		return fmt.Sprintf("%s is %s", layout.NameOnCluster(t.Ordinal), t.State), t.NeedsDecision()
	}
	return v.lines(inOrder(s.Tiers), say, func(f fold, _ state.Tier) string { return v.name(s) + " " + f.on + " " + f.text })
}

// next returns the tiers that follow without anybody's doing but reviews: all that they wait for is
// under way (moving). One that waits for something Failed or Held is not next, however near.
func (v *statusView) next(s *state.Seed) []string {
	say := func(t state.Tier) (string, bool) {
		moves := !slices.ContainsFunc(t.Waits, func(w state.Edge) bool { return !slices.Contains(moving, w.State) })
		return fmt.Sprintf("%s, after %s", layout.NameOnCluster(t.Ordinal), waitNames(t)), t.State == release.Blocked && moves
	}
	return v.lines(inOrder(s.Tiers), say, func(f fold, _ state.Tier) string { return v.name(s) + " " + f.on + " " + f.text })
}

// moving are the states that end by themselves, or by a review.
var moving = []release.State{release.Proposed, release.Outdated, release.Merged, release.Progressing}

func waitNames(t state.Tier) string {
	names := make([]string, len(t.Waits))
	for i, w := range t.Waits {
		names[i] = fmt.Sprintf("%s (%s)", w.Tier, w.State)
	}
	if len(names) > maxNames {
		return some(names)
	}
	return strings.Join(names, " and ")
}

// amended returns how to show what people changed before merging.
func (v *statusView) amended(s *state.Seed) []string {
	say := func(t state.Tier) (string, bool) {
		return fmt.Sprintf("%s: %s", layout.NameOnCluster(t.Ordinal), t.Amended), t.Amended != ""
	}
	return v.lines(inOrder(s.Tiers), say, func(f fold, _ state.Tier) string { return v.name(s) + " " + f.on + " " + f.text })
}

// stateLabel returns the state, with a note where people have amended what was merged.
func stateLabel(t state.Tier) string {
	if t.Amended != "" {
		return string(t.State) + " (Amended)"
	}
	return string(t.State)
}

// shownState is stateLabel for tables, with a note where what is open must not be merged
// and the message does not say so.
func shownState(t state.Tier) string {
	if t.Shut() && t.State != release.Proposed {
		return stateLabel(t) + " (do not merge)"
	}
	return stateLabel(t)
}

func inOrder(tiers []state.Tier) []state.Tier {
	return slices.SortedStableFunc(slices.Values(tiers), state.Tier.Compare)
}

// proposalOf returns what 'furrow pr' calls the proposal of a tier.
func proposalOf(seed string, t state.Tier) string {
	if _, group, several := strings.Cut(t.Proposal.Branch, "/group/"+seed+"/"); several {
		return seed + "/" + group
	}
	return fmt.Sprintf("%s/%s/%02d", seed, t.Cluster, t.Ordinal)
}

// proposalLine says how to accept the proposal of a tier.
func proposalLine(seed string, t state.Tier) string {
	command := "furrow pr merge " + proposalOf(seed, t)
	if t.Reason == v1alpha1.ReasonRemovalOpen {
		command += " --removals"
	}
	return fmt.Sprintf("%s: %s", t.Proposal.Title, cmp.Or(t.Proposal.URL, command))
}

// seedStates counts the seeds by their state, and names some of those that are not Released: a
// status that is too long for a terminal shows its end only.
func seedStates(seeds []state.Seed) string {
	const most = 5
	names := map[string][]string{}
	for _, s := range seeds {
		names[s.State] = append(names[s.State], s.Name)
	}
	var parts []string
	for _, of := range slices.Sorted(maps.Keys(names)) {
		part := fmt.Sprintf("%d %s", len(names[of]), of)
		if of != string(release.Released) {
			part += " (" + strings.Join(names[of][:min(most, len(names[of]))], ", ")
			if len(names[of]) > most {
				part += ", …"
			}
			part += ")"
		}
		parts = append(parts, part)
	}
	return cmp.Or(strings.Join(parts, ", "), "none")
}

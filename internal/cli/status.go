package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/state"
)

func newStatus() *cobra.Command {
	var session sessionFlags
	var output outputFlag
	var watch bool
	cmd := &cobra.Command{
		Use:   "status [SEED]",
		Short: "Show which tier is where, what blocks it, and which proposals wait for you",
		Long: `Status shows what 'furrow run' reported last, from the branch
furrow/<base>/status/<id>/<environment> of the GitOps repository, and how long ago that was. It
warns when that is more than three intervals ago, for then no run seems to be at work.

With --watch it shows that again whenever it changes: in place on a terminal, one below the other
elsewhere. What was read last stays while the repositories cannot be read.`,
		Example: `  furrow status
  furrow status edge-5g --watch`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usageError{errors.New("it takes the name of one seed, or none")}
			}
			return nil
		},
		ValidArgsFunction: session.completeSeeds,
		RunE: func(cmd *cobra.Command, args []string) error {
			look := func(ctx context.Context) (*state.State, error) {
				return publishedStatus(ctx, &session, strings.Join(args, ""))
			}
			if watch {
				return newStatusWatch(cmd, &output, look).run(cmd.Context())
			}
			report, err := look(cmd.Context())
			if err != nil {
				return err
			}
			return output.write(cmd.OutOrStdout(), report, func(w io.Writer) {
				lastPassLine(w, report, time.Now())
				staleLine(w, report, time.Now())
				statusTable(w, report)
			})
		},
	}
	session.add(cmd)
	session.addOwner(cmd)
	output.add(cmd)
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "show it again whenever it changes, until interrupted")
	return cmd
}

// publishedStatus is what was reported last, of all seeds or of one.
func publishedStatus(ctx context.Context, session *sessionFlags, seed string) (*state.State, error) {
	s, err := session.open()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	report, err := s.Status(ctx)
	if err != nil || seed == "" {
		return report, err
	}
	one, ok := report.Seed(seed)
	if !ok {
		return nil, manifest.Problem{Reason: v1alpha1.ReasonUnknownSeed, Message: fmt.Sprintf("there is no seed %q in the status; there are: %s", seed, strings.Join(seedNames(report), ", "))}
	}
	report.Seeds = []state.Seed{*one}
	return report, nil
}

// lastPassLine says how old a report is.
func lastPassLine(w io.Writer, r *state.State, now time.Time) {
	paragraph(w, "  ", fmt.Sprintf("Last pass reported %s, at %s, by %s", ageOf(r, now), r.LastPass.Format(time.RFC3339), r.Owner))
}

// ageOf says how long ago a report was published.
func ageOf(r *state.State, now time.Time) string {
	return duration.HumanDuration(max(0, now.Sub(r.LastPass))) + " ago"
}

// staleAfter is how many intervals may go by without a report before its run seems to have ended.
const staleAfter = 3

// staleLine warns of a report that nobody keeps up to date.
func staleLine(w io.Writer, r *state.State, now time.Time) {
	interval, err := time.ParseDuration(r.Interval)
	if err != nil || now.Sub(r.LastPass) <= staleAfter*interval {
		return
	}
	paragraph(w, "  ", fmt.Sprintf("! This is out of date: no pass was reported since %s, and one is due every %s. Start 'furrow run', or see the log of the one that runs", r.LastPass.Format(time.RFC3339), shortDuration(interval)))
}

// staleText says what a report cannot know any better.
func staleText(s state.Stale) string {
	if s.Repo == "" {
		return fmt.Sprintf("The control plane has not been read since %s: what was read before stays in force", s.Since.Format(time.RFC3339))
	}
	return fmt.Sprintf("GitOps repository %s has not been read since %s: what is planted there goes on as it was then, and may be out of date", s.Repo, s.Since.Format(time.RFC3339))
}

func seedNames(r *state.State) []string {
	names := make([]string, len(r.Seeds))
	for i, s := range r.Seeds {
		names[i] = s.Name
	}
	return names
}

// statusTable is one screen: the tiers of every seed in the order in which they
// come, then what waits for a person, then what comes next.
func statusTable(w io.Writer, r *state.State) {
	for _, p := range r.Problems {
		paragraph(w, "  ", "! "+p.Error())
	}
	for _, s := range r.Stale {
		fmt.Fprintf(w, "! %s\n", staleText(s))
	}
	var mine, advice, amended []string
	for _, s := range r.Seeds {
		paragraph(w, "  ", fmt.Sprintf("Seed %s: %s", s.Name, seedLine(s)))
		var lines [][]string
		for _, t := range inOrder(s.Tiers) {
			lines = append(lines, []string{"  " + tierLabel(t), shownState(t), t.Message})
			if t.Amended != "" {
				amended = append(amended, fmt.Sprintf("%s %s: %s", s.Name, tierLabel(t), t.Amended))
			}
		}
		rows(w, lines)
		for _, t := range state.ForReview(inOrder(s.Tiers)) {
			mine = append(mine, proposalLine(s.Name, t))
		}
		if many := s.ManyProposals(); many != nil {
			advice = append(advice, fmt.Sprintf("Seed %s: %s", s.Name, many.Error()))
		}
	}
	if len(r.Seeds) == 0 {
		fmt.Fprintln(w, "There are no seeds. Commit one under seeds/ of the control-plane repository.")
	}
	if len(mine) > 0 {
		fmt.Fprintf(w, "\nWaiting for you: %s\n", plural(len(mine), "proposal"))
		for _, line := range mine {
			fmt.Fprintln(w, "  "+line)
		}
	}
	for _, line := range advice {
		paragraph(w, "  ", line)
	}
	nextTable(w, r)
	if len(amended) > 0 {
		fmt.Fprintln(w, "\nAmended before merging:")
		for _, line := range amended {
			fmt.Fprintln(w, "  "+line)
		}
	}
}

// stateLabel is the state, with a note where people have amended what was merged.
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

func seedLine(s state.Seed) string {
	line := s.State
	if s.Removal {
		line += ", being removed"
	}
	if s.Message != "" {
		line += ": " + strings.TrimPrefix(s.Message, fmt.Sprintf("seed %q: ", s.Name))
	}
	return line
}

// nextTable names the tiers that are held up by nothing but what is under way.
func nextTable(w io.Writer, r *state.State) {
	var next []string
	for _, s := range r.Seeds {
		for _, t := range inOrder(s.Tiers) {
			if t.State == release.Blocked && underWay(t) {
				next = append(next, fmt.Sprintf("%s %s, after %s", s.Name, tierLabel(t), waitNames(t)))
			}
		}
	}
	if len(next) > 0 {
		fmt.Fprintln(w, "\nNext:")
		for _, line := range next {
			fmt.Fprintln(w, "  "+line)
		}
	}
}

// moving are the states that end by themselves, or by a review.
var moving = []release.State{release.Proposed, release.Outdated, release.Merged, release.Progressing}

func underWay(t state.Tier) bool {
	return !slices.ContainsFunc(t.Waits, func(w state.Edge) bool { return !slices.Contains(moving, w.State) })
}

func waitNames(t state.Tier) string {
	names := make([]string, len(t.Waits))
	for i, w := range t.Waits {
		names[i] = fmt.Sprintf("%s (%s)", w.Tier, w.State)
	}
	return strings.Join(names, " and ")
}

func inOrder(tiers []state.Tier) []state.Tier {
	out := slices.Clone(tiers)
	slices.SortStableFunc(out, func(a, b state.Tier) int {
		return cmp.Or(cmp.Compare(a.Level, b.Level), cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Ordinal, b.Ordinal))
	})
	return out
}

func tierLabel(t state.Tier) string { return fmt.Sprintf("%s tier %02d", t.Cluster, t.Ordinal) }

// proposalOf is what 'furrow pr' calls the proposal of a tier.
func proposalOf(seed string, t state.Tier) string {
	if _, group, several := strings.Cut(t.Proposal.Branch, "/group/"+seed+"/"); several {
		return seed + "/" + group
	}
	return fmt.Sprintf("%s/%s/%02d", seed, t.Cluster, t.Ordinal)
}

func proposalLine(seed string, t state.Tier) string {
	where := t.Proposal.URL
	if where == "" {
		where = "furrow pr merge " + proposalOf(seed, t)
	}
	return fmt.Sprintf("%s: %s", t.Proposal.Title, where)
}

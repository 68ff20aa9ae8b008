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

	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/engine"
)

func newStatus() *cobra.Command {
	var session sessionFlags
	var output outputFlag
	var watch bool
	cmd := &cobra.Command{
		Use:   "status [SEED]",
		Short: "Show which tier is where, what blocks it, and which proposals wait for you",
		Long: `Status shows what 'furrow run' reported last, from the branch
furrow/<base>/status/<id>/<environment> of the GitOps repository. Messages are cut to fit a
line; -o yaml has all of them.`,
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
			show := func() error { return showStatus(cmd, &session, &output, strings.Join(args, "")) }
			if !watch {
				return show()
			}
			return watchStatus(cmd.Context(), cmd.OutOrStdout(), show)
		},
	}
	session.add(cmd)
	session.addOwner(cmd)
	output.add(cmd)
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "show it again every two seconds until interrupted")
	return cmd
}

const watchInterval = 2 * time.Second

// clear moves a terminal's cursor home and clears what is below.
const clearScreen = "\x1b[H\x1b[2J"

func watchStatus(ctx context.Context, w io.Writer, show func() error) error {
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	for {
		fmt.Fprint(w, clearScreen)
		if err := show(); err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func showStatus(cmd *cobra.Command, session *sessionFlags, output *outputFlag, seed string) error {
	s, err := session.open()
	if err != nil {
		return err
	}
	defer s.Close()
	report, err := s.Status(cmd.Context())
	if err != nil {
		return err
	}
	if seed != "" {
		one, ok := report.Seed(seed)
		if !ok {
			return fmt.Errorf("there is no seed %q in the status; there are: %s", seed, strings.Join(seedNames(report), ", "))
		}
		report.Seeds = []engine.SeedReport{*one}
	}
	return output.write(cmd.OutOrStdout(), report, func(w io.Writer) { statusTable(w, report) })
}

func seedNames(r *engine.Report) []string {
	names := make([]string, len(r.Seeds))
	for i, s := range r.Seeds {
		names[i] = s.Name
	}
	return names
}

// statusTable is one screen: the tiers of every seed in the order in which they
// come, then what waits for a person, then what comes next.
func statusTable(w io.Writer, r *engine.Report) {
	for _, p := range r.Problems {
		fmt.Fprintf(w, "! %s\n", p)
	}
	var mine, amended []string
	for _, s := range r.Seeds {
		fmt.Fprintf(w, "Seed %s: %s\n", s.Name, seedLine(s))
		var lines [][]string
		for _, t := range inOrder(s.Tiers) {
			lines = append(lines, []string{"  " + tierLabel(t), stateLabel(t), shorten(t.Message)})
			if t.Amended != "" {
				amended = append(amended, fmt.Sprintf("%s %s: %s", s.Name, tierLabel(t), t.Amended))
			}
			if t.Proposal != nil && (t.State == release.Proposed || t.State == release.Outdated) {
				mine = append(mine, proposalLine(s.Name, t))
			}
		}
		rows(w, lines)
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
	nextTable(w, r)
	if len(amended) > 0 {
		fmt.Fprintln(w, "\nAmended before merging:")
		for _, line := range amended {
			fmt.Fprintln(w, "  "+line)
		}
	}
}

// stateLabel is the state, with a note where people have amended what was merged.
func stateLabel(t engine.TierReport) string {
	if t.Amended != "" {
		return string(t.State) + " (Amended)"
	}
	return string(t.State)
}

func seedLine(s engine.SeedReport) string {
	line := s.State
	if s.Removal {
		line += ", being removed"
	}
	if s.Message != "" {
		line += ": " + strings.TrimPrefix(s.Message, fmt.Sprintf("seed %q: ", s.Name))
	}
	return line
}

// maxMessage is how much of a message a table shows; -o yaml has all of it.
const maxMessage = 100

func shorten(message string) string {
	message, _, _ = strings.Cut(message, "\n")
	if runes := []rune(message); len(runes) > maxMessage {
		return string(runes[:maxMessage-1]) + "…"
	}
	return message
}

// nextTable names the tiers that are held up by nothing but what is under way.
func nextTable(w io.Writer, r *engine.Report) {
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

func underWay(t engine.TierReport) bool {
	return !slices.ContainsFunc(t.Waits, func(w engine.WaitReport) bool { return !slices.Contains(moving, w.State) })
}

func waitNames(t engine.TierReport) string {
	names := make([]string, len(t.Waits))
	for i, w := range t.Waits {
		names[i] = fmt.Sprintf("%s (%s)", w.Tier, w.State)
	}
	return strings.Join(names, " and ")
}

func inOrder(tiers []engine.TierReport) []engine.TierReport {
	out := slices.Clone(tiers)
	slices.SortStableFunc(out, func(a, b engine.TierReport) int {
		return cmp.Or(cmp.Compare(a.Level, b.Level), cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Ordinal, b.Ordinal))
	})
	return out
}

func tierLabel(t engine.TierReport) string { return fmt.Sprintf("%s tier %02d", t.Cluster, t.Ordinal) }

func proposalLine(seed string, t engine.TierReport) string {
	where := t.Proposal.URL
	if where == "" {
		where = fmt.Sprintf("furrow pr merge %s/%s/%02d", seed, t.Cluster, t.Ordinal)
	}
	return fmt.Sprintf("%s: %s", t.Proposal.Title, where)
}

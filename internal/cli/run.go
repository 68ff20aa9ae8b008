package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/furrow-dev/furrow/internal/controlplane"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/standalone"
)

func newRun() *cobra.Command {
	var session sessionFlags
	var interval time.Duration
	var once, simulate bool
	var kubeconfigs string
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Plan, propose and release, over and over, for one control plane",
		Long: `Run looks at the control plane, the GitOps repositories and the clusters, does what is to be
done, and reports, until it is interrupted. It needs no Kubernetes and keeps nothing of its own:
stop it, delete its cache, start it elsewhere, and it carries on. Its status is on the branch
furrow/<base>/status/<id>/<environment> of the first GitOps repository by name; 'furrow status'
shows it.

With --kubeconfigs the clusters are asked how far they are: the directory holds one file for each
cluster whose Flux Furrow is to ask, named like the cluster, as in mgmt.yaml. Clusters that a seed
creates need no file: the Secret that their creator leaves on its cluster is read. A change on a
cluster is acted on at once; the repositories are looked at every --interval.

With --simulate the clusters that the control plane declares are simulated in this process, as
strictly as real ones; nothing is applied anywhere. With neither there is no health channel:
tiers that wait for nothing are proposed, and nothing is ever released.`,
		Example: `  furrow run --control-plane ./control-plane --simulate
  FURROW_CREDENTIALS=/etc/furrow/credentials furrow run \
    --control-plane https://git.example.com/platform/control-plane --kubeconfigs /etc/furrow/kubeconfigs`,
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			options, err := session.named()
			if err == nil && simulate && cmd.Flags().Changed("kubeconfigs") {
				err = usageError{errors.New("--simulate and --kubeconfigs exclude each other")}
			}
			if err == nil && kubeconfigs != "" && !simulate {
				channel := standalone.Watch(kubeconfigs)
				defer channel.Close()
				options.Channel = channel
			}
			if err != nil {
				return err
			}
			return run(cmd, options, interval, once, simulate)
		},
	}
	session.add(cmd)
	session.addOwner(cmd)
	session.addStrict(cmd)
	flags := cmd.Flags()
	addDeletionGuard(flags, &session.options.DeletionGuard, "furrow confirm")
	addInterval(flags, &interval, 10*time.Second, "pause between passes in which nothing changed")
	addEnvironmentText(flags, &kubeconfigs, "kubeconfigs", "FURROW_KUBECONFIGS", "directory with a kubeconfig for each cluster whose reconciler is asked, named like the cluster; or set FURROW_KUBECONFIGS", existingDirectory)
	directories(cmd, "kubeconfigs")
	flags.BoolVar(&once, "once", false, "make one pass and end; exits with 3 when a seed is stalled or a repository has a problem")
	flags.BoolVar(&simulate, "simulate", false, "simulate the declared clusters; a second of the simulation is a pass, and with --once some time goes by first")
	return cmd
}

func run(cmd *cobra.Command, options controlplane.Options, interval time.Duration, once, simulate bool) error {
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	s, tick, err := openRun(options, simulate)
	if err != nil {
		return err
	}
	defer s.Close()
	if simulate {
		fmt.Fprintln(out, "The clusters are simulated: nothing is applied anywhere.")
		interval = min(interval, time.Second)
	}
	if once {
		settle(ctx, tick)
	}
	log := newTransitions(out, options.Now)
	var last standalone.Seen
	standalone.Run(ctx, s, interval, func(seen standalone.Seen) bool {
		last = seen
		log.see(seen)
		if once {
			return false
		}
		if err := tick(ctx); err != nil && ctx.Err() == nil {
			log.once("simulation", fmt.Sprintf("the simulation: %v", err))
		}
		return true
	})
	if once {
		return verdictOf(last)
	}
	fmt.Fprintln(out, "Stopped. Nothing is lost: start it again to carry on.")
	return nil
}

// settling is how many seconds of the simulation come before a single pass, so
// that the clusters, which start anew with it, have taken up what was merged.
const settling = 30

func settle(ctx context.Context, tick func(context.Context) error) {
	for range settling {
		if tick(ctx) != nil {
			return // the pass meets the same error, and tells it
		}
	}
}

// verdictOf is the error of a single pass: that it failed, or that something is stalled.
func verdictOf(seen standalone.Seen) error {
	if seen.Err != nil || seen.Report == nil {
		return seen.Err
	}
	stalled := slices.ContainsFunc(seen.Report.Seeds, func(s engine.SeedReport) bool { return s.State == engine.Stalled })
	if stalled || len(seen.Report.Problems) > 0 {
		return errProblems
	}
	return nil
}

// openRun opens a session, with simulated clusters if asked for.
func openRun(options controlplane.Options, simulate bool) (*controlplane.Session, func(context.Context) error, error) {
	if simulate {
		s, sim, err := standalone.Simulate(options)
		return s, sim.Tick, err
	}
	s, err := controlplane.Open(options)
	return s, func(context.Context) error { return nil }, err
}

// transitions prints what has changed from one pass to the next.
type transitions struct {
	w      io.Writer
	now    func() time.Time
	start  time.Time
	states map[string]string
}

func newTransitions(w io.Writer, now func() time.Time) *transitions {
	if now == nil {
		now = time.Now
	}
	return &transitions{w: w, now: now, start: now(), states: map[string]string{}}
}

func (t *transitions) say(format string, args ...any) {
	fmt.Fprintf(t.w, "%7.1fs  %s\n", t.now().Sub(t.start).Seconds(), fmt.Sprintf(format, args...))
}

// once says a line when it is not what was said under the same key before.
func (t *transitions) once(key, line string) {
	if t.states[key] != line {
		t.states[key] = line
		if line != "" {
			t.say("%s", line)
		}
	}
}

func (t *transitions) see(seen standalone.Seen) {
	if seen.Err != nil {
		t.once("pass", fmt.Sprintf("cannot look: %v; trying again in %s", seen.Err, seen.Next.Round(time.Second)))
		return
	}
	t.once("pass", "")
	for i, p := range seen.Report.Problems {
		t.once(fmt.Sprint("problem ", i), p)
	}
	for _, s := range seen.Report.Seeds {
		t.once(s.Name, stalledLine(s))
		for _, tier := range inOrder(s.Tiers) {
			t.seeTier(s.Name, tier)
		}
	}
}

func stalledLine(s engine.SeedReport) string {
	if s.Message == "" {
		return ""
	}
	return fmt.Sprintf("%-10s %s", s.Name, seedLine(s))
}

func (t *transitions) seeTier(seed string, tier engine.TierReport) {
	message := tier.Message
	if tier.State == release.Proposed && tier.Proposal != nil {
		message += fmt.Sprintf(" (%s/%s/%02d)", seed, tier.Cluster, tier.Ordinal)
	}
	key := fmt.Sprintf("%s %s", seed, tierLabel(tier))
	if old, seen := t.states[key]; !seen || old != string(tier.State) {
		t.states[key] = string(tier.State)
		t.say("%-10s %-16s %-12s %s", seed, tierLabel(tier), tier.State, shorten(message))
	}
}

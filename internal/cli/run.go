package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/furrow-dev/furrow/internal/controlplane"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/probe"
	"github.com/furrow-dev/furrow/internal/probe/flux"
	"github.com/furrow-dev/furrow/internal/standalone"
	"github.com/furrow-dev/furrow/internal/state"
	"github.com/furrow-dev/furrow/internal/webhook"
)

func newRun() *cobra.Command {
	var session sessionFlags
	var interval time.Duration
	var once, simulate, yes bool
	var kubeconfigs, record string
	var hooks webhookFlags
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Plan, propose and release, over and over, for one control plane",
		Long: `Run observes the control plane, the GitOps repositories and the clusters, acts on what it finds,
and reports, until it is interrupted. It needs no Kubernetes and keeps nothing of its own:
stop it, delete its cache, start it elsewhere, and it continues. Its status is on the branch
furrow/<base>/status/<id>/<environment> of the first GitOps repository by name; 'furrow status'
shows it. A pass that takes long shows how far it is: on a terminal in one line, in a log once a minute.
A push that a server does not answer is logged after 10 seconds.

A clone of the control plane may be behind. A run that reads a commit which does not follow the one
that was planned last does nothing, names both, and goes on only with --take-over.

With --kubeconfigs the clusters are asked how far they are: the directory holds one file for each
cluster whose Flux Furrow is to ask, named like the cluster, as in mgmt.yaml. Clusters that a seed
creates need no file: the Secret that their creator leaves on its cluster is read. A change on a
cluster is acted on at once; the repositories are observed every --interval, and with --listen
also when a forge sends a webhook.

With --simulate the clusters that the control plane declares are simulated in this process, as
strictly as real ones; nothing is applied anywhere. What is proposed and reported then describes no real
cluster, so a simulation never writes to a GitOps repository on a server, and to one on this machine
only if a simulation or the demo made it, or with --yes. One that is not there is made. With neither there is no health channel:
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
			if err == nil && once && hooks.address != "0" {
				err = usageError{errors.New("--once and --listen exclude each other")}
			}
			if err == nil && yes && !simulate {
				err = usageError{errors.New("--yes is for --simulate")}
			}
			if err != nil {
				return err
			}
			if !once {
				options.Interval, options.Slices = interval, true
			}
			options.Once = once
			options.Process = controlplane.Process("furrow run")
			if simulate {
				options.Simulation = &controlplane.Simulation{AnyLocal: yes}
			}
			return run(cmd, options, &hooks, interval, record, once, simulate)
		},
	}
	session.add(cmd)
	session.addStrict(cmd)
	flags := cmd.Flags()
	addDeletionGuard(flags, &session.options.DeletionGuard, "furrow confirm")
	addInterval(flags, &interval, 4*time.Second, "pause between passes in which nothing changed")
	addEnvironmentText(flags, &kubeconfigs, "kubeconfigs", "FURROW_KUBECONFIGS", "directory with a kubeconfig for each cluster whose reconciler is asked, named like the cluster; or set FURROW_KUBECONFIGS", existingDirectory)
	directories(cmd, "kubeconfigs")
	flags.BoolVar(&session.options.TakeOver, "take-over", false, "in the first pass, replace plans that a newer or unrelated commit of the control plane made")
	flags.BoolVar(&once, "once", false, "make one pass and end; exits with 3 when a seed is stalled or a repository has a problem")
	flags.Var(textFlag(&record, "", possibleDirectory), "record", "directory for records of the passes that decide something new, the newest 200, for 'furrow replay'")
	directories(cmd, "record")
	hooks.add(cmd, "listen")
	flags.BoolVar(&simulate, "simulate", false, "simulate the declared clusters; a second of the simulation is a pass, and with --once some time goes by first")
	flags.BoolVar(&yes, "yes", false, "let a simulation write to every GitOps repository on this machine, even if no simulation made it")
	return cmd
}

// run makes passes until it is interrupted, or one with once, and prints what changes between them.
func run(cmd *cobra.Command, options controlplane.Options, hooks *webhookFlags, interval time.Duration, record string, once, simulate bool) error {
	ctx, end := context.WithCancelCause(cmd.Context())
	defer end(nil)
	out := cmd.OutOrStdout()
	log, progress := newTransitions(out, options.Now), newProgressLine(cmd.ErrOrStderr())
	log.last = once
	options.Progress = progress.andLog(log)
	if record != "" {
		r, err := newRecorder(record, func(err error) { log.once("record", err.Error()) })
		if err != nil {
			return err
		}
		options.Record = r.record
	}
	handler, hints, err := hooks.open("listen")
	if err != nil {
		return err
	}
	s, tick, err := openRun(ctx, options, simulate)
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		fmt.Fprintln(out, stopped)
		return nil
	}
	if err != nil {
		return err
	}
	defer s.Close()
	made, err := s.Prepare(ctx)
	if err != nil {
		return err
	}
	for _, dir := range made {
		fmt.Fprintf(out, "Made the GitOps repository %s for the simulation.\n", dir)
	}
	if simulate {
		fmt.Fprintln(out, "The clusters are simulated: nothing is applied anywhere.")
		interval = min(interval, time.Second)
	}
	log.say("Furrow %s: control plane %s on branch %s, owner %s; %s", versionString(), s.Location(), s.Branch(), s.Owner(), mode(options, simulate))
	if handler != nil {
		at, err := hooks.listen(ctx, handler, end)
		if err != nil {
			return err
		}
		log.say("webhooks are received on http://%s%s", at, webhook.Path)
	}
	if once {
		warmUp(ctx, tick)
	}
	var last standalone.Result
	standalone.Run(ctx, s, interval, hints, func(result standalone.Result) bool {
		last = result
		progress.clear()
		log.add(result)
		logStrays(log, options.Channel, result.Report)
		if once {
			return false
		}
		if err := tick(ctx); err != nil && ctx.Err() == nil {
			log.once("simulation", fmt.Sprintf("the simulation: %v", err))
		}
		return true
	})
	progress.clear()
	if once {
		return verdictOf(last)
	}
	fmt.Fprintln(out, stopped)
	if cmd.Context().Err() == nil {
		return context.Cause(ctx) // nobody interrupted it
	}
	return nil
}

// logStrays logs the kubeconfigs of clusters that nothing declares, each once.
func logStrays(log *transitions, channel probe.Channel, report *engine.Report) {
	if channel, ok := channel.(*flux.Channel); ok && report != nil {
		for _, line := range strayKubeconfigs(channel.Files(), clusterNames(report)) {
			log.once(line, line)
		}
	}
}

// stopped is the last line of a run that is interrupted.
const stopped = "Stopped. Nothing is lost: start it again to continue."

// mode returns how the clusters are asked.
func mode(options controlplane.Options, simulate bool) string {
	switch {
	case simulate:
		return "the clusters are simulated"
	case options.Channel != nil:
		return "the clusters are asked through their kubeconfigs"
	}
	return "no cluster is asked, so nothing is ever Released: give --kubeconfigs, or --simulate"
}

// clusterNames returns the clusters that the control plane declares, those that its seeds create,
// and those that they are about to leave.
func clusterNames(r *engine.Report) []string {
	names := map[string]bool{}
	if r.Catalog != nil {
		for _, name := range r.Catalog.Inventory.Names() {
			names[name] = true
		}
		for _, s := range r.Catalog.Seeds {
			for _, o := range s.Objects() {
				if catalog.IsCreator(o.ID.GroupKind()) {
					names[o.ID.Name] = true
				}
			}
		}
	}
	for _, s := range r.Seeds {
		for _, t := range s.Tiers {
			names[t.Cluster] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// strayKubeconfigs returns a line for each kubeconfig that is of no cluster, as after a typo: the
// cluster that was meant would stay Unknown without another word. It says nothing while no cluster
// is known.
func strayKubeconfigs(files map[string]string, clusters []string) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !slices.Contains(clusters, name) && len(clusters) > 0 {
			out = append(out, fmt.Sprintf("! the kubeconfig %s is of no cluster of the control plane. Name it after one of: %s; or remove it", files[name], strings.Join(nearest(name, clusters), ", ")))
		}
	}
	return out
}

// warmUpTicks is how many seconds of the simulation come before a single pass. Its clusters start
// empty in each process; by then they have applied what was merged, and the pass does not find the
// fleet as after a disaster.
const warmUpTicks = 30

func warmUp(ctx context.Context, tick func(context.Context) error) {
	for range warmUpTicks {
		if tick(ctx) != nil {
			return // the pass meets the same error, and reports it
		}
	}
}

// verdictOf returns the error of a single pass: that it failed, or that something is stalled.
func verdictOf(result standalone.Result) error {
	if result.Err != nil || result.Report == nil {
		return result.Err
	}
	stalled := slices.ContainsFunc(result.Report.Seeds, func(s state.Seed) bool { return s.State == state.Stalled })
	if stalled || len(result.Report.Problems) > 0 {
		return errProblems
	}
	return nil
}

// openRun opens a session, with simulated clusters if asked for.
func openRun(ctx context.Context, options controlplane.Options, simulate bool) (*controlplane.Session, func(context.Context) error, error) {
	if simulate {
		s, sim, err := standalone.Simulate(ctx, options)
		return s, sim.Tick, err
	}
	s, err := controlplane.Open(ctx, options)
	return s, func(context.Context) error { return nil }, err
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/controlplane"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/demo"
	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/internal/standalone"
)

// demoInterval is the pause between passes of the demo in which nothing changed.
const demoInterval = 150 * time.Millisecond

// demoLimit is how long a demo with --merge may take.
const demoLimit = 2 * time.Minute

func newDemo() *cobra.Command {
	var dir string
	var merge bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Plant a workload that creates its own cluster, on simulated clusters",
		Long: `Demo makes a control-plane and a GitOps repository, simulates one management cluster and two
workload clusters, and plants a seed that creates a third one: its tiers are proposed as
branches, one after the other, and each waits until what it needs runs and is healthy.

Without --merge you accept the proposals, with 'furrow pr merge' in another terminal.
With --merge the demo accepts them itself, updates the seed, and ends when all is released.

Everything is simulated but Git: nothing is applied to any cluster.`,
		Example: `  furrow demo --merge
  furrow demo --dir /tmp/furrow-demo`,
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return runDemo(cmd, dir, merge) },
	}
	cmd.Flags().Var(textFlag(&dir, "", possibleDirectory), "dir", "directory of the demo's repositories; one that has them already is continued (default: a temporary one)")
	cmd.Flags().BoolVar(&merge, "merge", false, "accept all proposals, update the seed, and end")
	return cmd
}

// runDemo prepares the repositories, or finds those that a demo before it left, and runs the demo
// there. Only a temporary directory of a demo that ends by itself is removed: with the others,
// people may still be at work.
func runDemo(cmd *cobra.Command, dir string, merge bool) error {
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	if dir == "" {
		temporary, err := os.MkdirTemp("", "furrow-demo-")
		if err != nil {
			return err
		}
		if merge {
			defer os.RemoveAll(temporary)
		}
		dir = temporary
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	repos, again, err := demo.Prepare(ctx, dir)
	if err != nil {
		return err
	}
	s, sim, err := standalone.Simulate(ctx, controlplane.Options{ControlPlane: repos.ControlPlane(), Cache: repos.Cache(), DeletionGuard: 100})
	if err != nil {
		return err
	}
	defer s.Close()
	if _, err := s.Prepare(ctx); err != nil {
		return err
	}
	demoHeader(out, repos, merge, again)
	d := &demoRun{repos: repos, session: s, sim: sim, merge: merge, updated: again || !merge, out: out, log: newTransitions(out, nil)}
	return d.run(ctx)
}

// demoHeader says where everything is, and what to try.
func demoHeader(w io.Writer, p demo.Repositories, merge, again bool) {
	fmt.Fprintf(w, "Control plane  %s\nGitOps         %s\nClusters       mgmt, site-a, site-b, and edge-1, which the seed creates. All are simulated.\n\n", p.ControlPlane(), p.GitOps())
	if again {
		fmt.Fprintln(w, "The repositories were there already: carrying on with what they hold.")
	}
	if merge {
		return
	}
	fmt.Fprintf(w, `In another terminal:
  export FURROW_CONTROL_PLANE=%s
  furrow status                          # which tier is where, and what waits for you
  furrow pr list
  furrow pr show edge-5g/mgmt/00         # what a reviewer reads
  furrow pr merge edge-5g/mgmt/00        # accept it; then watch here
  furrow explain Deployment/core/upf     # where it goes, why, and what it waits for
Once all is released, try an update:
  cp %s %s
  git -C %s commit -am "Update edge-5g"
End with Ctrl-C.

`, p.ControlPlane(), p.UpdateFile(), p.SeedFile(), p.ControlPlane())
}

// demoRun is a demo under way. With merge, updated says whether the story has come to the update
// already; done and err end it.
type demoRun struct {
	repos   demo.Repositories
	session *controlplane.Session
	sim     *standalone.Simulation
	merge   bool
	updated bool
	out     io.Writer
	log     *transitions
	err     error
	done    bool
}

// run makes passes until the demo is over. An error of a step ends it; with --merge, so does time.
func (d *demoRun) run(ctx context.Context) error {
	if d.merge {
		limited, cancel := context.WithTimeout(ctx, demoLimit)
		defer cancel()
		ctx = limited
	}
	standalone.Run(ctx, d.session, demoInterval, nil, func(result standalone.Result) bool {
		d.log.add(result)
		if err := d.step(ctx, result); err != nil && ctx.Err() == nil {
			d.err = err
			return false
		}
		return !d.done
	})
	switch {
	case d.err != nil:
		return d.err
	case d.merge && !d.done:
		return errors.Join(errors.New("the demo ended before everything was released"), ctx.Err())
	}
	return nil
}

// step moves the simulated clusters on and, with --merge, the story: it merges all that is
// proposed, as a reviewer would who approves of everything, and when a pass changed nothing,
// everything is released and nothing is proposed, it goes on with the next chapter. Its errors end
// the demo only with --merge, where nobody is there to do something about them.
func (d *demoRun) step(ctx context.Context, result standalone.Result) error {
	err := d.sim.Tick(ctx)
	if !d.merge { // a person may fix what is wrong
		if err != nil && ctx.Err() == nil {
			d.log.once("simulation", fmt.Sprintf("the simulation: %v", err))
		}
		return nil
	}
	if err != nil || result.Report == nil {
		return errors.Join(err, result.Err)
	}
	all, err := proposals(ctx, d.session)
	if err != nil {
		return err
	}
	for _, l := range all {
		if err := l.repo.Forge.Merge(ctx, l.proposal, git.Person{Name: "Demo", Email: "demo@example.com", When: time.Now()}); err != nil {
			return err
		}
		for _, m := range l.proposal.Tiers {
			d.log.sayTier(m.Tier.Seed, m.Tier.Name(), "merged", "by the demo, as a reviewer would")
		}
	}
	if len(all) > 0 || result.Report.Changed || !result.Report.Done() {
		return nil
	}
	return d.next(ctx, result)
}

// next goes on when everything is released: first to the update, then to the end.
func (d *demoRun) next(ctx context.Context, result standalone.Result) error {
	if !d.updated {
		d.updated = true
		fmt.Fprintf(d.out, "\nEverything is released. Now an update: another image, one Slice more, one Slice less.\n\n")
		return d.repos.Update(ctx)
	}
	if report, ok := result.Report.Seed(demo.Seed); !ok || len(report.Tiers) == 0 {
		return nil
	}
	d.done = true
	fmt.Fprintln(d.out)
	(&statusView{State: &result.Report.State, now: time.Now()}).body(d.out)
	for _, c := range d.sim.Simulator().Describe() {
		fmt.Fprintf(d.out, "Cluster %-8s %s, %s\n", c.Name, c.State, plural(c.Objects, "object"))
	}
	for _, r := range d.sim.Simulator().Rejections() {
		return manifest.Problem{Reason: v1alpha1.ReasonInternal, Message: fmt.Sprintf("a simulated cluster rejected an object: %s", r)}
	}
	fmt.Fprintln(d.out, "Everything is released; no cluster rejected anything.")
	return nil
}

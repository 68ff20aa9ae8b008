package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/controlplane"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/render"
)

var errNoSeeds error = manifest.Problem{Reason: v1alpha1.ReasonEmptySeed, Message: "the control plane has no seeds; add one under seeds/, or name a file with -f"}

// planCommand is furrow plan, and furrow lint with the same flags. Both read the control plane as
// passes do and compute plans with plan.Compute; neither asks a cluster or writes to a repository.
type planCommand struct {
	session sessionFlags
	output  outputFlag
	input   inputFlags
	out     string
	// diff shows what changes about the plans in force.
	diff bool
	// against is the state that lint compares with; empty for none.
	against string
	// committed reports whether a directory is read as it is committed, and not as it is on disk.
	committed bool
	// plans reports whether lint reads the plans on servers.
	plans bool
	// traits are those of the clusters that are planned for.
	traits traits
	// present shows one plan or more.
	present func(*cobra.Command, []*plan.Plan) error
}

func newPlan() *cobra.Command {
	c := &planCommand{output: outputFlag{hasWide: true, graphs: []string{"dot", "mermaid"}}}
	c.present = c.print
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Show what goes where, in which tier, and why; changes nothing",
		Long: `Plan works out the tiers of seeds without touching any repository or cluster.

With -f it plans a file, a directory, or standard input as a seed; several -f are one seed.
The clusters are those of --control-plane, or, without one, two imagined clusters named
"management" and "workload". Without -f it plans the seeds of the control plane: all, or the
one of --seed.

With --diff it shows what that changes about the plans in force: which tiers are new, which change
and which leave, with their objects. A directory is compared as it is on disk, committed or not.

Warnings come first. Clusters that are equal are shown as one, and the objects of a tier that has
many by why and kind, with some of their names; -o wide shows each. With -o dot or mermaid it writes
the graph of the tiers of one seed, as furrow graph does.

It exits with 3 when a seed cannot be planned.`,
		Example: `  helm template my-app ./chart | furrow plan -n my-app -f -
  furrow plan -f seeds/edge-5g.yaml --control-plane . -o yaml
  furrow plan --control-plane . --diff
  furrow plan --control-plane https://git.example.com/platform/control-plane --seed edge-5g --out /tmp/plan`,
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	c.session.add(cmd)
	c.session.addStrict(cmd)
	c.output.add(cmd)
	c.input.add(cmd, "plan", "the only seed to plan; ")
	mustComplete(cmd, "seed", c.session.completeSeeds)
	cmd.Flags().Var(textFlag(&c.out, "", possibleDirectory), "out", "directory to write the plan's tree to, with plan.yaml; must be empty or absent (without -f or --seed: one directory in it for each seed)")
	directories(cmd, "out")
	cmd.Flags().BoolVar(&c.diff, "diff", false, "show what changes about the plans in force")
	return cmd
}

// run plans what the flags name and shows all it can. That some of it cannot be read or planned is
// known by the exit code, and written to the standard error.
func (c *planCommand) run(cmd *cobra.Command) error {
	if c.diff {
		return c.compare(cmd)
	}
	cat, revision, err := c.catalog(cmd.Context(), cmd.InOrStdin())
	if err != nil {
		return err
	}
	c.traits = traitsIn(cat)
	for _, p := range notPlanned(cat, c.input.seed) {
		fmt.Fprintln(cmd.ErrOrStderr(), "warning: "+p.Error())
	}
	if len(cat.Problems) > 0 {
		printErrors(cmd.ErrOrStderr(), cat.Problems)
	}
	outcomes, err := compute(cmd.Context(), plan.Input{Catalog: cat, Owner: "furrow/plan", Revision: revision, Strict: c.session.options.Strict})
	if err != nil {
		return err
	}
	if only := c.input.seed; only != "" {
		if _, ok := outcomes[only]; !ok {
			return manifest.Problem{Reason: v1alpha1.ReasonUnknownSeed, Message: fmt.Sprintf("there is no seed %q; there are: %s", only, strings.Join(slices.Sorted(maps.Keys(outcomes)), ", "))}
		}
		maps.DeleteFunc(outcomes, func(name string, _ *plan.Outcome) bool { return name != only })
	}
	if len(outcomes) == 0 {
		return errNoSeeds
	}
	if err := c.show(cmd, outcomes); err != nil {
		return err
	}
	if len(cat.Problems) > 0 {
		return errProblems
	}
	return nil
}

// compare shows what changes about the plans in force. It needs a session, because plans in force
// are on the base branches of the GitOps repositories; of the control plane, a directory is read as
// it is on disk.
func (c *planCommand) compare(cmd *cobra.Command) error {
	if c.input.given() || c.out != "" {
		return usageError{errors.New("--diff compares a control plane: leave out -f and --out")}
	}
	if slices.Contains(c.output.graphs, c.output.format) {
		return usageError{fmt.Errorf("--diff has no graph: leave out -o %s", c.output.format)}
	}
	options, err := c.session.named()
	if err != nil {
		return err
	}
	tree, err := c.tree(cmd.Context())
	if err != nil {
		return err
	}
	if tree.dir != "" {
		options.Tree = tree.FS
	}
	s, err := controlplane.Open(cmd.Context(), options)
	if err != nil {
		return err
	}
	defer s.Close()
	previews, problems, err := s.Engine().Previews(cmd.Context(), c.input.seed)
	if err != nil {
		return err
	}
	return showDiffs(cmd.OutOrStdout(), cmd.ErrOrStderr(), &c.output, previews, problems, false)
}

// notPlanned returns the files that are not read and that no plan names: those outside of seeds,
// and of seeds that cannot be read, or of the only one that is planned. The plan of a seed that can
// be read names its own.
func notPlanned(cat *catalog.Catalog, only string) []manifest.Problem {
	skipped := slices.Clone(cat.Skipped)
	for _, s := range cat.Seeds {
		if s.Err != nil && (only == "" || only == s.Name) {
			skipped = append(skipped, s.Skipped...)
		}
	}
	return skipped
}

// compute is plan.Compute, until ctx ends.
func compute(ctx context.Context, in plan.Input) (map[string]*plan.Outcome, error) {
	return await(ctx, "planning", func() (map[string]*plan.Outcome, error) { return plan.Compute(in), nil })
}

// controlPlaneTree is the tree of a control plane.
type controlPlaneTree struct {
	fs.FS
	revision string
	// dir is where it is, if that is a directory.
	dir string
}

// catalog returns what is planned: files on the clusters of a control plane, or the control plane
// itself.
func (c *planCommand) catalog(ctx context.Context, stdin io.Reader) (*catalog.Catalog, string, error) {
	tree, err := c.tree(ctx)
	if err != nil {
		return nil, "", err
	}
	limits, plugins := c.session.options.Limits, c.session.options.Plugins
	if !c.input.given() {
		if tree.FS == nil {
			return nil, "", usageError{errors.New("name what to plan, with -f or --control-plane")}
		}
		cat, err := await(ctx, "reading the control plane", func() (*catalog.Catalog, error) {
			return render.Load(ctx, tree.FS, render.Options{Limits: limits, Plugins: plugins})
		})
		return cat, tree.revision, err
	}
	candidate, err := c.input.read(ctx, stdin, limits, tree.dir)
	if err != nil {
		return nil, "", err
	}
	c.input.seed = candidate.SeedName()
	cat, err := await(ctx, "reading the control plane", func() (*catalog.Catalog, error) {
		return render.Load(ctx, tree.FS, render.Options{Limits: limits, Plugins: plugins, Candidate: &candidate})
	})
	return cat, tree.revision, err
}

// tree returns the control plane's: a directory as it is on disk, committed or not, or a repository
// by URL. The zero value if none is named and files are planned: the current directory is a control
// plane only without -f, which means the same everywhere.
func (c *planCommand) tree(ctx context.Context) (tree controlPlaneTree, err error) {
	options, err := c.session.resolved()
	if err != nil {
		return tree, err
	}
	at := options.ControlPlane
	if c.input.given() {
		at = c.session.options.ControlPlane
	}
	if at == "" {
		return tree, nil
	}
	if info, err := os.Stat(at); err == nil && info.IsDir() && !isBare(at) && !c.committed {
		tree.dir = filepath.Join(at, options.Path)
		tree.FS, err = controlplane.Below(os.DirFS(at), options.Path, at)
		return tree, err
	}
	s, err := c.session.open(ctx)
	if err != nil {
		return tree, err
	}
	defer s.Close()
	tree.FS, tree.revision, err = s.Tree(ctx)
	return tree, err
}

// isBare reports whether a directory is a repository without a work tree, whose content has to be
// read through Git.
func isBare(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "HEAD"))
	return err == nil
}

// show writes the plans, and to the standard error why there is none of the others.
func (c *planCommand) show(cmd *cobra.Command, outcomes map[string]*plan.Outcome) error {
	var plans []*plan.Plan
	failed := false
	for _, name := range slices.Sorted(maps.Keys(outcomes)) {
		o := outcomes[name]
		if o.Err != nil {
			failed = true
			printErrors(cmd.ErrOrStderr(), o.Err)
			continue
		}
		plans = append(plans, o.Plan)
		if err := c.write(o); err != nil {
			return err
		}
	}
	if len(plans) > 0 {
		if err := c.present(cmd, plans); err != nil {
			return err
		}
	}
	if failed {
		return errProblems
	}
	return nil
}

// print writes plans in the format of -o.
func (c *planCommand) print(cmd *cobra.Command, plans []*plan.Plan) error {
	if slices.Contains(c.output.graphs, c.output.format) {
		return writeGraph(raw(cmd.OutOrStdout()), plans, c.output.format, nil)
	}
	views := make([]planDocument, len(plans))
	for i, p := range plans {
		views[i] = planDocument{p}
	}
	var value any = views
	if len(views) == 1 {
		value = views[0]
	}
	return c.output.write(cmd.OutOrStdout(), value, func(w io.Writer) {
		for _, p := range plans {
			planTable(w, p, c.traits, c.output.wide())
		}
	})
}

// printErrors writes each problem of an error with a prefix of its own.
func printErrors(w io.Writer, err error) {
	for _, problem := range problems(err) {
		fmt.Fprintln(w, "error: "+problem.Error())
	}
}

// problems returns those of an error, each whole.
func problems(err error) []error {
	several, ok := err.(manifest.Problems) //nolint:errorlint // a wrapped list is shown with what wraps it
	if !ok {
		return []error{err}
	}
	return several.Unwrap()
}

// write puts the plan's tree into --out; with several seeds each in a directory of its name.
func (c *planCommand) write(o *plan.Outcome) error {
	if c.out == "" {
		return nil
	}
	dir := c.out
	if c.input.seed == "" {
		dir = filepath.Join(dir, o.Plan.Seed)
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return manifest.Problem{Reason: v1alpha1.ReasonInvalidArgument, Message: fmt.Sprintf("%s is not empty; name an empty or absent directory with --out", dir)}
	}
	files, err := o.Plan.Encode()
	if err != nil {
		return err
	}
	for _, repo := range o.Files {
		for at, f := range repo.Flat() {
			files[at] = f.Data
		}
	}
	made := map[string]bool{}
	for at, data := range files {
		target := filepath.Join(dir, filepath.FromSlash(at))
		if parent := filepath.Dir(target); !made[parent] {
			if err := os.MkdirAll(parent, 0o755); err != nil {
				return err
			}
			made[parent] = true
		}
		if err := os.WriteFile(target, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

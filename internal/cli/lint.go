package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
)

// finding is one thing that lint has to say.
type finding struct {
	Severity string `json:"severity"`
	Seed     string `json:"seed,omitempty"`
	Message  string `json:"message"`
}

func newLint() *cobra.Command {
	c := &planCommand{}
	cmd := &cobra.Command{
		Use:   "lint",
		Short: "Check a control plane, or a file: what would hold a seed, and every warning",
		Long: `Lint reads a control-plane directory as it stands on disk, or a repository by URL, and
plans every seed. With -f it checks one file or directory as a seed, on the clusters of
--control-plane or, without one, on two imagined clusters. It exits with 3 when a seed cannot
be planned; with --strict also when a namespace or kind is brought by nobody.`,
		Example: `  furrow lint --control-plane .
  furrow lint -f seeds/edge-5g.yaml -n core`,
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.lint(cmd) },
	}
	c.session.add(cmd)
	c.session.addStrict(cmd)
	c.output.add(cmd)
	cmd.Flags().StringVarP(&c.file, "file", "f", "", "file or directory to check as a seed; - is standard input")
	files(cmd, "file", manifests...)
	cmd.Flags().VarP(textFlag(&c.namespace, "", dnsLabel), "namespace", "n", "with -f, namespace of objects that have none")
	cmd.Flags().Var(textFlag(&c.seed, "", dnsLabel), "seed", "with -f, name of the seed (default: that of its Seed document, else of the file)")
	return cmd
}

func (c *planCommand) lint(cmd *cobra.Command) error {
	cat, _, err := c.catalog(cmd.Context(), cmd.InOrStdin())
	if err != nil {
		return err
	}
	findings := []finding{}
	for _, p := range cat.Problems {
		findings = append(findings, finding{"error", "", p.Error()})
	}
	outcomes := plan.Compute(plan.Input{Catalog: cat, Owner: "furrow/lint", Strict: c.session.options.Strict})
	for _, name := range slices.Sorted(maps.Keys(outcomes)) {
		o := outcomes[name]
		switch {
		case o.Err != nil:
			for _, message := range messages(o.Err) {
				if !slices.ContainsFunc(cat.Problems, func(p manifest.Problem) bool { return p.Error() == message }) {
					findings = append(findings, finding{"error", name, message})
				}
			}
		case o.Plan != nil:
			for _, w := range o.Plan.Warnings {
				findings = append(findings, finding{"warning", name, w.String()})
			}
		}
	}
	if len(outcomes) == 0 && len(findings) == 0 {
		return errNoSeeds
	}
	if err := c.output.write(cmd.OutOrStdout(), findings, func(w io.Writer) { lintTable(w, findings, len(outcomes)) }); err != nil {
		return err
	}
	if slices.ContainsFunc(findings, func(f finding) bool { return f.Severity == "error" }) {
		return errProblems
	}
	return nil
}

func lintTable(w io.Writer, findings []finding, seeds int) {
	errors := 0
	for _, f := range findings {
		if f.Severity == "error" {
			errors++
		}
		fmt.Fprintf(w, "%s: %s\n", f.Severity, f.Message)
	}
	fmt.Fprintf(w, "%s checked: %s, %s\n", plural(seeds, "seed"), plural(errors, "error"), plural(len(findings)-errors, "warning"))
}

package cli

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/controlplane"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/delivery/kinds"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/template"
	"github.com/furrow-dev/furrow/internal/engine"
)

// finding is one thing that lint has to say.
type finding struct {
	Severity string          `json:"severity"`
	Seed     string          `json:"seed,omitempty"`
	Reason   v1alpha1.Reason `json:"reason"`
	Message  string          `json:"message"`
}

func findingOf(severity, seed string, err error) finding {
	return finding{severity, seed, manifest.ProblemOf(err).Reason, err.Error()}
}

func newLint() *cobra.Command {
	c := &planCommand{}
	cmd := &cobra.Command{
		Use:   "lint",
		Short: "Check a control plane, or a file: what would hold a seed, and every warning",
		Long: `Lint reads a control-plane directory as it is on disk, or a repository by URL, plans
every seed, and renders each Template with a sample. With -f it checks files or directories
as one seed, on the clusters of --control-plane or, without one, on two imagined clusters.
It exits with 3 when a seed cannot be planned; with --strict also when a namespace or kind
is brought by nobody. It names clusters that are planted and no longer declared, by the plans in GitOps
repositories that are directories; with --plans also by those on servers, which it asks for nothing else.

With --against it compares with another state, and warns of changes that API servers would refuse, such as another
template of a Job.`,
		Example: `  furrow lint --control-plane .
  furrow lint --against main
  furrow lint -f seeds/edge-5g.yaml -n core`,
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.lint(cmd) },
	}
	c.session.addTree(cmd)
	c.session.addStrict(cmd)
	c.output.add(cmd)
	c.input.add(cmd, "check", "")
	cmd.Flags().Var(textFlag(&c.against, "", anyText), "against", "state to compare with: a branch of the control plane's repository, or another directory; with -f, a file or directory")
	cmd.Flags().BoolVar(&c.plans, "plans", false, "read the plans in GitOps repositories on servers, too, to name clusters that are planted and no longer declared")
	return cmd
}

// lint gathers all findings before it prints any. A problem that is the catalog's and the reason
// why a seed has no plan is one finding.
func (c *planCommand) lint(cmd *cobra.Command) error {
	cat, _, err := c.catalog(cmd.Context(), cmd.InOrStdin())
	if err != nil {
		return err
	}
	findings := []finding{}
	for _, p := range cat.Problems {
		findings = append(findings, findingOf("error", "", p))
	}
	if !c.input.given() {
		repos, err := c.lintRepos(cat)
		if err != nil {
			return err
		}
		findings = append(findings, repos...)
		findings = append(findings, lintVerify(cat)...)
		findings = append(findings, lintTemplates(cat)...)
		lost, notes := c.lintPlanted(cmd.Context(), cat)
		findings = append(findings, lost...)
		for _, note := range notes {
			fmt.Fprintln(cmd.ErrOrStderr(), "note: "+note)
		}
	}
	for _, p := range cat.Skipped {
		findings = append(findings, findingOf("warning", "", p))
	}
	outcomes, err := compute(cmd.Context(), plan.Input{Catalog: cat, Owner: "furrow/lint", Strict: c.session.options.Strict})
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(outcomes)) {
		o := outcomes[name]
		switch {
		case o.Err != nil:
			for _, err := range problems(o.Err) {
				if !slices.ContainsFunc(cat.Problems, func(p manifest.Problem) bool { return p.Error() == err.Error() }) {
					findings = append(findings, findingOf("error", name, err))
				}
			}
			findings = append(findings, skippedOf(cat, name)...)
		case o.Plan != nil:
			for _, w := range o.Plan.Warnings {
				findings = append(findings, findingOf("warning", name, w.Problem()))
			}
		}
	}
	if c.against != "" {
		refused, err := c.lintAgainst(cmd.Context(), cmd.InOrStdin(), outcomes)
		if err != nil {
			return err
		}
		findings = append(findings, refused...)
	}
	broken := slices.ContainsFunc(findings, func(f finding) bool { return f.Severity == "error" })
	if len(outcomes) == 0 && !broken {
		return errNoSeeds
	}
	if err := c.output.write(cmd.OutOrStdout(), findings, func(w io.Writer) { lintTable(w, findings, len(outcomes)) }); err != nil {
		return err
	}
	if broken {
		return errProblems
	}
	return nil
}

// skippedOf names the files of a seed without a plan that are not read.
func skippedOf(cat *catalog.Catalog, name string) []finding {
	var findings []finding
	if s, ok := cat.Seed(name); ok {
		for _, p := range s.Skipped {
			findings = append(findings, findingOf("warning", name, p))
		}
	}
	return findings
}

// lintTemplates renders each Template, and the labels of proposals, with a sample of what it would
// be given.
func lintTemplates(cat *catalog.Catalog) []finding {
	labels := map[string]string{}
	for _, name := range cat.Inventory.Names() {
		maps.Copy(labels, cat.Inventory.Clusters[name].Labels)
	}
	var findings []finding
	for _, name := range slices.Sorted(maps.Keys(cat.Templates)) {
		doc := cat.Templates[name]
		at := "Template/" + name
		text := template.Text{Name: at, Text: doc.Spec.Text}
		var err error
		if doc.Spec.Type == v1alpha1.TemplateProposal {
			err = template.CheckProposal(text)
		} else {
			err = kinds.All[string(v1alpha1.ReconcilerFlux)].CheckTemplate(text, labels)
		}
		if failed := (*template.Error)(nil); errors.As(err, &failed) {
			p := manifest.Problem{Reason: failed.Problem().Reason, Source: cat.Positions[at], Object: fmt.Sprintf("Template %q", name), Message: "spec.text: " + failed.Message(), Next: "Correct the template."}
			findings = append(findings, findingOf("error", "", p))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(cat.Repos)) {
		labels := cat.Repos[name].Spec.Proposals.Labels
		at := "GitOpsRepo/" + name
		err := template.CheckLabels(template.Text{Name: at, Text: strings.Join(labels, "\n")})
		if failed := (*template.Error)(nil); errors.As(err, &failed) {
			p := manifest.Problem{Reason: failed.Problem().Reason, Source: cat.Positions[at], Object: fmt.Sprintf("GitOpsRepo %q", name), Message: "spec.proposals.labels: " + failed.Message(), Next: "Correct the template."}
			findings = append(findings, findingOf("error", "", p))
		}
	}
	return findings
}

// lintVerify reads the keys by which commits of the control plane are verified.
func lintVerify(cat *catalog.Catalog) []finding {
	if cat.ControlPlane == nil || cat.ControlPlane.Spec.Verify == nil {
		return nil
	}
	_, err := controlplane.VerifyKeys(*cat.ControlPlane.Spec.Verify)
	if err == nil {
		return nil
	}
	name := cat.ControlPlane.Metadata.Name
	p := manifest.ProblemOf(err)
	p.Source, p.Object = cat.PositionOf("ControlPlane/"+name, p.Field), fmt.Sprintf("ControlPlane %q", name)
	return []finding{findingOf("error", "", p)}
}

// lintRepos finds what would keep a run from opening the GitOps repositories. Their servers are not
// asked.
func (c *planCommand) lintRepos(cat *catalog.Catalog) ([]finding, error) {
	options, err := c.session.resolved()
	if err != nil {
		return nil, err
	}
	var findings []finding
	for _, name := range slices.Sorted(maps.Keys(cat.Repos)) {
		spec := cat.Repos[name].Spec
		at, declared := cat.Positions["GitOpsRepo/"+name]
		p := manifest.Problem{Source: at, Object: fmt.Sprintf("GitOpsRepo %q", name)}
		if catalog.CheckCredentials(spec.Credentials) != nil {
			spec.Credentials = "" // it is a problem of the catalog, if there is a name
		}
		switch {
		case !declared:
			findings = append(findings, findingOf("error", "", engine.ErrNoGitOpsRepo))
			continue
		case spec.URL == "":
			continue // it is a problem of the catalog
		case spec.Credentials != "" && options.Credentials == nil:
			p.Reason = v1alpha1.ReasonCredentialsMissing
			p.Message, p.Next = fmt.Sprintf("spec.credentials %q is not checked, because --credentials is not given", spec.Credentials), "'furrow run' needs it."
			findings = append(findings, findingOf("warning", "", p))
			spec.Credentials = ""
		}
		faults, err := controlplane.CheckRepo(options, spec)
		if err != nil {
			return nil, err
		}
		for _, fault := range faults {
			p.Reason, p.Message, p.Next = manifest.ProblemOf(fault).Reason, fault.Error(), ""
			p.Source = cat.PositionOf("GitOpsRepo/"+name, manifest.ProblemOf(fault).Field)
			findings = append(findings, findingOf("error", "", p))
		}
	}
	return findings, nil
}

func lintTable(w io.Writer, findings []finding, seeds int) {
	broken := 0
	for _, f := range findings {
		if f.Severity == "error" {
			broken++
		}
		fmt.Fprintf(w, "%s: %s\n", f.Severity, f.Message)
	}
	fmt.Fprintf(w, "%s checked: %s, %s\n", plural(seeds, "seed"), plural(broken, "error"), plural(len(findings)-broken, "warning"))
}

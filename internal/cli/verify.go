package cli

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/furrow-dev/furrow/internal/controlplane"
	"github.com/furrow-dev/furrow/internal/core/audit"
)

// shownDigits is how many digits of a commit are shown.
const shownDigits = 10

func newVerify() *cobra.Command {
	var session sessionFlags
	var all bool
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "List what lies at Furrow's paths and came from no plan of this control plane",
		Long: `Verify compares the base branches of all GitOps repositories with the plans of this control plane.
It lists each file in planted/, and in furrow/ below the root of a cluster, that no plan has with
that content: with the commit that brought it and its author. What one commit brought is one line;
--files lists each file.

A file that a person changed in a proposal before they merged it is listed, too, and so is what
another control plane has planted in the same repository. A plan on a plan branch that this control
plane does not make counts for nothing.

Verify changes nothing. Exit code 3 means that it found something.`,
		Example: `  furrow verify
  furrow verify --files`,
		Args: cobra.NoArgs,
	}
	cmd.RunE = session.with(func(cmd *cobra.Command, s *controlplane.Session, _ []string) error {
		found, err := s.Engine().Audit(cmd.Context())
		if err != nil {
			return err
		}
		if len(found) == 0 {
			fmt.Fprintln(cmd.OutOrStdout(), "Everything at Furrow's paths came from a plan of this control plane.")
			return nil
		}
		groups := audit.Fold(found)
		if all {
			groups = nil
			for _, f := range found {
				groups = append(groups, audit.Group{Finding: f, Paths: []string{f.Path}})
			}
		}
		lines := [][]string{{"REPOSITORY", "WHAT", "COMMIT", "AUTHOR", "SUBJECT"}}
		for _, g := range groups {
			commit := g.Commit[:min(len(g.Commit), shownDigits)]
			lines = append(lines, []string{g.Repo, g.Where(), cmp.Or(commit, "older"), g.Author, g.Subject})
		}
		rows(cmd.OutOrStdout(), lines)
		return errProblems
	})
	session.add(cmd)
	cmd.Flags().BoolVar(&all, "files", false, "list each file")
	return cmd
}

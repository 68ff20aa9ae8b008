package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/furrow-dev/furrow/internal/core/dependency"
	"github.com/furrow-dev/furrow/internal/core/placement"
)

// ruleTable is what furrow explain --rules prints.
type ruleTable struct {
	Placement    []ruleRow `json:"placement"`
	Dependencies []ruleRow `json:"dependencies"`
}

// ruleRow is one rule.
type ruleRow struct {
	Name string `json:"name"`
	Doc  string `json:"does"`
	Why  string `json:"why,omitempty"`
}

// explainRules adds --rules to a command that explains an object: with it, the command takes no
// object and prints the rules by which objects are placed and ordered.
func explainRules(cmd *cobra.Command, output *outputFlag) {
	list := false
	cmd.Flags().BoolVar(&list, "rules", false, "print the rules of placement and dependencies instead; spec.disabledRules of a seed switches those of dependencies off")
	args, run := cmd.Args, cmd.RunE
	cmd.Args = func(cmd *cobra.Command, names []string) error {
		if list && len(names) > 0 {
			return usageError{errors.New("--rules is about no object: name none")}
		}
		if list {
			return nil
		}
		return args(cmd, names)
	}
	cmd.RunE = func(cmd *cobra.Command, names []string) error {
		if !list {
			return run(cmd, names)
		}
		t := allRules()
		return output.write(cmd.OutOrStdout(), t, t.write)
	}
}

func allRules() ruleTable {
	var t ruleTable
	for _, r := range placement.Rules() {
		t.Placement = append(t.Placement, ruleRow{Name: r.Name, Doc: r.Doc})
	}
	for _, r := range dependency.Rules() {
		t.Dependencies = append(t.Dependencies, ruleRow{Name: r.Name, Doc: r.Doc, Why: r.Why})
	}
	return t
}

// write shows the rules, a paragraph each.
func (t ruleTable) write(w io.Writer) {
	heading(w, "Where an object goes: the first rule that matches")
	for _, r := range t.Placement {
		paragraph(w, "      ", fmt.Sprintf("  %s: %s", r.Name, r.Doc))
	}
	fmt.Fprintln(w)
	heading(w, "What an object waits for: all rules that are not switched off")
	for _, r := range t.Dependencies {
		paragraph(w, "      ", fmt.Sprintf("  %s: %s %s", r.Name, r.Doc, r.Why))
	}
}

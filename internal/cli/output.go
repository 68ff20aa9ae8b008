package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// outputFlag is -o table|yaml|json.
type outputFlag struct{ format string }

func (f *outputFlag) add(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&f.format, "output", "o", "table", "output format: table, yaml or json")
}

// write writes value as yaml or json, or calls table.
func (f *outputFlag) write(w io.Writer, value any, table func(io.Writer)) error {
	switch f.format {
	case "table":
		table(w)
		return nil
	case "yaml":
		data, err := yaml.Marshal(value)
		if err != nil {
			return err
		}
		_, err = w.Write(data)
		return err
	case "json":
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(value)
	}
	return usageError{fmt.Errorf("-o %q is unknown: use table, yaml or json", f.format)}
}

// check is for commands that do much before they print.
func (f *outputFlag) check() error {
	return f.write(io.Discard, nil, func(io.Writer) {})
}

// rows writes lines of tab-separated cells as a table.
func rows(w io.Writer, lines [][]string) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, cells := range lines {
		fmt.Fprintln(tw, strings.Join(cells, "\t"))
	}
	_ = tw.Flush() // the error is that of w, which its owner sees
}

func plural(n int, noun string) string {
	if n == 1 {
		return fmt.Sprintf("1 %s", noun)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

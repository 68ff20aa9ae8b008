package cli

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// outputFlag is -o table|yaml|json, and wide for commands that have more to show. Tables are for
// people and may change; yaml and json are for programs and have the fields of the type that the
// command passes to write.
type outputFlag struct {
	format string
	// hasWide reports whether there is a format wide.
	hasWide bool
	// graphs are further formats, of pictures, which write does not know.
	graphs []string
}

func (f *outputFlag) add(cmd *cobra.Command) {
	formats := []string{"table", "yaml", "json"}
	if f.hasWide {
		formats = []string{"table", "wide", "yaml", "json"}
	}
	formats = append(formats, f.graphs...)
	cmd.Flags().VarP(textFlag(&f.format, "table", oneOf(formats...)), "output", "o", "output format: "+alternatives(formats))
	mustComplete(cmd, "output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
}

// wide reports whether all that there is to show is wanted.
func (f *outputFlag) wide() bool { return f.hasWide && f.format == "wide" }

// text reports whether people are to read it.
func (f *outputFlag) text() bool { return f.format == "table" || f.wide() }

// write writes value as yaml or json, or calls table with a page as wide as the terminal. Programs
// get the texts of people as they are, encoded; people get them without control characters.
func (f *outputFlag) write(w io.Writer, value any, table func(io.Writer)) error {
	switch f.format {
	case "yaml":
		data, err := manifest.YAML(value)
		if err != nil {
			return err
		}
		_, err = raw(w).Write(data)
		return err
	case "json":
		data, err := json.MarshalIndent(value, "", "  ")
		if err != nil {
			return err
		}
		_, err = raw(w).Write(append(data, '\n'))
		return err
	}
	return show(w, table)
}

// plural returns a number with a noun, which takes an s unless there is one.
func plural(n int, noun string) string {
	if n == 1 {
		return fmt.Sprintf("1 %s", noun)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

package cli

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set when a release is built.
var version = ""

func newVersion() *cobra.Command {
	var output outputFlag
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  furrow version -o json",
		Args:    exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := map[string]string{"version": versionString(), "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH}
			return output.write(cmd.OutOrStdout(), v, func(w io.Writer) { fmt.Fprintln(w, versionLine()) })
		},
	}
	output.add(cmd)
	return cmd
}

func versionLine() string {
	return fmt.Sprintf("furrow %s (%s, %s/%s)", versionString(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func versionString() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}

package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/draw"
)

// graphFormats are the formats of graphs, the default first.
var graphFormats = []string{"mermaid", "svg", "dot", "json"}

// formatOfFile are the formats by the extension of a file.
var formatOfFile = map[string]string{".svg": "svg", ".mmd": "mermaid", ".mermaid": "mermaid", ".dot": "dot", ".gv": "dot", ".json": "json"}

// graphCommand is furrow graph.
type graphCommand struct {
	planCommand
	format, file string
	states       bool
}

func newGraph() *cobra.Command {
	g := &graphCommand{}
	cmd := &cobra.Command{
		Use:   "graph",
		Short: "Draw a plan: its tiers, what waits for what, and the objects",
		Long: `Graph draws the plan of one seed, which it works out as furrow plan does: a lane for each cluster,
its tiers in the order in which they are released, and what waits for what.

Three and more equal clusters of one wave are one lane. Up to 64 objects of a tier are named, by kind where they
are more than 12; of more it shows how many there are of each kind. Where a plan has few objects, it
shows what waits for what among them, too.

An SVG is a picture for browsers and documents: a column for each level, light or dark as the reader
prefers. The other formats are those of Mermaid, which GitHub and GitLab show in Markdown, of
Graphviz (dot), and JSON. Without -o the extension of --out chooses. It exits with 3 when the seed
cannot be planned.`,
		Example: `  furrow graph --control-plane . --seed edge-5g --out plan.svg
  furrow graph -f seeds/edge-5g.yaml --control-plane .
  furrow graph --control-plane . --seed edge-5g --states --out now.svg
  furrow graph --control-plane . --seed edge-5g -o dot | dot -Tpng -o plan.png`,
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return g.run(cmd) },
	}
	g.present = g.draw
	g.session.addTree(cmd)
	g.session.addStrict(cmd)
	cmd.Flags().VarP(textFlag(&g.format, "", oneOf(graphFormats...)), "output", "o", "format: "+alternatives(graphFormats)+" (default: by the extension of --out, else "+graphFormats[0]+")")
	mustComplete(cmd, "output", cobra.FixedCompletions(graphFormats, cobra.ShellCompDirectiveNoFileComp))
	g.input.add(cmd, "draw", "the seed to draw, if there are several; ")
	mustComplete(cmd, "seed", g.session.completeSeeds)
	cmd.Flags().Var(textFlag(&g.file, "", possibleFile), "out", "file to write instead of the standard output")
	files(cmd, "out")
	cmd.Flags().BoolVar(&g.states, "states", false, "add the state of each tier as of the last pass")
	return cmd
}

// draw writes the graph of the only plan.
func (g *graphCommand) draw(cmd *cobra.Command, plans []*plan.Plan) error {
	var stateOf func(cluster string, ordinal int) string
	if g.states && len(plans) == 1 {
		states, err := g.readStates(cmd, plans[0].Seed)
		if err != nil {
			return err
		}
		stateOf = func(cluster string, ordinal int) string {
			return states[layout.Tier{Seed: plans[0].Seed, Cluster: cluster, Ordinal: ordinal}]
		}
	}
	format := cmp.Or(g.format, formatOfFile[strings.ToLower(filepath.Ext(g.file))])
	if g.file == "" {
		return writeGraph(raw(cmd.OutOrStdout()), plans, cmp.Or(format, graphFormats[0]), stateOf)
	}
	if format == "" {
		return usageError{fmt.Errorf("--out %s: the extension names no format; choose one with -o", g.file)}
	}
	var out strings.Builder
	if err := writeGraph(&out, plans, format, stateOf); err != nil {
		return err
	}
	return os.WriteFile(g.file, []byte(out.String()), 0o644)
}

// readStates returns the states of a seed's tiers as of the last pass.
func (g *graphCommand) readStates(cmd *cobra.Command, seed string) (map[layout.Tier]string, error) {
	if g.input.given() {
		return nil, usageError{errors.New("--states shows what a control plane has planted: leave out -f")}
	}
	s, err := g.session.open(cmd.Context())
	if err != nil {
		return nil, err
	}
	defer s.Close()
	report, err := s.Status(cmd.Context())
	if err != nil {
		return nil, err
	}
	out := map[layout.Tier]string{}
	if of, planted := report.Seed(seed); planted {
		for _, t := range of.Tiers {
			out[layout.Tier{Seed: seed, Cluster: t.Cluster, Ordinal: t.Ordinal}] = string(t.State)
		}
	}
	return out, nil
}

// writeGraph writes the graph of the only plan in a format. stateOf may be nil.
func writeGraph(w io.Writer, plans []*plan.Plan, format string, stateOf func(cluster string, ordinal int) string) error {
	if len(plans) > 1 {
		return manifest.Problem{Reason: v1alpha1.ReasonInvalidArgument, Message: "a graph is of one seed; choose one with --seed"}
	}
	g := draw.New(plans[0], draw.Names{Without: func(cluster, text string) string { return general(ofCluster{cluster, text}) }, Runs: runsOf, Wave: func(cluster string) string { return waveOf(plans[0], cluster) }, State: stateOf})
	var text string
	switch format {
	case "dot":
		text = g.DOT()
	case "svg":
		text = g.SVG()
	case "mermaid":
		text = g.Mermaid()
	case "json":
		data, err := json.MarshalIndent(g, "", "  ")
		if err != nil {
			return err
		}
		text = string(data) + "\n"
	}
	_, err := io.WriteString(w, text)
	return err
}

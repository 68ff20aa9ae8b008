package cli

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
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

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/pass"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/engine"
)

const (
	// recordPrefix and recordSuffix are around the time in the name of a record, so names sort
	// by time.
	recordPrefix, recordSuffix = "pass-", ".json.gz"
	// maxRecords is how many a directory keeps, the newest ones.
	maxRecords = 200
	// maxRecordSize bounds what is unpacked of one, which may come from anybody.
	maxRecordSize = 1 << 30
)

// recorder writes passes to a directory: those that decide something else than the one before. A
// run that only waits decides the same every few seconds, so 200 records reach far back.
type recorder struct {
	dir  string
	fail func(error)
	last []byte
}

// newRecorder makes the directory, and checks at once that it can be written: later, nobody may
// read the messages of a run.
func newRecorder(dir string, fail func(error)) (*recorder, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("--record: %w", err)
	}
	probe, err := os.CreateTemp(dir, "."+recordPrefix)
	if err != nil {
		return nil, fmt.Errorf("--record: the directory cannot be written: %w", err)
	}
	if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
		return nil, fmt.Errorf("--record: %w", err)
	}
	return &recorder{dir: dir, fail: fail}, nil
}

// recordBelow makes recorders for several control planes, each in a directory of its own below one
// that can be written. A directory that cannot be made later is reported, and its control plane is
// not recorded.
func recordBelow(dir string, fail func(error)) (func(directory string) func(*engine.Record), error) {
	if _, err := newRecorder(dir, fail); err != nil {
		return nil, err
	}
	return func(directory string) func(*engine.Record) {
		r, err := newRecorder(filepath.Join(dir, directory), fail)
		if err != nil {
			fail(err)
			return nil
		}
		return r.record
	}, nil
}

// record writes a pass, or reports why it cannot: a run goes on if its directory is full.
func (r *recorder) record(pass *engine.Record) {
	if err := r.write(pass); err != nil {
		r.fail(fmt.Errorf("--record: %w", err))
	}
}

// write writes a pass unless its decision is that of the last one. last changes only once the file
// is there, so a pass that could not be written is tried again with the next.
func (r *recorder) write(record *engine.Record) error {
	decision, err := json.Marshal(record.Decision)
	if err != nil || bytes.Equal(decision, r.last) {
		return err
	}
	record.Version = versionString()
	data, err := json.Marshal(record)
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	if _, err := zip.Write(data); err != nil {
		return err
	}
	if err := zip.Close(); err != nil {
		return err
	}
	name := recordPrefix + record.Facts.Now.UTC().Format("20060102T150405.000") + recordSuffix
	if err := writeWhole(filepath.Join(r.dir, name), packed.Bytes()); err != nil {
		return err
	}
	r.last = decision
	return r.prune()
}

// writeWhole writes a file that is there only once it is whole, whenever the run is killed: under
// another name first, which is then changed. A part that is left behind is nobody's record.
func writeWhole(name string, data []byte) error {
	part := name + ".part"
	if err := os.WriteFile(part, data, 0o600); err != nil {
		return err
	}
	return os.Rename(part, name)
}

// prune removes the oldest records beyond maxRecords.
func (r *recorder) prune() error {
	found, err := filepath.Glob(filepath.Join(r.dir, recordPrefix+"*"+recordSuffix))
	slices.Sort(found)
	for i := 0; err == nil && i < len(found)-maxRecords; i++ {
		err = os.Remove(found[i])
	}
	return err
}

// readRecord reads what a recorder wrote, packed or not, so one that was edited by hand can be
// replayed. It comes from anybody, and is bounded: a small file can unpack to terabytes.
func readRecord(name string) (*engine.Record, error) {
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no file %s: record passes with furrow run --record DIR", name)
	}
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		zip, err := gzip.NewReader(bytes.NewReader(data))
		if err == nil {
			data, err = io.ReadAll(io.LimitReader(zip, maxRecordSize+1))
		}
		if err != nil {
			return nil, fmt.Errorf("%s is not a whole record of a pass: %w", name, err)
		}
		if len(data) > maxRecordSize {
			return nil, fmt.Errorf("%s is not a record of a pass: it unpacks to more than 1 GiB", name)
		}
	}
	var record engine.Record
	if err := json.Unmarshal(data, &record); err != nil {
		return nil, fmt.Errorf("%s is not a record of a pass: %w", name, err)
	}
	return &record, nil
}

func newReplay() *cobra.Command {
	output := outputFlag{hasWide: true}
	var seed, plugins string
	cmd := &cobra.Command{
		Use:   "replay FILE",
		Short: "Decide a recorded pass again, without any network, and show why",
		Long: `Replay reads a pass that 'furrow run --record DIR' wrote, decides it again from the facts in the
file, and shows the states and the actions. It asks nobody and changes nothing, so a pass of
one machine can be understood on another: attach the file to a bug report, after reading what is in
it. A record holds what was read of the control plane and the names, branches and proposals of the
GitOps repositories. It holds no credentials of Furrow, but whatever the control plane holds, Secrets
included. Plugins run again; those that are executables need --plugins as in the run.

With --explain it lists for each tier of a seed the facts that its state follows from. Clusters that
are equal are shown as one; -o wide shows each, with the Git hashes of its files.

It exits with 3 where this version of Furrow decides something other than what was recorded.`,
		Example: `  furrow run --control-plane ./control-plane --record ./passes
  furrow replay ./passes/pass-20260102T150405.000.json.gz --explain edge-5g`,
		Args: exactly(1, "one file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			record, err := readRecord(args[0])
			if err != nil {
				return err
			}
			record.Plugins = plugins
			decision, err := record.Decide(cmd.Context())
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			same, err := record.Same(decision)
			if err != nil {
				return err
			}
			if seed != "" && decision.Seeds[seed] == nil {
				return fmt.Errorf("the record has no seed %q; there are: %s", seed, strings.Join(slices.Sorted(maps.Keys(decision.Seeds)), ", "))
			}
			err = output.write(cmd.OutOrStdout(), decision, func(w io.Writer) { replayTable(w, record, decision, seed, same, output.wide()) })
			if err == nil && !same {
				err = errProblems
			}
			return err
		},
	}
	output.add(cmd)
	cmd.Flags().Var(textFlag(&seed, "", dnsLabel), "explain", "seed whose facts are listed")
	addPlugins(cmd, &plugins)
	return cmd
}

// replayTable shows a decision as status would have, and what it would have done; or, with a seed,
// the facts that its states follow from.
func replayTable(w io.Writer, record *engine.Record, d *pass.Decision, seed string, same, whole bool) {
	verdict := "The decision is the one that was recorded."
	if !same {
		verdict = "! The decision is NOT the one that was recorded, by Furrow " + record.Version + "."
	}
	paragraph(w, "  ", fmt.Sprintf("Pass of %s, by %s, at %s. %s", record.Facts.Now.UTC().Format("2006-01-02T15:04:05Z"), record.Facts.Self, record.Facts.ControlPlane.Revision, verdict))
	if d.Refusal != nil {
		paragraph(w, "  ", "! "+d.Refusal.Message)
		return
	}
	if seed != "" {
		explainSeed(w, record.Facts, d.Seeds[seed], whole)
		return
	}
	fmt.Fprintln(w)
	(&statusView{State: &record.Report(d).State, now: record.Facts.Now, whole: whole}).body(w)
	fmt.Fprintf(w, "\nActions: %d\n", len(d.Actions))
	var lines [][]string
	for _, a := range d.Actions {
		lines = append(lines, []string{"  " + string(a.Verb), a.Repo, a.Branch, cmp.Or(a.Title, a.Why)})
	}
	rows(w, lines)
}

// explainSeed lists the facts from which the states of a seed's tiers follow.
func explainSeed(w io.Writer, f *pass.Facts, s *pass.Seed, whole bool) {
	fmt.Fprintln(w)
	heading(w, "Seed "+s.Name)
	if s.Failure != nil {
		paragraph(w, "  ", "  ! "+s.Failure.Message)
	}
	if s.Plan == nil {
		fmt.Fprintln(w, "  It has no plan.")
		return
	}
	paragraph(w, "    ", fmt.Sprintf("  plan of generation %d, of %s, %s", s.Plan.Generation, s.Plan.Revision, plural(len(s.Plan.Tiers), "tier")))
	var texts []ofCluster
	for _, t := range s.Plan.InOrder() {
		status, _ := s.Result.Find(s.Plan.Name(t))
		lines := []string{layout.NameOnCluster(t.Ordinal) + "\x01" + string(status.State)}
		for _, fact := range tierFacts(f, s, t, status, whole) {
			if fact[1] != "" {
				lines = append(lines, "  "+fact[0]+"\x01"+fact[1])
			}
		}
		texts = append(texts, ofCluster{t.Cluster, strings.Join(lines, "\x00")})
	}
	for _, f := range folded(fleetIn(traitsIn(f.ControlPlane.Catalog), s.Plan), texts, whole) {
		var lines [][]string
		for line := range strings.SplitSeq(f.text, "\x00") {
			lines = append(lines, strings.Split(line, "\x01"))
		}
		fmt.Fprintln(w)
		stateParagraph(w, "  ", fmt.Sprintf("%s %s: %s", f.on, lines[0][0], lines[0][1]), lines[0][1])
		rows(w, lines[1:])
	}
}

// tierFacts returns the facts of a tier, by name; those that do not count here are empty. Hashes of
// files are there only if whole: they differ between equal clusters.
func tierFacts(f *pass.Facts, s *pass.Seed, t *plan.Tier, status release.TierStatus, whole bool) [][2]string {
	have := s.Tiers[status.Tier]
	out := [][2]string{{"because", status.Message}, {"action", string(status.Act)}, {"gate", status.Shut()}}
	r := f.Repos[t.Repo]
	out = append(out, [2]string{"base", string(have.Base)})
	for _, e := range t.Entries {
		at := r.Entries[r.Head][e.Path]
		switch {
		case whole || at.IsZero():
			out = append(out, [2]string{"on base", entryText(e.Path, at)})
		case at == e.Hash:
			out = append(out, [2]string{"on base", "as wanted at " + e.Path})
		default:
			out = append(out, [2]string{"on base", "not as wanted at " + e.Path})
		}
		if whole && at != e.Hash {
			out = append(out, [2]string{"wanted", entryText(e.Path, e.Hash)})
		}
	}
	out = append(out, [2]string{"detail", have.BaseDetail})
	if p := have.Proposal; p != nil {
		branch := layout.TierBranch(r.Base, status.Tier)
		if p.Group != "" {
			branch = layout.GroupBranch(r.Base, s.Name, p.Group)
		}
		text := cmp.Or(r.Proposals[branch].URL, branch)
		for _, mark := range []struct {
			set  bool
			name string
		}{{p.Digest == t.Digest(), "as wanted"}, {p.Edited, "edited by a person"}, {p.Rejected, "rejected"}, {p.Stale, "stale"}, {p.Behind, "behind"}} {
			if mark.set {
				text += ", " + mark.name
			}
		}
		out = append(out, [2]string{"proposal", text})
	}
	out = append(out, [2]string{"closed", string(have.Closed)})
	if have.Health.Phase != "" {
		out = append(out, [2]string{"health", fmt.Sprintf("%s (%s): %s", have.Health.Phase, have.Health.Reason, have.Health.Message)})
	}
	root := ""
	for _, p := range []*manifest.Problem{have.RootUnfit, have.RootUnknown} {
		if p != nil {
			root += p.Text()
		}
	}
	out = append(out, [2]string{"root", root})
	for _, wait := range status.Waits {
		out = append(out, [2]string{"waits for", fmt.Sprintf("%s (%s): %s", wait.Tier, wait.State, wait.Why)})
	}
	return out
}

func entryText(at string, hash layout.Hash) string {
	if hash.IsZero() {
		return "nothing at " + at
	}
	return fmt.Sprintf("%.12s at %s", hash, at)
}

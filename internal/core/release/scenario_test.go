package release_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/health"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/test/golden"
)

// TestScenarios plays the scripts in testdata. A script tells what happens to the
// plan of makePlan, line by line, and shows the states in between:
//
//	base TIER Nothing|Entries|Earlier|Foreign    what base has at the tier's paths
//	health TIER PHASE                            what its cluster says
//	proposal TIER none|open [edited] [rejected] [stale] [other]
//	leaves TIER everything|nothing               what the reconciler would leave if it went now
//	closed TIER None|Merged|Rejected|unasked     what became of the last proposal
//	other SEED/CLUSTER/NN STATE                  a tier of another seed
//	suspend | resume | cannot plan | can plan
//	remove                                       the seed leaves: another plan
//	show                                         prints states, acts and waits
//
// Lines that begin with "|" are what show printed; -update writes them.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			script, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, string(script))
			if golden.Update() {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(script), got); diff != "" {
				t.Errorf("the states differ (-want +got):\n%s", diff)
			}
		})
	}
}

// play returns the script with what show prints now.
func play(t *testing.T, script string) string {
	t.Helper()
	var out strings.Builder
	f := makePlan()
	lines := bufio.NewScanner(strings.NewReader(script))
	for lines.Scan() {
		line := lines.Text()
		if strings.HasPrefix(line, "|") {
			continue
		}
		fmt.Fprintln(&out, line)
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0] == "#":
		case words[0] == "show":
			out.WriteString(f.show())
		default:
			f.happen(t, words)
		}
	}
	return out.String()
}

func (f *fixture) happen(t *testing.T, words []string) {
	t.Helper()
	switch strings.Join(words, " ") {
	case "suspend", "resume":
		f.facts.Suspended = words[0] == "suspend"
		return
	case "cannot plan", "can plan":
		f.facts.KeepAll = words[0] == "cannot"
		return
	case "remove":
		f.removal()
		return
	}
	tier := tierOf(t, words[1])
	switch words[0] {
	case "base":
		f.base(tier, release.Base(words[2]))
	case "health":
		f.on(tier, func(facts *release.TierFacts) {
			facts.Health = verdict(health.Phase(words[2]))
		})
	case "leaves":
		f.on(tier, func(facts *release.TierFacts) {
			facts.LeftBehind = map[string]manifest.Problem{"everything": {Reason: v1alpha1.ReasonReconcilerSuspended, Message: "it is suspended"}}[words[2]]
		})
	case "proposal":
		f.propose(tier, words[2:])
	case "closed":
		closed := release.Closed(words[2])
		if closed == "unasked" {
			closed = release.ClosedNotAsked
		}
		f.on(tier, func(facts *release.TierFacts) { facts.Closed = closed })
	case "other":
		f.facts.Fleet = release.Fleet{tier: {Standing: release.State(words[2])}}
	default:
		t.Fatalf("the script says %q", words)
	}
}

func (f *fixture) propose(tier layout.Tier, words []string) {
	if words[0] == "none" {
		f.on(tier, func(facts *release.TierFacts) { facts.Proposal = nil })
		return
	}
	p := release.Proposal{}
	for _, w := range words[1:] {
		p.Edited = p.Edited || w == "edited"
		p.Rejected = p.Rejected || w == "rejected"
		p.Stale = p.Stale || w == "stale"
		if w == "other" {
			p.Wants = "other"
		}
	}
	f.proposal(tier, p)
}

func tierOf(t *testing.T, word string) layout.Tier {
	t.Helper()
	parts := strings.Split(word, "/")
	if len(parts) == 2 {
		parts = append([]string{"app"}, parts...)
	}
	tier := layout.Tier{Seed: parts[0], Cluster: parts[1]}
	if _, err := fmt.Sscanf(parts[2], "%d", &tier.Ordinal); err != nil {
		t.Fatalf("%q is no tier: %v", word, err)
	}
	return tier
}

func (f *fixture) show() string {
	var out strings.Builder
	result := release.Next(f.plan, f.facts)
	for _, s := range result.Tiers {
		fmt.Fprintf(&out, "| %s/%s %s", s.Tier.Cluster, s.Tier.Number(), s.State)
		if s.Act != release.ActNone {
			fmt.Fprintf(&out, " → %s", s.Act)
		}
		fmt.Fprintf(&out, " (%s): %s\n", s.Reason, s.Message)
	}
	fmt.Fprintf(&out, "| settled %v, done %v\n", result.Settled, result.Done)
	return out.String()
}

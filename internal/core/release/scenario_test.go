package release_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/health"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/core/window"
	"github.com/furrow-dev/furrow/test/golden"
)

// TestScenarios runs the scripts in testdata. A script lists what happens to the plan of
// makePlan, line by line, and shows the states in between:
//
//	base TIER Nothing|Entries|Earlier|Foreign    what base has at the tier's paths
//	health TIER PHASE                            what its cluster says
//	proposal TIER none|open [edited] [rejected] [stale] [other]
//	leaves TIER everything|nothing               what the reconciler would leave behind if removed now
//	closed TIER None|Merged|Rejected|unasked     what became of the last proposal
//	other SEED/CLUSTER/NN STATE                  a tier of another seed
//	fleet GROUPBY                                another plan, of makeFleet, proposed in groups
//	group by GROUPBY
//	group NAME none|open [edited] [rejected] [stale] [TIER|TIER=other ...]
//	                                             a proposal of several tiers
//	suspend | resume | cannot plan | can plan
//	remove                                       the seed leaves: another plan
//	waves NAME=CLUSTER,...[;soak=1h][;max=1][;window=09:00-16:00] ...
//	                                             the waves of its rollout
//	most N                                       so many proposals may be open
//	update TIER ...                              a new plan with other entries for tiers
//	now 2026-11-23T09:00                         the time
//	merge by itself                              its proposals are merged when green
//	checks TIER Passed|Pending|Failed|Unprotected|Unknown [WHY]
//	                                             what the checks of its proposal say
//	pause | go on | skip WAVE|everything         what people ask for
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
	if f.pace(t, words) {
		return
	}
	switch words[0] {
	case "fleet":
		*f = *makeFleet(v1alpha1.GroupBy(words[1]))
		return
	case "group":
		f.group(t, words[1], words[2:])
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
			facts.LeftBehind = map[string]*manifest.Problem{"everything": {Reason: v1alpha1.ReasonReconcilerSuspended, Message: "it is suspended"}}[words[2]]
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
		f.facts.Fleet = release.Fleet{tier: {BaseState: release.State(words[2])}}
	default:
		t.Fatalf("the script says %q", words)
	}
}

// pace changes what the rollout depends on; false where the line is about something else.
func (f *fixture) pace(t *testing.T, words []string) bool {
	t.Helper()
	by := release.Request{By: "Ada", At: f.facts.Now, Why: "as planned"}
	if f.facts.Record == nil {
		f.facts.Record = &release.Record{Seed: "app"}
	}
	switch words[0] {
	case "waves":
		f.plan.Rollout = &plan.Rollout{}
		for _, w := range words[1:] {
			f.plan.Rollout.Waves = append(f.plan.Rollout.Waves, waveOf(t, w))
		}
	case "most":
		most, err := strconv.Atoi(words[1])
		if err != nil {
			t.Fatal(err)
		}
		f.plan.Rollout = &plan.Rollout{MaxOpenProposals: most}
	case "merge":
		f.plan.Rollout = &plan.Rollout{AutoMerge: true}
	case "checks":
		f.on(tierOf(t, words[1]), func(facts *release.TierFacts) {
			p := *facts.Proposal
			p.Checks = &release.Checks{State: release.ChecksState(words[2]), Why: strings.Join(words[3:], " ")}
			facts.Proposal = &p
		})
	case "now":
		at, err := time.Parse("2006-01-02T15:04", words[1])
		if err != nil {
			t.Fatal(err)
		}
		f.facts.Now = at
	case "pause":
		f.facts.Record.Paused = &by
	case "go":
		f.facts.Record.Paused = nil
	case "skip":
		skip := release.Skip{Wave: words[1], Inputs: f.plan.Inputs, Request: by}
		if skip.Wave == "everything" {
			skip.Wave = ""
		}
		f.facts.Record.Skips = append(f.facts.Record.Skips, skip)
	case "update":
		f.plan.Inputs += "'"
		for _, word := range words[1:] {
			name := tierOf(t, word)
			old := *f.tier(name)
			*f.tier(name) = makeTier(name, name.String()+f.plan.Inputs, old.Prerequisites...)
			f.tier(name).Level = old.Level
			f.on(name, func(facts *release.TierFacts) {
				if facts.Base == release.BaseEntries {
					facts.Base = release.BaseEarlier
				}
			})
		}
	default:
		return false
	}
	return true
}

// waveOf reads a wave as "waves" has it.
func waveOf(t *testing.T, word string) plan.Wave {
	t.Helper()
	parts := strings.Split(word, ";")
	name, clusters, _ := strings.Cut(parts[0], "=")
	w := plan.Wave{Name: name}
	if clusters != "" {
		w.Clusters = slices.Sorted(slices.Values(strings.Split(clusters, ",")))
	}
	for _, part := range parts[1:] {
		var err error
		switch key, value, _ := strings.Cut(part, "="); key {
		case "soak":
			w.Soak, err = time.ParseDuration(value)
		case "max":
			w.MaxUnavailable, err = strconv.Atoi(value)
		case "window":
			from, to, _ := strings.Cut(value, "-")
			w.Windows = append(w.Windows, window.Window{Days: []string{"Mon", "Tue", "Wed", "Thu", "Fri"}, From: from, To: to})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// makeFleet is a plan on four clusters: mgmt/00 comes first, then 00 of the others, then
// east/01 and west/01.
func makeFleet(by v1alpha1.GroupBy) *fixture {
	f := makePlan()
	f.plan.Tiers, f.facts.GroupBy = nil, by
	for _, cluster := range []string{"east", "mgmt", "north", "west"} {
		for ordinal := range 2 {
			name := layout.Tier{Seed: "app", Cluster: cluster, Ordinal: ordinal}
			pre, level := plan.Prerequisite{Cluster: "mgmt", Why: "the cluster"}, 1
			if ordinal == 1 {
				pre, level = plan.Prerequisite{Cluster: cluster, Why: "the namespace"}, 2
			}
			t := makeTier(name, cluster+name.Number(), pre)
			t.Level = level
			switch {
			case cluster == "mgmt" && ordinal == 0:
				t.Level, t.Prerequisites = 0, nil
			case ordinal == 1 && (cluster == "mgmt" || cluster == "north"):
				continue
			}
			f.plan.Tiers = append(f.plan.Tiers, t)
			f.facts.Tiers[name] = release.TierFacts{Base: release.BaseNothing, Closed: release.ClosedNone}
		}
	}
	return f
}

// group changes the facts of a proposal of several tiers.
func (f *fixture) group(t *testing.T, name string, words []string) {
	t.Helper()
	if name == "by" {
		f.facts.GroupBy = v1alpha1.GroupBy(words[0])
		return
	}
	f.facts.Groups = slices.DeleteFunc(f.facts.Groups, func(g release.Group) bool { return g.Name == name })
	for tier, facts := range f.facts.Tiers {
		if facts.Proposal != nil && facts.Proposal.Group == name {
			facts.Proposal = nil
			f.facts.Tiers[tier] = facts
		}
	}
	if words[0] == "none" {
		return
	}
	listed, of := release.Group{Name: name}, release.Proposal{Group: name}
	for _, w := range words[1:] {
		switch w {
		case "edited":
			listed.Edited, of.Edited = true, true
		case "rejected":
			listed.Rejected, of.Rejected = true, true
		case "stale":
			of.Stale = true
		default:
			word, _, other := strings.Cut(w, "=")
			tier, p := tierOf(t, word), of
			listed.Tiers = append(listed.Tiers, tier)
			if other {
				p.Digest = "other"
			}
			if other && of.Rejected || f.facts.Tiers[tier].Proposal != nil {
				continue // another proposal is the tier's
			}
			f.proposal(tier, p)
		}
	}
	f.facts.Groups = append(f.facts.Groups, listed)
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
			p.Digest = "other"
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
		t.Fatalf("%q is not a tier: %v", word, err)
	}
	return tier
}

func (f *fixture) show() string {
	var out strings.Builder
	result := release.Next(f.plan, f.facts)
	if result.Rollout != nil { // what the pass records is there in the next one
		f.facts.Record = result.Rollout.Record
	}
	for _, s := range result.Tiers {
		fmt.Fprintf(&out, "| %s/%s %s", s.Tier.Cluster, s.Tier.Number(), s.State)
		if s.Group != "" {
			fmt.Fprintf(&out, " in %s", s.Group)
		} else if s.Act != release.ActNone {
			fmt.Fprintf(&out, " → %s", s.Act)
		}
		if s.Moves {
			out.WriteString(", moves")
		}
		if s.NeedsChecks {
			out.WriteString(", needs checks")
		}
		fmt.Fprintf(&out, " (%s): %s\n", s.Reason, s.Message)
	}
	for _, g := range result.Groups {
		fmt.Fprintf(&out, "| group %s", g.Name)
		if g.Act != release.ActNone {
			fmt.Fprintf(&out, " → %s", g.Act)
		}
		out.WriteString(":")
		for _, tier := range g.Tiers {
			fmt.Fprintf(&out, " %s/%s", tier.Cluster, tier.Number())
		}
		if g.Act == release.ActSupersede {
			fmt.Fprintf(&out, " (%s)", g.Why)
		}
		if g.Now != "" {
			fmt.Fprintf(&out, "; as it is, do not merge: %s", g.Now)
		}
		if g.Gate != "" && g.Gate != g.Now {
			fmt.Fprintf(&out, "; afterwards: %s", g.Gate)
		}
		out.WriteString("\n")
	}
	if result.Rollout != nil {
		for _, w := range result.Rollout.Waves {
			fmt.Fprintf(&out, "| %s: %s", w.Progress(), w.State)
			if w.Leaving {
				out.WriteString(", leaving")
			}
			if w.Reason != "" {
				fmt.Fprintf(&out, " (%s): %s", w.Reason, w.Message)
			}
			if !w.Until.IsZero() {
				fmt.Fprintf(&out, "; again at %s", w.Until.Format("Mon 15:04"))
			}
			out.WriteString("\n")
		}
	}
	fmt.Fprintf(&out, "| done %v\n", result.Done)
	return out.String()
}

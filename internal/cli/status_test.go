package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/furrow-dev/furrow/internal/controlplane"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/standalone"
	"github.com/furrow-dev/furrow/internal/state"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const longMessage = "the root of cluster edge-1 has no directory clusters/edge-1 on the base branch. Set the reconciler up there, or correct spec.path of the Cluster"

// reportOfWeb is a report of a pass at noon.
func reportOfWeb(of release.State, message string) *state.State {
	return &state.State{
		Owner: "cp/default", Interval: "1m0s", LastPass: noon,
		Seeds: []state.Seed{{Name: "web", State: string(of), Tiers: []state.Tier{{Cluster: "east", State: of, Message: message}}}},
	}
}

// shown is a state as people read it, two minutes past noon.
func shown(of *state.State, width int) string {
	p := &page{width: width}
	(&statusView{State: of, now: noon.Add(2 * time.Minute)}).body(p)
	return p.String()
}

func TestStatusNamesWhatProposalsLack(t *testing.T) {
	r := reportOfWeb(release.Proposed, "")
	r.Warnings = manifest.Problems{
		{Message: "notes.md is not read"},
		{Repo: "fleet", Object: `GitOpsRepo "fleet"`, Message: `proposals lack the milestone "Summer", as #3 does: there is no open milestone "Summer"`, Next: "Open the milestone, or correct spec.proposals.milestone"},
	}
	const want = `! GitOpsRepo "fleet": proposals lack the milestone "Summer", as #3 does: there is no open milestone "Summer". Open the milestone, or correct spec.proposals.milestone`
	if text := shown(r, 0); !strings.Contains(text, want) || strings.Contains(text, "notes.md") {
		t.Errorf("shown is\n%s", text)
	}
}

func TestStatusSaysWhatWaitsForAForge(t *testing.T) {
	r := reportOfWeb(release.Queued, "waits until 12:30:00 UTC")
	r.Repositories = []state.Repository{{Name: "other"}, {Name: "fleet", Limit: &state.Limit{Message: "the forge allows no more requests until 12:30:00 UTC"}}}
	if got, want := shown(r, 120), "GitOps repository fleet: the forge allows no more requests until 12:30:00 UTC\n"; !strings.HasPrefix(got, want) || strings.Contains(got, "other") {
		t.Errorf("it shows:\n%s\nwant %q", got, want)
	}
}

func TestStatusSaysWhenTheLastPassWasAndWarnsAfterThreeIntervals(t *testing.T) {
	const warning = "! This is out of date: no pass was reported since 2026-03-01T12:00:00Z, and one is expected every 1m. Start 'furrow run', or read the log of the one that runs\n"
	cases := map[string]struct {
		interval string
		after    time.Duration
		age      string
		stale    bool
	}{
		"just now":                            {"1m0s", 0, "0s", false},
		"by a clock that is ahead of ours":    {"1m0s", -time.Minute, "0s", false},
		"three intervals ago":                 {"1m0s", 3 * time.Minute, "3m", false},
		"more than three intervals ago":       {"1m0s", 3*time.Minute + time.Second, "3m1s", true},
		"long ago":                            {"1m0s", 50 * time.Hour, "2d2h", true},
		"long ago, by a pass by hand":         {"", 50 * time.Hour, "2d2h", false},
		"long ago, by a run that is not ours": {"soon", 50 * time.Hour, "2d2h", false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := reportOfWeb(release.Released, "healthy")
			r.Interval = c.interval
			var out strings.Builder
			(&statusView{State: r, now: noon.Add(c.after)}).head(&out)
			want := fmt.Sprintf("Last pass reported %s ago, at 2026-03-01T12:00:00Z, by cp/default\n", c.age)
			if c.stale {
				want += warning
			}
			if diff := cmp.Diff(want, out.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestStatusShowsTheAgeOfWhatARunReported(t *testing.T) {
	t.Parallel()
	p := newWorkspace(t, map[string]string{"seeds/web.yaml": webSeed})
	p.pass()
	mustContain(t, p.must("status"), "Last pass reported ", " ago, at ", ", by control-plane/default\n", "\nSeed web: ")
	mustContain(t, p.must("status", "-o", "yaml"), "lastPass: \"")
	mustNotContain(t, p.must("status", "-o", "yaml"), "interval: ")
	p.start("cache-of-a-run")
	eventually(t, "the interval is reported", func() (bool, string) {
		out := p.furrow("status", "-o", "yaml").all()
		return strings.Contains(out, "interval: 1m0s\n"), out
	})
}

func TestNothingOfAMessageIsCut(t *testing.T) {
	report := reportOfWeb(release.Held, longMessage)
	report.Seeds[0].Message = "first line: " + longMessage + "\nsecond line"
	var log strings.Builder
	newTransitions(&log, func() time.Time { return noon }).add(standalone.Result{Report: &engine.Report{State: *report}})
	want := "2026-03-01T12:00:00Z  web        Held: first line: " + longMessage + "\n    second line\n" +
		"2026-03-01T12:00:00Z  web        east tier 00     Held         " + longMessage + "\n"
	if diff := cmp.Diff(want, log.String()); diff != "" {
		t.Errorf("the log (-want +got):\n%s", diff)
	}
	for _, width := range []int{0, 80, 120} {
		table := shown(report, width)
		if flat := strings.Join(strings.Fields(table), " "); !strings.Contains(flat, "east tier 00 Held "+longMessage) {
			t.Errorf("at %d columns a message is cut:\n%s", width, table)
		}
	}
}

func TestAProposalOfSeveralTiersWaitsOnce(t *testing.T) {
	report := reportOfWeb(release.Proposed, "waits to be merged")
	group := &state.Proposal{Repo: "fleet", Branch: "furrow/main/group/web/level-00", Title: "Plant web on east, west, 2 tiers"}
	one := report.Seeds[0].Tiers[0]
	one.Proposal = group
	other := one
	other.Cluster = "west"
	report.Seeds[0].Tiers = []state.Tier{one, other}
	var log strings.Builder
	table := shown(report, 0)
	if want := "Waiting for you: 1 proposal\n  Plant web on east, west, 2 tiers: furrow pr merge web/level-00\n"; !strings.Contains(table, want) {
		t.Errorf("the status has not %q:\n%s", want, table)
	}
	newTransitions(&log, func() time.Time { return noon }).add(standalone.Result{Report: &engine.Report{State: *report}})
	if got := strings.Count(log.String(), "waits to be merged (web/level-00)"); got != 2 {
		t.Errorf("the log names the proposal %d times:\n%s", got, log.String())
	}
}

// The names of seeds are apart from what else the log says once.
func TestTheLogSaysOnceThatASeedIsStalledWhateverItsName(t *testing.T) {
	for _, name := range []string{"pass", "simulation", "web"} {
		report := &state.State{Seeds: []state.Seed{{Name: name, State: state.Stalled, Message: "seeds/" + name + ".yaml:3: not valid YAML"}}}
		var log strings.Builder
		seen := newTransitions(&log, func() time.Time { return noon })
		for range 3 {
			seen.add(standalone.Result{Report: &engine.Report{State: *report}})
			seen.once("simulation", "the simulation: no route to host")
		}
		for _, line := range []string{"Stalled: seeds/", "the simulation: "} {
			if n := strings.Count(log.String(), line); n != 1 {
				t.Errorf("seed %s: it says %q %d times:\n%s", name, line, n, log.String())
			}
		}
	}
}

// What is over is news again if it returns; the log keeps nothing of it meanwhile.
func TestTheLogForgetsWhatIsGone(t *testing.T) {
	stalled := state.State{Seeds: []state.Seed{{Name: "web", State: state.Stalled, Message: "not valid YAML"}}}
	var log strings.Builder
	seen := newTransitions(&log, func() time.Time { return noon })
	for _, report := range []state.State{stalled, stalled, {}, {}, stalled} {
		seen.add(standalone.Result{Report: &engine.Report{State: report}})
	}
	if n := strings.Count(log.String(), "not valid YAML"); n != 2 {
		t.Errorf("it says so %d times, want 2:\n%s", n, log.String())
	}
	for range 2 {
		seen.add(standalone.Result{Report: &engine.Report{}})
	}
	if n := len(seen.said) + len(seen.before); n != 2 {
		t.Errorf("it keeps %d lines, want that of the pass, twice: %v %v", n, seen.said, seen.before)
	}
}

func TestColumnsOfTheLogFollowTheLongestName(t *testing.T) {
	report := reportOfWeb(release.Released, "healthy")
	report.Seeds = append(report.Seeds, state.Seed{Name: "a-seed-with-a-long-name", Tiers: []state.Tier{{Cluster: "a-cluster-with-a-long-name", State: release.Queued}}})
	var log strings.Builder
	newTransitions(&log, func() time.Time { return noon }).add(standalone.Result{Report: &engine.Report{State: *report}})
	want := `2026-03-01T12:00:00Z  web                     east tier 00                       Released     healthy
2026-03-01T12:00:00Z  a-seed-with-a-long-name a-cluster-with-a-long-name tier 00 Queued
`
	if diff := cmp.Diff(want, log.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// statesOf is a status that tests change while it is watched.
type statesOf struct {
	mu     sync.Mutex
	report *state.State
	err    error
	count  int
}

func (l *statesOf) set(report *state.State, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.report, l.err = report, err
}

func (l *statesOf) read(context.Context) (*state.State, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count++
	return l.report, l.err
}

// watched is a watch in the background.
type watched struct {
	t      *testing.T
	states *statesOf
	out    *textOf
	err    *textOf
	ended  chan error
}

func watchStatusOf(t *testing.T, format string, terminal bool, states *statesOf) *watched {
	t.Helper()
	w := &watched{t: t, states: states, out: &textOf{}, err: &textOf{}, ended: make(chan error, 1)}
	cmd := &cobra.Command{}
	cmd.SetOut(w.out)
	cmd.SetErr(w.err)
	v := newStatusWatch(cmd, &outputFlag{format: format}, stateSource{read: states.read, now: func() time.Time { return noon.Add(20 * time.Second) }})
	v.interval = time.Millisecond
	v.screen.terminal = terminal
	v.screen.size = func() (int, int) { return 80, 24 }
	ctx, stop := context.WithCancel(t.Context())
	go func() { w.ended <- v.run(ctx) }()
	t.Cleanup(stop)
	return w
}

func (w *watched) shows(what string) {
	w.t.Helper()
	eventually(w.t, what, func() (bool, string) { return strings.Contains(w.out.String(), what), w.out.String() })
}

func TestAWatchOnATerminalIsNeverEmptyAndSurvivesErrors(t *testing.T) {
	states := &statesOf{report: reportOfWeb(release.Proposed, longMessage)}
	w := watchStatusOf(t, "table", true, states)
	w.shows("Seed web: Proposed")
	w.shows("12:00:20  Last pass reported 20s ago by cp/default")
	states.set(nil, errors.New("no answer"))
	w.shows("! It cannot be read now, and is tried again every 1ms: no answer")
	states.set(reportOfWeb(release.Released, "healthy"), nil)
	w.shows("Seed web: Released")
	pictures := strings.Split(w.out.String(), cursorHome)[1:]
	for _, picture := range pictures {
		if !strings.Contains(picture, "Seed web: ") || !strings.Contains(picture, "Last pass") || !strings.HasSuffix(picture, clearBelow) {
			t.Fatalf("a picture lacks something: %q", picture)
		}
	}
	for line := range strings.SplitSeq(strings.ReplaceAll(pictures[0], clearLine, ""), "\n") {
		if len(line) > 80 {
			t.Errorf("a line is wider than the terminal: %q", line)
		}
	}
	if strings.Contains(w.out.String(), "\x1b[2J") {
		t.Error("the screen is cleared before there is something to show")
	}
}

func TestAWatchWaitsForTheFirstPass(t *testing.T) {
	states := &statesOf{err: controlplane.ErrNoStatus}
	w := watchStatusOf(t, "table", true, states)
	w.shows("12:00:20  Waiting for the first pass")
	states.set(reportOfWeb(release.Proposed, ""), nil)
	w.shows("Seed web: Proposed")
}

func TestAWatchThatCannotBeginEnds(t *testing.T) {
	w := watchStatusOf(t, "table", true, &statesOf{err: errors.New(`there is no seed "wbe"`)})
	if err := <-w.ended; err == nil || w.out.String() != "" {
		t.Errorf("it ends with %v and %q", err, w.out)
	}
}

func TestAWatchOutsideATerminalShowsChangesWithoutEscapeCodes(t *testing.T) {
	for format, want := range map[string]string{
		"table": "Seed web: Proposed, 0 of 1 tier done\n  east tier 00  Proposed\n\nSeed web: Released\n  east tier 00  Released\n",
		"json":  `"lastPass": "2026-03-01T12:00:00Z"`,
		"yaml":  "---\napiVersion: ",
	} {
		t.Run(format, func(t *testing.T) {
			states := &statesOf{report: reportOfWeb(release.Proposed, "")}
			w := watchStatusOf(t, format, false, states)
			w.shows("Proposed")
			states.set(nil, errors.New("the server does not answer"))
			eventually(t, "the error is shown", func() (bool, string) {
				return strings.Contains(w.err.String(), "! the server does not answer\n"), w.err.String()
			})
			states.set(reportOfWeb(release.Released, ""), nil)
			w.shows("Released")
			mustContain(t, w.out.String(), want)
			if strings.Contains(w.out.String(), "\x1b") || strings.Count(w.err.String(), "\n") != 1 {
				t.Errorf("there are escape codes, or more than one error: %q %q", w.out, w.err)
			}
			if n := strings.Count(w.out.String(), "2026-03-01"); n > 2 {
				t.Errorf("a status that has not changed is shown again:\n%s", w.out)
			}
		})
	}
}

func TestAStatusInAnotherFormatIsNeverDrawnInPlace(t *testing.T) {
	v := newStatusWatch(&cobra.Command{}, &outputFlag{format: "json"}, stateSource{})
	if v.screen.terminal {
		t.Error("it is drawn in place")
	}
}

func TestAPictureThatIsTooHighShowsItsEnd(t *testing.T) {
	text := "one\ntwo\nthree " + strings.Repeat("x", 20) + "\nfour\nfive\n"
	cases := map[string]struct {
		width, height int
		want          []string
	}{
		"it fits":                            {80, 5, []string{"one", "two", "three " + strings.Repeat("x", 20), "four", "five"}},
		"nobody knows how high it is":        {0, 0, []string{"one", "two", "three " + strings.Repeat("x", 20), "four", "five"}},
		"a line too many":                    {80, 4, []string{"… 2 lines above, for which the terminal is too small", "three " + strings.Repeat("x", 20), "four", "five"}},
		"a long line takes two of its lines": {20, 5, []string{"… 2 lines above, for which the terminal is too small", "three " + strings.Repeat("x", 20), "four", "five"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := strings.Split(strings.NewReplacer(cursorHome, "", clearLine, "", clearBelow, "").Replace(repaint(text, c.width, c.height)), "\n")
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAKubeconfigOfNoClusterIsNamed(t *testing.T) {
	t.Parallel()
	p := newWorkspace(t, map[string]string{"seeds/web.yaml": webSeed})
	p.write("kubeconfigs", map[string]string{"east.yaml": "", "wset.yaml": "", ".hidden": "", "west/config": ""})
	r := p.furrow("run", "--once", "--kubeconfigs", p.at("kubeconfigs"))
	mustContain(t, r.stdout, "! the kubeconfig "+p.at("kubeconfigs/wset.yaml")+" is of no cluster of the control plane. Name it after one of: west, east; or remove it\n")
	if strings.Count(r.stdout, "is of no cluster") != 1 {
		t.Errorf("others are named too:\n%s", r.stdout)
	}
}

func TestARunSaysWhatItWorksOnBeforeItBegins(t *testing.T) {
	t.Parallel()
	p := newWorkspace(t, map[string]string{"seeds/web.yaml": webSeed})
	for mode, args := range map[string][]string{
		"the clusters are simulated": {"--simulate"},
		"no cluster is asked, so nothing is ever Released: give --kubeconfigs, or --simulate": nil,
	} {
		first, _, _ := strings.Cut(strings.TrimPrefix(p.furrow(append([]string{"run", "--once"}, args...)...).stdout, "The clusters are simulated: nothing is applied anywhere.\n"), "\n")
		if want := "control plane " + p.at("control-plane") + " on branch main, owner control-plane/default; " + mode; !strings.HasSuffix(first, want) {
			t.Errorf("its first line is %q, without %q", first, want)
		}
	}
}

func TestTheLastPassPromisesNoOther(t *testing.T) {
	for last, want := range map[bool]string{true: "the pass failed: no route to host\n", false: "the pass failed: no route to host; trying again in 5s\n"} {
		var log strings.Builder
		seen := newTransitions(&log, nil)
		seen.last = last
		seen.add(standalone.Result{Err: errors.New("no route to host"), Next: 5 * time.Second})
		if !strings.HasSuffix(log.String(), want) {
			t.Errorf("last %t: it says %q, want %q", last, log.String(), want)
		}
	}
}

func TestALongStatusEndsWithTheStatesOfAllSeeds(t *testing.T) {
	report := &state.State{Owner: "cp/default", LastPass: time.Now()}
	for i := range 60 {
		is := "Released"
		if i%10 == 3 {
			is = "Stalled"
		}
		report.Seeds = append(report.Seeds, state.Seed{Name: fmt.Sprintf("s%02d", i), State: is})
	}
	v := &statusWatch{state: report, stateSource: stateSource{now: time.Now}, output: &outputFlag{}}
	var text strings.Builder
	v.draw(&text)
	const want = "Seeds: 54 Released, 6 Stalled (s03, s13, s23, s33, s43, …)\n"
	if shown := repaint(text.String(), 120, 10); !strings.Contains(strings.ReplaceAll(shown, clearLine, ""), want) {
		t.Errorf("it lacks %q:\n%s", want, shown)
	}
}

package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/pass"
	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/standalone"
	"github.com/furrow-dev/furrow/internal/state"
)

// transitions prints what has changed from one pass to the next: the log of furrow run. Nothing is
// cut. It keeps what it said under each key in this pass and in the one before, and a line that is
// the same again is not news. Not safe for several goroutines.
type transitions struct {
	w   io.Writer
	now func() time.Time
	// last reports whether no pass follows.
	last bool
	// layout of the time: a log has the date, a terminal the time of day.
	layout       string
	said, before map[string]string
	// seed and tier are how wide these columns have become.
	seed, tier int
}

func newTransitions(w io.Writer, now func() time.Time) *transitions {
	if now == nil {
		now = time.Now
	}
	t := &transitions{w: w, now: now, layout: time.RFC3339, said: map[string]string{}, seed: 10, tier: 16}
	if isTerminal(w) {
		t.layout = time.TimeOnly
	}
	return t
}

// say prints a message with the time. Its further lines are indented.
func (t *transitions) say(format string, args ...any) {
	message := strings.TrimRight(fmt.Sprintf(format, args...), " ")
	paragraph(t.w, "    ", fmt.Sprintf("%s  %s", t.now().Format(t.layout), message))
}

// sayTier prints what a tier has come to.
func (t *transitions) sayTier(seed, tier, state, message string) {
	t.say("%-*s %-*s %-12s %s", t.seed, seed, t.tier, tier, state, message)
}

// once says a line when it is not what was said under the same key before. An empty line says
// nothing and forgets: what is over is news again if it returns.
func (t *transitions) once(key, line string) {
	if t.isNews(key, line) && line != "" {
		t.say("%s", line)
	}
}

// isNews notes what is said under a key, and reports whether something else was before.
func (t *transitions) isNews(key, line string) bool {
	old, ok := t.said[key]
	if !ok {
		old, ok = t.before[key]
	}
	t.said[key] = line
	return !ok || old != line
}

// add prints what is new in a pass. Columns are as wide as the longest name so far, of all seeds,
// before the first line of the pass is printed, so lines of one pass are aligned.
func (t *transitions) add(result standalone.Result) {
	if result.Err != nil {
		line := fmt.Sprintf("the pass failed: %v", result.Err)
		if !t.last {
			line += fmt.Sprintf("; trying again in %s", result.Next.Round(time.Second))
		}
		t.once("pass", line)
		return
	}
	t.said, t.before = map[string]string{"pass": ""}, t.said
	for i, p := range result.Report.Problems {
		t.once(fmt.Sprint("problem ", i), p.Error())
	}
	for i, p := range result.Report.Warnings {
		if p.Repo != "" { // of proposals; what is not read follows
			t.once(fmt.Sprint("warning ", i), p.Error())
		}
	}
	if r := result.Report.Rival; r != nil {
		t.once("rival", fmt.Sprintf("warning: %s reported for this control plane less than %s ago, at %s. If it still runs, stop one of the two", r.Name, shortDuration(pass.WriterTimeout), r.Revision))
	}
	t.seeSkipped(result.Report)
	for _, s := range result.Report.Seeds {
		t.seed = max(t.seed, utf8.RuneCountInString(s.Name))
		for _, tier := range s.Tiers {
			t.tier = max(t.tier, utf8.RuneCountInString(tier.Name()))
		}
	}
	all := clusterSet{clustersIn(result.Report.Seeds), traitsIn(result.Report.Catalog)}
	for _, s := range result.Report.Seeds {
		t.seeSeed(s)
		t.seeTiers(&s, all)
	}
}

// clustersIn returns the clusters on which seeds have tiers.
func clustersIn(seeds []state.Seed) []string {
	clusters := map[string]bool{}
	for i := range seeds {
		for j := range seeds[i].Tiers {
			clusters[seeds[i].Tiers[j].Cluster] = true
		}
	}
	return slices.Sorted(maps.Keys(clusters))
}

// seeSeed says why a seed is stalled, and who tried to pass as Furrow.
func (t *transitions) seeSeed(s state.Seed) {
	line := ""
	if s.Message != "" {
		line = fmt.Sprintf("%-*s %s", t.seed, s.Name, seedLine(&s, ""))
	}
	t.once("seed "+s.Name, line)
	for _, w := range s.Warnings {
		if w.Reason == v1alpha1.ReasonPlanNotVerified {
			t.once("plan of "+s.Name, w.Error())
		}
	}
}

// seeTiers says what tiers of a seed have come to, equal clusters as one.
func (t *transitions) seeTiers(s *state.Seed, all clusterSet) {
	var texts []ofCluster
	for _, tier := range inOrder(s.Tiers) {
		message := tier.Message
		if tier.WaitsForReview() {
			message += fmt.Sprintf(" (%s)", proposalOf(s.Name, tier))
		}
		key := fmt.Sprintf("%s %s", s.Name, tier.Name())
		if t.isNews(key, fmt.Sprint(tier.State, tier.Shut())) { // a gate that closes, or opens, is news as well
			texts = append(texts, ofCluster{tier.Cluster, strings.Join([]string{layout.NameOnCluster(tier.Ordinal), string(tier.State), message}, "\x00")})
		}
	}
	lines := folded(all, texts, false)
	for _, f := range lines {
		name, _, _ := strings.Cut(f.text, "\x00")
		t.tier = max(t.tier, utf8.RuneCountInString(f.on+" "+name))
	}
	for _, f := range lines {
		cells := strings.SplitN(f.text, "\x00", 3)
		t.sayTier(s.Name, f.on+" "+cells[0], cells[1], cells[2])
	}
}

// seeSkipped names the files of the control plane that are not read.
func (t *transitions) seeSkipped(r *engine.Report) {
	if r.Catalog == nil {
		return
	}
	skipped := slices.Clone(r.Catalog.Skipped)
	for _, s := range r.Catalog.Seeds {
		skipped = append(skipped, s.Skipped...)
	}
	for _, p := range skipped {
		t.once("skipped "+p.Error(), "warning: "+p.Error())
	}
}

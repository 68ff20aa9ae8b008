package cli

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/controlplane"
	"github.com/furrow-dev/furrow/internal/core/change"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/core/review"
	"github.com/furrow-dev/furrow/internal/core/template"
	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/state"
	"github.com/furrow-dev/furrow/templates"
)

// fleetOf is the state of four packages on clusters c01, c02 and so on, at noon.
func fleetOf(clusters int) *state.State {
	st := state.New("acme/prod", "sha256:1", "main@sha1:a5c41da0409e6b911255524cd0db1bf71ebc39e2")
	st.Interval, st.LastPass = "1m0s", noon
	seed := func(name string, of func(cluster string, n int) []state.Tier) {
		s := state.Seed{Name: name, Revision: st.Revision}
		for n := 1; n <= clusters; n++ {
			s.Tiers = append(s.Tiers, of(fmt.Sprintf("c%02d", n), n)...)
		}
		s.State = state.Summary(s.Tiers)
		st.Seeds = append(st.Seeds, s)
	}
	tier := func(cluster string, ordinal int, of release.State, ago time.Duration, message string) state.Tier {
		return state.Tier{Cluster: cluster, Ordinal: ordinal, Level: ordinal, State: of, Since: noon.Add(-ago), Message: message, Objects: 3}
	}
	wait := func(t state.Tier, of release.State, why string) state.Tier {
		name := fmt.Sprintf("%s tier %02d", t.Cluster, t.Ordinal-1)
		t.Waits = []state.Edge{{Tier: name, State: of, Reason: v1alpha1.ReasonWaitingForTier, Why: why}}
		t.Message = fmt.Sprintf("waits for %s (%s): %s", name, of, why)
		return t
	}
	seed("cert-manager", func(c string, n int) []state.Tier {
		return []state.Tier{tier(c, 0, release.Released, 50*time.Hour, "healthy"), tier(c, 1, release.Released, 49*time.Hour+time.Duration(n)*time.Minute, "healthy")}
	})
	seed("contour", func(c string, n int) []state.Tier {
		first := tier(c, 0, release.Proposed, 20*time.Minute, "waits to be merged")
		first.Proposal = &state.Proposal{Repo: "fleet", Branch: "furrow/main/tier/contour/" + c + "/00", Title: "Plant contour on " + c + ", tier 00", URL: fmt.Sprintf("https://git.example.com/acme/fleet/pulls/%d", n)}
		return []state.Tier{first, wait(tier(c, 1, release.Blocked, 2*time.Hour, ""), release.Proposed, "apps/Deployment/projectcontour/contour waits for core/Namespace/projectcontour (namespace: metadata.namespace: projectcontour)")}
	})
	seed("kourier", func(c string, n int) []state.Tier {
		if n == 7 {
			return []state.Tier{tier(c, 0, release.Held, 3*time.Hour, longMessage)}
		}
		return []state.Tier{tier(c, 0, release.Progressing, 40*time.Second, "Deployment kourier/gateway on "+c+" is not ready")}
	})
	seed("monitoring", func(c string, n int) []state.Tier {
		if n%5 == 0 {
			t := tier(c, 0, release.Rejected, 26*time.Hour, "a person rejected it: not before Monday. Change the seed, or run 'furrow retry monitoring'")
			t.Proposal = &state.Proposal{Repo: "fleet", Branch: "b", Title: "Plant monitoring on " + c}
			return []state.Tier{t}
		}
		t := tier(c, 0, release.Released, 26*time.Hour, "healthy")
		t.Amended = "git diff a5c41da0 b6d52eb1 -- planted"
		if n != 1 {
			t.Amended = ""
		}
		return []state.Tier{t}
	})
	st.Seeds = append(st.Seeds, state.Seed{Name: "broken", State: state.Stalled, Reason: v1alpha1.ReasonInvalidYAML, Message: "seeds/broken.yaml:3: not valid YAML: mapping values are not allowed here"})
	st.Stale = []state.Stale{{Repo: "lab", Since: noon.Add(-time.Hour)}}
	return &st
}

// mustPrint compares a text with a file in testdata.
func mustPrint(t *testing.T, name, text string) {
	t.Helper()
	mustShow(t, filepath.Join("..", name), result{stdout: text})
}

func TestStatusOfAFleetFitsOnATerminal(t *testing.T) {
	for _, width := range []int{80, 120} {
		p := &page{width: width}
		v := &statusView{State: fleetOf(20), now: noon.Add(2 * time.Minute)}
		v.head(p)
		v.body(p)
		mustPrint(t, fmt.Sprintf("status-%d", width), p.String())
		for line := range strings.SplitSeq(p.String(), "\n") {
			if columns(line) > width && !strings.Contains(line, "https://") {
				t.Errorf("a line is wider than %d columns: %q", width, line)
			}
		}
		if n := strings.Count(p.String(), "\n"); n > 60 {
			t.Errorf("at %d columns it has %d lines", width, n)
		}
	}
}

// planOf is a plan of two tiers on clusters c01, c02 and so on.
func planOf(clusters int) *plan.Plan {
	namespace := manifest.ID{Kind: "Namespace", Name: "projectcontour"}
	contour := manifest.ID{Group: "apps", Kind: "Deployment", Namespace: "projectcontour", Name: "contour"}
	const why, because = "metadata.namespace: projectcontour", "the seed selects no clusters, so it goes to all workload clusters of the region"
	p := &plan.Plan{Seed: "contour", Revision: "main@sha1:a5c41da0409e6b911255524cd0db1bf71ebc39e2", Generation: 1, Contents: []plan.Contents{
		{ID: "c1", Objects: []plan.Object{{ID: namespace, From: "seeds/contour/namespace.yaml:1"}}},
		{ID: "c2", Objects: []plan.Object{{ID: contour, From: "seeds/contour/deployment.yaml:12"}}},
	}}
	var all []string
	for n := 1; n <= clusters; n++ {
		name := fmt.Sprintf("c%02d", n)
		all = append(all, name)
		pre := plan.Prerequisite{Cluster: name, Why: "apps/Deployment/projectcontour/contour waits for core/Namespace/projectcontour (namespace: " + why + ")"}
		p.Tiers = append(p.Tiers, plan.Tier{Cluster: name, Reconciler: "Flux", Contents: "c1"}, plan.Tier{Cluster: name, Reconciler: "Flux", Ordinal: 1, Level: 1, Contents: "c2", Prerequisites: []plan.Prerequisite{pre}})
	}
	p.Placements = []plan.Placement{{Object: namespace, Clusters: all, Rule: "selected", Why: because}, {Object: contour, Clusters: all, Rule: "selected", Why: because}}
	p.Dependencies = []plan.Dependency{{From: plan.DependencyFrom{Object: contour, Clusters: all}, To: plan.DependencyTo{Object: namespace}, Rule: "namespace", Why: why}}
	p.Warnings = []plan.Warning{{Message: "no seed holds the kind HTTPProxy of group projectcontour.io, which the plan expects on all clusters", From: "seeds/contour/proxy.yaml:3"}}
	return p
}

// explainedIn is the explanation of the Deployment of planOf by a state, two minutes past noon.
func explainedIn(st *state.State, p *plan.Plan, inForce *plan.Plan) *explanation {
	e := &explanation{Object: "apps/Deployment/projectcontour/contour", Seed: "contour", plan: p, plans: map[string]*plan.Plan{p.Seed: p}, reported: &statusView{State: st, now: noon.Add(2 * time.Minute)}}
	e.describe(inForce)
	return e
}

// reviewText is what is shown of an update of the first tier of a plan.
func reviewText(p *plan.Plan) string {
	id := func(text string) (out manifest.ID) {
		if err := out.UnmarshalText([]byte(text)); err != nil {
			panic(err)
		}
		return out
	}
	vars := review.NewSeed(p, map[layout.Tier]release.State{p.Name(&p.Tiers[0]): release.Proposed, p.Name(&p.Tiers[2]): release.Released}, []release.WaveStatus{{Name: "canary", State: release.WaveSoaking, Clusters: 2, Done: 2}, {Name: "rest", State: release.WaveWaiting, Clusters: 18, Message: "waits for wave canary"}}).Describe(review.Proposal{
		Base: "main", Branch: "furrow/main/tier/contour/c01/00", Terminal: true,
		Commit: &review.Commit{ID: "0123456789abcdef", Subject: "Scale contour out for the summer, as the capacity review of May has asked us to do", Author: "Ada"},
		Tiers: []review.Tier{{Tier: &p.Tiers[0], Verb: review.Update, Unchanged: 3, Changes: []change.Change{
			{Kind: change.Removed, Object: id("core/Namespace/old"), Destroys: "everything in the namespace"},
			{Kind: change.Changed, Object: id("apps/Deployment/projectcontour/contour"), Fields: []change.Field{{Path: "replicas", Was: "3", Is: "5"}, {Path: "containers[contour].image", Was: "ghcr.io/projectcontour/contour:v1.30.0", Is: "ghcr.io/projectcontour/contour:v1.31.0"}}, More: 2},
			{Kind: change.Changed, Object: id("core/Secret/projectcontour/envoycert"), Hidden: true},
			{Kind: change.Added, Object: id("core/ConfigMap/projectcontour/contour")},
		}}},
	})
	vars.HowToReject, vars.From, vars.Removal = "Run 'furrow pr reject contour/c01/00'.", "seeds/contour", false
	text, err := template.Render(template.Text{Name: "proposal.txt.tmpl", Text: templates.Terminal}, vars)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// tables are what people read of a fleet, by the name of their files.
func tables() map[string]func(io.Writer) {
	before, next := planOf(20), planOf(21)
	next.Tiers = next.Tiers[2:]
	return map[string]func(io.Writer){
		"status": func(w io.Writer) { (&statusView{State: fleetOf(20), now: noon}).body(w) },
		"plan":   func(w io.Writer) { planTable(w, before, nil, false) },
		"plan-diff": func(w io.Writer) {
			planDiffOf(&engine.Preview{Seed: "contour", Revision: next.Revision, InForce: before, Next: next}).table(w, false)
		},
		"pr": func(w io.Writer) {
			one := located{repo: &controlplane.Repo{Name: "fleet", Base: "main"}, ours: true, proposal: forge.Proposal{
				Branch: "furrow/main/tier/contour/c01/00", Title: "Plant contour on c01, tier 00", Carried: forge.Carried{Digest: "sha256:1"},
			}}
			stateRows(w, 2, listLines([]located{one}, noon))
			proposalTable(w, one, nil, reviewText(before))
		},
		"explain": func(w io.Writer) { explanationTable(w, explainedIn(fleetOf(20), before, before), false) },
	}
}

func TestPlansAndExplanationsFitOnATerminal(t *testing.T) {
	for name, draw := range tables() {
		for _, width := range []int{80, 120} {
			p := &page{width: width}
			draw(p)
			if name != "status" {
				mustPrint(t, fmt.Sprintf("%s-%d", name, width), p.String())
			}
			for line := range strings.SplitSeq(p.String(), "\n") {
				if columns(line) > width && !strings.Contains(line, "https://") {
					t.Errorf("%s has a line that is wider than %d columns: %q", name, width, line)
				}
			}
		}
	}
}

func TestStatesHaveColoursOnATerminalAlone(t *testing.T) {
	for name, draw := range tables() {
		show := func(w io.Writer) string {
			output := outputFlag{format: "table"}
			if err := output.write(w, nil, draw); err != nil {
				t.Fatal(err)
			}
			if b, ok := w.(*bytes.Buffer); ok {
				return b.String()
			}
			return ""
		}
		t.Setenv("TERM", "xterm")
		if piped := show(&bytes.Buffer{}); strings.Contains(piped, "\x1b") {
			t.Errorf("%s: a pipe gets escape codes: %q", name, piped)
		}
		for _, c := range []struct {
			noColor, term string
			width         int
			colours       bool
		}{{"", "xterm", 80, true}, {"", "xterm", 120, true}, {"1", "xterm", 80, false}, {"", "dumb", 80, false}} {
			t.Setenv("NO_COLOR", c.noColor)
			t.Setenv("TERM", c.term)
			got := onTerminal(t, c.width, func(w io.Writer) { show(w) })
			want := map[string]string{"status": "\x1b[31mHeld\x1b[0m", "plan": "\x1b[1mSeed contour: ", "pr": "  \x1b[33mOpen\x1b[0m   Plant", "plan-diff": "\x1b[32m+\x1b[0m c21 tier 00", "explain": "\x1b[2mBlocked\x1b[0m"}[name]
			if strings.Contains(got, want) != c.colours || strings.Contains(got, "\x1b") != c.colours {
				t.Errorf("%s, %+v: it shows %q", name, c, got)
			}
			if c.colours {
				mustPrint(t, fmt.Sprintf("%s-%d-colours", name, c.width), strings.ReplaceAll(got, "\x1b", "␛"))
			}
		}
	}
}

func TestTextOfPeopleCannotColourATerminal(t *testing.T) {
	st := reportOfWeb(release.Held, "\x1b[31mred\x1b[0m")
	st.Seeds[0].Message = "\x1b[2J"
	p := &page{width: 80, colour: true}
	(&statusView{State: st, now: noon}).body(p)
	if text := strings.NewReplacer("\x1b[31mHeld\x1b[0m", "").Replace(p.String()); strings.Contains(text, "\x1b") {
		t.Errorf("it has escape codes of people: %q", text)
	}
}

// asResources is a state as the controller writes it into resources.
func asResources(st *state.State) (seeds []v1alpha1.Seed, plantings []v1alpha1.Planting) {
	for i := range st.Seeds {
		s := &st.Seeds[i]
		seed := v1alpha1.Seed{ObjectMeta: metav1.ObjectMeta{Namespace: "fleet", Name: s.Name}}
		s.ToStatus(&seed.Status)
		seed.Status.Plan = &v1alpha1.PlanSummary{Revision: s.Revision}
		ready := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: string(s.Reason), Message: state.Cut(s.Message)}
		seed.Status.Conditions = []metav1.Condition{ready}
		seeds = append(seeds, seed)
		of := map[string][]state.Tier{}
		for _, t := range s.Tiers {
			of[t.Cluster] = append(of[t.Cluster], t)
		}
		for cluster, tiers := range of {
			p := v1alpha1.Planting{ObjectMeta: metav1.ObjectMeta{Namespace: "fleet"}, Spec: v1alpha1.PlantingSpec{Seed: s.Name, Cluster: cluster}}
			state.ToPlanting(tiers, &p.Status)
			plantings = append(plantings, p)
		}
	}
	return seeds, plantings
}

func TestResourcesShowWhatTheStateShowsThatTheyWereWrittenFrom(t *testing.T) {
	st := fleetOf(20)
	for _, whole := range []bool{false, true} {
		show := func(st *state.State) string {
			p := &page{width: 100}
			(&statusView{State: st, now: noon, whole: whole}).body(p)
			return strings.ReplaceAll(p.String(), "'kubectl furrow ", "'furrow ")
		}
		was := *st
		was.Stale = nil // each GitOpsRepo has a condition for that
		if diff := cmp.Diff(show(&was), show(state.FromResources(asResources(st)))); diff != "" {
			t.Errorf("whole %t (-state +resources):\n%s", whole, diff)
		}
	}
}

func TestEqualClustersAreOneLine(t *testing.T) {
	all := []string{"c01", "c02", "c03", "c04", "c05", "c06", "edge", "edge-1"}
	texts := func(say func(cluster string) string, clusters ...string) (out []ofCluster) {
		for _, c := range clusters {
			out = append(out, ofCluster{c, say(c)})
		}
		return out
	}
	about := func(c string) string { return "the root of " + c + " has no clusters/" + c + "." }
	cases := map[string]struct {
		texts []ofCluster
		whole bool
		want  []string
	}{
		"two are short enough":               {texts(about, "c01", "c02"), false, []string{"c01: the root of c01 has no clusters/c01.", "c02: the root of c02 has no clusters/c02."}},
		"three are one line":                 {texts(about, "c01", "c02", "c03"), false, []string{"c01, c02, c03: the root of <cluster> has no clusters/<cluster>."}},
		"many have a range":                  {texts(about, "c01", "c02", "c03", "c04", "c05", "edge"), false, []string{"c01 … c05, edge: the root of <cluster> has no clusters/<cluster>."}},
		"a gap ends a range":                 {texts(about, "c01", "c02", "c04", "c05", "c06"), false, []string{"c01, c02, c04, c05, c06: the root of <cluster> has no clusters/<cluster>."}},
		"each by itself where that is meant": {texts(about, "c01", "c02", "c03"), true, []string{"c01: the root of c01 has no clusters/c01.", "c02: the root of c02 has no clusters/c02.", "c03: the root of c03 has no clusters/c03."}},
		"a name within a name stays":         {texts(func(string) string { return "waits for edge-1" }, "edge", "c01", "c02"), false, []string{"c01, c02, edge: waits for edge-1"}},
		"another cluster's name differs":     {texts(func(string) string { return "waits for c01" }, "c01", "c02", "c03"), false, []string{"c01: waits for c01", "c02: waits for c01", "c03: waits for c01"}},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			var got []string
			for _, f := range folded(clusterSet{names: all}, c.texts, c.whole) {
				got = append(got, f.on+": "+f.text)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	var many []string
	for i := range 40 {
		many = append(many, fmt.Sprintf("c%02d", i))
	}
	if got := runsOf([]string{"c00", "c02", "c04", "c06", "c08", "c10", "c12", "c14", "c16", "c18"}, many); got != "c00, c02, c04, c06, c08, c10, c12, c14 and 2 more" {
		t.Errorf("scattered clusters are %q", got)
	}
}

// BenchmarkStatus is 'furrow status' for 20 clusters × 4 packages, from the bytes of the published state to the text.
func BenchmarkStatus(b *testing.B) {
	data, err := manifest.YAML(fleetOf(20))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		st, err := state.Decode(data)
		if err != nil {
			b.Fatal(err)
		}
		(&statusView{State: st, now: noon}).body(&page{width: 120})
	}
}

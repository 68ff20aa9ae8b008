package draw

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/internal/core/dependency"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/test/golden"
)

// names are simple: a name is replaced wherever it is.
var names = Names{
	Without: func(cluster, text string) string { return strings.ReplaceAll(text, cluster, "<cluster>") },
	Runs: func(some, _ []string) string {
		if len(some) > 2 {
			return some[0] + " … " + some[len(some)-1]
		}
		return strings.Join(some, ", ")
	},
	Wave: func(string) string { return "" },
}

// edge is the plan of a seed that brings clusters from mgmt, and plants a workload of some objects in three tiers on
// each. The management cluster waits for them at last, and the first tier for another seed.
func edge(clusters, objects int) *plan.Plan {
	id := func(kind, name string) manifest.ID { return manifest.ID{Kind: kind, Namespace: "edge", Name: name} }
	p := &plan.Plan{Seed: "edge-5g"}
	contents := func(ids ...manifest.ID) string {
		c := plan.Contents{ID: fmt.Sprintf("c%d", len(p.Contents)+1)}
		for _, i := range ids {
			c.Objects = append(c.Objects, plan.Object{ID: i})
		}
		p.Contents = append(p.Contents, c)
		return c.ID
	}
	namespace := manifest.ID{Kind: "Namespace", Name: "edge"}
	var all []string
	var creators []manifest.ID
	wait := func(from manifest.ID, on []string, to manifest.ID, at, rule string) {
		p.Dependencies = append(p.Dependencies, plan.Dependency{From: plan.DependencyFrom{Object: from, Clusters: on}, To: plan.DependencyTo{Object: to, Cluster: at}, Kind: dependency.Hard, Rule: rule, Why: rule + ": edge"})
	}
	for n := range clusters {
		all = append(all, fmt.Sprintf("edge-%04d", n+1))
		creators = append(creators, manifest.ID{Group: "cluster.x-k8s.io", Kind: "Cluster", Namespace: "edge", Name: all[n]})
		wait(creators[n], []string{"mgmt"}, namespace, "", "namespace")
		wait(namespace, []string{all[n]}, creators[n], "mgmt", "cluster")
	}
	first := contents(namespace)
	made := contents(creators...)
	last := contents(id("ConfigMap", "register"))
	var config, work []manifest.ID
	for n := range objects / 2 {
		config = append(config, id([]string{"ConfigMap", "Service", "ServiceAccount"}[n%3], fmt.Sprintf("config-%d", n)))
		work = append(work, manifest.ID{Group: "apps", Kind: "Deployment", Namespace: "edge", Name: fmt.Sprintf("work-%d", n)})
		wait(config[n], all, namespace, "", "namespace")
		wait(work[n], all, config[n], "", "declared")
	}
	second, third := contents(config...), contents(work...)
	pre := func(cluster string, ordinal int, why string) plan.Prerequisite {
		return plan.Prerequisite{Cluster: cluster, Ordinal: ordinal, Why: why}
	}
	for _, c := range all {
		p.Tiers = append(p.Tiers,
			plan.Tier{Cluster: c, Level: 3, Contents: first, Prerequisites: []plan.Prerequisite{pre("mgmt", 1, c+" is created by it")}},
			plan.Tier{Cluster: c, Ordinal: 1, Level: 4, Contents: second, Prerequisites: []plan.Prerequisite{pre(c, 0, "namespace")}},
			plan.Tier{Cluster: c, Ordinal: 2, Level: 5, Contents: third, Prerequisites: []plan.Prerequisite{pre(c, 1, "declared"), pre(c, 0, "namespace")}},
		)
	}
	end := plan.Tier{Cluster: "mgmt", Ordinal: 2, Level: 6, Contents: last}
	for _, c := range all {
		end.Prerequisites = append(end.Prerequisites, pre(c, 2, "declared"))
	}
	p.Tiers = append(p.Tiers,
		plan.Tier{Cluster: "mgmt", Level: 1, Contents: first, Prerequisites: []plan.Prerequisite{{Seed: "capi", Cluster: "mgmt", Ordinal: 3, Why: "crd"}}},
		plan.Tier{Cluster: "mgmt", Ordinal: 1, Level: 2, Contents: made, Prerequisites: []plan.Prerequisite{pre("mgmt", 0, "namespace")}}, end)
	return p
}

func mustBe(t *testing.T, file, text string) {
	t.Helper()
	name := filepath.Join("testdata", file)
	if golden.Update() {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil || string(want) != text {
		t.Errorf("it is not %s (%v):\n%s", name, err, text)
	}
}

func TestAGraphShowsWhatWaitsForWhatAmongFewObjects(t *testing.T) {
	g := New(edge(2, 6), names)
	mustBe(t, "few.dot", g.DOT())
	mustBe(t, "few.mmd", g.Mermaid())
	data, err := json.MarshalIndent(g, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	mustBe(t, "few.json", string(data)+"\n")
}

func TestManyObjectsAreCountedByKind(t *testing.T) {
	g := New(edge(2, 200), names)
	mustBe(t, "many.dot", g.DOT())
	mustBe(t, "many.mmd", g.Mermaid())
	if g.Waits != nil {
		t.Errorf("it shows %d waits of objects", len(g.Waits))
	}
}

func TestEqualClustersAreOneLane(t *testing.T) {
	few, many := New(edge(3, 6), names), New(edge(1000, 6), names)
	if len(few.Lanes) != 3 || len(many.Lanes) != 3 || len(many.Edges) != len(few.Edges) || many.Lanes[1].Name != "edge-0001 … edge-1000" || len(many.Lanes[1].Clusters) != 1000 {
		t.Errorf("the lanes are %+v", many.Lanes)
	}
}

func TestMoreLanesThanFitAreJoined(t *testing.T) {
	p := edge(40, 6)
	for n, c := range p.On("edge-0001") {
		_ = c
		for i := range 40 { // each cluster has a ConfigMap of its own
			id := fmt.Sprintf("own-%d-%d", i, n)
			p.Contents = append(p.Contents, plan.Contents{ID: id, Objects: []plan.Object{{ID: manifest.ID{Kind: "ConfigMap", Name: id}}}})
			p.Tiers[3*i+n].Contents = id
		}
	}
	g := New(p, names)
	last := g.Lanes[maxLanes-1]
	if len(g.Lanes) != maxLanes+1 || !last.Joined || len(last.Clusters) != 30 || last.Name != "30 other clusters" {
		t.Errorf("there are %d lanes, and the last of clusters is %+v", len(g.Lanes), last)
	}
	at := slices.IndexFunc(g.Tiers, func(t Tier) bool { return t.Lane == maxLanes-1 })
	if at < 0 || len(g.Tiers[at].Kinds) != 1 || g.Tiers[at].Kinds[0] != (Kind{"ConfigMap", 30}) {
		t.Errorf("its first tier is %+v", g.Tiers[at])
	}
	if dot := g.DOT(); len(dot) > 20_000 || !strings.Contains(dot, "30 ConfigMap") {
		t.Errorf("it has %d bytes:\n%s", len(dot), dot)
	}
}

// hostile names try to leave their quotes, or to be more than text where they are shown.
var hostile = []string{
	`a"]; evil [label="`, "two\nlines", `back\slash\N\G`, "<b>bold</b><script>alert(1)</script>", "&lt;b&gt; &amp;", "`code` **bold**", "end", "%%{init: {}}%%",
	"#quot;#35;", "\"]\n  click t0 \"javascript:alert(1)\"\n  x[\"", "-->|x| t0", "\x1b[31m\u202e\x00", `"><image href="https://example.com/x"/>`, "]]></style>",
}

func TestNamesCannotActInAGraph(t *testing.T) {
	for _, name := range hostile {
		p := edge(1, 4)
		p.Seed = name
		of := &p.Contents[0].Objects[0].ID
		was := *of
		of.Kind, of.Name = name, name
		for i := range p.Dependencies {
			d := &p.Dependencies[i]
			d.Why, d.Rule = name, name
			for _, id := range []*manifest.ID{&d.From.Object, &d.To.Object} {
				if *id == was {
					*id = *of
				}
			}
		}
		for i := range p.Tiers {
			for j := range p.Tiers[i].Prerequisites {
				p.Tiers[i].Prerequisites[j].Why = name
			}
		}
		plain, g := New(edge(1, 4), names), New(p, names)
		if got, want := strings.Count(g.DOT(), "\n"), strings.Count(plain.DOT(), "\n"); got != want {
			t.Errorf("%q: DOT has %d lines instead of %d", name, got, want)
		}
		for line := range strings.SplitSeq(g.DOT(), "\n") {
			if rest := dotString.ReplaceAllString(line, ""); strings.ContainsAny(rest, `"\<`) {
				t.Errorf("%q: a line of DOT has a text that is not closed: %s", name, line)
			}
		}
		for line := range strings.SplitSeq(g.Mermaid(), "\n") {
			if !mermaidLine.MatchString(line) {
				t.Errorf("%q: a line of Mermaid is not one of ours: %s", name, line)
			}
		}
	}
}

var (
	dotString   = regexp.MustCompile(`"([^"\\]|\\\\|\\"|\\n)*"`)
	mermaidLine = regexp.MustCompile(`^( *(flowchart LR|end|direction LR|accTitle: [^"<>` + "`" + `]*|(subgraph )?[a-z0-9]+\["([^"<>` + "`" + `&]|<br/>)*"\]|t\d+(o\d+)? -->(\|"[^"<>|` + "`" + `&]*"\|)? t\d+(o\d+)?))?$`)
)

func TestNamesAreWholeAndApart(t *testing.T) {
	const crd = "alertmanagerconfigs.monitoring.coreos.com"
	p := &plan.Plan{Seed: "prometheus", Tiers: []plan.Tier{{Cluster: "east", Contents: "c1"}, {Cluster: "west", Contents: "c1"}}, Contents: []plan.Contents{{ID: "c1", Objects: []plan.Object{
		{ID: manifest.ID{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Name: crd}},
		{ID: manifest.ID{Kind: "ServiceAccount", Namespace: "monitoring", Name: "prometheus-k8s"}},
		{ID: manifest.ID{Kind: "ServiceAccount", Namespace: "default", Name: "prometheus-k8s"}},
		{ID: manifest.ID{Kind: "ServiceAccount", Namespace: "default", Name: "grafana"}},
	}}}}
	few := names
	few.Wave = func(cluster string) string { return map[string]string{"east": "canary"}[cluster] }
	many := *p
	many.Contents = []plan.Contents{{ID: "c1", Objects: slices.Clone(p.Contents[0].Objects)}}
	for n := range maxLines {
		many.Contents[0].Objects = append(many.Contents[0].Objects, plan.Object{ID: manifest.ID{Kind: "Secret", Namespace: "default", Name: fmt.Sprint("secret-", n)}})
	}
	for what, text := range map[string]string{"SVG": New(p, few).SVG(), "SVG by kind": New(&many, few).SVG(), "DOT": New(p, few).DOT(), "Mermaid": New(p, few).Mermaid()} {
		text := regexp.MustCompile(`(?s)<title.*?</title>|<desc.*?</desc>|tooltip="[^"]*"`).ReplaceAllString(text, "")
		for _, want := range []string{crd, "monitoring/prometheus-k8s", "default/prometheus-k8s", "east, wave canary"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not show %q:\n%s", what, want, text)
			}
		}
		for _, not := range []string{"default/grafana", "west, wave", "…"} {
			if strings.Contains(text, not) {
				t.Errorf("%s shows %q:\n%s", what, not, text)
			}
		}
	}
}

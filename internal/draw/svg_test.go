package draw

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
)

// example is the plan that docs/graph.svg shows: six levels on a management cluster, two edge clusters that it makes,
// which differ, and eight equal ones.
func example() *plan.Plan {
	p := &plan.Plan{Seed: "edge-5g"}
	tier := func(cluster string, ordinal, level int, objects string, after ...string) {
		c := plan.Contents{ID: fmt.Sprintf("c%d", len(p.Contents)+1)}
		for o := range strings.FieldsSeq(objects) {
			kind, name, _ := strings.Cut(o, "/")
			c.Objects = append(c.Objects, plan.Object{ID: manifest.ID{Kind: kind, Name: name}})
		}
		p.Contents = append(p.Contents, c)
		t := plan.Tier{Cluster: cluster, Ordinal: ordinal, Level: level, Contents: c.ID}
		for _, a := range after {
			pre := plan.Prerequisite{Why: "an object of it is waited for"}
			if _, err := fmt.Sscan(a, &pre.Cluster, &pre.Ordinal); err != nil {
				panic(err)
			}
			pre.Seed, pre.Cluster, _ = strings.Cut(pre.Cluster, ":")
			if pre.Cluster == "" {
				pre.Seed, pre.Cluster = "", pre.Seed
			}
			t.Prerequisites = append(t.Prerequisites, pre)
		}
		p.Tiers = append(p.Tiers, t)
	}
	tier("mgmt", 0, 0, "Namespace/edge")
	tier("mgmt", 1, 1, "Secret/pull DockerMachineTemplate/control-plane DockerCluster/edge-1 DockerCluster/edge-2 KubeadmControlPlane/edge-1 KubeadmControlPlane/edge-2 Cluster/edge-1 Cluster/edge-2", "mgmt 0", "capi:mgmt 2")
	for _, c := range []string{"edge-1", "edge-2"} {
		extra, more := "", ""
		if c == "edge-2" {
			extra, more = " Service/upf-metrics ConfigMap/dashboards", " DaemonSet/sriov"
		}
		tier(c, 0, 2, "Namespace/core Namespace/ran CustomResourceDefinition/slices.5g.example.com PriorityClass/user-plane", "mgmt 1")
		tier(c, 1, 3, "ConfigMap/amf ConfigMap/smf ConfigMap/upf Secret/sim-keys ServiceAccount/upf Service/amf Service/smf Service/upf"+extra, c+" 0")
		tier(c, 2, 4, "Deployment/amf Deployment/smf StatefulSet/upf"+more, c+" 0", c+" 1")
		tier(c, 3, 5, "Slice/broadband Slice/low-latency Slice/sensors", c+" 0", c+" 2")
	}
	for n := range 8 {
		c := fmt.Sprintf("lab-%d", n+1)
		tier(c, 0, 0, "Namespace/core CustomResourceDefinition/slices.5g.example.com")
		tier(c, 1, 1, "ConfigMap/amf ConfigMap/smf ConfigMap/upf Deployment/simulator", c+" 0")
		tier(c, 2, 5, "Slice/test", c+" 0", c+" 1", "edge-1 2")
	}
	tier("mgmt", 2, 4, "ConfigMap/register", "mgmt 1", "edge-1 1", "edge-2 1")
	tier("mgmt", 3, 6, "Job/announce", "mgmt 1", "mgmt 2", "edge-1 3", "edge-2 3")
	slices.SortStableFunc(p.Tiers, func(a, b plan.Tier) int { return strings.Compare(a.Cluster, b.Cluster)*100 + a.Ordinal - b.Ordinal })
	return p
}

func TestThePictureInTheDocumentationIsCurrent(t *testing.T) {
	mustBe(t, filepath.Join("..", "..", "..", "docs", "graph.svg"), New(example(), names).SVG())
}

// large is the plan of a seed with 60 objects in each of six tiers on three clusters that differ, with names as
// people give them.
func large() *plan.Plan {
	p := &plan.Plan{Seed: "core-5g"}
	functions := []string{"amf", "smf", "upf", "ausf", "udm", "udr", "pcf", "nrf", "nssf", "sepp"}
	kinds := [][]string{
		{"Namespace", "ResourceQuota", "LimitRange", "PriorityClass", "CustomResourceDefinition", "ClusterRole"},
		{"ServiceAccount", "Role", "RoleBinding", "Secret", "ConfigMap", "NetworkPolicy"},
		{"ConfigMap", "Service", "PersistentVolumeClaim", "Secret", "PodDisruptionBudget", "ConfigMap"},
		{"Deployment", "Service", "HorizontalPodAutoscaler", "ServiceMonitor", "Deployment", "Deployment"},
		{"StatefulSet", "Service", "Certificate", "Ingress", "ConfigMap", "CronJob"},
		{"Slice", "Job", "PrometheusRule", "ConfigMap", "Slice", "Slice"},
	}
	for c, cluster := range []string{"edge-ams", "edge-ber", "core-fra"} {
		for ordinal := range kinds {
			contents := plan.Contents{ID: fmt.Sprintf("c%d", len(p.Contents)+1)}
			for n := range 60 {
				name := functions[n%10]
				if turn := n / 10; turn > 0 {
					name += []string{"", "-config", "-internal", "-metrics", "-session-store", "-eu"}[turn]
				}
				if n == 0 {
					name += fmt.Sprintf("-%d", c)
				}
				contents.Objects = append(contents.Objects, plan.Object{ID: manifest.ID{Kind: kinds[ordinal][n/10], Namespace: "core", Name: name}})
			}
			p.Contents = append(p.Contents, contents)
			tier := plan.Tier{Cluster: cluster, Ordinal: ordinal, Level: ordinal, Contents: contents.ID}
			if ordinal > 0 {
				tier.Prerequisites = append(tier.Prerequisites, plan.Prerequisite{Cluster: cluster, Ordinal: ordinal - 1})
			}
			if ordinal > 1 && c < 2 {
				tier.Prerequisites = append(tier.Prerequisites, plan.Prerequisite{Cluster: "core-fra", Ordinal: ordinal - 2})
			}
			p.Tiers = append(p.Tiers, tier)
		}
	}
	return p
}

// TestALargePictureNamesItsObjects: each object of three clusters with six tiers of 60 objects has its name in its
// box, the picture fits two screens, and with more objects boxes count kinds again.
func TestALargePictureNamesItsObjects(t *testing.T) {
	pl := large()
	p := newPicture(New(pl, names))
	for i, tier := range p.Tiers {
		text := strings.Join(p.boxes[i].lines, " ") + " "
		for _, id := range tier.ids {
			if !strings.Contains(text, " "+id.Name+" ") && !strings.Contains(text, " "+id.Name+", ") {
				t.Errorf("%s does not name %s: %s", p.tierName(i), tier.nameOf(id), text)
			}
		}
	}
	if p.w > 2100 || p.h > 1900 {
		t.Errorf("the picture is %.0f × %.0f", p.w, p.h)
	}
	mustBe(t, "large.svg", New(pl, names).SVG())
	for c := range pl.Contents {
		for n := range 5 {
			pl.Contents[c].Objects = append(pl.Contents[c].Objects, plan.Object{ID: manifest.ID{Kind: "Event", Name: fmt.Sprintf("e-%d", n)}})
		}
	}
	for i, b := range newPicture(New(pl, names)).boxes {
		if len(b.lines) > maxLines+1 {
			t.Errorf("box %d has %d lines", i, len(b.lines))
		}
	}
}

// rect is a box of a picture.
type rect struct{ x1, y1, x2, y2 float64 }

// TestNoLineCrossesABox lays out graphs of many shapes.
func TestNoLineCrossesABox(t *testing.T) {
	plans := map[string]*plan.Plan{"the example": example(), "few": edge(2, 14), "many": edge(8, 300), "one": edge(1, 0), "large": large()}
	dense := &plan.Plan{Seed: "dense", Contents: []plan.Contents{{ID: "c1", Objects: []plan.Object{{ID: manifest.ID{Kind: "ConfigMap", Name: "a"}}}}}}
	for n := range 5 {
		for o := range 7 {
			c := fmt.Sprintf("cluster-%d", n)
			tier := plan.Tier{Cluster: c, Ordinal: o, Level: o + n%2, Contents: "c1"}
			for other := range 5 {
				for before := max(0, o-1-other); before < o-n%2-1; before++ {
					tier.Prerequisites = append(tier.Prerequisites, plan.Prerequisite{Cluster: fmt.Sprintf("cluster-%d", other), Ordinal: before})
				}
			}
			dense.Tiers = append(dense.Tiers, tier)
		}
	}
	plans["dense"] = dense
	for name, pl := range plans {
		p := newPicture(New(pl, names))
		for _, r := range p.routes {
			for i, b := range p.boxes {
				at := rect{b.x + 1, b.y + 1, b.x + b.w - 1, b.y + b.h - 1}
				points := p.points(r)
				for n := range len(points) - 1 {
					from, to := points[n], points[n+1]
					if min(from[0], to[0]) < at.x2 && max(from[0], to[0]) > at.x1 && min(from[1], to[1]) < at.y2 && max(from[1], to[1]) > at.y1 {
						t.Errorf("%s: the line from %s to %s crosses %s", name, p.tierName(r.edge.From), p.tierName(r.edge.To), p.tierName(i))
					}
				}
			}
		}
		for i, a := range p.boxes {
			if a.x < margin || a.y < header || a.x+a.w > p.w-margin || a.y+a.h > p.h-margin {
				t.Errorf("%s: %s is outside of the picture", name, p.tierName(i))
			}
			for j, b := range p.boxes[:i] {
				if a.x < b.x+b.w && b.x < a.x+a.w && a.y < b.y+b.h && b.y < a.y+a.h {
					t.Errorf("%s: %s lies on %s", name, p.tierName(i), p.tierName(j))
				}
			}
		}
	}
}

func TestEachTierIsReachedFromWhatItWaitsFor(t *testing.T) {
	g := New(example(), names)
	next := map[int][]int{}
	for _, e := range g.needed() {
		next[e.From] = append(next[e.From], e.To)
	}
	var reaches func(from, to int) bool
	reaches = func(from, to int) bool {
		return from == to || slices.ContainsFunc(next[from], func(via int) bool { return reaches(via, to) })
	}
	for _, e := range g.Edges {
		if !reaches(e.From, e.To) {
			t.Errorf("no line leads from tier %d to %d", e.From, e.To)
		}
	}
	if drawn := len(newPicture(g).routes); drawn >= len(g.Edges) {
		t.Errorf("all %d edges are drawn", drawn)
	}
}

func TestNamesCannotActInAPicture(t *testing.T) {
	for _, name := range hostile {
		p := edge(1, 4)
		p.Seed = name
		for i := range p.Contents {
			for j := range p.Contents[i].Objects {
				p.Contents[i].Objects[j].ID.Kind, p.Contents[i].Objects[j].ID.Name = name, name
			}
		}
		for i := range p.Tiers {
			for j := range p.Tiers[i].Prerequisites {
				p.Tiers[i].Prerequisites[j].Why = name
			}
		}
		text := New(p, names).SVG()
		allowed := []string{"svg", "title", "desc", "style", "rect", "text", "path", "g"}
		for d := xml.NewDecoder(strings.NewReader(text)); ; {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%q: it is not XML: %v", name, err)
			}
			start, ok := token.(xml.StartElement)
			if ok && !slices.Contains(allowed, start.Name.Local) {
				t.Errorf("%q: it has an element %s", name, start.Name.Local)
			}
			for _, a := range start.Attr {
				if strings.HasPrefix(a.Name.Local, "on") || strings.Contains(a.Name.Local, "href") {
					t.Errorf("%q: it has an attribute %s", name, a.Name.Local)
				}
			}
		}
		if strings.ContainsAny(text, "\x1b\u202e\x00") {
			t.Errorf("%q: it has control characters", name)
		}
	}
}

func TestAPictureNeedsNothingElseAndHasATitle(t *testing.T) {
	text := New(edge(1000, 5000), names).SVG()
	for _, want := range []string{"<title id=\"title\">Plan of seed edge-5g</title>", "<desc id=\"description\">", "prefers-color-scheme: dark", "edge-0001 … edge-1000 (1000 clusters)", "1000 Cluster</text>", "2500 Deployment</text>"} {
		if !strings.Contains(text, want) {
			t.Errorf("it lacks %q", want)
		}
	}
	for _, no := range []string{"@import", "url(", "href", "<script", "<image", "<foreignObject"} {
		if strings.Contains(text, no) {
			t.Errorf("it has %q", no)
		}
	}
	if strings.Count(text, "\n") > 300 {
		t.Errorf("it has %d lines", strings.Count(text, "\n"))
	}
}

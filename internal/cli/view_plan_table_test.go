package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
)

// largePlan is a plan of 507 objects for each of clusters c0001, c0002 and so on: an operator with
// its namespaces and definitions, and what they are for. Each cluster has a ConfigMap of its own name.
func largePlan(clusters int) *plan.Plan {
	const everywhere = "the seed selects no clusters, so it goes to all workload clusters"
	p := &plan.Plan{Seed: "shop", Generation: 1}
	var all []string
	for n := 1; n <= clusters; n++ {
		all = append(all, fmt.Sprintf("c%04d", n))
	}
	object := func(to *[]plan.Object, id manifest.ID, rule, why string) {
		*to = append(*to, plan.Object{ID: id, From: fmt.Sprintf("seeds/shop.yaml:%d", 10*(1+len(p.Placements)))})
		p.Placements = append(p.Placements, plan.Placement{Object: id, Clusters: all, Rule: rule, Why: why})
	}
	var first, second []plan.Object
	for n := range 40 {
		name := fmt.Sprintf("team-%02d", n)
		object(&first, manifest.ID{Kind: "Namespace", Name: name}, "follow-content", "it follows its content, apps/Deployment/"+name+"/web")
		for _, kind := range []string{"ConfigMap", "Secret", "Service", "ServiceAccount"} {
			object(&second, manifest.ID{Kind: kind, Namespace: name, Name: "web"}, "selected", everywhere)
		}
		for _, kind := range []string{"Deployment", "ReplicaSet", "StatefulSet"} {
			object(&second, manifest.ID{Group: "apps", Kind: kind, Namespace: name, Name: "web"}, "selected", everywhere)
		}
		object(&second, manifest.ID{Group: "gateway.networking.k8s.io", Kind: "Gateway", Namespace: name, Name: "public"}, "selected", everywhere)
		object(&second, manifest.ID{Group: "networking.istio.io", Kind: "Gateway", Namespace: name, Name: "mesh"}, "selected", everywhere)
		object(&second, manifest.ID{Group: "gateway.networking.k8s.io", Kind: "HTTPRoute", Namespace: name, Name: "a-rather-long-name-of-a-route-to-the-web-shop-of-the-team"}, "selected", everywhere)
		object(&second, manifest.ID{Kind: "Endpoints", Namespace: name, Name: "web"}, "selected", everywhere)
	}
	for _, name := range []string{"gateways", "gatewayclasses", "httproutes", "grpcroutes", "tcproutes"} {
		object(&first, manifest.ID{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Name: name + ".gateway.networking.k8s.io"}, "selected", everywhere)
	}
	for _, kind := range []string{"StorageClass", "VolumeAttachment"} {
		object(&first, manifest.ID{Group: "storage.k8s.io", Kind: kind, Name: "fast"}, "selected", everywhere)
	}
	for range 20 {
		object(&first, manifest.ID{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: fmt.Sprintf("role-%03d", len(first))}, "selected", everywhere)
	}
	p.Contents = []plan.Contents{{ID: "c1", Objects: first}, {ID: "c2", Objects: second}}
	for n, c := range all {
		id := fmt.Sprintf("c%d", n+3)
		own := plan.Object{ID: manifest.ID{Kind: "ConfigMap", Namespace: "team-00", Name: c}}
		p.Contents = append(p.Contents, plan.Contents{ID: id, Objects: []plan.Object{own}})
		p.Placements = append(p.Placements, plan.Placement{Object: own.ID, Clusters: []string{c}, Rule: "annotation", Why: "annotation furrow.dev/cluster: " + c})
		p.Tiers = append(p.Tiers,
			plan.Tier{Cluster: c, Contents: "c1"},
			plan.Tier{Cluster: c, Ordinal: 1, Level: 1, Contents: "c2", Prerequisites: []plan.Prerequisite{{Cluster: c, Why: "core/ConfigMap/team-00/web waits for core/Namespace/team-00 (namespace: metadata.namespace: team-00), and 439 more"}}},
			plan.Tier{Cluster: c, Ordinal: 2, Level: 2, Contents: id, Prerequisites: []plan.Prerequisite{{Cluster: c, Ordinal: 1, Why: "core/ConfigMap/team-00/" + c + " waits for core/Secret/team-00/web (declared: furrow.dev/depends-on: core/Secret/team-00/web)"}}},
		)
		for n := range 40 {
			p.Warnings = append(p.Warnings, plan.Warning{
				Object: fmt.Sprintf("networking.istio.io/Gateway/team-%02d/mesh", n), From: fmt.Sprintf("seeds/shop.yaml:%d", 100*n+70),
				Message: "no seed contains the CustomResourceDefinition of Gateway.networking.istio.io for cluster " + c + ". Add it, or list it in spec.provides.customResourceDefinitions of the Cluster.",
			})
		}
	}
	p.Warnings = append(p.Warnings, plan.Warning{Message: "it is not read, because it is a link", From: "seeds/shop/old.yaml"})
	return p
}

func drawn(width int, p *plan.Plan, whole bool) string {
	page := &page{width: width}
	planTable(page, p, nil, whole)
	return page.String()
}

func TestALargePlanIsGroupedByKindAndWhy(t *testing.T) {
	for _, width := range []int{80, 140} {
		text := drawn(width, largePlan(1), false)
		mustPrint(t, fmt.Sprintf("plan-large-%d", width), text)
		for line := range strings.SplitSeq(text, "\n") {
			if columns(line) > width {
				t.Errorf("a line is wider than %d columns: %q", width, line)
			}
		}
	}
}

func TestAWholePlanNamesEachObjectAndWarning(t *testing.T) {
	p := largePlan(1)
	text := drawn(80, p, true)
	for _, pl := range p.Placements {
		if !strings.Contains(text, pl.Object.String()) {
			t.Errorf("it does not name %s", pl.Object)
		}
	}
	for _, warning := range p.Warnings {
		if !strings.Contains(text, warning.From+": ") {
			t.Errorf("it does not show %q", warning)
		}
	}
}

func TestAThousandEqualClustersAreShownAsOne(t *testing.T) {
	text := drawn(100, largePlan(1000), false)
	mustPrint(t, "plan-equal-clusters", text)
	if few := drawn(100, largePlan(3), false); strings.Count(text, "\n") > strings.Count(few, "\n") {
		t.Errorf("it is longer than that of three clusters:\n%s", few)
	}
}

// Work for each object on each cluster would take some thousand allocations for a cluster.
func TestAnotherEqualClusterCostsLittle(t *testing.T) {
	allocations := func(clusters int) float64 {
		p := largePlan(clusters)
		p.Warnings = nil
		return testing.AllocsPerRun(1, func() { drawn(100, p, false) })
	}
	if each := (allocations(1100) - allocations(100)) / 1000; each > 150 {
		t.Errorf("each cluster takes %.0f allocations", each)
	}
}

func TestATierThatWaitsForManyNamesSome(t *testing.T) {
	p := largePlan(12)
	last := &p.Tiers[2]
	last.Prerequisites = nil
	for n := range 12 {
		last.Prerequisites = append(last.Prerequisites, plan.Prerequisite{Cluster: fmt.Sprintf("c%04d", n+1), Why: fmt.Sprintf("core/ConfigMap/team-00/c0001 waits for core/Namespace/team-%02d", n)})
	}
	if text := drawn(0, p, false); strings.Count(text, "\n  after c00") != 6 || !strings.Contains(text, "\n  after 6 more; -o wide shows each\n") {
		t.Errorf("it shows:\n%s", text)
	}
	for n := range last.Prerequisites {
		last.Prerequisites[n].Why = "the last ones wait for all"
	}
	if text := drawn(0, p, false); !strings.Contains(text, "after c0001 … c0012 tier 00: the last ones wait for all") {
		t.Errorf("it shows:\n%s", text)
	}
}

// TestManyReasonsOfOneRuleAreOneGroup: a rule that names another object in each Namespace would otherwise fill the
// screen with paragraphs that say the same.
func TestManyReasonsOfOneRuleAreOneGroup(t *testing.T) {
	var objects []placedObject
	add := func(namespaces int) {
		objects = nil
		for n := range namespaces {
			for i := range 14 {
				objects = append(objects, placedObject{
					id:   manifest.ID{Kind: "ConfigMap", Namespace: fmt.Sprintf("team-%d", n), Name: fmt.Sprintf("settings-%d", i)},
					rule: "follow-rest", why: fmt.Sprintf("it is in one Namespace with core/Service/team-%d/web", n),
				})
			}
		}
	}
	for namespaces, want := range map[int]int{1: 1, maxAlike: maxAlike, maxAlike + 1: 1, 40: 1} {
		add(namespaces)
		groups := byWhy(objects)
		if len(groups) != want {
			t.Errorf("%d reasons are %d groups, want %d", namespaces, len(groups), want)
		}
		if namespaces > maxAlike && groups[0].title() != "rule follow-rest, such as: it is in one Namespace with core/Service/team-0/web" {
			t.Errorf("the title is %q", groups[0].title())
		}
	}
}

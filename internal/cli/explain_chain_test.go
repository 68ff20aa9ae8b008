package cli

import (
	stdcmp "cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/core/dependency"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
)

// edgePlans are two seeds: edge brings clusters edge-1, edge-2 and so on, from the management cluster mgmt, and
// has a Slice on each. The Slice waits for its CustomResourceDefinition, which seed operator brings, and that for its
// Namespace.
func edgePlans(clusters int) map[string]*plan.Plan {
	namespace, cluster := manifest.ID{Kind: "Namespace", Name: "edge"}, manifest.ID{Group: "cluster.x-k8s.io", Kind: "Cluster", Namespace: "edge", Name: "edge"}
	crd, operator := manifest.ID{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Name: "slices.example.com"}, manifest.ID{Kind: "Namespace", Name: "operator"}
	slice := manifest.ID{Group: "example.com", Kind: "Slice", Namespace: "edge", Name: "slice"}
	edge, op := &plan.Plan{Seed: "edge"}, &plan.Plan{Seed: "operator"}
	edge.Contents = []plan.Contents{{ID: "c1", Objects: []plan.Object{{ID: namespace}}}, {ID: "c2", Objects: []plan.Object{{ID: slice}}}}
	op.Contents = []plan.Contents{{ID: "c1", Objects: []plan.Object{{ID: operator}}}, {ID: "c2", Objects: []plan.Object{{ID: crd}}}}
	wait := func(p *plan.Plan, from manifest.ID, on []string, to plan.DependencyTo, rule, field, why string) {
		p.Dependencies = append(p.Dependencies, plan.Dependency{From: plan.DependencyFrom{Object: from, Clusters: on}, To: to, Kind: dependency.Hard, Rule: rule, Field: field, Why: why})
	}
	var all []string
	var creators []plan.Object
	for n := 1; n <= clusters; n++ {
		name := fmt.Sprintf("edge-%d", n)
		all = append(all, name)
		creator := cluster
		creator.Name = name
		creators = append(creators, plan.Object{ID: creator})
		edge.Tiers = append(edge.Tiers, plan.Tier{Cluster: name, Ordinal: 0, Level: 2, Contents: "c1"}, plan.Tier{Cluster: name, Ordinal: 1, Level: 5, Contents: "c2"})
		op.Tiers = append(op.Tiers, plan.Tier{Cluster: name, Level: 3, Contents: "c1"}, plan.Tier{Cluster: name, Ordinal: 1, Level: 4, Contents: "c2"})
		wait(edge, creator, []string{"mgmt"}, plan.DependencyTo{Object: namespace}, "namespace", "metadata.namespace", "metadata.namespace: edge")
		for _, of := range []manifest.ID{namespace, slice} {
			wait(edge, of, []string{name}, plan.DependencyTo{Object: creator, Cluster: "mgmt"}, "cluster", "", name+" is created by "+creator.String())
		}
		wait(op, operator, []string{name}, plan.DependencyTo{Seed: "edge", Object: creator, Cluster: "mgmt"}, "cluster", "", name+" is created by "+creator.String())
	}
	edge.Contents = append(edge.Contents, plan.Contents{ID: "c3", Objects: creators})
	edge.Tiers = append(edge.Tiers, plan.Tier{Cluster: "mgmt", Contents: "c1"}, plan.Tier{Cluster: "mgmt", Ordinal: 1, Level: 1, Contents: "c3"})
	sortTiers(edge)
	sortTiers(op)
	wait(edge, slice, all, plan.DependencyTo{Object: namespace}, "namespace", "metadata.namespace", "metadata.namespace: edge")
	wait(edge, slice, all, plan.DependencyTo{Seed: "operator", Object: crd}, "crd", "kind", "kind: Slice.example.com (of seed operator)")
	wait(op, crd, all, plan.DependencyTo{Object: operator}, "declared", "metadata.annotations[furrow.dev/depends-on]", "furrow.dev/depends-on: core/Namespace/operator")
	edge.Placements = []plan.Placement{{Object: slice, Clusters: all, Rule: "selected", Why: "the seed selects no clusters"}}
	return map[string]*plan.Plan{"edge": edge, "operator": op, "broken": nil}
}

func explainedSlice(clusters int) *explanation {
	plans := edgePlans(clusters)
	e := &explanation{Object: "example.com/Slice/edge/slice", Seed: "edge", plan: plans["edge"], plans: plans, reported: &statusView{}, noStatus: "no run has reported yet"}
	e.describe(nil)
	return e
}

func TestAChainGoesAcrossClustersAndSeeds(t *testing.T) {
	e := explainedSlice(1)
	want := []objectChain{{Cluster: "edge-1", Steps: []chainStep{
		{Object: "core/Namespace/edge", Cluster: "mgmt"},
		{Object: "cluster.x-k8s.io/Cluster/edge/edge-1", Cluster: "mgmt", Ordinal: 1, Rule: "namespace", Field: "metadata.namespace", Why: "metadata.namespace: edge"},
		{Object: "core/Namespace/operator", Seed: "operator", Cluster: "edge-1", Rule: "cluster", Why: "edge-1 is created by cluster.x-k8s.io/Cluster/edge/edge-1"},
		{Object: "apiextensions.k8s.io/CustomResourceDefinition/slices.example.com", Seed: "operator", Cluster: "edge-1", Ordinal: 1, Rule: "declared", Field: "metadata.annotations[furrow.dev/depends-on]", Why: "furrow.dev/depends-on: core/Namespace/operator"},
		{Object: "example.com/Slice/edge/slice", Cluster: "edge-1", Ordinal: 1, Rule: "crd", Field: "kind", Why: "kind: Slice.example.com (of seed operator)"},
	}}}
	if diff := cmp.Diff(want, e.Chains); diff != "" {
		t.Errorf("the chains differ (-want +got):\n%s", diff)
	}
	data, err := json.Marshal(e)
	if err != nil || !strings.Contains(string(data), `"chains":[{"cluster":"edge-1","steps":[{"object":"core/Namespace/edge","cluster":"mgmt","ordinal":0`) {
		t.Errorf("as JSON it is %s (%v)", data, err)
	}
	p := &page{width: 100}
	explanationTable(p, e, false)
	mustPrint(t, "explain-chain", p.String())
}

func TestEqualChainsAreShownOnce(t *testing.T) {
	show := func(clusters int, whole bool) string {
		p := &page{width: 100}
		explanationTable(p, explainedSlice(clusters), whole)
		return p.String()
	}
	const last = "5. example.com/Slice/edge/slice, "
	if text := show(300, false); strings.Count(text, last) != 1 || !strings.Contains(text, "Chain\n  on edge-1 … edge-99\n") {
		t.Errorf("it shows:\n%s", text)
	}
	if text := show(3, true); strings.Count(text, last) != 3 {
		t.Errorf("it shows:\n%s", text)
	}
}

func TestStatesOfEqualChainsAreCounted(t *testing.T) {
	e := explainedSlice(3)
	e.Chains[0].Steps[4].State, e.Chains[1].Steps[4].State, e.Chains[2].Steps[4].State = "Blocked", "Released", "Blocked"
	p := &page{width: 100}
	e.showChains(p, fleetIn(nil, e.plan), false)
	if !strings.Contains(p.String(), "slice, <cluster> tier 01: Blocked on 2, Released on 1\n") {
		t.Errorf("it shows:\n%s", p)
	}
}

// TestAChainEndsInACircle holds for plans on branches that were edited.
func TestAChainEndsInACircle(t *testing.T) {
	a, b := manifest.ID{Kind: "ConfigMap", Name: "a"}, manifest.ID{Kind: "ConfigMap", Name: "b"}
	p := &plan.Plan{Seed: "s"}
	for _, pair := range [][2]manifest.ID{{a, b}, {b, a}, {a, a}} {
		p.Dependencies = append(p.Dependencies, plan.Dependency{From: plan.DependencyFrom{Object: pair[0], Clusters: []string{"c"}}, To: plan.DependencyTo{Object: pair[1]}})
	}
	steps := newPlanGraph(map[string]*plan.Plan{"s": p}).chain(planVertex{"s", a, "c"})
	if len(steps) == 0 || steps[len(steps)-1].Object != a.String() || len(steps) > 3 {
		t.Errorf("the chain is %+v", steps)
	}
}

func TestManyDependentsAreGrouped(t *testing.T) {
	e := explainedSlice(1)
	for n := range 30 {
		id := manifest.ID{Kind: "ConfigMap", Namespace: "edge", Name: fmt.Sprintf("m-%02d", n)}
		e.Needed = append(e.Needed, objectWait{Object: id.String(), Rule: "declared", Field: "metadata.annotations", Why: "because", id: id})
	}
	p := &page{width: 100}
	explanationTable(p, e, false)
	if !strings.Contains(p.String(), "Waited for by 30 objects\n  metadata.annotations: because\n    30 ConfigMap: edge/m-00, edge/m-01") {
		t.Errorf("it shows:\n%s", p)
	}
}

// sortTiers puts tiers in the order of plans.
func sortTiers(p *plan.Plan) {
	slices.SortFunc(p.Tiers, func(a, b plan.Tier) int {
		return stdcmp.Or(stdcmp.Compare(a.Cluster, b.Cluster), stdcmp.Compare(a.Ordinal, b.Ordinal))
	})
}

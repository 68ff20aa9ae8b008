package plan_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/window"
)

// staged is a fleet whose clusters have a stage, and a seed on all of them with a rollout.
func staged(rollout string) fstest.MapFS {
	tree := fstest.MapFS{
		"repo.yaml": {Data: []byte("apiVersion: furrow.dev/v1alpha1\nkind: GitOpsRepo\nmetadata: {name: fleet}\nspec: {url: https://git.example.com/fleet.git}\n")},
		"seeds/web.yaml": {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, namespace: default}\n---\n" +
			"apiVersion: furrow.dev/v1alpha1\nkind: Seed\nmetadata: {name: web}\nspec: {rollout: " + rollout + "}\n")},
	}
	for name, stage := range map[string]string{"c1": "canary", "c2": "early", "c3": "late", "c4": "late", "c5": "late", "c6": "none"} {
		tree["clusters/"+name+".yaml"] = &fstest.MapFile{Data: []byte("apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: " + name + ", labels: {stage: " + stage + "}}\nspec: {}\n")}
	}
	return tree
}

func TestWavesHaveTheClustersThatTheySelect(t *testing.T) {
	const canary = "{name: canary, clusterSelector: {matchLabels: {stage: canary}}, soak: 24h, windows: [{days: [Mon], from: \"09:00\", to: \"16:00\", timeZone: Europe/Berlin, holidays: [\"2026-12-24\"]}]}"
	first := plan.Wave{Name: "canary", Clusters: []string{"c1"}, Soak: 24 * time.Hour, Windows: []window.Window{{Days: []string{"Mon"}, From: "09:00", To: "16:00", TimeZone: "Europe/Berlin", Holidays: []string{"2026-12-24"}}}}
	for name, c := range map[string]struct {
		rollout string
		want    *plan.Rollout
	}{
		"none where only groups are asked for": {"{groupBy: Level}", nil},
		"a limit of proposals has no waves":    {"{maxOpenProposals: 3}", &plan.Rollout{MaxOpenProposals: 3}},
		"the first that selects a cluster has it": {
			"{waves: [" + canary + ", {name: early, clusterSelector: {matchExpressions: [{key: stage, operator: In, values: [canary, early]}]}, maxUnavailable: 3}]}",
			&plan.Rollout{Waves: []plan.Wave{first, {Name: "early", Clusters: []string{"c2"}, MaxUnavailable: 3}}},
		},
		"the one without a selector has all others, wherever it is": {
			"{waves: [{name: fleet, maxUnavailable: 50%}, " + canary + "]}",
			&plan.Rollout{Waves: []plan.Wave{{Name: "fleet", Clusters: []string{"c2", "c3", "c4", "c5", "c6"}, MaxUnavailable: 2}, first}},
		},
		"a percentage is at least one cluster": {
			"{waves: [{name: late, clusterSelector: {matchLabels: {stage: late}}, maxUnavailable: 10%}]}",
			&plan.Rollout{Waves: []plan.Wave{{Name: "late", Clusters: []string{"c3", "c4", "c5"}, MaxUnavailable: 1}}},
		},
		"a wave may have no cluster yet": {
			"{waves: [{name: lab, clusterSelector: {matchLabels: {stage: lab}}}]}",
			&plan.Rollout{Waves: []plan.Wave{{Name: "lab"}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := compute(t, staged(c.rollout))["web"]
			if o.Err != nil {
				t.Fatal(o.Err)
			}
			if diff := cmp.Diff(c.want, o.Plan.Rollout); diff != "" {
				t.Errorf("the rollout (-want +got):\n%s", diff)
			}
			var empty []string
			for _, w := range o.Plan.Rollout.AllWaves() {
				if len(w.Clusters) == 0 {
					empty = append(empty, fmt.Sprintf("NoClusterMatches: wave %q selects no cluster of the seed, so nothing waits for it. Label a cluster, or change the selector.", w.Name))
				}
			}
			var warned []string
			for _, w := range o.Plan.Warnings {
				warned = append(warned, fmt.Sprintf("%s: %s", w.Reason, w.Message))
			}
			if diff := cmp.Diff(empty, warned); diff != "" {
				t.Errorf("the warnings (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.want, readBack(t, o.Plan).Rollout); diff != "" {
				t.Errorf("read back (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAClusterWhoseWaveIsUnknownHoldsThoseThatWaitForIt(t *testing.T) {
	const canary, two = "{name: canary, clusterSelector: {matchLabels: {stage: canary}}}", "{waves: [{name: canary, clusterSelector: {matchLabels: {stage: canary}}}, {name: fleet}]}"
	for name, c := range map[string]struct {
		before, now, broken string
		held                bool
	}{
		"of the first wave":                      {two, two, "c1", true},
		"of the last wave":                       {two, two, "c3", false},
		"of the only wave that has clusters":     {"{waves: [{name: fleet}, {name: lab, clusterSelector: {matchLabels: {stage: lab}}}]}", "{waves: [{name: fleet}]}", "c3", false},
		"before those that no wave selects":      {"{waves: [" + canary + "]}", "{waves: [" + canary + "]}", "c1", true},
		"that no wave selects":                   {"{waves: [" + canary + "]}", "{waves: [" + canary + "]}", "c3", false},
		"that was planned before there were any": {"{maxOpenProposals: 3}", two, "c3", true},
		"without waves":                          {two, "{maxOpenProposals: 3}", "c1", false},
	} {
		t.Run(name, func(t *testing.T) {
			before := compute(t, staged(c.before))["web"].Plan
			tree := staged(c.now)
			tree["seeds/web.yaml"].Data = append(tree["seeds/web.yaml"].Data, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: more, namespace: default}\n"...)
			tree["clusters/"+c.broken+".yaml"].Data = []byte("apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: " + c.broken + "}\nspec: {hub: c2}\n")
			o := plan.Compute(plan.Input{Catalog: load(t, tree), Owner: owner, Revision: revision, Previous: map[string]*plan.Previous{"web": {Plan: before}}})["web"]
			if held := manifest.ReasonOf(o.Err) == v1alpha1.ReasonBrokenDocument; held != c.held || o.Kept != c.held {
				t.Errorf("held %v, want %v: %v", held, c.held, o.Err)
			}
			if c.held && !strings.Contains(fmt.Sprint(o.Err), "cluster "+c.broken) {
				t.Errorf("it does not name the cluster: %v", o.Err)
			}
		})
	}
}

func TestThePlanOfARemovalKeepsTheWaves(t *testing.T) {
	p := compute(t, staged("{waves: [{name: fleet}]}"))["web"].Plan
	if diff := cmp.Diff(p.Rollout, plan.Remove(p, "").Rollout); diff != "" {
		t.Errorf("the rollout (-want +got):\n%s", diff)
	}
}

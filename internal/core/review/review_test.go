package review_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/core/change"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/core/review"
	"github.com/furrow-dev/furrow/internal/core/template"
	"github.com/furrow-dev/furrow/templates"
)

// planOn is a plan of the seed web with two tiers on each of n clusters, the second after the
// first.
func planOn(n int) *plan.Plan {
	p := &plan.Plan{Seed: "web", From: "seeds/web.yaml", Revision: "main@sha1:0123"}
	for i := range n {
		cluster := fmt.Sprintf("c%03d", i)
		p.Tiers = append(p.Tiers,
			plan.Tier{Cluster: cluster, Reconciler: "Flux", Object: plan.ReconcilerObject{Cluster: cluster}},
			plan.Tier{Cluster: cluster, Reconciler: "Flux", Ordinal: 1, Object: plan.ReconcilerObject{Cluster: cluster}, Prerequisites: []plan.Prerequisite{{Cluster: cluster, Why: "b waits for a"}}})
	}
	return p
}

func configMap(name string) manifest.ID {
	return manifest.ID{Kind: "ConfigMap", Namespace: "default", Name: name}
}

// states are those of tiers, as "c000/00".
func states(of map[string]release.State) map[layout.Tier]release.State {
	out := map[layout.Tier]release.State{}
	for name, state := range of {
		cluster, number, _ := strings.Cut(name, "/")
		ordinal := 0
		if number == "01" {
			ordinal = 1
		}
		out[layout.Tier{Seed: "web", Cluster: cluster, Ordinal: ordinal}] = state
	}
	return out
}

func steps(all []template.Step) string {
	var names []string
	for _, s := range all {
		names = append(names, s.Tier)
	}
	return strings.Join(names, ", ")
}

func TestTheOrderIsThatInWhichTiersGo(t *testing.T) {
	removal := plan.Remove(planOn(1), "main@sha1:0124")
	for name, tc := range map[string]struct {
		plan         *plan.Plan
		ordinal      int
		leaves       bool
		states       map[string]release.State
		before, next string
		unchanged    int
	}{
		"a planting comes after what it needs":               {planOn(1), 1, false, nil, "c000 tier 00", "", 0},
		"and before what needs it":                           {planOn(1), 0, false, nil, "", "c000 tier 01", 0},
		"what needs it and is on base already does not come": {planOn(1), 0, false, map[string]release.State{"c000/01": release.Released}, "", "", 1},
		"a removal comes after what needs it":                {removal, 0, true, map[string]release.State{"c000/01": release.Gone}, "c000 tier 01", "", 0},
		"and before what it needs":                           {removal, 1, true, nil, "", "c000 tier 00", 0},
	} {
		t.Run(name, func(t *testing.T) {
			tier := review.Tier{Tier: &tc.plan.Tiers[tc.ordinal], Verb: review.Update, Leaves: tc.leaves}
			got := review.NewSeed(tc.plan, states(tc.states), nil).Describe(review.Proposal{Tiers: []review.Tier{tier}})
			if diff := cmp.Diff([]any{tc.before, tc.next, tc.unchanged}, []any{steps(got.Before), steps(got.Next), got.Unchanged}); diff != "" {
				t.Errorf("before, next and unchanged differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheRolloutCountsClusters(t *testing.T) {
	s := map[string]release.State{
		"c000/00": release.Released, "c000/01": release.Released, "c001/00": release.Released, "c001/01": release.Failed,
		"c002/00": release.Proposed, "c002/01": release.Blocked, "c003/00": release.Blocked, "c003/01": release.Blocked,
	}
	p := planOn(4)
	got := review.NewSeed(p, states(s), []release.WaveStatus{{Name: "canary", State: release.WaveFailed, Clusters: 2, Done: 1, Message: "@all look"}}).Describe(review.Proposal{Tiers: []review.Tier{{Tier: &p.Tiers[4]}}}).Rollout
	want := template.Rollout{Clusters: 4, Done: 1, Open: 1, Failed: []string{"c001"}, FailedCount: 1, Waves: []template.Wave{{Progress: "wave canary: 1 of 2 clusters done", State: "Failed", Why: template.Code("@all look")}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the rollout differs (-want +got):\n%s", diff)
	}
}

func TestEqualChangesAreShownOnce(t *testing.T) {
	p := planOn(12)
	var tiers []review.Tier
	for i := range 12 {
		name := "a"
		if i == 3 {
			name = "b"
		}
		tiers = append(tiers, review.Tier{Tier: &p.Tiers[2*i], Verb: review.Plant, Changes: []change.Change{{Kind: change.Added, Object: configMap(name)}}})
	}
	got := review.NewSeed(p, nil, nil).Describe(review.Proposal{Tiers: tiers})
	if len(got.Changes) != 2 || len(got.Changes[0].Tiers) != 9 || got.Changes[0].Tiers[8] != "and 3 more" || got.Changes[1].Tiers[0] != "c003 tier 00" {
		t.Errorf("got %+v", got.Changes)
	}
	if got.Cluster != "12 clusters" || got.TierCount != 12 {
		t.Errorf("it is about %s, %d tiers", got.Cluster, got.TierCount)
	}
}

// TestWhatChangesAlikeIsShownOnce has 60 objects of two kinds that change in two ways.
func TestWhatChangesAlikeIsShownOnce(t *testing.T) {
	p := planOn(1)
	tier := review.Tier{Tier: &p.Tiers[0], Verb: review.Update}
	for i := range 60 {
		c := change.Change{Kind: change.Changed, Object: configMap(fmt.Sprintf("c-%02d", i)), Fields: []change.Field{{Path: "data.a", Was: "1", Is: "2"}}}
		switch {
		case i == 7:
			c.Fields[0].Is = "3"
		case i == 8:
			c.Kind, c.Fields, c.Destroys = change.Removed, nil, "its data"
		case i%2 == 1:
			c.Object.Kind, c.Fields, c.Hidden = "Secret", nil, true
		}
		tier.Changes = append(tier.Changes, c)
	}
	got := review.NewSeed(p, nil, nil).Describe(review.Proposal{Tiers: []review.Tier{tier}}).Changes[0]
	var lines []string
	for _, o := range got.Objects {
		note, _, _ := strings.Cut(o.Note, ",")
		lines = append(lines, fmt.Sprintf("%s %d %s %v %s %s", o.What, o.Count, o.Object, o.Fields, note, o.Destroys))
	}
	want := []string{
		"changed 29 `core/ConfigMap` [{`data.a` `1` `2`}] `default/c-00` ",
		"changed 29 `core/Secret` [] `default/c-01` ",
		"changed 1 `core/ConfigMap/default/c-07` [{`data.a` `1` `3`}]  ",
		"removed 1 `core/ConfigMap/default/c-08` []  its data",
	}
	if diff := cmp.Diff(want, lines); diff != "" || got.More != 0 {
		t.Errorf("the changes (-want +got), and %d more:\n%s", got.More, diff)
	}
	if note := got.Objects[1].Note; !strings.HasSuffix(note, "`default/c-59`; their values are secret and not shown") {
		t.Errorf("the note is %s", note)
	}
}

// TestNoTextIsTooLongForAForge describes the most that one proposal can hold of what people write.
func TestNoTextIsTooLongForAForge(t *testing.T) {
	long := strings.Repeat("|`@all <img src=x> #1 closes", 40)
	for _, n := range []int{1, 200} {
		p := planOn(n)
		var tiers []review.Tier
		for i := range n {
			tier := review.Tier{Tier: &p.Tiers[2*i], Verb: review.Update}
			for j := range map[int]int{1: 500, 200: 60}[n] {
				c := change.Change{Kind: change.Changed, Object: configMap(fmt.Sprintf("c-%d-%d", i, j)), More: 100}
				for range 12 {
					c.Fields = append(c.Fields, change.Field{Path: fmt.Sprintf("%03d", j) + long[:197], Was: long[:120], Is: long[:120]})
				}
				tier.Changes = append(tier.Changes, c)
			}
			tiers = append(tiers, tier)
		}
		vars := review.NewSeed(p, nil, nil).Describe(review.Proposal{Tiers: tiers, Page: true, Commit: &review.Commit{ID: "0123", Subject: long, Author: long}})
		_, body, err := template.RenderProposal(template.Text{Name: "t", Text: templates.Proposal}, vars)
		if err != nil {
			t.Fatal(err)
		}
		if len([]rune(body)) > 60_100 || n > 1 && len(body) > 20_100 {
			t.Errorf("of %d tiers it has %d characters", n, len([]rune(body)))
		}
		if !strings.Contains(body, " more objects change") {
			t.Errorf("of %d tiers it does not say what it leaves out", n)
		}
		if n == 1 && !strings.Contains(body, "**Reject**") {
			t.Error("the end is missing")
		}
		message := review.Message(vars)
		if lines := strings.Split(message, "\n"); len(lines) > 8 {
			t.Errorf("the commit says %d lines:\n%s", len(lines), message)
		}
		for _, text := range []string{body, message} {
			for _, bad := range []string{"@all", "#1", "|`@"} {
				if strings.Contains(text, bad) {
					t.Errorf("%q is in the text", bad)
				}
			}
		}
	}
}

func TestATerminalGetsNoMarkdown(t *testing.T) {
	p := planOn(1)
	tier := review.Tier{Tier: &p.Tiers[0], Verb: review.Update, Changes: []change.Change{{Kind: change.Changed, Object: configMap("a"), Fields: []change.Field{{Path: "data.a", Was: "\x1b[31m", Is: "b"}}}}}
	vars := review.NewSeed(p, nil, nil).Describe(review.Proposal{Tiers: []review.Tier{tier}, Terminal: true})
	text, err := template.Render(template.Text{Name: "t", Text: templates.Terminal}, vars)
	if err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(string(text), "`\x1b|") {
		t.Errorf("got %q", text)
	}
}

func TestAGraphIsDrawnOfFewTiers(t *testing.T) {
	for n, want := range map[int]bool{1: true, 6: true, 7: false} {
		p := planOn(n)
		vars := review.NewSeed(p, nil, nil).Describe(review.Proposal{Tiers: []review.Tier{{Tier: &p.Tiers[0]}}, Page: true})
		if got := vars.Graph != ""; got != want {
			t.Errorf("%d tiers are drawn: %t", 2*n, got)
		}
	}
}

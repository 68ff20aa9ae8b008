package plan_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/core/githash"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
)

// tierOf is a tier on cluster a with objects of these names; a name with ! is leaving.
func tierOf(p *plan.Plan, ordinal int, tree, blob string, names ...string) {
	contents := plan.Contents{ID: string(rune('a' + ordinal))}
	for _, name := range names {
		o := plan.Object{ID: objectCalled(name)}
		if name[0] == '!' {
			o.ID, o.Leaving = objectCalled(name[1:]), true
		}
		contents.Objects = append(contents.Objects, o)
	}
	p.Contents = append(p.Contents, contents)
	p.Tiers = append(p.Tiers, plan.Tier{Cluster: "a", Ordinal: ordinal, Level: ordinal, Entries: []plan.Entry{{Mode: plan.ModeTree, Hash: hashOf(tree)}, {Mode: plan.ModeFile, Hash: hashOf(blob)}}, Contents: contents.ID})
}

func objectCalled(name string) manifest.ID {
	return manifest.ID{Group: "", Kind: "ConfigMap", Namespace: "web", Name: name}
}

func TestCompare(t *testing.T) {
	ids := func(names ...string) []manifest.ID {
		var out []manifest.ID
		for _, name := range names {
			out = append(out, objectCalled(name))
		}
		return out
	}
	var was, is plan.Plan
	tierOf(&was, 0, "t0", "r0", "same")
	tierOf(&was, 1, "t1", "r1", "content")
	tierOf(&was, 2, "t2", "r2", "reconciler")
	tierOf(&was, 3, "t3", "r3", "stays", "goes")
	tierOf(&was, 4, "t4", "r4", "all", "leave")
	tierOf(&was, 5, "t5", "r5", "dropped")
	tierOf(&is, 0, "t0", "r0", "same")
	tierOf(&is, 1, "t1x", "r1", "content")
	tierOf(&is, 2, "t2", "r2x", "reconciler")
	tierOf(&is, 3, "t3", "r3", "stays", "!goes")
	tierOf(&is, 4, "t4", "r4", "!all", "!leave")
	tierOf(&is, 6, "t6", "r6", "comes")
	is.Contents[1].Objects[0].Hash = hashOf("other")
	gone := plan.Plan{}
	tierOf(&gone, 0, "", "")
	cases := map[string]struct {
		was, is *plan.Plan
		want    []plan.Change
	}{
		"every kind of change": {&was, &is, []plan.Change{
			{Cluster: "a", Ordinal: 0, Difference: plan.TierStays},
			{Cluster: "a", Ordinal: 1, Difference: plan.TierChanges, Changed: ids("content"), Contents: true},
			{Cluster: "a", Ordinal: 2, Difference: plan.TierChanges, Reconciler: true},
			{Cluster: "a", Ordinal: 3, Difference: plan.TierChanges, Removed: ids("goes"), Contents: true},
			{Cluster: "a", Ordinal: 6, Difference: plan.TierNew, Added: ids("comes"), Contents: true, Reconciler: true},
			{Cluster: "a", Ordinal: 5, Difference: plan.TierLeaves, Removed: ids("dropped"), Contents: true, Reconciler: true},
			{Cluster: "a", Ordinal: 4, Difference: plan.TierLeaves, Removed: ids("all", "leave"), Contents: true},
		}},
		"a first plan": {nil, &plan.Plan{Tiers: was.Tiers[:1], Contents: was.Contents[:1]}, []plan.Change{
			{Cluster: "a", Ordinal: 0, Difference: plan.TierNew, Added: ids("same"), Contents: true, Reconciler: true},
		}},
		"no plan any more": {&plan.Plan{Tiers: was.Tiers[:1], Contents: was.Contents[:1]}, nil, []plan.Change{
			{Cluster: "a", Ordinal: 0, Difference: plan.TierLeaves, Removed: ids("same"), Contents: true, Reconciler: true},
		}},
		"a tier that was gone already": {&gone, &gone, nil},
		"no plans at all":              {nil, nil, nil},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(c.want, plan.Compare(c.was, c.is)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// hashOf is the id of something that has this name, and none of something without one.
func hashOf(name string) layout.Hash {
	if name == "" {
		return layout.Hash{}
	}
	return githash.Blob([]byte(name))
}

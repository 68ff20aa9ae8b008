package catalog_test

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

func policy(name, spec string) string {
	return "apiVersion: furrow.dev/v1alpha1\nkind: RolloutPolicy\nmetadata: {name: " + name + "}\nspec: " + spec + "\n"
}

func TestATimeZoneIsWrongInTheDocumentThatHasIt(t *testing.T) {
	cat, err := catalog.Load(fstest.MapFS{"policy.yaml": {Data: []byte(policy("slow", "{waves: [{name: all, windows: [{timeZone: Europe/Berln}]}]}"))}})
	if err != nil {
		t.Fatal(err)
	}
	if len(cat.Problems) != 1 || cat.Problems[0].Object != `RolloutPolicy "slow"` || cat.Problems[0].Field != "spec.waves[0].windows[0].timeZone" {
		t.Errorf("the problems are %v", cat.Problems)
	}
}

func TestASeedHasThePaceOfItsPolicyButForWhatItSets(t *testing.T) {
	const slow = "{groupBy: Level, maxOpenProposals: 3, waves: [{name: canary}]}"
	canary := []v1alpha1.RolloutWave{{Name: "canary"}}
	for name, c := range map[string]struct {
		policy, rollout string
		want            v1alpha1.Pace
		reason          v1alpha1.Reason
		field           string
	}{
		"all of the policy":           {policy: slow, rollout: "{policy: slow}", want: v1alpha1.Pace{GroupBy: v1alpha1.GroupByLevel, MaxOpenProposals: ptr.To[int32](3), Waves: canary}},
		"its own autoMerge":           {policy: "{autoMerge: WhenGreen}", rollout: "{policy: slow, autoMerge: Never}", want: v1alpha1.Pace{AutoMerge: v1alpha1.AutoMergeNever}},
		"the autoMerge of the policy": {policy: "{autoMerge: WhenGreen}", rollout: "{policy: slow}", want: v1alpha1.Pace{AutoMerge: v1alpha1.AutoMergeWhenGreen}},
		"an unknown autoMerge":        {policy: slow, rollout: "{policy: slow, autoMerge: Always}", reason: v1alpha1.ReasonInvalidField, field: "spec.rollout.autoMerge"},
		"its own grouping":            {policy: slow, rollout: "{policy: slow, groupBy: Seed}", want: v1alpha1.Pace{GroupBy: v1alpha1.GroupBySeed, MaxOpenProposals: ptr.To[int32](3), Waves: canary}},
		"its own waves":               {policy: slow, rollout: "{policy: slow, waves: [{name: all}]}", want: v1alpha1.Pace{GroupBy: v1alpha1.GroupByLevel, MaxOpenProposals: ptr.To[int32](3), Waves: []v1alpha1.RolloutWave{{Name: "all"}}}},
		"no waves at all":             {policy: slow, rollout: "{policy: slow, waves: []}", want: v1alpha1.Pace{GroupBy: v1alpha1.GroupByLevel, MaxOpenProposals: ptr.To[int32](3), Waves: []v1alpha1.RolloutWave{}}},
		"no policy":                   {policy: slow, rollout: "{groupBy: Seed}", want: v1alpha1.Pace{GroupBy: v1alpha1.GroupBySeed}},
		"a policy that there is not":  {policy: slow, rollout: "{policy: slaw}", reason: v1alpha1.ReasonUnknownRolloutPolicy, field: "spec.rollout.policy"},
		"a policy that is broken":     {policy: "{groupBy: Wave}", rollout: "{policy: slow}", reason: v1alpha1.ReasonUnknownRolloutPolicy, field: "spec.rollout.policy"},
		"something wrong of its own":  {policy: slow, rollout: "{policy: slow, groupBy: Wave}", reason: v1alpha1.ReasonInvalidField, field: "spec.rollout.groupBy"},
		"an unknown time zone":        {policy: slow, rollout: "{policy: slow, waves: [{name: all, windows: [{timeZone: Europe/Berln}]}]}", reason: v1alpha1.ReasonInvalidField, field: "spec.rollout.waves[0].windows[0].timeZone"},
		"one of the policy":           {policy: "{waves: [{name: all, windows: [{timeZone: Europe/Berln}]}]}", rollout: "{policy: slow}", reason: v1alpha1.ReasonUnknownRolloutPolicy, field: "spec.rollout.policy"},
		"a policy with unknown field": {policy: "{grouping: Level}", rollout: "{policy: slow}", reason: v1alpha1.ReasonUnknownRolloutPolicy, field: "spec.rollout.policy"},
	} {
		t.Run(name, func(t *testing.T) {
			cat, err := catalog.Load(fstest.MapFS{
				"policy.yaml":    {Data: []byte(policy("slow", c.policy))},
				"seeds/web.yaml": {Data: []byte("apiVersion: v1\nkind: Namespace\nmetadata: {name: web}\n---\napiVersion: furrow.dev/v1alpha1\nkind: Seed\nmetadata: {name: web}\nspec: {rollout: " + c.rollout + "}\n")},
			})
			if err != nil {
				t.Fatal(err)
			}
			seed, _ := cat.Seed("web")
			if seed.Err != nil {
				t.Fatal(seed.Err)
			}
			got, err := cat.PaceOf(seed)
			p := manifest.Problem{}
			if err != nil {
				p = manifest.ProblemOf(err)
			}
			if diff := cmp.Diff([]string{string(c.reason), c.field}, []string{string(p.Reason), p.Field}); diff != "" {
				t.Fatalf("%v (-want +got):\n%s", err, diff)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("the pace (-want +got):\n%s", diff)
			}
		})
	}
}

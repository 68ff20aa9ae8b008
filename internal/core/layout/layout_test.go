package layout

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation"
)

func TestPathsOfATier(t *testing.T) {
	web := Tier{Seed: "web", Cluster: "edge-1", Ordinal: 3}
	cases := map[string]struct {
		got  string
		want string
	}{
		"objects lie below planted":                   {web.Dir(""), "planted/edge-1/web/tier-03"},
		"below the prefix of the repository":          {web.Dir("fleet/eu"), "fleet/eu/planted/edge-1/web/tier-03"},
		"more than a hundred tiers have three digits": {Tier{"web", "edge-1", 123}.Dir(""), "planted/edge-1/web/tier-123"},
		"a cluster's reconciler object lies at its own root": {
			web.ReconcilerFile("", "clusters/edge-1", false), "clusters/edge-1/furrow/web/tier-03.yaml",
		},
		"that of a hub's cluster lies at the hub's root, in a directory of the cluster": {
			web.ReconcilerFile("fleet", "clusters/mgmt", true), "fleet/clusters/mgmt/furrow/web/edge-1/tier-03.yaml",
		},
		"people read seed, cluster and number": {web.String(), "web/edge-1/tier-03"},
		"the branch of a tier":                 {TierBranch("main", web), "furrow/main/tier/web/edge-1/03"},
		"the branch of a group":                {GroupBranch("main", "web", "level-01.2"), "furrow/main/group/web/level-01.2"},
		"what people call a tier's proposal":   {ProposalName("main", "furrow/main/tier/web/edge-1/03"), "web/edge-1/03"},
		"what people call a group's proposal":  {ProposalName("main", "furrow/main/group/web/level-01.2"), "web/level-01.2"},
		"the branch of a plan":                 {PlanBranch("main", "web"), "furrow/main/plan/web"},
		"the mark of an abandoned cluster":     {AbandonBranch("release/1", "acme/prod", "edge-1"), "furrow/release/1/abandon/acme/prod/edge-1"},
		"the branch of the status":             {StatusBranch("release/1", "acme/prod"), "furrow/release/1/status/acme/prod"},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(c.want, c.got); diff != "" {
				t.Errorf("it differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReconcilerNames(t *testing.T) {
	long := strings.Repeat("a", 30)
	cases := map[string]struct {
		tier Tier
		want string
	}{
		"a short name is whole":                {Tier{"web", "edge-1", 0}, "web.edge-1.00"},
		"63 characters are short":              {Tier{long, strings.Repeat("b", 29), 0}, long + "." + strings.Repeat("b", 29) + ".00"},
		"64 are cut, and a digest follows":     {Tier{long, strings.Repeat("b", 30), 0}, long + "." + strings.Repeat("b", 23) + "-af45fef9"},
		"a cut never ends in a dot or a dash":  {Tier{strings.Repeat("a", 53), strings.Repeat("b", 9), 0}, strings.Repeat("a", 53) + "-a95e762d"},
		"two labels of 63 characters are fine": {Tier{strings.Repeat("s", 63), strings.Repeat("c", 63), 7}, strings.Repeat("s", 54) + "-ed3d09af"},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(c.want, c.tier.ReconcilerName()); diff != "" {
				t.Errorf("the name differs (-want +got):\n%s", diff)
			}
		})
	}
}

// TestReconcilerNamesAreUniqueLabels compares names at every length around the
// cut, where seed and cluster share their dots and dashes differently.
func TestReconcilerNamesAreUniqueLabels(t *testing.T) {
	seen := map[string]Tier{}
	for seed := 1; seed <= 63; seed += 2 {
		for cluster := 1; cluster <= 63; cluster += 2 {
			for _, ordinal := range []int{0, 1, 10, 100} {
				tier := Tier{label(seed), label(cluster), ordinal}
				name := tier.ReconcilerName()
				if other, taken := seen[name]; taken {
					t.Fatalf("%v and %v are both called %s", tier, other, name)
				}
				seen[name] = tier
				if errs := append(validation.IsValidLabelValue(name), validation.IsDNS1123Subdomain(name)...); len(errs) > 0 {
					t.Fatalf("%v: %s is not a label value and object name: %v", tier, name, errs)
				}
			}
		}
	}
}

// label is a DNS label of n characters, with a dash where it can be.
func label(n int) string {
	s := strings.Repeat("a-", n/2+1)[:n]
	return s[:n-1] + "z"
}

func TestBranchesAreReadBack(t *testing.T) {
	for _, base := range []string{"main", "release/1.2"} {
		for _, tier := range []Tier{{"web", "edge-1", 0}, {"web", "edge-1", 99}, {"a", "b", 100}} {
			got, ok := TierOfBranch(base, TierBranch(base, tier))
			if diff := cmp.Diff(tier, got); !ok || diff != "" {
				t.Errorf("%s is read as something else (-want +got):\n%s", TierBranch(base, tier), diff)
			}
		}
		if seed, ok := PlanSeed(base, PlanBranch(base, "web")); seed != "web" || !ok {
			t.Errorf("the plan branch of web is read as %q", seed)
		}
		if cluster, ok := AbandonedCluster(base, "acme/prod", AbandonBranch(base, "acme/prod", "edge-1")); cluster != "edge-1" || !ok {
			t.Errorf("the mark of edge-1 is read as %q", cluster)
		}
	}
}

func TestBranchesOfOthersAreNotOurs(t *testing.T) {
	cases := map[string]string{
		"another base":                  "furrow/next/tier/web/edge/00",
		"a branch below":                "furrow/main/tier/web/edge/00/x",
		"a branch above":                "furrow/main/tier/web/edge",
		"a number without its zero":     "furrow/main/tier/web/edge/1",
		"a number with too many zeros":  "furrow/main/tier/web/edge/001",
		"a number with a sign":          "furrow/main/tier/web/edge/+1",
		"a negative number":             "furrow/main/tier/web/edge/-1",
		"text behind the number":        "furrow/main/tier/web/edge/01x",
		"no number":                     "furrow/main/tier/web/edge/xx",
		"a number that is too large":    "furrow/main/tier/web/edge/99999999999999999999",
		"no seed":                       "furrow/main/tier//edge/00",
		"no cluster":                    "furrow/main/tier/web//00",
		"the branch of a plan":          "furrow/main/plan/web",
		"a branch of people":            "feature/web",
		"a branch that ends in a slash": "furrow/main/tier/web/edge/",
	}
	for sentence, branch := range cases {
		t.Run(sentence, func(t *testing.T) {
			if tier, ok := TierOfBranch("main", branch); ok {
				t.Errorf("%s is read as %v", branch, tier)
			}
		})
	}
	for _, branch := range []string{
		AbandonBranch("main", "acme/staging", "edge"), AbandonBranch("next", "acme/prod", "edge"), AbandonBranch("main", "acme/prod", "edge") + "/x",
		AbandonBranch("main", "acme/prod", ""), StatusBranch("main", "acme/prod"),
	} {
		if cluster, ok := AbandonedCluster("main", "acme/prod", branch); ok {
			t.Errorf("%s is read as the mark of %q", branch, cluster)
		}
	}
	for _, branch := range []string{"furrow/main/plan/", "furrow/main/plan/web/x", "furrow/next/plan/web", "furrow/main/tier/web/edge/00"} {
		if seed, ok := PlanSeed("main", branch); ok {
			t.Errorf("%s is read as the plan of %q", branch, seed)
		}
	}
}

func FuzzTierOfBranch(f *testing.F) {
	for _, branch := range []string{"furrow/main/tier/web/edge-1/00", "furrow/main/tier///00", "furrow/main/tier/a/b/-1", "furrow/main/tier/a/b/100", "x"} {
		f.Add("main", branch)
	}
	f.Fuzz(func(t *testing.T, base, branch string) {
		tier, ok := TierOfBranch(base, branch)
		if !ok {
			return
		}
		if TierBranch(base, tier) != branch {
			t.Errorf("%q is read as %+v, whose branch is %q", branch, tier, TierBranch(base, tier))
		}
		if tier.Seed == "" || tier.Cluster == "" || tier.Ordinal < 0 {
			t.Errorf("%q is read as %+v", branch, tier)
		}
	})
}

func TestSeedOfBranch(t *testing.T) {
	cases := map[string]string{
		"furrow/main/tier/web/edge-1/03":   "web",
		"furrow/main/group/web/level-01.2": "web",
		"furrow/main/group/web":            "",
		"furrow/main/group/web/":           "",
		"furrow/main/group//level-01":      "",
		"furrow/main/group/web/a/b":        "",
		"furrow/other/group/web/level-01":  "",
		"furrow/main/plan/web":             "",
		"group/web/level-01":               "",
	}
	for branch, want := range cases {
		if got, ok := SeedOfBranch("main", branch); got != want || ok != (want != "") {
			t.Errorf("%s is of %q, %v; want %q", branch, got, ok, want)
		}
	}
}

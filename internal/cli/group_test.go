package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/internal/controlplane"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/forge"
)

// groupedBy is webSeed with its tiers in proposals of groups.
func groupedBy(by string) string {
	return webSeed + "---\n" + document("Seed", "web", "spec: {rollout: {groupBy: "+by+"}}")
}

func TestAProposalOfSeveralTiersIsFoundByItsNameAndByEachTier(t *testing.T) {
	t.Parallel()
	p := newWorkspace(t, map[string]string{"seeds/web.yaml": groupedBy("Level")})
	p.pass()
	mustContain(t, p.must("status"), "Waiting for you: 1 proposal\n  Plant web on east, west, 2 tiers: furrow pr merge web/level-00\n")
	mustContain(t, p.must("pr", "list"), "fleet  web/level-00  Open   Plant web on east, west, 2 tiers  ")
	mustContain(t, p.must("pr", "list", "-o", "yaml"), "branch: furrow/main/group/web/level-00\n", "tiers:\n  - web/east/tier-00\n  - web/west/tier-00\n")
	want := p.must("pr", "show", "web/level-00")
	mustContain(t, want, "  east tier 00: Plant, 1 added, Flux on east\n  west tier 00: Plant, 1 added, Flux on west\n", "Changes on east tier 00, west tier 00: 1 added\n", "Run 'furrow pr reject web/level-00'.")
	if n := strings.Count(want, "core/Namespace/web\n"); n != 1 {
		t.Errorf("the content that both have is shown %d times:\n%s", n, want)
	}
	for _, name := range []string{"web/east/00", "web/west/00", "furrow/main/group/web/level-00"} {
		if got := p.must("pr", "show", name); got != want {
			t.Errorf("%s shows something else:\n%s", name, got)
		}
	}
	mustContain(t, p.must("pr", "reject", "web/west/00", "--reason", "not yet"), "Rejected furrow/main/group/web/level-00.")
	p.pass()
	mustContain(t, p.states(), "east tier 00  Rejected  a person rejected it: not yet.", "west tier 00  Rejected  a person rejected it: not yet.")
	mustContain(t, p.must("retry", "web"), "east tier 00", "west tier 00")
	p.pass()
	mustContain(t, p.must("pr", "merge", "web/east/00"), "Merged furrow/main/group/web/level-00 into main of fleet.")
	p.plant("Seed web: Released")
}

func TestEachGroupingPlantsUpdatesAndRemoves(t *testing.T) {
	t.Parallel()
	first := map[string]string{"Level": "web/level-00", "Cluster": "web/cluster-east", "Seed": "web/seed"}
	for by, name := range first {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			p := newWorkspace(t, map[string]string{"seeds/web.yaml": groupedBy(by), "seeds/other.yaml": strings.ReplaceAll(webSeed, "web", "other")})
			p.pass()
			mustContain(t, p.must("pr", "list"), name+" ", "other/east/00 ")
			p.plant("Seed web: Released")
			p.commit(map[string]string{"seeds/web.yaml": strings.ReplaceAll(groupedBy(by), "web:1", "web:2")})
			p.pass()
			mustContain(t, p.must("pr", "list"), "Update web on ")
			p.plant("Seed web: Released")
			p.git("control-plane", "rm", "--quiet", "seeds/web.yaml")
			p.commit(nil)
			p.furrow("run", "--once", "--simulate") // which says that the deletion guard holds it
			p.must("confirm", "web")
			p.pass()
			mustContain(t, p.must("pr", "list"), "web/remove-"+strings.TrimPrefix(strings.Replace(name, "level-00", "level-02", 1), "web/")+" ", "Remove web on ")
			for range 12 {
				p.pass()
				p.must("pr", "merge", "--all", "--removals")
			}
			mustNotContain(t, p.must("status"), "Seed web")
			mustNotContain(t, p.git("fleet.git", "branch", "--list"), "/web")
		})
	}
}

func TestTheStatusSuggestsGroupingWhereManyProposalsWait(t *testing.T) {
	t.Parallel()
	p := newWorkspace(t, map[string]string{"seeds/web.yaml": webSeed})
	clusters, roots := "", map[string]string{}
	for i := range 21 {
		name := fmt.Sprintf("site-%02d", i)
		clusters += "---\n" + document("Cluster", name, "spec: {}")
		roots["clusters/"+name+"/README.md"] = "the root of " + name
	}
	p.write("work", roots)
	p.git("work", "add", ".")
	p.git("work", "commit", "--quiet", "--message=More roots")
	p.git("work", "push", "--quiet", "origin", "main")
	p.commit(map[string]string{"more.yaml": clusters})
	p.pass()
	mustContain(t, p.must("status"), "Waiting for you: 23 proposals", "Seed web: 23 proposals wait for review. To have tiers proposed together, set spec.rollout.groupBy of the Seed to Level, Cluster or Seed.")
	p.commit(map[string]string{"seeds/web.yaml": groupedBy("Level")})
	p.pass()
	status := p.must("status")
	mustContain(t, status, "Waiting for you: 1 proposal\n  Plant web on 23 clusters, 23 tiers: furrow pr merge web/level-00\n")
	mustNotContain(t, status, "groupBy")
	mustNotContain(t, p.git("fleet.git", "branch", "--list"), "/tier/")
	p.must("pr", "merge", "--all")
	p.pass()
	mustContain(t, p.must("pr", "list"), "web/level-01")
}

func TestANameMeansTheProposalThatIsOpen(t *testing.T) {
	east, west := layout.Tier{Seed: "web", Cluster: "east"}, layout.Tier{Seed: "web", Cluster: "west"}
	repo := &controlplane.Repo{Base: "main"}
	of := func(branch string, rejected bool, tiers ...layout.Tier) located {
		p := forge.Proposal{Seed: "web", Branch: branch, Rejected: rejected}
		for _, tier := range tiers {
			p.Tiers = append(p.Tiers, layout.Member{Tier: tier, Digest: "w"})
		}
		return located{repo: repo, proposal: p}
	}
	all := []located{
		of("furrow/main/group/web/level-00", true, east, west), of("furrow/main/group/web/level-00.2", false, east), of("furrow/main/tier/web/south/00", true, layout.Tier{Seed: "web", Cluster: "south"}),
	}
	cases := map[string]string{
		"web/level-00": "furrow/main/group/web/level-00", "furrow/main/group/web/level-00.2": "furrow/main/group/web/level-00.2",
		"web/east/00": "furrow/main/group/web/level-00.2", "web/west/00": "furrow/main/group/web/level-00", "web/south/00": "furrow/main/tier/web/south/00", "web/north/00": "",
	}
	for name, want := range cases {
		if got, ok := choose(all, name); got.proposal.Branch != want || ok != (want != "") {
			t.Errorf("%s means %q, want %q", name, got.proposal.Branch, want)
		}
	}
}

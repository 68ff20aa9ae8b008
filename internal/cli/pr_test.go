package cli

import (
	"strings"
	"testing"
)

// shopSeed is a Namespace, and a Deployment in it.
func shopSeed(image string, replicas string) string {
	return "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\nspec:\n  replicas: " + replicas +
		"\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers:\n      - name: web\n        image: " + image + "\n"
}

func TestAReviewerReadsWhatChangesAndWhy(t *testing.T) {
	t.Parallel()
	p := newWorkspace(t, map[string]string{"seeds/shop.yaml": shopSeed("web:1.0.0", "3")})
	p.plant("Seed shop: Released\n")
	p.commit(map[string]string{"seeds/shop.yaml": shopSeed("web:1.1.0", "5")})
	mustContain(t, p.must("plan", "--diff"), "~ east tier 01\n    ~ apps/Deployment/shop/web\n", "replicas 3 → 5\n", "containers[web].image web:1.0.0 → web:1.1.0\n")
	p.pass()
	p.pass()
	mustContain(t, p.must("pr", "show", "shop/east/01"), "\nChanges: 1 changed\n  ~ apps/Deployment/shop/web\n      replicas 3 → 5\n      containers[web].image web:1.0.0 → web:1.1.0\n",
		"Why now: commit ", "\"Change\" by Ann", "What came before:\n  east tier 00 (Released): ", "Rollout: 0 of 2 clusters done, 2 with a proposal to review\n")
	mustContain(t, p.must("pr", "show", "shop/east/01", "-o", "yaml"), "- change: changed\n  cluster: east\n", "  - is: web:1.1.0\n    path: containers[web].image\n    was: web:1.0.0\n", "## Changes")
	mustContain(t, p.must("pr", "diff", "shop/east/01"), "~ apps/Deployment/shop/web on east tier 01\n", "\n-   replicas: 3\n+   replicas: 5\n", "\n-       - image: web:1.0.0\n+       - image: web:1.1.0\n")
	message := p.git("fleet.git", "log", "-1", "--format=%B", "furrow/main/tier/shop/east/01")
	summary, _, _ := strings.Cut(message, "\nFurrow-Seed: ")
	if lines := strings.Count(strings.TrimSpace(summary), "\n") + 1; lines > 10 {
		t.Errorf("the commit says %d lines:\n%s", lines, message)
	}
	mustContain(t, message, "~ `apps/Deployment/shop/web` `replicas` `3` to `5`, `containers[web].image` `web:1.0.0` to `web:1.1.0`\n", "Why now: `Change` by `Ann`\n", "\nFurrow-Tier: shop/east/tier-01\n")
}

func TestProposalsAreChosenBySeedClusterAndState(t *testing.T) {
	t.Parallel()
	p := newWorkspace(t, map[string]string{"seeds/shop.yaml": shopSeed("web:1.0.0", "3"), "seeds/other.yaml": strings.ReplaceAll(shopSeed("web:1.0.0", "1"), "shop", "other")})
	p.pass()
	p.must("pr", "reject", "shop/west/00")
	for flags, want := range map[string]string{
		"":                                  "other/east/00 other/west/00 shop/east/00 shop/west/00",
		"--seed shop":                       "shop/east/00 shop/west/00",
		"--cluster west":                    "other/west/00 shop/west/00",
		"--seed shop,other --cluster east":  "other/east/00 shop/east/00",
		"--state Rejected":                  "shop/west/00",
		"--seed other --state Rejected":     "",
		"--state Open --seed shop":          "shop/east/00",
		"--cluster nowhere --seed anything": "",
	} {
		list := p.must(append([]string{"pr", "list"}, strings.Fields(flags)...)...)
		var got []string
		for _, word := range strings.Fields(list) {
			if strings.Count(word, "/") == 2 {
				got = append(got, word)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("pr list %s shows %s, want %s", flags, got, want)
		}
	}
	if r := p.furrow("pr", "list", "--state", "Closed"); r.code != exitUsage || !strings.Contains(r.stderr, "must be one of Open, Edited, Blocked, Stale, Rejected, Foreign") {
		t.Errorf("a state that does not exist: %d %s", r.code, r.all())
	}
	mustContain(t, p.must("pr", "list", "--cluster", "nowhere"), "None of 4 proposals matches.")
	would := p.must("pr", "merge", "--all", "--seed", "shop", "--dry-run")
	if would != "Would merge furrow/main/tier/shop/east/00 into main of fleet.\n" {
		t.Errorf("it would do something else: %s", would)
	}
	p.refused("merge furrow/main/tier/shop/west/00: the proposal was rejected", "pr", "merge", "shop/west/00", "--dry-run")
	mustContain(t, p.must("pr", "list", "--state", "Open"), "shop/east/00")
	if r := p.furrow("pr", "merge", "shop/east/00", "--seed", "shop"); r.code != exitUsage || !strings.Contains(r.stderr, "--seed, --cluster and --state are for --all") {
		t.Errorf("a name and a filter: %d %s", r.code, r.all())
	}
	mustContain(t, p.must("pr", "merge", "--all", "--seed", "shop"), "Merged furrow/main/tier/shop/east/00 into main of fleet.\n")
}

func TestWhatDeletesSomethingIsMergedOnlyWithRemovals(t *testing.T) {
	t.Parallel()
	p := newWorkspace(t, map[string]string{"seeds/shop.yaml": shopSeed("web:1.0.0", "3"), "seeds/other.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other, namespace: default}\n"})
	p.plant("Seed shop: Released\n")
	p.git("control-plane", "rm", "--quiet", "seeds/shop.yaml")
	p.commit(nil)
	p.furrow("run", "--once", "--simulate") // which says that the deletion guard holds it
	p.must("confirm", "shop", "--by", "Ada Lovelace")
	p.pass()
	mustContain(t, p.must("pr", "show", "shop/east/01"), "Confirmed", "by Ada Lovelace at ", "the deletion guard held what leaves")
	before := p.git("fleet.git", "rev-parse", "main")
	mustContain(t, p.must("pr", "merge", "--all"), "Left out: 2 proposals that delete something. --removals merges them too.\n")
	p.refused("shop/east/01 deletes something. Read it with 'furrow pr show shop/east/01', and merge it with --removals", "pr", "merge", "shop/east/01")
	if after := p.git("fleet.git", "rev-parse", "main"); after != before {
		t.Error("something was merged")
	}
	mustContain(t, p.must("pr", "show", "shop/east/01"), "Changes: 1 removed\n  - apps/Deployment/shop/web\n", "What comes next:\n  east tier 00 (Blocked): ", "the seed is no longer in the control-plane repository")
	mustNotContain(t, p.must("pr", "show", "shop/east/01"), "shop.yaml")
	mustContain(t, p.must("pr", "merge", "shop/east/01", "--removals"), "Merged ")
	mustContain(t, p.must("pr", "merge", "--all", "--removals"), "Merged furrow/main/tier/shop/west/01 ")
	p.pass()
	p.pass()
	mustContain(t, p.must("pr", "show", "shop/east/00"), "Merging this destroys data:\n  core/Namespace/shop, and everything in the namespace\n", "What came before:\n  east tier 01 (Gone): ")
}

func TestAnObjectThatMovesIsNotShownAsRemoved(t *testing.T) {
	t.Parallel()
	shelf := func(annotations string) map[string]string {
		return map[string]string{"seeds/shelf.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: b, annotations: {" + annotations + "}}\n"}
	}
	p := newWorkspace(t, shelf(""))
	p.plant("Seed shelf: Released\n")
	p.commit(shelf("furrow.dev/depends-on: core/Namespace/a"))
	mustContain(t, p.must("plan", "--diff"), "core/Namespace/b moves from tier 00 to tier 01, release 1 of 3", "Until release 3, nothing else of the seed changes on these clusters.")
	p.pass()
	p.must("pr", "merge", "--all")
	p.pass()
	leaves := p.must("pr", "show", "shelf/east/00")
	mustContain(t, leaves, "Changes: 1 moved, 1 unchanged\n  > core/Namespace/b (to tier 01)\n", "Moves:\n  core/Namespace/b moves from tier 00 to tier 01, release 2 of 3: it goes to the other tier, with the annotation. It gives up its tier because core/Namespace/b waits for core/Namespace/a (declared: ")
	mustNotContain(t, leaves, "destroys")
	mustContain(t, p.must("pr", "show", "shelf/east/01"), "Changes: 1 moved\n  > core/Namespace/b (from tier 00)\n")
	mustContain(t, p.must("pr", "diff", "shelf/east/00"), "> core/Namespace/b on east tier 00, moved to tier 01\n")
	mustContain(t, p.must("pr", "merge", "shelf/east/00"), "Merged ")
	mustContain(t, p.must("pr", "merge", "--all"), "Merged furrow/main/tier/shelf/west/00 ")
}

func TestADiffHidesTheValuesOfSecrets(t *testing.T) {
	t.Parallel()
	secret := func(value string) string {
		return "apiVersion: v1\nkind: Secret\nmetadata: {name: token, namespace: default}\nstringData: {token: " + value + "}\n"
	}
	settings := document("Seed", "web", "spec: {plainSecrets: Allow}")
	p := newWorkspace(t, map[string]string{"seeds/web/seed.yaml": settings, "seeds/web/secret.yaml": secret("hunter2")})
	p.plant("Seed web: Released\n")
	p.commit(map[string]string{"seeds/web/secret.yaml": secret("hunter3")})
	p.pass()
	for _, command := range []string{"show", "diff"} {
		text := p.must("pr", command, "web/east/00")
		mustContain(t, text, "core/Secret/default/token", "its values are secret and not shown")
		mustNotContain(t, text, "hunter")
	}
}

func TestADiffShowsEqualClustersOnce(t *testing.T) {
	t.Parallel()
	p := newWorkspace(t, map[string]string{"seeds/web.yaml": groupedBy("Level")})
	p.pass()
	diff := p.must("pr", "diff", "web/level-00")
	mustContain(t, diff, "+ core/Namespace/web on east, west tier 00\n", "+ kind: Namespace\n")
	if n := strings.Count(diff, "kind: Namespace"); n != 1 {
		t.Errorf("the Namespace is shown %d times:\n%s", n, diff)
	}
}

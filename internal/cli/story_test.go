package cli

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/api/v1alpha1"
)

func TestExplainFindsAnObjectByAnyEndOfItsID(t *testing.T) {
	t.Parallel()
	other := strings.ReplaceAll(webSeed, "web", "shop")
	p := newWorkspace(t, map[string]string{"seeds/web.yaml": webSeed, "seeds/shop.yaml": other})
	p.pass()
	cases := map[string]struct {
		args []string
		code int
		want []string
	}{
		"the whole id":                     {[]string{"apps/Deployment/web/web"}, exitOK, []string{"of seed web, from seeds/web.yaml:10", "on east, west", "east tier 02: Blocked", "Chain\n  on east, west\n  1. core/Namespace/web, <cluster> tier 00: Proposed\n  2. core/ConfigMap/web/settings, <cluster> tier 01: Blocked\n     waits for 1 by rule namespace: metadata.namespace: web\n  3. apps/Deployment/web/web, <cluster> tier 02: Blocked\n     waits for 2 by rule declared: furrow.dev/depends-on: core/ConfigMap/web/settings\n"}},
		"the end of it":                    {[]string{"ConfigMap/web/settings"}, exitOK, []string{"core/ConfigMap/web/settings\n", "Waited for by\n  apps/Deployment/web/web (declared)"}},
		"what waits for nothing":           {[]string{"Namespace/web"}, exitOK, []string{"Waits for\n  nothing", "east tier 00: Proposed"}},
		"an end that several objects have": {[]string{"settings"}, exitFailed, []string{`"settings" could be any of these`, "shop: core/ConfigMap/shop/settings", "web: core/ConfigMap/web/settings"}},
		"an end, and the seed":             {[]string{"settings", "--seed", "shop"}, exitOK, []string{"core/ConfigMap/shop/settings\n  of seed shop"}},
		"part of a name is not its end":    {[]string{"ettings"}, exitFailed, []string{`no plan has an object "ettings"; did you mean core/ConfigMap/shop/settings? 'furrow plan' lists all objects`}},
		"a kind and a name, as in kubectl": {[]string{"deploy/web", "--seed", "web"}, exitOK, []string{"apps/Deployment/web/web\n  of seed web"}},
		"an object that nobody has":        {[]string{"Deployment/web/none"}, exitFailed, []string{`no plan has an object "Deployment/web/none"`}},
		"an object of another seed":        {[]string{"apps/Deployment/web/web", "--seed", "shop"}, exitFailed, []string{"no plan has an object"}},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			r := p.furrow(append([]string{"explain"}, c.args...)...)
			if r.code != c.code {
				t.Errorf("it ends with %d: %s", r.code, r.stderr)
			}
			mustContain(t, r.all(), c.want...)
		})
	}
}

func TestExplainNamesTheMergeCommitOfATier(t *testing.T) {
	t.Parallel()
	p := newWorkspace(t, map[string]string{"seeds/web.yaml": webSeed})
	p.pass()
	mustNotContain(t, p.must("explain", "Namespace/web"), "Merged as")
	p.must("pr", "merge", "web/east/00")
	merged := p.git("fleet.git", "log", "--first-parent", "-1", "--format=%H %s", "main", "--", "planted/east/web/tier-00")
	p.must("pr", "merge", "web/west/00")
	p.pass()
	mustContain(t, p.must("explain", "Namespace/web"), "Merged as "+merged[:10]+` "`, ": east tier 00\n")
	mustContain(t, p.must("explain", "Namespace/web", "-o", "yaml"), "landedBy:", merged[:40], strings.TrimSpace(merged[40:]))
}

// TestWhatDiffersByClusterIsShown runs on a control plane in Git, whose blobs are fetched as they are needed.
func TestWhatDiffersByClusterIsShown(t *testing.T) {
	t.Parallel()
	p := newWorkspace(t, map[string]string{
		"seeds/web/base/kustomization.yaml":          "configMapGenerator:\n- {name: web, namespace: default, files: [page.html], options: {disableNameSuffixHash: true}}\n",
		"seeds/web/base/page.html":                   "<p>base</p>\n",
		"seeds/web/overlays/east/kustomization.yaml": "resources: [../../base]\ncommonAnnotations: {region: east}\n",
		"seeds/settings.yaml":                        "apiVersion: furrow.dev/v1alpha1\nkind: Seed\nmetadata: {name: web}\nspec: {render: {kustomize: {variants: [{overlay: overlays/east, clusters: [east]}, {overlay: base}]}}}\n",
	})
	p.pass()
	for command, want := range map[string]string{
		"plan":                    "\nDiffers by cluster\n  - core/ConfigMap/default/web: east (overlays/east); west (base)\n",
		"explain web":             "\nDiffers by cluster\n  on east (overlays/east), from seeds/web/base/kustomization.yaml\n  on west (base), from seeds/web/base/kustomization.yaml\n",
		"pr show web/east/00":     "Differs by cluster:\n  core/ConfigMap/default/web has another content on west\n",
		"explain web -o json":     `"contents"`,
		"plan --seed web -o yaml": "variants:\n- clusters:\n  - west\n  name: base\n",
	} {
		r := p.furrow(strings.Fields(command)...)
		if r.code != exitOK {
			t.Errorf("%s ends with %d: %s", command, r.code, r.stderr)
		}
		mustContain(t, r.stdout, want)
	}
}

func TestWhatOverridesChangeIsShown(t *testing.T) {
	t.Parallel()
	p := newWorkspace(t, map[string]string{
		"seeds/web.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, namespace: default}\ndata: {level: info}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: key, namespace: default}\ndata: {k: YQ==}\n",
		"seeds/settings.yaml": `apiVersion: furrow.dev/v1alpha1
kind: Seed
metadata: {name: web}
spec:
  plainSecrets: Allow
  overrides:
  - name: debug
    clusters: [east]
    target: {kind: ConfigMap}
    strategicMerge: {data: {level: debug}}
  - name: other-key
    clusters: [east]
    target: {kind: Secret}
    jsonPatch: [{op: replace, path: /data/k, value: Yg==}]
`,
	})
	p.pass()
	for command, want := range map[string]string{
		"plan":                          "\nOverrides\n  - debug (seeds/settings.yaml:7) on east: core/ConfigMap/default/web: data.level info → debug\n  - other-key (seeds/settings.yaml:11) on east: core/Secret/default/key: values that are not shown\n",
		"explain ConfigMap/default/web": "\nDiffers by cluster\n  on east (debug), from seeds/web.yaml:1\n  on west, from seeds/web.yaml:1\n\nChanged by overrides\n  debug (seeds/settings.yaml:7) on east: data.level info → debug\n",
		"explain Secret/default/key":    "\nChanged by overrides\n  other-key (seeds/settings.yaml:11) on east: values that are not shown\n",
		"explain web -o json":           `"data.level info → debug"`,
		"pr show web/east/00":           "Differs by cluster:\n  core/ConfigMap/default/web has another content on west\n",
		"plan --seed web -o yaml":       "  objects:\n  - changes:\n    - data.level info → debug\n    id: core/ConfigMap/default/web\n",
	} {
		r := p.furrow(strings.Fields(command)...)
		if r.code != exitOK {
			t.Errorf("%s ends with %d: %s", command, r.code, r.stderr)
		}
		mustContain(t, r.stdout, want)
		mustNotContain(t, r.stdout, "Yg==")
	}
}

func TestExplainReportsAStalledSeedWhereNoPlanHasTheObject(t *testing.T) {
	t.Parallel()
	p := newWorkspace(t, map[string]string{"seeds/bad.yaml": circleSeed})
	r := p.furrow("explain", "ConfigMap/default/a")
	if r.code != exitFailed {
		t.Errorf("it ends with %d", r.code)
	}
	mustContain(t, r.stderr, "no plan has an object", "seed bad is stalled: ", "in a circle")
	mustNotContain(t, r.stderr, `is stalled: seed "bad"`)
}

// TestAReportOfAnotherPlanSaysNothingOfATier has the new object in a tier that was Released without it.
func TestAReportOfAnotherPlanSaysNothingOfATier(t *testing.T) {
	t.Parallel()
	p := newWorkspace(t, map[string]string{"seeds/web.yaml": webSeed})
	r := p.furrow("explain", "ConfigMap/web/settings")
	mustContain(t, r.all(), "Now\n  ! no status was reported yet. Start 'furrow run'\n", "east tier 01: Unknown: no run has reported yet\n")
	mustNotContain(t, r.all(), "Queued", "Blocked")

	p.plant("Seed web: Released\n")
	was := "main@sha1:" + p.git("control-plane", "rev-parse", "HEAD")
	finished := p.must("explain", "ConfigMap/web/settings")
	mustContain(t, finished, "Now\nLast pass reported ", "east tier 01: Released: healthy (for ")
	p.commit(map[string]string{"README.md": "not of the seed"})
	mustContain(t, p.must("explain", "ConfigMap/web/settings"), "east tier 01: Released: healthy")

	const added = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: new, namespace: web}\n"
	p.commit(map[string]string{"seeds/web.yaml": webSeed + added})
	for _, object := range []string{"ConfigMap/web/new", "ConfigMap/web/settings"} {
		got := p.must("explain", object)
		mustContain(t, got, "east tier 01: Unknown: not planned by a run yet; the last report is of "+was+"\n")
		mustNotContain(t, got, "Released")
	}
	mustContain(t, p.must("explain", "ConfigMap/web/new", "-o", "json"), `"state": "Unknown"`, `"reason": "NoStatus"`, `"lastPass": "`)
	p.pass()
	mustContain(t, p.must("explain", "ConfigMap/web/new"), "east tier 01: Proposed: waits to be merged")
	mustContain(t, p.must("explain", "Deployment/web/web", "-o", "json"), `"reason": "`)
}

func TestExplainSaysWhereAnObjectIsThatIsBeingRemoved(t *testing.T) {
	t.Parallel()
	p := newWorkspace(t, map[string]string{"seeds/web.yaml": moreSeed, "seeds/other.yaml": strings.ReplaceAll(webSeed, "web", "other")})
	p.plant("Seed web: Released\n")
	p.plant("Seed other: Released\n")

	p.commit(map[string]string{"seeds/web.yaml": strings.Replace(webSeed, "color: green", "color: blue", 1)})
	const leaves = "Where\n  being removed from east, west, because the seed no longer has it there"
	got := p.must("explain", "ConfigMap/web/more")
	mustContain(t, got, leaves, "east tier 03: Unknown: not planned by a run yet")
	mustNotContain(t, got, "Waits for")
	p.pass()
	p.pass()
	mustContain(t, p.must("explain", "ConfigMap/web/more"), leaves, "east tier 03: Proposed: ")

	if err := os.Remove(p.at("control-plane/seeds/other.yaml")); err != nil {
		t.Fatal(err)
	}
	p.commit(nil)
	p.furrow("run", "--once", "--simulate") // the deletion guard holds it
	got = p.must("explain", "Deployment/other/other")
	mustContain(t, got, "Seed other: Stalled", "'furrow confirm other'")
	p.must("confirm", "other")
	p.pass()
	mustContain(t, p.must("explain", "Deployment/other/other"), "Where\n  being removed from east, west, because the seed is being removed\n", "east tier 02: ")
}

func TestAReplayFoldsEqualClusters(t *testing.T) {
	t.Parallel()
	p := newWorkspace(t, map[string]string{"seeds/web.yaml": webSeed, "north.yaml": document("Cluster", "north", "spec: {}")})
	p.setUpRoot("north")
	p.must("run", "--once", "--simulate", "--record", p.at("records"))
	records, err := os.ReadDir(p.at("records"))
	if err != nil || len(records) == 0 {
		t.Fatalf("%d records: %v", len(records), err)
	}
	file := p.at("records/" + records[0].Name())
	mustContain(t, call(t.Context(), "", "replay", file, "--explain", "web").stdout, "\neast, north, west tier 01: Blocked\n", "  on base    nothing at planted/<cluster>/web/tier-01\n")
	mustContain(t, call(t.Context(), "", "replay", file, "--explain", "web", "-o", "wide").stdout, "\nnorth tier 01: Blocked\n", " wanted     ", "nothing at planted/north/web/tier-01\n")
}

func TestFewProposalsAreNamedWhereThereIsNone(t *testing.T) {
	t.Parallel()
	seeds := map[string]string{}
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		seeds["seeds/"+name+".yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + ", namespace: default}\n"
	}
	p := newWorkspace(t, seeds)
	p.pass()
	p.refused(" and 4 more\n", "pr", "show", "nope")
}

func TestExplainRefusesAStatusThatItCannotRead(t *testing.T) {
	t.Parallel()
	p := newWorkspace(t, map[string]string{"seeds/web.yaml": webSeed})
	p.pass()
	p.commitTo("furrow/main/status/control-plane/default", map[string]string{"status.yaml": "version: '2.0'\nowner: control-plane/default\n"})
	for _, command := range []string{"status", "wait", "explain Deployment/web/web"} {
		r := p.furrow(strings.Fields(command)...)
		if r.code != exitFailed || !strings.Contains(r.stderr, "2.0") {
			t.Errorf("%s ends with %d: %s", command, r.code, r.all())
		}
	}
}

func TestBeforeAnyRunThereIsNoStatusAndNothingToDecide(t *testing.T) {
	t.Parallel()
	p := newWorkspace(t, map[string]string{"seeds/web.yaml": webSeed})
	cases := map[string]struct {
		args []string
		code int
		want string
	}{
		"status":    {[]string{"status"}, exitFailed, "no status was reported yet. Start 'furrow run'"},
		"retry":     {[]string{"retry", "web"}, exitFailed, `there is no plan of a seed "web" yet`},
		"confirm":   {[]string{"confirm", "web"}, exitFailed, `there is no plan of a seed "web" yet`},
		"abandon":   {[]string{"abandon", "east"}, exitFailed, `has anything on a cluster "east". See 'furrow status'`},
		"show":      {[]string{"pr", "show", "web/east/00"}, exitFailed, `there is no proposal "web/east/00"; none is open`},
		"list":      {[]string{"pr", "list"}, exitOK, "No proposal is open."},
		"merge all": {[]string{"pr", "merge", "--all"}, exitOK, "No proposal is open."},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			r := p.furrow(c.args...)
			if r.code != c.code {
				t.Errorf("it ends with %d", r.code)
			}
			mustContain(t, r.all(), c.want)
		})
	}
}

func TestAReviewerListsShowsMergesAndRejects(t *testing.T) {
	t.Parallel()
	p := newWorkspace(t, map[string]string{"seeds/web.yaml": webSeed})
	p.pass()
	p.pass() // observes what the first one proposed
	mustContain(t, p.states(),
		"Seed web: Proposed, 0 of 6 tiers done\n", "east tier 00  Proposed  waits to be merged\n", "Waiting for you: 2 proposals",
		"Plant web on east, tier 00: furrow pr merge web/east/00", "Next:\n  web east tier 01, after east tier 00 (Proposed)")
	mustContain(t, p.must("pr", "list"), "REPO   PROPOSAL     STATE  WHAT            AGE\n", "fleet  web/east/00  Open   Plant: 1 added  ", "web/west/00")
	mustContain(t, p.must("pr", "show", "web/east/00"),
		"Plant web on east, tier 00\n", "Open\n", "furrow/main/tier/web/east/00\n", "furrow pr diff web/east/00",
		"Changes: 1 added\n  + core/Namespace/web\n", "Run 'furrow pr reject web/east/00'", "Why now: commit ", "\"Change\" by Ann\n")

	mustContain(t, p.must("pr", "merge", "web/east/00"), "Merged furrow/main/tier/web/east/00 into main of fleet.")
	mustContain(t, p.must("pr", "reject", "furrow/main/tier/web/west/00", "--reason", "not before Monday"), "Rejected furrow/main/tier/web/west/00.", "furrow retry web")
	mustContain(t, p.must("pr", "list"), "web/west/00  Rejected")
	mustContain(t, p.must("pr", "show", "web/west/00"), "Rejected: not before Monday")
	if r := p.furrow("pr", "merge", "web/west/00"); r.code != exitFailed || !strings.Contains(r.stderr, "was rejected") {
		t.Errorf("a rejected proposal is merged: %d %s", r.code, r.all())
	}
	if r := p.furrow("pr", "show", "web/none/00"); r.code != exitFailed || !strings.Contains(r.stderr, "there are: web/west/00") {
		t.Errorf("a proposal that is not there: %d %s", r.code, r.all())
	}
	mustContain(t, p.must("pr", "merge", "--all"), "No proposal is open.")
	mustNotContain(t, p.must("pr", "list"), "web/east/00")
	merge := p.git("fleet.git", "rev-parse", "main")
	mustContain(t, p.must("pr", "list", "--state", "Merged"), "fleet  web/east/00  Merged  Merged as "+merge[:10]+" by ")
	mustContain(t, p.must("pr", "list", "--state", "Merged,Rejected", "--seed", "web", "-o", "json"), `"commit": "`+merge+`"`, `"state": "Rejected"`)
	mustContain(t, p.must("pr", "list", "--state", "Merged", "--cluster", "west"), "None of ")

	p.pass()
	status := p.states()
	mustContain(t, status, "east tier 00  Released  healthy", "west tier 00  Rejected", "not before Monday", "east tier 01  Proposed")
	mustNotContain(t, status, "after west tier 00 (Rejected)")
}

func TestARejectedProposalThatAPersonEditedSaysWhatBringsItBack(t *testing.T) {
	t.Parallel()
	p := newWorkspace(t, map[string]string{"seeds/web.yaml": webSeed})
	p.pass()
	const branch = "furrow/main/tier/web/west/00"
	p.commitTo(branch, map[string]string{"planted/west/web/tier-00/namespace.web.yaml": "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: web\n  labels: {a: b}\n"})
	const back = "A person has edited it, so to have a change of the seed proposed, delete its branch: git push origin --delete " + branch
	mustContain(t, p.must("pr", "reject", "web/west/00"), "Rejected "+branch+". It comes back with 'furrow retry web'. "+back+"\n")
	p.pass()
	mustContain(t, p.must("status", "-o", "yaml"), "Run 'furrow retry web' to open it again. "+back)
	p.must("retry", "web")
	p.pass()
	mustContain(t, p.must("pr", "list"), "web/west/00  Edited")

	p.must("pr", "reject", "web/west/00")
	p.commit(map[string]string{"seeds/web.yaml": strings.Replace(webSeed, "metadata: {", "metadata: {labels: {c: d}, ", 1)})
	p.pass()
	mustContain(t, p.must("status", "-o", "yaml"), "reason: "+string(v1alpha1.ReasonEditedAndRejected))
	p.git("fleet.git", "update-ref", "-d", "refs/heads/"+branch)
	p.pass()
	mustContain(t, p.must("pr", "list"), "web/west/00  Open")
}

func TestASeedIsRejectedAskedForAgainPlantedAndRemoved(t *testing.T) {
	t.Parallel()
	p := newWorkspace(t, map[string]string{"seeds/web.yaml": webSeed, "north.yaml": document("Cluster", "north", "spec: {}")})
	p.setUpRoot("north")
	p.pass()
	p.must("pr", "reject", "web/west/00")
	p.pass()
	mustContain(t, p.must("status", "web"), "west tier 00   Rejected")

	asked := p.must("retry", "web")
	mustContain(t, asked, "Requested: the next pass proposes again, of seed web: west tier 00 (Rejected). See 'furrow status web'.")
	if strings.Count(asked, "\n") != 1 {
		t.Errorf("retry says more than a line:\n%s", asked)
	}
	p.markIs("retry", true)
	p.pass()
	mustContain(t, p.states(), "west tier 00   Proposed")
	p.plant("Seed web: Released\n")
	p.markIs("retry", false)

	if err := os.Remove(p.at("control-plane/seeds/web.yaml")); err != nil {
		t.Fatal(err)
	}
	p.commit(nil)
	if r := p.furrow("run", "--once", "--simulate"); r.code != exitProblems {
		t.Errorf("a run that holds a removal ends with %d", r.code)
	}
	mustContain(t, p.must("status"), "blocked by the deletion guard: removing it deletes Namespace web on 3 clusters", "furrow confirm")
	mustContain(t, p.must("confirm", "web"), "Requested: the next pass begins to remove, of seed web: 3 objects from east, 3 objects from north, 3 objects from west, including Namespace web on 3 clusters.", "See 'furrow status web'.")
	p.markIs("confirm", true)
	p.pass()
	p.markIs("confirm", true) // for as long as the removal is under way
	mustContain(t, p.states(), "being removed", "Remove web on east, tier 02")
	p.plant("There are no seeds.")
	p.markIs("confirm", false)
	p.git("work", "pull", "--quiet", "--ff-only", "origin", "main")
	if left := p.git("work", "ls-files"); left != "clusters/east/README.md\nclusters/north/README.md\nclusters/west/README.md" {
		t.Errorf("what is left:\n%s", left)
	}
}

func TestAClusterIsGivenUpAndThatIsUndone(t *testing.T) {
	t.Parallel()
	p := newWorkspace(t, map[string]string{"seeds/web.yaml": webSeed})
	p.pass()
	for _, who := range [][]string{{"no-such"}, {"east", "--id", "other"}, {"east", "--undo"}} {
		if r := p.furrow(append([]string{"abandon"}, who...)...); r.code != exitFailed || !strings.Contains(r.stderr, "'furrow status'") {
			t.Errorf("%v ends with %d: %s", who, r.code, r.all())
		}
	}
	mustContain(t, p.must("abandon", "east"), "Requested: ", "cluster east", "'furrow abandon east --undo'")
	p.must("abandon", "east")
	p.pass()
	marks := func() string {
		return p.git("fleet.git", "for-each-ref", "--format=%(refname)", "refs/heads/furrow/main/abandon")
	}
	want := regexp.MustCompile("^refs/heads/furrow/main/abandon/control-plane/default/[0-9a-f]{12}/east$")
	if got := marks(); !want.MatchString(got) {
		t.Errorf("the marks are %q, want %q", got, want)
	}
	mustContain(t, p.must("abandon", "east", "--undo"), "Undone: ", "cluster east")
	if got := marks(); got != "" {
		t.Errorf("there are marks: %s", got)
	}
}

func TestASeedLeavesAClusterThatWasGivenUp(t *testing.T) {
	t.Parallel()
	p := newWorkspace(t, map[string]string{
		"far.yaml":       document("Cluster", "far", "spec: {reconciledBy: east}"),
		"seeds/web.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default, annotations: {furrow.dev/cluster: far}}\n",
	})
	p.plant("Seed web: Released\n")
	p.must("abandon", "far")
	if err := os.Remove(p.at("control-plane/seeds/web.yaml")); err != nil {
		t.Fatal(err)
	}
	p.commit(nil)
	p.plant("Orphan web on far, tier 00: furrow pr merge web/far/00")
	mustContain(t, p.must("pr", "show", "web/far/00"), "Cluster far was abandoned", "Flux on east no longer waits for the cluster", "furrow abandon far --undo")
	const file = "clusters/east/furrow/web/far/tier-00.yaml"
	for _, branch := range []string{"furrow/main/plan/web", "furrow/main/tier/web/far/00"} {
		mustContain(t, p.git("fleet.git", "ls-tree", "-r", "--name-only", branch), file, "planted/far/web/tier-00/configmap.a.yaml")
		mustContain(t, p.git("fleet.git", "show", branch+":"+file), "deletionPolicy: Orphan")
	}
	if changed := p.git("fleet.git", "diff", "--name-only", "main", "furrow/main/tier/web/far/00"); changed != file {
		t.Errorf("the proposal changes %s", changed)
	}
	p.must("pr", "merge", "web/far/00")
	p.plant("Remove web on far, tier 00: furrow pr merge web/far/00 --removals")
	p.must("pr", "merge", "web/far/00", "--removals")
	p.plant("There are no seeds.")
	p.pass()
	if left := p.git("fleet.git", "for-each-ref", "--format=%(refname)", "refs/heads/furrow/main/abandon", "refs/heads/furrow/main/plan"); left != "" {
		t.Errorf("branches are left: %s", left)
	}
}

func TestAStatusOfAnotherNameIsNamed(t *testing.T) {
	t.Parallel()
	p := newWorkspace(t, map[string]string{"seeds/web.yaml": webSeed})
	p.pass()
	r := p.furrow("status", "--id", "my-clone")
	if r.code != exitFailed {
		t.Errorf("it ends with %d", r.code)
	}
	mustContain(t, r.stderr, `no status of control plane "my-clone/default" was reported yet. GitOpsRepo "fleet" has that of "control-plane/default". If that is this control plane, name it by a ControlPlane document, or with --id and --environment; else start 'furrow run'`)
}

func TestRetryAndConfirmWithNothingToDoSaySoAndDoNothing(t *testing.T) {
	t.Parallel()
	p := newWorkspace(t, map[string]string{"seeds/web.yaml": webSeed})
	p.pass()
	p.pass()
	mustContain(t, p.must("retry", "web"), "Nothing to retry: no tier of seed web is rejected, reverted or held by foreign content. It is Proposed, as of the last pass, reported ")
	mustContain(t, p.must("confirm", "web"), "Nothing to confirm: no removal of seed web waits for it. It is Proposed, as of the last pass, reported ")
	p.markIs("retry", false)
	p.markIs("confirm", false)

	p.must("pr", "reject", "web/east/00") // no pass has seen it yet
	mustContain(t, p.must("retry", "web"), "proposes again, of seed web: east tier 00 (Rejected).")
	p.markIs("retry", true)
}

// markIs checks whether the branch of a request exists. Its commit follows the plan's.
func (p *workspace) markIs(question string, want bool) {
	p.t.Helper()
	mark := p.git("fleet.git", "for-each-ref", "--format=%(objectname)", "refs/heads/furrow/main/"+question+"/web")
	if (mark != "") != want {
		p.t.Errorf("the branch of %s is at %q", question, mark)
	}
	if !want {
		return
	}
	on := p.git("fleet.git", "rev-parse", mark+"^")
	if plan := p.git("fleet.git", "rev-parse", "furrow/main/plan/web"); on != plan {
		p.t.Errorf("the branch of %s is on %s, and the plan at %s", question, on, plan)
	}
}

func TestAnotherOwnersSeedIsNotAskedAbout(t *testing.T) {
	t.Parallel()
	p := newWorkspace(t, map[string]string{"seeds/web.yaml": webSeed})
	p.pass()
	for _, command := range []string{"retry", "confirm"} {
		r := p.furrow(command, "web", "--id", "other")
		if r.code != exitFailed {
			t.Errorf("furrow %s ends with %d", command, r.code)
		}
		mustContain(t, r.stderr, `belongs to control plane "control-plane/default" of origin `, `, and you ask as "other/default" of origin `)
	}
	if marks := p.git("fleet.git", "for-each-ref", "refs/heads/furrow/main/retry", "refs/heads/furrow/main/confirm"); marks != "" {
		t.Errorf("there are marks:\n%s", marks)
	}
	r := p.furrow("run", "--once", "--environment", "test")
	if r.code != exitProblems {
		t.Errorf("a run as another owner ends with %d", r.code)
	}
	mustContain(t, r.all(), `its plan belongs to control plane "control-plane/default" of origin `)
	mustContain(t, p.must("status"), "Seed web: Proposed")
	mustContain(t, p.must("status", "--environment", "test"), "Seed web: Stalled")
}

func TestAnEmptiedControlPlaneIsTreatedAsAMistake(t *testing.T) {
	t.Parallel()
	p := newWorkspace(t, map[string]string{"seeds/web.yaml": webSeed})
	p.pass()
	p.git("control-plane", "rm", "--quiet", "-r", ".")
	p.git("control-plane", "commit", "--quiet", "--message=Empty it")
	r := p.furrow("run", "--once")
	if r.code != exitFailed {
		t.Errorf("it ends with %d", r.code)
	}
	mustContain(t, r.all(), "refusing to treat that as a deletion of everything. Commit at least a GitOpsRepo")
	if p.git("fleet.git", "for-each-ref", "refs/heads/furrow/main/plan/web") == "" {
		t.Error("the plan is gone")
	}
}

func TestARootWithoutItsDirectoryIsHeldUntilItIsThere(t *testing.T) {
	t.Parallel()
	p := newWorkspace(t, map[string]string{"seeds/web.yaml": webSeed, "north.yaml": document("Cluster", "north", "spec: {}")})
	p.pass()
	mustContain(t, p.must("status"), "north tier 00  Held", "has no directory clusters/north", "east tier 00   Proposed")
	p.setUpRoot("north")
	p.pass()
	mustContain(t, p.states(), "north tier 00  Proposed")
}

// setUpRoot makes the directory of a cluster's root, as setting up a reconciler does.
func (p *workspace) setUpRoot(cluster string) {
	p.t.Helper()
	p.write("work", map[string]string{"clusters/" + cluster + "/README.md": "the root of " + cluster})
	p.git("work", "add", ".")
	p.git("work", "commit", "--quiet", "--message=Set up "+cluster)
	p.git("work", "push", "--quiet", "origin", "HEAD:main")
}

func TestARunThatIsKilledIsContinuedByTheNext(t *testing.T) {
	t.Parallel()
	p := newWorkspace(t, map[string]string{"seeds/web.yaml": webSeed})
	for _, until := range []string{"web/east/00", "web/east/01", "web/east/02"} {
		r := p.start("cache-of-" + strings.ReplaceAll(until, "/", "-")) // each starts with nothing
		eventually(t, "a proposal "+until, func() (bool, string) {
			list := p.furrow("pr", "list").all()
			return strings.Contains(list, until), list
		})
		end := r.ended()
		if end.code != exitOK {
			t.Errorf("the run ends with %d: %s", end.code, end.stderr)
		}
		mustContain(t, end.stdout, "Stopped. Nothing is lost: start it again to continue.")
		p.must("pr", "merge", "--all")
	}
	p.start("cache-of-the-last")
	p.mergeUntil("Seed web: Released\n")
}

// mergeUntil accepts whatever is proposed until the status has a text.
func (p *workspace) mergeUntil(text string) {
	p.t.Helper()
	eventually(p.t, text, func() (bool, string) {
		merged := p.furrow("pr", "merge", "--all", "--removals") // may lose a race with a run
		status := p.furrow("status").all()
		return strings.Contains(status, text), merged.all() + status
	})
}

func TestTwoRunsAtOnceBothGetToTheEnd(t *testing.T) {
	t.Parallel()
	p := newWorkspace(t, map[string]string{"seeds/web.yaml": webSeed})
	first, second := p.start("cache-1"), p.start("cache-2")
	p.mergeUntil("Seed web: Released\n")
	p.commit(map[string]string{"seeds/web.yaml": strings.ReplaceAll(webSeed, "web:1", "web:2")})
	merged := ""
	eventually(t, "the update is released", func() (bool, string) {
		merged += p.furrow("pr", "merge", "--all", "--removals").stdout
		status := p.furrow("status").all()
		done := strings.Contains(merged, "web/east/02") && strings.Contains(merged, "web/west/02") && strings.Contains(status, "Seed web: Released\n")
		return done, merged + status
	})
	for _, r := range []*running{first, second} {
		end := r.ended()
		if end.code != exitOK || end.stderr != "" {
			t.Errorf("it ends with %d: %s", end.code, end.stderr)
		}
		mustContain(t, end.stdout, "web        east tier 02     Released")
		mustNotContain(t, end.stdout, "Rejected", "Reverted", "Failed", "Held", "Stalled", "the pass failed")
	}
	p.git("work", "pull", "--quiet", "--ff-only", "origin", "main")
	if subjects := p.git("work", "log", "--format=%s", "--no-merges", "HEAD"); strings.Count(subjects, "Plant web on") != 6 || strings.Count(subjects, "Update web on") != 2 {
		t.Errorf("each tier is proposed and merged once:\n%s", subjects)
	}
}

func TestARunThatIsInterruptedBeforeItsFirstPassEndsWell(t *testing.T) {
	t.Parallel()
	p := newWorkspace(t, map[string]string{"seeds/web.yaml": webSeed})
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if r := call(ctx, "", p.flags("run", "--simulate")...); r.code != exitOK {
		t.Errorf("it ends with %d: %s", r.code, r.all())
	}
}

func TestTheDemoMergesEverythingAndEnds(t *testing.T) {
	t.Parallel()
	needGit(t)
	r := call(t.Context(), "", "demo", "--merge", "--dir", t.TempDir())
	if r.code != exitOK {
		t.Errorf("it ends with %d: %s", r.code, r.stderr)
	}
	mustContain(t, r.stdout, "Now an update", "Cluster edge-1   running (simulated)", "Everything is released; no cluster rejected anything.")
}

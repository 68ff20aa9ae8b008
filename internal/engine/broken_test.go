package engine_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// plainSeed is a seed of one ConfigMap; on may be empty for all workload clusters.
func plainSeed(name string, version int, on string) string {
	annotations := ""
	if on != "" {
		annotations = fmt.Sprintf(", annotations: {furrow.dev/cluster: %q}", on)
	}
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: default%s}\ndata: {version: v%d}\n", name, annotations, version)
}

// filesBelow are the files of a repository below some directories.
func filesBelow(m *memory, dirs ...string) map[string]string {
	files := m.files()
	maps.DeleteFunc(files, func(file, _ string) bool {
		for _, dir := range dirs {
			if strings.HasPrefix(file, dir) {
				return false
			}
		}
		return true
	})
	return files
}

// TestABrokenDocumentHoldsOnlyWhatDependsOnIt breaks one document of three clusters:
// seeds go on everywhere else, also to be removed, and nothing changes on the cluster
// whose document is broken until it is correct again.
func TestABrokenDocumentHoldsOnlyWhatDependsOnIt(t *testing.T) {
	const file = "clusters/site-c.yaml"
	good := document("Cluster", "site-c", "spec: {gitOpsRepo: a}")
	tests := map[string]struct {
		files map[string]string
		// problem is what is reported, by its reason and position.
		problem manifest.Problem
	}{
		"a field that does not exist": {
			map[string]string{file: document("Cluster", "site-c", "spec: {gitOpsRepo: a, hub: site-a}")},
			manifest.Problem{Reason: v1alpha1.ReasonInvalidField, Source: manifest.Source{File: "clusters/site-c.yaml", Line: 4}},
		},
		"YAML that cannot be read": {map[string]string{file: "apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: site-c\n"}, manifest.Problem{Reason: v1alpha1.ReasonInvalidYAML, Source: manifest.Source{File: "clusters/site-c.yaml", Line: 4}}},
		"a file that was cut off":  {map[string]string{file: "apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmeta"}, manifest.Problem{Reason: v1alpha1.ReasonInvalidYAML, Source: manifest.Source{File: "clusters/site-c.yaml", Line: 4}}},
		"a file in UTF-16":         {map[string]string{file: "\xff\xfe" + strings.Join(strings.Split(good, ""), "\x00") + "\x00"}, manifest.Problem{Reason: v1alpha1.ReasonInvalidYAML, Source: manifest.Source{File: "clusters/site-c.yaml", Line: 1}}},
		"a merge that was not finished": {
			map[string]string{file: "<<<<<<< HEAD\n" + good + "=======\n" + good + ">>>>>>> other\n"}, manifest.Problem{Reason: v1alpha1.ReasonInvalidYAML, Source: manifest.Source{File: "clusters/site-c.yaml", Line: 1}},
		},
		"a kind that does not exist": {map[string]string{file: strings.Replace(good, "kind: Cluster", "kind: Clutser", 1)}, manifest.Problem{Reason: v1alpha1.ReasonUnknownKind, Source: manifest.Source{File: "clusters/site-c.yaml", Line: 1}}},
		"an API group that is misspelt": {
			map[string]string{file: strings.Replace(good, "furrow.dev", "furow.dev", 1)}, manifest.Problem{Reason: v1alpha1.ReasonUnknownKind, Source: manifest.Source{File: "clusters/site-c.yaml", Line: 1}},
		},
		"no kind": {map[string]string{file: strings.Replace(good, "kind: Cluster\n", "", 1)}, manifest.Problem{Reason: v1alpha1.ReasonMissingField, Source: manifest.Source{File: "clusters/site-c.yaml", Line: 1}}},
		"a version that does not exist": {
			map[string]string{file: strings.Replace(good, "v1alpha1", "v1", 1)}, manifest.Problem{Reason: v1alpha1.ReasonUnknownKind, Source: manifest.Source{File: "clusters/site-c.yaml", Line: 1}},
		},
		"a second document of its name": {map[string]string{"clusters/copy.yaml": document("Cluster", "site-c", "spec: {gitOpsRepo: a, path: other}")}, manifest.Problem{Reason: v1alpha1.ReasonDuplicateDocument, Source: manifest.Source{File: "clusters/site-c.yaml", Line: 1}}},
		"a type that is not declared": {
			map[string]string{file: document("Cluster", "site-c", "spec: {gitOpsRepo: a, type: big}")}, manifest.Problem{Reason: v1alpha1.ReasonUnknownClusterType, Source: manifest.Source{File: "clusters/site-c.yaml", Line: 4}},
		},
		"a type with a broken template": {
			map[string]string{
				file:             document("Cluster", "site-c", "spec: {gitOpsRepo: a, type: big}"),
				"types/big.yaml": document("ClusterType", "big", "spec: {reconcilerTemplate: big}"),
				"types/t.yaml":   document("Template", "big", "spec: {type: Reconcilr, text: x}"),
			},
			manifest.Problem{Reason: v1alpha1.ReasonInvalidField, Source: manifest.Source{File: "types/t.yaml", Line: 4}},
		},
		"a repository that cannot be used": {
			map[string]string{
				file:           document("Cluster", "site-c", "spec: {gitOpsRepo: c}"),
				"repos/c.yaml": document("GitOpsRepo", "c", "spec: {url: elsewhere, branhc: main}"),
			},
			manifest.Problem{Reason: v1alpha1.ReasonInvalidField, Source: manifest.Source{File: "repos/c.yaml", Line: 4}},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			e := newEstate(t, map[string][]string{"a": {"site-a", "site-b", "site-c"}})
			furrow := e.engine(rival{})
			e.plant(seeds{
				"all": plainSeed("all", 1, ""), "two": plainSeed("two", 1, "site-a,site-b"), "gone": plainSeed("gone", 1, "site-b"),
				"far": plainSeed("far", 1, "site-c"), "both": plainSeed("both", 1, "site-a,site-c"),
			})
			e.converge(furrow)
			before := filesBelow(e.repos["a"], "planted/site-c/", "clusters/site-c/")
			e.control.put("main", "break", tc.files)
			e.plant(seeds{"all": plainSeed("all", 2, ""), "two": plainSeed("two", 2, "site-a,site-b"), "gone": "", "far": plainSeed("far", 2, "site-c"), "both": "", "new": plainSeed("new", 1, "site-b")})
			e.rounds(12, furrow)

			if diff := cmp.Diff(before, filesBelow(e.repos["a"], "planted/site-c/", "clusters/site-c/")); diff != "" {
				t.Errorf("what is planted on site-c has changed (-before +now):\n%s", diff)
			}
			e.mustHave(3 + 2 + 1 + 2 + 1) // all, two, far, both, new
			if files := e.repos["a"].files(); !strings.Contains(files["planted/site-a/all/tier-00/configmap.all.yaml"], "v2") || !strings.Contains(files["planted/site-b/two/tier-00/configmap.two.yaml"], "v2") {
				t.Error("seeds were not updated elsewhere")
			}
			e.mustSay("all", "Released")
			e.mustSay("two", "Released")
			e.mustSay("new", "Released")
			e.mustSay("far", "Stalled: BrokenDocument")
			e.mustSay("both", "Stalled: RemovalOnHold")
			if _, there := e.report.Seed("gone"); there {
				t.Errorf("a seed on another cluster was not removed:\n%s", e.describe())
			}
			if !slices.ContainsFunc(e.report.Problems, func(p manifest.Problem) bool { return p.Reason == tc.problem.Reason && p.Source == tc.problem.Source }) {
				t.Errorf("the problems are %v, want %+v", e.report.Problems, tc.problem)
			}
			if all, _ := e.report.Seed("all"); !slices.ContainsFunc(all.Warnings, func(w manifest.Problem) bool { return w.Reason == v1alpha1.ReasonClusterKept && w.Cluster == "site-c" }) {
				t.Errorf("nothing says that site-c stays as it was: %q", all.Warnings)
			}
			if n := e.idlePushes("a", furrow); n != 0 {
				t.Errorf("%d pushes in idle passes", n)
			}

			e.control.put("main", "correct it", map[string]string{file: good, "clusters/copy.yaml": "", "types/big.yaml": "", "types/t.yaml": "", "repos/c.yaml": ""})
			e.converge(furrow)
			e.mustHave(3 + 2 + 1 + 1)
			if files := e.repos["a"].files(); !strings.Contains(files["planted/site-c/all/tier-00/configmap.all.yaml"], "v2") || !strings.Contains(files["planted/site-c/far/tier-00/configmap.far.yaml"], "v2") {
				t.Error("site-c does not follow once its document is correct")
			}
		})
	}
}

func TestABrokenHubHoldsTheClustersThatItReconciles(t *testing.T) {
	e := newEstate(t, map[string][]string{"a": {"hub", "site-a", "edge@hub"}})
	furrow := e.engine(rival{})
	e.plant(seeds{"all": plainSeed("all", 1, "site-a,edge"), "edge": plainSeed("edge", 1, "edge")})
	e.converge(furrow)
	good, before := e.control.files()["clusters/hub.yaml"], filesBelow(e.repos["a"], "planted/edge/", "clusters/hub/")
	e.control.put("main", "break", map[string]string{"clusters/hub.yaml": document("Cluster", "hub", "spec: {rolle: Workload}")})
	e.plant(seeds{"all": plainSeed("all", 2, "site-a,edge"), "edge": ""})
	e.rounds(10, furrow)
	if diff := cmp.Diff(before, filesBelow(e.repos["a"], "planted/edge/", "clusters/hub/")); diff != "" {
		t.Errorf("what is planted on edge has changed (-before +now):\n%s", diff)
	}
	e.mustSay("all", "Released")
	e.mustSay("edge", "Stalled: RemovalOnHold")
	e.mustHave(3)
	e.control.put("main", "correct it", map[string]string{"clusters/hub.yaml": good})
	e.converge(furrow)
	e.mustHave(2)
}

func TestABrokenRepositoryHoldsWhatIsPlantedThere(t *testing.T) {
	e := newEstate(t, twoSites())
	furrow := e.engine(rival{})
	e.plant(seeds{"both": plainSeed("both", 1, "site-a,site-b"), "one": plainSeed("one", 1, "site-a"), "other": plainSeed("other", 1, "site-b")})
	e.converge(furrow)
	good, before := e.control.files()["repos/b.yaml"], e.repos["b"].files()
	for _, broken := range []string{document("GitOpsRepo", "b", "spec: {url: memory-b, brnch: main}"), "apiVersion: furrow.dev/v1alpha1\nkind: GitOpsRepo\nmetadata: {name: b\n"} {
		e.control.put("main", "break", map[string]string{"repos/b.yaml": broken})
		e.plant(seeds{"both": plainSeed("both", 2, "site-a,site-b"), "one": plainSeed("one", 2, "site-a"), "other": ""})
		e.rounds(10, furrow)
		e.mustSay("one", "Released")
		e.mustSay("both", "Stalled: RepositoryBroken")
		if diff := cmp.Diff(before, e.repos["b"].files()); diff != "" {
			t.Errorf("repository b has changed (-before +now):\n%s", diff)
		}
		if !strings.Contains(e.repos["a"].files()["planted/site-a/one/tier-00/configmap.one.yaml"], "v2") {
			t.Error("a seed that is not in that repository was not updated")
		}
		e.mustHave(4)
	}
	e.control.put("main", "correct it", map[string]string{"repos/b.yaml": good})
	e.converge(furrow)
	e.mustHave(3)
}

// TestAFileThatCannotBeReadHoldsNoClusterThatASeedCreates: such a cluster has no document.
func TestAFileThatCannotBeReadHoldsNoClusterThatASeedCreates(t *testing.T) {
	w := planted(t)
	w.control.put("main", "break", map[string]string{
		"clusters/site-0.yaml": "apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: site-0\n", "seeds/edge.yaml": storySeed(2, true),
	})
	w.mergeSeeds(60)
	if s, _ := w.report.Seed("edge"); s.State != "Released" || !strings.Contains(w.gitops.files()["planted/edge-1/edge/tier-01/deployment.web.yaml"], "web:2") {
		t.Errorf("the seed was not updated:\n%s", w.describe())
	}
	w.check()
}

// mergeSeeds merges everything for some rounds, whatever problems there are.
func (w *world) mergeSeeds(rounds int) {
	for range rounds {
		w.pass()
		for _, p := range w.mergeable() {
			w.merge(p)
		}
		w.tick()
	}
}

// TestAClusterWhoseDocumentIsNotReadIsNotGone: its file, or the directory that it is in, is
// there and cannot be read.
func TestAClusterWhoseDocumentIsNotReadIsNotGone(t *testing.T) {
	const file = "clusters/site-b.yaml"
	tests := map[string]map[string]string{
		"a link that leads to nothing":  {file: "-> nowhere.yaml"},
		"a link that leads out":         {file: "-> ../../site-b.yaml"},
		"a submodule":                   {file: "submodule"},
		"its directory is a submodule":  {file: "", "clusters/site-a.yaml": "", "clusters": "submodule"},
		"a repository of its own":       {"clusters/.git": "gitdir: elsewhere"},
		"a device":                      {file: "pipe"},
		"a path that is too long":       {file: "", strings.Repeat("long/", 900) + "site-b.yaml": "x"},
		"a link to a file of other use": {file: "-> ../docs"},
	}
	for name, files := range tests {
		t.Run(name, func(t *testing.T) {
			e := newEstate(t, map[string][]string{"a": {"site-a", "site-b"}})
			furrow := e.engine(rival{})
			e.plant(seeds{"all": plainSeed("all", 1, ""), "far": plainSeed("far", 1, "site-b")})
			e.converge(furrow)
			good, before := e.control.files(), e.repos["a"].files()
			e.control.put("main", "break", files)
			e.rounds(10, furrow)
			if diff := cmp.Diff(filesOf(before, "planted/site-b/"), filesBelow(e.repos["a"], "planted/site-b/")); diff != "" {
				t.Errorf("what is planted on site-b has changed (-before +now):\n%s", diff)
			}
			e.mustHave(3)
			if n := len(e.proposals("a")); n != 0 {
				t.Errorf("%d proposals are open", n)
			}
			for file := range files {
				e.control.put("main", "correct it", map[string]string{file: good[file]})
			}
			e.plant(seeds{"far": ""})
			e.converge(furrow)
			e.mustHave(2)
		})
	}
}

// filesOf are those of some files that are below a directory.
func filesOf(files map[string]string, dir string) map[string]string {
	files = maps.Clone(files)
	maps.DeleteFunc(files, func(file, _ string) bool { return !strings.HasPrefix(file, dir) })
	return files
}

// TestWhatAPartOfASeedHeldStaysWhileThatPartIsNotRead: neither the objects in it leave, nor
// those whose settings were there; a part that never was there holds nothing that changes.
func TestWhatAPartOfASeedHeldStaysWhileThatPartIsNotRead(t *testing.T) {
	const part = "seeds/web/part/b.yaml"
	tests := map[string]map[string]string{
		"a link that leads to nothing": {part: "-> nowhere.yaml"},
		"a link that leads out":        {part: "-> ../../../../b.yaml"},
		"a submodule":                  {part: "", "seeds/web/part": "submodule"},
		"a repository of its own":      {"seeds/web/part/.git": "gitdir: elsewhere"},
		"a device":                     {part: "pipe"},
		"a path that is too long":      {part: "", "seeds/web/" + strings.Repeat("long/", 900) + "b.yaml": "x"},
		"settings in a submodule":      {"seeds/web/set/seed.yaml": "", "seeds/web/set": "submodule"},
	}
	for name, files := range tests {
		t.Run(name, func(t *testing.T) {
			e := newEstate(t, map[string][]string{"a": {"site-a", "site-b", "site-c"}})
			furrow := e.engine(rival{})
			e.control.put("main", "plant", map[string]string{
				"seeds/web/a.yaml": plainSeed("one", 1, ""), part: plainSeed("two", 1, ""),
				"clusters/site-a.yaml":    strings.Replace(e.control.files()["clusters/site-a.yaml"], "name: site-a", "name: site-a, labels: {tier: web}", 1),
				"seeds/web/set/seed.yaml": document("Seed", "web", "spec: {clusterSelector: {matchLabels: {tier: web}}}"),
			})
			e.converge(furrow)
			good, before := e.control.files(), e.repos["a"].files()
			e.control.put("main", "break", files)
			e.rounds(8, furrow)
			if diff := cmp.Diff(before, e.repos["a"].files()); diff != "" {
				t.Errorf("what is planted has changed (-before +now):\n%s", diff)
			}
			e.mustSay("web", "Stalled: FileUnreadable")

			for file := range files {
				e.control.put("main", "correct it", map[string]string{file: good[file]})
			}
			e.control.put("main", "correct it", map[string]string{"seeds/web/a.yaml": plainSeed("one", 2, ""), "seeds/web/never": "-> there"})
			e.converge(furrow)
			e.mustSay("web", "Released")
			e.mustHave(2)
			e.control.put("main", "remove", map[string]string{part: "", "seeds/web/never": ""})
			e.converge(furrow)
			e.mustHave(1)
		})
	}
}

// One Template of proposals that uses up its budget must not take the time of all seeds. This one renders too much, which
// needs few steps.
func TestATemplateOfProposalsThatFailsIsNotRenderedForEveryTier(t *testing.T) {
	e := newEstate(t, map[string][]string{"a": {"site-a"}})
	furrow := e.engine(rival{})
	wasteful := fmt.Sprintf("{{ range 100000000 }}%s{{ end }}", strings.Repeat("x", 10_000))
	e.control.put("main", "waste", map[string]string{"templates/p.yaml": document("Template", "proposal", fmt.Sprintf(`spec: {type: Proposal, text: %q}`, wasteful))})
	const count = 30
	all := seeds{}
	for i := range count {
		name := fmt.Sprintf("s%02d", i)
		all[name] = plainSeed(name, 1, "")
	}
	e.plant(all)
	e.rounds(2, furrow)
	said := map[string]int{}
	for _, s := range e.report.Seeds {
		for _, tier := range s.Tiers {
			if tier.Reason != v1alpha1.ReasonTemplateBudget {
				t.Errorf("%s is %s", s.Name, fieldsOf(tier))
			}
			said[tier.Message]++
		}
	}
	// Tiers for which it was executed have one message, and the others another.
	if counts := slices.Sorted(maps.Values(said)); len(counts) != 2 || counts[1] > 20 {
		t.Errorf("of %d tiers the numbers of those with each message are %v", count, said)
	}
}

// TestNothingIsDoneUnderAnotherNameWhileTheControlPlaneDocumentCannotBeRead: by a new engine, and by one that has read
// the document before.
func TestNothingIsDoneUnderAnotherNameWhileTheControlPlaneDocumentCannotBeRead(t *testing.T) {
	const file = "control-plane.yaml"
	good := document("ControlPlane", "named", "spec: {}")
	tests := map[string]map[string]string{
		"a kind that is misspelled":    {file: strings.Replace(good, "ControlPlane", "ContrlPlane", 1)},
		"a group that is misspelled":   {file: strings.Replace(good, "furrow.dev", "furow.dev", 1)},
		"a field that does not exist":  {file: strings.Replace(good, "spec: {}", "spec: {x: 1}", 1)},
		"YAML that cannot be read":     {file: "apiVersion: furrow.dev/v1alpha1\nkind: ControlPlane\nmetadata: {name: named\n"},
		"a file that was cut off":      {file: "apiVersion: furrow.dev/v1alpha1\nki"},
		"a link that leads to nothing": {file: "-> nowhere.yaml"},
		"a submodule":                  {file: "submodule"},
		"its directory is a submodule": {file: "", "config": "submodule"},
		"a path that is too long":      {file: "", strings.Repeat("long/", 900) + file: "x"},
		"a kind that is not Furrow's":  {file: strings.Replace(good, "ControlPlane", "Environment", 1)},
		"a device instead of the file": {file: "pipe"},
	}
	for name, files := range tests {
		t.Run(name, func(t *testing.T) {
			e := newEstate(t, map[string][]string{"a": {"site-a", "site-b"}})
			e.control.put("main", "name it", map[string]string{file: good})
			r := rival{owner: "directory/prod", origin: originA}
			old := e.engine(r)
			e.plant(seeds{"web": plainSeed("web", 1, "")})
			e.converge(old)
			before := e.branches("a")
			e.control.put("main", "break it", files)
			e.plant(seeds{"web": plainSeed("web", 2, ""), "new": plainSeed("new", 1, "")})
			for range 3 {
				if _, err := e.engine(r).Pass(t.Context()); err == nil {
					t.Error("a new engine does not refuse to work")
				} else if strings.Contains(err.Error(), "adopt") {
					t.Errorf("it advises to adopt: %v", err)
				}
			}
			if diff := cmp.Diff(before, e.branches("a")); diff != "" {
				t.Errorf("branches have changed (-before +now):\n%s", diff)
			}
			_, _ = old.Pass(t.Context())
			for branch := range e.branches("a") {
				if strings.Contains(branch, "directory/prod") {
					t.Errorf("branch %s is there", branch)
				}
			}
			for file := range files {
				e.control.put("main", "correct it", map[string]string{file: ""})
			}
			e.control.put("main", "correct it", map[string]string{file: good})
			e.converge(e.engine(r))
			e.mustSay("web", "Released")
			e.mustSay("new", "Released")
		})
	}
}

func TestAControlPlaneThatLostItsDocumentIsAdvisedToRestoreIt(t *testing.T) {
	e := newEstate(t, map[string][]string{"a": {"site-a"}})
	e.control.put("main", "name it", map[string]string{"cp.yaml": document("ControlPlane", "named", "spec: {}")})
	r := rival{owner: "directory/prod", origin: originA}
	e.plant(seeds{"web": plainSeed("web", 1, "")})
	e.converge(e.engine(r))
	e.control.put("main", "lose it", map[string]string{"cp.yaml": ""})
	e.pass(e.engine(r))
	e.mustSay("web", "Stalled: ForeignOwner")
	if s, _ := e.report.Seed("web"); strings.Contains(s.Message, "furrow adopt") {
		t.Errorf("it advises to adopt: %s", s.Message)
	}
}

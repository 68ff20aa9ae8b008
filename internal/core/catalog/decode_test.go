package catalog_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/test/golden"
)

// TestFieldsOfDocumentsAreReadToTheLetter: an unknown field, one in another case, and a value of another
// type are errors at the line of the field. The texts, with the field or the values that were likely
// meant, are in testdata/messages.golden.
func TestFieldsOfDocumentsAreReadToTheLetter(t *testing.T) {
	cases := map[string]struct{ tree, want string }{
		"an unknown field": {
			document("east.yaml", "Cluster", "east", "spec:\n  role: Workload\n  pth: clusters/x"),
			`east.yaml:6: Cluster "east": InvalidField field=spec.pth`,
		},
		"an unknown field that is like none": {
			document("east.yaml", "Cluster", "east", "spec: {taints: [{key: a,\n  somethingElse: NoSchedule}]}"),
			`east.yaml:5: Cluster "east": InvalidField field=spec.taints[0].somethingElse`,
		},
		"a field of an item of a list": {
			document("east.yaml", "Cluster", "east", "spec:\n  taints:\n  - key: a\n    effect: NoSchedule"),
			`east.yaml:7: Cluster "east": InvalidField field=spec.taints[0].effect`,
		},
		"a field in another case": {
			document("east.yaml", "Cluster", "east", "spec:\n  Path: clusters/x"),
			`east.yaml:5: Cluster "east": InvalidField field=spec.Path`,
		},
		"a field twice, once in another case": {
			document("east.yaml", "Cluster", "east", "spec:\n  path: clusters/x\n  PATH: clusters/y"),
			`east.yaml:6: Cluster "east": InvalidField field=spec.PATH`,
		},
		"spec in another case": {
			document("east.yaml", "Cluster", "east", "Spec:\n  path: clusters/x"),
			`east.yaml:4: Cluster "east": InvalidField field=Spec`,
		},
		"several at once": {
			document("east.yaml", "Cluster", "east", "spec:\n  Role: Workload\n  path: [x]"),
			"east.yaml:5: Cluster \"east\": InvalidField field=spec.Role\neast.yaml:6: Cluster \"east\": InvalidField field=spec.path",
		},
		"a release without quotes": {
			document("east.yaml", "Cluster", "east", "spec:\n  provides:\n    kubernetesVersion: 1.30"),
			`east.yaml:6: Cluster "east": InvalidField field=spec.provides.kubernetesVersion`,
		},
		"a release without quotes that is a whole number": {
			document("east.yaml", "Cluster", "east", "spec:\n  provides: {kubernetesVersion: 2}"),
			`east.yaml:5: Cluster "east": InvalidField field=spec.provides.kubernetesVersion`,
		},
		"a kind of an object without its group": {
			document("east.yaml", "Cluster", "east", "spec:\n  provides:\n    objects: [{kind: StorageClass, name: fast}]"),
			`east.yaml:6: Cluster "east": InvalidField field=spec.provides.objects cluster=east`,
		},
		"a boolean in place of one of a few values": {
			document("p.yaml", "RolloutPolicy", "p", "spec:\n  autoMerge: true"),
			`p.yaml:5: RolloutPolicy "p": InvalidField field=spec.autoMerge`,
		},
		"a number in place of one of a few values": {
			document("east.yaml", "Cluster", "east", "spec:\n  role: 1"),
			`east.yaml:5: Cluster "east": InvalidField field=spec.role`,
		},
		"a duration in days": {
			document("p.yaml", "RolloutPolicy", "p", "spec:\n  waves:\n  - name: a\n    soak: 2d"),
			`p.yaml:7: RolloutPolicy "p": InvalidField field=spec.waves[0].soak`,
		},
		"a duration without a unit": {
			document("p.yaml", "RolloutPolicy", "p", "spec:\n  waves:\n  - name: a\n    soak: 24"),
			`p.yaml:7: RolloutPolicy "p": InvalidField field=spec.waves[0].soak`,
		},
		"text in place of a number": {
			document("p.yaml", "RolloutPolicy", "p", "spec:\n  maxOpenProposals: \"5\""),
			`p.yaml:5: RolloutPolicy "p": InvalidField field=spec.maxOpenProposals`,
		},
		"a fraction in place of a number": {
			document("p.yaml", "RolloutPolicy", "p", "spec:\n  maxOpenProposals: 2.5"),
			`p.yaml:5: RolloutPolicy "p": InvalidField field=spec.maxOpenProposals`,
		},
		"text in place of a list": {
			document("p.yaml", "RolloutPolicy", "p", "spec:\n  waves: canary"),
			`p.yaml:5: RolloutPolicy "p": InvalidField field=spec.waves`,
		},
		"a list in place of a mapping": {
			document("east.yaml", "Cluster", "east", "spec:\n- role: Workload"),
			`east.yaml:4: Cluster "east": InvalidField field=spec`,
		},
		"text in place of a boolean": {
			document("cp.yaml", "ControlPlane", "acme", "spec:\n  strict: \"yes\""),
			`cp.yaml:5: ControlPlane "acme": InvalidField field=spec.strict`,
		},
		"values that cannot be used": {
			document("p.yaml", "RolloutPolicy", "p", "spec:\n  groupBy: Tier\n  autoMerge: whenGreen") + document("q.yaml", "RolloutPolicy", "q", "spec:\n  maxOpenProposals: -1"),
			"p.yaml:6: RolloutPolicy \"p\": InvalidField field=spec.autoMerge\nq.yaml:5: RolloutPolicy \"q\": InvalidField field=spec.maxOpenProposals",
		},
	}
	texts := golden.Of(t)
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			got := load(t, c.tree).Problems
			texts.Add(sentence, got.Error())
			if diff := cmp.Diff(c.want, fields(got)); diff != "" {
				t.Errorf("the problems differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFieldsOfSeedsAreReadToTheLetter(t *testing.T) {
	const object = "-- seeds/web.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: default}\n"
	for spec, want := range map[string]string{
		"spec:\n  ClusterSelector: {}":                                                 `seeds/s.yaml:5: Seed "web": InvalidField field=spec.ClusterSelector`,
		"spec:\n  clusterSelector: {}\n  clusterselector: {}":                          `seeds/s.yaml:6: Seed "web": InvalidField field=spec.clusterselector`,
		"spec:\n  NAMESPACE: zz":                                                       `seeds/s.yaml:5: Seed "web": InvalidField field=spec.NAMESPACE`,
		"spec:\n  overrides:\n  - name: o\n    strategicmerge: {}":                     `seeds/s.yaml:7: Seed "web": InvalidField field=spec.overrides[0].strategicmerge`,
		"spec:\n  suspend: \"yes\"":                                                    `seeds/s.yaml:5: Seed "web": InvalidField field=spec.suspend`,
		"spec:\n  rollout:\n    waves:\n    - name: a\n      soak: 1d":                 `seeds/s.yaml:8: Seed "web": InvalidField field=spec.rollout.waves[0].soak`,
		"spec:\n  rollout:\n    autoMerge: true":                                       `seeds/s.yaml:6: Seed "web": InvalidField field=spec.rollout.autoMerge`,
		"spec:\n  rollout:\n    maxUnavailable: 1":                                     `seeds/s.yaml:6: Seed "web": InvalidField field=spec.rollout.maxUnavailable`,
		"spec:\n  overrides:\n  - name: o\n    strategicMerge: {data: {K: 1, k: [2]}}": "",
	} {
		seed, ok := load(t, document("seeds/s.yaml", "Seed", "web", spec)+object).Seed("web")
		if !ok {
			t.Fatal("there is no seed")
		}
		if diff := cmp.Diff(want, fields(seed.Err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", spec, diff)
		}
	}
}

// TestRootPathsBesideEachOther: every root path must lie beside all others of its repository, outside of
// planted/, and be one that Git and every file system accept.
func TestRootPathsBesideEachOther(t *testing.T) {
	repo := func(name, spec string) string {
		return document(name+".yaml", "GitOpsRepo", name, "spec: {url: "+name+", "+spec+"}")
	}
	path := func(name, path string) string { return cluster(name, "path: "+path) }
	both := func(a, b string) string {
		return a + `.yaml:4: Cluster "` + a + `": PathConflict field=spec.path other=` + b + `.yaml:1 cluster=` + a + "\n" +
			b + `.yaml:4: Cluster "` + b + `": PathConflict field=spec.path other=` + a + `.yaml:1 cluster=` + b
	}
	planted := func(name string) string {
		return name + `.yaml:4: Cluster "` + name + `": PathConflict field=spec.path cluster=` + name
	}
	refused := func(name string) string {
		return name + `.yaml:4: Cluster "` + name + `": InvalidField field=spec.path cluster=` + name
	}
	cases := map[string]struct{ tree, want string }{
		"one that contains another":         {path("east", "clusters") + path("west", "clusters/west"), both("east", "west")},
		"one that contains the default one": {path("east", "clusters") + cluster("west", ""), `east.yaml:4: Cluster "east": PathConflict field=spec.path other=west.yaml:1 cluster=east` + "\n" + `west.yaml:4: Cluster "west": PathConflict field=spec.path other=east.yaml:1 cluster=west`},
		"one far below another":             {path("a", "x/y/z/deep") + path("b", "x"), both("a", "b")},
		"one in what Furrow writes":         {path("a", "clusters/b/furrow") + path("b", "clusters/b"), both("a", "b")},
		"three, one above two": {path("a", "x") + path("b", "x/b") + path("c", "x/c"), both("a", "b") + "\n" +
			`c.yaml:4: Cluster "c": PathConflict field=spec.path other=a.yaml:1 cluster=c`},
		"equal but for case":             {path("a", "clusters/EU") + path("b", "clusters/eu"), both("a", "b")},
		"one above another but for case": {path("a", "Clusters") + path("b", "clusters/b"), both("a", "b")},
		"planted itself":                 {path("a", "planted"), planted("a")},
		"below planted":                  {path("a", "planted/a"), planted("a")},
		"below planted but for case":     {path("a", "PLANTED/a/web"), planted("a")},
		"below planted, with a prefix":   {repo("fleet", "path: eu") + path("a", "planted/a"), planted("a")},
		"of Git's":                       {path("a", ".git/hooks") + path("b", "x/.GIT") + path("c", ".gitmodules/c") + path("d", "git~1") + path("e", "'.git.'") + path("f", "'x/.git::$DATA'"), refused("a") + "\n" + refused("b") + "\n" + refused("c") + "\n" + refused("d") + "\n" + refused("e") + "\n" + refused("f")},
		"of no file system":              {path("a", "'a:b'") + path("b", "'b.'") + path("c", `"c\u200b"`) + path("d", `"d\\e"`) + path("e", "a//b") + path("f", "/f") + path("g", "../g"), refused("a") + "\n" + refused("b") + "\n" + refused("c") + "\n" + refused("d") + "\n" + refused("e") + "\n" + refused("f") + "\n" + refused("g")},
		"beside each other":              {path("a", "clusters") + path("b", "clusters-b") + path("c", "b/clusters") + path("d", "plantedby") + path("e", "x/planted") + path("f", "clusters.d"), ""},
		"in two repositories":            {repo("eu", "") + repo("us", "") + cluster("a", "gitOpsRepo: eu, path: clusters") + cluster("b", "gitOpsRepo: us, path: clusters/b"), ""},
		"of a cluster behind a hub":      {path("hub", "clusters") + cluster("edge", "reconciledBy: hub"), ""},
	}
	texts := golden.Of(t)
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			got := load(t, c.tree)
			texts.Add(sentence, got.Problems.Error())
			if diff := cmp.Diff(c.want, fields(got.Problems)); diff != "" {
				t.Errorf("the problems differ (-want +got):\n%s", diff)
			}
			for _, p := range got.Problems {
				if _, there := got.Inventory.Clusters[p.Cluster]; there || got.Inventory.Broken(p.Cluster) == "" {
					t.Errorf("%s is planned", p.Cluster)
				}
			}
		})
	}
}

func TestRepositoriesThatServersRefuse(t *testing.T) {
	for spec, want := range map[string]string{
		"path: .git/x":         "spec.path",
		"path: eu/.GitModules": "spec.path",
		"path: git~1":          "spec.path",
		"path: 'eu:'":          "spec.path",
		"path: .":              "spec.path",
		"path: planted":        "spec.path",
		"path: eu/Planted/x":   "spec.path",
		"branch: furrow":       "spec.branch",
		"branch: furrow/main":  "spec.branch",
		"branch: a..b":         "spec.branch",
		"branch: -main":        "spec.branch",
		"branch: main.lock":    "spec.branch",
		"branch: 'a b'":        "spec.branch",
		"path: eu/west":        "",
		"branch: release/1.2":  "",
	} {
		got := fields(load(t, document("eu.yaml", "GitOpsRepo", "eu", "spec: {url: eu, "+spec+"}")+cluster("a", "")).Problems)
		if want != "" {
			want = "a.yaml:4: Cluster \"a\": BrokenDocument field=spec.gitOpsRepo cluster=a\neu.yaml:4: GitOpsRepo \"eu\": InvalidField field=" + want
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", spec, diff)
		}
	}
}

// TestKeysInTemplatesHaveNoEffect: Helm charts offer annotations of Pods only, and there Furrow's do nothing.
func TestKeysInTemplatesHaveNoEffect(t *testing.T) {
	const pods = "template: {metadata: {annotations: {furrow.dev/cluster: east}}, spec: {containers: [{name: a}]}}"
	for text, want := range map[string]string{
		"apiVersion: apps/v1\nkind: Deployment\nspec: {" + pods + "}":                                                        "furrow.dev/cluster",
		"apiVersion: batch/v1\nkind: CronJob\nspec: {jobTemplate: {spec: {" + pods + "}}}":                                   "furrow.dev/cluster",
		"apiVersion: batch/v1\nkind: CronJob\nspec: {jobTemplate: {metadata: {annotations: {furrow.dev/cluster: east}}}}":    "furrow.dev/cluster",
		"apiVersion: apps/v1\nkind: StatefulSet\nspec: {volumeClaimTemplates: [{metadata: {labels: {furrow.dev/role: x}}}]}": "furrow.dev/role",
		"apiVersion: apps/v1\nkind: Deployment\nspec: {template: {metadata: {annotations: {Furrow.dev/clutser: east}}}}":     "Furrow.dev/clutser",
		"apiVersion: v1\nkind: PodTemplate\n" + pods:                                                                         "furrow.dev/cluster",
		"apiVersion: apps/v1\nkind: Deployment\nspec: {template: {metadata: {annotations: {example.com/cluster: east}}}}":    "",
	} {
		seed, ok := load(t, "-- seeds/web.yaml --\n"+text+"\nmetadata: {name: a, namespace: default}\n").Seed("web")
		if !ok {
			t.Fatal("there is no seed")
		}
		var got string
		for _, p := range manifest.ProblemsOf(seed.Err) {
			if p.Reason == v1alpha1.ReasonMisplacedKey {
				got += p.Field
			}
		}
		if got != want {
			t.Errorf("%s: %q is refused, want %q: %v", text, got, want, seed.Err)
		}
	}
}

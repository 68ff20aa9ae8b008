package pass_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/pass"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/core/review"
	"github.com/furrow-dev/furrow/test/golden"
)

// shop is a seed of a Namespace and n Deployments in it, which wait for it on each cluster.
func shop(n int, version string, options ...string) string {
	docs := append([]string{"apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n"}, options...)
	for i := range n {
		docs = append(docs, fmt.Sprintf("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web-%02d, namespace: shop}\nspec:\n  replicas: %d\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers:\n      - name: web\n        image: web:%s\n", i, 1+len(version)%4, version))
	}
	return strings.Join(docs, "---\n")
}

func job(name, version string) string {
	return fmt.Sprintf("apiVersion: batch/v1\nkind: Job\nmetadata: {name: %s, namespace: shop}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: \"a:%s\"}]}}}\n", name, version)
}

// disks define a kind with a field that a rule does not let change.
const disks = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: disks.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: disks, kind: Disk}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {class: {type: string, x-kubernetes-validations: [{rule: "self == oldSelf", message: class is immutable}]}}}}}}
`

func disk(class string) string {
	return "apiVersion: example.com/v1\nkind: Disk\nmetadata: {name: data, namespace: shop}\nspec: {class: " + class + "}\n"
}

// bodies are proposals as people get them, of seeds with n objects in the second tier.
var bodies = map[string]struct {
	arrange func(f *fleet, n int)
	branch  string
}{
	"planting": {func(f *fleet, n int) {
		f.put("seeds/shop.yaml", shop(n, "1.0"))
		f.step()
		f.mergeAll()
		f.sync()
	}, "furrow/main/tier/shop/east/01"},
	"retried": {func(f *fleet, n int) {
		f.put("seeds/shop.yaml", shop(n, "1.0"))
		f.step()
		f.mergeAll()
		f.sync()
		f.step()
		f.reject("shop/east/01")
		s := f.step().Seeds["shop"]
		f.mark("a", layout.RetryBranch, "shop")
		f.record("shop", release.Record{Retried: &release.Retry{Inputs: s.Plan.Inputs, Request: release.Request{By: "Grace", At: f.facts().Now, Why: "the gateway is back, thanks @all"}}})
	}, "furrow/main/tier/shop/east/01"},
	"update": {func(f *fleet, n int) {
		f.put("seeds/shop.yaml", shop(n, "1.0"))
		f.releaseAll()
		f.put("seeds/shop.yaml", shop(n, "1.1.0")+"---\n"+strings.ReplaceAll(configMap("fresh", 1), "default", "shop"))
	}, "furrow/main/tier/shop/east/01"},
	"removal": {func(f *fleet, n int) {
		f.put("seeds/shop.yaml", shop(n, "1.0"))
		f.releaseAll()
		f.put("seeds/shop.yaml", "")
		f.put("seeds/other.yaml", configMap("other", 1))
		f.step()
		f.mark("a", layout.ConfirmBranch, "shop")
	}, "furrow/main/tier/shop/east/01"},
	"removal of the namespace": {func(f *fleet, n int) {
		f.put("seeds/shop.yaml", shop(n, "1.0"))
		f.releaseAll()
		f.put("seeds/shop.yaml", "")
		f.put("seeds/other.yaml", configMap("other", 1))
		f.step()
		f.mark("a", layout.ConfirmBranch, "shop")
		f.step()
		f.mergeAll()
		f.sync()
	}, "furrow/main/tier/shop/east/00"},
	"group": {func(f *fleet, n int) {
		f.put("seeds/shop/seed.yaml", document("Seed", "shop", "rollout: {groupBy: Level}"))
		f.put("seeds/shop/objects.yaml", shop(n, "1.0"))
		f.releaseAll()
		f.put("seeds/shop/objects.yaml", shop(n, "1.1.0"))
	}, "furrow/main/group/shop/level-01"},
	"refused": {func(f *fleet, n int) {
		f.put("seeds/shop.yaml", shop(n, "1.0", job("migrate", "1.0"), job("import", "1.0")))
		f.releaseAll()
		f.put("seeds/shop.yaml", shop(n, "1.0", job("migrate", "1.1"), strings.Replace(job("import", "1.1"), "namespace: shop", "namespace: shop, annotations: {furrow.dev/recreate: allow}", 1)))
	}, "furrow/main/tier/shop/east/01"},
	"refused by a rule": {func(f *fleet, n int) {
		f.put("seeds/disks.yaml", disks)
		f.put("seeds/shop.yaml", shop(n, "1.0", disk("fast")))
		f.releaseAll()
		f.put("seeds/shop.yaml", shop(n, "1.0", disk("slow")))
	}, "furrow/main/tier/shop/east/01"},
	"kept": {func(f *fleet, n int) {
		kept := "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data, namespace: shop, annotations: {helm.sh/resource-policy: keep}}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n"
		f.put("seeds/shop.yaml", shop(n, "1.0", kept))
		f.releaseAll()
		f.put("seeds/shop.yaml", "")
		f.put("seeds/other.yaml", configMap("other", 1))
	}, "furrow/main/tier/shop/east/01"},
	"amended": {func(f *fleet, n int) {
		f.put("seeds/shop.yaml", shop(n, "1.0"))
		f.step()
		f.mergeAll()
		f.sync()
		f.step()
		f.merge("shop/east/01", map[string]string{"planted/east/shop/tier-01/deployment.web-00.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web-00\n  namespace: shop\nspec:\n  replicas: 7\n"})
		f.sync()
		f.put("seeds/shop.yaml", shop(n, "1.2.0"))
	}, "furrow/main/tier/shop/east/01"},
}

func TestWhatAReviewerReads(t *testing.T) {
	for name, tc := range bodies {
		for _, n := range []int{1, 60} {
			t.Run(fmt.Sprintf("%s of %d", name, n), func(t *testing.T) {
				f := one(t)
				f.commit = &review.Commit{ID: strings.Repeat("0123456789", 4), Subject: "Serve the summer (closes #12), thanks @all", Author: "Ada", URL: "https://git.example.com/acme/control-plane/commit/0123"}
				tc.arrange(f, n)
				var a pass.Action
				for range 5 {
					d := f.decide()
					if i := slices.IndexFunc(d.Actions, func(a pass.Action) bool { return a.Verb == pass.Propose && a.Branch == tc.branch }); i >= 0 {
						a = d.Actions[i]
						break
					}
					f.act(d)
					f.mergeAll()
					f.sync()
				}
				if a.Title == "" {
					t.Fatalf("it is not proposed: %v", states(f.decide()))
				}
				if lines := strings.Count(a.Message, "\n") + 1; lines > 8 {
					t.Errorf("the commit has %d lines below its title", lines)
				}
				if len(a.Body) > 60_000 {
					t.Errorf("the body has %d bytes", len(a.Body))
				}
				got := fmt.Sprintf("%s\n\n%s\n<!-- the commit:\n%s\n\nand the labels: %s -->\n", a.Title, a.Body, a.Message, strings.Join(a.Labels, ", "))
				file := filepath.Join("testdata", "bodies", fmt.Sprintf("%s-%02d.md", strings.ReplaceAll(name, " ", "-"), n))
				if golden.Update() {
					if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(file)
				if err != nil || got != string(want) {
					t.Errorf("it differs from %s (%v); if it is better, run with -update:\n%s", file, err, got)
				}
			})
		}
	}
}

// TestAnEditedProposalBecomesWhatItsTextPromises lets a person change a proposal and merge it, on a forge that remembers
// that and on plain Git.
func TestAnEditedProposalBecomesWhatItsTextPromises(t *testing.T) {
	for name, tc := range map[string]struct {
		plain           bool
		promise, become string
	}{
		"a forge":   {false, "once it is merged the tier counts as amended", "web/east/00 Released Healthy amended"},
		"plain Git": {true, "once it is merged the tier is held", "web/east/00 Held ForeignContent"},
	} {
		t.Run(name, func(t *testing.T) {
			f := one(t)
			f.plain = tc.plain
			f.seed("web", configMap("a", 1, on("east")))
			d := f.step()
			i := slices.IndexFunc(d.Actions, func(a pass.Action) bool { return a.Verb == pass.Propose })
			if !strings.Contains(d.Actions[i].Body, tc.promise) {
				t.Errorf("it promises something else:\n%s", d.Actions[i].Body)
			}
			f.merge("web/east/00", map[string]string{"planted/east/web/tier-00/configmap.a.yaml": configMap("a", 7)})
			if tc.plain {
				clear(f.repos["a"].closed)
			}
			f.sync()
			status := f.step().Seeds["web"].Result.Tiers[0]
			got := fmt.Sprintf("web/east/00 %s %s", status.State, status.Reason)
			if status.Amended != "" {
				got += " amended"
			}
			if got != tc.become {
				t.Errorf("it is %s: %s, want %s", got, status.Message, tc.become)
			}
		})
	}
}

// TestTextsDoNotDependOnWhatIsRemembered decides an update with a memo, whose last rounds only make the texts, and
// once more when all its contents are compared already.
func TestTextsDoNotDependOnWhatIsRemembered(t *testing.T) {
	f := one(t)
	f.commit = &review.Commit{ID: strings.Repeat("0123456789", 4), Subject: "Serve the summer", Author: "Ada"}
	f.put("seeds/disks.yaml", disks)
	f.put("seeds/shop.yaml", shop(60, "1.0", disk("fast")))
	f.releaseAll()
	f.put("seeds/shop.yaml", shop(60, "1.1.0", disk("fast")))
	f.step()
	f.mergeAll()
	f.sync()
	f.put("seeds/shop.yaml", shop(60, "1.2.0", disk("slow")))
	want := mustWrite(t, f.decide())
	var memo pass.Memo
	for n := range 2 {
		facts := f.facts()
		d, questions := memo.Decide(facts)
		for ; len(questions) > 0; d, questions = memo.Decide(facts) {
			for _, q := range questions {
				f.answer(facts, q)
			}
		}
		if got := mustWrite(t, d); got != want {
			t.Errorf("decision %d differs from that without a memo", n+1)
		}
		memo.Turn()
	}
}

// TestADefinitionIsReadForWhatItRefuses: a definition is asked for where an object of its kind changes, and in one round
// with the object.
func TestADefinitionIsReadForWhatItRefuses(t *testing.T) {
	disk := func(class string) string {
		return strings.Replace(strings.ReplaceAll(disk(class), "shop", "default"), "metadata: {", "metadata: {annotations: {"+on("east")+"}, ", 1)
	}
	config := func(version int) string { return configMap("a", version, on("east")) }
	for sentence, tc := range map[string]struct {
		definition string
		change     string
		asked      int
		fails      bool
	}{
		"an object of the kind changes":  {disks, disk("slow") + "---\n" + config(1), 1, true},
		"another object changes":         {disks, disk("fast") + "---\n" + config(2), 0, false},
		"the definition lets it change":  {strings.ReplaceAll(disks, "self == oldSelf", "self != oldSelf"), disk("slow") + "---\n" + config(1), 1, false},
		"it is on another cluster":       {strings.Replace(disks, "metadata: {", "metadata: {annotations: {"+on("west")+"}, ", 1), disk("slow") + "---\n" + config(1), 0, false},
		"no seed has it for the cluster": {configMap("disks", 1), disk("slow") + "---\n" + config(1), 0, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			f := one(t)
			f.put("clusters/east.yaml", document("Cluster", "east", "gitOpsRepo: a, provides: {customResourceDefinitions: [disks.example.com]}"))
			f.put("seeds/disks.yaml", tc.definition)
			f.put("seeds/shop.yaml", disk("fast")+"---\n"+config(1))
			f.releaseAll()
			f.put("seeds/shop.yaml", tc.change)
			d := f.decide()
			var definition layout.Hash
			for _, c := range d.Seeds["disks"].Plan.Contents {
				definition = c.Objects[0].Hash
			}
			asked := 0
			for _, round := range f.rounds {
				for _, q := range round {
					if q.Kind == pass.AskBlob && q.Commit == definition {
						asked++
					}
				}
			}
			if asked != tc.asked {
				t.Errorf("the definition is asked for %d times, want %d", asked, tc.asked)
			}
			i := slices.IndexFunc(d.Actions, func(a pass.Action) bool { return a.Verb == pass.Propose })
			if i < 0 {
				t.Fatalf("nothing is proposed: %v", states(d))
			}
			if fails := strings.Contains(d.Actions[i].Body, "Will fail"); fails != tc.fails {
				t.Errorf("the proposal says that it fails: %v\n%s", fails, d.Actions[i].Body)
			}
		})
	}
}

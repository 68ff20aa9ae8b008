package pass_test

import (
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/githash"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/pass"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/release"
)

// forgery is a plan that somebody edits before they push it, with what lies beside it.
type forgery struct {
	t     *testing.T
	r     *repository
	plan  *plan.Plan
	files map[string]layout.Hash
}

// tier returns a tier whose entries may be edited.
func (g *forgery) tier(cluster string, ordinal int) *plan.Tier {
	g.t.Helper()
	t, ok := g.plan.Find(cluster, ordinal)
	if !ok {
		g.t.Fatalf("the plan has no %s tier %02d", cluster, ordinal)
	}
	t.Entries = slices.Clone(t.Entries)
	return t
}

// setFile replaces a file of the plan, and every hash that follows from it.
func (g *forgery) setFile(at, text string) {
	g.files[at] = g.r.blob([]byte(text))
	for i := range g.plan.Tiers {
		t := g.tier(g.plan.Tiers[i].Cluster, g.plan.Tiers[i].Ordinal)
		for j := range t.Entries {
			if e := &t.Entries[j]; e.Path == at {
				e.Hash = g.files[at]
			}
		}
		if path.Dir(at) == t.Dir() {
			g.setContents(t)
		}
	}
}

// setContents makes the contents of a tier those of the files below its directory.
func (g *forgery) setContents(t *plan.Tier) {
	var objects []plan.Object
	below := under(g.files, t.Dir())
	for _, name := range slices.Sorted(maps.Keys(below)) {
		parsed, err := manifest.Parse(name, g.r.blobs[below[name]])
		if err != nil || len(parsed) != 1 {
			g.t.Fatalf("%s: %v", name, err)
		}
		objects = append(objects, plan.Object{ID: parsed[0].ID, File: name, Hash: below[name]})
	}
	id := "forged-" + t.Cluster + "-" + t.String()
	g.plan.Contents = append(slices.DeleteFunc(slices.Clone(g.plan.Contents), func(c plan.Contents) bool { return c.ID == id }), plan.Contents{ID: id, Objects: objects})
	t.Contents = id
	for j := range t.Entries {
		if t.Entries[j].Mode == plan.ModeTree {
			t.Entries[j].Hash = githash.Tree(below)
		}
	}
}

// forge lets a stranger push an edited plan of a seed.
func (f *fleet) forge(seed string, edit func(*forgery)) layout.Hash {
	f.t.Helper()
	r := f.repos["a"]
	branch := layout.PlanBranch("main", seed)
	old := r.refs[branch]
	had := *r.plans[old]
	had.Tiers = slices.Clone(had.Tiers)
	g := &forgery{f.t.(*testing.T), r, &had, maps.Clone(r.commits[old].files)}
	edit(g)
	at := r.commit(old, g.files)
	r.refs[branch], r.plans[at], r.strangers[at] = at, g.plan, true
	return at
}

// kustomizationWith returns the reconciler object of a tier with one more field.
func (g *forgery) kustomizationWith(t *plan.Tier, field string) string {
	return strings.Replace(string(g.r.blobs[t.ReconcilerHash()]), "spec:\n", "spec:\n  "+field+"\n", 1)
}

// forgeries are changes of the plan of web, which has two tiers on each of two clusters.
var forgeries = map[string]func(*forgery){
	"another account applies a tier": func(g *forgery) {
		t := g.tier("east", 1)
		g.setFile(t.ReconcilerFile(), g.kustomizationWith(t, "serviceAccountName: admin"))
	},
	"another account applies a tier, by a plan that claims other inputs, rules and revision": func(g *forgery) {
		t := g.tier("east", 1)
		g.setFile(t.ReconcilerFile(), g.kustomizationWith(t, "serviceAccountName: admin"))
		g.plan.Inputs, g.plan.Rules, g.plan.Revision = "sha256:00", "1", "main@sha1:2"
	},
	"an object has another content": func(g *forgery) {
		g.setFile("planted/east/web/tier-01/configmap.second.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: second\n  namespace: default\ndata:\n  version: evil\n")
	},
	"a tier has one more object": func(g *forgery) {
		g.setFile("planted/east/web/tier-01/configmap.evil.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: evil\n  namespace: default\n")
	},
	"a tier waits for nothing": func(g *forgery) { g.tier("east", 1).Prerequisites = nil },
	"a tier waits until something else is ready": func(g *forgery) {
		t := g.tier("east", 1)
		t.Prerequisites = slices.Clone(t.Prerequisites)
		t.Prerequisites[0].Ready = []string{"true"}
	},
	"the plan removes the seed": func(g *forgery) { *g.plan = *plan.Remove(g.plan, g.plan.Revision) },
	"a tier goes": func(g *forgery) {
		t := g.tier("east", 1)
		for i := range t.Entries {
			t.Entries[i].Hash = layout.Hash{}
		}
		t.Leaving, t.Contents = &plan.Leaving{Objects: g.plan.Objects(t)}, ""
	},
	"a tier orphans what it has": func(g *forgery) {
		t := g.tier("east", 1)
		t.Orphan = &plan.Orphan{Entries: slices.Clone(t.Entries), Rendered: "evil"}
		for i := range t.Entries {
			t.Entries[i].Hash = layout.Hash{}
		}
		t.Contents = ""
	},
	"an object is said to move": func(g *forgery) {
		o := g.plan.Objects(g.tier("east", 0))[0]
		g.plan.Moves = []plan.Move{{Object: o.ID, Clusters: []string{"east"}, From: 0, To: 1, Stage: plan.StageMove, File: o.File, Content: o.Hash}}
	},
	"tiers have other ordinals": func(g *forgery) {
		for _, cluster := range []string{"east", "west"} {
			g.plan.Tiers = slices.DeleteFunc(g.plan.Tiers, func(t plan.Tier) bool { return t.Cluster == cluster && t.Ordinal == 0 })
		}
	},
	"the plan is empty":                          func(g *forgery) { g.plan.Tiers, g.plan.Contents = nil, nil },
	"the counter is at its end":                  func(g *forgery) { g.plan.Generation = int(^uint(0) >> 1) },
	"the counter is negative":                    func(g *forgery) { g.plan.Generation = -1 },
	"the plan merges by itself":                  func(g *forgery) { g.plan.Rollout = &plan.Rollout{AutoMerge: true} },
	"the plan groups its tiers":                  func(g *forgery) { g.plan.GroupBy = v1alpha1.GroupBySeed },
	"a tier has the root of another cluster":     func(g *forgery) { g.retarget("clusters/west/furrow/web/tier-01.yaml") },
	"a tier has a root that is nobody's":         func(g *forgery) { g.retarget("x/furrow/web/tier-01.yaml") },
	"a tier has a reconciler on another cluster": func(g *forgery) { g.tier("east", 1).Object.Cluster = "west" },
	"a tier of a lost cluster goes, with the reconciler object of another": func(g *forgery) {
		ghost := *g.tier("east", 0)
		ghost.Cluster, ghost.Contents, ghost.Leaving, ghost.Prerequisites = "ghost", "", &plan.Leaving{}, nil
		ghost.Object.Cluster, ghost.Object.Name = "ghost", layout.Tier{Seed: "web", Cluster: "ghost"}.ReconcilerName()
		for i := range ghost.Entries {
			e := &ghost.Entries[i]
			e.Hash, e.Path = layout.Hash{}, strings.Replace(e.Path, "planted/east", "planted/ghost", 1)
		}
		g.plan.Tiers = append(g.plan.Tiers, ghost)
	},
	"the files lack what the plan names": func(g *forgery) {
		delete(g.files, "planted/east/web/tier-01/configmap.second.yaml")
	},
}

// retarget gives the last tier of east another file for its reconciler object.
func (g *forgery) retarget(file string) {
	t := g.tier("east", 1)
	for i := range t.Entries {
		if t.Entries[i].Mode == plan.ModeFile {
			g.files[file] = t.Entries[i].Hash
			t.Entries[i].Path = file
		}
	}
}

// twoTiers is a fleet with a seed of two tiers on two clusters. The first tiers are released.
func twoTiers(t *testing.T) *fleet {
	f := one(t)
	f.seed("web", configMap("first", 1, on("east,west")), configMap("second", 1, on("east,west"), after("first")))
	f.step()
	f.mergeAll()
	f.sync()
	return f
}

// mustNotUse asserts that nothing of a forged plan is used, that people read whose it is, and that the
// seed goes on.
func mustNotUse(t *testing.T, f *fleet, honest *plan.Plan, forged layout.Hash) {
	t.Helper()
	warned := false
	var d *pass.Decision
	for range 5 {
		d = f.decide()
		s := d.Seeds["web"]
		for _, w := range s.Plan.Warnings {
			warned = warned || w.Reason == v1alpha1.ReasonPlanNotVerified && strings.Contains(w.Message, forged.String()) && strings.Contains(w.Message, "Mallory")
		}
		for _, a := range d.Actions {
			if a.Verb != pass.Propose {
				continue
			}
			for _, e := range a.Entries {
				ok := slices.ContainsFunc(honest.Tiers, func(tier plan.Tier) bool {
					return slices.ContainsFunc(tier.Entries, func(own plan.Entry) bool { return own == e })
				})
				if !ok {
					t.Fatalf("%s is proposed with %s as %s, which the control plane does not make", e.Path, e.Mode, e.Hash)
				}
			}
		}
		if r := s.Result; len(r.Tiers) != len(honest.Tiers) {
			t.Fatalf("the plan in force has %d tiers, want %d", len(r.Tiers), len(honest.Tiers))
		}
		f.act(d)
		f.mergeAll()
		f.sync()
	}
	for _, tier := range d.Seeds["web"].Result.Tiers {
		if tier.State != release.Released {
			t.Errorf("%s is %s: %s", tier.Tier, tier.State, tier.Message)
		}
	}
	if says := !strings.Contains(t.Name(), "claims"); warned != says {
		t.Errorf("people read of the commit and its author: %v, want %v", warned, says)
	}
}

func TestNothingOfAForgedPlanIsUsed(t *testing.T) {
	for _, merged := range []bool{true, false} {
		for name, edit := range forgeries {
			t.Run(map[bool]string{true: "of a released tier: ", false: "of a proposed tier: "}[merged]+name, func(t *testing.T) {
				f := twoTiers(t)
				honest := f.decide().Seeds["web"].Plan
				if merged {
					f.releaseAll()
				}
				mustNotUse(t, f, honest, f.forge("web", edit))
			})
		}
	}
}

func TestWhoPushedThePlanOfAnotherOwnerIsNamed(t *testing.T) {
	f := twoTiers(t)
	forged := f.forge("web", func(g *forgery) { g.plan.Owner = "other/test" })
	failure := f.decide().Seeds["web"].Failure
	if failure == nil || failure.Problem().Reason != v1alpha1.ReasonForeignOwner || !strings.Contains(failure.Problem().Message, forged.String()+" by Mallory") {
		t.Errorf("it fails by %v", failure)
	}
}

func TestAPlanThatNobodyVouchesForGoesOnAfterARestart(t *testing.T) {
	f := twoTiers(t)
	f.step()
	before := f.decide()
	f.suspecting = true
	if after := f.decide(); mustWrite(t, after.Actions) != mustWrite(t, before.Actions) || !after.Previous["web"].Verified {
		t.Errorf("the decision differs after a restart: %v", states(after))
	}
}

// TestOnlyAnObjectSaysThatItIsKept: the deletion guard does not count what a reconciler keeps, and only the object
// says whether it does.
func TestOnlyAnObjectSaysThatItIsKept(t *testing.T) {
	for _, to := range []string{"", "api"} {
		f := planted(one(t), web(configMap("c", 1, on("east")), configMap("moves", 1, on("east"))))
		f.seed("web", configMap("c", 1, on("east")))
		f.step()
		f.forge("web", func(g *forgery) {
			g.plan.Contents = slices.Clone(g.plan.Contents)
			for i := range g.plan.Contents {
				objects := slices.Clone(g.plan.Contents[i].Objects)
				for j := range objects {
					if objects[j].Leaving {
						objects[j].Kept, objects[j].HandedTo = true, to
					}
				}
				g.plan.Contents[i].Objects = objects
			}
		})
		p := f.decide().Seeds["web"].Plan
		leaving := 0
		for i := range p.Tiers {
			for _, o := range p.Objects(&p.Tiers[i]) {
				if o.Kept || o.HandedTo != "" {
					t.Errorf("%s is kept for %q", o.ID, o.HandedTo)
				}
				if o.Leaving {
					leaving++
				}
			}
		}
		if leaving != 1 {
			t.Errorf("%d objects leave", leaving)
		}
	}
}

func TestAHandoverGoesOnAfterARestart(t *testing.T) {
	f := planted(one(t), web(configMap("c", 1, on("east")), configMap("moves", 1, on("east"))))
	f.seed("web", configMap("c", 1, on("east")))
	f.seed("api", configMap("moves", 2, on("east")), configMap("own", 1, on("east")))
	restart := func(when string) *pass.Decision {
		t.Helper()
		f.suspecting = true
		defer func() { f.suspecting = false }()
		d := f.decide()
		for _, name := range []string{"web", "api"} {
			if p := d.Previous[name]; p != nil && !p.Verified {
				t.Errorf("%s: the plan of %s is not verified: %v", when, name, d.Seeds[name].Plan.Warnings)
			}
		}
		return d
	}
	for _, step := range []string{"annotated", "annotated on base", "annotated there", "leaving", "gone from base", "gone", "planted", "at its end"} {
		f.step()
		before := f.decide()
		if after := restart("once it is " + step); mustWrite(t, after.Actions) != mustWrite(t, before.Actions) {
			t.Errorf("once it is %s, the decision differs after a restart: %v", step, states(after))
		}
		if strings.Contains(step, "base") {
			f.sync()
		} else {
			f.mergeAll()
		}
		restart("before the next pass after it is " + step)
	}
	if p := f.decide().Previous["api"]; p == nil || len(p.Plan.Awaits) > 0 {
		t.Error("the other seed does not have it")
	}
}

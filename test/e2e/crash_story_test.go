package e2e

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/furrow-dev/furrow/test/soak"

	sdk "code.gitea.io/sdk/gitea"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// atOnce is the number of these stories that run at once: they wait most of the time.
const atOnce = 6

// gadget is a seed of two tiers. The person's change before the first merge is in both.
const gadget = `apiVersion: v1
kind: Namespace
metadata:
  name: NAMESPACE-app
  annotations: {furrow.dev/cluster: mgmt}
  labels: {size: SIZE}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: gadgets.NAMESPACE.example.com
  annotations: {furrow.dev/cluster: mgmt}
spec:
  group: NAMESPACE.example.com
  scope: Namespaced
  names: {kind: Gadget, listKind: GadgetList, plural: gadgets, singular: gadget}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}
---
apiVersion: NAMESPACE.example.com/v1
kind: Gadget
metadata:
  name: gadget
  namespace: NAMESPACE-app
  annotations: {furrow.dev/cluster: mgmt}
spec: {size: SIZE}
`

const gadget0, gadget1 = "gadget/mgmt/00", "gadget/mgmt/01"

const planBranch = "furrow/main/plan/gadget"

// crashesATime is the number of crashes in one story.
const crashesATime = 4

// part selects the points at which this run kills furrow, as 2/4; all by default.
var part = flag.String("part", "1/1", "kill furrow at every Nth point only, as 2/4, which is the 2nd, the 6th, …")

// partOf returns the points that this run covers.
func partOf(t *testing.T, points []crash) (of []crash) {
	t.Helper()
	var which, parts int
	if _, err := fmt.Sscanf(*part, "%d/%d", &which, &parts); err != nil || which < 1 || which > parts {
		t.Fatalf("-part %s: write it as 2/4", *part)
	}
	for i := which - 1; i < len(points); i += parts {
		of = append(of, points[i])
	}
	return of
}

// Furrow is killed at every request to Gitea, and started again: a few times in each story, at points that are far apart.
// A point that is not reached, because of the crash before it, is tried again: alone if every story must reach it.
func TestFurrowRecoversFromAKillAtAnyCall(t *testing.T) {
	soak.Only(t)
	undisturbed, skipped := &crashStory{}, false
	passed := t.Run("undisturbed", func(t *testing.T) {
		defer func() { skipped = t.Skipped() }()
		undisturbed.runStory(t, "crash-undisturbed", nil)
	})
	if !passed || skipped {
		return
	}
	points := partOf(t, undisturbed.points)
	var alone [][]crash
	var chancy []crash
	for _, at := range undisturbed.runAgain(t, "crash-", spread(points)) {
		if mustOccur(at) {
			alone = append(alone, []crash{at})
		} else {
			chancy = append(chancy, at)
		}
	}
	missed := undisturbed.runAgain(t, "crash-again-", append(alone, spread(chancy)...))
	t.Logf("killed at %d points, %d of them at the second try; another %d were not reached:\n%v",
		len(points)-len(missed), len(alone)+len(chancy)-len(missed), len(missed), missed)
	for _, at := range missed {
		if mustOccur(at) {
			t.Errorf("furrow was not killed %s", at)
		}
	}
	if len(points) < len(undisturbed.points) {
		return
	}
	mustBeOfAllKinds(t, slices.DeleteFunc(slices.Clone(points), func(at crash) bool { return slices.Contains(missed, at) }))
}

// spread distributes points over stories, so those of one story are far apart.
func spread(points []crash) (sets [][]crash) {
	stories := (len(points) + crashesATime - 1) / crashesATime
	for i := range stories {
		var at []crash
		for ; i < len(points); i += stories {
			at = append(at, points[i])
		}
		sets = append(sets, at)
	}
	return sets
}

// mustOccur reports whether every story reaches a point. For others it depends on how fast the clusters and people are.
func mustOccur(at crash) bool {
	return !isRead(at.call) && !isPaced(at.call) && !isRepeat(at.call) && !isStatus(at.call)
}

// mustBeOfAllKinds fails unless furrow was killed both before and after each kind of change.
func mustBeOfAllKinds(t *testing.T, killed []crash) {
	t.Helper()
	times := map[crash]int{}
	for _, at := range killed {
		times[crash{kindOf(at.call), at.answered}]++
	}
	for _, kind := range kinds {
		before, after := times[crash{kind, false}], times[crash{kind, true}]
		t.Logf("killed where it %s: %d times before, %d times after", kind, before, after)
		if before == 0 || after == 0 {
			t.Errorf("furrow was not killed both before and after it %s", kind)
		}
	}
}

// runAgain runs the story once for each set of crashes, and returns the crashes that did not occur.
func (c *crashStory) runAgain(t *testing.T, prefix string, sets [][]crash) (missed []crash) {
	var mu sync.Mutex
	var all sync.WaitGroup
	next := make(chan int)
	for range atOnce {
		all.Go(func() {
			for i := range next {
				t.Run(fmt.Sprint(prefix, i), func(t *testing.T) {
					again := &crashStory{}
					again.runStory(t, fmt.Sprint(prefix, i), sets[i])
					for when, tree := range again.trees {
						if diff := cmp.Diff(c.trees[when], tree); diff != "" {
							t.Errorf("branch %s differs from that without a crash (-want +got):\n%s", when, diff)
						}
					}
					mu.Lock()
					defer mu.Unlock()
					missed = append(missed, again.gate.missed()...)
				})
			}
		})
	}
	for i := range sets {
		next <- i
	}
	close(next)
	all.Wait()
	return missed
}

// crashStory is a story in which furrow is killed and started again.
type crashStory struct {
	*story
	gate *gate
	// points are those at which furrow could have been killed; trees has the contents of branches when all was Released,
	// and at the end.
	points []crash
	trees  map[string]files
}

// runStory runs the whole story.
func (c *crashStory) runStory(t *testing.T, name string, at []crash) {
	began := time.Now()
	t.Logf("furrow is killed %v", at)
	c.story, c.trees = newStory(t, name, observedEvery(time.Second)), map[string]files{}
	c.calmRoot()
	c.gate = newGate(t, c.story, at)
	prepared := time.Since(began)
	c.commit("Plant a gadget", c.fleet(), c.seed("small"))
	c.start()

	before := c.awaitPull(gadget0)
	c.gate.does("the person's change")
	c.commit("Let it grow", c.seed("large"))
	c.until("#1 is updated", func() (bool, string) {
		now, _, err := c.asPerson.GetPullRequest(c.gitops.owner, c.gitops.name, before.Index)
		return err == nil && digestLine.FindString(now.Body) != digestLine.FindString(before.Body), fmt.Sprint(err)
	})
	for _, tier := range []string{gadget0, gadget1} {
		pull := c.awaitPull(tier)
		c.gate.does("the merge of " + tier)
		c.merge(pull)
	}
	c.until("everything is Released", c.isReleased)
	c.awaitIdle()
	c.check(1, planBranch, c.recordsBranch(), c.statusBranch(), "main")
	c.read("when all was Released", "main", planBranch)
	if len(at) == 1 && len(c.gate.missed()) == 0 {
		return // this run is for that one crash
	}
	c.isRemoved()
	c.points = c.gate.points()
	t.Logf("prepared in %s, done in %s", prepared.Round(10*time.Millisecond), time.Since(began).Round(10*time.Millisecond))
}

// isRemoved is the end of the story, the seed's removal.
func (c *crashStory) isRemoved() {
	c.t.Helper()
	c.gate.does("the removal")
	c.commit("Remove the gadget", files{"seeds/gadget.yaml": ""})
	c.until("the removal is held", func() (bool, string) {
		r := c.status()
		is := r.seed("gadget")
		return is.State == "Stalled" && strings.Contains(is.Message, "furrow confirm gadget"), is.State + ": " + is.Message
	})
	c.gate.does("the confirmation")
	c.confirm()
	for _, tier := range []string{gadget1, gadget0} {
		pull := c.awaitPull(tier)
		c.gate.does("the merge of the removal of " + tier)
		c.merge(pull)
	}
	c.until("the seed is forgotten", func() (bool, string) {
		r := c.status()
		return len(r.Problems) == 0 && len(r.Seeds) == 0, fmt.Sprintf("%+v", r)
	})
	c.awaitIdle()
	c.check(2, c.statusBranch(), "main")
	c.read("at the end", "main")
}

// confirm does what 'furrow confirm' does, without the gate, as a person.
func (c *crashStory) confirm() {
	c.t.Helper()
	if err := c.gitops.fetch(); err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.gitops.git("push", "--quiet", "origin", "refs/remotes/origin/"+planBranch+":refs/heads/furrow/main/confirm/gadget"); err != nil {
		c.t.Fatal(err)
	}
}

// calmRoot makes Flux reconcile the root only when its source changes.
func (c *crashStory) calmRoot() {
	c.t.Helper()
	root, found := c.kustomization(c.namespace, rootName)
	if !found {
		c.t.Fatal("the root is gone")
	}
	before := root.DeepCopy()
	root.Spec.Interval = metav1.Duration{Duration: time.Hour}
	if err := c.world.mgmt.Client().Patch(c.t.Context(), &root, client.MergeFrom(before)); err != nil {
		c.t.Fatal(err)
	}
}

// start starts furrow, and lets the gate kill it.
func (c *crashStory) start() {
	c.t.Helper()
	c.run()
	c.gate.victim <- c.running
}

func (c *crashStory) seed(size string) files {
	return files{"seeds/gadget.yaml": strings.NewReplacer("NAMESPACE", c.namespace, "SIZE", size).Replace(gadget)}
}

// until waits as eventually does, and starts furrow again after it was killed. It checks whenever furrow has done
// something, because only furrow makes what is waited for.
func (c *crashStory) until(what string, check func() (bool, string)) {
	c.t.Helper()
	seen, stable, detail := -1, false, ""
	c.eventually(limit, what, func() (ok bool, _ string) {
		select {
		case <-c.gate.fell:
			c.start()
		default:
		}
		passes, _ := c.wire.seen()
		now := passes + c.gate.made()
		if now == seen && stable {
			return false, detail
		}
		// Its last request may not be processed yet.
		stable, seen = now == seen, now
		ok, detail = check()
		return ok, detail
	})
}

func (c *crashStory) awaitPull(tier string) (found *sdk.PullRequest) {
	c.t.Helper()
	c.until("there is an open pull request of "+tier, func() (bool, string) {
		pulls := c.pulls(sdk.StateOpen)
		at := slices.IndexFunc(pulls, func(p *sdk.PullRequest) bool { return tierOf(p) == tier })
		if at >= 0 {
			found = pulls[at]
		}
		return at >= 0, strings.Join(pullNames(pulls), ", ")
	})
	return found
}

// merge merges a pull request as the person, after the observer has checked its current contents.
func (c *crashStory) merge(pull *sdk.PullRequest) {
	c.t.Helper()
	c.until(fmt.Sprintf("#%d is checked", pull.Index), func() (bool, string) {
		now, _, err := c.asPerson.GetPullRequest(c.gitops.owner, c.gitops.name, pull.Index)
		if err != nil {
			return false, err.Error()
		}
		return c.observer.checked(now)
	})
	c.eventually(limit, fmt.Sprintf("Gitea merges #%d", pull.Index), func() (bool, string) {
		merged, _, err := c.asPerson.MergePullRequest(c.gitops.owner, c.gitops.name, pull.Index, sdk.MergePullRequestOption{Style: sdk.MergeStyleSquash})
		return merged, fmt.Sprint(err)
	})
}

func (c *crashStory) isReleased() (bool, string) {
	r := c.status()
	return len(r.Problems) == 0 && r.tier(gadget0).State == "Released" && r.tier(gadget1).State == "Released", fmt.Sprintf("%+v", r)
}

// awaitIdle waits for complete passes that change nothing at Gitea.
func (c *crashStory) awaitIdle() {
	c.t.Helper()
	began, made := -1, 0
	c.until("passes change nothing", func() (bool, string) {
		now, _ := c.wire.seen()
		if changes := c.gate.made(); began < 0 || changes != made {
			began, made = now, changes
		}
		return now > began+2, fmt.Sprintf("%d changes, %d passes since the last one", made, now-began)
	})
}

// check checks that there are no duplicates, that each tier was merged this many times, and that only the wanted branches
// exist.
func (c *crashStory) check(times int, wanted ...string) {
	c.t.Helper()
	merged := map[string]int{}
	for _, pull := range c.pulls(sdk.StateAll) {
		if !pull.HasMerged {
			c.t.Errorf("#%d of %s is %s, not merged", pull.Index, tierOf(pull), pull.State)
		}
		merged[tierOf(pull)]++
	}
	if want := map[string]int{gadget0: times, gadget1: times}; !maps.Equal(merged, want) {
		c.t.Errorf("pull requests by tier are %v, not %v", merged, want)
	}
	branches, err := listBranches(c.asPerson, c.gitops)
	if slices.Sort(branches); err != nil || !slices.Equal(branches, wanted) {
		c.t.Errorf("branches are %v, not %v (%v)", branches, wanted, err)
	}
	labels, _, err := c.asPerson.ListRepoLabels(c.gitops.owner, c.gitops.name, sdk.ListLabelsOptions{})
	made := map[string]bool{}
	for _, label := range labels {
		if made[label.Name] {
			c.t.Errorf("the label %s was made twice", label.Name)
		}
		made[label.Name] = true
	}
	if err != nil || !made["furrow"] {
		c.t.Errorf("the labels are %v (%v)", labels, err)
	}
}

// read records the contents of branches.
func (c *crashStory) read(when string, branches ...string) {
	c.t.Helper()
	if err := c.gitops.fetch(); err != nil {
		c.t.Fatal(err)
	}
	for _, branch := range branches {
		tree, err := c.readBranch(branch)
		if err != nil {
			c.t.Fatal(err)
		}
		c.trees[branch+" "+when] = tree
	}
}

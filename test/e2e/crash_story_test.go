package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "code.gitea.io/sdk/gitea"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// atOnce is how many of these stories are told at once: they wait most of the time.
const atOnce = 6

// gadget is a seed of two tiers. What a person changes before the first one is merged is in both.
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

// crashesATime is how often furrow is killed in one story.
const crashesATime = 3

// Furrow is killed at every call that it makes of Gitea, and started again: a few times in each story, at points that lie
// far apart. A point that does not come there, because of what the crash before it did, is tried again alone.
func TestFurrowThatIsKilledAtAnyCallCarriesOn(t *testing.T) {
	undisturbed := &crashStory{}
	if !t.Run("undisturbed", func(t *testing.T) { undisturbed.tell(t, "crash-undisturbed", nil) }) {
		return
	}
	points := undisturbed.points
	var together, alone [][]crash
	stories := (len(points) + crashesATime - 1) / crashesATime
	for i := range stories {
		var at []crash
		for ; i < len(points); i += stories {
			at = append(at, points[i])
		}
		together = append(together, at)
	}
	for _, at := range undisturbed.tellAgain(t, "crash-", together) {
		alone = append(alone, []crash{at})
	}
	missed := undisturbed.tellAgain(t, "crash-alone-", alone)
	t.Logf("killed at %d points, %d of them alone; another %d did not come:\n%v", len(points)-len(missed), len(alone)-len(missed), len(missed), missed)
	isStatus := func(at crash) bool { return isStatus(at.call) }
	if slices.ContainsFunc(points, isStatus) && countOf(missed, isStatus) == countOf(points, isStatus) {
		t.Error("furrow was never killed at a commit status")
	}
	for _, at := range missed {
		if isRead(at.call) || isPaced(at.call) || isRepeat(at.call) || isStatus(at) {
			continue // whether it comes depends on how fast the clusters and people are
		}
		t.Errorf("furrow was not killed %s", at)
	}
}

func countOf(points []crash, is func(crash) bool) (n int) {
	for _, at := range points {
		if is(at) {
			n++
		}
	}
	return n
}

// tellAgain tells the story again for each of the sets of crashes, and gives the crashes that did not come.
func (c *crashStory) tellAgain(t *testing.T, prefix string, sets [][]crash) (missed []crash) {
	var mu sync.Mutex
	var all sync.WaitGroup
	next := make(chan int)
	for range atOnce {
		all.Go(func() {
			for i := range next {
				t.Run(fmt.Sprint(prefix, i), func(t *testing.T) {
					again := &crashStory{}
					again.tell(t, fmt.Sprint(prefix, i), sets[i])
					if diff := cmp.Diff(c.base, again.base); diff != "" {
						t.Errorf("the base branch is not as without a crash (-want +got):\n%s", diff)
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

// crashStory is a story in which furrow is killed, and started again.
type crashStory struct {
	*story
	gate *gate
	// points are those at which furrow could have been killed; base is what is on the base branch at the end.
	points []crash
	base   files
}

// tell tells the story to its end.
func (c *crashStory) tell(t *testing.T, name string, at []crash) {
	began := time.Now()
	t.Logf("furrow is killed %v", at)
	c.story = newStory(t, name)
	c.observer.end()
	c.observer = nil // what is seen at the end is what counts
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
		return err == nil && wantsLine.FindString(now.Body) != wantsLine.FindString(before.Body), fmt.Sprint(err)
	})
	for _, tier := range []string{gadget0, gadget1} {
		pull := c.awaitPull(tier)
		c.gate.does("the merge of " + tier)
		c.merge(pull)
	}
	c.until("everything is Released", c.isReleased)
	c.awaitIdle()
	c.check()
	c.points = c.gate.points()
	t.Logf("prepared in %s, told in %s", prepared.Round(10*time.Millisecond), time.Since(began).Round(10*time.Millisecond))
}

// calmRoot lets Flux look at the root only when there is something new in its source.
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

// start starts furrow, which the gate may kill.
func (c *crashStory) start() {
	c.t.Helper()
	c.run()
	c.gate.victim <- c.running
}

func (c *crashStory) seed(size string) files {
	return files{"seeds/gadget.yaml": strings.NewReplacer("NAMESPACE", c.namespace, "SIZE", size).Replace(gadget)}
}

// until waits as eventually does, and starts furrow again when it was killed. It looks when furrow has done something,
// for nobody else does what is waited for.
func (c *crashStory) until(what string, check func() (bool, string)) {
	c.t.Helper()
	seen, settled, detail := -1, false, ""
	c.eventually(limit, what, func() (ok bool, _ string) {
		select {
		case <-c.gate.fell:
			c.start()
		default:
		}
		passes, _ := c.wire.seen()
		now := passes + c.gate.made()
		if now == seen && settled {
			return false, detail
		}
		// What it asked for just now may not be done yet.
		settled, seen = now == seen, now
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

func (c *crashStory) merge(pull *sdk.PullRequest) {
	c.t.Helper()
	c.eventually(limit, fmt.Sprintf("Gitea merges #%d", pull.Index), func() (bool, string) {
		merged, _, err := c.asPerson.MergePullRequest(c.gitops.owner, c.gitops.name, pull.Index, sdk.MergePullRequestOption{Style: sdk.MergeStyleSquash})
		return merged, fmt.Sprint(err)
	})
}

func (c *crashStory) isReleased() (bool, string) {
	r := c.status()
	return len(r.Problems) == 0 && r.tier(gadget0).State == "Released" && r.tier(gadget1).State == "Released", fmt.Sprintf("%+v", r)
}

// awaitIdle waits for whole passes in which nothing is pushed nor told to Gitea.
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

// check checks that nothing is there twice, and nothing is left over.
func (c *crashStory) check() {
	c.t.Helper()
	merged := map[string]int{}
	for _, pull := range c.pulls(sdk.StateAll) {
		if !pull.HasMerged {
			c.t.Errorf("#%d of %s is %s and not merged", pull.Index, tierOf(pull), pull.State)
		}
		merged[tierOf(pull)]++
	}
	if want := map[string]int{gadget0: 1, gadget1: 1}; !maps.Equal(merged, want) {
		c.t.Errorf("pull requests by tier are %v, not %v", merged, want)
	}
	branches, err := listBranches(c.asPerson, c.gitops)
	if want := []string{"furrow/main/plan/gadget", c.statusBranch(), "main"}; err != nil || !slices.Equal(slices.Sorted(slices.Values(branches)), want) {
		c.t.Errorf("branches are %v, not %v (%v)", branches, want, err)
	}
	if labels, _, err := c.asPerson.ListRepoLabels(c.gitops.owner, c.gitops.name, sdk.ListLabelsOptions{}); err != nil || len(labels) != 1 {
		c.t.Errorf("there are %d labels, not one (%v)", len(labels), err)
	}
	if err := c.gitops.fetch(); err != nil {
		c.t.Fatal(err)
	}
	if c.base, err = c.readBase(); err != nil {
		c.t.Fatal(err)
	}
}

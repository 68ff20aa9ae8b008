package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	sdk "code.gitea.io/sdk/gitea"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// crateSeed is a seed whose two objects share a tier as long as the lid waits for nothing but the Namespace.
const crateSeed = `apiVersion: v1
kind: Namespace
metadata: {name: NAMESPACE, annotations: {furrow.dev/cluster: mgmt}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: box, namespace: NAMESPACE, annotations: {furrow.dev/cluster: mgmt}}
data: {wood: WOOD}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: lid, namespace: NAMESPACE, annotations: {furrow.dev/cluster: mgmtWAITS}}
data: {wood: WOOD}
`

// moveStory is a story of objects that move to other tiers. The two seeds are the same, but the pull requests of the
// second release are merged in different orders.
type moveStory struct {
	*story
	lids map[string]*life
	// cleanup is that of the whole story.
	cleanup func(func())
}

// life is what happened to an object since the watch of it began.
type life struct {
	mu      sync.Mutex
	uids    map[types.UID]bool
	deleted bool
	// seen are its data and the annotation, each time they changed.
	seen []string
}

func TestAnObjectMovesToAnotherTierAndIsNeverDeleted(t *testing.T) {
	t.Parallel()
	s := moveStory{newStory(t, "moves"), map[string]*life{}, t.Cleanup}
	s.step("two objects of each seed share a tier", s.shareATier)
	s.step("one comes to wait for the other, and is protected", s.isProtected)
	s.step("it goes to a tier of its own", s.moves)
	s.step("the protection goes, and the update comes", s.isUpdated)
	s.step("neither object was ever deleted", s.lives)
}

func (s moveStory) of(seed string) string { return s.namespace + "-" + seed }

func (s moveStory) seeds(wood string, waits bool) files {
	all := files{}
	for _, seed := range []string{"crate", "chest"} {
		annotation := ""
		if waits {
			annotation = ", furrow.dev/depends-on: core/ConfigMap/" + s.of(seed) + "/box"
		}
		all["seeds/"+seed+".yaml"] = strings.NewReplacer("NAMESPACE", s.of(seed), "WOOD", wood, "WAITS", annotation).Replace(crateSeed)
	}
	return all
}

func (s moveStory) shareATier() {
	s.commit("Make boxes", s.fleet(), s.seeds("oak", false))
	s.run()
	for _, tier := range []string{"crate/mgmt/00", "chest/mgmt/00", "crate/mgmt/01", "chest/mgmt/01"} {
		s.merge(s.awaitPull(tier), sdk.MergeStyleSquash)
	}
	s.awaitReleased()
	for _, seed := range []string{"crate", "chest"} {
		s.lids[seed] = s.watch(s.of(seed), "lid")
	}
}

// watch notes what happens to a ConfigMap, until the test ends.
func (s moveStory) watch(namespace, name string) *life {
	s.t.Helper()
	l := &life{uids: map[types.UID]bool{}}
	ctx, cancel := context.WithCancel(context.Background())
	events, err := s.world.watch.Watch(ctx, &corev1.ConfigMapList{}, client.InNamespace(namespace), client.MatchingFields{"metadata.name": name})
	if err != nil {
		cancel()
		s.t.Fatal(err)
	}
	var done sync.WaitGroup
	done.Go(func() {
		for event := range events.ResultChan() {
			if o, ok := event.Object.(*corev1.ConfigMap); ok {
				l.note(event.Type, o)
			}
		}
	})
	s.cleanup(func() { cancel(); events.Stop(); done.Wait() })
	return l
}

func (l *life) note(event watch.EventType, o *corev1.ConfigMap) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.uids[o.UID], l.deleted = true, l.deleted || event == watch.Deleted
	now := fmt.Sprintf("%s %s by %s", o.Data["wood"], o.Annotations["kustomize.toolkit.fluxcd.io/prune"], o.Labels["kustomize.toolkit.fluxcd.io/name"])
	if len(l.seen) == 0 || l.seen[len(l.seen)-1] != now {
		l.seen = append(l.seen, now)
	}
}

// mustHaveMoved fails unless the object is the one that it was, and has been everything in turn.
func (l *life) mustHaveMoved(t testing.TB, want ...string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.uids) != 1 || l.deleted {
		t.Errorf("the object was deleted: %t, and had the UIDs %v", l.deleted, l.uids)
	}
	at := 0
	for _, seen := range l.seen {
		if at < len(want) && seen == want[at] {
			at++
		}
	}
	if at < len(want) {
		t.Errorf("the object was %q, without %q in order", l.seen, want)
	}
}

func (s moveStory) isProtected() {
	s.commit("Lids wait for their boxes", s.seeds("elm", true))
	for _, seed := range []string{"crate", "chest"} {
		pull := s.awaitPull(seed + "/mgmt/01")
		mustHave(s.t, pull.Body, "core/ConfigMap/"+s.of(seed)+"/lid moves from tier 01 to tier 02, release 1 of 3", "1 changed", "waits for core/ConfigMap/"+s.of(seed)+"/box")
		mustHave(s.t, s.furrow("explain", "ConfigMap/"+s.of(seed)+"/lid"), "release 1 of 3")
		s.merge(pull, sdk.MergeStyleSquash)
	}
}

func (s moveStory) moves() {
	first, second := []string{"crate/mgmt/01", "chest/mgmt/02"}, []string{"crate/mgmt/02", "chest/mgmt/01"}
	s.mergeHalves(first)
	for _, tier := range first { // and Flux has time for a pass or two
		s.awaitState(tier, "Released")
	}
	s.passes(2)
	s.mergeHalves(second)
}

// mergeHalves merges one pull request of each seed's second release.
func (s moveStory) mergeHalves(tiers []string) {
	for _, tier := range tiers {
		pull := s.awaitPull(tier)
		mustHave(s.t, pull.Body, "lid moves from tier 01 to tier 02, release 2 of 3", "1 moved")
		if strings.Contains(pull.Body, "elm") {
			s.t.Errorf("%s has the update, too:\n%s", tier, pull.Body)
		}
		s.merge(pull, sdk.MergeStyleSquash)
	}
}

func (s moveStory) isUpdated() {
	for _, seed := range []string{"crate", "chest"} {
		s.merge(s.awaitPull(seed+"/mgmt/01"), sdk.MergeStyleSquash)
	}
	for _, seed := range []string{"crate", "chest"} {
		pull := s.awaitPull(seed + "/mgmt/02")
		mustHave(s.t, pull.Body, "release 3 of 3")
		s.merge(pull, sdk.MergeStyleSquash)
	}
	s.awaitReleased()
}

func (s moveStory) lives() {
	for _, seed := range []string{"crate", "chest"} {
		s.eventually(limit, "the lid of "+seed+" is updated", func() (bool, string) {
			var lid corev1.ConfigMap
			err := s.world.mgmt.Client().Get(s.t.Context(), client.ObjectKey{Namespace: s.of(seed), Name: "lid"}, &lid)
			_, protected := lid.Annotations["kustomize.toolkit.fluxcd.io/prune"]
			return err == nil && lid.Data["wood"] == "elm" && !protected, fmt.Sprint(lid.Data, lid.Annotations, err)
		})
		was, is := seed+".mgmt.01", seed+".mgmt.02"
		s.lids[seed].mustHaveMoved(s.t, "oak  by "+was, "oak disabled by "+was, "oak disabled by "+is, "elm  by "+is)
	}
}

package e2e

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	sdk "code.gitea.io/sdk/gitea"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/furrow-dev/furrow/test/servers"
)

// The tiers of the seed in the one repository.
const app0, app1 = "app/mgmt/00", "app/mgmt/01"

// prefixed is the path prefix of Furrow in the one repository, and the root's directory below it.
const (
	prefix       = "fleet"
	prefixedRoot = prefix + "/clusters/mgmt"
)

// appSeed is the seed in the one repository, as namespace and text.
const appSeed = `apiVersion: v1
kind: Namespace
metadata:
  name: %[1]s
  annotations: {furrow.dev/cluster: mgmt}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: app
  namespace: %[1]s
  annotations: {furrow.dev/cluster: mgmt}
data: {text: %[2]s}
`

// theirApp is other people's application in the root's directory.
const theirApp = `apiVersion: v1
kind: Namespace
metadata: {name: %[1]s}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: app, namespace: %[1]s}
data: {text: ours}
`

// oneRepoStory is a story in one repository that other people use too.
type oneRepoStory struct {
	*story
	// people are the commits of people to the base branch.
	people map[string]bool
	// since is the commit before Furrow began.
	since   string
	witness *witness
}

func TestOneRepositoryIsSharedWithOthers(t *testing.T) {
	t.Parallel()
	s := &oneRepoStory{story: newStory(t, "onerepo", inOneRepository), people: map[string]bool{}}
	s.step("other people's files are in the root's directory", s.othersWereFirst)
	s.step("a seed is planted below the prefix", s.isPlanted)
	s.step("a broken file of others blocks new releases until it is fixed", s.brokenFileHolds)
	s.step("the seed is removed, and other people's files remain", s.isRemoved)
	s.step("Furrow has touched nothing but its own paths", s.touchedOnlyItsOwn)
	s.witness.end()
	if seen := s.witness.changes(); len(seen) > 0 {
		t.Errorf("other people's objects were touched: %v", seen)
	}
}

// put commits to the repository as people do.
func (s *oneRepoStory) put(message string, changes ...files) {
	s.t.Helper()
	s.people[s.commitToBase(message, changes...)] = true
}

func (s *oneRepoStory) theirs() string { return s.namespace + "-theirs" }

func (s *oneRepoStory) ours() string { return s.namespace + "-app" }

func (s *oneRepoStory) othersWereFirst() {
	fleet := s.fleet()
	fleet["fleet/gitops-repo.yaml"] = strings.Replace(fleet["fleet/gitops-repo.yaml"], "credentials: gitops}", "credentials: gitops, path: "+prefix+"}", 1)
	s.put("Describe the fleet, and what others have", fleet, files{
		prefixedRoot + "/README.md":      "The root of cluster mgmt syncs this.\n",
		prefixedRoot + "/their-app.yaml": fmt.Sprintf(theirApp, s.theirs()),
		prefixedRoot + "/theirs/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n" +
			"namespace: " + s.theirs() + "\nnamePrefix: their-\nresources: [settings.yaml]\n",
		prefixedRoot + "/theirs/settings.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {size: large}\n",
		prefixedRoot + "/theirs/values.yaml":   "replicas: 3\n",
		"notes/plan.yaml":                      "this: is nobody's business\n",
	})
	s.since = s.gitops.head("main")
	if err := s.world.mgmt.Bootstrap(s.t.Context(), servers.RootOptions{
		URL: s.gitops.url, Path: "./" + prefixedRoot, Namespace: s.namespace, Name: rootName, Username: s.flux.name, Password: s.flux.token,
	}); err != nil {
		s.t.Fatal(err)
	}
	s.witness = newWitness(s.world, s.theirs(), map[string]bool{"app": true, "their-settings": true})
	s.eventually(limit, "Flux has applied what is theirs", func() (bool, string) {
		seen := s.witness.seen()
		return len(seen) == 3, fmt.Sprint(seen)
	})
}

func (s *oneRepoStory) isPlanted() {
	s.put("Plant the app", files{"seeds/app.yaml": fmt.Sprintf(appSeed, s.ours(), "hello")})
	s.run()
	s.awaitPull(app0)
	s.mustRest()
	s.release(app0, sdk.MergeStyleSquash)
	s.merge(s.awaitPull(app1), sdk.MergeStyleMerge)
	s.awaitReleased()
	s.mustRest()
	s.mustHavePlanned(1)
	s.mustRead("hello")
}

// mustRead fails unless the seed's ConfigMap has the text.
func (s *oneRepoStory) mustRead(text string) {
	s.t.Helper()
	var app corev1.ConfigMap
	if err := s.world.mgmt.Client().Get(s.t.Context(), client.ObjectKey{Namespace: s.ours(), Name: "app"}, &app); err != nil {
		s.t.Fatal(err)
	}
	if app.Data["text"] != text {
		s.t.Errorf("the app says %v, not %q", app.Data, text)
	}
}

// restingPasses is the number of passes during which Furrow must not push. Each asks for the branches twice, as the
// repository is that of the control plane, too.
const restingPasses = 2 * 4

// restTries is how often that is tried: Flux may still report changes.
const restTries = 4

// mustRest fails if Furrow keeps pushing although nothing happens.
func (s *oneRepoStory) mustRest() {
	s.t.Helper()
	before := s.branches()
	for range restTries {
		s.passes(restingPasses)
		after := s.branches()
		if maps.Equal(before, after) {
			return
		}
		before = after
	}
	s.t.Errorf("the branches keep changing; they are %v\n%s", before, s.scene())
}

// branches returns the commits of all branches.
func (s *oneRepoStory) branches() map[string]string {
	s.t.Helper()
	if err := s.gitops.fetch(); err != nil {
		s.t.Fatal(err)
	}
	listed, err := s.gitops.git("for-each-ref", "--format=%(refname:lstrip=3) %(objectname)", "refs/remotes/origin")
	if err != nil {
		s.t.Fatal(err)
	}
	branches := map[string]string{}
	for line := range strings.Lines(listed) {
		name, commit, _ := strings.Cut(strings.TrimSpace(line), " ")
		branches[name] = commit
	}
	return branches
}

// mustHavePlanned fails unless there are as many plans as changes by people.
func (s *oneRepoStory) mustHavePlanned(times int) {
	s.t.Helper()
	if err := s.gitops.fetch(); err != nil {
		s.t.Fatal(err)
	}
	plans, err := s.gitops.git("log", "--format=%H %s", "--grep=^Furrow-Seed: app$", "origin/furrow/main/plan/app", "--not", "origin/main")
	if err != nil {
		s.t.Fatal(err)
	}
	if count := len(slices.Collect(strings.Lines(plans))); count != times {
		s.t.Errorf("there are %d plans, not %d:\n%s", count, times, plans)
	}
}

// mustNotFallBehind fails if an unchanged tier was ever reported as lacking what others merged.
func (s *oneRepoStory) mustNotFallBehind(tier string) {
	s.t.Helper()
	released := false
	for line := range strings.Lines(s.running.output()) {
		if !strings.Contains(line, tier) {
			continue
		}
		if released && strings.Contains(line, "the reconciler is at") {
			s.t.Errorf("it was Released and has not changed since: %s", line)
		}
		released = released || strings.Contains(line, "Released")
	}
}

func (s *oneRepoStory) brokenFileHolds() {
	const broken = prefixedRoot + "/their-broken.yaml"
	s.put("Break a file", files{broken: "this: [is not\n"})
	s.put("Another text", files{"seeds/app.yaml": fmt.Sprintf(appSeed, s.ours(), "goodbye")})
	if tier := s.awaitState(app1, "Held"); !strings.Contains(tier.Message, broken) {
		s.t.Errorf("the message does not name the broken file: %q", tier.Message)
	}
	s.mustRest()
	s.mustNotOpen(app0, app1)
	if is := s.state(app0); is != "Released" {
		s.t.Errorf("%s, which does not change, is %s", app0, is)
	}
	s.put("Repair it", files{broken: ""})
	s.merge(s.awaitPull(app1), sdk.MergeStyleRebase)
	s.awaitReleased()
	s.mustRead("goodbye")
	s.mustHavePlanned(2)
	s.mustNotFallBehind("mgmt tier 00")
}

func (s *oneRepoStory) isRemoved() {
	s.put("Remove the app", files{"seeds/app.yaml": ""})
	s.confirmRemoval("app")
	pull := s.awaitPull(app1)
	s.mustNotOpen(app0)
	s.merge(pull, sdk.MergeStyleSquash)
	s.merge(s.awaitPull(app0), sdk.MergeStyleMerge)
	s.eventually(limit, "the app's namespace is gone", func() (bool, string) {
		err := s.world.mgmt.Client().Get(s.t.Context(), client.ObjectKey{Name: s.ours()}, &corev1.Namespace{})
		return apierrors.IsNotFound(err), fmt.Sprint(err)
	})
	s.awaitEmpty()
	s.mustRest()
	for _, at := range []string{prefix + "/planted", prefixedRoot + "/furrow", "planted"} {
		if s.gitops.object("origin/main", at) != "" {
			s.t.Errorf("the base branch still has %s", at)
		}
	}
	s.eventually(limit, "the root is ready", func() (bool, string) {
		root, _ := s.kustomization(s.namespace, rootName)
		return isReady(root), fmt.Sprint(root.Status.Conditions)
	})
}

// touchedOnlyItsOwn checks the changes of every commit to the base branch that is not a person's, including merges.
func (s *oneRepoStory) touchedOnlyItsOwn() {
	if err := s.gitops.fetch(); err != nil {
		s.t.Fatal(err)
	}
	commits, err := s.gitops.git("rev-list", "--first-parent", s.since+"..origin/main")
	if err != nil {
		s.t.Fatal(err)
	}
	checked := 0
	for commit := range strings.FieldsSeq(commits) {
		if s.people[commit] {
			continue
		}
		checked++
		changed, err := s.gitops.git("diff", "--name-only", commit+"^1", commit)
		if err != nil {
			s.t.Fatal(err)
		}
		for file := range strings.Lines(changed) {
			if file = strings.TrimSpace(file); !strings.HasPrefix(file, prefix+"/planted/") && !strings.HasPrefix(file, prefixedRoot+"/furrow/") {
				s.t.Errorf("commit %s changes %s", commit, file)
			}
			if path.Base(file) == "kustomization.yaml" {
				s.t.Errorf("commit %s has a file of that name: %s", commit, file)
			}
		}
	}
	if checked != 5 {
		s.t.Errorf("there are %d commits of Furrow to the base branch, want those of 5 pull requests", checked)
	}
}

// witness watches a namespace of other people on the management cluster, and its ConfigMaps.
type witness struct {
	namespace string
	// names are those of the ConfigMaps.
	names  map[string]bool
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu sync.Mutex
	// versions has the observed versions of each object, in order.
	versions map[string][]string
}

func newWitness(w *world, namespace string, names map[string]bool) *witness {
	ctx, cancel := context.WithCancel(context.Background())
	out := &witness{namespace: namespace, names: names, cancel: cancel, versions: map[string][]string{}}
	out.done.Go(func() { out.watch(ctx, w, &corev1.ConfigMapList{}, client.InNamespace(namespace)) })
	out.done.Go(func() { out.watch(ctx, w, &corev1.NamespaceList{}) })
	return out
}

func (w *witness) watch(ctx context.Context, world *world, list client.ObjectList, options ...client.ListOption) {
	for ctx.Err() == nil {
		events, err := world.watch.Watch(ctx, list, options...)
		if err == nil {
			for event := range events.ResultChan() {
				if object, ok := event.Object.(client.Object); ok {
					w.note(event.Type, object)
				}
			}
			events.Stop()
		}
		pause(ctx, tick)
	}
}

func (w *witness) note(event watch.EventType, object client.Object) {
	name := "ConfigMap " + object.GetName()
	if object.GetNamespace() == "" {
		name = "Namespace " + object.GetName()
	}
	if object.GetNamespace() != "" && !w.names[object.GetName()] || object.GetNamespace() == "" && object.GetName() != w.namespace {
		return
	}
	version := fmt.Sprintf("%s at %s", object.GetUID(), object.GetResourceVersion())
	if event == watch.Deleted {
		version = "gone"
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Contains(w.versions[name], version) {
		w.versions[name] = append(w.versions[name], version)
	}
}

// seen returns the observed objects.
func (w *witness) seen() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.versions))
}

// changes returns the objects that were observed in more than one version.
func (w *witness) changes() map[string][]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	changed := maps.Clone(w.versions)
	maps.DeleteFunc(changed, func(_ string, versions []string) bool { return len(versions) == 1 })
	return changed
}

func (w *witness) end() {
	w.cancel()
	w.done.Wait()
}

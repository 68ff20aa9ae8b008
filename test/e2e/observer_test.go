package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "code.gitea.io/sdk/gitea"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// renderedAnnotation is on a reconciler object, and has the digest of what was rendered.
const renderedAnnotation = "furrow.dev/rendered"

// observer watches a story from outside. For each pull request that is opened or updated, it checks that all
// prerequisites were released before, according to the clusters and Git, and according to furrow's own status.
type observer struct {
	story *story
	// every is the polling interval for the forge.
	every  time.Duration
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu sync.Mutex
	// ready has what each Kustomization was ever Ready with, at its generation.
	ready map[client.ObjectKey][]readiness
	// order is the order in which they became Ready or were deleted.
	order []string
	// observed has a channel for each pull request and contents; it is closed when the check is done.
	observed map[string]chan struct{}
	found    []string
}

// readiness is what a Kustomization was Ready with, and since when, in Unix seconds.
type readiness struct {
	revision, rendered string
	since              int64
}

// catchUp is how long the observer may lag behind furrow, such as after a cluster was unreachable.
const catchUp = 30 * time.Second

func newObserver(s *story, every time.Duration) *observer {
	ctx, cancel := context.WithCancel(context.Background())
	o := &observer{story: s, every: every, cancel: cancel, ready: map[client.ObjectKey][]readiness{}, observed: map[string]chan struct{}{}}
	o.done.Go(func() { o.follow(ctx) })
	o.done.Go(func() { o.poll(ctx) })
	return o
}

func (o *observer) end() {
	o.cancel()
	o.done.Wait()
}

// violations returns the violations of the rules so far.
func (o *observer) violations() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.found)
}

func (o *observer) violation(format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.found = append(o.found, fmt.Sprintf(format, args...))
}

// follow watches the story's Kustomizations, and restarts the watch when it ends.
func (o *observer) follow(ctx context.Context) {
	for ctx.Err() == nil {
		events, err := o.story.world.watch.Watch(ctx, &kustomizev1.KustomizationList{})
		if err == nil {
			for event := range events.ResultChan() {
				if k, ok := event.Object.(*kustomizev1.Kustomization); ok && o.story.owns(k.Namespace) {
					o.note(event.Type, k)
				}
			}
			events.Stop()
		}
		pause(ctx, tick)
	}
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

func (o *observer) note(event watch.EventType, k *kustomizev1.Kustomization) {
	if created := k.Labels["furrow.dev/cluster"]; k.Spec.KubeConfig != nil && event == watch.Added && o.story.provider != nil && !o.story.provider.initialized(created) {
		o.violation("Kustomization %s/%s was there before cluster %s was initialised", k.Namespace, k.Name, created)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	key := client.ObjectKeyFromObject(k)
	if event == watch.Deleted {
		o.order = append(o.order, "gone "+k.Name)
	}
	if now, ok := readyWith(k); ok && event != watch.Deleted && !slices.Contains(o.ready[key], now) {
		o.ready[key] = append(o.ready[key], now)
		o.order = append(o.order, "ready "+k.Name)
	}
}

// readyWith returns what a Kustomization is Ready with at its current generation.
func readyWith(k *kustomizev1.Kustomization) (readiness, bool) {
	for _, c := range k.Status.Conditions {
		if c.Type == "Ready" && c.Status == metav1.ConditionTrue && c.ObservedGeneration == k.Generation && k.Status.ObservedGeneration == k.Generation {
			return readiness{k.Status.LastAppliedRevision, k.Annotations[renderedAnnotation], c.LastTransitionTime.Unix()}, true
		}
	}
	return readiness{}, false
}

// forget drops all records of readiness, for a fresh start.
func (o *observer) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ready, o.order = map[client.ObjectKey][]readiness{}, nil
}

// happened returns the order in which Kustomizations became Ready or were deleted.
func (o *observer) happened() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.order)
}

// readySince returns when a Kustomization first became Ready, in Unix seconds; ok is false if it never was.
func (o *observer) readySince(key client.ObjectKey) (since int64, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.ready[key]) == 0 {
		return 0, false
	}
	return o.ready[key][0].since, true
}

// poll checks new and updated pull requests.
func (o *observer) poll(ctx context.Context) {
	for ; ctx.Err() == nil; pause(ctx, o.every) {
		pulls, err := listPulls(o.story.asPerson, o.story.gitops, sdk.StateOpen)
		if err != nil {
			continue
		}
		for _, pull := range pulls {
			if tierOf(pull) == "" {
				continue
			}
			if checked, first := o.observe(pull); first {
				o.done.Go(func() {
					defer close(checked)
					o.checkAll(ctx, pull)
				})
			}
		}
	}
}

var digestLine = regexp.MustCompile(`Furrow-Digest: (\S+)`)

// observe records a pull request with its contents; first is true if they are new.
func (o *observer) observe(pull *sdk.PullRequest) (checked chan struct{}, first bool) {
	key := fmt.Sprint(pull.Index, digestLine.FindString(pull.Body))
	o.mu.Lock()
	defer o.mu.Unlock()
	checked, known := o.observed[key]
	if !known {
		checked = make(chan struct{})
		o.observed[key] = checked
	}
	return checked, !known
}

// await waits until a pull request was checked with its current contents.
func (o *observer) await(s *story, pull *sdk.PullRequest) {
	s.t.Helper()
	s.eventually(limit, fmt.Sprintf("#%d is checked", pull.Index), func() (bool, string) { return o.checked(pull) })
}

// checked reports whether a pull request was checked with its current contents, or why not.
func (o *observer) checked(pull *sdk.PullRequest) (ok bool, why string) {
	key := fmt.Sprint(pull.Index, digestLine.FindString(pull.Body))
	o.mu.Lock()
	checked, known := o.observed[key]
	o.mu.Unlock()
	if !known {
		return false, "it was not observed yet"
	}
	select {
	case <-checked:
		return true, ""
	default:
		return false, "it is being checked"
	}
}

// checkAll checks that each tier of a pull request could be proposed when the pull request was opened or updated.
func (o *observer) checkAll(ctx context.Context, pull *sdk.PullRequest) {
	tiers := tiersOf(pull)
	if len(tiers) == 0 {
		o.violation("#%d of branch %s does not name tiers", pull.Index, pull.Head.Name)
	}
	for _, tier := range tiers {
		o.check(ctx, pull, tier)
	}
}

// check checks a tier of a pull request.
func (o *observer) check(ctx context.Context, pull *sdk.PullRequest, tier string) {
	parts := strings.Split(tier, "/")
	if len(parts) != 3 {
		o.violation("#%d has %s, which is not the name of a tier", pull.Index, tier)
		return
	}
	if err := o.story.gitops.fetch(); err != nil {
		o.violation("#%d %s: %v", pull.Index, tier, err)
		return
	}
	plan := o.story.plan(parts[0])
	if plan == nil {
		o.violation("#%d %s was opened without a plan", pull.Index, tier)
		return
	}
	for _, t := range plan.Tiers {
		if tierName(parts[0], t.Cluster, t.Ordinal) != tier {
			continue
		}
		switch {
		case t.gone():
			o.checkRemoval(ctx, pull, tier, plan, t)
		case plan.held(t.Cluster) && o.onlyMoves(ctx, plan, t):
		default:
			o.checkPrerequisites(ctx, pull, tier, plan, t)
		}
		return
	}
	o.violation("#%d: the plan has no tier %s", pull.Index, tier)
}

// onlyMoves reports whether a tier brings nothing but objects that move: the base branch has all others as the plan does,
// and those that come are on the cluster. Only then need it not wait.
func (o *observer) onlyMoves(ctx context.Context, plan *planned, t plannedTier) bool {
	for _, object := range plan.contents(t) {
		base := o.story.gitops.object("origin/main", t.entry("tree").Path+"/"+object.File)
		m, moves := plan.move(t.Cluster, object.ID)
		switch {
		case base == object.Hash, moves && base == m.Content:
		case !moves || base != "" || m.To != t.Ordinal || o.exists(ctx, t.Cluster, object.ID) != nil:
			return false
		}
	}
	return true
}

// checkRemoval checks that nothing is left of the dependents of a tier that is removed.
func (o *observer) checkRemoval(ctx context.Context, pull *sdk.PullRequest, tier string, plan *planned, t plannedTier) {
	seed, _, _ := strings.Cut(tier, "/")
	var names []string
	for _, dependent := range plan.dependents(t.Cluster, t.Ordinal) {
		names = append(names, tierName(seed, dependent.Cluster, dependent.Ordinal))
		where, err := o.whereIs(ctx, client.ObjectKey{Namespace: dependent.Object.Namespace, Name: dependent.Object.Name})
		if where != "" || err != nil {
			o.violation("#%d removes %s while Kustomization %s is still there (%s, %v)", pull.Index, tier, dependent.Object.Name, where, err)
		}
	}
	o.checkReport(ctx, pull, tier, names, "Gone")
}

// whereIs returns the cluster that has a Kustomization, or nothing. The management cluster has those of the clusters that it
// reconciles, and a cluster with its own Flux has its own. Their names are unique in a story.
func (o *observer) whereIs(ctx context.Context, key client.ObjectKey) (cluster string, err error) {
	readers := map[string]client.Client{"mgmt": o.story.world.mgmt.Client()}
	if o.story.provider != nil {
		maps.Copy(readers, o.story.provider.running())
	}
	var errs []error
	for name, reader := range readers {
		var k kustomizev1.Kustomization
		switch err := reader.Get(ctx, key, &k); {
		case err == nil:
			return name, nil
		case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		default:
			errs = append(errs, fmt.Errorf("cluster %s: %w", name, err))
		}
	}
	return "", errors.Join(errs...)
}

// checkPrerequisites checks that all prerequisites of a tier are released.
func (o *observer) checkPrerequisites(ctx context.Context, pull *sdk.PullRequest, tier string, plan *planned, t plannedTier) {
	seed, _, _ := strings.Cut(tier, "/")
	var names []string
	for _, pre := range t.Prerequisites {
		of, at := seed, plan
		if pre.Seed != "" {
			of, at = pre.Seed, o.story.plan(pre.Seed)
		}
		name := tierName(of, pre.Cluster, pre.Ordinal)
		names = append(names, name)
		if at == nil {
			o.violation("#%d %s: there is no plan of its prerequisite %s", pull.Index, tier, name)
			continue
		}
		needed, ok := at.tier(pre.Cluster, pre.Ordinal)
		if !ok {
			o.violation("#%d %s: the plan has no tier %s", pull.Index, tier, name)
			continue
		}
		if why := o.notReleased(ctx, of, at, needed, proposedAt(pull)); why != "" {
			o.violation("#%d %s was opened before %s was released: %s", pull.Index, tier, name, why)
		}
	}
	o.checkReport(ctx, pull, tier, names, "Released")
}

// proposedAt returns when a pull request was opened, in Unix seconds. Tiers may join the pull request of a group later, so
// for a group it is the time of the last update.
func proposedAt(pull *sdk.PullRequest) int64 {
	if strings.HasPrefix(pull.Head.Name, groupPrefix) {
		return pull.Updated.Unix()
	}
	return pull.Created.Unix()
}

// notReleased returns why a tier was not released at a time in Unix seconds, according to Git and the clusters alone.
func (o *observer) notReleased(ctx context.Context, seed string, plan *planned, t plannedTier, at int64) string {
	repo := o.story.gitops
	dir := t.entry("tree")
	merged := repo.object("origin/main", dir.Path)
	if merged != dir.Hash && !o.amended(seed, t) {
		return fmt.Sprintf("the base branch has %q at %s, and the plan %q", merged, dir.Path, dir.Hash)
	}
	rendered := renderedIn(repo.read("main", t.entry("file").Path))
	key := client.ObjectKey{Namespace: t.Object.Namespace, Name: t.Object.Name}
	var was []readiness
	fits := func() bool {
		o.mu.Lock()
		was = slices.Clone(o.ready[key])
		o.mu.Unlock()
		return slices.ContainsFunc(was, func(r readiness) bool {
			_, commit, _ := strings.Cut(r.revision, ":")
			return r.rendered == rendered && r.since <= at && repo.object(commit, dir.Path) == merged
		})
	}
	late, done := context.WithTimeout(ctx, catchUp)
	defer done()
	for !fits() && late.Err() == nil {
		pause(late, tick)
	}
	if !fits() {
		return fmt.Sprintf("Kustomization %s was never Ready with what was merged, but with %v", key, was)
	}
	for _, id := range plan.objects(t) {
		if err := o.exists(ctx, t.Cluster, id); err != nil {
			return fmt.Sprintf("%s on cluster %s: %v", id, t.Cluster, err)
		}
	}
	return ""
}

// amended reports whether furrow's status has a tier as amended by a person.
func (o *observer) amended(seed string, t plannedTier) bool {
	r := o.story.status()
	is := r.tier(tierName(seed, t.Cluster, t.Ordinal))
	return is.Amended != ""
}

func renderedIn(document string) string {
	var object metav1.PartialObjectMetadata
	_ = yaml.Unmarshal([]byte(document), &object)
	return object.Annotations[renderedAnnotation]
}

// exists gets an object by its id.
func (o *observer) exists(ctx context.Context, cluster, id string) error {
	reader := o.story.world.mgmt.Client()
	if cluster != "mgmt" {
		if o.story.provider == nil {
			return nil
		}
		if reader = o.story.provider.client(cluster); reader == nil {
			return fmt.Errorf("the cluster does not run")
		}
	}
	group, kind, namespace, name := splitID(id)
	mapping, err := reader.RESTMapper().RESTMapping(schema.GroupKind{Group: group, Kind: kind})
	if err != nil {
		return err
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(mapping.GroupVersionKind)
	return reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, object)
}

// checkReport checks that furrow's own status, once it has the pull request, has the tiers in a state.
func (o *observer) checkReport(ctx context.Context, pull *sdk.PullRequest, tier string, tiers []string, state string) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for ; ctx.Err() == nil; pause(ctx, o.every) {
		r := o.story.status()
		if shown := r.tier(tier).Proposal; shown == nil || shown.URL != pull.HTMLURL {
			if !o.story.runs() {
				return // it was stopped before it could report
			}
			continue
		}
		for _, other := range tiers {
			if is := r.tier(other).State; is != state && (state != "Gone" || is != "") {
				o.violation("#%d %s was opened, and furrow reports %s as %q", pull.Index, tier, other, is)
			}
		}
		return
	}
	if o.story.runs() && errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		o.violation("#%d %s was opened, and furrow did not report it for %s", pull.Index, tier, limit)
	}
}

// isReady reports whether a Kustomization has the condition Ready, of any generation.
func isReady(k kustomizev1.Kustomization) bool {
	return slices.ContainsFunc(k.Status.Conditions, func(c metav1.Condition) bool {
		return c.Type == "Ready" && c.Status == metav1.ConditionTrue
	})
}

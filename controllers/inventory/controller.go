// Package inventory is the controller of the resources other than Seeds: Clusters,
// ClusterTypes, GitOpsRepos and Templates. It reports whether they are valid and in
// force, and what the last passes have observed of them.
//
// It observes nothing itself, but reads the snapshots that the passes of the namespace's
// control planes publish. A resource that no pass has read yet is validated by itself.
package inventory

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/controllers/condition"
	"github.com/furrow-dev/furrow/controllers/fleet"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/git"
)

// kind is one of the kinds, with the functions for its status.
type kind struct {
	name   string
	new    func() client.Object
	list   func() client.ObjectList
	status func(o client.Object) *v1alpha1.CommonStatus
	show   func(o client.Object, l facts, c condition.Writer)
}

// facts has what a status is made from: the snapshots or, if there are none, the catalog
// of the resources alone.
type facts struct {
	snapshots []fleet.Snapshot
	alone     *catalog.Catalog
}

// read reports whether a pass has read this version of a resource.
func (l facts) read(ref, version string) bool {
	return slices.ContainsFunc(l.snapshots, func(p fleet.Snapshot) bool { return p.Read[ref] == version })
}

// kinds are all kinds.
var kinds = []kind{
	{"Cluster", func() client.Object { return &v1alpha1.Cluster{} }, func() client.ObjectList { return &v1alpha1.ClusterList{} },
		func(o client.Object) *v1alpha1.CommonStatus { return &o.(*v1alpha1.Cluster).Status.CommonStatus }, showCluster},
	{"ClusterType", func() client.Object { return &v1alpha1.ClusterType{} }, func() client.ObjectList { return &v1alpha1.ClusterTypeList{} },
		func(o client.Object) *v1alpha1.CommonStatus { return &o.(*v1alpha1.ClusterType).Status.CommonStatus }, showClusterType},
	{"GitOpsRepo", func() client.Object { return &v1alpha1.GitOpsRepo{} }, func() client.ObjectList { return &v1alpha1.GitOpsRepoList{} },
		func(o client.Object) *v1alpha1.CommonStatus { return &o.(*v1alpha1.GitOpsRepo).Status.CommonStatus }, showGitOpsRepo},
	{"Template", func() client.Object { return &v1alpha1.Template{} }, func() client.ObjectList { return &v1alpha1.TemplateList{} },
		func(o client.Object) *v1alpha1.CommonStatus { return &o.(*v1alpha1.Template).Status.CommonStatus }, showTemplate},
	{"RolloutPolicy", func() client.Object { return &v1alpha1.RolloutPolicy{} }, func() client.ObjectList { return &v1alpha1.RolloutPolicyList{} },
		func(o client.Object) *v1alpha1.CommonStatus { return &o.(*v1alpha1.RolloutPolicy).Status.CommonStatus }, showRolloutPolicy},
}

// Reconciler writes the statuses of one kind, from the snapshots of passes: it reads nothing itself
// unless no pass has read the namespace.
type Reconciler struct {
	client    client.Client
	snapshots *fleet.Snapshots
	clock     clock.PassiveClock
	kind      kind
	unread    unread
}

// unread caches the catalog of a namespace's resources that no pass has read.
type unread struct {
	mu       sync.Mutex
	version  string
	resolved *catalog.Catalog
}

// Setup adds a controller for each kind to a manager.
func Setup(mgr ctrl.Manager, snapshots *fleet.Snapshots, clock clock.PassiveClock) error {
	changed := builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{}))
	for _, k := range kinds {
		r := &Reconciler{client: mgr.GetClient(), snapshots: snapshots, clock: clock, kind: k}
		b := builder.ControllerManagedBy(mgr).Named(strings.ToLower(k.name)).
			For(k.new(), changed).
			WithOptions(controller.Options{RateLimiter: fleet.Limiter[reconcile.Request]()}).
			WatchesRawSource(source.Func(r.watchSnapshots))
		for _, named := range kinds { // a document is invalid while a resource that it names is missing
			if named.name != k.name {
				b = b.Watches(named.new(), handler.EnqueueRequestsFromMapFunc(r.unreadBeside), changed)
			}
		}
		if k.name == "Cluster" {
			b = b.Watches(k.new(), handler.EnqueueRequestsFromMapFunc(r.unreadOfHub), changed)
		}
		if err := b.Complete(r); err != nil {
			return err
		}
	}
	return nil
}

// unreadBeside returns the resources of this kind in an object's namespace, unless passes read
// them.
func (r *Reconciler) unreadBeside(ctx context.Context, o client.Object) []reconcile.Request {
	if len(r.snapshots.In(o.GetNamespace())) > 0 {
		return nil
	}
	return r.all(ctx, o.GetNamespace())
}

// unreadOfHub returns the Clusters that name another Cluster as their hub, unless passes read them.
func (r *Reconciler) unreadOfHub(ctx context.Context, hub client.Object) []reconcile.Request {
	if len(r.snapshots.In(hub.GetNamespace())) > 0 {
		return nil
	}
	var list v1alpha1.ClusterList
	if err := r.client.List(ctx, &list, client.InNamespace(hub.GetNamespace())); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "List the Clusters of a hub", "namespace", hub.GetNamespace(), "hub", hub.GetName())
		return nil
	}
	var out []reconcile.Request
	for i := range list.Items {
		if c := &list.Items[i]; c.Spec.ReconciledBy == hub.GetName() {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(c)})
		}
	}
	return out
}

// all returns the resources of this kind in a namespace.
func (r *Reconciler) all(ctx context.Context, namespace string) []reconcile.Request {
	list := r.kind.list()
	if err := r.client.List(ctx, list, client.InNamespace(namespace)); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "List what may have changed", "kind", r.kind.name, "namespace", namespace)
		return nil
	}
	var out []reconcile.Request
	_ = meta.EachListItem(list, func(item runtime.Object) error { // does not fail for these lists
		if o, ok := item.(client.Object); ok {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)})
		}
		return nil
	})
	return out
}

// watchSnapshots reconciles all resources of a namespace when a snapshot changes there.
func (r *Reconciler) watchSnapshots(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	r.snapshots.Subscribe(func(namespace string) {
		for _, request := range r.all(ctx, namespace) {
			queue.Add(request)
		}
	})
	return nil
}

// Reconcile writes one status if it has changed. A resource that has changed since the last pass
// keeps its status until the next one, so no status says of a version what was found of another.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	o := r.kind.new()
	if err := r.client.Get(ctx, request.NamespacedName, o); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	l := facts{snapshots: r.snapshots.In(request.Namespace)}
	if len(l.snapshots) == 0 {
		stays, err := r.stays(ctx, o)
		if err != nil || stays {
			return reconcile.Result{}, err
		}
		if l.alone, err = r.alone(ctx, request.Namespace); err != nil {
			return reconcile.Result{}, err
		}
	} else if !l.read(fleet.RefOf(r.kind.name, request.Namespace, request.Name), fleet.VersionOf(o)) {
		return reconcile.Result{}, nil // the pass for this version publishes a snapshot
	}
	before := o.DeepCopyObject().(client.Object)
	r.kind.show(o, l, condition.Of(r.kind.status(o), o.GetGeneration(), r.clock.Now()))
	if equality.Semantic.DeepEqual(before, o) {
		return reconcile.Result{}, nil
	}
	err := r.client.Status().Patch(ctx, o, client.MergeFrom(before))
	if client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, fmt.Errorf("the status of %s: %w", fleet.RefOf(r.kind.name, request.Namespace, request.Name), err)
	}
	return reconcile.Result{}, nil
}

// stays reports whether a resource keeps its status until the next pass reads it: if it was in
// force before a restart, it is not unused after it.
func (r *Reconciler) stays(ctx context.Context, o client.Object) (bool, error) {
	of := r.kind.status(o)
	accepted := meta.FindStatusCondition(of.Conditions, v1alpha1.ConditionAccepted)
	if accepted == nil || of.ObservedGeneration != o.GetGeneration() || accepted.Reason == string(v1alpha1.ReasonUnused) || accepted.Status == metav1.ConditionFalse && accepted.Reason != string(v1alpha1.ReasonOverridden) {
		return false, nil
	}
	var seeds v1alpha1.SeedList
	if err := r.client.List(ctx, &seeds, client.InNamespace(o.GetNamespace()), client.Limit(1)); err != nil {
		return false, fmt.Errorf("listing the Seeds of namespace %s: %w", o.GetNamespace(), err)
	}
	return len(seeds.Items) > 0, nil
}

// alone returns the catalog of only the resources of a namespace, for resources that no Seed uses
// yet: they are checked even so. It is kept as long as no resource changes.
func (r *Reconciler) alone(ctx context.Context, namespace string) (*catalog.Catalog, error) {
	docs, err := fleet.Documents(ctx, r.client, namespace)
	if err != nil {
		return nil, err
	}
	version, err := json.Marshal([]any{namespace, docs})
	if err != nil {
		return nil, err
	}
	r.unread.mu.Lock()
	defer r.unread.mu.Unlock()
	if r.unread.version == string(version) {
		return r.unread.resolved, nil
	}
	settings, err := fleet.Settings(engine.Settings{}, namespace, nil, nil, docs)
	if err != nil {
		return nil, err
	}
	resolved, err := catalog.LoadWith(nil, settings.Resources)
	if err == nil {
		r.unread.version, r.unread.resolved = string(version), resolved
	}
	return resolved, err
}

// of returns the assessment of a resource by all control planes of its namespace, or by the
// resources alone where no pass has read it.
func (l facts) of(kind string, o client.Object) assessment {
	var problems manifest.Problems
	if l.alone != nil {
		problems = l.alone.Problems
	}
	return assess(fleet.RefOf(kind, o.GetNamespace(), o.GetName()), l.snapshots, problems)
}

// showCluster shows a Cluster with how many seeds are planted on it, in all control planes
// together.
func showCluster(o client.Object, l facts, w condition.Writer) {
	c := o.(*v1alpha1.Cluster)
	l.of("Cluster", o).show(w)
	c.Status.Role, c.Status.Plantings = c.RoleOrDefault(), 0
	for _, p := range l.snapshots {
		c.Status.Plantings += int32(p.Plantings[c.Name]) //nolint:gosec // G115: a count of seeds
	}
}

// showClusterType shows a ClusterType with how many clusters have it, in all control planes
// together.
func showClusterType(o client.Object, l facts, w condition.Writer) {
	t := o.(*v1alpha1.ClusterType)
	l.of("ClusterType", o).show(w)
	names := map[string]bool{}
	for _, c := range l.catalogs() {
		for name := range c.Inventory.Clusters {
			if c.Inventory.Clusters[name].Type == t.Name {
				names[name] = true
			}
		}
	}
	t.Status.Clusters = int32(len(names)) //nolint:gosec // G115: a count of clusters
}

// catalogs returns what is known of the namespace: a catalog for each control plane, or the one of
// the resources alone.
func (l facts) catalogs() []*catalog.Catalog {
	if l.alone != nil {
		return []*catalog.Catalog{l.alone}
	}
	var out []*catalog.Catalog
	for _, p := range l.snapshots {
		out = append(out, p.Catalog)
	}
	return out
}

// showGitOpsRepo shows a repository as the passes of all control planes of the namespace found it.
func showGitOpsRepo(o client.Object, l facts, w condition.Writer) {
	r := o.(*v1alpha1.GitOpsRepo)
	s := l.of("GitOpsRepo", o)
	r.Status.Forge, r.Status.Proposals, r.Status.SigningKey = r.Spec.ForgeOrDefault(), 0, ""
	for _, p := range l.snapshots {
		seen, ok := p.Repos[r.Name]
		if !ok {
			continue
		}
		r.Status.SigningKey = seen.SigningKey
		r.Status.Proposals += int32(seen.Proposals) //nolint:gosec // G115: a count of proposals
		if !seen.Head.IsZero() {
			r.Status.Head = seen.Head.String()
		}
		if seen.Limit != nil {
			s.limited = seen.Limit.Message
		}
		for _, w := range seen.Warnings {
			s.warning = strings.TrimPrefix(s.warning+". "+w.Text(), ". ")
		}
		if seen.Err != nil {
			s.unreachable, s.reason, s.refused = seen.Err.Error(), manifest.ReasonOf(manifest.About(manifest.Problem{Reason: v1alpha1.ReasonUnreachable}, seen.Err)), git.IsAuth(seen.Err) || git.IsNotFound(seen.Err) || git.IsUntrusted(seen.Err)
		}
	}
	s.show(w)
	s.showReachable(w)
}

func showTemplate(o client.Object, l facts, w condition.Writer) {
	l.of("Template", o).show(w)
}

func showRolloutPolicy(o client.Object, l facts, w condition.Writer) {
	l.of("RolloutPolicy", o).show(w)
}

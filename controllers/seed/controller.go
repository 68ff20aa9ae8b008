// Package seed is the controller of Seeds: it runs the passes of the control planes that they name,
// and writes the results to their statuses.
//
// It reconciles control planes, not Seeds: all Seeds of a namespace with the same source share a
// pass, as all seeds of a repository do in furrow run.
//
//	gather ─▶ release Seeds ─▶ pass: requests of people, then the engine's ─▶ finish: Plantings, Seeds, events ─▶ next
//
// All decisions about plans and tiers are the engine's. Each Seed and each Planting whose status
// has changed is written once.
//
// Invariants:
//   - Statuses are written but not read, except the times since which tiers are in a state, and the
//     handled requests of people. So a status that somebody deletes or edits comes back.
//   - A control plane has one pass at a time, and so has a GitOps repository.
//   - A Seed keeps its finalizer until it is certain that nothing of it is planted. What could not
//     be observed is not gone.
//   - Secrets are read by name.
//
// Concurrency: control planes that write to different repositories are reconciled at once.
package seed

import (
	"cmp"
	"context"
	"net/http"
	"os"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/controllers/fleet"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/engine"
	forgerest "github.com/furrow-dev/furrow/internal/forge/rest"
	"github.com/furrow-dev/furrow/internal/probe"
)

// Options configure the passes.
type Options struct {
	// Interval is the time between passes in which nothing changes.
	Interval time.Duration
	// Concurrency is the number of control planes that are reconciled at once.
	Concurrency int
	// Cache is the directory of the mirrors.
	Cache string
	// ID and Environment make the owner of plans.
	ID, Environment string
	// DeletionGuard is the share of plantings, in percent, that may be removed at once.
	DeletionGuard int
	Strict        bool
	// TakeOver replaces plans of newer or unrelated commits in the first pass of a control plane.
	TakeOver bool
	// AllowHTTP allows http:// for repositories on other machines.
	AllowHTTP bool
	// Limits limit what is read of a control plane.
	Limits catalog.Limits
	// Plugins is the directory of the executables that may run as plugins; empty for none.
	Plugins string
	// Record makes what is given every pass of a control plane before it acts, which has a
	// directory of its own for that; nil when nobody asks.
	Record func(directory string) func(*engine.Record)
	// Own is the fleet's name of the cluster that the controller runs in, and OwnConfig
	// the access to it; empty if its Flux is not observed.
	Own       string
	OwnConfig *rest.Config
	// Channel creates the health channel of a namespace; nil for Flux.
	Channel func(namespace string) probe.Channel
	// Hints has the URLs of a repository that may have changed; nil for none.
	Hints <-chan []string
	// Meter records metrics.
	Meter Meter
	// Snapshots receives the findings of each pass.
	Snapshots *fleet.Snapshots
	// Clock is the real clock if nil.
	Clock clock.WithDelayedExecution
}

// Meter records metrics for operators.
type Meter interface {
	// Repo and Transport wrap a GitOps repository, and the HTTP transport to its forge.
	Repo(namespace, name string, repo engine.Repo) engine.Repo
	Transport(namespace, name string, next http.RoundTripper) http.RoundTripper
	// Pass records a finished pass. The report is nil if it failed with err.
	Pass(cp fleet.ControlPlane, report *engine.Report, err error, took time.Duration)
	// Channel wraps the health channel of a namespace.
	Channel(namespace string, channel probe.Channel) probe.Channel
	// Tiers records all tiers of a control plane, which are in its Plantings.
	Tiers(cp fleet.ControlPlane, plantings []v1alpha1.Planting)
	// Forget drops a control plane that no Seed names any more.
	Forget(cp fleet.ControlPlane)
}

// Reconciler runs the passes. Requests are control planes and not objects: all Seeds that name the
// same repository, branch and path are planned together, by one pass at a time. sessions has what
// stays open of each; writers keeps two control planes from writing to one repository at once.
type Reconciler struct {
	client client.Client
	// secrets reads without a cache, and only by name.
	secrets  client.Reader
	recorder events.EventRecorder
	options  Options
	sessions sessions
	writers  writers
	// limits are what forges allow; all sessions share them.
	limits forgerest.Limits
	queue  workqueue.TypedRateLimitingInterface[fleet.ControlPlane]
}

// Setup adds the controller to a manager.
func Setup(mgr ctrl.Manager, o Options) error {
	o.Clock = cmp.Or[clock.WithDelayedExecution](o.Clock, clock.RealClock{})
	r := &Reconciler{client: mgr.GetClient(), secrets: mgr.GetAPIReader(), recorder: mgr.GetEventRecorder("furrow"), options: o}
	r.sessions.open = map[fleet.ControlPlane]*session{}
	r.sessions.channels = map[string]*channel{}
	changed := predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, predicate.LabelChangedPredicate{})
	b := builder.TypedControllerManagedBy[fleet.ControlPlane](mgr).Named("seed").
		Watches(&v1alpha1.Seed{}, ofSeed(), builder.WithPredicates(predicate.Or(changed, deletion))).
		Watches(&v1alpha1.Planting{}, r.ofPlanting(), builder.WithPredicates(onlyDeleted)).
		WatchesRawSource(source.TypedFunc[fleet.ControlPlane](r.start)).
		WithOptions(controller.TypedOptions[fleet.ControlPlane]{
			MaxConcurrentReconciles: o.Concurrency, RateLimiter: fleet.Limiter[fleet.ControlPlane](), UsePriorityQueue: new(true),
		}).
		WithLogConstructor(func(cp *fleet.ControlPlane) logr.Logger {
			log := mgr.GetLogger().WithValues("controller", "seed")
			if cp != nil {
				log = log.WithValues("namespace", cp.Namespace, "controlPlane", cp.String())
			}
			return log
		})
	for _, document := range []client.Object{&v1alpha1.Cluster{}, &v1alpha1.ClusterType{}, &v1alpha1.GitOpsRepo{}, &v1alpha1.Template{}, &v1alpha1.RolloutPolicy{}} {
		b = b.Watches(document, r.ofNamespace(), builder.WithPredicates(changed))
	}
	c, err := b.Build(r)
	if err != nil {
		return err
	}
	sources := source.TypedKind(mgr.GetCache(), client.Object(&sourcev1.GitRepository{}), r.ofSource(), predicate.Or(changed, fetched))
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		return whenServed(ctx, mgr, func() error { return c.Watch(sources) })
	}))
}

// fluxPollInterval is how often the controller checks whether Flux was installed meanwhile.
const fluxPollInterval = 30 * time.Second

// whenServed calls do once the cluster serves GitRepositories: Flux may be installed after Furrow.
// A watch on a kind that is not served would keep the manager from starting.
func whenServed(ctx context.Context, mgr ctrl.Manager, do func() error) error {
	log, logged := mgr.GetLogger().WithValues("controller", "seed"), false
	kind := sourcev1.GroupVersion.WithKind(sourcev1.GitRepositoryKind)
	err := wait.PollUntilContextCancel(ctx, fluxPollInterval, true, func(context.Context) (bool, error) {
		_, err := mgr.GetRESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
		if err == nil {
			return true, do()
		}
		if !logged {
			log.Info("GitRepositories are not served here yet: Seeds name their repository by URL", "reason", err.Error())
		}
		logged = true
		return false, nil
	})
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// start keeps the queue, to which changes on clusters are added, and stops all channels
// at the end.
func (r *Reconciler) start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[fleet.ControlPlane]) error {
	r.queue = queue
	context.AfterFunc(ctx, r.sessions.stopChannels)
	go r.watchHints(ctx)
	return nil
}

// ofSeed maps a Seed to its control plane, one that is deleted as well.
func ofSeed() handler.TypedEventHandler[client.Object, fleet.ControlPlane] {
	return handler.TypedEnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []fleet.ControlPlane {
		seed, ok := o.(*v1alpha1.Seed)
		if !ok || seed.Spec.Source == nil {
			return nil
		}
		return []fleet.ControlPlane{fleet.Of(seed)}
	})
}

// ofNamespace maps a document to all control planes of its namespace.
func (r *Reconciler) ofNamespace() handler.TypedEventHandler[client.Object, fleet.ControlPlane] {
	return r.seedsWhere(func(client.Object, *v1alpha1.Seed) bool { return true })
}

func (r *Reconciler) ofSource() handler.TypedEventHandler[client.Object, fleet.ControlPlane] {
	return r.seedsWhere(func(o client.Object, s *v1alpha1.Seed) bool { return fleet.Of(s).GitRepository == o.GetName() })
}

func (r *Reconciler) ofPlanting() handler.TypedEventHandler[client.Object, fleet.ControlPlane] {
	return r.seedsWhere(func(o client.Object, s *v1alpha1.Seed) bool { return o.GetLabels()[v1alpha1.LabelSeed] == s.Name })
}

// seedsWhere maps an object to the control planes of those Seeds of its namespace that it concerns.
func (r *Reconciler) seedsWhere(concerns func(client.Object, *v1alpha1.Seed) bool) handler.TypedEventHandler[client.Object, fleet.ControlPlane] {
	return handler.TypedEnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []fleet.ControlPlane {
		var list v1alpha1.SeedList
		if err := r.client.List(ctx, &list, client.InNamespace(o.GetNamespace())); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "List the Seeds that an object concerns", "namespace", o.GetNamespace())
			return nil
		}
		var out []fleet.ControlPlane
		for i := range list.Items {
			if s := &list.Items[i]; s.Spec.Source != nil && concerns(o, s) {
				out = append(out, fleet.Of(s))
			}
		}
		return out
	})
}

// deletion accepts updates in which the deletion of an object begins.
var deletion = predicate.Funcs{
	CreateFunc: func(event.CreateEvent) bool { return true },
	DeleteFunc: func(event.DeleteEvent) bool { return true },
	UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero()
	},
}

// onlyDeleted accepts deletions only.
var onlyDeleted = predicate.Funcs{
	CreateFunc:  func(event.CreateEvent) bool { return false },
	UpdateFunc:  func(event.UpdateEvent) bool { return false },
	GenericFunc: func(event.GenericEvent) bool { return false },
}

// fetched accepts updates of a GitRepository in which the artifact's revision changes.
var fetched = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	was, ok := e.ObjectOld.(*sourcev1.GitRepository)
	is, too := e.ObjectNew.(*sourcev1.GitRepository)
	return ok && too && is.Status.Artifact != nil && (was.Status.Artifact == nil || was.Status.Artifact.Revision != is.Status.Artifact.Revision)
}}

// Reconcile runs one pass over a control plane. An error of the pass does not fail it: it is in the
// statuses, and next chooses the pause. Errors of the API server are returned, and retried by the
// queue.
func (r *Reconciler) Reconcile(ctx context.Context, cp fleet.ControlPlane) (reconcile.Result, error) {
	s, err := r.gather(ctx, cp)
	if err != nil {
		return reconcile.Result{}, err
	}
	if len(s.seeds) == 0 {
		r.forget(cp)
		return reconcile.Result{}, nil
	}
	if err := r.releaseSeeds(ctx, s); err != nil {
		return reconcile.Result{}, err
	}
	if len(s.Wanted)+len(s.Removed) == 0 && len(s.duplicates) == 0 {
		r.forget(cp)
		return reconcile.Result{}, nil
	}
	v := r.pass(ctx, s)
	if ctx.Err() != nil {
		return reconcile.Result{}, ctx.Err()
	}
	if apierrors.IsConflict(v.err) {
		return reconcile.Result{}, v.err // a Seed has changed since it was read
	}
	if err := r.finish(ctx, s, v); err != nil {
		return reconcile.Result{}, err
	}
	return r.next(s, v), nil
}

// next chooses when the next pass starts. Regular passes have a lower priority than those with
// a cause.
func (r *Reconciler) next(state *reconcileState, v view) reconcile.Result {
	s := state.session
	after, interruptible := s.pace.Next(v.report, v.err, r.options.Interval)
	if v.waitsForSecret() {
		after = min(after, credentialsInterval)
	}
	s.coolDown(r.options.Clock.Now(), after, interruptible)
	result := reconcile.Result{RequeueAfter: max(after, minPause), Priority: new(int)}
	if after > minPause && interruptible {
		*result.Priority = handler.LowPriority
	}
	return result
}

// credentialsInterval is how soon a pass is retried if credentials were refused or are
// missing: Secrets are not watched.
const credentialsInterval = 10 * time.Second

// forget drops a control plane that no Seed names.
func (r *Reconciler) forget(cp fleet.ControlPlane) {
	r.sessions.close(cp)
	_ = os.RemoveAll(r.cacheOf(cp)) // the remains of a cache do no harm
	r.options.Snapshots.Remove(cp)
	r.options.Meter.Forget(cp)
}

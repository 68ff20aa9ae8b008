package controllers

import (
	"context"
	"fmt"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/controllers/fleet"
	"github.com/furrow-dev/furrow/controllers/inventory"
	"github.com/furrow-dev/furrow/controllers/seed"
)

// Options configure the controllers.
type Options struct {
	// Seeds configures the passes; Clock, Snapshots and OwnConfig are set by Run.
	Seeds seed.Options
	// Namespace is the watched namespace; empty for all.
	Namespace string
	// MetricsAddress and HealthAddress are the addresses to listen on; "0" to disable.
	MetricsAddress, HealthAddress string
	// Webhooks receives webhooks until the context ends, on every replica; nil for not at all. What
	// they say comes by Seeds.Hints, which are taken once elected is closed.
	Webhooks func(ctx context.Context, elected <-chan struct{}) error
	// Elect enables leader election between replicas. ElectIn is the namespace of the
	// Lease; empty for that of the pod.
	Elect   bool
	ElectIn string
	// Log is the log for operators.
	Log logr.Logger
}

// The Lease of the leader: its duration, for how long renewal is tried, and how often.
const (
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second
	retryPeriod   = 2 * time.Second
	// grace is how long a pass may take to end at shutdown, because a push that has begun is
	// finished.
	grace = 30 * time.Second
)

// Scheme returns a scheme of all kinds that the controllers read and write.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, corev1.AddToScheme, sourcev1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return scheme, nil
}

// Run runs the controllers on the cluster that access reaches, until the context ends: the
// controller of Seeds, which makes the passes, and those of the inventory, which show the rest of a
// control plane in statuses from the snapshots of passes. Of several replicas only the leader runs
// them; it gives the Lease back when it ends, so another one need not wait for it to run out.
//
// The owner of the process must configure the logs of client libraries.
func Run(ctx context.Context, access *rest.Config, o Options) error {
	scheme, err := Scheme()
	if err != nil {
		return err
	}
	access = rest.CopyConfig(access)
	access.QPS = -1 // the API server's own fairness is enough
	access.UserAgent = "furrow-controller"
	mgr, err := ctrl.NewManager(access, manager.Options{
		Scheme: scheme, Logger: o.Log, Cache: cacheOptions(o.Namespace), Client: uncached(),
		Metrics: metricsserver.Options{BindAddress: o.MetricsAddress}, HealthProbeBindAddress: o.HealthAddress,
		LeaderElection: o.Elect, LeaderElectionID: LeaderElectionID, LeaderElectionNamespace: o.ElectIn, LeaderElectionReleaseOnCancel: true,
		LeaseDuration: ptr(leaseDuration), RenewDeadline: ptr(renewDeadline), RetryPeriod: ptr(retryPeriod), GracefulShutdownTimeout: ptr(grace),
		Controller: config.Controller{SkipNameValidation: ptr(true)}, // Run may be called again in the same process
	})
	if err != nil {
		return fmt.Errorf("setting up the controllers: %w", err)
	}
	snapshots := &fleet.Snapshots{}
	o.Seeds.Snapshots, o.Seeds.OwnConfig, o.Seeds.Clock = snapshots, access, clock.RealClock{}
	if err := seed.Setup(mgr, o.Seeds); err != nil {
		return fmt.Errorf("setting up the controller of Seeds: %w", err)
	}
	if err := inventory.Setup(mgr, snapshots, clock.RealClock{}); err != nil {
		return fmt.Errorf("setting up the controllers of the inventory: %w", err)
	}
	for _, add := range []func(string, healthz.Checker) error{mgr.AddHealthzCheck, mgr.AddReadyzCheck} {
		if err := add("ping", healthz.Ping); err != nil {
			return err
		}
	}
	if o.Webhooks != nil {
		serve := onEveryReplica(func(ctx context.Context) error { return o.Webhooks(ctx, mgr.Elected()) })
		if err := mgr.Add(serve); err != nil {
			return err
		}
	}
	return mgr.Start(ctx)
}

// onEveryReplica is a Runnable that needs no leader election.
type onEveryReplica func(context.Context) error

func (f onEveryReplica) Start(ctx context.Context) error { return f(ctx) }

func (onEveryReplica) NeedLeaderElection() bool { return false }

func ptr[T any](v T) *T { return &v }

// cacheOptions caches only what the controllers read, without managed fields, which can be most of
// an object and which nothing here reads.
func cacheOptions(namespace string) cache.Options {
	o := cache.Options{DefaultTransform: cache.TransformStripManagedFields()}
	if namespace != "" {
		o.DefaultNamespaces = map[string]cache.Config{namespace: {}}
	}
	return o
}

// uncached keeps Secrets out of the cache, which would list and watch them all: the role has no
// right to do that, on purpose (see the package comment).
func uncached() client.Options {
	return client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}}
}

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

// Options say how the controllers run.
type Options struct {
	// Seeds are those of the passes; Clock, Board and OwnConfig are filled in.
	Seeds seed.Options
	// Namespace is the only one that is watched; empty for all.
	Namespace string
	// MetricsAddress and HealthAddress are listened on; "0" for not at all.
	MetricsAddress, HealthAddress string
	// Elect lets one of several replicas work at a time. ElectIn is the namespace of
	// the Lease; empty for that of the pod.
	Elect   bool
	ElectIn string
	// Log is where operators read what happens.
	Log logr.Logger
}

// Lease of the replica that works: how long it is held without renewal, how long
// renewal is tried, and how often.
const (
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second
	retryPeriod   = 2 * time.Second
	// grace is how long a pass may take to end at shutdown: a push that has begun is finished.
	grace = 30 * time.Second
)

// Scheme knows all kinds that the controllers read and write.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, corev1.AddToScheme, sourcev1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return scheme, nil
}

// Run runs the controllers on the cluster that access reaches, until the context ends.
// What client libraries log is directed for the process as a whole, by who owns it.
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
	board := &fleet.Board{}
	o.Seeds.Board, o.Seeds.OwnConfig, o.Seeds.Clock = board, access, clock.RealClock{}
	if err := seed.Setup(mgr, o.Seeds); err != nil {
		return fmt.Errorf("setting up the controller of Seeds: %w", err)
	}
	if err := inventory.Setup(mgr, board, clock.RealClock{}); err != nil {
		return fmt.Errorf("setting up the controllers of the inventory: %w", err)
	}
	for _, add := range []func(string, healthz.Checker) error{mgr.AddHealthzCheck, mgr.AddReadyzCheck} {
		if err := add("ping", healthz.Ping); err != nil {
			return err
		}
	}
	return mgr.Start(ctx)
}

func ptr[T any](v T) *T { return &v }

// cacheOptions keeps of objects what the controllers read.
func cacheOptions(namespace string) cache.Options {
	o := cache.Options{DefaultTransform: cache.TransformStripManagedFields()}
	if namespace != "" {
		o.DefaultNamespaces = map[string]cache.Config{namespace: {}}
	}
	return o
}

// uncached keeps Secrets out of the cache, which would list and watch them all.
func uncached() client.Options {
	return client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}}
}

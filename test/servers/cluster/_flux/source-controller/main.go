// Command source-controller runs Flux's reconciler of Git repositories, and no other one: those of OCI repositories, Helm
// and buckets bring the clients of all clouds.
package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/fluxcd/pkg/artifact/digest"
	"github.com/fluxcd/pkg/artifact/storage"
	runtimeclient "github.com/fluxcd/pkg/runtime/client"
	helper "github.com/fluxcd/pkg/runtime/controller"
	"github.com/fluxcd/pkg/runtime/events"
	feathelper "github.com/fluxcd/pkg/runtime/features"
	"github.com/fluxcd/pkg/runtime/jitter"
	"github.com/fluxcd/pkg/runtime/leaderelection"
	"github.com/fluxcd/pkg/runtime/logger"
	"github.com/fluxcd/pkg/runtime/metrics"
	"github.com/fluxcd/pkg/runtime/probes"
	flag "github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlcfg "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/fluxcd/source-controller/internal/controller"
	"github.com/fluxcd/source-controller/internal/features"
)

const controllerName = "source-controller"

// options are the flags, which are called as those of the whole controller.
type options struct {
	metricsAddr, eventsAddr, healthAddr      string
	storagePath, storageAddr, storageAdvAddr string
	artifactDigest                           string
	artifactRetention                        time.Duration
	artifactRecords, concurrent              int
	requeueDependency                        time.Duration

	client      runtimeclient.Options
	log         logger.Options
	election    leaderelection.Options
	rateLimiter helper.RateLimiterOptions
	gates       feathelper.FeatureGates
	watch       helper.WatchOptions
	jitter      jitter.IntervalOptions
}

func (o *options) parse() {
	flag.StringVar(&o.metricsAddr, "metrics-addr", ":8080", "the address of the metrics")
	flag.StringVar(&o.eventsAddr, "events-addr", "", "the address of the events' receiver")
	flag.StringVar(&o.healthAddr, "health-addr", ":9440", "the address of the health checks")
	flag.StringVar(&o.storagePath, "storage-path", "", "the folder of the artifacts")
	flag.StringVar(&o.storageAddr, "storage-addr", ":9090", "the address to serve artifacts at")
	flag.StringVar(&o.storageAdvAddr, "storage-adv-addr", "localhost:9090", "the address of the artifacts' server for others")
	flag.StringVar(&o.artifactDigest, "artifact-digest-algo", digest.Canonical.String(), "the algorithm of the artifacts' digests")
	flag.DurationVar(&o.artifactRetention, "artifact-retention-ttl", time.Minute, "how long older artifacts are kept")
	flag.IntVar(&o.artifactRecords, "artifact-retention-records", 2, "how many artifacts are kept at most")
	flag.IntVar(&o.concurrent, "concurrent", 2, "how many objects are reconciled at once")
	flag.DurationVar(&o.requeueDependency, "requeue-dependency", 30*time.Second, "when failing dependencies are checked again")
	o.client.BindFlags(flag.CommandLine)
	o.log.BindFlags(flag.CommandLine)
	o.election.BindFlags(flag.CommandLine)
	o.rateLimiter.BindFlags(flag.CommandLine)
	o.gates.BindFlags(flag.CommandLine)
	o.watch.BindFlags(flag.CommandLine)
	o.jitter.BindFlags(flag.CommandLine)
	flag.Parse()
}

func main() {
	var o options
	o.parse()
	logger.SetLogger(logger.NewLogger(o.log))
	if err := run(o); err != nil {
		ctrl.Log.WithName("setup").Error(err, "cannot run")
		os.Exit(1)
	}
}

func run(o options) error {
	if err := o.gates.SupportedFeatures(features.FeatureGates()); err != nil {
		return fmt.Errorf("load the feature gates: %w", err)
	}
	if err := o.jitter.SetGlobalJitter(nil); err != nil {
		return fmt.Errorf("set the jitter: %w", err)
	}
	algorithm, err := digest.AlgorithmForName(o.artifactDigest)
	if err != nil {
		return fmt.Errorf("choose the algorithm of digests: %w", err)
	}
	digest.Canonical = algorithm
	artifacts, err := storage.NewStorage(o.storagePath, o.storageAdvAddr, o.artifactRetention, o.artifactRecords)
	if err != nil {
		return fmt.Errorf("open the storage of artifacts: %w", err)
	}
	mgr, err := o.manager()
	if err != nil {
		return fmt.Errorf("make the manager: %w", err)
	}
	probes.SetupChecks(mgr, ctrl.Log.WithName("setup"))
	recorder, err := events.NewRecorder(mgr, ctrl.Log, o.eventsAddr, controllerName)
	if err != nil {
		return fmt.Errorf("make the recorder of events: %w", err)
	}
	err = (&controller.GitRepositoryReconciler{
		Client:         mgr.GetClient(),
		EventRecorder:  recorder,
		Metrics:        helper.NewMetrics(mgr, metrics.MustMakeRecorder(), sourcev1.SourceFinalizer),
		Storage:        artifacts,
		ControllerName: controllerName,
	}).SetupWithManager(mgr, controller.GitRepositoryReconcilerOptions{
		DependencyRequeueInterval: o.requeueDependency,
		RateLimiter:               helper.GetRateLimiter(o.rateLimiter),
	})
	if err != nil {
		return fmt.Errorf("make the reconciler: %w", err)
	}
	served := make(chan error, 1)
	go func() {
		<-mgr.Elected()
		served <- http.ListenAndServe(o.storageAddr, http.FileServer(http.Dir(o.storagePath)))
	}()
	managed := make(chan error, 1)
	go func() { managed <- mgr.Start(ctrl.SetupSignalHandler()) }()
	select {
	case err := <-served:
		return errors.Join(errors.New("the server of artifacts ended"), err)
	case err := <-managed:
		return err
	}
}

// manager is set up as in the whole controller.
func (o *options) manager() (ctrl.Manager, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), sourcev1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	selector, err := helper.GetWatchSelector(o.watch)
	if err != nil {
		return nil, err
	}
	var uncached []client.Object
	if cached, err := features.Enabled(features.CacheSecretsAndConfigMaps); err != nil {
		return nil, err
	} else if !cached {
		uncached = []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}}
	}
	recoverPanic := true
	settings := ctrl.Options{
		Scheme:                        scheme,
		HealthProbeBindAddress:        o.healthAddr,
		LeaderElection:                o.election.Enable,
		LeaderElectionReleaseOnCancel: o.election.ReleaseOnCancel,
		LeaseDuration:                 &o.election.LeaseDuration,
		RenewDeadline:                 &o.election.RenewDeadline,
		RetryPeriod:                   &o.election.RetryPeriod,
		LeaderElectionID:              controllerName + "-leader-election",
		Logger:                        ctrl.Log,
		Client:                        client.Options{Cache: &client.CacheOptions{DisableFor: uncached}},
		Cache: ctrlcache.Options{
			ByObject: map[client.Object]ctrlcache.ByObject{&sourcev1.GitRepository{}: {Label: selector}},
		},
		Metrics:    metricsserver.Options{BindAddress: o.metricsAddr},
		Controller: ctrlcfg.Controller{RecoverPanic: &recoverPanic, MaxConcurrentReconciles: o.concurrent},
	}
	if !o.watch.AllNamespaces {
		settings.Cache.DefaultNamespaces = map[string]ctrlcache.Config{os.Getenv("RUNTIME_NAMESPACE"): {}}
	}
	return ctrl.NewManager(runtimeclient.GetConfigOrDie(o.client), settings)
}

package cli

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/furrow-dev/furrow/controllers"
	"github.com/furrow-dev/furrow/controllers/metrics"
	"github.com/furrow-dev/furrow/internal/core/release"
)

// controllerCommand is furrow controller.
type controllerCommand struct {
	options    controllers.Options
	kubeconfig string
	log        logFlags
}

func newController() *cobra.Command {
	c := &controllerCommand{}
	cmd := &cobra.Command{
		Use:   "controller",
		Short: "Plan, propose and release the Seeds of a Kubernetes cluster, over and over",
		Long: `Controller does what 'furrow run' does, for the Seed resources of the cluster that it runs in:
each names a control-plane repository and the seed in it that is to be planted. It shows in the
status of Seeds and Plantings which tier is where and what it waits for; 'kubectl get
seeds,plantings' and 'kubectl furrow' read that.

It keeps nothing of its own but a cache of the repositories. Of several replicas one works, and
another takes over when that one ends. A change of a resource, of a GitRepository of Flux or of
what a cluster's Flux reports is acted on at once; everything is looked at every --interval.

Clusters are reached through the Secret <cluster>-kubeconfig in the Seed's namespace, key value;
those that a seed creates, through the Secret that their creator leaves. With --cluster the
controller's own cluster is asked with its own permissions.

Outside of a cluster it needs --leader-elect=false or --leader-election-namespace.`,
		Example: `  furrow controller --cluster mgmt
  furrow controller --kubeconfig ~/.kube/config --leader-elect=false --namespace fleet --log-format text`,
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd) },
	}
	flags := cmd.Flags()
	flags.StringVar(&c.options.Namespace, "namespace", os.Getenv("FURROW_NAMESPACE"), "watch this namespace only; or set FURROW_NAMESPACE (default: all)")
	flags.StringVar(&c.options.Seeds.Own, "cluster", os.Getenv("FURROW_CLUSTER"), "name under which the fleet knows the cluster that the controller runs in; or set FURROW_CLUSTER (default: it is not part of the fleet)")
	flags.DurationVar(&c.options.Seeds.Interval, "interval", time.Minute, "longest pause between two passes, unless a server does not answer")
	flags.IntVar(&c.options.Seeds.Concurrency, "concurrency", 2, "how many control planes are looked at at once")
	flags.StringVar(&c.options.Seeds.Cache, "cache", "", "directory of the mirrors; may be deleted at any time (default: furrow/controller in the user's cache directory)")
	flags.StringVar(&c.options.Seeds.ID, "id", "", "control-plane id, the first part of the owner of plans (default: the repository's name)")
	flags.StringVar(&c.options.Seeds.Environment, "environment", "default", "environment, the second part of the owner of plans")
	flags.IntVar(&c.options.Seeds.DeletionGuard, "deletion-guard", release.DefaultDeletionGuard, "percent of all plantings that may be removed at once without 'kubectl furrow confirm'")
	flags.BoolVar(&c.options.Seeds.Strict, "strict", false, "make an error of a namespace or kind that nobody brings")
	allowHTTP(flags, &c.options.Seeds.AllowHTTP)
	flags.StringVar(&c.options.MetricsAddress, "metrics-bind-address", ":8080", "address that metrics are served on; 0 for not at all")
	flags.StringVar(&c.options.HealthAddress, "health-probe-bind-address", ":8081", "address that /healthz and /readyz are served on; 0 for not at all")
	flags.BoolVar(&c.options.Elect, "leader-elect", true, "let one of several replicas work at a time")
	flags.StringVar(&c.options.ElectIn, "leader-election-namespace", "", "namespace of the Lease of the replica that works (default: that of the pod)")
	flags.StringVar(&c.kubeconfig, "kubeconfig", "", "kubeconfig of the cluster, for a controller outside of it (default: that of the pod)")
	c.log.add(cmd)
	return cmd
}

func (c *controllerCommand) run(cmd *cobra.Command) error {
	log, err := c.log.open(cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	config, err := c.config()
	if err != nil {
		return err
	}
	if c.options.Seeds.Interval < time.Second || c.options.Seeds.Concurrency < 1 {
		return usageError{errors.New("--interval is at least 1s, and --concurrency at least 1")}
	}
	if c.options.Seeds.Cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return fmt.Errorf("there is no cache directory: %w; name one with --cache", err)
		}
		c.options.Seeds.Cache = filepath.Join(dir, "furrow", "controller")
	}
	c.options.Log = log
	ctrl.SetLogger(log)
	klog.SetLogger(log.WithName("client"))
	if c.options.Seeds.Meter, err = metrics.Register(ctrlmetrics.Registry, versionString(), clock.RealClock{}); err != nil {
		return fmt.Errorf("setting up the metrics: %w", err)
	}
	return controllers.Run(cmd.Context(), config, c.options)
}

// config is how the cluster is reached.
func (c *controllerCommand) config() (*rest.Config, error) {
	if c.kubeconfig != "" {
		config, err := clientcmd.BuildConfigFromFlags("", c.kubeconfig)
		if err != nil {
			return nil, fmt.Errorf("the kubeconfig %s: %w", c.kubeconfig, err)
		}
		return config, nil
	}
	config, err := rest.InClusterConfig()
	if err != nil {
		return nil, fmt.Errorf("this is no pod of a cluster: %w; name a kubeconfig with --kubeconfig", err)
	}
	return config, nil
}

// logFlags say how operators read what happens.
type logFlags struct{ level, format string }

func (f *logFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.level, "log-level", "info", "least level that is logged: debug, info, warn or error")
	cmd.Flags().StringVar(&f.format, "log-format", "json", "json or text")
}

func (f *logFlags) open(w io.Writer) (logr.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.level)); err != nil {
		return logr.Logger{}, usageError{fmt.Errorf("--log-level %q is none of debug, info, warn and error", f.level)}
	}
	o := &slog.HandlerOptions{Level: level}
	switch f.format {
	case "json":
		return logr.FromSlogHandler(slog.NewJSONHandler(w, o)), nil
	case "text":
		return logr.FromSlogHandler(slog.NewTextHandler(w, o)), nil
	}
	return logr.Logger{}, usageError{fmt.Errorf("--log-format %q is neither json nor text", f.format)}
}

package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
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
	"github.com/furrow-dev/furrow/internal/webhook"
)

// controllerCommand is furrow controller.
type controllerCommand struct {
	options    controllers.Options
	kubeconfig string
	record     string
	hooks      webhookFlags
	log        logFlags
}

// maxConcurrency bounds how many control planes are worked on at once.
const maxConcurrency = 1_000_000

func newController() *cobra.Command {
	c := &controllerCommand{}
	cmd := &cobra.Command{
		Use:   "controller",
		Short: "Plan, propose and release the Seeds of a Kubernetes cluster, over and over",
		Long: `Controller does what 'furrow run' does, for the Seed resources of the cluster that it runs in:
each names a control-plane repository and the seed in it to plant. It shows in the
status of Seeds and Plantings which tier is where and what it waits for; 'kubectl get
seeds,plantings' and 'kubectl furrow' read that.

It keeps nothing of its own but a cache of the repositories. Of several replicas one works, and
another takes over when that one ends. A change of a resource, of a GitRepository of Flux or of
what a cluster's Flux reports is acted on at once, and with --webhook-bind-address also what a
forge's webhook reports; everything is observed every --interval.

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
	addEnvironmentText(flags, &c.options.Namespace, "namespace", "FURROW_NAMESPACE", "watch this namespace only; or set FURROW_NAMESPACE (default: all)", dnsLabel)
	addEnvironmentText(flags, &c.options.Seeds.Own, "cluster", "FURROW_CLUSTER", "name under which the fleet knows the cluster that the controller runs in; or set FURROW_CLUSTER (default: it is not part of the fleet)", dnsLabel)
	addInterval(flags, &c.options.Seeds.Interval, time.Minute, "longest pause between two passes, unless a server does not answer")
	flags.Var(numberFlag(&c.options.Seeds.Concurrency, 2, 1, maxConcurrency), "concurrency", "how many control planes are processed at once")
	flags.Var(textFlag(&c.options.Seeds.Cache, "", possibleDirectory), "cache", "directory of the mirrors; may be deleted at any time (default: furrow/controller in the user's cache directory)")
	flags.Var(textFlag(&c.options.Seeds.ID, "", ownerPart), "id", "control-plane id, the first part of the owner of plans, where no ControlPlane document names it (default: the repository's name)")
	flags.Var(textFlag(&c.options.Seeds.Environment, "default", ownerPart), "environment", "environment, the second part of the owner of plans")
	addDeletionGuard(flags, &c.options.Seeds.DeletionGuard, "kubectl furrow confirm")
	flags.BoolVar(&c.options.Seeds.Strict, "strict", false, "make an error of a namespace or kind that no seed or cluster provides, and of a field that the schema of its kind refuses")
	flags.BoolVar(&c.options.Seeds.TakeOver, "take-over", false, "in the first pass of a control plane, replace plans that a newer or unrelated commit of it made")
	allowHTTP(flags, &c.options.Seeds.AllowHTTP)
	limitFlags(flags, &c.options.Seeds.Limits)
	addPlugins(cmd, &c.options.Seeds.Plugins)
	flags.Var(textFlag(&c.options.MetricsAddress, ":8080", bindAddress), "metrics-bind-address", "address that metrics are served on; 0 for not at all")
	flags.Var(textFlag(&c.options.HealthAddress, ":8081", bindAddress), "health-probe-bind-address", "address that /healthz and /readyz are served on; 0 for not at all")
	flags.BoolVar(&c.options.Elect, "leader-elect", true, "let one of several replicas work at a time")
	flags.Var(textFlag(&c.options.ElectIn, "", dnsLabel), "leader-election-namespace", "namespace of the Lease of the replica that works (default: that of the pod)")
	flags.Var(textFlag(&c.kubeconfig, "", existingFile), "kubeconfig", "kubeconfig of the cluster, for a controller outside of it (default: that of the pod)")
	flags.Var(textFlag(&c.record, "", possibleDirectory), "record", "directory for records of the passes that decide something new, the newest 200 of each control plane, for 'furrow replay'")
	directories(cmd, "record")
	c.hooks.add(cmd, "webhook-bind-address")
	c.log.add(cmd)
	return cmd
}

// run checks what no flag can check by itself, sets up logs and metrics, which belong to the
// process, and runs the controllers.
func (c *controllerCommand) run(cmd *cobra.Command) error {
	log, err := c.log.open(cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	if c.options.MetricsAddress == c.options.HealthAddress && c.options.MetricsAddress != "0" && !strings.HasSuffix(c.options.MetricsAddress, ":0") {
		return usageError{fmt.Errorf("--metrics-bind-address and --health-probe-bind-address are both %s: give each an address of its own", c.options.MetricsAddress)}
	}
	config, err := c.config()
	if err != nil {
		return err
	}
	if c.options.Seeds.Cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return fmt.Errorf("there is no cache directory: %w; name one with --cache", err)
		}
		c.options.Seeds.Cache = filepath.Join(dir, "furrow", "controller")
	}
	if c.record != "" {
		if c.options.Seeds.Record, err = recordBelow(c.record, func(err error) { log.Error(err, "A pass is not recorded") }); err != nil {
			return err
		}
	}
	handler, hints, err := c.hooks.open("webhook-bind-address")
	if err != nil {
		return err
	}
	if handler != nil {
		c.options.Seeds.Hints = hints
		c.options.Webhooks = func(ctx context.Context, elected <-chan struct{}) error {
			handler.Activate(elected)
			return handler.Serve(ctx, c.hooks.address, func(at net.Addr) { log.Info("Webhooks are received", "address", at.String(), "path", webhook.Path) })
		}
	}
	c.options.Log = log
	ctrl.SetLogger(log)
	klog.SetLogger(log.WithName("client"))
	if c.options.Seeds.Meter, err = metrics.Register(ctrlmetrics.Registry, versionString(), clock.RealClock{}); err != nil {
		return fmt.Errorf("setting up the metrics: %w", err)
	}
	return controllers.Run(cmd.Context(), config, c.options)
}

// config returns how the cluster is reached.
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
		return nil, fmt.Errorf("this is not a pod of a cluster: %w; name a kubeconfig with --kubeconfig", err)
	}
	return config, nil
}

// logFlags say how operators read what happens.
type logFlags struct{ level, format string }

func (f *logFlags) add(cmd *cobra.Command) {
	cmd.Flags().Var(textFlag(&f.level, "info", oneOf("debug", "info", "warn", "error")), "log-level", "least level that is logged: debug, info, warn or error")
	cmd.Flags().Var(textFlag(&f.format, "json", oneOf("json", "text")), "log-format", "json or text")
}

func (f *logFlags) open(w io.Writer) (logr.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.level)); err != nil {
		return logr.Logger{}, err
	}
	o := &slog.HandlerOptions{Level: level}
	if f.format == "text" {
		return logr.FromSlogHandler(slog.NewTextHandler(w, o)), nil
	}
	return logr.FromSlogHandler(slog.NewJSONHandler(w, o)), nil
}

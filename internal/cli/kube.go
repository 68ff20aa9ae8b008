package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	_ "k8s.io/client-go/plugin/pkg/client/auth/oidc" // the kubeconfig may sign in by it
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// kubeManager owns the fields that kubectl furrow writes. It does not begin with
// "kubectl": Flux takes the fields of such managers out of what it applies.
const kubeManager = "furrow-kubectl"

// The names by which kubectl calls the binary.
const (
	kubeName     = "kubectl-furrow"
	kubeComplete = "kubectl_complete-furrow"
)

// kubeCalled reports whether a program's name is one that kubectl calls, and returns the arguments
// for kubectl furrow. kubectl runs kubectl-furrow for "kubectl furrow", and kubectl_complete-furrow
// for its completion, with the words so far; both are this binary by another name.
func kubeCalled(program string, args []string) (kubeArgs []string, is bool) {
	switch strings.TrimSuffix(filepath.Base(filepath.ToSlash(program)), ".exe") {
	case kubeName:
		return args, true
	case kubeComplete:
		return append([]string{cobra.ShellCompRequestCmd}, args...), true
	}
	return nil, false
}

// kubeCluster is the API server of a cluster whose Seeds are read, with the permissions of the
// user. It is for one command.
type kubeCluster struct {
	client.WithWatch
	// host of the API server, for messages.
	host string
	// namespace to read; empty for all.
	namespace string
	now       func() time.Time
}

// connector makes a client of the cluster that the flags name. Tests have one without a cluster.
type connector func(*kubeFlags) (*kubeCluster, error)

// kubeFlags are kubectl's flags that say which cluster, and as whom, by the same names. kubectl
// takes none of them for a plugin: they come after its name.
type kubeFlags struct {
	connect connector

	kubeconfig, context, cluster, user, namespace, timeout string
	as                                                     string
	asGroups                                               []string
	// all is --all-namespaces, of commands that have it.
	all bool
}

func (f *kubeFlags) add(root *cobra.Command) {
	flags := root.PersistentFlags()
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig file to use (default: those of KUBECONFIG, else ~/.kube/config)")
	flags.StringVar(&f.context, "context", "", "context of the kubeconfig to use")
	flags.StringVar(&f.cluster, "cluster", "", "cluster of the kubeconfig to use, which is none of the fleet's names")
	flags.StringVar(&f.user, "user", "", "user of the kubeconfig to use")
	flags.VarP(textFlag(&f.namespace, "", dnsLabel), "namespace", "n", "namespace of the Seeds (default: that of the context)")
	flags.Var(textFlag(&f.timeout, "0", timeLimit), "request-timeout", "how long to wait for one answer of the API server, as in 10s; 0 for no limit")
	flags.StringVar(&f.as, "as", "", "user to impersonate")
	flags.StringArrayVar(&f.asGroups, "as-group", nil, "group to impersonate; may be given several times")
	mustComplete(root, "context", f.completeContexts)
	mustComplete(root, "namespace", f.completeNamespaces)
	files(root, "kubeconfig")
}

// addAll is for commands that can read all namespaces.
func (f *kubeFlags) addAll(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&f.all, "all-namespaces", "A", false, "all namespaces")
}

// config returns the kubeconfig as kubectl would find it, with what the flags override.
func (f *kubeFlags) config() clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{
		CurrentContext: f.context,
		Context:        clientcmdapi.Context{Cluster: f.cluster, AuthInfo: f.user, Namespace: f.namespace},
		AuthInfo:       clientcmdapi.AuthInfo{Impersonate: f.as, ImpersonateGroups: f.asGroups},
		Timeout:        f.timeout,
	})
}

// scheme returns the kinds that are read through the API server.
func scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		v1alpha1.AddToScheme, corev1.AddToScheme, coordinationv1.AddToScheme, sourcev1.AddToScheme,
	} {
		if err := add(s); err != nil {
			panic(err) // two types of one name: no test passes
		}
	}
	return s
}

// connect is the connector of kubeconfigs. Warnings of the API server and logs of the client are
// dropped: they would be lines in the middle of a table.
func connect(f *kubeFlags) (*kubeCluster, error) {
	config, err := f.clientConfig()
	if err != nil {
		return nil, err
	}
	namespace, _, err := f.config().Namespace()
	if err != nil {
		return nil, fmt.Errorf("the kubeconfig: %w", err)
	}
	c := &kubeCluster{host: config.Host, namespace: namespace, now: time.Now}
	c.WithWatch, err = client.NewWithWatch(config, client.Options{Scheme: scheme()})
	return c, c.explainAPIError(err)
}

// clientConfig returns what a client of the cluster is made of.
func (f *kubeFlags) clientConfig() (*rest.Config, error) {
	log.SetLogger(logr.Discard())
	config, err := f.config().ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, manifest.Problem{Reason: v1alpha1.ReasonKubeConfigMissing, Message: "there is no kubeconfig: set KUBECONFIG, or name a file with --kubeconfig"}
	}
	if err != nil {
		return nil, fmt.Errorf("the kubeconfig: %w", err)
	}
	config.UserAgent = kubeName + "/" + versionString()
	config.WarningHandlerWithContext = rest.NoWarnings{}
	return config, nil
}

// open connects to the cluster that the flags select.
func (f *kubeFlags) open() (*kubeCluster, error) {
	if f.all && f.namespace != "" {
		return nil, usageError{errors.New("--namespace and --all-namespaces exclude each other")}
	}
	c, err := f.connect(f)
	if err == nil && f.all {
		c.namespace = ""
	}
	return c, err
}

// with connects for a command, and explains errors of the API server to people.
func (f *kubeFlags) with(do func(cmd *cobra.Command, c *kubeCluster, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		c, err := f.open()
		if err != nil {
			return err
		}
		return c.explainAPIError(do(cmd, c, args))
	}
}

// explainAPIError adds to an error of the API server what to do about it. A kind that the server
// does not know and an object that does not exist are both "not found"; only the latter names the
// object. An error of another server, such as that of a repository, is left as it is.
func (c *kubeCluster) explainAPIError(err error) error {
	var outside *url.Error
	switch {
	case err == nil:
		return nil
	case meta.IsNoMatchError(err), apierrors.IsNotFound(err) && apiDetails(err).Name == "":
		return fmt.Errorf("the API server %s does not know Furrow's resources (%w). Install the CRDs, or choose another cluster with --context", c.host, err)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%w. Ask for a role that allows that, or choose another namespace with -n", err)
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("the API server %s does not accept your credentials (%w). Sign in anew, or choose another user of the kubeconfig with --user", c.host, err)
	case errors.As(err, &outside) && !errors.Is(err, context.Canceled) && strings.HasPrefix(outside.URL, c.host):
		return fmt.Errorf("the API server %s does not answer: %w. Check that it can be reached, or choose another cluster with --context", c.host, outside.Err)
	}
	return err
}

// apiDetails returns what the API server says of an error, beside its message; the zero value where
// it says nothing.
func apiDetails(err error) metav1.StatusDetails {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) && status.Status().Details != nil {
		return *status.Status().Details
	}
	return metav1.StatusDetails{}
}

// in returns the options of a listing in the namespace that is read, or in all.
func (c *kubeCluster) in(more ...client.ListOption) []client.ListOption {
	if c.namespace == "" {
		return more
	}
	return append(more, client.InNamespace(c.namespace))
}

// where names the namespaces that are read.
func (c *kubeCluster) where() string {
	if c.namespace == "" {
		return "any namespace"
	}
	return "namespace " + c.namespace
}

// seed reads one Seed. One that is not there is an error that names those that are.
func (c *kubeCluster) seed(ctx context.Context, name string) (*v1alpha1.Seed, error) {
	seed := &v1alpha1.Seed{}
	err := c.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: name}, seed)
	if err == nil || !apierrors.IsNotFound(err) || apiDetails(err).Name == "" {
		return seed, err
	}
	return nil, c.noSeed(ctx, name)
}

// noSeed returns an error that names the Seeds there are instead: one of that name in another
// namespace, as far as the user may list those, else the most similar ones in this one.
func (c *kubeCluster) noSeed(ctx context.Context, name string) error {
	message := fmt.Sprintf("there is no Seed %q in %s", name, c.where())
	var list v1alpha1.SeedList
	if c.List(ctx, &list) != nil && c.List(ctx, &list, c.in()...) != nil {
		return manifest.Problem{Reason: v1alpha1.ReasonUnknownSeed, Message: message}
	}
	var here, elsewhere []string
	for i := range list.Items {
		s := &list.Items[i]
		switch {
		case s.Namespace == c.namespace || c.namespace == "":
			here = append(here, s.Name)
		case s.Name == name:
			elsewhere = append(elsewhere, s.Namespace)
		}
	}
	switch {
	case len(elsewhere) > 0:
		message += "; there is one in namespace " + strings.Join(elsewhere, ", ")
	case len(here) > 0:
		message += "; there are: " + strings.Join(nearest(name, here), ", ")
	default:
		message += ", which has no Seeds; choose another namespace with -n"
	}
	return manifest.Problem{Reason: v1alpha1.ReasonUnknownSeed, Message: message}
}

// maxNames is how many names a message lists.
const maxNames = 8

// nearest returns the names that are most like one, at most maxNames.
func nearest(name string, names []string) []string {
	return manifest.Nearest(name, names)[:min(len(names), maxNames)]
}

// newKubectl returns the root of the commands that kubectl furrow has.
func newKubectl(connect connector) *cobra.Command {
	f := &kubeFlags{connect: connect}
	root := &cobra.Command{
		Use:         kubeName,
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl furrow"},
		Short:       "Follow and steer the seeds that 'furrow controller' plants",
		Long: `The plugin of kubectl for Seeds: which tier is where, what waits for whom, and what you are
asked to decide. It reads Seeds and Plantings and writes nothing but Seeds; the controller does
the work. To explain and plan, it also reads Furrow's other kinds, the Secrets and GitRepositories
that are named, and the repositories.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 problems found in the input,
4 a state is not reached.`,
		Example: `  kubectl furrow status
  kubectl furrow status edge-5g --watch
  kubectl furrow retry edge-5g`,
	}
	finishRoot(root, []group{
		{"Follow what runs (changes nothing):", []*cobra.Command{newKubeStatus(f), newKubeExplain(f), newKubePlan(f)}},
		{"Decide:", []*cobra.Command{newKubeRetry(f), newKubeConfirm(f), newKubeRollout(f), newKubeSuspend(f), newKubeResume(f), newKubeAbandon(f)}},
	})
	f.add(root)
	return root
}

package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/furrow-dev/furrow/test/servers/store"
)

// ClusterOptions says what a cluster consists of, besides etcd and the API server.
type ClusterOptions struct {
	// Name is the cluster's name in its kubeconfig and of its nodes; empty is "cluster".
	Name string
	// Dir is the cluster's own folder: not there, empty, or from before.
	Dir string
	// Controllers starts kube-controller-manager: deletion of namespaces, garbage collection,
	// Deployments.
	Controllers bool
	// OnlyControllers are those that kube-controller-manager runs; none are all of its default ones.
	OnlyControllers []string
	// ServiceAccounts switches on admission by ServiceAccount: a pod is refused while its account is
	// missing. It needs controllers that make the account default of each namespace.
	ServiceAccounts bool
	// Egress is the path of a Unix socket on which an HTTP proxy gets all that the API server sends
	// to Services, by CONNECT; empty is none: it then dials their addresses.
	Egress string
	// Scheduler starts kube-scheduler.
	Scheduler bool
	// Nodes is how many nodes KWOK plays, <name>-node-1 and so on, on which every pod soon is
	// Ready. More than none starts the controllers and the scheduler too.
	Nodes int
	// Audit lets the API server log who asked for which change, and how it answered.
	Audit bool
	// AuditAll are the users whose requests the API server logs without exception.
	AuditAll []string
	// Port is the API server's; 0 is that of before, or a free one.
	Port int
}

// Cluster is a running cluster.
type Cluster struct {
	// Name is that of the options. URL is the API server's. Dir is the cluster's folder, with all
	// logs in Dir/logs.
	Name string
	URL  string
	Dir  string
	// Config and KubeConfig are those of a user who may do everything, without a limit on requests;
	// the kubeconfig holds its certificates. KubeConfigFile is where it is kept.
	Config         *rest.Config
	KubeConfig     []byte
	KubeConfigFile string
	// AuditLog is the path of the audit log, one JSON event a line; empty without
	// ClusterOptions.Audit.
	AuditLog string

	options   ClusterOptions
	bin       store.Bin
	authority *authority
	client    client.Client

	port, etcdPort  int
	etcd, apiServer *process
	controllers     []*process
	flux            []*Flux

	audited  journal[AuditEvent]
	failures journal[FluxFailure]
}

// StartCluster starts a cluster in its folder, with what it held before, and waits until it is
// ready: with nodes, until these are. ctx bounds the start only.
func StartCluster(ctx context.Context, options ClusterOptions) (*Cluster, error) {
	needed := ForCluster
	if options.Nodes > 0 {
		options.Controllers, options.Scheduler = true, true
		needed = ForNodes
	}
	bin, err := Find(needed...)
	if err != nil {
		return nil, err
	}
	if options.Name == "" {
		options.Name = "cluster"
	}
	c := &Cluster{Name: options.Name, options: options, bin: bin}
	if c.Dir, err = ownDir(options.Dir, "pki"); err != nil {
		return nil, fmt.Errorf("start cluster %s: %w", c.Name, err)
	}
	if err := c.prepare(); err != nil {
		return nil, err
	}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start cluster %s: %w", c.Name, err), c.Stop())
	}
	return c, nil
}

// prepare makes what the servers read.
func (c *Cluster) prepare() error {
	// The first one is the folder's mark.
	for _, folder := range []string{"pki", "logs", "kubeconfig", "home"} {
		if err := os.MkdirAll(filepath.Join(c.Dir, folder), 0o755); err != nil {
			return fmt.Errorf("make the cluster's folders: %w", err)
		}
	}
	var err error
	if c.authority, err = openAuthority(filepath.Join(c.Dir, "pki")); err != nil {
		return err
	}
	if err := c.authority.issueServer("apiserver"); err != nil {
		return err
	}
	if err := c.authority.issueKeyPair("service-accounts"); err != nil {
		return err
	}
	if c.options.Egress != "" {
		if err := os.WriteFile(c.egressFile(), fmt.Appendf(nil, egressConfiguration, c.options.Egress), 0o644); err != nil {
			return fmt.Errorf("write the egress configuration: %w", err)
		}
	}
	if !c.options.Audit {
		return nil
	}
	c.AuditLog = filepath.Join(c.Dir, "logs", "audit.log")
	if err := os.WriteFile(c.auditPolicyFile(), []byte(auditPolicyFor(c.options.AuditAll)), 0o644); err != nil {
		return fmt.Errorf("write the audit policy: %w", err)
	}
	return nil
}

// start starts everything, the first server that others need first.
func (c *Cluster) start(ctx context.Context) error {
	if err := onFreePort(func(port int) error { return c.startEtcd(ctx, port) }); err != nil {
		return err
	}
	err := onKeptPort(filepath.Join(c.Dir, "port"), c.options.Port, func(port int) error {
		if err := c.use(port); err != nil {
			return err
		}
		return c.StartAPIServer(ctx)
	})
	if err != nil {
		return err
	}
	return c.startControllers(ctx)
}

// use makes clients for the API server at port.
func (c *Cluster) use(port int) error {
	c.port, c.URL = port, "https://"+loopback(port)
	var err error
	if c.KubeConfig, c.KubeConfigFile, err = c.kubeConfig("admin"); err != nil {
		return err
	}
	c.Config, c.client, err = newClient(c.KubeConfig)
	return err
}

// Stop ends the cluster, Flux included, and leaves its folder as it is. It is fine on one that was
// stopped.
func (c *Cluster) Stop() error {
	var stops []func() error
	for _, flux := range c.flux {
		stops = append(stops, flux.Stop)
	}
	for _, controller := range c.controllers {
		stops = append(stops, func() error { return controller.stop(controllerGrace) })
	}
	err := together(stops...)
	c.flux, c.controllers = nil, nil
	// The API server hangs in its end when etcd is gone before it.
	return errors.Join(err, c.StopAPIServer(), c.etcd.stop(etcdGrace))
}

// Wipe ends the cluster and starts it empty, on the same port and with the same certificates, as
// one that was lost and made anew. Flux is ended and not started again.
func (c *Cluster) Wipe(ctx context.Context) error {
	if err := c.Stop(); err != nil {
		return err
	}
	if err := os.RemoveAll(c.etcdDir()); err != nil {
		return fmt.Errorf("delete what cluster %s held: %w", c.Name, err)
	}
	return c.start(ctx)
}

package servers

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/furrow-dev/furrow/test/servers/store"
)

// How long servers may take to end by themselves. The API server waits for a minute for clients
// that watch to go, and loses nothing when it is killed: all that it answered is in etcd.
const (
	apiServerGrace = time.Second
	etcdGrace      = 3 * time.Second
)

// startEtcd starts etcd on port and waits for it.
func (c *Cluster) startEtcd(ctx context.Context, port int) error {
	url := "http://" + loopback(port)
	etcd, err := start(c.command(c.bin, Etcd, "etcd",
		"--data-dir="+c.etcdDir(),
		"--listen-client-urls="+url,
		"--advertise-client-urls="+url,
		// There are no peers, but etcd insists on listening for them.
		"--listen-peer-urls=http://127.0.0.1:0",
		"--unsafe-no-fsync",
		"--log-level=warn",
	))
	if err != nil {
		return err
	}
	c.etcd, c.etcdPort = etcd, port
	return etcd.await(ctx, answers(http.DefaultClient, url+"/health"))
}

// StartAPIServer starts the API server of a cluster whose API server was stopped, on the same port,
// and waits for it.
func (c *Cluster) StartAPIServer(ctx context.Context) error {
	args := []string{
		"--etcd-servers=http://" + loopback(c.etcdPort),
		fmt.Sprintf("--secure-port=%d", c.port),
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		"--endpoint-reconciler-type=none",
		"--enable-aggregator-routing=true",
		"--service-cluster-ip-range=10.0.0.0/24",
		"--authorization-mode=RBAC",
		"--allow-privileged=true",
		"--tls-cert-file=" + c.authority.certFile("apiserver"),
		"--tls-private-key-file=" + c.authority.keyFile("apiserver"),
		"--client-ca-file=" + c.authority.certFile("ca"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + filepath.Join(c.authority.dir, "service-accounts.pub"),
		"--service-account-signing-key-file=" + c.authority.keyFile("service-accounts"),
	}
	if !c.options.ServiceAccounts {
		args = append(args, "--disable-admission-plugins=ServiceAccount")
	}
	if c.options.Egress != "" {
		args = append(args, "--egress-selector-config-file="+c.egressFile())
	}
	if c.options.Audit {
		// In megabytes: it is never taken from under those who read it.
		args = append(args, "--audit-policy-file="+c.auditPolicyFile(), "--audit-log-path="+c.AuditLog, "--audit-log-maxsize=1000000")
	}
	apiServer, err := start(c.command(c.bin, Kubernetes, "kube-apiserver", args...))
	if err != nil {
		return err
	}
	c.apiServer = apiServer
	https, err := rest.HTTPClientFor(c.Config)
	if err != nil {
		return fmt.Errorf("make a client for the API server: %w", err)
	}
	ready := answers(https, c.URL+"/readyz")
	return apiServer.await(ctx, func(ctx context.Context) error {
		if err := ready(ctx); err != nil {
			return err
		}
		// It is ready a moment before it has made the namespaces that everybody expects.
		return c.client.Get(ctx, client.ObjectKey{Name: "default"}, &corev1.Namespace{})
	})
}

// StopAPIServer ends the API server alone: connections are refused until StartAPIServer.
func (c *Cluster) StopAPIServer() error {
	return c.apiServer.stop(apiServerGrace)
}

// Pause holds the API server still: connections are made and nothing answers, until Resume.
func (c *Cluster) Pause() error {
	return c.apiServer.cmd.Process.Signal(syscall.SIGSTOP)
}

// Resume lets a paused API server go on.
func (c *Cluster) Resume() error {
	return c.apiServer.cmd.Process.Signal(syscall.SIGCONT)
}

// command returns a program of the cluster, which runs in the cluster's folder.
func (c *Cluster) command(bin store.Bin, server Name, program string, args ...string) command {
	return command{
		name: program, program: bin.Program(server, program), args: args,
		dir: filepath.Join(c.Dir, "home"), logs: filepath.Join(c.Dir, "logs"),
	}
}

func (c *Cluster) etcdDir() string { return filepath.Join(c.Dir, "etcd") }

// egressConfiguration sends what is for Services to a Unix socket.
const egressConfiguration = `apiVersion: apiserver.k8s.io/v1beta1
kind: EgressSelectorConfiguration
egressSelections:
- name: cluster
  connection:
    proxyProtocol: HTTPConnect
    transport: {uds: {udsName: %q}}
`

func (c *Cluster) egressFile() string { return filepath.Join(c.Dir, "egress.yaml") }

func (c *Cluster) auditPolicyFile() string { return filepath.Join(c.Dir, "audit-policy.yaml") }

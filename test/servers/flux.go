package servers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"github.com/furrow-dev/furrow/test/servers/store"
)

// FluxOptions says how to start Flux.
type FluxOptions struct {
	// SourceArgs and KustomizeArgs are further flags of the two controllers.
	SourceArgs    []string
	KustomizeArgs []string
}

// Flux is source-controller and kustomize-controller at work on one cluster: the reconcilers of
// GitRepository and Kustomization, without decryption and without the logins of clouds and of
// GitHub Apps. The pair is not a released one: the storage of artifacts is that of
// source-controller 1.3.
type Flux struct {
	cluster *Cluster
	options FluxOptions
	bin     store.Bin
	running []*process
}

// fluxNamespace is where Flux lives.
const fluxNamespace = "flux-system"

// StartFlux installs Flux's CRDs and the namespace flux-system, starts the controllers and waits
// until they are ready. ctx bounds the start only. Stop of the cluster stops them too.
func (c *Cluster) StartFlux(ctx context.Context, options FluxOptions) (*Flux, error) {
	bin, err := Find(ForFlux...)
	if err != nil {
		return nil, err
	}
	install := []byte("apiVersion: v1\nkind: Namespace\nmetadata: {name: " + fluxNamespace + "}\n")
	for _, name := range []Name{SourceController, KustomizeController} {
		crds, err := CRDs(name)
		if err != nil {
			return nil, err
		}
		install = append(install, crds...)
	}
	if err := c.Apply(ctx, install); err != nil {
		return nil, fmt.Errorf("install Flux: %w", err)
	}
	f := &Flux{cluster: c, options: options, bin: bin}
	if err := f.start(ctx); err != nil {
		return nil, err
	}
	c.flux = append(c.flux, f)
	return f, nil
}

// start starts the controllers: first the one whose artifacts the other one fetches, as that waits
// long after a failure. What does not start is stopped with the rest.
func (f *Flux) start(ctx context.Context) error {
	f.running = nil
	err := f.startSource(ctx)
	if err == nil {
		args := append([]string{"--requeue-dependency=2s"}, f.options.KustomizeArgs...)
		err = f.startController(ctx, KustomizeController, args, nothing)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("start Flux on cluster %s: %w", f.cluster.Name, err), f.Stop())
	}
	return nil
}

// startSource starts source-controller. Its artifacts keep their address, which the cluster's
// objects hold.
func (f *Flux) startSource(ctx context.Context) error {
	storage := filepath.Join(f.cluster.Dir, "artifacts")
	if err := os.MkdirAll(storage, 0o755); err != nil {
		return fmt.Errorf("make the folder of artifacts: %w", err)
	}
	return onKeptPort(filepath.Join(f.cluster.Dir, "artifacts-port"), 0, func(port int) error {
		args := append([]string{
			"--storage-path=" + storage,
			"--storage-addr=" + loopback(port),
			"--storage-adv-addr=" + loopback(port),
		}, f.options.SourceArgs...)
		return f.startController(ctx, SourceController, args, listens(port))
	})
}

// startController starts a controller, whose program is called as its server, and waits until it is
// ready and passes another check.
func (f *Flux) startController(ctx context.Context, server Name, args []string, and func(context.Context) error) error {
	_, kubeConfig, err := f.cluster.kubeConfig(string(server))
	if err != nil {
		return err
	}
	temporary := filepath.Join(f.cluster.Dir, "tmp-"+string(server))
	if err := os.MkdirAll(temporary, 0o755); err != nil {
		return fmt.Errorf("make the folder of temporary files: %w", err)
	}
	return onFreePort(func(port int) error {
		c := f.cluster.command(f.bin, server, string(server), append([]string{
			"--watch-all-namespaces=true",
			"--enable-leader-election=false",
			"--events-addr=",
			"--metrics-addr=0",
			"--health-addr=" + loopback(port),
			"--interval-jitter-percentage=0",
		}, args...)...)
		c.env = []string{"RUNTIME_NAMESPACE=" + fluxNamespace, "KUBECONFIG=" + kubeConfig, "TMPDIR=" + temporary}
		controller, err := start(c)
		if err != nil {
			return err
		}
		ready := answers(http.DefaultClient, "http://"+loopback(port)+"/readyz")
		err = controller.await(ctx, func(ctx context.Context) error { return cmp.Or(ready(ctx), and(ctx)) })
		if err == nil {
			f.running = append(f.running, controller)
		}
		return err
	})
}

// nothing is a check that is always satisfied.
func nothing(context.Context) error { return nil }

// Stop ends both controllers. It is fine on a Flux that was stopped.
func (f *Flux) Stop() error {
	var stops []func() error
	for _, controller := range f.running {
		stops = append(stops, func() error { return controller.stop(controllerGrace) })
	}
	return together(stops...)
}

// Restart ends both controllers and starts them again.
func (f *Flux) Restart(ctx context.Context) error {
	if err := f.Stop(); err != nil {
		return err
	}
	return f.start(ctx)
}

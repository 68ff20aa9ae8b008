package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/furrow-dev/furrow/test/program"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/furrow-dev/furrow/test/servers"
)

// needed are the programs of the world and of the clusters that seeds create.
var needed = []servers.Name{
	servers.GiteaServer, servers.Etcd, servers.Kubernetes, servers.KWOK,
	servers.SourceController, servers.KustomizeController, servers.ClusterAPI,
}

// startLimit is the timeout for the start of the world, and of each cluster.
const startLimit = 5 * time.Minute

// buildLimit is the timeout for building furrow, including its libraries.
const buildLimit = 15 * time.Minute

// world is what all stories share.
type world struct {
	dir   string
	gitea *servers.Gitea
	// mgmt is the management cluster, watch a watching client for it.
	mgmt  *servers.Cluster
	watch client.WithWatch
	flux  *servers.Flux
	// sites are the other shared clusters, in the order of siteNames; startSites starts them.
	sites     []*servers.Cluster
	siteStart sync.Once
	siteErr   error
	// furrow is the path of the program.
	furrow string
}

// shared is the world of this process; the first story starts it.
var shared struct {
	once  sync.Once
	world world
	err   error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if code == 0 && shared.world.mgmt != nil && wholeSuite() {
		if err := checkUnused(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	if err := shared.world.end(code != 0); err != nil {
		fmt.Fprintln(os.Stderr, "end the world:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// theWorld returns the shared world, or skips the test if its servers are not built.
func theWorld(t testing.TB) *world {
	t.Helper()
	servers.Need(t, needed...)
	shared.once.Do(func() {
		began := time.Now()
		shared.err = shared.world.start()
		t.Logf("the world: %s", time.Since(began).Round(10*time.Millisecond))
	})
	if shared.err != nil {
		t.Fatalf("start the world: %v", shared.err)
	}
	return &shared.world
}

func (w *world) start() (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	if w.dir, err = os.MkdirTemp("", "furrow-e2e-"); err != nil {
		return err
	}
	return together(
		func() (err error) {
			w.gitea, err = servers.StartGitea(ctx, servers.GiteaOptions{Dir: filepath.Join(w.dir, "gitea")})
			return err
		},
		func() error { return w.startManagement(ctx) },
		w.build,
	)
}

// another returns a world with the same Gitea and furrow, and a management cluster of its own, whose Flux soon retries
// what failed while the API server was down.
func (w *world) another(ctx context.Context, dir string) (*world, error) {
	other := &world{dir: dir, gitea: w.gitea, furrow: w.furrow}
	return other, other.startManagement(ctx, impatient...)
}

// impatient makes Flux retry within seconds, not minutes, while an API server is unreachable.
var impatient = []string{"--max-retry-delay=2s"}

// startManagement starts the management cluster with Flux, the Cluster API's CRDs, and Furrow's shipped objects.
func (w *world) startManagement(ctx context.Context, flux ...string) (err error) {
	w.mgmt, err = servers.StartCluster(ctx, servers.ClusterOptions{
		Name: "mgmt", Dir: filepath.Join(w.dir, "mgmt"), Controllers: true, Audit: true, AuditAll: []string{controllerUser, confinedUser},
	})
	if err != nil {
		return err
	}
	if w.watch, err = client.NewWithWatch(w.mgmt.Config, client.Options{Scheme: w.mgmt.Client().Scheme()}); err != nil {
		return err
	}
	crds, err := servers.CRDs(servers.ClusterAPI)
	if err != nil {
		return err
	}
	ours, err := shipped()
	if err != nil {
		return err
	}
	return together(
		func() error { return w.mgmt.Apply(ctx, crds) },
		func() error { return w.mgmt.Apply(ctx, ours) },
		func() (err error) {
			w.flux, err = w.mgmt.StartFlux(ctx, servers.FluxOptions{SourceArgs: flux, KustomizeArgs: flux})
			return err
		},
	)
}

// build finds furrow, or builds it.
func (w *world) build() (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), buildLimit)
	defer cancel()
	w.furrow, err = program.Furrow(ctx, w.dir)
	return err
}

// end stops and removes everything; logs are kept if a test failed.
func (w *world) end(failed bool) error {
	if w.dir == "" {
		return nil
	}
	var errs []error
	for _, site := range w.sites {
		errs = append(errs, site.Stop())
	}
	if w.mgmt != nil {
		errs = append(errs, w.mgmt.Stop())
	}
	if w.gitea != nil {
		errs = append(errs, w.gitea.Stop())
	}
	if failed {
		for _, name := range append([]string{"mgmt", "gitea"}, siteNames...) {
			fmt.Fprintln(os.Stderr, "logs:", keepLogs("world", name, filepath.Join(w.dir, name, "logs")))
		}
	}
	return errors.Join(append(errs, os.RemoveAll(w.dir))...)
}

// keepLogs copies a directory of logs to $FURROW_LOGS, or to the temporary directory, and returns the new path.
func keepLogs(whose, name, logs string) string {
	root := os.Getenv("FURROW_LOGS")
	if root == "" {
		root = filepath.Join(os.TempDir(), "furrow-logs")
	}
	kept := filepath.Join(root, "e2e", whose, name)
	_ = os.RemoveAll(kept)
	if err := os.CopyFS(kept, os.DirFS(logs)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err.Error()
	}
	return kept
}

// together runs functions at once and joins their errors.
func together(functions ...func() error) error {
	errs := make([]error, len(functions))
	var all sync.WaitGroup
	for i, f := range functions {
		all.Go(func() { errs[i] = f() })
	}
	all.Wait()
	return errors.Join(errs...)
}

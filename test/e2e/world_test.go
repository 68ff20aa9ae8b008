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

// needed are the servers of the world and of the clusters that seeds create.
var needed = []servers.Name{
	servers.GiteaServer, servers.Etcd, servers.Kubernetes, servers.KWOK,
	servers.SourceController, servers.KustomizeController, servers.ClusterAPI,
}

// startLimit bounds the start of the world, and of each cluster.
const startLimit = 5 * time.Minute

// buildLimit bounds the build of furrow, whose libraries may have to be compiled too.
const buildLimit = 15 * time.Minute

// world is what all stories share.
type world struct {
	dir   string
	gitea *servers.Gitea
	// mgmt is the management cluster, watch a client of it that can watch.
	mgmt  *servers.Cluster
	watch client.WithWatch
	flux  *servers.Flux
	// sites are the clusters that stories share beside it, in order of siteNames; startSites starts them.
	sites     []*servers.Cluster
	siteStart sync.Once
	siteErr   error
	// furrow is the program.
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

// theWorld is the world that is there, or skips the test where its servers are not built.
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

// another is a world with the same Gitea and furrow, and a management cluster of its own, whose Flux soon tries again what
// failed while the API server was away.
func (w *world) another(ctx context.Context, dir string) (*world, error) {
	other := &world{dir: dir, gitea: w.gitea, furrow: w.furrow}
	return other, other.startManagement(ctx, impatient...)
}

// impatient has what fails while an API server does not answer tried again soon, and not after minutes.
var impatient = []string{"--max-retry-delay=2s"}

// startManagement starts the management cluster with Flux, the Cluster API's CRDs, and what is shipped of Furrow.
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

// end stops everything and removes it; logs are kept when a test failed.
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

// keepLogs copies a folder of logs to $FURROW_LOGS, or to the temporary folder, and says where they are.
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

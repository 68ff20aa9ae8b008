// Package kubectl tests the plugin as people use it: through kubectl, on a real API
// server. The tests do what a controller would do.
package kubectl

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/furrow-dev/furrow/test/program"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/test/servers"
)

const root = "../.."

// limit is the timeout of one wait.
const limit = 30 * time.Second

// user is a user of kubectl and its plugin on a cluster.
type user struct {
	t       *testing.T
	cluster *servers.Cluster
	// client does what the controller does.
	client client.WithWatch
	env    []string
	path   string
}

// newUser installs the plugin as documented.
func newUser(t *testing.T) *user {
	t.Helper()
	bin := servers.Need(t, servers.ForCluster...)
	u := &user{t: t, cluster: servers.MustCluster(t, servers.ClusterOptions{Name: "kubectl"}), path: bin.Program(servers.Kubernetes, "kubectl")}
	dir := t.TempDir()
	built, err := program.Furrow(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"kubectl-furrow", "kubectl_complete-furrow"} {
		if err := os.Symlink(built, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	u.env = []string{"PATH=" + dir + string(os.PathListSeparator) + os.Getenv("PATH"), "KUBECONFIG=" + u.cluster.KubeConfigFile, "HOME=" + t.TempDir()}
	return u
}

// install installs the CRDs and a planted seed on the cluster.
func (u *user) install() {
	u.t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "config/crd/bases/*.yaml"))
	if err != nil || len(files) == 0 {
		u.t.Fatalf("no CRDs: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			u.t.Fatal(err)
		}
		u.apply(string(data))
	}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		u.t.Fatal(err)
	}
	if u.client, err = client.NewWithWatch(u.cluster.Config, client.Options{Scheme: scheme}); err != nil {
		u.t.Fatal(err)
	}
	u.apply(`{apiVersion: furrow.dev/v1alpha1, kind: Seed, metadata: {name: web, namespace: default},
  spec: {source: {url: "https://git.example.com/acme/control-plane.git"}}}`)
	u.apply(`{apiVersion: furrow.dev/v1alpha1, kind: Planting, metadata: {name: web.east, namespace: default, labels: {furrow.dev/seed: web, furrow.dev/cluster-name: east}},
  spec: {seed: web, cluster: east}}`)
}

func (u *user) apply(document string) {
	u.t.Helper()
	if err := u.cluster.Apply(u.t.Context(), []byte(document)); err != nil {
		u.t.Fatal(err)
	}
}

// plant writes the statuses that a controller would write, with one tier in the state.
func (u *user) plant(state string) {
	u.t.Helper()
	now := metav1.NewTime(time.Now())
	var planting v1alpha1.Planting
	u.get("web.east", &planting)
	planting.Status.State = state
	planting.Status.Tiers = []v1alpha1.PlantingTier{{
		State: state, Since: now, Message: "waits to be merged",
		Proposal: &v1alpha1.ProposalLink{Repo: "fleet", Branch: "furrow/main/tier/web/east/00", Title: "Plant web on east, tier 00", URL: "https://git.example.com/acme/fleet/pulls/1"},
	}}
	if err := u.client.Status().Update(u.t.Context(), &planting); err != nil {
		u.t.Fatal(err)
	}
	u.report(func(s *v1alpha1.SeedStatus) {
		s.State, s.Progress, s.ObservedGeneration = state, "0/1", 1
		s.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: state, Message: "waiting for review", LastTransitionTime: now}}
	})
}

func (u *user) get(name string, o client.Object) {
	u.t.Helper()
	if err := u.client.Get(u.t.Context(), client.ObjectKey{Namespace: "default", Name: name}, o); err != nil {
		u.t.Fatal(err)
	}
}

// report changes the status of the Seed.
func (u *user) report(change func(*v1alpha1.SeedStatus)) {
	u.t.Helper()
	var seed v1alpha1.Seed
	u.get("web", &seed)
	change(&seed.Status)
	if err := u.client.Status().Update(u.t.Context(), &seed); err != nil {
		u.t.Fatal(err)
	}
}

func (u *user) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, u.path, args...)
	cmd.Env, cmd.Dir = u.env, u.t.TempDir()
	return cmd
}

// kubectl runs kubectl, and returns its output and exit code.
func (u *user) kubectl(words string) (output string, code int) {
	u.t.Helper()
	ctx, cancel := context.WithTimeout(u.t.Context(), limit)
	defer cancel()
	out, err := u.command(ctx, strings.Fields(words)...).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		u.t.Fatalf("kubectl %s: %v", words, err)
	}
	if exit != nil {
		code = exit.ExitCode()
	}
	return string(out), code
}

// says runs kubectl, which must exit with the code and print all parts.
func (u *user) says(words string, code int, parts ...string) {
	u.t.Helper()
	out, got := u.kubectl(words)
	if got != code {
		u.t.Errorf("kubectl %s ends with %d:\n%s", words, got, out)
	}
	for _, part := range parts {
		if !strings.Contains(out, part) {
			u.t.Errorf("kubectl %s does not print %q:\n%s", words, part, out)
		}
	}
}

// answer handles the requests of people, as a controller does, until it is stopped.
func (u *user) answer() (stop func()) {
	u.t.Helper()
	ctx, cancel := context.WithTimeout(u.t.Context(), limit)
	w, err := u.client.Watch(ctx, &v1alpha1.SeedList{}, client.InNamespace("default"))
	if err != nil {
		u.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for e := range w.ResultChan() {
			seed, ok := e.Object.(*v1alpha1.Seed)
			if !ok {
				continue
			}
			asked := v1alpha1.HandledRequests{Retry: seed.Annotations[v1alpha1.AnnotationRetry], Abandon: seed.Annotations[v1alpha1.AnnotationAbandon]}
			if asked == seed.Status.Handled {
				continue
			}
			seed.Status.Handled = asked
			if err := u.client.Status().Update(ctx, seed); err != nil && !apierrors.IsConflict(err) {
				u.t.Errorf("the status cannot be written: %v", err)
			}
		}
	}()
	return func() {
		w.Stop()
		<-ended
		cancel()
	}
}

func TestThePluginOfKubectl(t *testing.T) {
	u := newUser(t)
	u.says("furrow status", 1, "does not know Furrow's resources", "Install the CRDs")
	u.install()
	u.says("furrow status", 0, "no controller has observed it since it was created")
	u.plant("Proposed")

	t.Run("status", func(t *testing.T) {
		u.says("furrow status", 0, "Seed web: Proposed, 0 of 1 tier done", "east tier 00  Proposed")
		u.says("furrow status web -n default", 0, "Seed web: Proposed", "east tier 00  Proposed", "Plant web on east, tier 00: https://git.example.com/acme/fleet/pulls/1")
		u.says("furrow status -A -o yaml", 0, "kind: Status", "state: Proposed")
		u.says("furrow status wbe", 1, `there is no Seed "wbe" in namespace default; there are: web`)
		u.says("furrow status -n nowhere", 0, "There are no Seeds in namespace nowhere.")
	})
	t.Run("a watch", func(t *testing.T) { u.watches() })
	t.Run("retry and abandon", func(t *testing.T) {
		u.says("furrow retry web", 0, "Nothing to retry: the last pass found no tier of Seed web")
		u.says("furrow confirm web", 0, "Nothing to confirm: the last pass found no removal of Seed web")
		var planting v1alpha1.Planting
		u.get("web.east", &planting)
		planting.Status.Tiers[0].Retry = true
		if err := u.client.Status().Update(u.t.Context(), &planting); err != nil {
			t.Fatal(err)
		}
		stop := u.answer()
		u.says("furrow retry web", 0, "Requested: the controller proposes again, of Seed web: east tier 00 (Proposed).", "The controller has acted on the retry of Seed web.")
		stop()
		u.says("furrow retry web --timeout 200ms", 1, "timed out waiting for the controller")
		u.says("furrow abandon east", 1, "Seed default/web, which is Proposed", "add --yes")
		defer u.answer()()
		u.says("furrow abandon east --yes --by ada", 0, "The controller has acted on the list of abandoned clusters of Seed web.")
		var seed v1alpha1.Seed
		u.get("web", &seed)
		if got := seed.Annotations[v1alpha1.AnnotationAbandon]; got != "east by ada" {
			t.Errorf("the list is %q", got)
		}
	})
	t.Run("suspend", func(t *testing.T) {
		u.says("furrow suspend web", 0, "Seed web is suspended.")
		u.says("furrow status", 0, ", suspended")
		u.apply(`{apiVersion: furrow.dev/v1alpha1, kind: Seed, metadata: {name: web, namespace: default, labels: {kustomize.toolkit.fluxcd.io/name: seeds, kustomize.toolkit.fluxcd.io/namespace: flux-system}},
  spec: {suspend: true, source: {url: "https://git.example.com/acme/control-plane.git"}}}`)
		u.says("furrow resume web", 0, "Seed web is resumed.", "is set by Kustomization flux-system/seeds of Flux, which will set it back")
		u.says("furrow resume web", 0, "Seed web is not suspended already.")
	})
	t.Run("somebody without rights", func(t *testing.T) {
		u.says("furrow status --as ann", 1, `User "ann" cannot list resource "seeds"`, "Ask for a role that allows that")
		u.says("furrow retry web --as ann", 1, `User "ann" cannot get resource "seeds"`)
		u.says("furrow status --context nowhere", 1, `context "nowhere" does not exist`)
	})
	t.Run("completion", func(t *testing.T) {
		u.says("__complete furrow s", 0, "status\t", "suspend\t")
		u.says("__completeNoDesc furrow status w", 0, "web\n", ":4")
		u.says("__completeNoDesc furrow abandon e", 0, "east\n", ":4")
	})
	t.Run("a server that has gone", func(t *testing.T) {
		if err := u.cluster.StopAPIServer(); err != nil {
			t.Fatal(err)
		}
		u.says("furrow status", 1, "the API server "+u.cluster.URL+" does not answer: ")
	})
}

// watches follows the status in the background while it changes.
func (u *user) watches() {
	u.t.Helper()
	ctx, cancel := context.WithTimeout(u.t.Context(), limit)
	defer cancel()
	cmd := u.command(ctx, "furrow", "status", "web", "--watch")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		u.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		u.t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	shows := func(what string) {
		u.t.Helper()
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				u.t.Fatalf("%q was not shown: %v\n%s", what, err, stderr.String())
			}
			if strings.Contains(line, what) {
				return
			}
		}
	}
	shows("Seed web: Proposed")
	u.plant("Merged")
	shows("Seed web: Merged")
	u.plant("Proposed")
	shows("Seed web: Proposed")
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		u.t.Error(err)
	}
	if _, err := io.Copy(io.Discard, lines); err != nil {
		u.t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		u.t.Errorf("an interrupted watch exits with %v: %s", err, stderr.String())
	}
}

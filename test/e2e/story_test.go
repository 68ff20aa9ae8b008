package e2e

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	sdk "code.gitea.io/sdk/gitea"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/furrow-dev/furrow/test/servers"
)

const (
	// limit is the timeout of one wait of a story; an idle machine needs a small part of it.
	limit = 5 * time.Minute
	// tick is the polling interval of stories.
	tick = 500 * time.Millisecond
	// rootName is the name of a story's root and of its source.
	rootName = "root"
)

// story is one fleet with its people, in the shared world. Methods that act or wait must be called on the test's goroutine,
// and fail the current step.
type story struct {
	// t is the test, or its current step.
	t     testing.TB
	world *world
	name  string
	// namespace has the root and its source; the names of all other namespaces of the story on the management cluster
	// begin with it, except those in more.
	namespace string
	more      []string
	dir       string

	controlPlane, gitops *repository
	person, robot, flux  account
	asPerson             *sdk.Client
	wire                 *wire
	// controller is nil if the story uses furrow run.
	controller *controllerFront
	provider   *provider
	observer   *observer

	// records is the directory in which furrow run records its passes; empty if it does not.
	records string
	// startsFrom and startedAt are when the API server of the management cluster was restarted, and was ready.
	startsFrom, startedAt time.Time
	// reported are the violations that were already reported.
	reported map[string]bool

	mu      sync.Mutex
	running *process
}

// storyOption changes what a story consists of.
type storyOption func(*storyOptions)

type storyOptions struct {
	oneRepository bool
	namespaces    []string
	controller    bool
	confined      bool
	ownManagement bool
	wire          *wire
	dates         string
	observed      time.Duration
}

// inOneRepository has people commit seeds to the repository that reconcilers read.
func inOneRepository(o *storyOptions) { o.oneRepository = true }

// throughController uses furrow controller instead of furrow run.
func throughController(o *storyOptions) { o.controller = true }

// confined installs the controller in the story's namespace, with a Role instead of a ClusterRole.
func confined(o *storyOptions) { o.controller, o.confined = true, true }

// withItsOwnManagement gives the story a management cluster of its own, which it may disturb.
func withItsOwnManagement(o *storyOptions) { o.ownManagement = true }

// onWire has furrow use Gitea at the address of an earlier story.
func onWire(w *wire) storyOption { return func(o *storyOptions) { o.wire = w } }

// withDates gives all commits of people one date, so equal commits have equal ids.
func withDates(date string) storyOption { return func(o *storyOptions) { o.dates = date } }

// observedEvery sets the observer's polling interval, for many stories at once.
func observedEvery(pause time.Duration) storyOption {
	return func(o *storyOptions) { o.observed = pause }
}

// ofNamespaces adds namespaces on the management cluster to the story, regardless of their names.
func ofNamespaces(names ...string) storyOption {
	return func(o *storyOptions) { o.namespaces = names }
}

// names are the names of all stories so far.
var names sync.Map

// mustBeApart fails if the namespaces of two stories cannot be distinguished by name.
func mustBeApart(t testing.TB, name string) {
	t.Helper()
	names.Store(name, true)
	names.Range(func(other, _ any) bool {
		if is, was := name+"-", other.(string)+"-"; is != was && (strings.HasPrefix(is, was) || strings.HasPrefix(was, is)) {
			t.Fatalf("the story %q has namespaces of the story %q", name, other)
		}
		return true
	})
}

// newStory creates repositories, users and a root on the management cluster. name is a DNS label that is unique and not a
// prefix of another story's name.
func newStory(t testing.TB, name string, options ...storyOption) *story {
	t.Helper()
	mustBeApart(t, name)
	o := storyOptions{observed: tick}
	for _, option := range options {
		option(&o)
	}
	s := &story{t: t, world: theWorld(t), name: name, namespace: "story-" + name, more: o.namespaces, reported: map[string]bool{}}
	var err error
	if s.dir, err = os.MkdirTemp("", "furrow-story-"+name+"-"); err != nil {
		t.Fatal(err)
	}
	if s.wire = o.wire; s.wire == nil {
		s.wire = newWire(t, s.world.gitea.URL)
	}
	t.Cleanup(func() { s.end(t) })
	ctx, cancel := context.WithTimeout(t.Context(), startLimit)
	defer cancel()
	if o.ownManagement {
		var err error
		if s.world, err = s.world.another(ctx, filepath.Join(s.dir, "world")); err != nil {
			t.Fatalf("start another management cluster: %v", err)
		}
	}
	if err := s.prepare(ctx, o); err != nil {
		t.Fatalf("prepare the story: %v", err)
	}
	s.observer = newObserver(s, o.observed)
	return s
}

func (s *story) prepare(ctx context.Context, o storyOptions) (err error) {
	gitea, org := s.world.gitea, "org-"+s.name
	for role, who := range map[string]*account{"person": &s.person, "furrow": &s.robot, "flux": &s.flux} {
		if *who, err = createAccount(ctx, gitea, role+"-"+s.name); err != nil {
			return err
		}
	}
	if s.asPerson, err = s.person.client(gitea.URL); err != nil {
		return err
	}
	if err := gitea.CreateOrg(ctx, org); err != nil {
		return err
	}
	open := func(name string) (*repository, error) {
		url, err := createRepository(ctx, gitea, org, name, s.person, s.robot, s.flux)
		if err != nil {
			return nil, err
		}
		r, err := clone(org, name, url, filepath.Join(s.dir, name), s.person)
		if err == nil && o.dates != "" {
			err = r.beginAnew(o.dates)
		}
		return r, err
	}
	if s.gitops, err = open("gitops"); err != nil {
		return err
	}
	s.controlPlane = s.gitops
	if !o.oneRepository {
		if s.controlPlane, err = open("control-plane"); err != nil {
			return err
		}
	}
	if _, err := s.gitops.commit("main", "Set up the root", files{"clusters/mgmt/README.md": "The root of cluster mgmt syncs this.\n"}); err != nil {
		return err
	}
	for _, set := range []string{"control-plane", "gitops"} {
		if err := writeFile(filepath.Join(s.dir, "credentials", set, "token"), s.robot.token); err != nil {
			return err
		}
	}
	if err := writeFile(filepath.Join(s.dir, "credentials", "gitops", "url"), s.wire.server.URL); err != nil {
		return err
	}
	if err := writeFile(filepath.Join(s.dir, "kubeconfigs", "mgmt.yaml"), string(s.world.mgmt.KubeConfig)); err != nil {
		return err
	}
	if err := s.bootstrap(ctx); err != nil || !o.controller {
		return err
	}
	return s.prepareController(ctx, o.confined)
}

// bootstrap makes the management cluster sync its directory of the GitOps repository.
func (s *story) bootstrap(ctx context.Context) error {
	return s.world.mgmt.Bootstrap(ctx, servers.RootOptions{
		URL: s.gitops.url, Path: "./clusters/mgmt", Namespace: s.namespace, Name: rootName,
		Username: s.flux.name, Password: s.flux.token,
	})
}

func writeFile(path, content string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(content), 0o600)
}

// end checks the story's rules a last time, stops what it started, and keeps the logs if it failed.
func (s *story) end(t testing.TB) {
	s.t = t
	if s.running != nil && !s.running.ended() {
		s.stop()
	}
	if s.observer != nil {
		s.observer.end()
		s.checkRules()
	}
	if s.controller != nil {
		s.hidesTheToken()
		err := noteRights(s.world.mgmt)
		rest, unusedErr := unused()
		if err := errors.Join(err, unusedErr); err != nil {
			t.Error(err)
		}
		t.Logf("rights that no story has made use of so far: %v", slices.Sorted(maps.Keys(rest)))
	}
	if s.provider != nil {
		s.provider.end()
	}
	if t.Failed() {
		t.Log("logs:", keepLogs(s.name, "furrow", filepath.Join(s.dir, "logs")))
	}
	s.clear(context.Background())
	if s.world.mgmt != shared.world.mgmt {
		if err := s.world.mgmt.Stop(); err != nil {
			t.Errorf("stop the story's management cluster: %v", err)
		}
		if t.Failed() {
			t.Log("logs:", keepLogs(s.name, "mgmt", filepath.Join(s.world.mgmt.Dir, "logs")))
		}
	}
	if err := os.RemoveAll(s.dir); err != nil {
		t.Error(err)
	}
}

// clear deletes the story's root and tiers from the management cluster, and leaves what they applied, so Flux has no
// more work for it. The root is deleted first: it would create the others again.
func (s *story) clear(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	mgmt := s.world.mgmt.Client()
	all := s.kustomizations(ctx)
	slices.SortStableFunc(all, func(a, b kustomizev1.Kustomization) int { return cmp.Compare(rank(a.Name), rank(b.Name)) })
	for i := range all {
		before := all[i].DeepCopy()
		all[i].Spec.Suspend, all[i].Finalizers = true, nil
		_ = mgmt.Patch(ctx, &all[i], client.MergeFrom(before))
		_ = mgmt.Delete(ctx, &all[i])
	}
	_ = mgmt.Delete(ctx, s.source())
}

func rank(name string) int {
	if name == rootName {
		return 0
	}
	return 1
}

// source returns the source of the story's root, with only its name set.
func (s *story) source() *sourcev1.GitRepository {
	return &sourcev1.GitRepository{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: rootName}}
}

// fleet returns the control plane's documents of the fleet: one repository and the management cluster, on which seeds may
// create clusters of type edge.
func (s *story) fleet() files {
	return files{
		"fleet/gitops-repo.yaml": fmt.Sprintf(`apiVersion: furrow.dev/v1alpha1
kind: GitOpsRepo
metadata: {name: gitops}
spec: {url: %q, forge: Gitea, credentials: gitops}
`, s.wire.through(s.world.gitea.URL, s.gitops.url)),
		"fleet/mgmt.yaml": fmt.Sprintf(`apiVersion: furrow.dev/v1alpha1
kind: ClusterType
metadata: {name: management}
spec:
  source: {name: %s, namespace: %s}
---
apiVersion: furrow.dev/v1alpha1
kind: ClusterType
metadata: {name: edge}
---
apiVersion: furrow.dev/v1alpha1
kind: Cluster
metadata: {name: mgmt}
spec:
  role: Management
  type: management
  defaultClusterType: edge
  provides:
    customResourceDefinitions: [clusters.cluster.x-k8s.io]
`, rootName, s.namespace),
	}
}

// step runs a part of the story as a subtest named by a sentence; the story ends with the first failing step.
func (s *story) step(sentence string, run func()) {
	whole, ok := s.t.(*testing.T)
	if !ok {
		run()
		return
	}
	began := time.Now()
	passed := whole.Run(sentence, func(t *testing.T) {
		s.t = t
		run()
		s.checkRules()
		t.Logf("%s", time.Since(began).Round(10*time.Millisecond))
		if s.controller != nil {
			s.readByTools()
			output, _ := s.tryKubectl("get", "seeds,plantings")
			t.Logf("people see:\n%s", output)
		}
	})
	s.t = whole
	if !passed {
		whole.FailNow()
	}
}

// commit commits to the control plane as the person.
func (s *story) commit(message string, changes ...files) {
	s.t.Helper()
	if _, err := s.controlPlane.commit("main", message, changes...); err != nil {
		s.t.Fatalf("commit to the control plane: %v", err)
	}
	if s.controller != nil {
		s.applySeeds(changes)
	}
}

// commitToBase commits to the base branch of the GitOps repository as the person, and returns the commit.
func (s *story) commitToBase(message string, changes ...files) string {
	s.t.Helper()
	commit, err := s.gitops.commit("main", message, changes...)
	if err != nil {
		s.t.Fatalf("commit to the base branch: %v", err)
	}
	return commit
}

// command returns a furrow command with the story's control plane and credentials.
func (s *story) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, s.world.furrow, args...)
	cmd.Dir = s.dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir, "TMPDIR=" + os.TempDir(), "GORACE=halt_on_error=0",
		"FURROW_CONTROL_PLANE=" + s.wire.through(s.world.gitea.URL, s.controlPlane.url),
		"FURROW_CREDENTIALS=" + filepath.Join(s.dir, "credentials"),
		"FURROW_KUBECONFIGS=" + filepath.Join(s.dir, "kubeconfigs"),
	}
	return cmd
}

// furrow runs a furrow command, and returns its output.
func (s *story) furrow(args ...string) string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	output, err := s.command(ctx, args...).CombinedOutput()
	if err != nil {
		s.t.Fatalf("furrow %s: %v\n%s", strings.Join(args, " "), err, output)
	}
	return string(output)
}

// run starts furrow run or the controller.
func (s *story) run(args ...string) {
	s.t.Helper()
	p, err := s.spawn("furrow", args...)
	if err != nil {
		s.t.Fatalf("start furrow: %v", err)
	}
	s.follow(p)
}

// follow makes p the furrow that the story relies on.
func (s *story) follow(p *process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = p
}

// spawn starts a furrow with its own name and mirrors.
func (s *story) spawn(name string, args ...string) (*process, error) {
	if err := os.MkdirAll(filepath.Join(s.dir, "logs"), 0o755); err != nil {
		return nil, err
	}
	front := []string{"run"}
	switch {
	case s.records != "":
		front = append(front, "--record", s.records)
	case s.controller != nil:
		front = s.controller.args(s)
	}
	front = append(front, "--interval", "1s", "--cache", filepath.Join(s.dir, "mirrors", name))
	return startProcess(s.command(context.Background(), append(front, args...)...), filepath.Join(s.dir, "logs", name+".log"))
}

// runs reports whether furrow is running.
func (s *story) runs() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running != nil && !s.running.ended()
}

// fell returns an error if furrow has ended by itself and is not started again.
func (s *story) fell() error {
	s.mu.Lock()
	p := s.running
	s.mu.Unlock()
	restarted := s.controller != nil && s.controller.elects
	if p == nil || restarted || !p.ended() || p.err == nil || p.cmd.ProcessState.ExitCode() <= 0 {
		return nil
	}
	return fmt.Errorf("furrow ended: %w\n%s", p.err, lastLines(p.output(), 60))
}

// stop interrupts furrow as a person does.
func (s *story) stop() { s.t.Helper(); s.endRun(syscall.SIGINT) }

// kill kills furrow.
func (s *story) kill() { s.t.Helper(); s.endRun(syscall.SIGKILL) }

func (s *story) endRun(signal syscall.Signal) { s.t.Helper(); s.endProcess(s.running, signal) }

func (s *story) endProcess(p *process, signal syscall.Signal) {
	s.t.Helper()
	if err := p.end(signal); err != nil {
		s.t.Errorf("furrow: %v\n%s", err, lastLines(p.output(), 40))
	}
	for _, bad := range []string{"DATA RACE", "panic:"} {
		if _, after, found := strings.Cut(p.output(), bad); found {
			s.t.Errorf("furrow: %s%s", bad, lastLines(after[:min(len(after), 8000)], 200))
		}
	}
}

// eventually waits until check holds; at the deadline it fails with the condition and the story's state.
func (s *story) eventually(deadline time.Duration, what string, check func() (ok bool, detail string)) {
	s.t.Helper()
	until := time.NewTimer(deadline)
	defer until.Stop()
	every := time.NewTicker(tick)
	defer every.Stop()
	for {
		ok, detail := check()
		if ok {
			return
		}
		if err := s.fell(); err != nil {
			s.t.Fatal(err)
		}
		select {
		case <-until.C:
			s.t.Fatalf("%s\nwaited %s until %s: %s", s.scene(), deadline, what, detail)
		case <-every.C:
		}
	}
}

// passes waits for n complete passes of furrow.
func (s *story) passes(n int) {
	s.t.Helper()
	from, changed := s.wire.seen()
	until := time.NewTimer(limit)
	defer until.Stop()
	for seen := from; seen <= from+n; seen, changed = s.wire.seen() {
		select {
		case <-changed:
		case <-until.C:
			s.t.Fatalf("%s\nfurrow made %d passes in %s, not %d", s.scene(), seen-from, limit, n)
		}
	}
}

// scene describes the story's state, for the message of a wait that timed out.
func (s *story) scene() string {
	var b strings.Builder
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	status, _ := s.command(ctx, "status").CombinedOutput()
	fmt.Fprintf(&b, "--- furrow status\n%s", status)
	pulls, err := listPulls(s.asPerson, s.gitops, sdk.StateAll)
	fmt.Fprintf(&b, "--- pull requests %v\n  %s\n--- kustomizations\n", err, strings.Join(pullNames(pulls), "\n  "))
	for _, k := range s.kustomizations(ctx) {
		status, reason, message := "", "", ""
		for _, c := range k.Status.Conditions {
			if c.Type == "Ready" {
				status, reason, message = string(c.Status), c.Reason, c.Message
			}
		}
		fmt.Fprintf(&b, "  %s/%s %s %s at %s: %.300s\n", k.Namespace, k.Name, status, reason, k.Status.LastAppliedRevision, message)
	}
	if s.controller != nil {
		output, _ := s.tryKubectl("get", "seeds,plantings,gitopsrepos,clusters.furrow.dev", "--output=wide")
		fmt.Fprintf(&b, "--- resources\n%s", output)
	}
	if s.provider != nil {
		fmt.Fprintf(&b, "--- clusters\n%s", s.provider.scene())
	}
	if s.running != nil {
		fmt.Fprintf(&b, "--- furrow run\n%s\n", lastLines(s.running.output(), 40))
	}
	return b.String()
}

// owns reports whether a namespace on the management cluster is the story's.
func (s *story) owns(namespace string) bool {
	return namespace == s.namespace || strings.HasPrefix(namespace, s.namespace+"-") || slices.Contains(s.more, namespace)
}

// kustomizations returns the story's Kustomizations, in order of namespace and name.
func (s *story) kustomizations(ctx context.Context) []kustomizev1.Kustomization {
	var list kustomizev1.KustomizationList
	if err := s.world.mgmt.Client().List(ctx, &list); err != nil {
		return nil
	}
	return slices.DeleteFunc(list.Items, func(k kustomizev1.Kustomization) bool { return !s.owns(k.Namespace) })
}

// kustomization gets one of the story's Kustomizations; found is false if it does not exist.
func (s *story) kustomization(namespace, name string) (k kustomizev1.Kustomization, found bool) {
	s.t.Helper()
	err := s.world.mgmt.Client().Get(s.t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, &k)
	if client.IgnoreNotFound(err) != nil {
		s.t.Fatal(err)
	}
	return k, err == nil
}

// pulls lists the pull requests of the GitOps repository.
func (s *story) pulls(state sdk.StateType) []*sdk.PullRequest {
	s.t.Helper()
	pulls, err := listPulls(s.asPerson, s.gitops, state)
	if err != nil {
		s.t.Fatalf("list pull requests: %v", err)
	}
	return pulls
}

// openTiers returns the tiers that have an open pull request, in order.
func (s *story) openTiers() []string {
	s.t.Helper()
	tiers := map[string]bool{}
	for _, pull := range s.pulls(sdk.StateOpen) {
		tiers[tierOf(pull)] = true
	}
	return slices.Sorted(maps.Keys(tiers))
}

// awaitPull waits for the open pull request of a tier.
func (s *story) awaitPull(tier string) *sdk.PullRequest {
	s.t.Helper()
	var found *sdk.PullRequest
	s.eventually(limit, "there is an open pull request for "+tier, func() (bool, string) {
		pulls := s.pulls(sdk.StateOpen)
		for _, pull := range pulls {
			if tierOf(pull) == tier {
				found = pull
			}
		}
		return found != nil, strings.Join(pullNames(pulls), ", ")
	})
	return found
}

// merge merges a pull request as the person, after the observer has checked it.
func (s *story) merge(pull *sdk.PullRequest, style sdk.MergeStyle) {
	s.t.Helper()
	s.observer.await(s, pull)
	var said string
	s.eventually(limit, fmt.Sprintf("Gitea merges #%d", pull.Index), func() (bool, string) {
		merged, response, err := s.asPerson.MergePullRequest(s.gitops.owner, s.gitops.name, pull.Index, sdk.MergePullRequestOption{Style: style})
		if !merged && response != nil && response.Body != nil {
			content, _ := io.ReadAll(response.Body)
			said = string(content)
		}
		return merged, fmt.Sprint(said, " ", err)
	})
}

// mergeUntil merges whatever is proposed until something is so.
func (s *story) mergeUntil(what string, is func() (ok bool, detail string)) {
	s.t.Helper()
	s.eventually(limit, what, func() (bool, string) {
		if ok, detail := is(); ok {
			return true, detail
		}
		for _, pull := range s.pulls(sdk.StateOpen) {
			s.merge(pull, sdk.MergeStyleSquash)
		}
		return is()
	})
}

// close closes a pull request as the person.
func (s *story) close(pull *sdk.PullRequest) {
	s.t.Helper()
	closed := sdk.StateClosed
	if _, _, err := s.asPerson.EditPullRequest(s.gitops.owner, s.gitops.name, pull.Index, sdk.EditPullRequestOption{State: &closed}); err != nil {
		s.t.Fatalf("close #%d: %v", pull.Index, err)
	}
}

// edit commits to the branch of a pull request as the person; the function changes the file at path.
func (s *story) edit(pull *sdk.PullRequest, path string, edit func(string) string) {
	s.t.Helper()
	if err := s.gitops.fetch(); err != nil {
		s.t.Fatal(err)
	}
	before := s.gitops.read(pull.Head.Name, path)
	after := edit(before)
	if before == "" || after == before {
		s.t.Fatalf("%s of #%d is not changed by the edit:\n%s", path, pull.Index, before)
	}
	if _, err := s.gitops.commit(pull.Head.Name, "Change "+path, files{path: after}); err != nil {
		s.t.Fatalf("edit #%d: %v", pull.Index, err)
	}
}

// awaitState waits until furrow reports the tier in the state.
func (s *story) awaitState(tier, state string) tierReport {
	s.t.Helper()
	var found tierReport
	s.eventually(limit, fmt.Sprintf("%s is %s", tier, state), func() (bool, string) {
		r := s.status()
		found = r.tier(tier)
		return found.State == state, fmt.Sprintf("it is %q: %s", found.State, found.Message)
	})
	if s.controller != nil {
		s.awaitPlantingState(tier, state)
	}
	return found
}

// awaitReleased waits until furrow reports every tier of every seed as Released, at the control plane's current commit.
func (s *story) awaitReleased() {
	s.t.Helper()
	if err := s.controlPlane.fetch(); err != nil {
		s.t.Fatal(err)
	}
	head := s.controlPlane.head("main")
	s.eventually(limit, "everything is Released", func() (bool, string) {
		r := s.status()
		if !strings.HasSuffix(r.Revision, head) || len(r.Seeds) == 0 {
			return false, "the report is of " + r.Revision
		}
		for _, seed := range r.Seeds {
			if seed.State != "Released" {
				return false, fmt.Sprintf("seed %s is %s: %s", seed.Name, seed.State, seed.Message)
			}
		}
		return len(r.Problems) == 0, r.Problems.Error()
	})
}

// release merges the pull request of a tier once it is open, and waits until the tier is Released.
func (s *story) release(tier string, style sdk.MergeStyle) {
	s.t.Helper()
	s.merge(s.awaitPull(tier), style)
	s.awaitState(tier, "Released")
}

// mustNotOpen fails if one of the tiers has an open pull request.
func (s *story) mustNotOpen(tiers ...string) {
	s.t.Helper()
	open := s.openTiers()
	for _, tier := range tiers {
		if slices.Contains(open, tier) {
			s.t.Errorf("%s\nthere is a pull request for %s", s.scene(), tier)
		}
	}
}

// checkRules fails the step if there are new violations of the rules.
func (s *story) checkRules() {
	s.t.Helper()
	offences, err := s.offences()
	for _, violation := range append(s.observer.violations(), offences...) {
		if !s.reported[violation] {
			s.reported[violation] = true
			s.t.Error(violation)
		}
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		s.t.Error(err)
	}
}

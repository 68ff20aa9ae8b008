package e2e

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/furrow-dev/furrow/test/soak"

	sdk "code.gitea.io/sdk/gitea"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/test/servers"
)

// controllerFront is furrow controller in a story: the Seeds are resources in the namespace of the story's root, and the
// controller has the rights of the shipped roles on the management cluster.
type controllerFront struct {
	// installed is the namespace of its ServiceAccount. own is the name of the cluster that it observes with its own rights;
	// empty if it has no rights outside of the story's namespace.
	installed, own string
	// kubeconfig is the controller's kubeconfig file; kubectl is that of people.
	kubeconfig, kubectl string
	// source is spec.source of the Seeds.
	source string
	// tokens are all tokens that it was given.
	tokens []string
	// elects enables leader election.
	elects bool
	client client.Client
}

// front is a front end.
type front struct {
	name    string
	options []storyOption
}

// fronts are the front ends; the same stories run through each.
var fronts = []front{
	{"run", nil},
	{"controller", []storyOption{throughController}},
}

// through runs a story through the front end of that name; in long test runs, through the other one instead.
func through(t *testing.T, first, name string, run func(t *testing.T, name string, options ...storyOption)) {
	t.Parallel()
	i := slices.IndexFunc(fronts, func(f front) bool { return (f.name == first) != soak.On() })
	t.Run(fronts[i].name, func(t *testing.T) { run(t, name+"-"+fronts[i].name, fronts[i].options...) })
}

// prepareController creates the controller's Secrets of credentials and its kubeconfig.
func (s *story) prepareController(ctx context.Context, confined bool) error {
	bin, err := servers.Find(servers.Kubernetes)
	if err != nil {
		return err
	}
	s.controller = &controllerFront{
		installed: controllerNamespace, own: "mgmt",
		kubeconfig: filepath.Join(s.dir, "controller.kubeconfig"), kubectl: bin.Program(servers.Kubernetes, "kubectl"),
		source: fmt.Sprintf("{url: %q, credentials: control-plane}", s.wire.through(s.world.gitea.URL, s.controlPlane.url)),
	}
	if confined {
		if err := s.confineController(ctx); err != nil {
			return err
		}
	}
	kubeconfig, err := s.world.as(ctx, s.controller.installed, controllerAccount)
	if err != nil {
		return err
	}
	if err := writeFile(s.controller.kubeconfig, string(kubeconfig)); err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return err
	}
	if s.controller.client, err = client.New(s.world.mgmt.Config, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	for name, url := range map[string]string{"control-plane": s.controlPlane.url, "gitops": s.gitops.url} {
		if err := s.putCredentials(ctx, name, url, s.robot.token); err != nil {
			return err
		}
	}
	return nil
}

// confineController installs the controller in the story's namespace alone, with the chart. It then observes the management
// cluster with the kubeconfig of a Secret in that namespace.
func (s *story) confineController(ctx context.Context) error {
	s.controller.installed, s.controller.own, s.controller.elects = s.namespace, "", true
	documents, err := chartWithin(s.namespace)
	if err != nil {
		return err
	}
	mayRead, err := os.ReadFile("testdata/reader.yaml")
	if err != nil {
		return err
	}
	for _, each := range [][]byte{documents, mayRead} {
		if err := s.world.mgmt.Apply(ctx, each); err != nil {
			return err
		}
	}
	reader, err := s.world.as(ctx, s.namespace, "reader")
	if err != nil {
		return err
	}
	return s.world.mgmt.Client().Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "mgmt-kubeconfig"}, Data: map[string][]byte{"value": reader},
	})
}

// putCredentials writes the Secret with the controller's credentials for a repository.
func (s *story) putCredentials(ctx context.Context, name, url, token string) error {
	s.controller.tokens = append(s.controller.tokens, token)
	return s.world.mgmt.Apply(ctx, fmt.Appendf(nil, `apiVersion: v1
kind: Secret
metadata: {name: %s, namespace: %s}
stringData: {token: %q, url: %q}
`, name, s.namespace, token, s.wire.through(s.world.gitea.URL, url)))
}

// args returns the arguments of furrow controller.
func (c *controllerFront) args(s *story) []string {
	args := []string{
		"controller", "--kubeconfig", c.kubeconfig, "--cluster", c.own,
		"--metrics-bind-address", "0", "--health-probe-bind-address", "0", "--log-format", "text",
	}
	if s.world == &shared.world { // otherwise no other story uses the cluster, and the controller watches all namespaces
		args = append(args, "--namespace", s.namespace)
	}
	if c.elects {
		return append(args, "--leader-election-namespace", c.installed)
	}
	return append(args, "--leader-elect=false")
}

// applySeeds creates a Seed for each committed seed of the control plane.
func (s *story) applySeeds(changes []files) {
	s.t.Helper()
	for _, change := range changes {
		for path, content := range change {
			name, found := strings.CutPrefix(path, "seeds/")
			if name, _, _ = strings.Cut(strings.TrimSuffix(name, ".yaml"), "/"); found && content != "" {
				s.applySeed(name, "")
			}
		}
	}
}

// applySeed creates or changes a Seed; spec has the fields besides source.
func (s *story) applySeed(name, spec string) {
	s.t.Helper()
	s.apply(fmt.Sprintf(`apiVersion: furrow.dev/v1alpha1
kind: Seed
metadata: {name: %s, namespace: %s}
spec:
  source: %s
%s`, name, s.namespace, s.controller.source, spec))
}

// apply applies documents to the management cluster, as people do.
func (s *story) apply(documents string) {
	s.t.Helper()
	if err := s.world.mgmt.Apply(s.t.Context(), []byte(documents)); err != nil {
		s.t.Fatal(err)
	}
}

// kubectl runs kubectl on the management cluster in the story's namespace, and returns its output.
func (s *story) kubectl(args ...string) string {
	s.t.Helper()
	output, err := s.tryKubectl(args...)
	if err != nil {
		s.t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, output)
	}
	return output
}

func (s *story) tryKubectl(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	args = append([]string{"--kubeconfig", s.world.mgmt.KubeConfigFile, "--namespace", s.namespace}, args...)
	output, err := exec.CommandContext(ctx, s.controller.kubectl, args...).CombinedOutput()
	return string(output), err
}

// printed returns kubectl's table of Seeds and Plantings, with one space between columns.
func (s *story) printed() (string, error) {
	output, err := s.tryKubectl("get", "seeds,plantings")
	var lines []string
	for line := range strings.Lines(output) {
		line = strings.ReplaceAll(strings.Join(strings.Fields(line), " "), ".furrow.dev/", " ")
		if line != "" && !strings.HasPrefix(line, "NAME ") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n"), err
}

// shows waits until 'kubectl get seeds,plantings' has these lines: the kind, the name, and the columns from READY on. It
// does nothing in stories of furrow run.
func (s *story) shows(lines ...string) {
	s.t.Helper()
	if s.controller == nil {
		return
	}
	var asked time.Time
	var detail string
	s.eventually(limit, "kubectl shows it", func() (bool, string) {
		if time.Since(asked) < kubectlPause {
			return false, detail
		}
		detail = s.missing(lines)
		asked = time.Now()
		return detail == "", detail
	})
}

// kubectlPause is the pause between two calls of kubectl, which are expensive.
const kubectlPause = 2 * time.Second

// missing returns the lines that kubectl does not show.
func (s *story) missing(lines []string) string {
	output, err := s.printed()
	if err != nil {
		return cmp.Or(output, err.Error())
	}
	for _, line := range lines {
		parts := strings.Split(line, " … ")
		if !slices.ContainsFunc(strings.Split(output, "\n"), func(is string) bool { return containsInOrder(is, parts) }) {
			return fmt.Sprintf("there is no line %q in\n%s", line, output)
		}
	}
	return ""
}

// containsInOrder reports whether a line begins with the first part and contains the others in order.
func containsInOrder(line string, parts []string) bool {
	if !strings.HasPrefix(line, parts[0]) {
		return false
	}
	for _, part := range parts {
		_, rest, found := strings.Cut(line, part)
		if !found {
			return false
		}
		line = rest
	}
	return true
}

// retry requests a new proposal of a seed, as people do.
func (s *story) retry(seed string) { s.t.Helper(); s.ask("retry", seed) }

// confirm confirms a removal that the deletion guard blocks.
func (s *story) confirm(seed string) { s.t.Helper(); s.ask("confirm", seed) }

// confirmRemoval waits until the removal of a seed is blocked, and confirms it.
func (s *story) confirmRemoval(seed string) {
	s.t.Helper()
	s.eventually(limit, "the removal of "+seed+" is held", func() (bool, string) {
		r := s.status()
		is := r.seed(seed)
		return is.State == "Stalled" && strings.Contains(is.Message, "furrow confirm "+seed), is.State + ": " + is.Message
	})
	s.shows("seed " + seed + " False Stalled … furrow confirm " + seed) // which the plugin reads
	s.confirm(seed)
}

// asks is the person who asks for what only people decide.
const asks = "Ada"

func (s *story) ask(command, seed string) {
	s.t.Helper()
	if s.controller == nil {
		s.furrow(command, seed, "--by", asks)
		return
	}
	mustHave(s.t, s.plugin(command, seed, "--by", asks, "--timeout", limit.String()), "The controller has acted on the")
}

// plugin runs kubectl furrow on the management cluster in the story's namespace, and returns its output.
func (s *story) plugin(args ...string) string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit+time.Minute)
	defer cancel()
	cmd := s.command(ctx, append(args, "--kubeconfig", s.world.mgmt.KubeConfigFile, "--namespace", s.namespace)...)
	cmd.Args[0] = "kubectl-furrow"
	cmd.Env = slices.DeleteFunc(cmd.Env, func(variable string) bool { return strings.HasPrefix(variable, "FURROW_") })
	output, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("kubectl furrow %s: %v\n%s", strings.Join(args, " "), err, output)
	}
	return string(output)
}

// mustHave fails if the text does not contain all wanted texts.
func mustHave(t testing.TB, text string, wanted ...string) {
	t.Helper()
	for _, want := range wanted {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

// readByTools fails if kstatus, which Flux, Argo CD and kubectl plugins use for waiting, computes another status than the
// resource's conditions have.
func (s *story) readByTools() {
	s.t.Helper()
	for _, kind := range []string{"SeedList", "PlantingList", "ClusterList", "ClusterTypeList", "GitOpsRepoList", "TemplateList"} {
		var list unstructured.UnstructuredList
		list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
		if err := s.world.mgmt.Client().List(s.t.Context(), &list, client.InNamespace(s.namespace)); err != nil {
			s.t.Fatal(err)
		}
		for i := range list.Items {
			o := &list.Items[i]
			read, err := status.Compute(o)
			if err != nil {
				s.t.Errorf("kstatus cannot read %s %s: %v", o.GetKind(), o.GetName(), err)
				continue
			}
			if want := statusOf(o); read.Status != want {
				s.t.Errorf("kstatus reads %s %s as %s (%s), but its conditions have %s: %v", o.GetKind(), o.GetName(), read.Status, read.Message, want, o.Object["status"])
			}
		}
	}
}

// statusOf computes a resource's status from its conditions.
func statusOf(o *unstructured.Unstructured) status.Status {
	observed, _, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration")
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	is := map[any]any{}
	for _, condition := range conditions {
		if c, ok := condition.(map[string]any); ok {
			is[c["type"]] = c["status"]
		}
	}
	switch {
	case o.GetDeletionTimestamp() != nil:
		return status.TerminatingStatus
	case observed != o.GetGeneration():
		return status.InProgressStatus
	case is["Stalled"] == "True":
		return status.FailedStatus
	case is["Ready"] == "True":
		return status.CurrentStatus
	}
	return status.InProgressStatus
}

// hidesTheToken fails if one of the controller's tokens is where people can read it.
func (s *story) hidesTheToken() {
	s.t.Helper()
	said := map[string]string{}
	resources, err := s.tryKubectl("get", "furrow,events", "--output", "yaml")
	if err != nil {
		s.t.Errorf("%v: %s", err, resources)
	}
	said["the resources and events"] = resources
	for _, pull := range s.pulls(sdk.StateAll) {
		said[fmt.Sprintf("pull request #%d", pull.Index)] = pull.Title + pull.Body
	}
	logs, err := filepath.Glob(filepath.Join(s.dir, "logs", "*.log"))
	if err != nil || len(logs) == 0 {
		s.t.Errorf("there are no logs: %v", err)
	}
	for _, log := range logs {
		content, err := os.ReadFile(log)
		if err != nil {
			s.t.Error(err)
		}
		said[filepath.Base(log)] = string(content)
	}
	for what, text := range said {
		if slices.ContainsFunc(s.controller.tokens, func(token string) bool { return strings.Contains(text, token) }) {
			s.t.Errorf("%s contains a token", what)
		}
	}
}

// isWatched fails if the controller does not serve its metrics and probes.
func (s *story) isWatched(metrics, probes string) {
	s.t.Helper()
	get := func(url string) string {
		request, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, url, nil)
		if err != nil {
			s.t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			s.t.Fatal(err)
		}
		content, err := io.ReadAll(response.Body)
		if err = errors.Join(err, response.Body.Close()); err != nil || response.StatusCode != http.StatusOK {
			s.t.Errorf("%s: %s %v", url, response.Status, err)
		}
		return string(content)
	}
	get("http://" + probes + "/healthz")
	get("http://" + probes + "/readyz")
	mustHave(s.t, get("http://"+metrics+"/metrics"),
		fmt.Sprintf(`furrow_passes_total{namespace=%q,outcome="unchanged"}`, s.namespace),
		fmt.Sprintf(`furrow_git_calls_total{namespace=%q,operation="fetch",outcome="ok",repo=""}`, s.namespace),
		fmt.Sprintf(`furrow_git_calls_total{namespace=%q,operation="push",outcome="ok",repo="gitops"}`, s.namespace),
		fmt.Sprintf(`furrow_forge_calls_total{namespace=%q,operation="propose",outcome="ok",repo="gitops"} 1`, s.namespace),
		fmt.Sprintf(`furrow_seeds{namespace=%q,state="Released"} 1`, s.namespace), "controller_runtime_reconcile_total{",
	)
}

// remove removes seeds, as people do: the Seed resources, or else the packages.
func (s *story) remove(seeds ...string) {
	s.t.Helper()
	if s.controller != nil {
		s.kubectl(append([]string{"delete", "seeds", "--wait=false"}, seeds...)...)
		return
	}
	gone := files{}
	for _, seed := range seeds {
		gone["seeds/"+seed+".yaml"] = ""
	}
	s.commit("Remove "+strings.Join(seeds, " and "), gone)
}

func (s *story) seedResource(name string) (*v1alpha1.Seed, error) {
	seed := &v1alpha1.Seed{}
	err := s.controller.client.Get(context.Background(), client.ObjectKey{Namespace: s.namespace, Name: name}, seed)
	return seed, err
}

// plantingTier returns a tier from the Planting of its cluster; the state is empty if there is none.
func (s *story) plantingTier(tier string) v1alpha1.PlantingTier {
	parts := strings.Split(tier, "/")
	var planting v1alpha1.Planting
	key := client.ObjectKey{Namespace: s.namespace, Name: v1alpha1.PlantingName(parts[0], parts[1])}
	if err := s.controller.client.Get(context.Background(), key, &planting); err != nil {
		return v1alpha1.PlantingTier{Message: err.Error()}
	}
	for _, t := range planting.Status.Tiers {
		if tierName(parts[0], parts[1], int(t.Ordinal)) == tier {
			return t
		}
	}
	return v1alpha1.PlantingTier{}
}

// awaitPlantingState waits until a tier's Planting shows the state.
func (s *story) awaitPlantingState(tier, state string) {
	s.t.Helper()
	s.eventually(limit, fmt.Sprintf("the Planting shows %s as %s", tier, state), func() (bool, string) {
		is := s.plantingTier(tier)
		return is.State == state, fmt.Sprintf("it shows %q: %s", is.State, is.Message)
	})
}

// awaitForgotten waits until nothing is left of removed seeds.
func (s *story) awaitForgotten() {
	s.t.Helper()
	if s.controller == nil {
		return
	}
	s.eventually(limit, "no Seed and no Planting is left", func() (bool, string) {
		output, err := s.printed()
		return err == nil && strings.HasPrefix(output, "No resources found"), output
	})
}

func TestASeedIsReleasedThroughTheController(t *testing.T) {
	t.Parallel()
	servers.Need(t, servers.Helm)
	for name, option := range map[string]storyOption{"controller": throughController, "confined": confined} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStory(t, name, option)
			s.controller.elects = true // even a single replica acquires the Lease
			s.plantMOTD()
			metrics, err := servers.FreeAddress()
			if err != nil {
				t.Fatal(err)
			}
			probes, err := servers.FreeAddress()
			if err != nil {
				t.Fatal(err)
			}
			s.run("--metrics-bind-address", metrics, "--health-probe-bind-address", probes)
			s.awaitPull(motd)
			s.shows("seed motd False Proposed 0/1 1 review of http://", "planting motd.mgmt motd mgmt False 0/1 00 Proposed review of http://")
			s.release(motd, sdk.MergeStyleMerge)
			s.awaitReleased()
			s.mustSay("hello")
			s.shows("seed motd True Released 1/1", "planting motd.mgmt motd mgmt True 1/1 00 Released")
			s.isWatched(metrics, probes)
		})
	}
}

package e2e

import (
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "code.gitea.io/sdk/gitea"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/test/servers"
)

// controllerFront is furrow controller in a story: the Seeds are resources in the namespace of the story's root, and it
// may do on the management cluster what the shipped roles let it.
type controllerFront struct {
	// installed is the namespace of its ServiceAccount, and own the name of the cluster that it may look at by its own
	// rights; empty where it has none beside the story's namespace.
	installed, own string
	// kubeconfig is the file by which the controller reaches its cluster; kubectl is what people look with.
	kubeconfig, kubectl string
	// source is the spec.source of Seeds.
	source string
	// elects says that of several replicas one works.
	elects bool
	client client.Client
}

// fronts are the front ends, through which the same stories are told.
var fronts = []struct {
	name    string
	options []storyOption
}{
	{"run", nil},
	{"controller", []storyOption{throughController}},
}

// throughBoth tells a story through each front end.
func throughBoth(t *testing.T, name string, tell func(t *testing.T, name string, options ...storyOption)) {
	t.Parallel()
	for _, front := range fronts {
		t.Run(front.name, func(t *testing.T) {
			t.Parallel()
			tell(t, strings.TrimSuffix(name+"-"+front.name, "-run"), front.options...)
		})
	}
}

// prepareController makes the Secrets that the controller signs in with, and its kubeconfig.
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

// confineController installs the controller in the story's namespace alone. So it asks the management cluster with the
// kubeconfig of a Secret there.
func (s *story) confineController(ctx context.Context) error {
	s.controller.installed, s.controller.own, s.controller.elects = s.namespace, "", true
	documents, err := kustomize("testdata/confined")
	if err == nil {
		err = s.world.mgmt.Apply(ctx, documents)
	}
	if err != nil {
		return err
	}
	reader, err := s.world.as(ctx, s.namespace, "reader")
	if err != nil {
		return err
	}
	return s.world.mgmt.Client().Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "mgmt-kubeconfig"}, Data: map[string][]byte{"value": reader},
	})
}

// putCredentials writes the Secret by which the controller signs in at a repository.
func (s *story) putCredentials(ctx context.Context, name, url, token string) error {
	return s.world.mgmt.Apply(ctx, fmt.Appendf(nil, `apiVersion: v1
kind: Secret
metadata: {name: %s, namespace: %s}
stringData: {token: %q, url: %q}
`, name, s.namespace, token, s.wire.through(s.world.gitea.URL, url)))
}

// args are those of furrow controller.
func (c *controllerFront) args(s *story) []string {
	args := []string{
		"controller", "--kubeconfig", c.kubeconfig, "--cluster", c.own,
		"--metrics-bind-address", "0", "--health-probe-bind-address", "0", "--log-format", "text",
	}
	if s.world == &shared.world { // else it has the whole cluster for itself, and watches all namespaces
		args = append(args, "--namespace", s.namespace)
	}
	if c.elects {
		return append(args, "--leader-election-namespace", c.installed)
	}
	return append(args, "--leader-elect=false")
}

// applySeeds makes a Seed for each seed of the control plane that is committed.
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

// applySeed makes a Seed, or changes it; spec are fields beside its source.
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

// kubectl runs kubectl on the management cluster in the story's namespace, and gives what it prints.
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

// printed is what kubectl prints of the Seeds and Plantings, a line for each, with one space between columns.
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

// shows waits until 'kubectl get seeds,plantings' has lines with some words: the kind and the name, and what follows from
// the column READY on. Where furrow run is what runs there is nothing to be seen.
func (s *story) shows(lines ...string) {
	s.t.Helper()
	if s.controller == nil {
		return
	}
	var looked time.Time
	var detail string
	s.eventually(limit, "kubectl shows it", func() (bool, string) {
		if time.Since(looked) < kubectlPause {
			return false, detail
		}
		detail = s.missing(lines)
		looked = time.Now()
		return detail == "", detail
	})
}

// kubectlPause lies between two looks with kubectl, which costs a lot.
const kubectlPause = 2 * time.Second

// missing says which lines kubectl does not show.
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

// containsInOrder says that a line begins with the first part, and has the others after it, in this order.
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

// retry asks for a seed to be proposed again, as people do.
func (s *story) retry(seed string) { s.t.Helper(); s.ask("retry", v1alpha1.AnnotationRetry, seed) }

// confirm lets a removal begin that the deletion guard holds.
func (s *story) confirm(seed string) {
	s.t.Helper()
	s.ask("confirm", v1alpha1.AnnotationConfirm, seed)
}

func (s *story) ask(command, annotation, seed string) {
	s.t.Helper()
	if s.controller == nil {
		s.furrow(command, seed)
		return
	}
	value := time.Now().UTC().Format(time.RFC3339Nano)
	s.kubectl("annotate", "seed", seed, "--overwrite", annotation+"="+value)
	s.eventually(limit, "the controller has acted on it", func() (bool, string) {
		is, err := s.seedResource(seed)
		handled := []string{is.Status.Handled.Retry, is.Status.Handled.Confirm}
		return slices.Contains(handled, value), fmt.Sprint(handled, err)
	})
}

// remove removes seeds, as people do: by the Seeds where they are resources, else by their packages.
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

// plantingTier is a tier as the Planting of its cluster shows it; its state is empty where there is none.
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

// awaitPlantingState waits until a tier's Planting shows it in a state.
func (s *story) awaitPlantingState(tier, state string) {
	s.t.Helper()
	s.eventually(limit, fmt.Sprintf("the Planting shows %s as %s", tier, state), func() (bool, string) {
		is := s.plantingTier(tier)
		return is.State == state, fmt.Sprintf("it shows %q: %s", is.State, is.Message)
	})
}

// awaitForgotten waits until nothing is left of seeds that are removed.
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
	for name, option := range map[string]storyOption{"controller": throughController, "confined": confined} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStory(t, name, option)
			s.plantMOTD()
			s.run()
			s.awaitPull(motd)
			s.shows("seed motd False Proposed 0/1 1 review of http://", "planting motd.mgmt motd mgmt False 0/1 00 Proposed review of http://")
			s.release(motd, sdk.MergeStyleMerge)
			s.awaitReleased()
			s.mustSay("hello")
			s.shows("seed motd True Released 1/1", "planting motd.mgmt motd mgmt True 1/1 00 Released")
		})
	}
}

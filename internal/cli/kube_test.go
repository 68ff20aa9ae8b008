package cli

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/controllers"
	"github.com/furrow-dev/furrow/test/golden"
)

// kubeNow is the time in the tests.
var kubeNow = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// fleetObjects are the resources of testdata/kube/fleet.yaml.
func fleetObjects(t *testing.T) []client.Object {
	t.Helper()
	data, err := os.ReadFile("testdata/kube/fleet.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var out []client.Object
	for _, text := range strings.Split(string(data), "\n---\n") {
		var object client.Object = &v1alpha1.Seed{}
		if strings.Contains(text, "\nkind: Planting\n") {
			object = &v1alpha1.Planting{}
		}
		if err := yaml.UnmarshalStrict([]byte(text), object); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		out = append(out, object)
	}
	return out
}

// api is an API server that is none, in namespace fleet.
type api struct {
	client.WithWatch
	t *testing.T
	// funcs may replace what it answers.
	funcs interceptor.Funcs
}

// newAPI holds the fleet and more. A user asks it in namespace fleet.
func newAPI(t *testing.T, more ...client.Object) *api {
	t.Helper()
	name := func(o client.Object) []string { return []string{o.GetName()} }
	about := func(o client.Object) []string { return []string{string(o.(*corev1.Event).InvolvedObject.UID)} }
	return &api{t: t, WithWatch: fake.NewClientBuilder().WithScheme(scheme()).
		WithObjects(append(fleetObjects(t), more...)...).WithStatusSubresource(&v1alpha1.Seed{}, &v1alpha1.Planting{}).
		WithIndex(&v1alpha1.Seed{}, metav1.ObjectNameField, name).WithIndex(&corev1.Event{}, "involvedObject.uid", about).
		Build()}
}

func (a *api) connect(f *kubeFlags) (*kubeCluster, error) {
	namespace := "fleet"
	if f.namespace != "" {
		namespace = f.namespace
	}
	return &kubeCluster{WithWatch: interceptor.NewClient(a.WithWatch, a.funcs), host: "https://api.example.com", namespace: namespace, now: func() time.Time { return kubeNow }}, nil
}

// call runs kubectl furrow.
func (a *api) call(args ...string) result {
	var stdout, stderr bytes.Buffer
	code := executeRoot(a.t.Context(), newKubectl(a.connect), args, strings.NewReader(""), &stdout, &stderr)
	return result{code, stdout.String(), stderr.String()}
}

func (a *api) seed(name string) *v1alpha1.Seed {
	a.t.Helper()
	seed := &v1alpha1.Seed{}
	if err := a.Get(a.t.Context(), client.ObjectKey{Namespace: "fleet", Name: name}, seed); err != nil {
		a.t.Fatal(err)
	}
	return seed
}

// everyKubeCommand are all commands of kubectl furrow but those that cobra adds.
func everyKubeCommand() []*cobra.Command {
	root := newKubectl(nil)
	return append([]*cobra.Command{root}, root.Commands()...)
}

func TestEveryCommandOfThePluginHasAnExample(t *testing.T) {
	for _, c := range everyKubeCommand() {
		words := strings.Fields(strings.TrimPrefix(c.CommandPath(), "kubectl furrow"))
		r := newAPI(t).call(append(words, "--help")...)
		if r.code != exitOK || r.stderr != "" {
			t.Errorf("%s --help ends with %d: %s", c.CommandPath(), r.code, r.stderr)
		}
		_, examples, _ := strings.Cut(r.stdout, "\nExamples:\n")
		examples, _, _ = strings.Cut(examples, "\n\n")
		mustContain(t, examples, "  "+c.CommandPath())
		if strings.HasSuffix(c.Short, ".") && c.HasParent() {
			t.Errorf("the short text of %s ends with a full stop", c.Name())
		}
	}
}

func TestTheNameOfTheProgramDecides(t *testing.T) {
	cases := map[string]struct {
		program string
		want    []string
		kubectl bool
	}{
		"furrow itself":                       {"/usr/bin/furrow", nil, false},
		"a plugin":                            {"/usr/bin/kubectl-furrow", []string{"status"}, true},
		"a plugin by its name alone":          {"kubectl-furrow", []string{"status"}, true},
		"a plugin on Windows":                 {"kubectl-furrow.exe", []string{"status"}, true},
		"what kubectl completes with":         {"/usr/bin/kubectl_complete-furrow", []string{"__complete", "status"}, true},
		"another plugin that begins likewise": {"kubectl-furrow-more", nil, false},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			args, kubectl := kubeCalled(c.program, []string{"status"})
			if diff := cmp.Diff(c.want, args); diff != "" || kubectl != c.kubectl {
				t.Errorf("called by kubectl: %v; arguments (-want +got):\n%s", kubectl, diff)
			}
		})
	}
}

// TestWhatIsShown compares with the files in testdata/kube, which the documentation shows.
func TestWhatIsShown(t *testing.T) {
	cases := map[string]string{
		"status":       "status",
		"status-all":   "status -A",
		"status-wide":  "status -o wide",
		"status-one":   "status web",
		"status-whole": "status web -o wide",
		"status-lab":   "status monitoring -n lab",
		"status-new":   "status new -n lab",
		"status-none":  "status -n nowhere",
		"status-yaml":  "status shop -o yaml",
		"abandon":      "abandon west",
		"retry":        "retry web",
		"retry-none":   "retry shop",
		"suspend":      "suspend web",
	}
	// proposedAnew is what becomes of a retry.
	proposedAnew := func(a *api) func(*v1alpha1.Seed) bool {
		return func(s *v1alpha1.Seed) bool {
			s.Status.Handled.Retry, s.Status.State = s.Annotations[v1alpha1.AnnotationRetry], "Proposed"
			west := &v1alpha1.Planting{}
			if err := a.Get(t.Context(), client.ObjectKey{Namespace: "fleet", Name: "web.west"}, west); err != nil {
				t.Error(err)
			}
			tier := &west.Status.Tiers[0]
			tier.State, tier.Message, tier.Since = "Proposed", "waits to be merged", metav1.NewTime(kubeNow)
			tier.Proposal = &v1alpha1.ProposalLink{Repo: "fleet", Branch: "b", Title: "Plant web on west, tier 00", URL: "https://git.example.com/acme/fleet/pulls/18"}
			return a.Status().Update(t.Context(), west) == nil
		}
	}
	for name, words := range cases {
		t.Run(name, func(t *testing.T) {
			a := newAPI(t)
			a.controller(proposedAnew(a))
			mustShow(t, name, a.call(strings.Fields(words)...))
		})
	}
}

// mustShow compares what a command shows with a file in testdata/kube.
func mustShow(t *testing.T, name string, r result) {
	t.Helper()
	file := filepath.Join("testdata/kube", name+".txt")
	if golden.Update() {
		if err := os.WriteFile(file, []byte(r.all()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), r.all()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func TestAControllerThatIsSilentIsNoticed(t *testing.T) {
	for sentence, c := range map[string]struct {
		renewed time.Duration
		silent  bool
	}{
		"its Lease is renewed":           {10 * time.Second, false},
		"its Lease was renewed long ago": {3 * time.Hour, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			seconds, at := int32(15), metav1.NewMicroTime(kubeNow.Add(-c.renewed))
			r := newAPI(t, &coordinationv1.Lease{
				ObjectMeta: metav1.ObjectMeta{Namespace: "furrow-system", Name: controllers.LeaderElectionID},
				Spec:       coordinationv1.LeaseSpec{RenewTime: &at, LeaseDurationSeconds: &seconds},
			}).call("status")
			const want = "! no controller seems to run: Lease furrow-system/furrow-controller was renewed 3h ago\n"
			if strings.HasPrefix(r.stdout, want) != c.silent {
				t.Errorf("it shows:\n%s", r.stdout)
			}
		})
	}
}

func TestSignsThatNoControllerHandlesASeed(t *testing.T) {
	written := func(ago time.Duration, subresource string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Subresource: subresource, Time: &metav1.Time{Time: kubeNow.Add(-ago)}}
	}
	cases := map[string]struct {
		generation, observed int64
		spec, status         time.Duration
		retry, handled       string
		ready, lease         bool
		want                 []string
	}{
		"a fresh status":               {1, 1, time.Hour, time.Minute, "", "", false, false, nil},
		"an old status":                {1, 1, time.Hour, 3 * time.Hour, "", "", false, false, []string{"its status was written 3h ago: since then nothing has changed, or no controller is running"}},
		"an old one with a Lease":      {1, 1, time.Hour, 3 * time.Hour, "", "", false, true, nil},
		"an old one of what is Ready":  {1, 1, time.Hour, 3 * time.Hour, "", "", true, false, nil},
		"a spec that changed just now": {2, 1, time.Second, time.Minute, "", "", false, false, []string{"the controller has not observed its last change yet"}},
		"a spec that changed a while ago": {2, 1, 5 * time.Minute, time.Minute, "", "", false, false, []string{
			"the controller has not observed its last change yet. Check that 'furrow controller' runs and watches namespace fleet",
		}},
		"a retry that was acted on": {1, 1, time.Hour, time.Minute, "yes", "yes", false, false, nil},
		"a retry that was not":      {1, 1, time.Hour, time.Minute, "2026-05-04T11:30:00.5Z", "yes", false, false, []string{"the controller has not acted on 'retry' yet, which was asked for 29m ago"}},
		"a retry by hand":           {1, 1, time.Hour, time.Minute, "please", "yes", false, false, []string{"the controller has not acted on 'retry' yet"}},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			seed := &v1alpha1.Seed{ObjectMeta: metav1.ObjectMeta{Namespace: "fleet", Name: "web", Generation: c.generation}}
			seed.ManagedFields = []metav1.ManagedFieldsEntry{written(c.spec, ""), written(c.status, "status")}
			seed.Annotations = map[string]string{v1alpha1.AnnotationRetry: c.retry}
			seed.Status.ObservedGeneration, seed.Status.Handled.Retry = c.observed, c.handled
			status := map[bool]metav1.ConditionStatus{true: metav1.ConditionTrue, false: metav1.ConditionFalse}[c.ready]
			seed.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: status}}
			if diff := cmp.Diff(c.want, staleSigns(seed, controllerSeen{known: c.lease}, kubeNow)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// controller acts on a request as soon as it is written.
func (a *api) controller(act func(*v1alpha1.Seed) bool) {
	a.funcs.Patch = func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
		if err := c.Patch(ctx, o, p, opts...); err != nil {
			return err
		}
		seed := o.DeepCopyObject().(*v1alpha1.Seed)
		if act(seed) {
			return a.Status().Update(ctx, seed)
		}
		return nil
	}
}

func TestWhatIsAskedIsWaitedFor(t *testing.T) {
	const at = "2026-05-04T12:00:00Z"
	cases := map[string]struct {
		words       string
		act         func(*v1alpha1.Seed) bool
		more        []client.Object
		annotations map[string]string
		code        int
		want        string
	}{
		"a retry": {
			words: "retry web --by ada",
			act: func(s *v1alpha1.Seed) bool {
				s.Status.Handled.Retry, s.Status.State = s.Annotations[v1alpha1.AnnotationRetry], "Proposed"
				return true
			},
			annotations: map[string]string{v1alpha1.AnnotationRetry: at + " by ada"},
			want:        "The controller has acted on the retry of Seed web.\n",
		},
		"a confirmation": {
			words: "confirm web --by ada",
			act: func(s *v1alpha1.Seed) bool {
				s.Status.Handled.Confirm = s.Annotations[v1alpha1.AnnotationConfirm]
				return true
			},
			annotations: map[string]string{v1alpha1.AnnotationConfirm: at + " by ada"},
			want: "Requested: the controller begins to remove, of Seed web: 3 objects from east. Each tier is proposed first, and deleted when you merge that. What a Namespace, a CustomResourceDefinition, a PersistentVolumeClaim or a cluster holds or defines goes with it, whoever made it.\n" +
				"The controller has acted on the confirmation of Seed web.\n",
		},
		"a wave that is skipped": {
			words: "rollout skip web canary --by ada --reason rebuilt",
			act: func(s *v1alpha1.Seed) bool {
				s.Status.Handled.Rollout = s.Annotations[v1alpha1.AnnotationRollout]
				return true
			},
			annotations: map[string]string{v1alpha1.AnnotationRollout: "skip canary " + at + " by ada because rebuilt"},
			want:        "Requested: the controller changes the rollout of Seed web.\nThe controller has acted on the request about the rollout of Seed web.\n",
		},
		"a rollback that cannot wait": {
			words: "rollout skip web --now --by ada",
			act: func(s *v1alpha1.Seed) bool {
				s.Status.Handled.Rollout = s.Annotations[v1alpha1.AnnotationRollout]
				return true
			},
			annotations: map[string]string{v1alpha1.AnnotationRollout: "now " + at + " by ada"},
			want:        "The controller has acted on the request about the rollout of Seed web.\n",
		},
		"a retry that the controller cannot carry out": {
			words: "retry web --by ada",
			act: func(s *v1alpha1.Seed) bool {
				s.Status.Handled.Retry = s.Annotations[v1alpha1.AnnotationRetry]
				return true
			},
			more: []client.Object{&corev1.Event{
				ObjectMeta:     metav1.ObjectMeta{Namespace: "fleet", Name: "web.1", CreationTimestamp: metav1.NewTime(kubeNow)},
				InvolvedObject: corev1.ObjectReference{UID: "the-uid-of-web"}, Reason: "RequestFailed", Message: `retry: the plan of seed "web" is empty`,
			}},
			annotations: map[string]string{v1alpha1.AnnotationRetry: at + " by ada"},
			code:        exitFailed,
			want:        `the controller could not do it: retry: the plan of seed "web" is empty`,
		},
		"a retry that nobody acts on": {
			words: "retry web --by ada --timeout 20ms", act: func(*v1alpha1.Seed) bool { return false },
			annotations: map[string]string{v1alpha1.AnnotationRetry: at + " by ada"},
			code:        exitFailed, want: "timed out waiting for the controller",
		},
		"a retry that is not waited for": {
			words: "retry web --by ada --wait=false", act: func(*v1alpha1.Seed) bool { return false },
			annotations: map[string]string{v1alpha1.AnnotationRetry: at + " by ada"},
			want:        "Requested: the controller proposes again, of Seed web: west tier 00 (Rejected).\nSee 'kubectl furrow status web'.\n",
		},
		"a cluster that is given up": {
			words: "abandon west --yes --by ada",
			act: func(s *v1alpha1.Seed) bool {
				s.Status.Handled.Abandon = s.Annotations[v1alpha1.AnnotationAbandon]
				return true
			},
			annotations: map[string]string{v1alpha1.AnnotationAbandon: "west by ada"},
			want:        "The controller has acted on the list of abandoned clusters of Seed web.\n",
		},
		"a cluster that is only read": {
			words: "abandon west", act: func(*v1alpha1.Seed) bool { return false },
			code: exitFailed, want: "nothing was changed",
		},
		"a cluster that is kept and was not given up": {
			words: "abandon west --undo", act: func(*v1alpha1.Seed) bool { return false },
			code: exitFailed, want: `no Seed in namespace fleet has given up cluster "west"`,
		},
		"a cluster that there is not": {
			words: "abandon wets --yes", act: func(*v1alpha1.Seed) bool { return false },
			code: exitFailed, want: `no Seed in namespace fleet is planted on a cluster "wets"; there are: west, east`,
		},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			a := newAPI(t, c.more...)
			a.holds("web", "3 objects from east")
			a.controller(c.act)
			r := a.call(strings.Fields(c.words)...)
			if r.code != c.code {
				t.Errorf("it ends with %d:\n%s", r.code, r.all())
			}
			mustContain(t, r.all(), c.want)
			if diff := cmp.Diff(c.annotations, a.seed("web").Annotations); diff != "" {
				t.Errorf("annotations (-want +got):\n%s", diff)
			}
		})
	}
}

// holds makes a status say what of a Seed waits for a confirmation.
func (a *api) holds(name string, unconfirmed ...string) {
	a.t.Helper()
	seed := a.seed(name)
	seed.Status.Unconfirmed = unconfirmed
	if err := a.Status().Update(a.t.Context(), seed); err != nil {
		a.t.Fatal(err)
	}
}

// TestNothingIsAskedWhereNothingCanBeDone asks of Seeds whose status says that there is
// nothing to do, and of those whose status may not know it.
func TestNothingIsAskedWhereNothingCanBeDone(t *testing.T) {
	seed := func(change func(*v1alpha1.Seed)) []client.Object {
		s := &v1alpha1.Seed{ObjectMeta: metav1.ObjectMeta{Namespace: "fleet", Name: "old", Generation: 1}}
		s.Status.ObservedGeneration, s.Status.State = 1, "Released"
		s.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue}}
		change(s)
		return []client.Object{s}
	}
	planting := func(status v1alpha1.PlantingStatus) client.Object {
		return &v1alpha1.Planting{
			ObjectMeta: metav1.ObjectMeta{Namespace: "fleet", Name: "old.east", Labels: map[string]string{v1alpha1.LabelSeed: "old"}},
			Spec:       v1alpha1.PlantingSpec{Seed: "old", Cluster: "east"}, Status: status,
		}
	}
	same := func(*v1alpha1.Seed) {}
	const (
		anything = "of Seed old: what is rejected, reverted or held by foreign content."
		removals = "of Seed old: what the deletion guard holds."
	)
	cases := map[string]struct {
		words string
		more  []client.Object
		asks  bool
		want  string
	}{
		"a retry of what is released": {
			"retry old", seed(same), false,
			"Nothing to retry: the last pass found no tier of Seed old that is rejected, reverted or held by foreign content. If that has changed since, ask again after the next pass.\nSeed old: Released\n",
		},
		"a retry of an amended tier": {
			"retry old --yes", append(seed(same), planting(v1alpha1.PlantingStatus{Tiers: []v1alpha1.PlantingTier{{State: "Released", Amended: "git diff a b", Retry: true}}})), true,
			"of Seed old: east tier 00 (Released (Amended)).",
		},
		"a retry of more tiers than are shown": {"retry old", append(seed(same), planting(v1alpha1.PlantingStatus{OmittedTiers: 2})), true, "held by foreign content of 2 tiers that the Plantings do not show."},
		"a confirmation where nothing is held": {
			"confirm old", seed(same), false,
			"Nothing to confirm: the last pass found no removal of Seed old that waits for it. If that has changed since, ask again after the next pass.\nSeed old: Released\n",
		},
		"a confirmation of more than is shown": {
			"confirm old", seed(func(s *v1alpha1.Seed) {
				s.Status.Unconfirmed, s.Status.OmittedUnconfirmed = []string{"Namespace a on east", "Namespace b on east"}, 3
			}), true,
			"of Seed old: Namespace a on east, Namespace b on east and 3 more. Each tier is proposed first",
		},
		"a confirmation of a removal that has begun": {
			"confirm old", seed(func(s *v1alpha1.Seed) { s.Status.Plan = &v1alpha1.PlanSummary{Removal: true} }), true,
			"of Seed old: what is left of it (this has begun).",
		},
		"a retry of what no controller has observed":        {"retry old", seed(func(s *v1alpha1.Seed) { s.Status = v1alpha1.SeedStatus{} }), true, anything},
		"a confirmation of what no controller has observed": {"confirm old", seed(func(s *v1alpha1.Seed) { s.Status = v1alpha1.SeedStatus{} }), true, removals},
		"a confirmation right after a deletion":             {"confirm old", seed(func(s *v1alpha1.Seed) { s.Generation = 2 }), true, removals},
		"a retry of what cannot be observed":                {"retry old", seed(func(s *v1alpha1.Seed) { s.Status.Conditions[0].Status = metav1.ConditionUnknown }), true, anything},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			a := newAPI(t, c.more...)
			r := a.call(append(strings.Fields(c.words), "--wait=false")...)
			if r.code != exitOK {
				t.Errorf("it ends with %d:\n%s", r.code, r.all())
			}
			mustContain(t, r.stdout, c.want)
			if got := a.seed("old").Annotations; (len(got) > 0) != c.asks {
				t.Errorf("the annotations are %v", got)
			}
		})
	}
}

func TestARetryOfAllAsksForNothingBeforeItMayOverwriteAll(t *testing.T) {
	var objects []client.Object
	for name, foreign := range map[string][]string{"first": nil, "last": {"planted/east/last/tier-00/mine.yaml"}, "rest": nil} {
		s := &v1alpha1.Seed{ObjectMeta: metav1.ObjectMeta{Namespace: "fleet", Name: name, Generation: 1}}
		s.Status.ObservedGeneration = 1
		s.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue}}
		p := &v1alpha1.Planting{ObjectMeta: metav1.ObjectMeta{Namespace: "fleet", Name: name + ".east", Labels: map[string]string{v1alpha1.LabelSeed: name}}}
		p.Spec = v1alpha1.PlantingSpec{Seed: name, Cluster: "east"}
		p.Status.Tiers = []v1alpha1.PlantingTier{{State: "Held", Reason: v1alpha1.ReasonRejected, Retry: name != "rest", Foreign: foreign}}
		objects = append(objects, s, p)
	}
	a := newAPI(t, objects...)
	wantAsked := func(want ...string) {
		t.Helper()
		var got []string
		for _, name := range []string{"first", "last", "rest"} {
			if a.seed(name).Annotations[v1alpha1.AnnotationRetry] != "" {
				got = append(got, name)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("asked for are %q, want %q", got, want)
		}
	}
	if r := a.call("retry", "--all", "--wait=false"); r.code != exitFailed || !strings.Contains(r.stderr, "--yes") {
		t.Errorf("it ends with %d:\n%s", r.code, r.all())
	}
	wantAsked()
	r := a.call("retry", "--all", "--wait=false", "--yes")
	mustContain(t, r.stdout, "of Seed first: east tier 00 (Held).", "of Seed last: east tier 00 (Held).")
	wantAsked("first", "last")
	r = a.call("retry", "--all", "--wait=false", "-n", "nowhere")
	mustContain(t, r.stdout, "Nothing to retry: the last pass found no tier of any Seed of namespace nowhere that is rejected")
}

// TestAControllerThatActsLaterIsWaitedFor has the status written while the command watches.
func TestAControllerThatActsLaterIsWaitedFor(t *testing.T) {
	a := newAPI(t)
	watched := make(chan struct{})
	var once sync.Once
	a.funcs.Get = func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
		err := c.Get(ctx, key, o, opts...)
		if o.GetAnnotations()[v1alpha1.AnnotationRetry] != "" {
			once.Do(func() { close(watched) }) // the watch has begun, and nothing was handled by now
		}
		return err
	}
	done := make(chan error, 1)
	go func() {
		<-watched
		seed := &v1alpha1.Seed{}
		if err := a.Get(t.Context(), client.ObjectKey{Namespace: "fleet", Name: "web"}, seed); err != nil {
			done <- err
			return
		}
		seed.Status.Handled.Retry = seed.Annotations[v1alpha1.AnnotationRetry]
		done <- a.Status().Update(t.Context(), seed)
	}()
	r := a.call("retry", "web")
	if r.code != exitOK {
		t.Errorf("it ends with %d: %s", r.code, r.stderr)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestAbandonedClustersAreAList(t *testing.T) {
	a := newAPI(t)
	for _, step := range []struct{ words, want string }{
		{"abandon west --yes --wait=false --by Ada", "west by Ada"},
		{"abandon east --yes --wait=false --by Bob", "east,west by Bob"},
		{"abandon west --undo --wait=false", "east"},
		{"abandon east --undo --wait=false", ""},
	} {
		if r := a.call(strings.Fields(step.words)...); r.code != exitOK {
			t.Fatalf("%s ends with %d: %s", step.words, r.code, r.stderr)
		}
		if got := a.seed("web").Annotations[v1alpha1.AnnotationAbandon]; got != step.want {
			t.Errorf("after %s the list is %q", step.words, got)
		}
	}
}

func TestOnlyWhatIsMeantIsPatched(t *testing.T) {
	cases := map[string]string{
		"retry web --by ada --wait=false":   `{"metadata":{"annotations":{"furrow.dev/retry":"2026-05-04T12:00:00Z by ada"}}}`,
		"confirm web --by ada --wait=false": `{"metadata":{"annotations":{"furrow.dev/confirm-removal":"2026-05-04T12:00:00Z by ada"}}}`,
		"suspend web":                       `{"spec":{"suspend":true}}`,
		"resume monitoring -n lab":          `{"spec":{"suspend":null}}`,
		"suspend monitoring -n lab":         "",
		"resume web":                        "",
	}
	for words, want := range cases {
		t.Run(words, func(t *testing.T) {
			a, got := newAPI(t), ""
			a.holds("web", "3 objects from east")
			a.funcs.Patch = func(_ context.Context, _ client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
				data, err := p.Data(o)
				got = string(data)
				var options client.PatchOptions
				if options.ApplyOptions(opts); options.FieldManager != kubeManager || p.Type() != types.MergePatchType {
					t.Errorf("a patch of type %s by %q", p.Type(), options.FieldManager)
				}
				return err
			}
			if r := a.call(strings.Fields(words)...); r.code != exitOK {
				t.Errorf("it ends with %d: %s", r.code, r.stderr)
			}
			if got != want {
				t.Errorf("the patch is %s", got)
			}
		})
	}
}

func TestWhoSetsSuspensionBackIsNamed(t *testing.T) {
	applied := func(manager, fields string) []metav1.ManagedFieldsEntry {
		return []metav1.ManagedFieldsEntry{{Manager: manager, Operation: metav1.ManagedFieldsOperationApply, FieldsV1: metav1.NewFieldsV1(fields)}}
	}
	flux := map[string]string{"kustomize.toolkit.fluxcd.io/name": "seeds", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"}
	const suspend, source = `{"f:spec":{"f:suspend":{}}}`, `{"f:spec":{"f:source":{"f:url":{}}}}`
	cases := map[string]struct {
		labels map[string]string
		fields []metav1.ManagedFieldsEntry
		want   string
	}{
		"nobody":                          {nil, nil, ""},
		"Flux sets it":                    {flux, applied("kustomize-controller", suspend), "Warning: spec.suspend is set by Kustomization flux-system/seeds of Flux, which will set it back"},
		"Flux applies the Seed without":   {flux, applied("kustomize-controller", source), "Note: Kustomization flux-system/seeds of Flux applies this Seed. It leaves spec.suspend alone"},
		"another manager sets it":         {nil, applied("argocd", suspend), `Warning: "argocd" applies spec.suspend`},
		"another manager, and not that":   {nil, applied("argocd", source), ""},
		"it was set by this very command": {nil, applied(kubeManager, suspend), ""},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			var out bytes.Buffer
			warnOfOwner(&out, &v1alpha1.Seed{ObjectMeta: metav1.ObjectMeta{Labels: c.labels, ManagedFields: c.fields}})
			mustContain(t, out.String(), c.want)
			if c.want == "" && out.Len() > 0 {
				t.Errorf("it says %q", out.String())
			}
		})
	}
}

func TestErrorsOfTheAPIServerSayWhatToDo(t *testing.T) {
	seeds := schema.GroupResource{Group: v1alpha1.Group, Resource: "seeds"}
	cases := map[string]struct {
		words  string
		answer error
		code   int
		want   []string
	}{
		"a Seed that is not there":             {"status wbe", nil, exitFailed, []string{`there is no Seed "wbe" in namespace fleet; there are: web, shop`}},
		"a Seed of another namespace":          {"retry monitoring", nil, exitFailed, []string{`there is no Seed "monitoring" in namespace fleet; there is one in namespace lab`}},
		"a namespace without Seeds":            {"retry x -n nowhere", nil, exitFailed, []string{`there is no Seed "x" in namespace nowhere, which has no Seeds`}},
		"forbidden":                            {"status", apierrors.NewForbidden(seeds, "", errors.New(`User "ann" cannot list resource "seeds"`)), exitFailed, []string{`User "ann" cannot list resource "seeds"`, "Ask for a role that allows that"}},
		"not signed in":                        {"status", apierrors.NewUnauthorized("expired"), exitFailed, []string{"https://api.example.com does not accept your credentials", "--user"}},
		"the CRDs are missing":                 {"status", &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: v1alpha1.Group, Kind: "Seed"}}, exitFailed, []string{"does not know Furrow's resources", "Install the CRDs"}},
		"the server is not there":              {"status", &url.Error{Op: http.MethodGet, URL: "https://api.example.com/apis", Err: errors.New("connection refused")}, exitFailed, []string{"https://api.example.com does not answer: connection refused"}},
		"one Seed in all namespaces":           {"status web -A", nil, exitUsage, []string{"leave out --all-namespaces"}},
		"a namespace, and all":                 {"status -A -n lab", nil, exitUsage, []string{"exclude each other"}},
		"a format that there is not":           {"status -o xml", nil, exitUsage, []string{`invalid argument "xml" for "-o, --output" flag: must be table, wide, yaml or json`}},
		"no Seed is named":                     {"retry", nil, exitUsage, []string{" takes the name of one seed, or --all"}},
		"no cluster is named":                  {"abandon", nil, exitUsage, []string{" takes the name of one cluster"}},
		"a command that there is not":          {"sow", nil, exitUsage, []string{`kubectl furrow: there is no command "sow"`}},
		"a flag of furrow, and not of kubectl": {"status --control-plane .", nil, exitUsage, []string{"unknown flag: --control-plane"}},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			a := newAPI(t)
			if c.answer != nil {
				a.funcs.List = func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
					return c.answer
				}
			}
			r := a.call(strings.Fields(c.words)...)
			if r.code != c.code || r.stdout != "" {
				t.Errorf("it ends with %d and prints %q", r.code, r.stdout)
			}
			mustContain(t, r.stderr, c.want...)
		})
	}
}

func TestNamesAreCompleted(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	cases := map[string][]string{
		"status ":           {"shop", "web", ":4"},
		"status -n lab ":    {"monitoring", "new", ":4"},
		"status web ":       {":4"},
		"abandon ":          {"east", "west", ":4"},
		"explain --seed ":   {"shop", "web", ":4"},
		"retry -n ":         {"fleet", "lab", ":4"},
		"status --context ": {":4"},
		"status -o ":        {"table", "wide", "yaml", "json", ":4"},
		"plan --cache ":     {":16"},
	}
	for words, want := range cases {
		t.Run(words, func(t *testing.T) {
			args := append(strings.Fields(words), "")
			r := newAPI(t).call(append([]string{cobra.ShellCompNoDescRequestCmd}, args...)...)
			if diff := cmp.Diff(want, strings.Fields(r.stdout)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestNamesOfFurrowItselfAreCompleted(t *testing.T) {
	p := &workspace{t: t, dir: t.TempDir()}
	p.write(".", map[string]string{"seeds/web.yaml": webSeed, "seeds/shop/a.yaml": webSeed, "seeds/.hidden/a.yaml": webSeed})
	t.Chdir(p.dir)
	cases := map[string][]string{
		"status ":         {"shop", "web", ":4"},
		"retry ":          {"shop", "web", ":4"},
		"plan --seed ":    {"shop", "web", ":4"},
		"explain --seed ": {"shop", "web", ":4"},
		"status --control-plane https://example.com ": {":4"},
		"plan -f ":              {"yaml", "yml", "json", ":8"},
		"plan --out ":           {":16"},
		"run --kubeconfigs ":    {":16"},
		"status --credentials ": {":16"},
		"version -o ":           {"table", "yaml", "json", ":4"},
	}
	for words, want := range cases {
		t.Run(words, func(t *testing.T) {
			r := call(t.Context(), "", append(append([]string{cobra.ShellCompNoDescRequestCmd}, strings.Fields(words)...), "")...)
			if diff := cmp.Diff(want, strings.Fields(r.stdout)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if r := call(t.Context(), "", "completion", shell); r.code != exitOK || !strings.Contains(r.stdout, "furrow") {
			t.Errorf("completion %s ends with %d", shell, r.code)
		}
	}
}

// textOf is an output that is written by one goroutine and read by another.
type textOf struct {
	mu   sync.Mutex
	text strings.Builder
}

func (w *textOf) Write(data []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(data)
}

func (w *textOf) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

func TestAWatchShowsWhatChangesAndOutlivesItsEnd(t *testing.T) {
	a := newAPI(t)
	watches := make(chan watch.Interface, 8)
	a.funcs.Watch = func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) (watch.Interface, error) {
		w, err := c.Watch(ctx, list, opts...)
		if _, ok := list.(*v1alpha1.SeedList); ok && err == nil {
			watches <- w
		}
		return w, err
	}
	ctx, stop := context.WithCancel(t.Context())
	var out textOf
	ended := make(chan int, 1)
	go func() {
		ended <- executeRoot(ctx, newKubectl(a.connect), []string{"status", "web", "--watch"}, strings.NewReader(""), &out, &out)
	}()
	shows := func(what string) {
		t.Helper()
		eventually(t, what, func() (bool, string) { return strings.Contains(out.String(), what), out.String() })
	}
	state := func(state string) {
		t.Helper()
		seed := a.seed("web")
		seed.Status.State = state
		if err := a.Status().Update(t.Context(), seed); err != nil {
			t.Fatal(err)
		}
	}
	first := <-watches
	shows("Seed web: Rejected")
	state("Merged")
	shows("Seed web: Merged")
	first.Stop() // as the server does every few minutes
	<-watches
	state("Released")
	shows("Seed web: Released")
	if err := a.Delete(t.Context(), a.seed("web")); err != nil {
		t.Fatal(err)
	}
	shows("The Seed is gone.")
	stop()
	if code := <-ended; code != exitOK {
		t.Errorf("it ends with %d", code)
	}
}

func TestAWatchOfWhatMayNotBeSeenEnds(t *testing.T) {
	a := newAPI(t)
	a.funcs.Watch = func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) (watch.Interface, error) {
		return nil, apierrors.NewForbidden(schema.GroupResource{Resource: "seeds"}, "", errors.New("cannot watch"))
	}
	if r := a.call("status", "--watch"); r.code != exitFailed || !strings.Contains(r.stderr, "cannot watch") {
		t.Errorf("it ends with %d: %s", r.code, r.stderr)
	}
}

func TestNearNamesComeFirst(t *testing.T) {
	names := []string{"alpha", "beta", "web", "web-shop", "x1", "x2", "x3", "x4", "x5", "x6"}
	got := nearest("wbe", slices.Clone(names))
	if len(got) != maxNames || got[0] != "x1" && got[0] != "web" {
		t.Errorf("%v", got)
	}
}

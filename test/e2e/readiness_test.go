package e2e

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// valley is the cluster of the seeds in testdata/readiness.yaml. Only one seed tolerates ravine, which it creates.
const valley, ravine = "valley", "ravine"

// needRules are the rules that keep a tier from waiting for a later one.
const needRules = "[mounts, references, controller, storage, routes, bundle, patches, network, last]"

// readinessStory is a story on a cluster where pods start only when all is there that they need. KWOK makes pods ready
// whatever they mount, so each new pod has a gate until the story finds on the API server what the pod names. The story
// also does what operators and Jobs do.
type readinessStory struct {
	*story
	seeds map[string]string

	mu sync.Mutex
	// waiting says what each pod of any cluster lacks, by the name of its app or Job.
	waiting map[string]string
}

func TestNoTierWaitsForALaterOne(t *testing.T) {
	t.Parallel()
	s := &readinessStory{story: newStory(t, "readiness"), waiting: map[string]string{}}
	s.provideClusters(client.ObjectKey{})
	s.provider.hold(true)
	ctx, cancel := context.WithCancel(context.Background())
	var playing sync.WaitGroup
	playing.Go(func() { s.play(ctx) })
	t.Cleanup(func() { cancel(); playing.Wait() })
	s.step("a seed creates a cluster", s.createsACluster)
	s.step("seeds whose workloads need what comes late are planted to their end", s.areAllPlanted)
	s.step("without the rules about readiness, their tiers wait for each other", s.waitWithoutRules)
}

// read reads the seeds.
func (s *readinessStory) read() {
	s.t.Helper()
	text, err := os.ReadFile("testdata/readiness.yaml")
	if err != nil {
		s.t.Fatal(err)
	}
	s.seeds = map[string]string{}
	for _, seed := range strings.Split(strings.ReplaceAll(string(text), "NAMESPACE", s.namespace), "apiVersion: furrow.dev/v1alpha1\nkind: Seed\n")[1:] {
		_, rest, _ := strings.Cut(seed, "metadata: {name: ")
		name, _, _ := strings.Cut(rest, "}")
		s.seeds[name] = "apiVersion: furrow.dev/v1alpha1\nkind: Seed\n" + seed
	}
}

func (s *readinessStory) createsACluster() {
	s.read()
	changes := files{}
	for name, seed := range s.seeds {
		changes["seeds/"+name+".yaml"] = seed
	}
	s.commit("Plant the valley", s.fleet(), changes)
	s.run()
	s.awaitCluster(valley)
}

// awaitCluster merges until a cluster runs, and reports it as initialized once its new pods have a gate.
func (s *readinessStory) awaitCluster(name string) {
	s.t.Helper()
	s.mergeUntil("cluster "+name+" runs", func() (bool, string) { return s.provider.client(name) != nil, "" })
	kubelet, err := os.ReadFile("testdata/kubelet.yaml")
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.provider.cluster(name).Apply(s.t.Context(), kubelet); err != nil {
		s.t.Fatal(err)
	}
	s.eventually(limit, "new pods of "+name+" have a gate", func() (bool, string) {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "probe"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "probe", Image: "registry.example.com/probe:1"}}}}
		err := s.provider.client(name).Create(s.t.Context(), pod, client.DryRunAll)
		return err == nil && len(pod.Spec.SchedulingGates) == 1, fmt.Sprint(err)
	})
	s.provider.hold(false)
}

func (s *readinessStory) areAllPlanted() {
	s.mergeUntil("all seeds are Released", func() (bool, string) {
		r := s.status()
		ok, detail := r.allReleased(len(s.seeds))
		return ok, detail + "\n" + s.lacks()
	})
	s.awaitReleased()
	if lacks := s.lacks(); lacks != "" {
		s.t.Errorf("pods wait, although everything is Released: %s", lacks)
	}
}

// withoutRules are the seeds that are planted again, by their new names: the seed that each is a copy of, and the texts
// that change.
var withoutRules = map[string]struct {
	of     string
	rename []string
}{
	"breeze": {"air", []string{"{name: air", "{name: breeze", "namespace: air", "namespace: breeze", "serviceAccountName: air", "serviceAccountName: breeze", "name: prepare", "name: breeze-prepare"}},
	"gate":   {"ingress", []string{"{name: ingress", "{name: gate", "{name: patch,", "{name: gate-patch,", "namespace: ingress", "namespace: gate", "name: admission", "name: gate-admission", "name=admission", "name=gate-admission", "secretName: admission", "secretName: gate-admission", "serviceAccountName: admission", "serviceAccountName: gate-admission"}},
	"kiosk":  {"shop", []string{"{name: shop", "{name: kiosk", "app: shop", "app: kiosk", "db-app", "till-app", "name: db,", "name: till,", "cnpg-system", "kiosk-system", "postgresql.cnpg.io", "pg.example.com", "{name: cnpg,", "{name: pg,"}},
	ravine:   {valley, []string{"valley", "ravine", "app: dns", "app: ravine-dns"}},
}

// ravineCluster keeps other seeds off the cluster.
const ravineCluster = `---
apiVersion: furrow.dev/v1alpha1
kind: Cluster
metadata: {name: ravine}
spec: {taints: [{key: bare}]}
`

// waitWithoutRules plants the seeds again, under other names and without the rules.
func (s *readinessStory) waitWithoutRules() {
	again := files{}
	for name, is := range withoutRules {
		seed, spec := strings.NewReplacer(is.rename...).Replace(s.seeds[is.of]), "disabledRules: "+needRules
		if name == ravine {
			seed, spec = seed+ravineCluster, spec+", tolerations: [{key: bare}]"
		}
		again["seeds/"+name+".yaml"] = strings.Replace(seed, "}\n", "}\nspec: {"+spec+"}\n", 1)
	}
	s.provider.hold(true)
	s.commit("Plant without the rules", again)
	s.awaitCluster(ravine)
	want := []string{
		"breeze-prepare: *v1.ConfigMap schema", "gate-patch: *v1.ValidatingWebhookConfiguration gate-admission",
		"kiosk: *v1.Secret till-app", "ravine-dns: the pod network",
	}
	s.mergeUntil("pods wait for what is not proposed", func() (bool, string) {
		lacks := s.lacks()
		return !slices.ContainsFunc(want, func(one string) bool { return !strings.Contains(lacks, one) }), lacks
	})
	s.passes(3)
	for seed := range withoutRules {
		r := s.status()
		i := slices.IndexFunc(r.Seeds, func(is seedReport) bool { return is.Name == seed })
		if i < 0 || r.Seeds[i].State == "Released" {
			s.t.Errorf("seed %s is not held: %+v", seed, r.Seeds)
		}
	}
	if open := s.openTiers(); len(open) > 0 {
		s.t.Errorf("there are proposals: %v", open)
	}
}

// lacks says what pods wait for.
func (s *readinessStory) lacks() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for pod, what := range s.waiting {
		out = append(out, pod+": "+what)
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// play does what kubelets, operators and Jobs do, until the story ends.
func (s *readinessStory) play(ctx context.Context) {
	every := time.NewTicker(tick)
	defer every.Stop()
	for {
		waiting := map[string]string{}
		for _, c := range s.provider.running() {
			s.startPods(ctx, c, waiting)
			s.makeSecrets(ctx, c)
		}
		s.mu.Lock()
		s.waiting = waiting
		s.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
	}
}

// startPods opens the gates of the pods that a kubelet could start, and adds the others to waiting.
func (s *readinessStory) startPods(ctx context.Context, c client.Client, waiting map[string]string) {
	var pods corev1.PodList
	if c.List(ctx, &pods) != nil {
		return
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if len(pod.Spec.SchedulingGates) == 0 || pod.DeletionTimestamp != nil {
			continue
		}
		if what := s.missing(ctx, c, pod, pods.Items); what != "" {
			waiting[podOwner(pod)] = what
			continue
		}
		before := pod.DeepCopy()
		pod.Spec.SchedulingGates = nil
		_ = c.Patch(ctx, pod, client.MergeFrom(before))
	}
}

// podOwner returns the name of what a pod is of.
func podOwner(pod *corev1.Pod) string {
	if job := pod.Labels[batchv1.JobNameLabel]; job != "" {
		return job
	}
	return pod.Labels["app"]
}

// missing returns what a pod needs that is not there; empty if it can start.
func (s *readinessStory) missing(ctx context.Context, c client.Client, pod *corev1.Pod, all []corev1.Pod) string {
	if !pod.Spec.HostNetwork && !slices.ContainsFunc(all, isNetwork) {
		return "the pod network"
	}
	for _, o := range namedBy(pod) {
		if err := c.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return fmt.Sprintf("%T %s", o, o.GetName())
		}
	}
	return ""
}

// namedBy lists what a pod names, as objects with only their names set.
func namedBy(pod *corev1.Pod) []client.Object {
	in := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: pod.Namespace, Name: name} }
	var out []client.Object
	if account := pod.Spec.ServiceAccountName; account != "" {
		out = append(out, &corev1.ServiceAccount{ObjectMeta: in(account)})
	}
	for _, volume := range pod.Spec.Volumes {
		if volume.Secret != nil {
			out = append(out, &corev1.Secret{ObjectMeta: in(volume.Secret.SecretName)})
		}
	}
	for _, container := range pod.Spec.Containers {
		for _, from := range container.EnvFrom {
			if from.SecretRef != nil {
				out = append(out, &corev1.Secret{ObjectMeta: in(from.SecretRef.Name)})
			}
			if from.ConfigMapRef != nil {
				out = append(out, &corev1.ConfigMap{ObjectMeta: in(from.ConfigMapRef.Name)})
			}
		}
		// The program fails without what it patches.
		if name := flagOf(container.Args, "--webhook-name="); name != "" {
			out = append(out, &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: name}})
		}
	}
	return out
}

// flagOf returns the value of a flag; empty if it is not there.
func flagOf(arguments []string, flag string) string {
	for _, argument := range arguments {
		if value, ok := strings.CutPrefix(argument, flag); ok {
			return value
		}
	}
	return ""
}

// isNetwork reports whether a pod is ready that configures the network of its node.
func isNetwork(pod corev1.Pod) bool {
	mounts := slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.HostPath != nil && v.HostPath.Path == "/etc/cni/net.d" })
	return mounts && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// makeSecrets makes the passwords of databases whose operator runs, and the certificates of completed Jobs.
func (s *readinessStory) makeSecrets(ctx context.Context, c client.Client) {
	create := func(namespace, name string) {
		_ = c.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})
	}
	for group, key := range map[string]client.ObjectKey{
		"postgresql.cnpg.io": {Namespace: "cnpg-system", Name: "cnpg"}, "pg.example.com": {Namespace: "kiosk-system", Name: "pg"},
	} {
		var operator appsv1.Deployment
		if c.Get(ctx, key, &operator) != nil || operator.Status.AvailableReplicas == 0 {
			continue
		}
		databases := &unstructured.UnstructuredList{}
		databases.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: "v1", Kind: "ClusterList"})
		_ = c.List(ctx, databases)
		for _, database := range databases.Items {
			create(database.GetNamespace(), database.GetName()+"-app")
		}
	}
	var jobs batchv1.JobList
	_ = c.List(ctx, &jobs)
	for _, job := range jobs.Items {
		arguments := job.Spec.Template.Spec.Containers[0].Args
		if name := flagOf(arguments, "--secret-name="); name != "" && job.Status.Succeeded > 0 && slices.Contains(arguments, "create") {
			create(job.Namespace, name)
		}
	}
}

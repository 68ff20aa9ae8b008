package install

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kubeyaml "sigs.k8s.io/yaml"

	"github.com/furrow-dev/furrow/test/servers"
)

// everything is a values file that sets each value of the chart to a non-default.
const everything = "testdata/everything.yaml"

// allObjects are the flags with which the chart renders all its objects.
var allObjects = []string{"--values", everything, "--set", "namespaced=false,watchNamespace=,crds.install=true," +
	"rbac.userRoles=true,serviceAccount.create=true,podDisruptionBudget.enabled=true"}

// namespacedFlags render the chart for users without rights outside of one namespace.
var namespacedFlags = []string{"--set", "namespaced=true,crds.install=false,rbac.userRoles=false"}

func TestAllWaysOfInstallingApply(t *testing.T) {
	servers.Need(t, append([]servers.Name{servers.Helm}, servers.ForCluster...)...)
	cluster := startCluster(t, "install")
	cluster.apply(t, crds(t))
	cluster.apply(t, read(t, "testdata/servicemonitor-crd.yaml"))
	cluster.makeNamespace(t, namespace, nil)
	cluster.makeNamespace(t, "team", nil)
	cluster.makeNamespace(t, "restricted", map[string]string{"pod-security.kubernetes.io/enforce": "restricted"})

	for name, documents := range map[string][]byte{
		"config/default":              kustomize(t, "../../config/default"),
		"config/namespaced":           kustomize(t, "../../config/namespaced"),
		"config with both components": kustomize(t, "testdata/components"),
		"the chart":                   must(t)(render(t)),
		"the chart with everything":   must(t)(render(t, "--values", everything)),
		"the chart with all objects":  must(t)(render(t, allObjects...)),
		"the chart in a namespace":    must(t)(render(t, namespacedFlags...)),
		"the chart without a user":    must(t)(render(t, "--set", "runAsUser=null")),
	} {
		t.Run(name, func(t *testing.T) {
			cluster.apply(t, documents)
			pod := podOf(t, documents)
			writesOnlyItsCache(t, pod.Spec)
			if err := cluster.Create(t.Context(), pod, client.DryRunAll); err != nil {
				t.Errorf("a namespace that enforces the restricted pod security standard refuses the pods: %v", err)
			}
			// A Deployment's selector is immutable, and differs between the installations.
			if err := cluster.Delete(t.Context(), theOne(t, documents, "Deployment")); err != nil {
				t.Error(err)
			}
			pod.Spec.SecurityContext.RunAsNonRoot = nil
			if err := cluster.Create(t.Context(), pod, client.DryRunAll); err == nil || !strings.Contains(err.Error(), "PodSecurity") {
				t.Errorf("pod security is not enforced: %v", err)
			}
		})
	}
}

// writesOnlyItsCache fails if a pod may write anything but its cache, or if the cache has no size limit. The pod security
// standard does not require this.
func writesOnlyItsCache(t *testing.T, pod corev1.PodSpec) {
	t.Helper()
	container := pod.Containers[0]
	if readOnly := container.SecurityContext.ReadOnlyRootFilesystem; readOnly == nil || !*readOnly {
		t.Error("the pods may write to their root file system")
	}
	want := []corev1.VolumeMount{{Name: "cache", MountPath: "/var/cache/furrow"}}
	writable := slices.DeleteFunc(slices.Clone(container.VolumeMounts), func(m corev1.VolumeMount) bool { return m.ReadOnly })
	if diff := cmp.Diff(want, writable); diff != "" {
		t.Errorf("writable mounts (-want +got):\n%s", diff)
	}
	if !slices.Contains(container.Args, "--cache=/var/cache/furrow") {
		t.Errorf("the cache is in another directory: %q", container.Args)
	}
	if empty := pod.Volumes[0].EmptyDir; empty == nil || empty.SizeLimit == nil {
		t.Error("the cache has no size limit")
	}
}

// podOf returns a Pod of the Deployment's template, in the restricted namespace.
func podOf(t *testing.T, documents []byte) *corev1.Pod {
	t.Helper()
	template := deploymentOf(t, documents).Spec.Template
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "controller", Namespace: "restricted", Labels: template.Labels},
		Spec:       template.Spec,
	}
}

func deploymentOf(t *testing.T, documents []byte) appsv1.Deployment {
	t.Helper()
	var deployment appsv1.Deployment
	err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(theOne(t, documents, "Deployment").Object, &deployment, true)
	if err != nil {
		t.Fatal(err)
	}
	return deployment
}

func TestChartAndKustomizeInstallTheSame(t *testing.T) {
	servers.Need(t, servers.Kubernetes, servers.Helm)
	base, chart := kustomize(t, "../../config/default"), must(t)(render(t))
	if diff := cmp.Diff(rulesByName(t, base), rulesByName(t, must(t)(render(t, "--set", "cluster.name=mgmt")))); diff != "" {
		t.Errorf("rules of roles (-config +chart):\n%s", diff)
	}
	namespaced := rulesByName(t, must(t)(render(t, namespacedFlags...)))
	if diff := cmp.Diff(rulesByName(t, kustomize(t, "../../config/namespaced")), namespaced); diff != "" {
		t.Errorf("rules of the roles of the namespaced installation (-config +chart):\n%s", diff)
	}
	if diff := cmp.Diff(specsByName(t, base), specsByName(t, chart)); diff != "" {
		t.Errorf("CRDs (-config +chart):\n%s", diff)
	}
	want, got := deploymentOf(t, base).Spec.Template.Spec, deploymentOf(t, chart).Spec.Template.Spec
	for _, arg := range want.Containers[0].Args {
		if !slices.Contains(got.Containers[0].Args, arg) {
			t.Errorf("the chart's pods run without %s", arg)
		}
	}
	want.Containers[0].Args, got.Containers[0].Args = nil, nil
	got.Containers[0].ImagePullPolicy = ""
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pods (-config +chart):\n%s", diff)
	}
}

// rulesByName returns the rules of all roles, by kind and name.
func rulesByName(t *testing.T, documents []byte) map[string]any {
	t.Helper()
	rules := map[string]any{}
	for _, kind := range []string{"Role", "ClusterRole"} {
		for _, role := range find(t, documents, kind) {
			rules[kind+" "+role.GetName()] = role.Object["rules"]
		}
	}
	return rules
}

// specsByName returns the specs of all CRDs.
func specsByName(t *testing.T, documents []byte) map[string]any {
	t.Helper()
	specs := map[string]any{}
	for _, crd := range find(t, documents, "CustomResourceDefinition") {
		specs[crd.GetName()] = crd.Object["spec"]
	}
	return specs
}

func TestTheNamespacedInstallationIsWithinItsNamespace(t *testing.T) {
	servers.Need(t, servers.Kubernetes, servers.Helm)
	for name, documents := range map[string][]byte{
		"config": kustomize(t, "../../config/namespaced"),
		"chart":  must(t)(render(t, namespacedFlags...)),
	} {
		for _, object := range objects(t, documents) {
			if object.GetNamespace() != namespace {
				t.Errorf("%s: %s %s is in namespace %q", name, object.GetKind(), object.GetName(), object.GetNamespace())
			}
		}
	}
	documents := must(t)(render(t, append(namespacedFlags, "--set", "watchNamespace=team")...))
	if got := deploymentOf(t, documents).Spec.Template.Spec.Containers[0].Args; !slices.Contains(got, "--namespace=team") {
		t.Errorf("arguments: %q", got)
	}
	for _, kind := range []string{"Role", "RoleBinding"} {
		for _, object := range find(t, documents, kind) {
			want := map[string]string{"furrow-controller": "team", "furrow-leader-election": namespace}[object.GetName()]
			if object.GetNamespace() != want {
				t.Errorf("%s %s is in namespace %q, want %q", kind, object.GetName(), object.GetNamespace(), want)
			}
		}
	}
}

func TestValuesChangeTheRenderedObjects(t *testing.T) {
	servers.Need(t, servers.Helm)
	digest := "sha256:" + strings.Repeat("a", 64)
	count := func(kind string, want int) func(*testing.T, []byte) {
		return func(t *testing.T, documents []byte) {
			if got := find(t, documents, kind); len(got) != want {
				t.Errorf("there are %d objects of kind %s, not %d", len(got), kind, want)
			}
		}
	}
	args := func(want ...string) func(*testing.T, []byte) {
		return func(t *testing.T, documents []byte) {
			got := deploymentOf(t, documents).Spec.Template.Spec.Containers[0].Args
			for _, arg := range want {
				if !slices.Contains(got, arg) {
					t.Errorf("%s is not in %q", arg, got)
				}
			}
		}
	}
	image := func(want string) func(*testing.T, []byte) {
		return func(t *testing.T, documents []byte) {
			if got := deploymentOf(t, documents).Spec.Template.Spec.Containers[0].Image; got != want {
				t.Errorf("the image is %s, want %s", got, want)
			}
		}
	}
	for name, tc := range map[string]struct {
		set  string
		want func(*testing.T, []byte)
	}{
		"the CRDs are rendered":                                {"", count("CustomResourceDefinition", 7)},
		"without the CRDs":                                     {"crds.install=false", count("CustomResourceDefinition", 0)},
		"roles of users and of the controller":                 {"", count("ClusterRole", 4)},
		"the controller's role alone":                          {"rbac.userRoles=false", count("ClusterRole", 1)},
		"a cluster name adds the role of the cluster's reader": {"rbac.userRoles=false,cluster.name=mgmt", count("ClusterRole", 2)},
		"a cluster name adds the reader's binding":             {"cluster.name=mgmt", count("ClusterRoleBinding", 2)},
		"the cluster name is an argument":                      {"cluster.name=mgmt", args("--cluster=mgmt")},
		"one pod has no disruption budget":                     {"", count("PodDisruptionBudget", 0)},
		"two pods have a disruption budget":                    {"replicas=2", count("PodDisruptionBudget", 1)},
		"the disruption budget is disabled":                    {"replicas=2,podDisruptionBudget.enabled=false", count("PodDisruptionBudget", 0)},
		"no network policy by default":                         {"", count("NetworkPolicy", 0)},
		"a network policy":                                     {"networkPolicy.enabled=true", count("NetworkPolicy", 1)},
		"a service for metrics":                                {"", count("Service", 1)},
		"no service without metrics":                           {"metrics.enabled=false", count("Service", 0)},
		"a service for webhooks":                               {"webhook.secretName=hooks", count("Service", 2)},
		"webhooks are received":                                {"webhook.secretName=hooks", args("--webhook-bind-address=:9000", "--webhook-secret-file=/etc/furrow/webhook/secret")},
		"disabled metrics are not served":                      {"metrics.enabled=false", args("--metrics-bind-address=0")},
		"no monitor by default":                                {"", count("ServiceMonitor", 0)},
		"an existing service account":                          {"serviceAccount.create=false,serviceAccount.name=mine", count("ServiceAccount", 0)},
		"the image is that of the chart's version":             {"", image("ghcr.io/furrow-dev/furrow:v0.1.0")},
		"a tag":                                  {"image.tag=v9", image("ghcr.io/furrow-dev/furrow:v9")},
		"a digest takes precedence over the tag": {"image.tag=v9,image.digest=" + digest, image("ghcr.io/furrow-dev/furrow@" + digest)},
		"the controller's settings":              {"controller.deletionGuard=0,controller.strict=true,owner.id=a", args("--deletion-guard=0", "--strict", "--id=a")},
		"a big number stays a number":            {"controller.concurrency=1000000", args("--concurrency=1000000")},
		"labels do not change selectors":         {"labels.app\\.kubernetes\\.io/name=mine", selectsItsPods},
		"pod labels do not change selectors":     {"podLabels.app\\.kubernetes\\.io/instance=mine", selectsItsPods},
		"all selectors match the pods":           {"replicas=2,networkPolicy.enabled=true,metrics.serviceMonitor.enabled=true", selectsItsPods},
	} {
		t.Run(name, func(t *testing.T) {
			tc.want(t, must(t)(render(t, "--set", tc.set)))
		})
	}
}

// selectsItsPods fails if a selector does not match the pods.
func selectsItsPods(t *testing.T, documents []byte) {
	labels := deploymentOf(t, documents).Spec.Template.Labels
	for kind, path := range map[string][]string{
		"Deployment": {"selector", "matchLabels"}, "Service": {"selector"}, "NetworkPolicy": {"podSelector", "matchLabels"},
		"PodDisruptionBudget": {"selector", "matchLabels"},
	} {
		for _, object := range find(t, documents, kind) {
			selector, _, _ := unstructured.NestedStringMap(object.Object, append([]string{"spec"}, path...)...)
			for key, value := range selector {
				if labels[key] != value {
					t.Errorf("%s selects %s=%s, but the pods have %q", kind, key, value, labels[key])
				}
			}
			if len(selector) == 0 {
				t.Errorf("%s selects everything", kind)
			}
		}
	}
	service := theOne(t, documents, "Service")
	for _, monitor := range find(t, documents, "ServiceMonitor") {
		selector, _, _ := unstructured.NestedStringMap(monitor.Object, "spec", "selector", "matchLabels")
		for key, value := range selector {
			if service.GetLabels()[key] != value {
				t.Errorf("the ServiceMonitor selects %s=%s, but the Service has %q", key, value, service.GetLabels()[key])
			}
		}
	}
}

func TestBadValuesAreRefused(t *testing.T) {
	servers.Need(t, servers.Helm)
	for name, tc := range map[string]struct{ set, want string }{
		"a value that does not exist":                      {"replica=2", "'replica' not allowed"},
		"a nested value that does not exist":               {"image.name=x", "'name' not allowed"},
		"a text for a number":                              {"replicas=many", "/replicas"},
		"a negative number of pods":                        {"replicas=-1", "/replicas"},
		"a text for a switch":                              {"namespaced=maybe", "/namespaced"},
		"a watched namespace of a cluster-wide controller": {"watchNamespace=team", "/watchNamespace"},
		"a name that is not a DNS label":                   {"cluster.name=Mgmt_1", "/cluster/name"},
		"an invalid digest":                                {"image.digest=sha256:abc", "/image/digest"},
		"no repository":                                    {"image.repository=", "/image/repository"},
		"a pull policy that does not exist":                {"image.pullPolicy=Sometimes", "/image/pullPolicy"},
		"an interval without a unit":                       {"controller.interval=60", "/controller/interval"},
		"an interval of less than a second":                {"controller.interval=500ms", "/controller/interval"},
		"a concurrency of 0":                               {"controller.concurrency=0", "/controller/concurrency"},
		"a deletion guard above 100 percent":               {"controller.deletionGuard=101", "/controller/deletionGuard"},
		"a log level that does not exist":                  {"controller.logLevel=loud", "/controller/logLevel"},
		"a log format that does not exist":                 {"controller.logFormat=xml", "/controller/logFormat"},
		"an argument that is not a flag":                   {"extraArgs={now}", "/extraArgs/0"},
		"an invalid size":                                  {"cache.sizeLimit=large", "/cache/sizeLimit"},
		"a port that does not exist":                       {"networkPolicy.egressPorts={70000}", "/networkPolicy/egressPorts/0"},
		"the user root":                                    {"runAsUser=0", "/runAsUser"},
		"no service account":                               {"serviceAccount.create=false", "/serviceAccount/name"},
		"metrics that are scraped but not served":          {"metrics.enabled=false,metrics.serviceMonitor.enabled=true", "/metrics/serviceMonitor/enabled"},
		"resources that do not exist":                      {"resources.limits.time=1", "'time' not allowed"},
		"a label that is a number":                         {"labels.a=1", "/labels/a"},
		"a variable without a name":                        {"env[0].value=x", "/env/0"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := render(t, "--set", tc.set)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("want an error with %q, got: %v", tc.want, err)
			}
		})
	}
}

func TestHelmLintAcceptsTheChart(t *testing.T) {
	servers.Need(t, servers.Helm)
	for _, flags := range [][]string{nil, {"--values", everything}, allObjects} {
		if out, err := helm(t, append([]string{"lint", "--strict", chart}, flags...)...); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
}

// leaves returns the paths of all values that are not maps, with the values.
func leaves(values map[string]any, prefix string) map[string]any {
	found := map[string]any{}
	for key, value := range values {
		if below, ok := value.(map[string]any); ok && len(below) > 0 {
			maps.Copy(found, leaves(below, prefix+key+"."))
			continue
		}
		found[prefix+key] = value
	}
	return found
}

func valuesOf(t *testing.T, path string) map[string]any {
	t.Helper()
	values := map[string]any{}
	if err := kubeyaml.Unmarshal(read(t, path), &values); err != nil {
		t.Fatal(err)
	}
	return values
}

func TestEveryValueIsTriedAndInTheSchema(t *testing.T) {
	defaults := leaves(valuesOf(t, filepath.Join(chart, "values.yaml")), "")
	tried := leaves(valuesOf(t, everything), "")
	var schema map[string]any
	if err := kubeyaml.Unmarshal(read(t, filepath.Join(chart, "values.schema.json")), &schema); err != nil {
		t.Fatal(err)
	}
	known := schemaLeaves(schema, schema, "")
	for path, value := range defaults {
		other, ok := tried[path]
		for at, below := range tried {
			if _, isMap := value.(map[string]any); isMap && strings.HasPrefix(at, path+".") {
				other, ok = below, true
			}
		}
		if (!ok || reflect.DeepEqual(other, value)) && path != "metrics.enabled" {
			t.Errorf("%s does not set %s to a value other than %v", everything, path, value)
		}
		if !slices.Contains(known, path) {
			t.Errorf("values.schema.json does not have %s", path)
		}
	}
	for _, path := range known {
		// Helm's own values, and those without a default.
		if _, ok := defaults[path]; !ok && path != "global" && !strings.HasPrefix(path, "resources.") {
			t.Errorf("values.yaml does not have %s", path)
		}
	}
}

// schemaLeaves returns the paths of all properties of a schema without properties of their own.
func schemaLeaves(root, schema map[string]any, prefix string) []string {
	var found []string
	properties, _ := schema["properties"].(map[string]any)
	for name, value := range properties {
		property, _ := value.(map[string]any)
		if reference, ok := property["$ref"].(string); ok {
			definitions, _ := root["definitions"].(map[string]any)
			property, _ = definitions[strings.TrimPrefix(reference, "#/definitions/")].(map[string]any)
		}
		if below := schemaLeaves(root, property, prefix+name+"."); len(below) > 0 {
			found = append(found, below...)
			continue
		}
		found = append(found, prefix+name)
	}
	return found
}

func TestTheVersionIsTheSameEverywhere(t *testing.T) {
	var meta struct{ AppVersion, Version string }
	if err := kubeyaml.Unmarshal(read(t, filepath.Join(chart, "Chart.yaml")), &meta); err != nil {
		t.Fatal(err)
	}
	if meta.AppVersion != "v"+meta.Version {
		t.Errorf("the chart is %s, of Furrow %s", meta.Version, meta.AppVersion)
	}
	image := "image: ghcr.io/furrow-dev/furrow:" + meta.AppVersion + "\n"
	if !strings.Contains(string(read(t, "../../config/manager/deployment.yaml")), image) {
		t.Errorf("config/manager/deployment.yaml does not have %s", image)
	}
}

func TestAllCRDsAreInTheKustomization(t *testing.T) {
	entries, err := os.ReadDir("../../config/crd/bases")
	if err != nil {
		t.Fatal(err)
	}
	kustomization := string(read(t, "../../config/crd/kustomization.yaml"))
	for _, entry := range entries {
		if !strings.Contains(kustomization, "- bases/"+entry.Name()+"\n") {
			t.Errorf("config/crd/kustomization.yaml does not have %s", entry.Name())
		}
	}
}

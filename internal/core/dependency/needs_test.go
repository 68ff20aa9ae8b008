package dependency

import (
	"fmt"
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/placement"
)

// customKind is the CustomResourceDefinition of a kind.
func customKind(group, kind, scope string) string {
	plural := strings.ToLower(kind) + "s"
	return fmt.Sprintf(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %s.%s}
spec: {group: %s, scope: %s, names: {kind: %s, plural: %s}, versions: [{name: v1, served: true, storage: true}]}
`, plural, group, group, scope, kind, plural)
}

// user is a Deployment whose pods need something, and an object that keeps it from being the last of its seed.
func user(annotations, podSpec string) string {
	return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: default}\nspec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}, annotations: {" + annotations + "}}, spec: {" + podSpec + "}}}\n" +
		"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: after, namespace: default, annotations: {furrow.dev/depends-on: apps/Deployment/default/web}}\n"
}

// levelsOf returns the levels of a seed's objects, and its deadlocks.
func levelsOf(t *testing.T, archive string) (map[string]int, []string) {
	t.Helper()
	cat := catalogOf(t, archive)
	if failed := placement.AddImplied(cat.Inventory, cat.Seeds); len(failed) > 0 {
		t.Fatal(failed)
	}
	result := Build(seedsOf(t, cat), cat.Inventory)
	if len(result.Errors) > 0 {
		t.Fatal(said(result.Errors))
	}
	tiering, conflict := result.Graph.Tiers(nil)
	if conflict != nil {
		t.Fatal(conflict)
	}
	level := map[string]int{}
	for v := range result.Graph.Len() {
		level[result.Graph.Object(v).Kind+" "+result.Graph.Object(v).Name] = tiering.Level[v]
	}
	var deadlocks []string
	for _, d := range tiering.Deadlocks {
		deadlocks = append(deadlocks, d.First()+": "+d.Deadlock())
	}
	return level, deadlocks
}

// TestAWorkloadIsNotBeforeWhatMakesItsSecret has one resource of each kind that makes something, in a tier after
// its definition, and a workload that needs what it makes.
func TestAWorkloadIsNotBeforeWhatMakesItsSecret(t *testing.T) {
	secret := func(name string) string {
		return "containers: [{name: c, image: c, envFrom: [{secretRef: {name: " + name + "}}]}]"
	}
	configMap := func(name string) string {
		return "containers: [{name: c, image: c}], volumes: [{name: v, configMap: {name: " + name + "}}]"
	}
	resource := func(name string) string {
		return "containers: [{name: c, image: c, resources: {limits: {" + name + ": 1}}}]"
	}
	for _, c := range []struct{ group, kind, name, spec, needs string }{
		{"external-secrets.io", "ExternalSecret", "db", "{}", secret("db")},
		{"external-secrets.io", "ExternalSecret", "x", "{target: {name: db}}", secret("db")},
		{"bitnami.com", "SealedSecret", "db", "{}", secret("db")},
		{"cert-manager.io", "Certificate", "x", "{secretName: tls}", secret("tls")},
		{"postgresql.cnpg.io", "Cluster", "pg", "{}", secret("pg-app")},
		{"acid.zalan.do", "postgresql", "acid-pg", "{users: {shop: []}}", secret("shop.acid-pg.credentials.postgresql.acid.zalan.do")},
		{"postgres-operator.crunchydata.com", "PostgresCluster", "hippo", "{}", secret("hippo-pguser-hippo")},
		{"pxc.percona.com", "PerconaXtraDBCluster", "db", "{}", secret("db-secrets")},
		{"psmdb.percona.com", "PerconaServerMongoDB", "db", "{secrets: {users: mine}}", secret("mine")},
		{"k8s.mariadb.com", "MariaDB", "db", "{rootPasswordSecretKeyRef: {name: root, key: p, generate: true}}", secret("root")},
		{"mongodbcommunity.mongodb.com", "MongoDBCommunity", "m", "{users: [{name: u, db: admin}]}", secret("m-admin-u")},
		{"rabbitmq.com", "RabbitmqCluster", "mq", "{}", secret("mq-default-user")},
		{"kafka.strimzi.io", "KafkaUser", "u", "{}", secret("u")},
		{"elasticsearch.k8s.elastic.co", "Elasticsearch", "es", "{}", secret("es-es-elastic-user")},
		{"hyperspike.io", "Valkey", "cache", "{}", secret("cache")},
		{"app.redislabs.com", "RedisEnterpriseDatabase", "cache", "{}", secret("redb-cache")},
		{"onepassword.com", "OnePasswordItem", "db", "{itemPath: x}", secret("db")},
		{"vault.banzaicloud.com", "Vault", "vault", "{}", secret("vault-unseal-keys")},
		{"secrets.hashicorp.com", "VaultStaticSecret", "x", "{destination: {name: db, create: true}}", secret("db")},
		{"secrets.infisical.com", "InfisicalSecret", "x", "{managedSecretReference: {secretName: db, secretNamespace: default}}", secret("db")},
		{"secrets.doppler.com", "DopplerSecret", "x", "{managedSecret: {name: db, namespace: default}}", secret("db")},
		{"k8s.bitwarden.com", "BitwardenSecret", "x", "{secretName: db}", secret("db")},
		{"database.example.com", "PostgreSQLInstance", "x", "{writeConnectionSecretToRef: {name: conn}}", secret("conn")},
		{"database.example.com", "Instance", "x", "{writeConnectionSecretToRef: {name: conn, namespace: default}}", secret("conn")},
		{"objectbucket.io", "ObjectBucketClaim", "b", "{}", configMap("b")},
		{"k8s.keycloak.org", "Keycloak", "sso", "{}", secret("sso-initial-admin")},
		{"grafana.integreatly.org", "Grafana", "g", "{}", secret("g-admin-credentials")},
		{"servicebinding.io", "ServiceBinding", "b", "{}", secret("b")},
		{"trust.cert-manager.io", "Bundle", "roots", "{target: {configMap: {key: ca}}}", configMap("roots")},
		{"network.azure.com", "Cache", "x", "{operatorSpec: {secrets: {primaryKey: {name: keys, key: k}}}}", secret("keys")},
		{"k8s.cni.cncf.io", "NetworkAttachmentDefinition", "n3", "{}", "k8s.v1.cni.cncf.io/networks: n3@eth1"},
		{"sriovnetwork.openshift.io", "SriovNetwork", "n3", "{networkNamespace: default}", `k8s.v1.cni.cncf.io/networks: '[{"name": "n3", "namespace": "default"}]'`},
		{"sriovnetwork.openshift.io", "SriovNetworkNodePolicy", "p", "{resourceName: nics}", resource("openshift.io/nics")},
		{"nvidia.com", "ClusterPolicy", "p", "{}", resource("nvidia.com/gpu")},
		{"nvidia.com", "ClusterPolicy", "p", "{}", "containers: [], runtimeClassName: nvidia"},
	} {
		t.Run(c.kind+" "+c.name, func(t *testing.T) {
			annotations, spec := "", c.needs
			if strings.HasPrefix(spec, "k8s.v1.") {
				annotations, spec = spec, "containers: []"
			}
			workload := user(annotations, spec)
			made := fmt.Sprintf("apiVersion: %s/v1\nkind: %s\nmetadata: {name: %s, namespace: default}\nspec: %s\n", c.group, c.kind, c.name, c.spec)
			level, deadlocks := levelsOf(t, oneCluster+seedOf("app", workload, customKind(c.group, c.kind, "Namespaced"), made))
			if level["Deployment web"] < level[c.kind+" "+c.name] || level[c.kind+" "+c.name] != 1 || len(deadlocks) > 0 {
				t.Errorf("the levels are %v, and the deadlocks %v", level, deadlocks)
			}
		})
	}
}

// TestAnObjectIsNotBeforeWhatItNeeds has pairs of objects: the first one is not in an earlier tier than the second.
func TestAnObjectIsNotBeforeWhatItNeeds(t *testing.T) {
	const late = ", annotations: {furrow.dev/depends-on: core/ConfigMap/default/first}}\n"
	const first = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: first, namespace: default}\n"
	for sentence, c := range map[string]struct {
		objects  []string
		from, to string
	}{
		"pods with a claim, and what the parameters of its class name": {
			objects: []string{user("", "containers: [], volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]"),
				"apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data, namespace: default}\nspec: {storageClassName: block}\n",
				"apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: block}\nprovisioner: rbd.csi.ceph.com\nparameters: {pool: replicated}\n",
				customKind("ceph.rook.io", "CephBlockPool", "Namespaced"), "apiVersion: ceph.rook.io/v1\nkind: CephBlockPool\nmetadata: {name: replicated, namespace: default}\n"},
			from: "Deployment web", to: "CephBlockPool replicated",
		},
		"a class and the driver that its provisioner is": {
			objects: []string{first, "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: block}\nprovisioner: disks.example.com\n",
				"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: driver, namespace: default" + late + "spec: {template: {spec: {containers: [{name: c, args: [--drivername=disks.example.com]}]}}}\n"},
			from: "StorageClass block", to: "Deployment driver",
		},
		"a Service that balances load, and the pool of addresses": {
			objects: []string{"apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: default}\nspec: {type: LoadBalancer}\n",
				customKind("metallb.io", "IPAddressPool", "Namespaced"), "apiVersion: metallb.io/v1beta1\nkind: IPAddressPool\nmetadata: {name: pool, namespace: default}\n"},
			from: "Service web", to: "IPAddressPool pool",
		},
		"an Ingress and the controller of its class": {
			objects: []string{first, "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: web, namespace: default}\nspec: {ingressClassName: nginx}\n",
				"apiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {name: nginx}\nspec: {controller: k8s.io/ingress-nginx}\n",
				"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: nginx, namespace: default" + late + "spec: {template: {spec: {containers: [{name: c, args: [--controller-class=k8s.io/ingress-nginx]}]}}}\n"},
			from: "Ingress web", to: "Deployment nginx",
		},
		"a custom resource and the workload that may write its status": {
			objects: []string{first, customKind("example.org", "Widget", "Namespaced"), "apiVersion: example.org/v1\nkind: Widget\nmetadata: {name: w, namespace: default}\n",
				"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: op, namespace: default, annotations: {furrow.dev/depends-on: core/ConfigMap/default/second}}\nspec: {template: {spec: {serviceAccountName: op}}}\n",
				"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: second, namespace: default" + late,
				"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: op}\nrules: [{apiGroups: [example.org], resources: [widgets/status], verbs: [update]}]\n",
				"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: op}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: op}\nsubjects: [{kind: ServiceAccount, name: op, namespace: default}]\n"},
			from: "Widget w", to: "Deployment op",
		},
		"a custom resource and one that a field of it is called like": {
			objects: []string{first, customKind("postgresql.cnpg.io", "Database", "Namespaced"), customKind("postgresql.cnpg.io", "Cluster", "Namespaced"),
				"apiVersion: postgresql.cnpg.io/v1\nkind: Database\nmetadata: {name: shop, namespace: default}\nspec: {cluster: {name: pg}}\n",
				"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: second, namespace: default" + late,
				"apiVersion: postgresql.cnpg.io/v1\nkind: Cluster\nmetadata: {name: pg, namespace: default, annotations: {furrow.dev/depends-on: core/ConfigMap/default/second}}\n"},
			from: "Database shop", to: "Cluster pg",
		},
		"a copy and what it is a copy of": {
			objects: []string{first, "apiVersion: v1\nkind: Secret\nmetadata: {name: copy, namespace: default, annotations: {replicator.v1.mittwald.de/replicate-from: default/source}}\n",
				"apiVersion: v1\nkind: Secret\nmetadata: {name: source, namespace: default" + late},
			from: "Secret copy", to: "Secret source",
		},
		"values of a chart and what makes the Secret that they name": {
			objects: []string{first, customKind("external-secrets.io", "ExternalSecret", "Namespaced"),
				"apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web, namespace: default}\nspec: {values: {auth: {existingSecret: db}}}\n",
				"apiVersion: external-secrets.io/v1\nkind: ExternalSecret\nmetadata: {name: db, namespace: default}\n"},
			from: "HelmRelease web", to: "ExternalSecret db",
		},
		"no chart whose values have a word that ends like a kind": {
			objects: []string{"apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: cm, namespace: default}\nspec: {chart: {spec: {chart: cert-manager}}, values: {serviceMonitor: {labels: {release: kps}}}}\n",
				"apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: kps, namespace: default}\nspec: {chart: {spec: {chart: kube-prometheus-stack}}, dependsOn: [{name: cm}]}\n"},
			from: "HelmRelease kps", to: "HelmRelease cm",
		},
		"no claim without a class, and a driver that waits for it": {
			objects: []string{"apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data, namespace: default}\nspec: {accessModes: [ReadWriteOnce]}\n",
				"apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: ebs, namespace: default, annotations: {furrow.dev/depends-on: core/PersistentVolumeClaim/default/data}}\nspec: {chart: {spec: {chart: aws-ebs-csi-driver}}}\n"},
			from: "HelmRelease ebs", to: "PersistentVolumeClaim data",
		},
		"pods and the scheduler that they name": {
			objects: []string{first, user("", "containers: [], schedulerName: gang"),
				"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: scheduler, namespace: default" + late + "spec: {template: {spec: {containers: [{name: c, command: [run, --scheduler-name=gang]}]}}}\n"},
			from: "Deployment web", to: "Deployment scheduler",
		},
		"pods that need a device, and the plugin that may offer it": {
			objects: []string{first, user("", "containers: [{name: c, resources: {limits: {example.com/fpga: 1}}}]"),
				"apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: plugin, namespace: default" + late + "spec: {template: {spec: {volumes: [{name: d, hostPath: {path: /var/lib/kubelet/device-plugins}}]}}}\n"},
			from: "Deployment web", to: "DaemonSet plugin",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			level, deadlocks := levelsOf(t, oneCluster+seedOf("app", c.objects...))
			if !strings.HasPrefix(sentence, "no ") && level[c.to] == 0 || level[c.from] < level[c.to] || len(deadlocks) > 0 {
				t.Errorf("the levels are %v, and the deadlocks %v", level, deadlocks)
			}
		})
	}
}

// TestAJobIsWithTheConfigurationThatItPatches has what ingress-nginx has: a Job makes a certificate, and another one
// patches it into the webhook configuration, which waits for its backend.
func TestAJobIsWithTheConfigurationThatItPatches(t *testing.T) {
	job := func(name, args string) string {
		return "apiVersion: batch/v1\nkind: Job\nmetadata: {name: " + name + ", namespace: op}\nspec: {template: {spec: {serviceAccountName: adm, containers: [{name: c, image: c, args: [" + args + "]}]}}}\n"
	}
	role := "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: adm}\nrules: [{apiGroups: [admissionregistration.k8s.io], resources: [validatingwebhookconfigurations], verbs: [get, update]}]\n" +
		"---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: adm}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: adm}\nsubjects: [{kind: ServiceAccount, name: adm, namespace: op}]\n"
	for sentence, args := range map[string]string{
		"by a flag":   "patch, --webhook-name=op, --secret-name=tls",
		"by two":      "patch, --webhook-name, op",
		"by a script": "'kubectl patch validatingwebhookconfiguration op --type=json'",
	} {
		t.Run(sentence, func(t *testing.T) {
			level, deadlocks := levelsOf(t, oneCluster+seedOf("op", role, job("create", "create, --secret-name=tls"), job("patch", args),
				webhookOf("op", "networking.k8s.io", "ingresses", ", volumes: [{name: tls, secret: {secretName: tls}}]"),
				"apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: web, namespace: shop}\n"))
			if level["Job patch"] != level["ValidatingWebhookConfiguration op"] || level["Job create"] > level["Deployment op"] || level["Job patch"] <= level["Deployment op"] || level["Ingress web"] <= level["Job patch"] || len(deadlocks) > 0 {
				t.Errorf("the levels are %v, and the deadlocks %v", level, deadlocks)
			}
		})
	}
}

// TestAKindOfUnknownOriginWaitsForInstallersOfUnknownContent has a resource that nothing is known to serve.
func TestAKindOfUnknownOriginWaitsForInstallersOfUnknownContent(t *testing.T) {
	resource := "apiVersion: operator.example.io/v1\nkind: Thing\nmetadata: {name: t, namespace: default}\n"
	installer := func(name, spec string) string {
		return "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: " + name + ", namespace: default}\nspec: " + spec + "\n"
	}
	for sentence, c := range map[string]struct {
		tree string
		want []string
	}{
		"the only one":                               {seedOf("a", resource, installer("x", "{chart: {spec: {chart: things}}}")), []string{"Thing t waits for HelmRelease x"}},
		"not one that is known":                      {seedOf("a", resource, installer("x", "{chart: {spec: {chart: cert-manager}}}")), nil},
		"not one of another seed":                    {seedOf("a", resource) + seedOf("b", installer("x", "{chart: {spec: {chart: things}}}")), nil},
		"not one that waits for what it makes":       {seedOf("a", strings.Replace(resource, "namespace: default}", "namespace: default}\nspec: {secretName: s}", 1), installer("x", "{valuesFrom: [{kind: Secret, name: s}]}")), nil},
		"not a chart, for a kind that a table knows": {seedOf("a", strings.ReplaceAll(resource, "operator.example.io/v1\nkind: Thing", "external-secrets.io/v1\nkind: ExternalSecret"), installer("x", "{chart: {spec: {chart: things}}}")), nil},
		"but a Kustomization, also for that":         {seedOf("a", strings.ReplaceAll(resource, "operator.example.io/v1\nkind: Thing", "external-secrets.io/v1\nkind: ExternalSecret"), "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: k, namespace: default}\nspec: {path: ./x}\n"), []string{"ExternalSecret t waits for Kustomization k"}},
		"not where the cluster has its kind":         {strings.Replace(oneCluster, "widgets.example.org", "things.operator.example.io", 1) + seedOf("a", resource, installer("x", "{chart: {spec: {chart: things}}}")), nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			tree := c.tree
			if !strings.Contains(tree, "clusters.yaml") {
				tree = oneCluster + tree
			}
			if got := pairs(graphOf(t, tree).Graph, "unknown"); strings.Join(got, ";") != strings.Join(c.want, ";") {
				t.Errorf("the edges are %v, want %v", got, c.want)
			}
		})
	}
}

// TestOnANewClusterPodsWaitForTheNetwork creates a cluster and plants a network and others on it.
func TestOnANewClusterPodsWaitForTheNetwork(t *testing.T) {
	creator := "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: edge-1, namespace: default}\nspec: {controlPlaneRef: {kind: KubeadmControlPlane, name: cp}}\n"
	workload := func(kind, name, spec string) string {
		return "apiVersion: apps/v1\nkind: " + kind + "\nmetadata: {name: " + name + ", namespace: kube-system}\nspec: {template: {spec: {" + spec + "}}}\n"
	}
	flannel := workload("DaemonSet", "flannel", "hostNetwork: true, volumes: [{name: cni, hostPath: {path: /etc/cni/net.d}}]")
	web := workload("Deployment", "web", "containers: []")
	ccm := workload("DaemonSet", "cloud-controller-manager", "hostNetwork: true, tolerations: [{key: node.cloudprovider.kubernetes.io/uninitialized, value: 'true'}]")
	for sentence, c := range map[string]struct {
		objects []string
		want    []string
		warned  bool
	}{
		"a DaemonSet that configures nodes":          {[]string{flannel, web}, []string{"Deployment web waits for DaemonSet flannel"}, false},
		"pods with the node's network do not":        {[]string{flannel, workload("DaemonSet", "proxy", "hostNetwork: true")}, nil, false},
		"nor does another network":                   {[]string{flannel, workload("DaemonSet", "multus", "hostNetwork: true, volumes: [{name: cni, hostPath: {path: /etc/cni/net.d/}}]")}, nil, false},
		"a chart":                                    {[]string{web, "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: cni, namespace: kube-system}\nspec: {chart: {spec: {chart: cilium}}}\n"}, []string{"Deployment web waits for HelmRelease cni"}, false},
		"a resource of an operator":                  {[]string{web, "apiVersion: operator.tigera.io/v1\nkind: Installation\nmetadata: {name: default}\n"}, []string{"Deployment web waits for Installation default"}, false},
		"and for the cloud controller manager":       {[]string{flannel, ccm, web}, []string{"Deployment web waits for DaemonSet cloud-controller-manager", "Deployment web waits for DaemonSet flannel"}, false},
		"but not where they tolerate its absence":    {[]string{flannel, ccm, workload("Deployment", "web", "tolerations: [{operator: Exists}]")}, []string{"Deployment web waits for DaemonSet flannel"}, false},
		"where there is no network, it is a warning": {[]string{web}, nil, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			result := graphOf(t, fleet+seedOf("site", append([]string{creator}, c.objects...)...))
			if got := pairs(result.Graph, "network"); strings.Join(got, ";") != strings.Join(c.want, ";") {
				t.Errorf("the edges are %v, want %v", got, c.want)
			}
			if warned := strings.Contains(strings.Join(said(result.Warnings), "\n"), "without a pod network"); warned != c.warned {
				t.Errorf("the warnings are %v", said(result.Warnings))
			}
		})
	}
	// Charts that go to a cluster from its hub count for that cluster alone.
	release := func(name, chart, cluster string) string {
		return "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: " + name + ", namespace: default, annotations: {furrow.dev/cluster: mgmt}}\nspec: {chart: {spec: {chart: " + chart + "}}, kubeConfig: {secretRef: {name: " + cluster + "-kubeconfig}}}\n"
	}
	for _, other := range []string{"edge-0", "edge-2"} {
		tree := fleet + seedOf("site", creator) + seedOf("other", strings.Replace(creator, "edge-1", other, 1)) +
			seedOf("charts", release("cni", "cilium", other), release("web", "web", other)) +
			seedOf("web", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: kube-system, annotations: {furrow.dev/cluster: edge-1}}\nspec: {template: {spec: {}}}\n")
		if got := strings.Join(pairs(graphOf(t, tree).Graph, "network"), ";"); got != "HelmRelease web waits for HelmRelease cni" {
			t.Errorf("with %s beside edge-1, the edges are %s", other, got)
		}
	}
	if got := pairs(graphOf(t, oneCluster+seedOf("site", flannel, web)).Graph, "network"); len(got) > 0 {
		t.Errorf("on a cluster that no seed creates, the edges are %v", got)
	}
}

// TestWhatNothingWaitsForIsLast has a tier of ConfigMaps after a first one.
func TestWhatNothingWaitsForIsLast(t *testing.T) {
	tiers := []string{
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: first, namespace: default}\n",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: second, namespace: default, annotations: {furrow.dev/depends-on: core/ConfigMap/default/first}}\n",
	}
	deployment := func(name, more string) string {
		return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: " + name + ", namespace: default" + more + "}\nspec: {template: {spec: {serviceAccountName: " + name + "}}}\n"
	}
	operator := deployment("op", "") + "---\n" +
		"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: op}\nrules: [{apiGroups: [example.org], resources: [widgets/status], verbs: [update]}]\n" +
		"---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: op}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: op}\nsubjects: [{kind: ServiceAccount, name: op, namespace: default}]\n"
	for sentence, c := range map[string]struct {
		objects []string
		of      string
		want    int
	}{
		"a workload":                               {[]string{deployment("web", "")}, "Deployment web", 1},
		"a Job as well":                            {[]string{"apiVersion: batch/v1\nkind: Job\nmetadata: {name: j, namespace: default}\n"}, "Job j", 1},
		"not what something waits for":             {[]string{deployment("web", ""), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: third, namespace: default, annotations: {furrow.dev/depends-on: apps/Deployment/default/web}}\n"}, "Deployment web", 0},
		"not an operator":                          {[]string{operator}, "Deployment op", 0},
		"nor an add-on of the cluster":             {[]string{strings.Replace(deployment("network", ""), "namespace: default", "namespace: kube-system", 1)}, "Deployment network", 0},
		"nor what has rights on the whole cluster": {[]string{strings.ReplaceAll(operator, "widgets/status", "widgets")}, "Deployment op", 0},
		"not what an operator beside it may need":  {[]string{operator, deployment("redis", "")}, "Deployment redis", 0},
		"nor another workload that is waited for":  {[]string{deployment("redis", ""), deployment("web", ""), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: third, namespace: default, annotations: {furrow.dev/depends-on: apps/Deployment/default/web}}\n"}, "Deployment redis", 0},
		"but what an operator elsewhere goes past": {[]string{operator, strings.Replace(deployment("web", ""), "namespace: default", "namespace: shop", 1)}, "Deployment web", 1},
	} {
		t.Run(sentence, func(t *testing.T) {
			level, _ := levelsOf(t, oneCluster+seedOf("app", append(tiers, c.objects...)...))
			if level[c.of] != c.want {
				t.Errorf("the levels are %v, want %d of %s", level, c.want, c.of)
			}
		})
	}
}

// TestWhatIsLastWaitsForNoOtherSeed: a workload that is free must not come to wait for another seed because its own
// has something that does.
func TestWhatIsLastWaitsForNoOtherSeed(t *testing.T) {
	configMap := func(name, waits string) string {
		return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + ", namespace: default, annotations: {furrow.dev/depends-on: '" + waits + "'}}\n"
	}
	web := func(waits string) string {
		return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: default, annotations: {furrow.dev/depends-on: '" + waits + "'}}\nspec: {template: {spec: {containers: []}}}\n"
	}
	const base = "core/ConfigMap/default/base"
	free := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: free, namespace: default}\n"
	for sentence, c := range map[string]struct {
		app  []string
		want int
	}{
		"the tiers after its own wait for another seed": {[]string{"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: default}\nspec: {template: {spec: {containers: []}}}\n", free, configMap("own", "core/ConfigMap/default/free"), configMap("late", base), configMap("later", "core/ConfigMap/default/late")}, 0},
		"its own tier waits for the same seed":          {[]string{web(base), configMap("late", base), configMap("later", "core/ConfigMap/default/late")}, 2},
		"the last tier waits for one more":              {[]string{web(base), configMap("late", base), configMap("later", "core/ConfigMap/default/late, core/ConfigMap/default/more")}, 1},
	} {
		t.Run(sentence, func(t *testing.T) {
			level, _ := levelsOf(t, oneCluster+seedOf("base", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: base, namespace: default}\n")+
				seedOf("more", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more, namespace: default}\n")+seedOf("app", c.app...))
			if level["Deployment web"] != c.want {
				t.Errorf("it is on level %d, want %d: %v", level["Deployment web"], c.want, level)
			}
		})
	}
}

// TestWhatANetworkNeedsIsNotToWaitForIt: no order is right, so it is reported.
func TestWhatANetworkNeedsIsNotToWaitForIt(t *testing.T) {
	const creator = "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: edge-1, namespace: default}\n"
	const network = "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: net, namespace: kube-system%s}\nspec: {template: {spec: {hostNetwork: true, volumes: [{name: cni, hostPath: {path: /etc/cni/net.d}}%s]}}}\n"
	const operator = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: eso, namespace: kube-system}\nspec: {template: {spec: {serviceAccountName: eso%s}}}\n---\n" +
		"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: eso}\nrules: [{apiGroups: [external-secrets.io], resources: [externalsecrets/status], verbs: [update]}]\n---\n" +
		"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: eso}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: eso}\nsubjects: [{kind: ServiceAccount, name: eso, namespace: kube-system}]\n---\n" +
		"apiVersion: external-secrets.io/v1\nkind: ExternalSecret\nmetadata: {name: keys, namespace: kube-system}\n"
	const mounted = ", {name: s, secret: {secretName: keys}}"
	const depends = ", annotations: {furrow.dev/depends-on: apps/Deployment/kube-system/eso}"
	for sentence, c := range map[string]struct {
		objects []string
		warned  bool
	}{
		"the network mounts a Secret of an operator":     {[]string{fmt.Sprintf(network, "", mounted), fmt.Sprintf(operator, "")}, true},
		"that does not need it":                          {[]string{fmt.Sprintf(network, "", mounted), fmt.Sprintf(operator, ", hostNetwork: true")}, false},
		"the network waits for pods that need it":        {[]string{fmt.Sprintf(network, depends, ""), fmt.Sprintf(operator, "")}, true},
		"pods that the network does not need wait alone": {[]string{fmt.Sprintf(network, "", ""), fmt.Sprintf(operator, "")}, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			result := graphOf(t, fleet+seedOf("site", append([]string{creator}, c.objects...)...))
			var got []string
			for _, w := range result.Warnings {
				if w.Reason == v1alpha1.ReasonReadinessDeadlock {
					got = append(got, w.Object.Name+": "+w.Message)
				}
			}
			if (len(got) == 1) != c.warned || c.warned && !(strings.HasPrefix(got[0], "eso: ") && strings.Contains(got[0], "apps/DaemonSet/kube-system/net needs ")) {
				t.Errorf("the warnings are %q, want one: %t", got, c.warned)
			}
		})
	}
}

package immutable_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/internal/core/immutable"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// object reads an object: its API version, its kind, and its fields as a flow mapping or as lines.
func object(t *testing.T, version, kind, fields string) manifest.Object {
	t.Helper()
	objects, err := manifest.Parse("a.yaml", fmt.Appendf(nil, "apiVersion: %s\nkind: %s\nmetadata: {name: a, namespace: b}\n%s\n", version, kind, fields))
	if err != nil || len(objects) != 1 {
		t.Fatalf("%v: %s", err, fields)
	}
	return objects[0]
}

const image = `containers: [{name: a, image: "x:1"}]`

func TestServersRefuseTheseUpdates(t *testing.T) {
	const (
		job, set, claim, service, pod = "batch/v1 Job", "apps/v1 StatefulSet", "v1 PersistentVolumeClaim", "v1 Service", "v1 Pod"
		crd                           = "apiextensions.k8s.io/v1 CustomResourceDefinition"
	)
	for sentence, tt := range map[string]struct{ kind, was, is, refused string }{
		"the image of a Job":                  {job, `spec: {template: {spec: {` + image + `}}}`, `spec: {template: {spec: {containers: [{name: a, image: "x:2"}]}}}`, "spec.template.spec.containers[a].image"},
		"a label of a Job's Pods":             {job, `spec: {template: {spec: {` + image + `}}}`, `spec: {template: {metadata: {labels: {a: b}}, spec: {` + image + `}}}`, "spec.template.metadata"},
		"the completions of a Job":            {job, `spec: {completions: 2}`, `spec: {completions: 3}`, "spec.completions"},
		"the completions of an indexed Job":   {job, `spec: {completions: 2, parallelism: 2, completionMode: Indexed}`, `spec: {completions: 3, parallelism: 2, completionMode: Indexed}`, "spec.completions"},
		"the mode of a Job":                   {job, `spec: {completions: 2}`, `spec: {completions: 2, completionMode: Indexed}`, "spec.completionMode"},
		"the image of a suspended Job":        {job, `spec: {suspend: true, template: {spec: {` + image + `}}}`, `spec: {suspend: true, template: {spec: {containers: [{name: a, image: "x:2"}]}}}`, "spec.template.spec.containers[a].image"},
		"the claims of a StatefulSet":         {set, `spec: {volumeClaimTemplates: [{metadata: {name: d}, spec: {resources: {requests: {storage: 1Gi}}}}]}`, `spec: {volumeClaimTemplates: [{metadata: {name: d}, spec: {resources: {requests: {storage: 2Gi}}}}]}`, "spec.volumeClaimTemplates[d].spec.resources.requests.storage"},
		"one more claim of a StatefulSet":     {set, `spec: {serviceName: a}`, `spec: {serviceName: a, volumeClaimTemplates: [{metadata: {name: d}}]}`, "spec.volumeClaimTemplates[d]"},
		"the Service of a StatefulSet":        {set, `spec: {serviceName: a}`, `spec: {serviceName: b}`, "spec.serviceName"},
		"the order of a StatefulSet":          {set, `spec: {serviceName: a}`, `spec: {serviceName: a, podManagementPolicy: Parallel}`, "spec.podManagementPolicy"},
		"the selector of a StatefulSet":       {set, `spec: {selector: {matchLabels: {a: b}}}`, `spec: {selector: {matchLabels: {a: c}}}`, "spec.selector.matchLabels.a"},
		"the selector of a Deployment":        {"apps/v1 Deployment", `spec: {selector: {matchLabels: {a: b}}}`, `spec: {selector: {matchLabels: {a: b, c: d}}}`, "spec.selector.matchLabels.c"},
		"the selector of a DaemonSet":         {"apps/v1 DaemonSet", `spec: {selector: {matchLabels: {a: b}}}`, `spec: {selector: {matchLabels: {a: c}}}`, "spec.selector.matchLabels.a"},
		"the role of a binding":               {"rbac.authorization.k8s.io/v1 RoleBinding", `roleRef: {kind: Role, name: a}`, `roleRef: {kind: Role, name: b}`, "roleRef.name"},
		"the role of a cluster's binding":     {"rbac.authorization.k8s.io/v1 ClusterRoleBinding", `roleRef: {kind: ClusterRole, name: a}`, `roleRef: {kind: ClusterRole, name: b}`, "roleRef.name"},
		"the parameters of a class":           {"storage.k8s.io/v1 StorageClass", `parameters: {type: ssd}`, `parameters: {type: hdd}`, "parameters.type"},
		"the provisioner of a class":          {"storage.k8s.io/v1 StorageClass", `provisioner: a`, `provisioner: b`, "provisioner"},
		"when a class binds":                  {"storage.k8s.io/v1 StorageClass", `provisioner: a`, "provisioner: a\nvolumeBindingMode: WaitForFirstConsumer", "volumeBindingMode"},
		"what a class does with volumes":      {"storage.k8s.io/v1 StorageClass", "reclaimPolicy: Retain", "provisioner: a", "provisioner reclaimPolicy"},
		"a ConfigMap that is immutable":       {"v1 ConfigMap", "immutable: true\ndata: {a: b}", "immutable: true\ndata: {a: c}", "data.a"},
		"a ConfigMap that is so no longer":    {"v1 ConfigMap", "immutable: true\ndata: {a: b}", "data: {a: b}", "immutable"},
		"a Secret that is immutable":          {"v1 Secret", "immutable: true\ndata: {a: Yg==}", "immutable: true\nstringData: {a: c}", "data.a"},
		"the type of a Secret":                {"v1 Secret", "data: {a: Yg==}", "type: kubernetes.io/tls\ndata: {a: Yg==}", "type"},
		"a smaller claim":                     {claim, `spec: {resources: {requests: {storage: 10Gi}}}`, `spec: {resources: {requests: {storage: 9Gi}}}`, "spec.resources.requests.storage"},
		"the class of a claim":                {claim, `spec: {storageClassName: a}`, `spec: {storageClassName: b}`, "spec.storageClassName"},
		"no class any more":                   {claim, `spec: {storageClassName: ""}`, `spec: {storageClassName: b}`, "spec.storageClassName"},
		"the access modes of a claim":         {claim, `spec: {accessModes: [ReadWriteOnce]}`, `spec: {accessModes: [ReadWriteMany]}`, "spec.accessModes[0]"},
		"the volume of a claim":               {claim, `spec: {volumeName: a}`, `spec: {volumeName: b}`, "spec.volumeName"},
		"the limits of a claim":               {claim, `spec: {resources: {requests: {storage: 1Gi}}}`, `spec: {resources: {requests: {storage: 1Gi}, limits: {storage: 2Gi}}}`, "spec.resources.limits"},
		"where a volume is":                   {"v1 PersistentVolume", `spec: {nfs: {server: a, path: /x}}`, `spec: {nfs: {server: b, path: /x}}`, "spec.nfs.server"},
		"another kind of volume":              {"v1 PersistentVolume", `spec: {hostPath: {path: /x}}`, `spec: {local: {path: /x}}`, "spec.hostPath spec.local"},
		"the address of a Service":            {service, `spec: {clusterIP: 10.0.0.1}`, `spec: {clusterIP: 10.0.0.2}`, "spec.clusterIP"},
		"a Service that becomes headless":     {service, `spec: {ports: [{port: 80}]}`, `spec: {clusterIP: None, ports: [{port: 80}]}`, "spec.clusterIP"},
		"the first family of a Service":       {service, `spec: {ipFamilies: [IPv4]}`, `spec: {ipFamilies: [IPv6, IPv4]}`, "spec.ipFamilies"},
		"the class of a load balancer":        {service, `spec: {type: LoadBalancer}`, `spec: {type: LoadBalancer, loadBalancerClass: example.com/a}`, "spec.loadBalancerClass"},
		"the scope of a kind":                 {crd, `spec: {scope: Namespaced}`, `spec: {scope: Cluster}`, "spec.scope"},
		"the name of a kind":                  {crd, `spec: {names: {kind: A, plural: as}}`, `spec: {names: {kind: B, plural: as}}`, "spec.names.kind"},
		"a version that is stored":            {crd, `spec: {versions: [{name: v1, storage: true}]}`, `spec: {versions: [{name: v2, storage: true}]}`, "spec.versions[v1]"},
		"the value of a priority":             {"scheduling.k8s.io/v1 PriorityClass", "value: 1", "value: 2", "value"},
		"whether a priority preempts":         {"scheduling.k8s.io/v1 PriorityClass", "value: 1", "value: 1\npreemptionPolicy: Never", "preemptionPolicy"},
		"the handler of a runtime":            {"node.k8s.io/v1 RuntimeClass", "handler: a", "handler: b", "handler"},
		"whether a driver attaches":           {"storage.k8s.io/v1 CSIDriver", "spec: {podInfoOnMount: true}", "spec: {attachRequired: false}", "spec.attachRequired"},
		"the controller of a class":           {"networking.k8s.io/v1 IngressClass", "spec: {controller: example.com/a}", "spec: {controller: example.com/b}", "spec.controller"},
		"an environment variable of a Pod":    {pod, `spec: {` + image + `}`, `spec: {containers: [{name: a, image: "x:1", env: [{name: A, value: b}]}]}`, "spec.containers[a].env"},
		"one more container of a Pod":         {pod, `spec: {` + image + `}`, `spec: {containers: [{name: a, image: "x:1"}, {name: b, image: "x:1"}]}`, "spec.containers[b]"},
		"fewer tolerations of a Pod":          {pod, `spec: {tolerations: [{key: a}], ` + image + `}`, `spec: {` + image + `}`, "spec.tolerations"},
		"a later deadline of a Pod":           {pod, `spec: {activeDeadlineSeconds: 5, ` + image + `}`, `spec: {activeDeadlineSeconds: 6, ` + image + `}`, "spec.activeDeadlineSeconds"},
		"no root for a Pod":                   {pod, `spec: {` + image + `}`, `spec: {automountServiceAccountToken: false, ` + image + `}`, "spec.automountServiceAccountToken"},
		"the scopes of a quota":               {"v1 ResourceQuota", "spec: {scopes: [Terminating]}", "spec: {scopes: [NotTerminating]}", "spec.scopes"},
		"the provider of a node":              {"v1 Node", "spec: {providerID: a}", "spec: {providerID: b}", "spec.providerID"},
		"the addresses of slices":             {"discovery.k8s.io/v1 EndpointSlice", "addressType: IPv4", "addressType: IPv6", "addressType"},
		"the addresses of Services":           {"networking.k8s.io/v1 ServiceCIDR", "spec: {cidrs: [10.0.0.0/16]}", "spec: {cidrs: [10.1.0.0/16]}", "spec.cidrs"},
		"what is asked of devices":            {"resource.k8s.io/v1 ResourceClaimTemplate", "spec: {spec: {a: b}}", "spec: {spec: {a: c}}", "spec.spec.a"},
		"the parameters of volume attributes": {"storage.k8s.io/v1 VolumeAttributesClass", "parameters: {a: b}", "parameters: {a: c}", "parameters.a"},

		"the replicas of a Deployment":            {"apps/v1 Deployment", `spec: {replicas: 1}`, `spec: {replicas: 2}`, ""},
		"the image of a StatefulSet":              {set, `spec: {template: {spec: {` + image + `}}}`, `spec: {template: {spec: {containers: [{name: a, image: "x:2"}]}}}`, ""},
		"how long a StatefulSet keeps claims":     {set, `spec: {serviceName: a}`, `spec: {serviceName: a, minReadySeconds: 5, persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete}}`, ""},
		"defaults of a StatefulSet, in writing":   {set, `spec: {volumeClaimTemplates: [{metadata: {name: d}, spec: {resources: {requests: {storage: 1Gi}}}}]}`, `spec: {podManagementPolicy: OrderedReady, volumeClaimTemplates: [{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: d}, spec: {volumeMode: Filesystem, resources: {requests: {storage: 1024Mi}}}}]}`, ""},
		"defaults of a Job, in writing":           {job, `spec: {template: {spec: {restartPolicy: Never, ` + image + `}}}`, `spec: {completions: 1, completionMode: NonIndexed, template: {spec: {dnsPolicy: ClusterFirst, terminationGracePeriodSeconds: 30, restartPolicy: Never, securityContext: {}, containers: [{name: a, image: "x:1", imagePullPolicy: IfNotPresent, resources: {}}]}}}`, ""},
		"the parallelism of a Job":                {job, `spec: {completions: 2, parallelism: 1}`, `spec: {completions: 2, parallelism: 2}`, ""},
		"an indexed Job that grows":               {job, `spec: {completions: 2, parallelism: 2, completionMode: Indexed}`, `spec: {completions: 3, parallelism: 3, completionMode: Indexed}`, ""},
		"where a suspended Job runs":              {job, `spec: {suspend: true, template: {spec: {nodeSelector: {a: b}, ` + image + `}}}`, `spec: {suspend: false, template: {spec: {nodeSelector: {a: c}, ` + image + `}}}`, ""},
		"a CronJob":                               {"batch/v1 CronJob", `spec: {schedule: a}`, `spec: {schedule: b}`, ""},
		"a greater claim":                         {claim, `spec: {resources: {requests: {storage: 1Gi}}}`, `spec: {resources: {requests: {storage: 2Gi}}}`, ""},
		"the size of a claim in another unit":     {claim, `spec: {resources: {requests: {storage: 1Gi}}}`, `spec: {resources: {requests: {storage: 1024Mi}}}`, ""},
		"the volume of a claim that had none":     {claim, `spec: {accessModes: [ReadWriteOnce]}`, `spec: {accessModes: [ReadWriteOnce], volumeName: a, volumeMode: Filesystem}`, ""},
		"the group of a role, in writing":         {"rbac.authorization.k8s.io/v1 RoleBinding", `roleRef: {kind: Role, name: a}`, `roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: a}`, ""},
		"the subjects of a binding":               {"rbac.authorization.k8s.io/v1 RoleBinding", "roleRef: {kind: Role, name: a}\nsubjects: []", "roleRef: {kind: Role, name: a}\nsubjects: [{kind: Group, name: a}]", ""},
		"the defaults of a class, in writing":     {"storage.k8s.io/v1 StorageClass", `provisioner: a`, "provisioner: a\nreclaimPolicy: Delete\nvolumeBindingMode: Immediate\nallowVolumeExpansion: true", ""},
		"a Secret that says it is opaque":         {"v1 Secret", "data: {a: Yg==}", "type: Opaque\ndata: {a: Yg==}", ""},
		"an immutable Secret written otherwise":   {"v1 Secret", "immutable: true\ndata: {a: Yg==}", "immutable: true\nstringData: {a: b}", ""},
		"a ConfigMap that becomes immutable":      {"v1 ConfigMap", "data: {a: b}", "immutable: true\ndata: {a: c}", ""},
		"a Service without its address":           {service, `spec: {clusterIP: 10.0.0.1}`, `spec: {ports: [{port: 80}]}`, ""},
		"a Service that becomes a name":           {service, `spec: {clusterIP: 10.0.0.1}`, `spec: {type: ExternalName, externalName: a.example.com}`, ""},
		"a second family of a Service":            {service, `spec: {ipFamilies: [IPv4]}`, `spec: {ipFamilies: [IPv4, IPv6], ipFamilyPolicy: PreferDualStack}`, ""},
		"a Service that gets a load balancer":     {service, `spec: {type: ClusterIP}`, `spec: {type: LoadBalancer, loadBalancerClass: example.com/a}`, ""},
		"a version that is served and not stored": {crd, `spec: {versions: [{name: v1, storage: true}, {name: v1beta1}]}`, `spec: {versions: [{name: v1, storage: true}]}`, ""},
		"another stored version":                  {crd, `spec: {versions: [{name: v1, storage: true}]}`, `spec: {versions: [{name: v1}, {name: v2, storage: true}]}`, ""},
		"the image of a Pod":                      {pod, `spec: {` + image + `}`, `spec: {containers: [{name: a, image: x}]}`, ""},
		"one more toleration of a Pod":            {pod, `spec: {tolerations: [{key: a}], ` + image + `}`, `spec: {tolerations: [{key: a}, {key: b}], ` + image + `}`, ""},
		"a Pod that is let go":                    {pod, `spec: {schedulingGates: [{name: a}], ` + image + `}`, `spec: {hostNetwork: false, nodeSelector: {a: b}, ` + image + `}`, ""},
		"the scopes of a quota in another order":  {"v1 ResourceQuota", "spec: {scopes: [Terminating, BestEffort]}", "spec: {scopes: [BestEffort, Terminating]}", ""},
		"a second range of addresses":             {"networking.k8s.io/v1 ServiceCIDR", "spec: {cidrs: [10.0.0.0/16]}", `spec: {cidrs: [10.0.0.0/16, "fd00::/112"]}`, ""},
		"a secret by which a volume grows":        {"v1 PersistentVolume", `spec: {csi: {driver: a}}`, `spec: {csi: {driver: a, controllerExpandSecretRef: {name: a}}, persistentVolumeReclaimPolicy: Retain}`, ""},
		"whether Pods of a driver are described":  {"storage.k8s.io/v1 CSIDriver", "spec: {podInfoOnMount: true}", "spec: {attachRequired: true, podInfoOnMount: false, volumeLifecycleModes: [Persistent]}", ""},
		"a custom resource that nobody knows":     {"example.com/v1 Job", "spec: {template: a}", "spec: {template: b}", ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			version, kind, _ := strings.Cut(tt.kind, " ")
			var got []string
			for _, f := range immutable.Refused(object(t, version, kind, tt.was), object(t, version, kind, tt.is)) {
				got = append(got, f.Path)
			}
			if strings.Join(got, " ") != tt.refused {
				t.Errorf("got %q, want %q", got, tt.refused)
			}
		})
	}
}

func TestNothingIsRefusedOfAnObjectThatStays(t *testing.T) {
	for _, kind := range immutable.Kinds() {
		o := manifest.Object{ID: manifest.ID{Group: kind.Group, Kind: kind.Kind, Name: "a"}, Body: map[string]any{"immutable": true, "spec": map[string]any{}}}
		if got := immutable.Refused(o, o); len(got) > 0 {
			t.Errorf("%s: %v", kind, got)
		}
	}
}

// TestADefinitionRefusesWhatItsRulesDo: what a rule refuses comes after what Kubernetes does.
func TestADefinitionRefusesWhatItsRulesDo(t *testing.T) {
	definition := func(kind string) manifest.Object {
		objects, err := manifest.Parse("a.yaml", []byte(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: disks.example.com}
spec: {group: example.com, scope: Namespaced, names: {plural: disks, kind: `+kind+`}, versions: [
  {name: v1, schema: {openAPIV3Schema: {type: object, x-kubernetes-validations: [{rule: "has(self.spec) || !has(oldSelf.spec)", message: spec stays}], properties: {spec: {type: object, properties: {class: {type: string, x-kubernetes-validations: [{rule: "self == oldSelf", message: class is immutable}]}}}}}}},
  {name: v2, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {class: {type: string, x-kubernetes-validations: [{rule: "self == oldSelf"}]}}}}}}}]}
`))
		if err != nil || len(objects) != 1 {
			t.Fatal(err)
		}
		return objects[0]
	}
	disks, tapes := definition("Disk"), definition("Tape")
	for sentence, tt := range map[string]struct {
		definition *immutable.Definition
		version    string // after the update
		is, want   string
	}{
		"another value":              {immutable.NewDefinition(disks), "example.com/v1", "spec: {class: b}", "spec.class (class is immutable)"},
		"the same value":             {immutable.NewDefinition(disks), "example.com/v1", "spec: {class: a}", ""},
		"a rule of the whole object": {immutable.NewDefinition(disks), "example.com/v1", "", "the object (spec stays)"},
		"another version, from which a webhook may convert": {immutable.NewDefinition(disks), "example.com/v2", "spec: {class: b}", ""},
		"what SOPS encrypted":                               {immutable.NewDefinition(disks), "example.com/v1", "spec: {class: b}\nsops: {mac: a}", ""},
		"the definition of another kind":                    {immutable.NewDefinition(tapes), "example.com/v1", "spec: {class: b}", ""},
		"an object that is not a definition":                {immutable.NewDefinition(object(t, "v1", "ConfigMap", "")), "example.com/v1", "spec: {class: b}", ""},
		"no definition":                                     {nil, "example.com/v1", "spec: {class: b}", ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			was, is := object(t, "example.com/v1", "Disk", "spec: {class: a}"), object(t, tt.version, "Disk", tt.is)
			for range 2 { // the second time with what is compiled already
				var got []string
				for _, f := range tt.definition.Refused(was, is) {
					got = append(got, f.String())
				}
				if strings.Join(got, " ") != tt.want {
					t.Errorf("got %q, want %q", got, tt.want)
				}
			}
		})
	}
	frozen := object(t, "v1", "ConfigMap", "immutable: true\ndata: {a: b}")
	if got := immutable.NewDefinition(disks).Refused(frozen, object(t, "v1", "ConfigMap", "immutable: true\ndata: {a: c}")); len(got) != 1 || got[0].Path != "data.a" {
		t.Errorf("of a kind of Kubernetes, %v is refused", got)
	}
}

package placement

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// Name is what an object names: mostly another object (IsObject).
type Name struct {
	ID    manifest.ID
	Field string
	// Optional reports whether the object can be ready without it.
	Optional bool
}

// What Pods name beside objects: an extended resource of nodes, and a scheduler.
const (
	Resource  = "Resource"
	Scheduler = "Scheduler"
)

// IsObject reports whether what is named is an object.
func (n Name) IsObject() bool { return n.ID.Kind != Resource && n.ID.Kind != Scheduler }

// appendNamedByPods appends what the Pods of a workload name, in the order of their fields. What every
// cluster has by itself is among it.
func appendNamedByPods(list []Name, o *manifest.Object) []Name {
	metadata, spec := PodsOf(o)
	p := podNames{namespace: o.ID.Namespace, list: list}
	p.addVolumes(spec)
	p.addContainers(spec["initContainers"])
	p.addContainers(spec["containers"])
	for _, secret := range mappings(spec["imagePullSecrets"]) {
		p.add(secretKind, secret["name"], "imagePullSecrets", false)
	}
	p.add(accountKind, AccountOf(spec), "serviceAccountName", false)
	p.addClusterwide(priorityClassKind, spec["priorityClassName"], "priorityClassName")
	p.addClusterwide(runtimeClassKind, spec["runtimeClassName"], "runtimeClassName")
	for _, claim := range mappings(spec["resourceClaims"]) {
		p.add(manifest.GroupKind{Group: "resource.k8s.io", Kind: "ResourceClaim"}, claim["resourceClaimName"], "resourceClaims", false)
		p.add(manifest.GroupKind{Group: "resource.k8s.io", Kind: "ResourceClaimTemplate"}, claim["resourceClaimTemplateName"], "resourceClaims", false)
	}
	annotations, _ := metadata["annotations"].(map[string]any)
	p.addNetworks(annotations)
	for _, claim := range mappings(o.Map("spec")["volumeClaimTemplates"]) {
		p.addClaimSpec(claim, "volumeClaimTemplates")
	}
	p.addResources()
	if name := spec["schedulerName"]; name != "default-scheduler" {
		p.addClusterwide(manifest.GroupKind{Kind: Scheduler}, name, "schedulerName")
	}
	return p.list
}

// podNames collects what Pods name.
type podNames struct {
	namespace string
	list      []Name
	// resources are the extended resources that containers ask for.
	resources []string
}

func (p *podNames) add(kind manifest.GroupKind, name any, field string, optional any) {
	isOptional, _ := optional.(bool)
	p.addIn(p.namespace, kind, name, field, isOptional)
}

func (p *podNames) addClusterwide(kind manifest.GroupKind, name any, field string) {
	p.addIn("", kind, name, field, false)
}

func (p *podNames) addIn(namespace string, kind manifest.GroupKind, name any, field string, optional bool) {
	if text, _ := name.(string); text != "" {
		p.list = append(p.list, Name{manifest.ID{Group: kind.Group, Kind: kind.Kind, Namespace: namespace, Name: text}, field, optional})
	}
}

func (p *podNames) addVolumes(spec map[string]any) {
	for _, volume := range mappings(spec["volumes"]) {
		p.addSource(volume)
		projected, _ := volume["projected"].(map[string]any)
		for _, source := range mappings(projected["sources"]) {
			p.addSource(source)
		}
		ephemeral, _ := volume["ephemeral"].(map[string]any)
		template, _ := ephemeral["volumeClaimTemplate"].(map[string]any)
		p.addClaimSpec(template, "volumes.ephemeral")
	}
}

// addSource adds what a volume or a projected source names.
func (p *podNames) addSource(source map[string]any) {
	for _, kind := range sortedKeys(source) {
		v, _ := source[kind].(map[string]any)
		switch kind {
		case "secret":
			name := v["secretName"]
			if name == nil {
				name = v["name"]
			}
			p.add(secretKind, name, "volumes.secret", v["optional"])
		case "configMap":
			p.add(configMapKind, v["name"], "volumes.configMap", v["optional"])
		case "persistentVolumeClaim":
			p.add(claimKind, v["claimName"], "volumes.persistentVolumeClaim", false)
		case "csi":
			attributes, _ := v["volumeAttributes"].(map[string]any)
			p.add(manifest.GroupKind{Group: "secrets-store.csi.x-k8s.io", Kind: "SecretProviderClass"}, attributes["secretProviderClass"], "volumes.csi", false)
			ref, _ := v["nodePublishSecretRef"].(map[string]any)
			p.add(secretKind, ref["name"], "volumes.csi", false)
			p.addFree(attributes, "volumes.csi")
		default:
			ref, _ := v["secretRef"].(map[string]any)
			p.add(secretKind, ref["name"], "volumes."+kind, false)
			p.add(secretKind, v["secretName"], "volumes."+kind, false)
			p.addFree(v["options"], "volumes."+kind)
		}
	}
}

// addFree adds what a mapping names whose fields are a driver's, by the table of references.
func (p *podNames) addFree(fields any, field string) {
	mapping, _ := fields.(map[string]any)
	r := references{by: manifest.ID{Namespace: p.namespace}, top: field, list: p.list}
	r.addMapping(mapping)
	p.list = r.list
}

func (p *podNames) addContainers(list any) {
	items, _ := list.([]any)
	for _, item := range items {
		if c, ok := item.(map[string]any); ok {
			p.addEnvironment(c)
			p.findResources(c)
		}
	}
}

// findResources finds the resources that a container asks for and that are none of Kubernetes' own.
func (p *podNames) findResources(container map[string]any) {
	resources, _ := container["resources"].(map[string]any)
	for _, kind := range []string{"limits", "requests"} {
		amounts, _ := resources[kind].(map[string]any)
		for name := range amounts {
			if domain, _, ok := strings.Cut(name, "/"); ok && !strings.HasSuffix("."+domain, ".kubernetes.io") {
				p.resources = append(p.resources, name)
			}
		}
	}
}

func (p *podNames) addResources() {
	slices.Sort(p.resources)
	for _, name := range slices.Compact(p.resources) {
		p.addClusterwide(manifest.GroupKind{Kind: Resource}, name, "resources")
	}
}

func (p *podNames) addEnvironment(container map[string]any) {
	for _, variable := range mappings(container["env"]) {
		from, _ := variable["valueFrom"].(map[string]any)
		p.addRef(configMapKind, from["configMapKeyRef"], "env")
		p.addRef(secretKind, from["secretKeyRef"], "env")
	}
	for _, from := range mappings(container["envFrom"]) {
		p.addRef(configMapKind, from["configMapRef"], "envFrom")
		p.addRef(secretKind, from["secretRef"], "envFrom")
	}
}

func (p *podNames) addRef(kind manifest.GroupKind, reference any, field string) {
	ref, _ := reference.(map[string]any)
	p.add(kind, ref["name"], field, ref["optional"])
}

// addClaimSpec adds the class of a claim.
func (p *podNames) addClaimSpec(claim map[string]any, field string) {
	spec, _ := claim["spec"].(map[string]any)
	p.addClusterwide(storageClassKind, spec["storageClassName"], field)
}

// addNetworks adds the networks that annotations of Pods name: in a list as "[namespace/]name[@interface]", or
// in JSON.
func (p *podNames) addNetworks(annotations map[string]any) {
	for _, annotation := range []string{"k8s.v1.cni.cncf.io/networks", "v1.multus-cni.io/default-network"} {
		text, _ := annotations[annotation].(string)
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		var list []struct{ Name, Namespace string }
		if !strings.HasPrefix(text, "[") || json.Unmarshal([]byte(text), &list) != nil {
			list = nil
			for item := range strings.SplitSeq(text, ",") {
				item, _, _ = strings.Cut(strings.TrimSpace(item), "@")
				namespace, name, both := strings.Cut(item, "/")
				if !both {
					namespace, name = "", item
				}
				list = append(list, struct{ Name, Namespace string }{name, namespace})
			}
		}
		for _, network := range list {
			p.addIn(cmp.Or(network.Namespace, p.namespace), networkKind, network.Name, "metadata.annotations["+annotation+"]", false)
		}
	}
}

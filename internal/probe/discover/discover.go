// Package discover reads what is on a cluster although no seed contains it, as a Cluster document
// lists it in spec.provides. It only reads, and only what the release and the lists of an API server
// say. What a seed has planted is left out: the seed says that.
package discover

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// pageSize is how many objects are listed in one request.
const pageSize = 500

// labelKustomization is Flux's, on everything that a Kustomization applies.
const labelKustomization = "kustomize.toolkit.fluxcd.io/name"

// labelName is on every Namespace, and says nothing that its name does not.
const labelName = "kubernetes.io/metadata.name"

// Provides reads a cluster of the fleet. All lists are in order.
func Provides(ctx context.Context, config *rest.Config, cluster string) (v1alpha1.ClusterProvides, error) {
	var found v1alpha1.ClusterProvides
	server, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return found, err
	}
	objects, err := metadata.NewForConfig(config)
	if err != nil {
		return found, err
	}
	version, err := server.ServerVersion()
	if err != nil {
		return found, fmt.Errorf("reading the version of the API server: %w", err)
	}
	if minor, ok := manifest.ParseRelease(version.GitVersion); ok {
		found.KubernetesVersion = fmt.Sprintf("1.%d", minor)
	}
	groups, err := server.ServerGroups()
	if err != nil {
		return found, fmt.Errorf("reading the API groups: %w", err)
	}
	definitions, err := list(ctx, objects, schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	if err != nil {
		return found, err
	}
	namespaces, err := list(ctx, objects, schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
	if err != nil {
		return found, err
	}
	named, err := namedObjects(ctx, objects, groups.Groups)
	if err != nil {
		return found, err
	}
	webhooks, err := configurations(ctx, config)
	if err != nil {
		return found, err
	}
	own := planted(cluster)
	found.CustomResourceDefinitions = definitionNames(definitions, own)
	found.APIVersions = versions(groups.Groups, definitions, own)
	if found.NamespacedKinds, found.ClusterScopedKinds, err = scopes(ctx, server, groups.Groups, found.APIVersions); err != nil {
		return found, err
	}
	found.LabelledNamespaces = labelled(namespaces, own)
	found.Objects = providedObjects(named, own)
	found.WebhookConfigurations = closing(webhooks, own)
	return found, nil
}

// list reads the metadata of all objects of a resource.
func list(ctx context.Context, client metadata.Interface, resource schema.GroupVersionResource) ([]metav1.PartialObjectMetadata, error) {
	var all []metav1.PartialObjectMetadata
	for page := ""; ; {
		answer, err := client.Resource(resource).List(ctx, metav1.ListOptions{Limit: pageSize, Continue: page})
		if err != nil {
			return nil, fmt.Errorf("listing %s: %w", resource.Resource, err)
		}
		all = append(all, answer.Items...)
		if page = answer.Continue; page == "" {
			return all, nil
		}
	}
}

// planted returns what reports whether a tier of Furrow on a cluster has an object.
func planted(cluster string) func(metav1.PartialObjectMetadata) bool {
	tier := regexp.MustCompile(`^[a-z0-9-]+\.` + regexp.QuoteMeta(cluster) + `\.[0-9]{2,}$`)
	return func(o metav1.PartialObjectMetadata) bool { return tier.MatchString(o.Labels[labelKustomization]) }
}

func definitionNames(definitions []metav1.PartialObjectMetadata, own func(metav1.PartialObjectMetadata) bool) []string {
	var names []string
	for _, d := range definitions {
		if !own(d) {
			names = append(names, d.Name)
		}
	}
	slices.Sort(names)
	return names
}

// versions returns those of groups of custom resources and aggregated APIs, and those of Kubernetes'
// own groups that are off by default. A group whose definitions were all planted is left out.
func versions(groups []metav1.APIGroup, definitions []metav1.PartialObjectMetadata, own func(metav1.PartialObjectMetadata) bool) []string {
	ours, others := map[string]bool{}, map[string]bool{}
	for _, d := range definitions {
		_, group, _ := strings.Cut(d.Name, ".")
		if own(d) {
			ours[group] = true
		} else {
			others[group] = true
		}
	}
	var all []string
	for _, group := range groups {
		builtin := manifest.ServedByKubernetes(manifest.GroupKind{Group: group.Name})
		if ours[group.Name] && !others[group.Name] {
			continue
		}
		for _, v := range group.Versions {
			if !builtin || manifest.Prerelease(v.Version) != "" {
				all = append(all, v.GroupVersion)
			}
		}
	}
	slices.Sort(all)
	return all
}

// scopes returns the kinds of the groups of custom resources and aggregated APIs whose versions are
// listed, by whether their objects have a namespace. A group is read in the version that its server
// prefers; where that is not answered, as while an aggregated server is down, its kinds are unknown.
func scopes(ctx context.Context, server *discovery.DiscoveryClient, groups []metav1.APIGroup, listed []string) (namespaced, clusterScoped []string, err error) {
	for _, group := range groups {
		version := group.PreferredVersion.GroupVersion
		if manifest.ServedByKubernetes(manifest.GroupKind{Group: group.Name}) || !slices.Contains(listed, version) {
			continue
		}
		resources, err := server.ServerResourcesForGroupVersion(version)
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		if err != nil {
			continue
		}
		for _, r := range resources.APIResources {
			name := manifest.GroupKind{Group: group.Name, Kind: r.Kind}.String()
			switch {
			case strings.Contains(r.Name, "/"): // a subresource
			case r.Namespaced:
				namespaced = append(namespaced, name)
			default:
				clusterScoped = append(clusterScoped, name)
			}
		}
	}
	slices.Sort(namespaced)
	slices.Sort(clusterScoped)
	return slices.Compact(namespaced), slices.Compact(clusterScoped), nil
}

// labelled returns the Namespaces with their labels.
func labelled(namespaces []metav1.PartialObjectMetadata, own func(metav1.PartialObjectMetadata) bool) []v1alpha1.LabelledNamespace {
	var all []v1alpha1.LabelledNamespace
	for _, n := range namespaces {
		if own(n) {
			continue
		}
		delete(n.Labels, labelName)
		if len(n.Labels) == 0 {
			n.Labels = nil
		}
		all = append(all, v1alpha1.LabelledNamespace{Name: n.Name, Labels: n.Labels})
	}
	slices.SortFunc(all, func(a, b v1alpha1.LabelledNamespace) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// namedKinds are the kinds whose objects others name and that clusters often have by themselves. Secrets are
// not among them: to list their names is to read them all.
var namedKinds = []struct {
	manifest.GroupKind
	resource string
}{
	{manifest.GroupKind{Group: "gateway.networking.k8s.io", Kind: "GatewayClass"}, "gatewayclasses"},
	{manifest.GroupKind{Group: "k8s.cni.cncf.io", Kind: "NetworkAttachmentDefinition"}, "network-attachment-definitions"},
	{manifest.GroupKind{Group: "networking.k8s.io", Kind: "IngressClass"}, "ingressclasses"},
	{manifest.GroupKind{Group: "node.k8s.io", Kind: "RuntimeClass"}, "runtimeclasses"},
	{manifest.GroupKind{Group: "scheduling.k8s.io", Kind: "PriorityClass"}, "priorityclasses"},
	{manifest.GroupKind{Group: "storage.k8s.io", Kind: "StorageClass"}, "storageclasses"},
}

// namedObjects lists the objects of namedKinds whose groups the server has, by kind.
func namedObjects(ctx context.Context, client metadata.Interface, groups []metav1.APIGroup) (map[manifest.GroupKind][]metav1.PartialObjectMetadata, error) {
	all := map[manifest.GroupKind][]metav1.PartialObjectMetadata{}
	for _, kind := range namedKinds {
		at := slices.IndexFunc(groups, func(g metav1.APIGroup) bool { return g.Name == kind.Group })
		if at < 0 {
			continue
		}
		found, err := list(ctx, client, schema.GroupVersionResource{Group: kind.Group, Version: groups[at].PreferredVersion.Version, Resource: kind.resource})
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, err
		}
		all[kind.GroupKind] = found
	}
	return all, nil
}

// providedObjects returns objects by what others name them by. What every cluster has is left out.
func providedObjects(named map[manifest.GroupKind][]metav1.PartialObjectMetadata, own func(metav1.PartialObjectMetadata) bool) []v1alpha1.ProvidedObject {
	var all []v1alpha1.ProvidedObject
	for kind, objects := range named {
		for _, o := range objects {
			if !own(o) && !(kind.Kind == "PriorityClass" && strings.HasPrefix(o.Name, "system-")) {
				all = append(all, v1alpha1.ProvidedObject{Kind: kind.String(), Namespace: o.Namespace, Name: o.Name})
			}
		}
	}
	slices.SortFunc(all, func(a, b v1alpha1.ProvidedObject) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// configuration is a webhook configuration as an API server has it.
type configuration struct {
	metav1.PartialObjectMetadata `json:",inline"`
	Webhooks                     []struct {
		v1alpha1.ProvidedWebhook `json:",inline"`
		FailurePolicy            string `json:"failurePolicy"`
	} `json:"webhooks"`
}

// configurations reads the webhook configurations of a cluster.
func configurations(ctx context.Context, config *rest.Config) ([]configuration, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	var all []configuration
	for kind, resource := range map[string]string{"ValidatingWebhookConfiguration": "validatingwebhookconfigurations", "MutatingWebhookConfiguration": "mutatingwebhookconfigurations"} {
		for page := ""; ; {
			answer, err := client.Resource(schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: resource}).List(ctx, metav1.ListOptions{Limit: pageSize, Continue: page})
			if err != nil {
				return nil, fmt.Errorf("listing %s: %w", resource, err)
			}
			for _, item := range answer.Items {
				var c configuration
				text, err := item.MarshalJSON()
				if err == nil {
					err = json.Unmarshal(text, &c)
				}
				if err != nil {
					return nil, fmt.Errorf("reading %s %s: %w", kind, item.GetName(), err)
				}
				c.Kind = kind
				all = append(all, c)
			}
			if page = answer.GetContinue(); page == "" {
				break
			}
		}
	}
	slices.SortFunc(all, func(a, b configuration) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return all, nil
}

// closing returns the webhooks that fail closed and that are called through a Service, without what
// API servers fill in.
func closing(all []configuration, own func(metav1.PartialObjectMetadata) bool) []v1alpha1.ProvidedWebhookConfiguration {
	var out []v1alpha1.ProvidedWebhookConfiguration
	for _, c := range all {
		found := v1alpha1.ProvidedWebhookConfiguration{Kind: c.Kind, Name: c.Name}
		for _, w := range c.Webhooks {
			if w.FailurePolicy == "Ignore" || w.ClientConfig.Service.Name == "" {
				continue
			}
			w.NamespaceSelector, w.ObjectSelector = withoutEmpty(w.NamespaceSelector), withoutEmpty(w.ObjectSelector)
			if w.MatchPolicy == "Equivalent" {
				w.MatchPolicy = ""
			}
			for i := range w.Rules {
				if w.Rules[i].Scope == "*" {
					w.Rules[i].Scope = ""
				}
			}
			found.Webhooks = append(found.Webhooks, w.ProvidedWebhook)
		}
		if len(found.Webhooks) > 0 && !own(c.PartialObjectMetadata) {
			out = append(out, found)
		}
	}
	return out
}

// withoutEmpty returns nil for a selector that selects everything.
func withoutEmpty(s *metav1.LabelSelector) *metav1.LabelSelector {
	if s != nil && len(s.MatchLabels)+len(s.MatchExpressions) == 0 {
		return nil
	}
	return s
}

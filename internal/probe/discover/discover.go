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
	webhooks, err := configurations(ctx, config)
	if err != nil {
		return found, err
	}
	own := planted(cluster)
	found.CustomResourceDefinitions = definitionNames(definitions, own)
	found.APIVersions = versions(groups.Groups, definitions, own)
	found.LabelledNamespaces = labelled(namespaces, own)
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

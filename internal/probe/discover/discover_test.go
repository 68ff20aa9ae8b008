package discover

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/furrow-dev/furrow/api/v1alpha1"
)

// server answers as an API server does; a path that it does not have is forbidden.
func server(t *testing.T, answers map[string]any) *rest.Config {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := r.URL.Path
		if next := r.URL.Query().Get("continue"); next != "" {
			key += "?" + next
		}
		w.Header().Set("Content-Type", "application/json")
		answer, ok := answers[key]
		if status, failed := answer.(object); failed && status["kind"] == "Status" {
			w.WriteHeader(http.StatusNotFound)
		}
		if !ok {
			w.WriteHeader(http.StatusForbidden)
			answer = object{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403, "message": "you may not"}
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(s.Close)
	return &rest.Config{Host: s.URL}
}

type object = map[string]any

// group is an API group with versions.
func group(name string, versions ...string) object {
	var list []object
	for _, v := range versions {
		list = append(list, object{"groupVersion": name + "/" + v, "version": v})
	}
	return object{"name": name, "versions": list, "preferredVersion": list[0]}
}

// item is an object with labels.
func item(name string, labels object) object {
	return object{"metadata": object{"name": name, "labels": labels}}
}

func page(next string, items ...object) object {
	return object{"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": object{"continue": next}, "items": items}
}

const (
	crds       = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	namespaces = "/api/v1/namespaces"
	validating = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
	classes    = "/apis/storage.k8s.io/v1/storageclasses"
	priorities = "/apis/scheduling.k8s.io/v1/priorityclasses"
	networks   = "/apis/k8s.cni.cncf.io/v1/network-attachment-definitions"
	gateways   = "/apis/gateway.networking.k8s.io/v1/gatewayclasses"
	mutating   = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
)

// webhooks is a webhook configuration.
func webhooks(name string, labels object, list ...object) object {
	o := item(name, labels)
	o["apiVersion"], o["kind"], o["webhooks"] = "admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", list
	return o
}

// webhook is one, as API servers return it.
func webhook(name, failurePolicy string, client object) object {
	return object{
		"name": name, "failurePolicy": failurePolicy, "clientConfig": client, "matchPolicy": "Equivalent", "sideEffects": "None", "timeoutSeconds": 10, "admissionReviewVersions": []string{"v1"},
		"namespaceSelector": object{"matchLabels": object{"guard": "on"}}, "objectSelector": object{}, "matchConditions": []object{{"name": "not-ours", "expression": "object.metadata.name != 'ours'"}},
		"rules": []object{{"apiGroups": []string{"apps"}, "apiVersions": []string{"*"}, "operations": []string{"CREATE"}, "resources": []string{"deployments"}, "scope": "*"}},
	}
}

func configurationList(next string, items ...object) object {
	return object{"kind": "ValidatingWebhookConfigurationList", "apiVersion": "admissionregistration.k8s.io/v1", "metadata": object{"continue": next}, "items": items}
}

func answers() map[string]any {
	service := object{"service": object{"namespace": "guard", "name": "guard-webhook", "port": 443, "path": "/check"}, "caBundle": "Q0E="}
	planted := object{"kustomize.toolkit.fluxcd.io/name": "web.edge.00"}
	return map[string]any{
		"/version": object{"major": "1", "minor": "36+", "gitVersion": "v1.36.3-eks-1"},
		"/api":     object{"kind": "APIVersions", "versions": []string{"v1"}},
		"/apis": object{"kind": "APIGroupList", "apiVersion": "v1", "groups": []object{
			group("apps", "v1"), group("resource.k8s.io", "v1", "v1beta2"), group("cert-manager.io", "v1"), group("metrics.k8s.io", "v1beta1"), group("shop.example.com", "v1"),
			group("k8s.cni.cncf.io", "v1"), group("scheduling.k8s.io", "v1"), group("storage.k8s.io", "v1", "v1beta1"), group("gateway.networking.k8s.io", "v1"),
		}},
		classes:    page("", item("fast", nil), item("ours", planted)),
		priorities: page("", item("system-node-critical", nil), item("urgent", nil)),
		networks:   page("", object{"metadata": object{"name": "n3", "namespace": "upf"}}),
		gateways:   object{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404},
		"/apis/cert-manager.io/v1": object{"kind": "APIResourceList", "groupVersion": "cert-manager.io/v1", "resources": []object{
			{"name": "clusterissuers", "kind": "ClusterIssuer", "namespaced": false}, {"name": "issuers", "kind": "Issuer", "namespaced": true}, {"name": "issuers/status", "kind": "Issuer", "namespaced": true},
		}},
		"/apis/shop.example.com/v1": object{"kind": "APIResourceList", "groupVersion": "shop.example.com/v1", "resources": []object{{"name": "carts", "kind": "Cart", "namespaced": true}}},
		crds:                        page("more", item("issuers.cert-manager.io", nil), item("carts.shop.example.com", planted)),
		crds + "?more":              page("", item("certificates.cert-manager.io", object{"kustomize.toolkit.fluxcd.io/name": "infrastructure"})),
		mutating:                    configurationList("", webhooks("ours", planted, webhook("a.example.com", "Fail", service)), webhooks("elsewhere", nil, webhook("b.example.com", "Fail", object{"url": "https://example.com"}))),
		validating:                  configurationList("2", webhooks("open", nil, webhook("c.example.com", "Ignore", service))),
		validating + "?2":           configurationList("", webhooks("guard", nil, webhook("d.example.com", "Ignore", service), webhook("e.example.com", "Fail", service))),
		namespaces:                  page("", item("shop", planted), item("monitoring", object{"kubernetes.io/metadata.name": "monitoring", "team": "a"}), item("default", object{"kubernetes.io/metadata.name": "default"}), item("other", object{"kustomize.toolkit.fluxcd.io/name": "web.west.00"})),
	}
}

func TestProvidesReadsWhatNoSeedHas(t *testing.T) {
	got, err := Provides(t.Context(), server(t, answers()), "edge")
	if err != nil {
		t.Fatal(err)
	}
	want := v1alpha1.ClusterProvides{
		KubernetesVersion:         "1.36",
		APIVersions:               []string{"cert-manager.io/v1", "gateway.networking.k8s.io/v1", "k8s.cni.cncf.io/v1", "metrics.k8s.io/v1beta1", "resource.k8s.io/v1beta2", "storage.k8s.io/v1beta1"},
		CustomResourceDefinitions: []string{"certificates.cert-manager.io", "issuers.cert-manager.io"},
		NamespacedKinds:           []string{"Issuer.cert-manager.io"},
		ClusterScopedKinds:        []string{"ClusterIssuer.cert-manager.io"},
		LabelledNamespaces: []v1alpha1.LabelledNamespace{
			{Name: "default"}, {Name: "monitoring", Labels: map[string]string{"team": "a"}}, {Name: "other", Labels: map[string]string{"kustomize.toolkit.fluxcd.io/name": "web.west.00"}},
		},
		Objects: []v1alpha1.ProvidedObject{
			{Kind: "NetworkAttachmentDefinition.k8s.cni.cncf.io", Namespace: "upf", Name: "n3"},
			{Kind: "PriorityClass.scheduling.k8s.io", Name: "urgent"}, {Kind: "StorageClass.storage.k8s.io", Name: "fast"},
		},
		WebhookConfigurations: []v1alpha1.ProvidedWebhookConfiguration{{Kind: "ValidatingWebhookConfiguration", Name: "guard", Webhooks: []v1alpha1.ProvidedWebhook{{
			Name: "e.example.com", ClientConfig: v1alpha1.ProvidedWebhookClient{Service: v1alpha1.ObjectReference{Namespace: "guard", Name: "guard-webhook"}},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"guard": "on"}},
			MatchConditions:   []v1alpha1.ProvidedMatchCondition{{Name: "not-ours", Expression: "object.metadata.name != 'ours'"}},
			Rules:             []v1alpha1.ProvidedWebhookRule{{APIGroups: []string{"apps"}, APIVersions: []string{"*"}, Operations: []string{"CREATE"}, Resources: []string{"deployments"}}},
		}}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestProvidesSaysWhatItMayNotRead(t *testing.T) {
	for path, want := range map[string]string{"/version": "the version", "/apis": "the API groups", crds: "customresourcedefinitions", namespaces: "namespaces", classes: "storageclasses", mutating: "mutatingwebhookconfigurations"} {
		missing := answers()
		delete(missing, path)
		if path == "/apis" {
			delete(missing, "/api")
		}
		if _, err := Provides(t.Context(), server(t, missing), "edge"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

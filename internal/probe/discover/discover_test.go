package discover

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
)

func answers() map[string]any {
	planted := object{"kustomize.toolkit.fluxcd.io/name": "web.edge.00"}
	return map[string]any{
		"/version": object{"major": "1", "minor": "36+", "gitVersion": "v1.36.3-eks-1"},
		"/api":     object{"kind": "APIVersions", "versions": []string{"v1"}},
		"/apis": object{"kind": "APIGroupList", "apiVersion": "v1", "groups": []object{
			group("apps", "v1"), group("resource.k8s.io", "v1", "v1beta2"), group("cert-manager.io", "v1"), group("metrics.k8s.io", "v1beta1"), group("shop.example.com", "v1"),
		}},
		crds:           page("more", item("issuers.cert-manager.io", nil), item("carts.shop.example.com", planted)),
		crds + "?more": page("", item("certificates.cert-manager.io", object{"kustomize.toolkit.fluxcd.io/name": "infrastructure"})),
		namespaces:     page("", item("shop", planted), item("monitoring", object{"kubernetes.io/metadata.name": "monitoring", "team": "a"}), item("default", object{"kubernetes.io/metadata.name": "default"}), item("other", object{"kustomize.toolkit.fluxcd.io/name": "web.west.00"})),
	}
}

func TestProvidesReadsWhatNoSeedHas(t *testing.T) {
	got, err := Provides(t.Context(), server(t, answers()), "edge")
	if err != nil {
		t.Fatal(err)
	}
	want := v1alpha1.ClusterProvides{
		KubernetesVersion:         "1.36",
		APIVersions:               []string{"cert-manager.io/v1", "metrics.k8s.io/v1beta1", "resource.k8s.io/v1beta2"},
		CustomResourceDefinitions: []string{"certificates.cert-manager.io", "issuers.cert-manager.io"},
		LabelledNamespaces: []v1alpha1.LabelledNamespace{
			{Name: "default"}, {Name: "monitoring", Labels: map[string]string{"team": "a"}}, {Name: "other", Labels: map[string]string{"kustomize.toolkit.fluxcd.io/name": "web.west.00"}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestProvidesSaysWhatItMayNotRead(t *testing.T) {
	for path, want := range map[string]string{"/version": "the version", "/apis": "the API groups", crds: "customresourcedefinitions", namespaces: "namespaces"} {
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

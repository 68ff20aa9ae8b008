package cli

import (
	"testing"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

func TestObjectsAreFoundByTheNamesThatKubectlTakes(t *testing.T) {
	id := func(text string) manifest.ID {
		parsed, err := manifest.ParseID(text)
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	for name, tt := range map[string]struct {
		object string
		want   bool
	}{
		"ConfigMap/a":                      {"core/ConfigMap/default/a", true},
		"configmap/a":                      {"core/ConfigMap/default/a", true},
		"configmaps/a":                     {"core/ConfigMap/default/a", true},
		"cm/a":                             {"core/ConfigMap/default/a", true},
		"cm/default/a":                     {"core/ConfigMap/default/a", true},
		"cm/other/a":                       {"core/ConfigMap/default/a", false},
		"cm/b":                             {"core/ConfigMap/default/a", false},
		"secret/a":                         {"core/ConfigMap/default/a", false},
		"a":                                {"core/ConfigMap/default/a", false},
		"deploy/web":                       {"apps/Deployment/shop/web", true},
		"deployments.apps/web":             {"apps/Deployment/shop/web", true},
		"deployments.extensions/web":       {"apps/Deployment/shop/web", false},
		"networkpolicies/web":              {"networking.k8s.io/NetworkPolicy/shop/web", true},
		"netpol/shop/web":                  {"networking.k8s.io/NetworkPolicy/shop/web", true},
		"ingresses/web":                    {"networking.k8s.io/Ingress/shop/web", true},
		"storageclass/fast":                {"storage.k8s.io/StorageClass/fast", true},
		"gateways/web":                     {"gateway.networking.k8s.io/Gateway/shop/web", true},
		"clusters.cluster.x-k8s.io/edge-1": {"cluster.x-k8s.io/Cluster/edge/edge-1", true},
		"core/ConfigMap/default/a":         {"core/ConfigMap/default/a", false},
	} {
		if got := means(name, id(tt.object)); got != tt.want {
			t.Errorf("%s means %s: %v", name, tt.object, got)
		}
	}
}

package install

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kubeyaml "sigs.k8s.io/yaml"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/test/servers"
)

// cluster is a real API server with an administrator's client.
type cluster struct {
	server *servers.Cluster
	client.Client
}

// controllerManager starts kube-controller-manager too.
func controllerManager(options *servers.ClusterOptions) { options.Controllers = true }

func startCluster(t *testing.T, name string, with ...func(*servers.ClusterOptions)) cluster {
	t.Helper()
	options := servers.ClusterOptions{Name: name}
	for _, set := range with {
		set(&options)
	}
	c := servers.MustCluster(t, options)
	return cluster{c, clientFor(t, c.Config)}
}

// apply applies documents or fails the test.
func (c cluster) apply(t *testing.T, documents []byte) {
	t.Helper()
	if err := c.server.Apply(t.Context(), documents); err != nil {
		t.Fatal(err)
	}
}

func clientFor(t *testing.T, config *rest.Config) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, v1alpha1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	made, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// eventually waits until is returns true.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	err := servers.Until(ctx, what, func(context.Context) error {
		if is() {
			return nil
		}
		return errors.New("it is not so")
	})
	if err != nil {
		t.Error(err)
	}
}

// makeNamespace creates a namespace with labels, unless it exists.
func (c cluster) makeNamespace(t *testing.T, name string, labels map[string]string) {
	t.Helper()
	object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	if err := client.IgnoreAlreadyExists(c.Create(t.Context(), object)); err != nil {
		t.Fatal(err)
	}
}

// resource returns an object of one of Furrow's kinds with this spec.
func resource(t *testing.T, kind, namespace, name, spec string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{}}
	if spec != "" {
		var value any
		if err := kubeyaml.Unmarshal([]byte(spec), &value); err != nil {
			t.Fatal(err)
		}
		object.Object["spec"] = value
	}
	object.SetAPIVersion(v1alpha1.APIVersion)
	object.SetKind(kind)
	object.SetNamespace(namespace)
	object.SetName(name)
	return object
}

package servers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const widgets = `
apiVersion: test.furrow.dev/v1
kind: Widget
metadata: {name: first, namespace: widgets}
spec: {size: 1}
---
apiVersion: v1
kind: Namespace
metadata: {name: widgets}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.test.furrow.dev}
spec:
  group: test.furrow.dev
  names: {kind: Widget, plural: widgets, singular: widget, listKind: WidgetList}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer}}}
---
`

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: example.invalid/web:1}]
`

// within bounds a wait in a test.
func within(t *testing.T, limit time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}

// timed logs how long f took.
func timed(t *testing.T, what string, f func() error) {
	t.Helper()
	began := time.Now()
	if err := f(); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	t.Logf("%s: %s", what, time.Since(began).Round(10*time.Millisecond))
}

// widget gets the custom resource of widgets.
func widget(ctx context.Context, cluster *Cluster) error {
	got := &unstructured.Unstructured{}
	got.SetAPIVersion("test.furrow.dev/v1")
	got.SetKind("Widget")
	return cluster.Client().Get(ctx, client.ObjectKey{Namespace: "widgets", Name: "first"}, got)
}

func TestAClusterWithNodesRunsPods(t *testing.T) {
	t.Parallel()
	var cluster *Cluster
	timed(t, "start of a cluster with 2 nodes", func() error {
		cluster = MustCluster(t, ClusterOptions{Name: "edge-1", Nodes: 2})
		return nil
	})
	ctx := within(t, time.Minute)
	timed(t, "Deployment available", func() error {
		if err := cluster.Apply(ctx, []byte(deployment)); err != nil {
			return err
		}
		return Until(ctx, "the Deployment is available", func(ctx context.Context) error {
			var got appsv1.Deployment
			err := cluster.Client().Get(ctx, client.ObjectKey{Namespace: "default", Name: "web"}, &got)
			if err == nil && got.Status.AvailableReplicas != 2 {
				err = fmt.Errorf("%d pods are available", got.Status.AvailableReplicas)
			}
			return err
		})
	})
	var running []*process
	running = append(append(running, cluster.etcd, cluster.apiServer), cluster.controllers...)
	timed(t, "stop", cluster.Stop)
	for _, p := range running {
		if err := syscall.Kill(p.cmd.Process.Pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("%s is there after Stop: %v", p.name, err)
		}
	}
}

func TestABareCluster(t *testing.T) {
	t.Parallel()
	options := ClusterOptions{Dir: workDir(t, "cluster"), Audit: true}
	var cluster *Cluster
	timed(t, "start of a bare cluster", func() error {
		cluster = MustCluster(t, options)
		return nil
	})
	ctx := within(t, 2*time.Minute)
	timed(t, "apply of a CRD and its object", func() error { return cluster.Apply(ctx, []byte(widgets)) })
	t.Run("reports refused changes", func(t *testing.T) { reportsRefusedChanges(ctx, t, cluster) })
	t.Run("takes the CRDs that come with servers", func(t *testing.T) { takesCRDs(ctx, t, cluster) })
	t.Run("goes away and comes back", func(t *testing.T) { goesAwayAndComesBack(ctx, t, cluster) })
	t.Run("starts again in its folder", func(t *testing.T) { startsAgain(ctx, t, cluster, options) })
}

func reportsRefusedChanges(ctx context.Context, t *testing.T, cluster *Cluster) {
	refused := &corev1.ConfigMap{}
	refused.Namespace, refused.Name = "nowhere", "refused"
	if err := cluster.Client().Create(ctx, refused.DeepCopy(), client.DryRunAll); !apierrors.IsNotFound(err) {
		t.Fatalf("create in a namespace that is not there: %v", err)
	}
	document := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: refused, namespace: nowhere}\n"
	if err := cluster.Apply(ctx, []byte(document)); !apierrors.IsNotFound(err) {
		t.Fatalf("apply in a namespace that is not there: %v", err)
	}
	err := Until(ctx, "both are in the audit log", func(context.Context) error {
		events, err := cluster.AuditEvents()
		if err != nil {
			return err
		}
		found := map[string]bool{}
		for _, event := range events {
			object := event.ObjectRef
			if event.Refused() && object.Resource == "configmaps" && object.Namespace == "nowhere" &&
				object.Name == "refused" && event.ResponseStatus.Code == 404 &&
				event.UserAgent != "" && event.User.Username == "admin" {
				found[fmt.Sprint(event.Verb, " ", event.DryRun())] = true
			}
		}
		if !found["create true"] || !found["patch false"] {
			return fmt.Errorf("found %v among %d", found, len(events))
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func takesCRDs(ctx context.Context, t *testing.T, cluster *Cluster) {
	Need(t, SourceController, KustomizeController, ClusterAPI)
	for _, name := range []Name{SourceController, KustomizeController, ClusterAPI} {
		crds, err := CRDs(name)
		if err != nil {
			t.Fatal(err)
		}
		timed(t, "apply of the CRDs of "+string(name), func() error { return cluster.Apply(ctx, crds) })
	}
}

func goesAwayAndComesBack(ctx context.Context, t *testing.T, cluster *Cluster) {
	timed(t, "stop of the API server", cluster.StopAPIServer)
	if err := widget(ctx, cluster); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a request to a stopped API server: %v", err)
	}
	timed(t, "start of the API server", func() error { return cluster.StartAPIServer(ctx) })
	if err := widget(ctx, cluster); err != nil {
		t.Errorf("after the API server's return: %v", err)
	}
	if err := cluster.Pause(); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	if err := widget(short, cluster); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a request to a paused API server: %v", err)
	}
	if err := cluster.Resume(); err != nil {
		t.Fatal(err)
	}
	if err := widget(ctx, cluster); err != nil {
		t.Errorf("after Resume: %v", err)
	}
}

// startsAgain stops cluster, starts another one in its folder, and lets the old client speak to that.
func startsAgain(ctx context.Context, t *testing.T, cluster *Cluster, options ClusterOptions) {
	timed(t, "stop", cluster.Stop)
	again, err := StartCluster(ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	endWith(t, "the cluster that was started again", again.Stop)
	if !bytes.Equal(again.KubeConfig, cluster.KubeConfig) {
		t.Error("the kubeconfig is another one")
	}
	if err := widget(ctx, cluster); err != nil {
		t.Errorf("the old client: %v", err)
	}
	timed(t, "wipe", func() error { return again.Wipe(ctx) })
	if err := widget(ctx, cluster); !apierrors.IsNotFound(err) {
		t.Errorf("the old client after Wipe: %v", err)
	}
}

func TestClustersStartAtOnce(t *testing.T) {
	t.Parallel()
	var clusters []*Cluster
	timed(t, "start of 2 bare clusters", func() error {
		clusters = MustClusters(t, ClusterOptions{Name: "a"}, ClusterOptions{Name: "b"})
		return nil
	})
	urls := map[string]bool{}
	for _, cluster := range clusters {
		urls[cluster.URL] = true
		if _, err := os.Stat(cluster.KubeConfigFile); err != nil {
			t.Error(err)
		}
	}
	if len(urls) != 2 {
		t.Errorf("URLs: %v", urls)
	}
}

package e2e

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/furrow-dev/furrow/test/servers"
)

// barePod is a seed whose Pod uses the account that the controller manager makes in each Namespace.
const barePod = `apiVersion: v1
kind: Namespace
metadata: {name: jobs}
---
apiVersion: v1
kind: Pod
metadata: {name: once, namespace: jobs}
spec: {containers: [{name: once, image: once}]}
`

// TestABarePodWaitsForTheAccountOfItsNamespace gives Flux the whole plan at once, on a cluster whose controller manager
// makes no accounts: the tier of the Namespace is not ready until the test makes the account, and the Pod is never refused.
func TestABarePodWaitsForTheAccountOfItsNamespace(t *testing.T) {
	t.Parallel()
	s := newStory(t, "account")
	cluster := servers.MustCluster(t, servers.ClusterOptions{
		Name: "account", Controllers: true, OnlyControllers: []string{"*", "-serviceaccount-controller"}, ServiceAccounts: true, Audit: true,
	})
	servers.MustFlux(t, cluster, servers.FluxOptions{})
	s.commitToBase("Add all tiers at once", planOf(t, s.world.furrow, files{
		"clusters.yaml": "apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: account}\n", "seeds/jobs.yaml": barePod,
	}))
	ctx, cancel := context.WithTimeout(t.Context(), startLimit)
	defer cancel()
	err := cluster.Bootstrap(ctx, servers.RootOptions{URL: s.gitops.url, Path: "clusters/account", Username: s.flux.name, Password: s.flux.token})
	if err != nil {
		t.Fatal(err)
	}
	first := client.ObjectKey{Namespace: "flux-system", Name: "jobs.account.00"}
	err = servers.Until(ctx, "Flux has the Namespace, and checks for the account", func(ctx context.Context) error {
		var tier kustomizev1.Kustomization
		if err := cluster.Client().Get(ctx, first, &tier); err != nil {
			return err
		}
		if err := cluster.Client().Get(ctx, client.ObjectKey{Name: "jobs"}, &corev1.Namespace{}); err != nil {
			return err
		}
		for _, c := range tier.Status.Conditions {
			if c.Type == "Healthy" && c.Status != metav1.ConditionTrue {
				return nil
			}
		}
		return fmt.Errorf("the conditions are %v", tier.Status.Conditions)
	})
	if err != nil {
		t.Fatal(err)
	}
	account := corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "jobs", Name: "default"}}
	if err := cluster.Client().Create(ctx, &account); err != nil {
		t.Fatal(err)
	}
	if err := cluster.AwaitKustomization(ctx, first, ""); err != nil {
		t.Fatal(err)
	}
	err = servers.Until(ctx, "the Pod is created", func(ctx context.Context) error {
		return cluster.Client().Get(ctx, client.ObjectKey{Namespace: "jobs", Name: "once"}, &corev1.Pod{})
	})
	if err != nil {
		t.Fatal(err)
	}
	events, err := cluster.AuditEvents()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if e.ObjectRef.Resource == "pods" && e.Refused() {
			t.Errorf("%s %s was refused: %d", e.Verb, e.RequestURI, e.ResponseStatus.Code)
		}
	}
}

// planOf returns what the plan of a control plane has for its only repository.
func planOf(t *testing.T, furrow string, controlPlane files) files {
	t.Helper()
	in, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	for name, content := range controlPlane {
		at := filepath.Join(in, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(content), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if output, err := exec.CommandContext(t.Context(), furrow, "plan", "--control-plane", in, "--out", out).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	tree := files{}
	seeds, err := filepath.Glob(filepath.Join(out, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, seed := range seeds {
		root := os.DirFS(seed)
		err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || name == "plan.yaml" {
				return err
			}
			data, err := fs.ReadFile(root, name)
			tree[name] = string(data)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return tree
}

package servers

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// commit makes a commit with one new file and gives its hash.
func commit(ctx context.Context, t *testing.T, gitea *Gitea, repo, path, content string) string {
	t.Helper()
	var made struct {
		Commit struct {
			SHA string `json:"sha"`
		} `json:"commit"`
	}
	err := gitea.post(ctx, "/repos/"+repo+"/contents/"+path, gitea.asAdmin, map[string]any{
		"branch": "main", "message": "Add " + path, "content": base64.StdEncoding.EncodeToString([]byte(content)),
	}, &made)
	if err != nil || made.Commit.SHA == "" {
		t.Fatalf("commit %s: %q, %v", path, made.Commit.SHA, err)
	}
	return made.Commit.SHA
}

// configMap is a document.
func configMap(name string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: default}\ndata: {a: b}\n", name)
}

func TestFluxBringsARepositoryIntoACluster(t *testing.T) {
	t.Parallel()
	Need(t, append([]Name{GiteaServer}, ForFlux...)...)
	began := time.Now()
	var gitea *Gitea
	var cluster *Cluster
	dirs := []string{workDir(t, "gitea"), workDir(t, "cluster")}
	err := together(
		func() (err error) {
			gitea, err = StartGitea(t.Context(), GiteaOptions{Dir: dirs[0]})
			return err
		},
		func() (err error) {
			cluster, err = StartCluster(t.Context(), ClusterOptions{Dir: dirs[1], Audit: true})
			return err
		},
	)
	if gitea != nil {
		endWith(t, "Gitea", gitea.Stop)
	}
	if cluster != nil {
		endWith(t, "the cluster", cluster.Stop)
	}
	if err != nil {
		t.Fatal(err)
	}
	flux := MustFlux(t, cluster, FluxOptions{})
	t.Logf("Gitea, a cluster and Flux: %s", time.Since(began).Round(10*time.Millisecond))

	ctx := within(t, 2*time.Minute)
	token, err := gitea.CreateUser(ctx, "fleet")
	if err != nil {
		t.Fatal(err)
	}
	url, err := gitea.CreateRepo(ctx, "fleet", "clusters", true)
	if err != nil {
		t.Fatal(err)
	}
	head := commit(ctx, t, gitea, "fleet/clusters", "clusters/edge-1/one.yaml", configMap("one"))
	root := client.ObjectKey{Namespace: "flux-system", Name: "flux-system"}
	timed(t, "bootstrap until ready", func() error {
		err := cluster.Bootstrap(ctx, RootOptions{URL: url, Path: "clusters/edge-1", Username: "fleet", Password: token})
		if err != nil {
			return err
		}
		return cluster.AwaitKustomization(ctx, root, head)
	})
	applied := func(name string) error {
		return cluster.Client().Get(ctx, client.ObjectKey{Namespace: "default", Name: name}, &corev1.ConfigMap{})
	}
	if err := applied("one"); err != nil {
		t.Error(err)
	}
	if err := applied("two"); !apierrors.IsNotFound(err) {
		t.Errorf("before its commit: %v", err)
	}
	head = commit(ctx, t, gitea, "fleet/clusters", "clusters/edge-1/two.yaml", configMap("two"))
	timed(t, "commit until ready at it", func() error { return cluster.AwaitKustomization(ctx, root, head) })
	if err := applied("two"); err != nil {
		t.Error(err)
	}
	timed(t, "restart of Flux", func() error { return flux.Restart(ctx) })
	head = commit(ctx, t, gitea, "fleet/clusters", "clusters/edge-1/three.yaml", configMap("three"))
	timed(t, "commit until ready at it", func() error { return cluster.AwaitKustomization(ctx, root, head) })

	head = commit(ctx, t, gitea, "fleet/clusters", "clusters/edge-1/wrong.yaml",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: wrong, namespace: nowhere}\n")
	err = Until(ctx, "a refused apply is in the audit log", func(context.Context) error {
		events, err := cluster.AuditEvents()
		if err != nil {
			return err
		}
		for _, event := range events {
			if event.Refused() && event.ObjectRef.Name == "wrong" && event.User.Username == "kustomize-controller" {
				t.Logf("%s %s by %q: %d", event.Verb, event.RequestURI, event.UserAgent, event.ResponseStatus.Code)
				return nil
			}
		}
		return fmt.Errorf("none of %d events is it", len(events))
	})
	if err != nil {
		t.Error(err)
	}
	err = Until(ctx, "Flux has reported why", func(context.Context) error {
		failures, err := cluster.FluxFailures()
		if err != nil {
			return err
		}
		for _, failure := range failures {
			if failure.Kustomization.Name == root.Name && strings.Contains(failure.Error, `namespaces "nowhere" not found`) {
				return nil
			}
		}
		return fmt.Errorf("it has reported %+v", failures)
	})
	if err != nil {
		t.Error(err)
	}
	if err := cluster.AwaitKustomization(within(t, 100*time.Millisecond), root, head); err == nil {
		t.Error("ready at a commit that was refused")
	}
}

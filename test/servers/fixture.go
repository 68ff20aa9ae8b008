package servers

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"
)

// logsVariable names the folder that gets the logs of tests that failed.
const logsVariable = "FURROW_LOGS"

// fixtureLimit bounds the start of what a test asks for.
const fixtureLimit = 5 * time.Minute

// MustGitea starts Gitea for a test, in a folder of its own unless options name one.
func MustGitea(t testing.TB, options GiteaOptions) *Gitea {
	t.Helper()
	Need(t, GiteaServer)
	if options.Dir == "" {
		options.Dir = workDir(t, "gitea")
	}
	ctx, cancel := context.WithTimeout(t.Context(), fixtureLimit)
	defer cancel()
	gitea, err := StartGitea(ctx, options)
	if err != nil {
		t.Fatalf("start Gitea: %v", err)
	}
	endWith(t, "Gitea", gitea.Stop)
	return gitea
}

// MustCluster starts a cluster for a test, in a folder of its own unless options name one.
func MustCluster(t testing.TB, options ClusterOptions) *Cluster {
	t.Helper()
	return MustClusters(t, options)[0]
}

// MustClusters starts clusters for a test, all at once.
func MustClusters(t testing.TB, options ...ClusterOptions) []*Cluster {
	t.Helper()
	clusters := make([]*Cluster, len(options))
	var starts []func() error
	ctx, cancel := context.WithTimeout(t.Context(), fixtureLimit)
	defer cancel()
	for i, option := range options {
		if option.Nodes > 0 {
			Need(t, ForNodes...)
		}
		Need(t, ForCluster...)
		if option.Dir == "" {
			option.Dir = workDir(t, cmp.Or(option.Name, "cluster"))
		}
		starts = append(starts, func() (err error) {
			clusters[i], err = StartCluster(ctx, option)
			return err
		})
	}
	err := together(starts...)
	for _, cluster := range clusters {
		if cluster != nil {
			endWith(t, "cluster "+cluster.Name, cluster.Stop)
		}
	}
	if err != nil {
		t.Fatalf("start clusters: %v", err)
	}
	return clusters
}

// MustFlux starts Flux on a cluster for a test.
func MustFlux(t testing.TB, cluster *Cluster, options FluxOptions) *Flux {
	t.Helper()
	Need(t, ForFlux...)
	ctx, cancel := context.WithTimeout(t.Context(), fixtureLimit)
	defer cancel()
	flux, err := cluster.StartFlux(ctx, options)
	if err != nil {
		t.Fatalf("start Flux on cluster %s: %v", cluster.Name, err)
	}
	endWith(t, "Flux on cluster "+cluster.Name, flux.Stop)
	return flux
}

// endWith stops something when the test ends.
func endWith(t testing.TB, what string, stop func() error) {
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Errorf("stop %s: %v", what, err)
		}
	})
}

// workDir makes a folder for one server of a test. It is removed when the test ends; the logs are
// kept if it failed.
func workDir(t testing.TB, name string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "furrow-"+name+"-")
	if err != nil {
		t.Fatalf("make a folder for %s: %v", name, err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			keepLogs(t, name, filepath.Join(dir, "logs"))
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("remove the folder of %s: %v", name, err)
		}
	})
	return dir
}

// keepLogs copies logs to the folder of this test, and prints their last lines unless the caller
// said where they go.
func keepLogs(t testing.TB, name, logs string) {
	t.Helper()
	root := os.Getenv(logsVariable)
	printed := root == ""
	if printed {
		root = filepath.Join(os.TempDir(), "furrow-logs")
	}
	kept := filepath.Join(root, regexp.MustCompile(`[^A-Za-z0-9._-]+`).ReplaceAllString(t.Name(), "_"), name)
	if err := os.MkdirAll(filepath.Dir(kept), 0o755); err != nil {
		t.Logf("keep the logs of %s: %v", name, err)
		return
	}
	_ = os.RemoveAll(kept)
	if err := os.CopyFS(kept, os.DirFS(logs)); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Logf("keep the logs of %s: %v", name, err)
	}
	entries, _ := os.ReadDir(kept)
	for _, entry := range entries {
		path := filepath.Join(kept, entry.Name())
		content, err := os.ReadFile(path)
		if err != nil || !printed {
			t.Logf("log: %s", path)
			continue
		}
		t.Logf("log: %s, its last lines:\n%s", path, lastLines(string(content), 30))
	}
}

// together runs functions at once and joins their errors.
func together(functions ...func() error) error {
	errs := make([]error, len(functions))
	var all sync.WaitGroup
	for i, f := range functions {
		all.Go(func() { errs[i] = f() })
	}
	all.Wait()
	return errors.Join(errs...)
}

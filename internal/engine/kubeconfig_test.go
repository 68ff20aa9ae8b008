package engine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/internal/core/health"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/probe"
)

// askedChannel notes which Secrets it is asked to read.
type askedChannel struct {
	probe.Channel
	secrets map[probe.SecretKey]bool
}

func (c askedChannel) Creators(ctx context.Context, keys []probe.CreatorKey) (map[probe.CreatorKey]health.Creator, error) {
	for _, key := range keys {
		c.secrets[key.KubeConfig] = true
	}
	return c.Channel.Creators(ctx, keys)
}

// TestAPlanDoesNotChooseWhichSecretsAreRead: anyone who may write to a plan branch could name any Secret of the
// management cluster in it.
func TestAPlanDoesNotChooseWhichSecretsAreRead(t *testing.T) {
	w := newWorld(t, fleet{})
	w.control.put("main", "plant edge", map[string]string{"seeds/edge.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: edge}\n---\n" +
		"apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: edge-1, namespace: edge}\n"})
	w.converge(20)
	branch := layout.PlanBranch("main", "edge")
	refs, err := w.gitops.Fetch(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	written := w.gitops.filesAt(refs[branch])[layout.PlanFile]
	const namespace = "cluster: mgmt\n          namespace: edge\n"
	if strings.Count(written, namespace) != 1 {
		t.Fatalf("the plan does not say where the kubeconfig is:\n%s", written)
	}

	asked := func() map[probe.SecretKey]bool {
		channel := askedChannel{w.simulator.Channel(), map[probe.SecretKey]bool{}}
		w.config = func(c *engine.Config) { c.Channel = channel }
		w.restart()
		w.pass()
		return channel.secrets
	}
	own := probe.SecretKey{Cluster: "mgmt", Namespace: "edge", Name: "edge-1-kubeconfig"}
	if got := asked(); !got[own] {
		t.Errorf("the creator's own Secret is not read: %v", got)
	}
	w.gitops.put(branch, "forge it", map[string]string{layout.PlanFile: strings.Replace(written, namespace, "cluster: mgmt\n          namespace: kube-system\n", 1)})
	got := asked()
	if !got[probe.SecretKey{}] {
		t.Errorf("the creator of the forged plan is not asked about without a Secret: %v", got)
	}
	for key := range got {
		if key.Namespace == "kube-system" {
			t.Errorf("%v is read", key)
		}
	}
}

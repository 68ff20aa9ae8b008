package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdk "code.gitea.io/sdk/gitea"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/furrow-dev/furrow/test/servers"
)

// siteNames are the clusters that stories share. The management cluster's Flux reconciles them. Each story has its own
// namespaces there, whose names begin with the story's namespace.
var siteNames = []string{"east", "west"}

// siteClusters declare them.
const siteClusters = `apiVersion: furrow.dev/v1alpha1
kind: Cluster
metadata: {name: east, labels: {env: test}}
spec: {reconciledBy: mgmt, type: edge}
---
apiVersion: furrow.dev/v1alpha1
kind: Cluster
metadata: {name: west, labels: {env: prod}}
spec: {reconciledBy: mgmt, type: edge}
`

// startSites starts the sites for the first story that uses them.
func (w *world) startSites() ([]*servers.Cluster, error) {
	w.siteStart.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), startLimit)
		defer cancel()
		started := make([]*servers.Cluster, len(siteNames))
		var starts []func() error
		for i, name := range siteNames {
			starts = append(starts, func() (err error) {
				started[i], err = servers.StartCluster(ctx, servers.ClusterOptions{
					Name: name, Dir: filepath.Join(w.dir, name), Controllers: true, Audit: true,
				})
				return err
			})
		}
		w.siteErr = together(starts...)
		for _, site := range started {
			if site != nil {
				w.sites = append(w.sites, site)
			}
		}
	})
	return w.sites, w.siteErr
}

// attachSites adds the sites to the story. The management cluster cannot reach a site until giveKubeConfig provides its
// kubeconfig.
func (s *story) attachSites(t *testing.T) {
	t.Helper()
	sites, err := shared.world.startSites()
	if err != nil {
		t.Fatalf("start the sites: %v", err)
	}
	for _, site := range sites {
		s.attach(&edge{cluster: site, initialized: true, shared: true})
	}
}

// attachEdge starts an edge with a number of nodes that the management cluster's Flux reconciles, and adds it to the story.
func (s *story) attachEdge(t *testing.T, name string, nodes int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startLimit)
	defer cancel()
	cluster, err := servers.StartCluster(ctx, servers.ClusterOptions{Name: name, Dir: filepath.Join(s.dir, "clusters", name), Audit: true, Nodes: nodes})
	if err != nil {
		t.Fatal(err)
	}
	s.attach(&edge{cluster: cluster, initialized: true})
	s.giveKubeConfig(cluster)
}

// attach adds an existing cluster to the story.
func (s *story) attach(e *edge) {
	if s.provider == nil {
		s.provideClusters(client.ObjectKey{})
	}
	s.provider.mu.Lock()
	defer s.provider.mu.Unlock()
	s.provider.edges[client.ObjectKey{Name: e.cluster.Name}] = e
}

// giveKubeConfig gives the management cluster's Flux access to a cluster, and has it reconcile at once.
func (s *story) giveKubeConfig(cluster *servers.Cluster) {
	s.t.Helper()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.namespace, Name: cluster.Name + "-kubeconfig", Labels: map[string]string{"reconcile.fluxcd.io/watch": "Enabled"},
		},
		Data: map[string][]byte{"value": cluster.KubeConfig},
	}
	if err := s.world.mgmt.Client().Create(s.t.Context(), secret); err != nil {
		s.t.Fatal(err)
	}
}

// mustHold fails unless the ConfigMap of this name has, on each site, the wanted value of the key. The values are in the
// order of siteNames; "-" means a missing ConfigMap.
func (s *story) mustHold(namespace, name, key string, want ...string) {
	s.t.Helper()
	var got []string
	for _, site := range siteNames {
		var is corev1.ConfigMap
		err := s.provider.client(site).Get(s.t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, &is)
		switch {
		case client.IgnoreNotFound(err) != nil:
			s.t.Fatal(err)
		case err != nil:
			got = append(got, "-")
		default:
			got = append(got, is.Data[key])
		}
	}
	if is, should := strings.Join(got, ", "), strings.Join(want, ", "); is != should {
		s.t.Errorf("%s %s on %v is %s, not %s", name, key, siteNames, is, should)
	}
}

// awaitTiers waits until the open pull request of a group has exactly these tiers.
func (s *story) awaitTiers(group string, tiers ...string) (found *sdk.PullRequest) {
	s.t.Helper()
	s.eventually(limit, fmt.Sprintf("the pull request of %s has %v", group, tiers), func() (bool, string) {
		pulls := s.pulls(sdk.StateOpen)
		at := slices.IndexFunc(pulls, func(p *sdk.PullRequest) bool { return tierOf(p) == group })
		if at < 0 {
			return false, "there is none: " + strings.Join(pullNames(pulls), ", ")
		}
		found = pulls[at]
		return slices.Equal(tiersOf(found), tiers), fmt.Sprint("it carries ", tiersOf(found))
	})
	return found
}

package discover

import (
	"strings"
	"testing"

	"k8s.io/client-go/discovery"

	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/test/servers"
)

// TestTheTableHasTheKindsOfARealServer compares the kinds that a real API server serves with the
// generated table: each of either is in the other, with its plural and scope.
func TestTheTableHasTheKindsOfARealServer(t *testing.T) {
	cluster := servers.MustCluster(t, servers.ClusterOptions{})
	provides, err := Provides(t.Context(), cluster.Config, "edge")
	if err != nil {
		t.Fatal(err)
	}
	minor, ok := manifest.ParseRelease(provides.KubernetesVersion)
	if !ok || !manifest.SupportedReleases().Includes(manifest.Release(minor)) {
		t.Fatalf("the release is %q", provides.KubernetesVersion)
	}
	if len(provides.APIVersions) > 0 {
		t.Errorf("a fresh cluster has %v", provides.APIVersions)
	}
	client, err := discovery.NewDiscoveryClientForConfig(cluster.Config)
	if err != nil {
		t.Fatal(err)
	}
	_, lists, err := client.ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	type versionedKind struct {
		manifest.GroupKind
		version string
	}
	served := map[versionedKind]bool{}
	for _, list := range lists {
		group, version, grouped := strings.Cut(list.GroupVersion, "/")
		if !grouped {
			group, version = "", list.GroupVersion
		}
		for _, r := range list.APIResources {
			if strings.Contains(r.Name, "/") {
				continue
			}
			kind := manifest.GroupKind{Group: group, Kind: r.Kind}
			served[versionedKind{kind, version}] = true
			row, known := manifest.Served(kind)
			if !known || !row.Versions[version].Includes(manifest.Release(minor)) || row.Plural != r.Name || (row.Scope == manifest.Namespaced) != r.Namespaced {
				t.Errorf("the server has %s %s as %s, and the table %+v", list.GroupVersion, r.Kind, r.Name, row)
			}
		}
	}
	for _, group := range manifest.ServedGroups() {
		for _, name := range manifest.ServedIn(group) {
			kind := manifest.GroupKind{Group: group, Kind: name}
			row, _ := manifest.Served(kind)
			for version, releases := range row.Versions {
				if releases.Includes(manifest.Release(minor)) && manifest.Prerelease(version) == "" && !served[versionedKind{kind, version}] {
					t.Errorf("the table has %s %s, and the server does not", version, kind)
				}
			}
		}
	}
}

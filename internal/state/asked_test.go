package state_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/state"
)

func TestASeedResourceSaysWhoConfirmedAndWhoAbandoned(t *testing.T) {
	s := state.Seed{Name: "web", Confirmed: "by Ada at noon", Tiers: []state.Tier{{Cluster: "edge-1"}, {Cluster: "edge-2"}}}
	s.NoteAbandoned([]state.Cluster{
		{Name: "edge-1", Abandoned: true, AbandonedBy: "by Bob at noon"}, {Name: "edge-2"}, {Name: "edge-3", Abandoned: true, AbandonedBy: "by Eve"},
	})
	var status v1alpha1.SeedStatus
	s.ToStatus(&status)
	want := []v1alpha1.AbandonedCluster{{Cluster: "edge-1", By: "by Bob at noon"}}
	if diff := cmp.Diff(want, status.Abandoned); diff != "" || status.Confirmed != "by Ada at noon" {
		t.Errorf("confirmed %q, abandoned (-want +got):\n%s", status.Confirmed, diff)
	}
	back := state.FromResources([]v1alpha1.Seed{{Status: status}}, nil).Seeds[0]
	if diff := cmp.Diff(s.Abandoned, back.Abandoned); diff != "" || back.Confirmed != s.Confirmed {
		t.Errorf("read back: confirmed %q, abandoned (-want +got):\n%s", back.Confirmed, diff)
	}
}

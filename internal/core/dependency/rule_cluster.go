package dependency

import (
	"fmt"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
)

var cluster = Rule{
	Name: "cluster",
	Doc:  "Everything on a cluster that a seed creates waits until its creator is cluster-ready.",
	Why:  "The cluster has no API server before.",
	draw: func(s *graphBuilder, from source) {
		v := s.graph.Vertices[from.vertex]
		creation := s.inventory.Clusters[v.Cluster].CreatedBy
		if creation == nil {
			return
		}
		to, ok := s.graph.Find(Vertex{creation.Seed, creation.Object, creation.On})
		if !ok {
			s.fail(Finding{Reason: v1alpha1.ReasonBrokenSeed, Seed: v.Seed, Object: v.Object, Cluster: v.Cluster,
				Message: fmt.Sprintf("cluster %s is created by %s of seed %s, which cannot be planned", v.Cluster, creation.Object, creation.Seed),
				Next:    "Correct that seed first."})
			return
		}
		kind, _ := catalog.Creator(creation.Object.GroupKind())
		s.waitUntil(from, to, kind.Current, fmt.Sprintf("%s is created by %s%s", v.Cluster, creation.Object, s.brought(v.Seed, to)))
	},
}

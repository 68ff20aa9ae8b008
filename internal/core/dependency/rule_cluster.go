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
	Draw: func(w *World) {
		for v := range w.Sources {
			c := w.Cluster(v)
			if c.CreatedBy == nil {
				continue
			}
			to, ok := w.Find(Vertex{c.CreatedBy.Seed, c.CreatedBy.Object, c.CreatedBy.On})
			if !ok {
				w.Fail(v, Finding{Reason: v1alpha1.ReasonBrokenSeed, Cluster: c.Name,
					Message: fmt.Sprintf("cluster %s is created by %s of seed %s, which cannot be planned", c.Name, c.CreatedBy.Object, c.CreatedBy.Seed),
					Next:    "Correct that seed first."})
				continue
			}
			kind, _ := catalog.Creator(c.CreatedBy.Object.GroupKind())
			w.Wait(v, to, Reason{Ready: kind.Current, Why: fmt.Sprintf("%s is created by %s", c.Name, c.CreatedBy.Object)})
		}
	},
}

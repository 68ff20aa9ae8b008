package dependency

import (
	"fmt"
	"slices"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

var waves = Rule{
	Name:  "waves",
	Doc:   "An object waits for those of its seed and cluster that are in the wave before: hooks of Helm and Argo CD by weight, before and after all else, and sync waves of Argo CD.",
	Why:   "A chart or application relies on the order that its annotations ask for.",
	Phase: Ordered,
	Draw: func(w *World) {
		for _, of := range wavesOf(w) {
			slices.SortStableFunc(of, func(a, b inWave) int { return a.Compare(b.Wave) })
			var before []inWave
			for start := 0; start < len(of); {
				end := start + 1
				for end < len(of) && of[end].Compare(of[start].Wave) == 0 {
					end++
				}
				w.waitForWave(of[start:end], before)
				before, start = of[start:end], end
			}
		}
	},
}

// inWave is a vertex with its wave.
type inWave struct {
	vertex int32
	manifest.Wave
}

// wavesOf returns the vertices of each seed and cluster that have waves, and reports what is wrong
// with the annotations.
func wavesOf(w *World) [][]inWave {
	ordered := make([]bool, len(w.graph.seeds))
	var last *manifest.Object
	for v, o := range w.Sources {
		if !w.annotated[v] || o == last { // last is the same on another cluster
			continue
		}
		last = o
		wave, faults := manifest.WaveOf(*o)
		for _, f := range faults {
			w.Fail(v, Finding{Reason: v1alpha1.ReasonInvalidDependency, Field: f.Annotation, Message: f.Message, Next: f.Next})
		}
		if wave.Stage != 0 || wave.Weight != 0 {
			ordered[w.graph.vertices[v].seed] = true
		}
	}
	if !slices.Contains(ordered, true) {
		return nil
	}
	number := map[[2]int32]int{}
	var all [][]inWave
	for v, o := range w.Sources {
		at := w.graph.vertices[v]
		if !ordered[at.seed] {
			continue
		}
		key := [2]int32{at.seed, at.cluster}
		i, known := number[key]
		if !known {
			i = len(all)
			number[key], all = i, append(all, nil)
		}
		wave, _ := manifest.WaveOf(*o)
		all[i] = append(all[i], inWave{v, wave})
	}
	return all
}

// waitForWave draws edges from all of a wave to all of the one before, except where the earlier
// object depends on the later one: what an API server needs counts before what a wave asks for.
// What the wave before needs is found once: the edges drawn here add nothing to it.
func (w *World) waitForWave(wave, before []inWave) {
	vertices := make([]int32, len(before))
	for i, b := range before {
		vertices[i] = b.vertex
	}
	needs := w.Needs(vertices...)
	for _, from := range wave {
		for _, to := range before {
			if needs[from.vertex] && w.Reaches(to.vertex, from.vertex) {
				continue
			}
			w.Wait(from.vertex, to.vertex, reasonOf(from.Wave, to.Wave))
		}
	}
}

// reasonOf says which of the two annotations puts one wave after the other.
func reasonOf(from, to manifest.Wave) Reason {
	said, where := from, "metadata.annotations["+from.Annotation+"]"
	if from.Annotation == "" {
		said, where = to, ""
	}
	why := fmt.Sprintf("%s: %s", said.Annotation, manifest.Printable(said.Value))
	if said.Stage != 0 && said.Weight != 0 {
		why += fmt.Sprintf(", weight %d", said.Weight)
	}
	if where == "" {
		why += " of what comes before"
	}
	return Reason{Field: where, Why: why, OrderOnly: true}
}

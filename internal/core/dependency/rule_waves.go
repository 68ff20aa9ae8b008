package dependency

import (
	"fmt"
	"slices"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

var waves = Rule{
	Name:      "waves",
	Doc:       "An object waits for those of its seed and cluster that are in the wave before: hooks of Helm and Argo CD by weight, before and after all else, and sync waves of Argo CD.",
	Why:       "A chart or application relies on the order that its annotations ask for.",
	OrderOnly: true,
	Phase:     Ordered,
	Draw: func(w *World) {
		for _, of := range wavesOf(w) {
			slices.SortStableFunc(of, func(a, b inWave) int { return a.Compare(b.Wave) })
			var before []inWave
			for start := 0; start < len(of); {
				end := start + 1
				for end < len(of) && of[end].Compare(of[start].Wave) == 0 {
					end++
				}
				skipped := w.waitForWave(of[start:end], before)
				before, start = append(skipped, of[start:end]...), end
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
		if !w.annotated(v) || o == last { // last is the same on another cluster
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

// waitForWave draws edges from all of a wave to all of the one before. Where the earlier object needs the
// later one, the edge is only shown: what an API server or a pod needs counts before what a wave asks for.
// What the wave before needs is found once: the edges drawn here add nothing to it. It returns what nothing of the
// wave waits for: the next wave has to do that itself.
func (w *World) waitForWave(wave, before []inWave) (skipped []inWave) {
	vertices := make([]int32, len(before))
	for i, b := range before {
		vertices[i] = b.vertex
	}
	needs := w.NeedsToBeReady(vertices...)
	needsOf := map[int32]map[int32]bool{} // each of the wave before, where it is asked for
	awaited := make(map[int32]bool, len(before))
	for _, from := range wave {
		for _, to := range before {
			reason := reasonOf(from.Wave, to.Wave)
			if needs[from.vertex] && needsOf[to.vertex] == nil {
				needsOf[to.vertex] = w.NeedsToBeReady(to.vertex)
			}
			if needsOf[to.vertex][from.vertex] {
				reason.Why += ", but that needs it"
				w.Show(from.vertex, to.vertex, reason)
				continue
			}
			awaited[to.vertex] = true
			w.Wait(from.vertex, to.vertex, reason)
		}
	}
	return slices.DeleteFunc(slices.Clone(before), func(b inWave) bool { return awaited[b.vertex] })
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
	return Reason{Field: where, Why: why}
}

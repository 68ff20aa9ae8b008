package manifest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Wave is when an object is applied among those of its package, as annotations of Helm and Argo CD
// say: hooks before and after all else, and by weight among each other. Objects without such an
// annotation have the zero value.
type Wave struct {
	// Stage is -1 before all objects that are not hooks, 0 with them, and 1 after them.
	Stage  int
	Weight int
	// Annotation and Value say where it is from; empty where there is none.
	Annotation, Value string
}

// Compare orders by stage, then by weight.
func (w Wave) Compare(other Wave) int {
	return cmp.Or(cmp.Compare(w.Stage, other.Stage), cmp.Compare(w.Weight, other.Weight))
}

// WaveFault is what is wrong with an annotation that orders objects.
type WaveFault struct{ Annotation, Message, Next string }

// The annotations of Helm and Argo CD that order objects, or delete hooks.
const (
	annotationHelmHook   = "helm.sh/hook"
	annotationHelmWeight = "helm.sh/hook-weight"
	annotationHelmDelete = "helm.sh/hook-delete-policy"
	annotationArgoHook   = "argocd.argoproj.io/hook"
	annotationArgoWave   = "argocd.argoproj.io/sync-wave"
	annotationArgoDelete = "argocd.argoproj.io/hook-delete-policy"
)

// hookStages are the hooks of a tool that a first installation runs, with their stages; idle are those
// that it does not run. Where an object has hooks of both, those of the installation count.
type hookStages struct {
	annotation string
	stages     map[string]int
	idle       []string
}

var (
	helmHooks = hookStages{annotationHelmHook, map[string]int{"pre-install": -1, "post-install": 1, "crd-install": 0},
		[]string{"pre-upgrade", "post-upgrade", "test", "test-success", "test-failure", "pre-delete", "post-delete", "pre-rollback", "post-rollback"}}
	argoHooks = hookStages{annotationArgoHook, map[string]int{"PreSync": -1, "Sync": 0, "PostSync": 1},
		[]string{"Skip", "SyncFail", "PreDelete", "PostDelete"}}
	deletePolicies = map[string][]string{
		annotationHelmDelete: {"before-hook-creation", "hook-succeeded", "hook-failed"},
		annotationArgoDelete: {"BeforeHookCreation", "HookSucceeded", "HookFailed"},
	}
)

// items splits a list of hooks or policies.
func items(text string) []string {
	var out []string
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			out = append(out, item)
		}
	}
	return out
}

// isIdle reports whether no installation runs any of the hooks of an object.
func (h hookStages) isIdle(o Object) bool {
	hooks := items(o.Annotation(h.annotation))
	return len(hooks) > 0 && !slices.ContainsFunc(hooks, func(hook string) bool { return !slices.Contains(h.idle, hook) })
}

// stage returns the earliest stage of the hooks of an object; false where it has none that counts.
func (h hookStages) stage(o Object) (int, bool) {
	best, found := 0, false
	for _, hook := range items(o.Annotation(h.annotation)) {
		if stage, known := h.stages[hook]; known && (!found || stage < best) {
			best, found = stage, true
		}
	}
	return best, found
}

// faults finds hooks that are misspelt. Helm and Argo CD ignore a hook that they do not know, so one
// that is unlike any of theirs is left alone.
func (h hookStages) faults(o Object) []WaveFault {
	known := slices.Concat(slices.Collect(maps.Keys(h.stages)), h.idle)
	return misspelt(h.annotation, o.Annotation(h.annotation), known)
}

// misspelt returns the items of a list that are nearly one of the known ones.
func misspelt(annotation, text string, known []string) []WaveFault {
	var faults []WaveFault
	for _, item := range items(text) {
		if slices.Contains(known, item) {
			continue
		}
		lower := strings.ToLower(item)
		near := slices.MinFunc(known, func(a, b string) int {
			return cmp.Or(cmp.Compare(Distance(lower, strings.ToLower(a)), Distance(lower, strings.ToLower(b))), cmp.Compare(a, b))
		})
		if Distance(lower, strings.ToLower(near)) <= 2 {
			faults = append(faults, WaveFault{annotation, fmt.Sprintf("annotation %s: %s is unknown", annotation, shorten(item)), "Write " + near + "."})
		}
	}
	return faults
}

// WaveOf returns the wave of an object, and what is wrong with its annotations. The hook of Argo CD
// counts before that of Helm, and so does its wave, as Argo CD has it for charts.
func WaveOf(o Object) (Wave, []WaveFault) {
	if o.Map("metadata", "annotations") == nil {
		return Wave{}, nil
	}
	faults := slices.Concat(argoHooks.faults(o), helmHooks.faults(o))
	for _, annotation := range []string{annotationArgoDelete, annotationHelmDelete} {
		faults = append(faults, misspelt(annotation, o.Annotation(annotation), deletePolicies[annotation])...)
	}
	var w Wave
	weights := []string{annotationArgoWave}
	if stage, hooked := argoHooks.stage(o); hooked {
		w = Wave{Stage: stage, Annotation: annotationArgoHook, Value: o.Annotation(annotationArgoHook)}
	} else if stage, hooked := helmHooks.stage(o); hooked && stage != 0 {
		w = Wave{Stage: stage, Annotation: annotationHelmHook, Value: o.Annotation(annotationHelmHook)}
		weights = append(weights, annotationHelmWeight)
	}
	for _, annotation := range weights {
		text := strings.TrimSpace(o.Annotation(annotation))
		if text == "" {
			continue
		}
		weight, err := strconv.Atoi(text)
		if err != nil || weight < -maxWeight || weight > maxWeight {
			faults = append(faults, WaveFault{annotation, fmt.Sprintf("annotation %s: %s is not a whole number from -%d to %d", annotation, shorten(text), maxWeight, maxWeight), "Write a number in quotes, as in \"-5\"."})
			continue
		}
		w.Weight = weight
		if w.Annotation == "" || w.Stage == 0 {
			w.Annotation, w.Value = annotation, text
		}
		break
	}
	return w, faults
}

// maxWeight bounds weights, as everything that people write has bounds.
const maxWeight = 1_000_000

package seed

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/state"
)

// notice is an event about a Seed or a Planting.
type notice struct {
	kind, reason, action, note string
}

func (h notice) emit(recorder events.EventRecorder, object *v1alpha1.Seed) {
	recorder.Eventf(object, nil, h.kind, h.reason, h.action, "%s", h.line())
}

func (h notice) emitForPlanting(recorder events.EventRecorder, object *v1alpha1.Planting) {
	recorder.Eventf(object, nil, h.kind, h.reason, h.action, "%s", h.line())
}

// line returns the note for an event: one line, without control characters.
func (h notice) line() string {
	return strings.ReplaceAll(state.Cut(h.note), "\n", "; ")
}

func requestDone(what string) notice {
	return notice{corev1.EventTypeNormal, "RequestDone", "Act", what}
}

func requestFailed(what string, err error) notice {
	return notice{corev1.EventTypeWarning, "RequestFailed", "Act", state.Cut(fmt.Sprintf("%s: %v", what, err))}
}

func removed() notice {
	return notice{corev1.EventTypeNormal, "Removed", "Remove", "nothing of the seed is left"}
}

func orphaned(why string) notice {
	return notice{corev1.EventTypeWarning, string(v1alpha1.ReasonOrphaned), "Orphan", "the seed's files remain in Git: " + why}
}

// seedChange returns the event for a change of a Seed's status; ok is false if there is none.
func seedChange(was, is *v1alpha1.SeedStatus) (h notice, ok bool) {
	if was.State == is.State && reason(was.Conditions) == reason(is.Conditions) {
		return notice{}, false
	}
	ready := conditionOf(is.Conditions, v1alpha1.ConditionReady)
	if ready == nil {
		return notice{}, false
	}
	kind := corev1.EventTypeNormal
	if conditionOf(is.Conditions, v1alpha1.ConditionStalled) != nil {
		kind = corev1.EventTypeWarning
	}
	return notice{kind, ready.Reason, "Release", ready.Message}, true
}

// eventTypes has the states of tiers that have an event, with its type.
var eventTypes = map[release.State]string{
	release.Proposed: corev1.EventTypeNormal,
	release.Released: corev1.EventTypeNormal,
	release.Gone:     corev1.EventTypeNormal,
	release.Failed:   corev1.EventTypeWarning,
	release.Held:     corev1.EventTypeWarning,
	release.Rejected: corev1.EventTypeWarning,
	release.Reverted: corev1.EventTypeWarning,
}

// plantingChanges returns the events for changes of a planting's tiers: of those into states that
// eventTypes has, with the message and the page of the proposal.
func plantingChanges(was, is *v1alpha1.PlantingStatus) []notice {
	before := map[int32]string{}
	for i := range was.Tiers {
		before[was.Tiers[i].Ordinal] = was.Tiers[i].State
	}
	var out []notice
	for i := range is.Tiers {
		t := &is.Tiers[i]
		kind, worth := eventTypes[release.State(t.State)]
		if !worth || before[t.Ordinal] == t.State {
			continue
		}
		note := layout.NameOnCluster(int(t.Ordinal)) + " is " + t.State
		if t.Message != "" {
			note += ": " + t.Message
		}
		if t.Proposal != nil && t.Proposal.URL != "" {
			note += " " + t.Proposal.URL
		}
		out = append(out, notice{kind, t.State, "Release", state.Cut(note)})
	}
	return out
}

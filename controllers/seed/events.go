package seed

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/state"
)

// happening is something that people are told of, once.
type happening struct {
	kind, reason, action, note string
}

func (h happening) about(recorder events.EventRecorder, object *v1alpha1.Seed) {
	recorder.Eventf(object, nil, h.kind, h.reason, h.action, "%s", h.line())
}

func (h happening) aboutPlanting(recorder events.EventRecorder, object *v1alpha1.Planting) {
	recorder.Eventf(object, nil, h.kind, h.reason, h.action, "%s", h.line())
}

// line is the note as an event has it: on one line, with nothing that a terminal acts on.
func (h happening) line() string {
	return strings.ReplaceAll(state.Cut(h.note), "\n", "; ")
}

func requestDone(what string) happening {
	return happening{corev1.EventTypeNormal, "RequestDone", "Act", what}
}

func requestFailed(what string, err error) happening {
	return happening{corev1.EventTypeWarning, "RequestFailed", "Act", state.Cut(fmt.Sprintf("%s: %v", what, err))}
}

func removed() happening {
	return happening{corev1.EventTypeNormal, "Removed", "Remove", "nothing that the seed planted is left"}
}

func orphaned(why string) happening {
	return happening{corev1.EventTypeWarning, string(v1alpha1.ReasonOrphaned), "Orphan", "what the seed planted stays in Git as it is: " + why}
}

// seedChange is what people are told when a Seed's status changes; ok says that there is something.
func seedChange(was, is *v1alpha1.SeedStatus) (h happening, ok bool) {
	if was.State == is.State && reason(was.Conditions) == reason(is.Conditions) {
		return happening{}, false
	}
	ready := conditionOf(is.Conditions, v1alpha1.ConditionReady)
	if ready == nil {
		return happening{}, false
	}
	kind := corev1.EventTypeNormal
	if conditionOf(is.Conditions, v1alpha1.ConditionStalled) != nil {
		kind = corev1.EventTypeWarning
	}
	return happening{kind, ready.Reason, "Release", ready.Message}, true
}

// told are the states of tiers that are worth an event, with its kind.
var told = map[release.State]string{
	release.Proposed: corev1.EventTypeNormal,
	release.Released: corev1.EventTypeNormal,
	release.Gone:     corev1.EventTypeNormal,
	release.Failed:   corev1.EventTypeWarning,
	release.Held:     corev1.EventTypeWarning,
	release.Rejected: corev1.EventTypeWarning,
	release.Reverted: corev1.EventTypeWarning,
}

// plantingChanges are what people are told when a planting's tiers change.
func plantingChanges(was, is *v1alpha1.PlantingStatus) []happening {
	before := map[int32]string{}
	for i := range was.Tiers {
		before[was.Tiers[i].Ordinal] = was.Tiers[i].State
	}
	var out []happening
	for i := range is.Tiers {
		t := &is.Tiers[i]
		kind, worth := told[release.State(t.State)]
		if !worth || before[t.Ordinal] == t.State {
			continue
		}
		note := fmt.Sprintf("tier %02d is %s", t.Ordinal, t.State)
		if t.Message != "" {
			note += ": " + t.Message
		}
		if t.Proposal != nil && t.Proposal.URL != "" {
			note += " " + t.Proposal.URL
		}
		out = append(out, happening{kind, t.State, "Release", state.Cut(note)})
	}
	return out
}

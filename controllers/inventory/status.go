package inventory

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/controllers/fleet"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// standing is how a resource stands: whether it is valid and in force, and what
// else is to be said of it.
type standing struct {
	// problem says what is wrong with it.
	problem string
	// overridden is the place of the tree's document that counts instead.
	overridden string
	// unused says that no control plane reads it.
	unused bool
	// unreachable says why its servers do not answer; refused that they do and that a
	// person has to mend it.
	unreachable string
	refused     bool
}

// stand finds out how the resource that stands at a place stands in all control
// planes of its namespace. alone has the problems that it has by itself.
func stand(place string, posts []fleet.Post, alone manifest.Problems) standing {
	at := manifest.Source{File: place}
	s := standing{unused: len(posts) == 0}
	problems := []manifest.Problems{}
	for _, p := range posts {
		problems = append(problems, p.Catalog.Problems)
		if over, ok := p.Catalog.Overridden[at]; ok {
			s.overridden = over.String()
		}
	}
	if s.unused {
		problems = append(problems, alone)
	}
	for _, list := range problems {
		for _, problem := range list {
			if problem.Source.File == place {
				s.problem = strings.TrimPrefix(problem.Error(), place+": ")
				return s
			}
		}
	}
	return s
}

// show writes the conditions of a standing.
func (s standing) show(status *v1alpha1.CommonStatus, generation int64, now time.Time) {
	status.ObservedGeneration = generation
	set := func(kind string, value metav1.ConditionStatus, reason, message string) {
		meta.SetStatusCondition(&status.Conditions, metav1.Condition{
			Type: kind, Status: value, Reason: reason, Message: cut(message), ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(now),
		})
	}
	drop := func(kinds ...string) {
		for _, kind := range kinds {
			meta.RemoveStatusCondition(&status.Conditions, kind)
		}
	}
	stalled := func(reason, message string) {
		set(v1alpha1.ConditionReady, metav1.ConditionFalse, reason, message)
		set(v1alpha1.ConditionStalled, metav1.ConditionTrue, reason, message)
		drop(v1alpha1.ConditionReconciling)
	}
	switch {
	case s.problem != "":
		set(v1alpha1.ConditionAccepted, metav1.ConditionFalse, v1alpha1.ReasonInvalid, s.problem)
		stalled(v1alpha1.ReasonInvalid, s.problem)
		return
	case s.overridden != "":
		message := fmt.Sprintf("the control-plane repository declares it otherwise at %s, and that counts. Delete this resource, or make it the same", s.overridden)
		set(v1alpha1.ConditionAccepted, metav1.ConditionFalse, v1alpha1.ReasonOverridden, message)
		stalled(v1alpha1.ReasonOverridden, message)
		return
	}
	reason, message := v1alpha1.ReasonSucceeded, "it is in force"
	if s.unused {
		reason, message = v1alpha1.ReasonUnused, "it is valid; no Seed makes use of it yet"
	}
	set(v1alpha1.ConditionAccepted, metav1.ConditionTrue, reason, message)
	switch {
	case s.unreachable != "" && s.refused:
		stalled(v1alpha1.ReasonUnreachable, s.unreachable)
	case s.unreachable != "":
		set(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonUnreachable, s.unreachable)
		set(v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonUnreachable, s.unreachable)
		drop(v1alpha1.ConditionStalled)
	default:
		set(v1alpha1.ConditionReady, metav1.ConditionTrue, reason, message)
		drop(v1alpha1.ConditionStalled, v1alpha1.ConditionReconciling)
	}
}

// maxMessage bounds a condition's message.
const maxMessage = 1024

func cut(text string) string {
	if len(text) <= maxMessage {
		return text
	}
	return strings.ToValidUTF8(text[:maxMessage-len("…")], "") + "…"
}

// reachable sets a condition of its own for a repository's servers.
func reachable(status *v1alpha1.CommonStatus, generation int64, now time.Time, s standing) {
	condition := metav1.Condition{
		Type: v1alpha1.ConditionReachable, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonSucceeded, Message: "Git and forge answer",
		ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(now),
	}
	switch {
	case s.unused || s.problem != "" || s.overridden != "":
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionReachable)
		return
	case s.unreachable != "":
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, v1alpha1.ReasonUnreachable, cut(s.unreachable)
	}
	meta.SetStatusCondition(&status.Conditions, condition)
}

package inventory

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/controllers/condition"
	"github.com/furrow-dev/furrow/controllers/fleet"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// assessment has whether a resource is valid and in force.
type assessment struct {
	// problem is the validation error, reason the reason of problem or unreachable.
	problem string
	reason  v1alpha1.Reason
	// overridden is the position of the tree's document that is used instead.
	overridden string
	// unused means that no control plane reads it.
	unused bool
	// unreachable is the error of its servers; refused means that a person has to fix it.
	unreachable string
	// limited says what waits for the forge to allow more requests.
	limited string
	refused bool
	// warning is what people should know although it is in force.
	warning string
}

// assess assesses a resource in all control planes of its namespace. alone has the
// problems of the resources by themselves, for a namespace without snapshots.
func assess(ref string, snapshots []fleet.Snapshot, alone manifest.Problems) assessment {
	at := manifest.Source{File: ref}
	s := assessment{unused: len(snapshots) == 0}
	problems := []manifest.Problems{}
	for _, p := range snapshots {
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
			if problem.Source.File == ref {
				s.reason, s.problem = problem.Reason, strings.TrimPrefix(problem.Error(), ref+": ")
				return s
			}
		}
	}
	return s
}

// show writes the conditions of an assessment: Accepted says whether the document can be used, and
// Ready also whether what it names can be reached.
func (s assessment) show(c condition.Writer) {
	switch {
	case s.problem != "":
		message := cut(s.problem)
		c.Set(v1alpha1.ConditionAccepted, metav1.ConditionFalse, s.reason, message)
		c.NotReady(s.reason, message, true)
		return
	case s.overridden != "":
		message := cut(fmt.Sprintf("the control-plane repository overrides it, and declares it differently at %s. Delete this resource, or make both equal", s.overridden))
		c.Set(v1alpha1.ConditionAccepted, metav1.ConditionFalse, v1alpha1.ReasonOverridden, message)
		c.NotReady(v1alpha1.ReasonOverridden, message, true)
		return
	}
	reason, message := v1alpha1.ReasonSucceeded, "it is in force"
	if s.unused {
		reason, message = v1alpha1.ReasonUnused, "it is valid; no Seed uses it yet"
	}
	c.Set(v1alpha1.ConditionAccepted, metav1.ConditionTrue, reason, message)
	if s.unreachable != "" {
		c.NotReady(s.reason, cut(s.unreachable), s.refused)
		return
	}
	if s.warning != "" {
		reason, message = v1alpha1.ReasonProposalIncomplete, cut(message+"; "+s.warning)
	}
	c.Ready(reason, message)
}

// maxMessage is the maximum length of a condition's message.
const maxMessage = 1024

func cut(text string) string { return condition.Cut(text, maxMessage) }

// showReachable writes the condition of a repository's servers.
func (s assessment) showReachable(c condition.Writer) {
	switch {
	case s.unused || s.problem != "" || s.overridden != "":
		c.Clear(v1alpha1.ConditionReachable)
	case s.unreachable != "":
		c.Set(v1alpha1.ConditionReachable, metav1.ConditionFalse, s.reason, cut(s.unreachable))
	case s.limited != "":
		c.Set(v1alpha1.ConditionReachable, metav1.ConditionTrue, v1alpha1.ReasonRateLimited, cut(s.limited))
	default:
		c.Set(v1alpha1.ConditionReachable, metav1.ConditionTrue, v1alpha1.ReasonSucceeded, "Git and forge answer")
	}
}

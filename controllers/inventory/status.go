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

// standing is how a resource stands: whether it is valid and in force, and what
// else is to be said of it.
type standing struct {
	// problem says what is wrong with it, and reason why it is not in force or cannot be reached.
	problem string
	reason  v1alpha1.Reason
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
				s.reason, s.problem = problem.Reason, strings.TrimPrefix(problem.Error(), place+": ")
				return s
			}
		}
	}
	return s
}

// show writes the conditions of a standing.
func (s standing) show(c condition.Writer) {
	switch {
	case s.problem != "":
		message := cut(s.problem)
		c.Set(v1alpha1.ConditionAccepted, metav1.ConditionFalse, s.reason, message)
		c.NotReady(s.reason, message, true)
		return
	case s.overridden != "":
		message := cut(fmt.Sprintf("the control-plane repository declares it otherwise at %s, and that counts. Delete this resource, or make it the same", s.overridden))
		c.Set(v1alpha1.ConditionAccepted, metav1.ConditionFalse, v1alpha1.ReasonOverridden, message)
		c.NotReady(v1alpha1.ReasonOverridden, message, true)
		return
	}
	reason, message := v1alpha1.ReasonSucceeded, "it is in force"
	if s.unused {
		reason, message = v1alpha1.ReasonUnused, "it is valid; no Seed makes use of it yet"
	}
	c.Set(v1alpha1.ConditionAccepted, metav1.ConditionTrue, reason, message)
	if s.unreachable != "" {
		c.NotReady(s.reason, cut(s.unreachable), s.refused)
		return
	}
	c.Ready(reason, message)
}

// maxMessage bounds a condition's message.
const maxMessage = 1024

func cut(text string) string { return condition.Cut(text, maxMessage) }

// showReachable writes the condition of a repository's servers.
func (s standing) showReachable(c condition.Writer) {
	switch {
	case s.unused || s.problem != "" || s.overridden != "":
		c.Clear(v1alpha1.ConditionReachable)
	case s.unreachable != "":
		c.Set(v1alpha1.ConditionReachable, metav1.ConditionFalse, s.reason, cut(s.unreachable))
	default:
		c.Set(v1alpha1.ConditionReachable, metav1.ConditionTrue, v1alpha1.ReasonSucceeded, "Git and forge answer")
	}
}

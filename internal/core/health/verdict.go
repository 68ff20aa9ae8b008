package health

import (
	"cmp"
	"fmt"
	"reflect"

	"github.com/furrow-dev/furrow/api/v1alpha1"
)

// Phase is how far a tier is on its cluster.
type Phase string

const (
	// Unknown means that what is needed for a verdict could not be seen.
	Unknown Phase = "Unknown"
	// Absent means that the reconciler object is not there.
	Absent Phase = "Absent"
	// Behind means that the reconciler does not have what base has yet.
	Behind Phase = "Behind"
	// Progressing means that it has it and is not ready yet.
	Progressing Phase = "Progressing"
	// Failed means that it cannot build, apply, or reports that an object failed. It is never
	// final.
	Failed Phase = "Failed"
	// Ready means that it has it and all that counts is healthy.
	Ready Phase = "Ready"
)

// Match compares what the tree at a revision has at a tier's paths with what base has there.
type Match string

const (
	// MatchUnknown means that the revision is not known to the mirror.
	MatchUnknown Match = ""
	// Matches means that the entries are equal.
	Matches Match = "Equal"
	// Differs means that they are not.
	Differs Match = "Differs"
)

// Want is what base has of a tier.
type Want struct {
	// Rendered is the annotation of the reconciler object on base, Spec its spec.
	Rendered string
	Spec     map[string]any
	// Edited says how a person changed the reconciler object on base so that its health is
	// no longer the tier's, and what to do about it; empty if nobody did.
	Edited string
	// At holds, for each reported revision, whether its content is that of base.
	At map[string]Match
	// Gone reports whether base has nothing of the tier, so nothing of it should be left.
	Gone bool
	// RootFound reports whether the cluster has the root under which the reconciler
	// object was. It counts where the tier should be gone: a cluster without the root may
	// be another one, or a new one, on which nothing was ever there to go.
	RootFound bool
	// Reconciler is the cluster that the reconciler object is on, Creators that of
	// the creators.
	Reconciler, Creators Cluster
}

// Cluster is a cluster that the health is read from.
type Cluster struct {
	Cluster string
	// Abandoned reports whether a person gave the cluster up: a tier that should be gone
	// there counts as gone while it is unknown.
	Abandoned bool
}

// advice returns what to do if a lost cluster blocks a removal.
func (p Cluster) advice() string {
	if p.Cluster == "" {
		return ""
	}
	return fmt.Sprintf(" (if it is gone for good, run 'furrow abandon %s')", p.Cluster)
}

// staying returns the verdict on a tier that must stay and is unknown, on an abandoned cluster.
func (p Cluster) staying(v Verdict) Verdict {
	if p.Abandoned {
		v.Reason, v.On = v1alpha1.ReasonClusterAbandoned, p.Cluster
		v.Message = fmt.Sprintf("cluster %s was abandoned, but this must stay: %s. Take the cluster out of the control plane, or run 'furrow abandon %[1]s --undo'", p.Cluster, v.Message)
	}
	return v
}

// Verdict is one tier's health.
type Verdict struct {
	Phase  Phase
	Reason v1alpha1.Reason
	// On is the cluster that it is about: the one that has the reconciler object or the creator.
	On string
	// Object is the creator that it is about; empty where it is about the reconciler object.
	Object  string
	Message string
	// AwaitsRoot reports whether the root or its source must act next, so their
	// problems are worth reporting.
	AwaitsRoot bool
	// Applied reports whether the reconciler has applied what base has, and deleted what base no longer has, healthy
	// or not.
	Applied bool `json:"Applied,omitempty"`
}

// Say makes a verdict with a message.
func Say(p Phase, reason v1alpha1.Reason, format string, args ...any) Verdict {
	return Verdict{Phase: p, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// Judge draws the verdict on a tier from what was seen of its reconciler object
// and of the clusters that it creates. own is what the kind of reconciler says of an object that is
// there as base has it, and may work.
func Judge(own Verdict, r Reconciler, creators []Creator, want Want) Verdict {
	v := judge(own, r, creators, want)
	v.On = cmp.Or(v.On, want.Reconciler.Cluster)
	return v
}

// judge checks the reconciler first and creators only when that is ready: a creator that is
// not ready before its object was applied says nothing.
func judge(own Verdict, r Reconciler, creators []Creator, want Want) Verdict {
	if want.Gone {
		return judgeGone(r, creators, want)
	}
	v := judgeReconciler(own, r, want)
	if v.Phase != Ready {
		return v
	}
	for _, c := range creators {
		if v := judgeCreator(c, want.Creators); v.Phase != Ready {
			return of(c, want.Creators, v)
		}
	}
	return Verdict{Phase: Ready, Reason: v1alpha1.ReasonHealthy, Message: "healthy", Applied: true}
}

// of makes a verdict one on a creator.
func of(c Creator, on Cluster, v Verdict) Verdict {
	v.On, v.Object = on.Cluster, c.Name
	return v
}

// judgeGone is Absent only when nothing is left: a reconciler object that is
// being deleted reports success to the end.
//
// What is not known on a cluster that was abandoned counts as gone; what is known
// there counts as it is.
func judgeGone(r Reconciler, creators []Creator, want Want) Verdict {
	var given Cluster // an abandoned cluster with something unknown
	switch {
	case !r.Known && want.Reconciler.Abandoned:
		given = want.Reconciler
	case !r.Known:
		return Say(Unknown, silence(r), "%s%s", unasked("the cluster", r.Message), want.Reconciler.advice())
	case r.Found && !r.Deleting:
		return Say(Behind, v1alpha1.ReasonStillPresent, "the reconciler object is still there").Awaiting()
	case r.Found:
		return Say(Progressing, v1alpha1.ReasonPruning, "the reconciler is deleting what it applied")
	}
	for _, c := range creators {
		switch {
		case c.Known && c.Found:
			return of(c, want.Creators, Say(Progressing, v1alpha1.ReasonCreatorDeleting, "the creator%s is still being deleted", named(c)))
		case !c.Known && !want.Creators.Abandoned:
			return of(c, want.Creators, creatorUnknown(c, want.Creators.advice()))
		case !c.Known:
			given = want.Creators
		}
	}
	switch {
	case !r.Known || want.RootFound:
	case want.Reconciler.Abandoned:
		given = want.Reconciler
	default:
		return Say(Unknown, v1alpha1.ReasonRootGone, "whether it is gone is not known: the root is not found on the cluster either, which may be another or a new one").Awaiting()
	}
	if given.Abandoned {
		v := Say(Absent, v1alpha1.ReasonGivenUp, "given up: cluster %s was abandoned", given.Cluster)
		v.On = given.Cluster
		return v
	}
	return Say(Absent, v1alpha1.ReasonGone, "gone")
}

// judgeReconciler answers what is the same for each kind of reconciler: is its object there, is it ours as base has it,
// and may it work at all? Only then it counts what the kind says of it.
func judgeReconciler(own Verdict, r Reconciler, want Want) Verdict {
	switch {
	case !r.Known:
		return want.Reconciler.staying(Say(Unknown, silence(r), "%s", unasked("the cluster", r.Message)))
	case !r.Found:
		return Say(Absent, v1alpha1.ReasonReconcilerMissing, "the reconciler object is not there yet").Awaiting()
	case r.Deleting:
		return Say(Progressing, v1alpha1.ReasonReconcilerDeleting, "the reconciler object is being deleted")
	case want.Edited != "":
		return Say(Unknown, v1alpha1.ReasonReconcilerEdited, "%s", want.Edited)
	case r.Rendered != want.Rendered || !Holds(want.Spec, r.Spec):
		return Say(Behind, v1alpha1.ReasonReconcilerOutdated, "the live reconciler object is not the one in Git yet").Awaiting()
	case r.Suspended:
		return Say(Behind, v1alpha1.ReasonReconcilerSuspended, "the reconciler object is suspended; resume it")
	}
	return own
}

// Applied reports whether the reconciler has applied what base has, and deleted what base no longer
// has, healthy or not. own is what the kind of reconciler says of it.
func Applied(own Verdict, r Reconciler, want Want) bool { return judgeReconciler(own, r, want).Applied }

// Awaiting is the verdict where the root or its source must act next.
func (v Verdict) Awaiting() Verdict {
	v.AwaitsRoot = true
	return v
}

// silence returns why a cluster could not be asked.
func silence(r Reconciler) v1alpha1.Reason {
	return cmp.Or(v1alpha1.Reason(r.Reason), v1alpha1.ReasonClusterSilent)
}

// judgeCreator is Ready when the cluster is: the creator current, and its API server answering.
func judgeCreator(c Creator, on Cluster) Verdict {
	switch {
	case !c.Known:
		return on.staying(creatorUnknown(c, ""))
	case !c.Found:
		return Say(Progressing, v1alpha1.ReasonCreatorNotThere, "the creator is not there yet%s", suffix(c.Message))
	case !c.Current:
		return Say(Progressing, v1alpha1.ReasonClusterBeingCreated, "the cluster is being created%s", suffix(c.Message))
	case !c.Answers:
		return Say(Progressing, v1alpha1.ReasonAPIServerSilent, "the new cluster's API server does not answer yet%s", suffix(c.Message))
	}
	return Verdict{Phase: Ready}
}

func creatorUnknown(c Creator, advice string) Verdict {
	return Say(Unknown, v1alpha1.ReasonCreatorSilent, "the state of the creator%s is unknown: %s%s", named(c), unasked("the management cluster", c.Message), advice)
}

// unasked says that a cluster cannot be asked; message names the cluster already, where it is not empty.
func unasked(cluster, message string) string { return cmp.Or(message, cluster+" cannot be asked") }

func named(c Creator) string {
	if c.Name == "" {
		return ""
	}
	return " " + c.Name
}

func suffix(message string) string {
	if message == "" {
		return ""
	}
	return ": " + message
}

// Holds reports whether have has everything that want has. Fields that only have has do not matter,
// since API servers add defaults; lists must have the same elements, as their position has a
// meaning. Nothing and an empty mapping or list are the same.
func Holds(want, have any) bool {
	switch w := want.(type) {
	case map[string]any:
		h, ok := have.(map[string]any)
		if !ok {
			return len(w) == 0 && have == nil
		}
		for key, value := range w {
			if !Holds(value, h[key]) {
				return false
			}
		}
		return true
	case []any:
		h, ok := have.([]any)
		if !ok || len(w) != len(h) {
			return len(w) == 0 && have == nil
		}
		for i := range w {
			if !Holds(w[i], h[i]) {
				return false
			}
		}
		return true
	case string:
		h, ok := have.(string)
		return ok && w == h
	}
	return reflect.DeepEqual(number(want), number(have))
}

// number makes one type of the numbers that decoders give.
func number(v any) any {
	switch n := v.(type) {
	case int64:
		return float64(n)
	case int:
		return float64(n)
	}
	return v
}

package pass

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
)

// Relation says how a commit of the control plane relates to the one that is read.
type Relation string

const (
	// Same is the same commit. Files on disk, which cannot be compared, count as the same.
	Same Relation = "Same"
	// Older is a commit in the history of the one that is read.
	Older Relation = "Older"
	// Newer is a commit that has the one that is read in its history.
	Newer Relation = "Newer"
	// Diverged is a commit of another line of history.
	Diverged Relation = "Diverged"
	// Unknown is a commit that the repository does not have.
	Unknown Relation = "Unknown"
)

// follows reports whether the commit that is read comes after the other one.
func (r Relation) follows() bool { return r == Same || r == Older }

// Writer is a process that published the state.
type Writer struct {
	// Name is for people, such as "furrow run on host-1 (process 4711)".
	Name string `json:"name"`
	// Revision of the control plane that it read.
	Revision string `json:"revision"`
	// Clone reports whether it read a clone of the control plane.
	Clone bool `json:"clone,omitempty"`
	// Ended reports whether it wrote that this was its last report.
	Ended bool `json:"ended,omitempty"`
	// Self reports whether it is the process that decides.
	Self bool `json:"self,omitempty"`
	// At is when it published.
	At time.Time `json:"at"`
}

// WriterTimeout is for how long after its last report another process counts as running.
const WriterTimeout = 3 * time.Minute

// Lives reports whether the process is another one that has reported lately and has not ended. A time
// in the future shows nothing.
func (w *Writer) Lives(now time.Time) bool {
	age := now.Sub(w.At)
	return !w.Self && !w.Ended && age < WriterTimeout && age > -WriterTimeout
}

// compareCommits refuses to go on from a commit of the control plane that does not follow the one
// that was planned last, because that would roll clusters back without anybody having asked for it.
//
// The repository itself is right whatever it says: where its branch was moved back or rewritten, the
// plans follow, and say so. A clone may only be out of date, so a person has to take over. Beside a
// process that reads a clone with newer commits, the repository waits until these are pushed or that
// process ends.
func (d *decider) compareCommits() {
	cp := &d.facts.ControlPlane
	if d.refusal = nil; cp.Unread != "" || !cp.Compared {
		return
	}
	last, reported := d.plannedLast(), Same
	if cp.Writer != nil {
		reported = d.relation(cp.Writer.Revision)
	}
	if d.incomplete() || last == nil || cp.TakeOver {
		return
	}
	switch w := cp.Writer; {
	case cp.Clone:
		d.refusal = Fail(last.problem(cp), false)
	case w != nil && w.Clone && w.Lives(d.facts.Now) && !reported.follows():
		p := (&plannedLast{revision: w.Revision, relation: reported}).problem(cp)
		p.Next = fmt.Sprintf("Push that commit, or stop that process: this one goes on by itself %s after its last report; or use --take-over", WriterTimeout)
		d.refusal = Fail(p, false)
	}
}

// plannedLast is a revision that the one that is read does not follow.
type plannedLast struct {
	seed, revision string
	relation       Relation
}

// plannedLast returns the first such revision among the plans of this control plane and its state; nil if
// the revision that is read follows all of them.
func (d *decider) plannedLast() *plannedLast {
	for _, name := range slices.Sorted(maps.Keys(d.previous)) {
		p := d.previous[name]
		if p.Plan == nil || p.Foreign {
			continue
		}
		if r := d.relation(p.Plan.Revision); !d.incomplete() && !r.follows() {
			return &plannedLast{name, p.Plan.Revision, r}
		}
	}
	if w := d.facts.ControlPlane.Writer; w != nil {
		if r := d.relation(w.Revision); !d.incomplete() && !r.follows() {
			return &plannedLast{"", w.Revision, r}
		}
	}
	return nil
}

// problem says which two commits are in question, and which process planned last.
func (l *plannedLast) problem(cp *ControlPlane) manifest.Problem {
	last := l.revision + " was read last"
	if l.seed != "" {
		last = fmt.Sprintf("seed %q was planned from %s", l.seed, l.revision)
	}
	if cp.Writer != nil {
		last += fmt.Sprintf(" (the last to report is %s, at %s)", cp.Writer.Name, cp.Writer.Revision)
	}
	p := manifest.Problem{Reason: v1alpha1.ReasonControlPlaneUnrelated, Seed: l.seed, Next: "Fetch and merge what it lacks, or replace the newer plans with --take-over"}
	switch l.relation {
	case Newer:
		p.Reason = v1alpha1.ReasonControlPlaneBehind
		p.Message = fmt.Sprintf("%s is behind: %s, which is newer; nothing is replaced", cp.Revision, last)
	case Diverged:
		p.Message = fmt.Sprintf("%s is unrelated: %s, which is not in its history; nothing is replaced", cp.Revision, last)
	default:
		p.Message = fmt.Sprintf("%s is behind or unrelated: %s, which this repository does not have; nothing is replaced", cp.Revision, last)
		p.Next = "Fetch the whole history (git fetch --unshallow in a shallow clone) and merge it, or replace the newer plans with --take-over"
	}
	return p
}

// noteMoved notes in a new plan that the control plane no longer has the commit that the plan before
// it was made from: reviewers must not take a step back for one forward.
func (d *decider) noteMoved(s *Seed) {
	if s.files == nil || s.Plan == nil || s.previous == nil || s.previous.Plan == nil || s.Plan == s.previous.Plan {
		return
	}
	was := s.previous.Plan.Revision
	if !d.relation(was).follows() && s.Plan.MovedFrom != was {
		moved := *s.Plan
		moved.MovedFrom = was
		s.Plan = &moved
	}
}

// MovedWarning says of a seed that the control plane was moved to another line of history before its
// plan was made.
func MovedWarning(p *plan.Plan) manifest.Problem {
	return manifest.OfSeed(v1alpha1.ReasonControlPlaneMoved, p.Seed,
		fmt.Sprintf("it was planned from %s after %s, which is newer or unrelated: the branch of the control plane was moved, or a person took over", p.Revision, p.MovedFrom), "Nothing needs to be done if that was meant.")
}

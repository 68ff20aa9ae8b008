package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/pass"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/internal/state"
)

// Trailers of the commits of the status branch: which process wrote it. They are not in the state, so
// two processes that report the same leave one commit.
const (
	trailerProcess = "Furrow-Process"
	trailerClone   = "Furrow-Clone"
	trailerOrigin  = "Furrow-Origin"
	trailerEnded   = "Furrow-Ended"
)

// statusMessage returns the message of a commit of the status branch. ended says that it is the last of
// this process.
func (e *Engine) statusMessage(ended bool) string {
	trailers := []forge.Trailer{{Key: trailerProcess, Value: e.config.Process}, revisionTrailer(e.tree.Revision), {Key: trailerOrigin, Value: e.self.Origin}}
	if e.tree.Clone {
		trailers = append(trailers, forge.Trailer{Key: trailerClone, Value: "true"})
	}
	if ended {
		trailers = append(trailers, forge.Trailer{Key: trailerEnded, Value: "true"})
	}
	return forge.AddTrailers("Report the state of all seeds", trailers)
}

// WriterOf returns the process that made a commit of a status branch; nil where it does not say.
func WriterOf(c git.CommitInfo) *pass.Writer {
	t := forge.Trailers(c.Message)
	if t[trailerProcess] == "" {
		return nil
	}
	return &pass.Writer{Name: manifest.Printable(t[trailerProcess]), Revision: manifest.Printable(t[forge.TrailerRevision]), Clone: t[trailerClone] != "", Ended: t[trailerEnded] != "", At: c.Committer.When.UTC()}
}

// observeWriter finds out which process has published the state of this control plane last.
func (o *observation) observeWriter() {
	home := o.repos[o.engine.loaded.Home()]
	if home == nil || home.refs == nil {
		return
	}
	at := home.refs[layout.StatusBranch(home.facts.Base, o.engine.self.Owner)]
	if at.IsZero() {
		return
	}
	c, err := home.Mirror.Commit(at)
	if err != nil || forge.Trailers(c.Message)[trailerOrigin] != o.engine.self.Origin {
		return
	}
	if w := WriterOf(c); w != nil {
		w.Self = w.Name == o.engine.config.Process
		o.facts.ControlPlane.Writer = w
	}
}

// rival returns another process that reports for this control plane, too; nil where none does.
func (o *observation) rival() *pass.Writer {
	w := o.facts.ControlPlane.Writer
	if w == nil || !w.Lives(o.facts.Now) || o.engine.config.Process == "" {
		return nil
	}
	return w
}

// answerRelation answers how a commit of the control plane relates to the one that is read. Where
// that cannot be read, nothing is decided: it is what keeps a clone from rolling clusters back.
func (o *observation) answerRelation(q pass.Question) error {
	is, err := o.engine.tree.Relation(q.Commit)
	if err != nil {
		return fmt.Errorf("comparing commit %s of the control plane: %w", q.Commit, unreadSource(err))
	}
	set(&o.facts.ControlPlane.Relations, q.Commit, is)
	return nil
}

// lacks reports whether the control plane does not have the commit of a revision.
func (o *observation) lacks(revision string) bool {
	_, digits, _ := strings.Cut(revision, "@sha1:")
	commit, err := git.ParseHash(digits)
	if err != nil || o.engine.tree.Relation == nil {
		return false
	}
	is, err := o.engine.tree.Relation(commit)
	return err == nil && is == pass.Unknown
}

// preview observes and decides for a command that changes nothing: a branch that is behind or
// unrelated is what it is asked about.
func (e *Engine) preview(ctx context.Context) (*observation, *pass.Decision, error) {
	e.previewing = true
	defer func() { e.previewing = false }()
	return e.observeAndDecide(ctx, nil)
}

// isOutrun reports whether a pass was refused because another commit was planned last.
func isOutrun(err error) bool {
	reason := manifest.ReasonOf(err)
	return err != nil && (reason == v1alpha1.ReasonControlPlaneBehind || reason == v1alpha1.ReasonControlPlaneUnrelated)
}

const (
	// refusalShown is for how long the state shows a process that was refused after its last report.
	refusalShown = 10 * time.Minute
	// refusalRepeated is how often such a process reports.
	refusalRepeated = refusalShown / 2
)

// noteRefusal adds to the published state that this process does nothing, and why; nothing else of it
// changes. Losing the race for the branch does no harm: the next pass does it again.
func (o *observation) noteRefusal(ctx context.Context, refusal error) {
	home := o.repos[o.engine.loaded.Home()]
	if home == nil || home.refs == nil || home.facts.Failure != nil || o.engine.config.Process == "" {
		return
	}
	branch := layout.StatusBranch(home.facts.Base, o.engine.self.Owner)
	old := home.refs[branch]
	if old.IsZero() {
		return
	}
	tip, err := home.Mirror.Commit(old)
	if err != nil {
		return
	}
	had, err := home.readStatus(ctx, old)
	if err != nil || had == nil || IdentityOf(had) != o.engine.self || had.Version.Major > state.Current.Major {
		return
	}
	now, p := o.engine.config.Now().UTC().Truncate(time.Second), manifest.ProblemOf(refusal)
	is := state.Refused{Process: o.engine.config.Process, Revision: o.engine.tree.Revision, Reason: p.Reason, Message: p.Message, At: now}
	for _, r := range had.Refused {
		if r.Process == is.Process && r.Revision == is.Revision && now.Sub(r.At) < refusalRepeated {
			return
		}
	}
	had.Refused = append(freshRefusals(had.Refused, now, is.Process), is)
	data, err := manifest.YAML(had)
	if err != nil {
		return
	}
	tree, err := home.Mirror.WriteTree(map[string][]byte{state.File: data})
	if err != nil {
		return
	}
	meta := git.CommitMeta{Author: tip.Author, Message: tip.Message} // still the report of its writer
	meta.Author.When = tip.Committer.When
	commit, err := home.Mirror.CommitTree(tree.Hash, nil, meta)
	if err != nil || home.ready(ctx, o.engine.began) != nil {
		return
	}
	_ = home.move(ctx, git.Update{Ref: branch, Old: old, New: commit, Objects: append(tree.Objects, commit)})
}

// freshRefusals returns the processes that were refused lately, but for one.
func freshRefusals(all []state.Refused, now time.Time, but string) []state.Refused {
	return slices.DeleteFunc(slices.Clone(all), func(r state.Refused) bool {
		return r.Process == but || now.Sub(r.At) > refusalShown || now.Sub(r.At) < -refusalShown
	})
}

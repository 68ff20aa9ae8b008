package controlplane

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/internal/state"
)

// ErrNoStatus means that no run has reported yet.
var ErrNoStatus error = manifest.Problem{Reason: v1alpha1.ReasonNoStatus, Message: "no status was reported yet", Next: "Start 'furrow run'"}

// noStatus is ErrNoStatus or an error of the same reason, with the owners whose status the
// repository has.
func noStatus(refs git.Refs, r *Repo, owner string) error {
	var others []string
	for branch := range refs {
		if other, ok := strings.CutPrefix(branch, layout.StatusBranch(r.Base, "")); ok {
			others = append(others, strconv.Quote(other))
		}
	}
	if len(others) == 0 {
		return ErrNoStatus
	}
	slices.Sort(others)
	return manifest.Problem{Reason: v1alpha1.ReasonNoStatus, Message: fmt.Sprintf("no status of control plane %q was reported yet. GitOpsRepo %q has that of %s", owner, r.Name, strings.Join(others, ", ")),
		Next: "If that is this control plane, name it by a ControlPlane document, or with --id and --environment; else start 'furrow run'"}
}

// Status returns the last report of a run, from the status branch of the first repository by name.
// Only that one has it. It does not read the seeds. If the repository cannot be fetched, it returns
// what was fetched last, with a Problem that says so first. The forge is asked only about a report that is
// out of date.
func (s *Session) Status(ctx context.Context) (*state.State, error) {
	is, c, err := s.identity(ctx)
	if err != nil {
		return nil, err
	}
	home := c.Home()
	r, gone, err := s.openHome(ctx, c)
	if err != nil {
		return nil, err
	}
	refs, fetchErr := r.Mirror.Fetch(ctx, r.Base)
	if fetchErr != nil && gone != nil {
		fetchErr = gone
	}
	if fetchErr != nil { // return the last known status, marked as such
		if refs, err = r.Mirror.Seen(); err != nil || ctx.Err() != nil {
			return nil, fmt.Errorf("GitOpsRepo %q: %w", home, fetchErr)
		}
	}
	branch := layout.StatusBranch(r.Base, is.Owner)
	commit, ok := refs[branch]
	switch {
	case !ok && fetchErr != nil:
		return nil, fmt.Errorf("GitOpsRepo %q, which has the status: %w", home, fetchErr)
	case !ok:
		return nil, noStatus(refs, r, is.Owner)
	}
	who, err := r.Mirror.Identify(commit)
	if err == nil && !who.Own {
		err = manifest.Problem{Reason: v1alpha1.ReasonNotSigned, Repo: home, Path: branch, Message: fmt.Sprintf("the commit %s %s, so it is not Furrow's status", commit, who.Verdict), Next: "Find out who pushed it; the next pass of 'furrow run' writes the status again"}
	}
	if err != nil {
		return nil, err
	}
	report, err := readStatus(ctx, r, commit)
	if err != nil {
		return nil, fmt.Errorf("branch %s of GitOpsRepo %q: %w", branch, home, err)
	}
	if of := engine.IdentityOf(report); of != is {
		return nil, fmt.Errorf("GitOpsRepo %q: %w", home, plan.ErrForeignStatus(branch, of, is))
	}
	what := "cannot be read"
	if _, outdated := report.Outdated(s.options.Now()); outdated && fetchErr == nil {
		_, fetchErr = r.Forge.Merging(ctx) // Git follows a repository that was moved, and the forge does not
		what = "is not reported on"
	}
	if fetchErr != nil {
		report.Problems = append(manifest.Problems{{Reason: manifest.ReasonOf(fetchErr), Repo: home,
			Message: fmt.Sprintf("GitOpsRepo %q, which has the status, %s: %v. What follows was reported at %s, and may be out of date", home, what, fetchErr, report.LastPass.Format(time.RFC3339))}}, report.Problems...)
	}
	return report, nil
}

// openHome opens the repository that has the status, also if its directory is gone: its mirror may have
// what was fetched last. gone says so.
func (s *Session) openHome(ctx context.Context, c *catalog.Catalog) (home *Repo, gone, err error) {
	name := c.Home()
	spec := c.Repos[name].Spec
	if why := c.Inventory.BrokenRepo(name); spec.URL == "" && why != "" {
		return nil, nil, manifest.Problem{Reason: v1alpha1.ReasonRepositoryBroken, Repo: name, Message: "the status is in " + why, Next: "Correct that document"}
	}
	if spec.URL == "" {
		return nil, nil, manifest.Problem{Reason: v1alpha1.ReasonNoRepository, Message: "no GitOps repository is declared, so there is no status", Next: "Add a GitOpsRepo document with spec.url to the control-plane repository"}
	}
	openErr := s.OpenRepos(ctx, c)
	gone = checkDirectory(s.resolve(spec.URL), "spec.url", "git init --bare")
	if s.repos[name] == nil && (gone != nil || manifest.ReasonOf(openErr) == v1alpha1.ReasonSigningKeyMissing) {
		if _, err := s.openMirror(ctx, name, spec, false); err != nil {
			return nil, gone, err
		}
	}
	if s.repos[name] == nil {
		return nil, gone, openErr
	}
	return s.repos[name], gone, nil
}

// readStatus decodes the state of a commit. Its time is that of the commit: an unchanged state has
// no other.
func readStatus(ctx context.Context, r *Repo, commit git.Hash) (*state.State, error) {
	tree, err := r.Mirror.FS(ctx, commit)
	if err != nil {
		return nil, err
	}
	tree = git.Bounded(tree, git.StatusBounds)
	data, err := fs.ReadFile(tree, state.File)
	if err != nil {
		return nil, err
	}
	report, err := state.Decode(data)
	if err != nil {
		return nil, err
	}
	info, err := r.Mirror.Commit(commit)
	if err != nil {
		return nil, err
	}
	report.LastPass = info.Committer.When.UTC()
	if w := engine.WriterOf(info); w != nil {
		report.Writer = w.Name
	}
	return report, nil
}

package engine

import (
	"fmt"
	"maps"
	"slices"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/pass"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/internal/git/signature"
)

// trailerRequest is in the commit of a request, and names its branch: a commit that was signed as one
// request cannot be used as another.
const trailerRequest = "Furrow-Request"

// isOwn reports whether a commit may be Furrow's, which is not known of one that cannot be read.
func (r *repoState) isOwn(commit git.Hash) bool {
	who, err := r.Mirror.Identify(commit)
	return err == nil && who.Own
}

// isKnown reports whether a commit is Furrow's, or of a person whose requests count.
func (r *repoState) isKnown(commit git.Hash) bool {
	who, err := r.Mirror.Identify(commit)
	return err == nil && (who.Own || who.State == signature.Good)
}

// identify observes who signed the commits of Furrow's branches, and what people request.
func (r *repoState) identify() error {
	f := r.facts
	keys := r.Mirror.Keys()
	if f.OwnKeys = keys.Own.IDs(); keys.Signer != nil {
		f.SigningKey = keys.Signer.Key().ID()
	}
	for _, branch := range slices.Sorted(maps.Keys(r.refs)) {
		kind := layout.KindOfBranch(f.Base, branch)
		if kind == layout.OtherBranch {
			continue
		}
		if len(f.OwnKeys) > 0 {
			who, err := r.Mirror.Identify(r.refs[branch])
			if err != nil {
				return fmt.Errorf("reading who signed branch %s: %w", branch, err)
			}
			if f.Signed == nil {
				f.Signed = map[string]pass.Signature{}
			}
			f.Signed[branch] = pass.Signature{State: string(who.State), Key: who.Key, Name: who.Name}
		}
		if kind != layout.MarkerBranch {
			continue
		}
		c, err := r.Mirror.Commit(r.refs[branch])
		if err != nil {
			return fmt.Errorf("reading branch %s: %w", branch, err)
		}
		if forge.Trailers(c.Message)[trailerRequest] == branch && len(c.Parents) == 1 {
			if f.Requests == nil {
				f.Requests = map[string]pass.Request{}
			}
			f.Requests[branch] = pass.Request{Of: c.Parents[0], By: manifest.Printable(c.Author.Name), At: c.Author.When.UTC()}
		}
	}
	return nil
}

// notSigned reports requests and records of this control plane's seeds that do not count, because
// nobody signed them who may.
func (o *observation) notSigned() (out manifest.Problems) {
	previous := o.previous()
	for _, seed := range slices.Sorted(maps.Keys(previous)) {
		p := previous[seed]
		if p.Plan == nil || !o.engine.owns(p.Plan) {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(p.Commits)) {
			r := o.repos[name]
			if r == nil || len(r.facts.OwnKeys) == 0 {
				continue
			}
			base := r.facts.Base
			for _, branch := range append([]string{layout.ConfirmBranch(base, seed), layout.ConfirmLeavingBranch(base, seed), layout.RolloutBranch(base, seed)}, r.retries(seed)...) {
				signed := r.facts.Signed[branch]
				counts := signed.Good() && (branch == layout.RolloutBranch(base, seed) || !r.facts.Asked(branch).IsZero())
				if r.refs[branch].IsZero() || counts {
					continue
				}
				verdict := signature.Verdict{State: signature.State(signed.State), Key: signed.Key}
				why := verdict.String()
				if verdict.State == signature.Good {
					why = "is not a request for what its branch says"
				}
				out = append(out, manifest.Problem{Reason: v1alpha1.ReasonNotSigned, Seed: seed, Repo: name, Path: branch,
					Message: fmt.Sprintf("branch %s of GitOpsRepo %q asks for nothing: its commit %s%s %s", branch, name, r.refs[branch], r.authorOf(r.refs[branch]), why),
					Next:    "Ask with 'furrow', which signs the request; find out who pushed the branch if nobody did"})
			}
		}
	}
	return out
}

// retries returns the branches that ask to propose a seed again, or one of its tiers.
func (r *repoState) retries(seed string) []string {
	out := []string{layout.RetryBranch(r.facts.Base, seed)}
	for _, branch := range slices.Sorted(maps.Keys(r.refs)) {
		if tier, ok := layout.RetriedTier(r.facts.Base, branch); ok && tier.Seed == seed {
			out = append(out, branch)
		}
	}
	return out
}

// authorOf returns who made a commit, as in " by Ada <ada@example.com>".
func (r *repoState) authorOf(commit git.Hash) string {
	c, err := r.Mirror.Commit(commit)
	if err != nil {
		return ""
	}
	return manifest.Printable(fmt.Sprintf(" by %s <%s>", c.Author.Name, c.Author.Email))
}

// signingKey returns the public key that commits are signed with; empty if they are not.
func (r *repoState) signingKey() string {
	if r.openRepo == nil || r.Mirror == nil || r.Mirror.Keys().Signer == nil {
		return ""
	}
	public, err := r.Mirror.Keys().Signer.Key().Public()
	if err != nil {
		return ""
	}
	return public
}

// request returns what a marker is moved to, for a request about a commit: a commit on top of it, which
// keeps who asked.
func (r *repoState) request(branch string, of git.Hash, by git.Person) (git.Update, error) {
	u := git.Update{Ref: branch, Old: r.refs[branch], New: of}
	if of.IsZero() {
		return u, nil
	}
	c, err := r.Mirror.Commit(of)
	if err != nil {
		return u, err
	}
	message := forge.AddTrailers("Request "+branch+"\n\nFurrow acts on it in its next pass; do not merge it.\n", []forge.Trailer{{Key: trailerRequest, Value: branch}})
	if u.New, err = r.Mirror.CommitTree(c.Tree, []git.Hash{of}, git.CommitMeta{Author: by, Message: message}); err == nil {
		u.Objects = []git.Hash{u.New}
	}
	return u, err
}

package engine

import (
	"fmt"
	"maps"
	"slices"

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
			f.Requests[branch] = pass.Request{Of: c.Parents[0], By: manifest.Printable(c.Author.Name)}
		}
	}
	return nil
}

// request returns what a marker is moved to, for a request about a commit: where requests are signed,
// a commit on top of it, which keeps who asked.
func (r *repoState) request(branch string, of git.Hash, by git.Person) (git.Update, error) {
	u := git.Update{Ref: branch, Old: r.refs[branch], New: of}
	if r.Mirror.Keys().Signer == nil || of.IsZero() {
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

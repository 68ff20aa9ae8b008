package pull

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/furrow-dev/furrow/internal/backoff"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
)

// maxMerging is how often merging is tried while the server finds out by and by whether something
// can be merged.
const maxMerging = 20

// mergePauses are the pauses before it is tried again. A server that tests hundreds of open pull
// requests after each merge takes longer if it is asked more.
var mergePauses = backoff.Doubling(200*time.Millisecond, 4*time.Second)

// rejectionWithdrawn is why a rejected pull request that is not opened again counts no more.
const rejectionWithdrawn = "a person took the rejection back"

// observation is a proposal as it is now.
type observation struct {
	forge.Branch
	at   Request
	base git.Hash
}

// rejected reports whether a person has rejected what the caller has in mind.
func (s observation) rejected(p forge.Proposal) bool {
	return s.at.State == Closed && s.Digest == p.Digest && !forge.ReadDescription(s.at.Body).Superseded
}

// observe reads a proposal's branch and pull request as they are now.
func (f *Forge) observe(ctx context.Context, p forge.Proposal) (observation, error) {
	b, base, err := f.reader.Observe(ctx, p)
	if err != nil {
		return observation{}, err
	}
	number := p.Number
	if number == 0 {
		rows, _, err := f.listOpen(ctx)
		if err != nil {
			return observation{}, err
		}
		number = rows[p.Branch].Number
	}
	if number == 0 {
		return observation{}, forge.ErrGone
	}
	at, err := f.get(ctx, number)
	if err == nil && at.Branch != p.Branch {
		err = forge.ErrGone
	}
	return observation{b, at, base}, err
}

// Merge accepts a proposal through the server, with the repository's way to merge, at exactly the
// commit that was read. The server knows only the user of our credentials and nobody can be
// impersonated, so the message names by.
func (f *Forge) Merge(ctx context.Context, p forge.Proposal, by git.Person) error {
	methods, queue, err := f.methods(ctx)
	if err != nil {
		return err
	}
	pauses := mergePauses
	for try := 1; ; try++ {
		s, err := f.observe(ctx, p)
		if err == nil {
			err = s.mayMerge(p)
		}
		var method Method
		if err == nil {
			method, err = choose(methods, p, s.Base != s.base)
		}
		if err == nil {
			err = f.mergeOnce(ctx, s, s.merge(method, by), queue)
		}
		switch {
		case err == nil:
			s.at.State = Merged
			f.have(s.at)
			return nil
		case !errors.Is(err, ErrUnchecked):
			return fmt.Errorf("merge %s: %w", p.Branch, f.blamed(ctx, s, err))
		case try == maxMerging:
			return fmt.Errorf("merge %s: %w (%w)", p.Branch, forge.ErrConflict, err)
		}
		if err := backoff.Sleep(ctx, f.clock, pauses.Step()); err != nil {
			return fmt.Errorf("merge %s: %w", p.Branch, err)
		}
	}
}

// methods returns the ways to merge, those first that do not fail where base has moved on at all, and
// whether a queue merges.
func (f *Forge) methods(ctx context.Context) (all []Method, queue bool, err error) {
	r, err := f.server.Repository(ctx)
	if err != nil {
		return nil, false, err
	}
	var last []Method
	for _, m := range r.Methods {
		if m == FastForward || m == MergeCommit && len(r.Methods) > 1 && !r.Queue && f.isLinear(ctx) {
			last = append(last, m)
		} else {
			all = append(all, m)
		}
	}
	if all = append(all, last...); len(all) == 0 {
		all = []Method{MergeCommit}
	}
	return all, r.Queue, nil
}

// isLinear reports whether base takes no merge commits, as far as that is known.
func (f *Forge) isLinear(ctx context.Context) bool {
	required, err := f.Requires(ctx)
	return err == nil && required.Linear
}

// mayMerge says why a proposal must not be merged as the caller has read it.
func (s observation) mayMerge(p forge.Proposal) error {
	switch {
	case s.rejected(p):
		return forge.ErrRejected
	case s.Head != p.Head || s.at.State != Open:
		return forge.ErrGone
	case p.Differs != "":
		return forge.ErrDiffers
	case s.Stale:
		return forge.ErrConflict
	}
	return nil
}

// merge returns how to merge exactly the commit that was read.
func (s observation) merge(method Method, by git.Person) Merge {
	out := Merge{Method: method, Head: s.Head}
	accepted := forge.Trailer{Key: "Accepted-by", Value: fmt.Sprintf("%s <%s>", by.Name, by.Email)}
	switch method {
	case Squash:
		// With Furrow's trailers base itself shows what landed.
		message := forge.AddTrailers(s.Title+"\n\n"+s.Body, append(s.Trailers(), accepted))
		_, out.Message, _ = strings.Cut(message, "\n")
		out.Title = fmt.Sprintf("%s (#%d)", s.Title, s.at.Number)
	case MergeCommit, RebaseMerge:
		out.Message = accepted.Key + ": " + accepted.Value
	}
	return out
}

// Reject closes a pull request for a person, with the reason in its text, from which Furrow reads
// it, and in a comment, which people read.
func (f *Forge) Reject(ctx context.Context, p forge.Proposal, by git.Person, reason string) error {
	s, err := f.observe(ctx, p)
	switch {
	case err != nil:
	case s.rejected(p):
		return nil
	case s.Head != p.Head || s.at.State != Open:
		err = forge.ErrGone
	}
	if err != nil {
		return fmt.Errorf("reject %s: %w", p.Branch, err)
	}
	reason = strings.Join(strings.Fields(reason), " ")
	if _, err := f.close(ctx, s.at.Number, forge.MarkRejected(s.at.Body, s.Digest, reason)); err != nil {
		return err
	}
	comment := "Rejected by " + by.Name
	if reason != "" {
		comment += ": " + reason
	}
	// Credentials need not be allowed to comment, and it is rejected all the same.
	_ = f.server.Comment(ctx, s.at.Number, comment)
	return nil
}

// Reopen opens a rejected pull request again. Where the branch has another content by now, or
// another pull request is open, it is marked as superseded instead: the server would reopen it all
// the same, and the engine opens a new one. So is one of another branch, as that of a group which
// the tier was rejected with, unless it was opened again already.
func (f *Forge) Reopen(ctx context.Context, p forge.Proposal) error {
	s, err := f.observe(ctx, p)
	switch {
	case s.at.Branch != "" && s.at.Branch != p.Branch:
		if s.at.State == Closed && !forge.ReadDescription(s.at.Body).Superseded {
			return f.supersede(ctx, s.at, rejectionWithdrawn)
		}
		return nil
	case err == nil && !s.rejected(p) && s.at.State != Merged && s.Digest == p.Digest:
		return nil // it is open, or was superseded
	case err == nil && (!s.rejected(p) || s.Head != p.Head):
		err = forge.ErrGone
	}
	if err != nil {
		return fmt.Errorf("reopen %s: %w", p.Branch, err)
	}
	rows, _, err := f.listOpen(ctx)
	if err != nil {
		return err
	}
	if _, other := rows[p.Branch]; other || s.at.Head != s.Head {
		return f.supersede(ctx, s.at, rejectionWithdrawn)
	}
	state, body := Open, forge.Unmark(s.at.Body)
	_, err = f.edit(ctx, s.at.Number, Edit{Body: &body, State: &state})
	return err
}

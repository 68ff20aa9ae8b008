package controlplane

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/internal/git/signature"
)

// Which commit of the control plane is planned (docs/decisions/0025).
//
//	anchor ─▶ commit ─▶ commit ─▶ tip      each is judged by the keys of the last verified one before it
//
// The anchor is, in this order: keys that whoever started Furrow has given, which judge every commit;
// the commit that this session planned last; the one that the cache remembers; the newest one that a
// plan of this control plane was made from. Without any, the tip is judged by its own keys.

// verified is a commit that is in force, and the keys that it names.
type verified struct {
	commit git.Hash
	// ring is nil if the commit asks for no signatures.
	ring signature.Keyring
	// spec is what the ring was read from; nil if that was something else.
	spec *v1alpha1.VerifySpec
	// file has the ControlPlane document, and blob is its content; empty if there is none, or if the
	// ring is of another history.
	file string
	blob git.Hash
	// assumed reports whether nothing but the commit itself speaks for it.
	assumed bool
}

const (
	// maxUnverified is how many commits are searched for one that is verified, and maxFirst as long as
	// each has to be judged by keys of its own.
	maxUnverified, maxFirst = 1000, 50
	// maxSigners and maxForgeKeys bound spec.verify.
	maxSigners, maxForgeKeys = 100, 20
)

// inForce returns the commit to plan: the tip, or the newest verified one below it, with the reason
// why the tip is not planned. If there is none at all, that reason is the error.
func (s *Session) inForce(ctx context.Context, tip git.Hash) (commit git.Hash, refused, err error) {
	if s.options.Tree != nil || s.options.PlansOf != s.options.Branch {
		return tip, nil, nil // it is only shown
	}
	anchor, err := s.anchor()
	if err != nil {
		return git.Hash{}, nil, err
	}
	if anchor != nil && anchor.commit == tip {
		s.verified = anchor
		return tip, nil, nil
	}
	var found verified
	switch {
	case len(s.options.VerifyWith) > 0:
		found, refused, err = s.newest(tip, maxUnverified, func(git.Hash) (verified, error) { return verified{ring: s.options.VerifyWith}, nil })
	case anchor == nil:
		found, refused, err = s.firstUse(ctx, verified{}, tip)
		found.assumed = true
	default:
		found, refused, err = s.advance(ctx, *anchor, tip)
	}
	switch {
	case err != nil:
		return git.Hash{}, nil, err
	case found.commit.IsZero() && anchor != nil && !anchor.commit.IsZero():
		found = *anchor
	case found.commit.IsZero():
		return git.Hash{}, nil, refused
	}
	s.verified = &found
	if !found.assumed {
		err = s.remember(found)
	}
	return found.commit, refused, err
}

// anchor returns what commits are judged by; nil if nothing is known yet.
func (s *Session) anchor() (*verified, error) {
	if s.verified != nil {
		return s.verified, nil
	}
	return s.remembered()
}

// firstUse returns the newest commit that is signed by the keys that it names itself. near is a commit
// whose document may be the same, which saves reading it.
func (s *Session) firstUse(ctx context.Context, near verified, tip git.Hash) (found verified, refused, err error) {
	return s.newest(tip, maxFirst, func(at git.Hash) (verified, error) {
		keys, err := s.keysAt(ctx, at, near)
		if err == nil {
			near = keys
		}
		return keys, err
	})
}

// newest returns the newest commit, from the tip on by first parents, that is signed by the keys that
// keysOf returns for it; the zero value if there is none. A commit that asks for no signatures counts if it
// is the tip, and the one above it, which was the first to ask for them, counts without one.
func (s *Session) newest(tip git.Hash, most int, keysOf func(git.Hash) (verified, error)) (none verified, refused, err error) {
	commits, err := s.between(git.Hash{}, tip, most)
	if err != nil {
		return none, nil, err
	}
	var above verified
	for _, c := range commits {
		keys, err := keysOf(c.Hash)
		keys.commit = c.Hash
		switch {
		case manifest.ReasonOf(err) == v1alpha1.ReasonInvalidField && err != nil:
			refused = cmp.Or(refused, err)
			continue
		case err != nil:
			return none, nil, err
		case len(keys.ring) == 0 && refused == nil:
			return keys, nil, nil
		case len(keys.ring) == 0:
			return s.begun(above, tip, refused)
		}
		above = keys
		verdict, err := git.Verify(s.mirror.Objects, c.Hash, keys.ring)
		switch {
		case err != nil:
			return none, nil, err
		case verdict.State == signature.Good:
			return keys, refused, nil
		}
		refused = cmp.Or(refused, s.notVerified(c, verdict))
	}
	if n := len(commits); len(s.options.VerifyWith) == 0 && len(commits[n-1].Parents) == 0 {
		return s.begun(above, tip, refused)
	}
	return none, refused, nil
}

// begun returns the commit that was the first to ask for signatures, which nothing was asked of.
func (s *Session) begun(first verified, tip git.Hash, refused error) (verified, error, error) {
	if first.commit == tip {
		refused = nil
	}
	return first, refused, nil
}

// advance follows the first parents from an anchor to the tip, and returns the last verified commit.
// A tip that does not descend from the anchor, as after a force-push, is judged by the anchor's keys.
func (s *Session) advance(ctx context.Context, anchor verified, tip git.Hash) (last verified, refused, err error) {
	commits, err := s.between(anchor.commit, tip, maxUnverified)
	if err != nil {
		return anchor, nil, err
	}
	if anchor.commit.IsZero() { // it is lost
		commits = commits[:1]
	}
	last = anchor
	if parents := commits[len(commits)-1].Parents; len(parents) == 0 || parents[0] != anchor.commit {
		last.file, last.blob = "", git.Hash{}
	}
	for i := len(commits) - 1; i >= 0; i-- {
		if len(last.ring) == 0 { // nothing is asked of what follows, until a commit begins to ask
			next, refused, err := s.firstUse(ctx, last, tip)
			if next.commit.IsZero() {
				next = last
			}
			next.assumed = last.assumed
			return next, refused, err
		}
		verdict, err := git.Verify(s.mirror.Objects, commits[i].Hash, last.ring)
		if err != nil {
			return last, nil, err
		}
		if verdict.State != signature.Good {
			refused = s.notVerified(commits[i], verdict)
			continue
		}
		next, err := s.keysAt(ctx, commits[i].Hash, last)
		switch {
		case err == nil:
			next.assumed = last.assumed
			last, refused = next, nil
		case manifest.ReasonOf(err) == v1alpha1.ReasonInvalidField:
			refused = err
		default:
			return last, nil, err
		}
	}
	return last, refused, nil
}

// between returns the commits after an anchor up to the tip, by first parents, newest first. If the
// anchor is not below the tip, only the tip is new.
func (s *Session) between(anchor, tip git.Hash, most int) (out []git.CommitInfo, err error) {
	for at := tip; at != anchor; {
		c, err := s.mirror.Commit(at)
		if err != nil {
			return nil, err
		}
		if out = append(out, c); len(c.Parents) == 0 || len(out) == most {
			if !anchor.IsZero() {
				out = out[:1]
			}
			break
		}
		at = c.Parents[0]
	}
	return out, nil
}

// keysAt returns the keys that a commit names. They are those of the one before if its ControlPlane
// document cannot be read, or if it names none and follows no commit that did: otherwise any old
// commit of a signer, also of another repository, would end verification.
func (s *Session) keysAt(ctx context.Context, commit git.Hash, before verified) (verified, error) {
	out := verified{commit: commit, ring: before.ring, spec: before.spec, file: before.file, blob: before.blob}
	if before.file != "" {
		now, err := s.mirror.Entries(commit, []string{before.file})
		if err != nil {
			return out, err
		}
		if now[before.file].Hash == before.blob {
			return out, nil
		}
	}
	if err := s.mirror.Prefetch(ctx, commit); err != nil {
		return out, err
	}
	files, err := s.mirror.FS(ctx, commit)
	if err == nil && s.options.Path != "" {
		if files, err = Below(files, s.options.Path, ""); err != nil {
			return out, nil // it has no control plane at all, which is another error
		}
	}
	if err != nil {
		return out, err
	}
	c, err := inventoryOf(engine.Tree{FS: files, Limits: s.options.Limits})
	if err != nil {
		return out, nil // it cannot be planned either
	}
	if _, err := c.Owner("a", "b"); err != nil && c.ControlPlane == nil {
		return out, nil
	}
	if named := c.ControlPlane != nil && c.ControlPlane.Spec.Verify != nil; !named && len(before.ring) > 0 && before.file == "" {
		return out, nil
	}
	out.ring, out.spec, out.file, out.blob = nil, nil, "", git.Hash{}
	if c.ControlPlane == nil {
		return out, nil
	}
	at := c.Positions["ControlPlane/"+c.ControlPlane.Metadata.Name]
	out.file = path.Join(s.options.Path, at.File)
	entries, err := s.mirror.Entries(commit, []string{out.file})
	if err != nil {
		return out, err
	}
	out.blob = entries[out.file].Hash
	if out.spec = c.ControlPlane.Spec.Verify; out.spec != nil {
		out.ring, err = VerifyKeys(*c.ControlPlane.Spec.Verify)
	}
	if err != nil {
		p := manifest.ProblemOf(err)
		p.Source = at
		p.Message = fmt.Sprintf("%s of commit %s: %s", at, commit, p.Message)
		return out, p
	}
	return out, nil
}

// VerifyKeys reads the keys of spec.verify.
func VerifyKeys(spec v1alpha1.VerifySpec) (signature.Keyring, error) {
	invalid := func(field, message string) manifest.Problem {
		return manifest.Problem{Reason: v1alpha1.ReasonInvalidField, Field: field, Message: message, Next: "Correct it"}
	}
	var ring signature.Keyring
	for _, list := range []struct {
		field string
		texts []string
		most  int
	}{{"spec.verify.signers", spec.Signers, maxSigners}, {"spec.verify.forge", spec.Forge, maxForgeKeys}} {
		if len(list.texts) > list.most {
			return nil, invalid(list.field, fmt.Sprintf("%s has %d keys, and at most %d are read", list.field, len(list.texts), list.most))
		}
		keys, err := publicKeys(list.field, list.texts, invalid(list.field, ""))
		if err != nil {
			return nil, err
		}
		ring = append(ring, keys...)
	}
	if len(ring) == 0 {
		return nil, invalid("spec.verify", "spec.verify names no key, so nothing could ever be planned")
	}
	return ring, nil
}

// notVerified says which commit is not planned, and who made it.
func (s *Session) notVerified(c git.CommitInfo, verdict signature.Verdict) error {
	subject, _, _ := strings.Cut(strings.TrimSpace(c.Message), "\n")
	return manifest.Problem{Reason: v1alpha1.ReasonCommitNotVerified,
		Message: manifest.Printable(fmt.Sprintf("commit %s of branch %q by %s <%s> (%q) %s, so it is not planned; the last verified commit stays in force", c.Hash, s.options.Branch, c.Author.Name, c.Author.Email, subject, verdict)),
		Next:    "Have it signed by a key of spec.verify of the ControlPlane document, or revert it"}
}

// Anchor makes the newest commit that plans of this control plane were made from the anchor, if this
// session has no better one: a hostile commit must not be judged by keys of its own only because
// Furrow was started anew. It reports whether the tree must be read again. complete means
// that there are no more plans than those.
func (s *Session) Anchor(ctx context.Context, revisions []string, complete bool) (again bool, err error) {
	if s.verified == nil || !s.verified.assumed || len(s.options.VerifyWith) > 0 {
		return false, nil
	}
	var newest git.Hash
	for _, revision := range revisions {
		branch, digits, _ := strings.Cut(revision, "@sha1:")
		commit, err := git.ParseHash(digits)
		if err != nil || branch != s.options.Branch {
			continue
		}
		if on, err := s.mirror.IsAncestor(commit, s.verified.commit); err != nil || !on {
			continue // the mirror does not know it, or history was written anew
		}
		newer := newest.IsZero()
		if !newer {
			newer, err = s.mirror.IsAncestor(newest, commit)
		}
		if err == nil && newer {
			newest = commit
		}
	}
	switch {
	case newest.IsZero() && !complete:
		return false, nil
	case newest.IsZero() || newest == s.verified.commit:
		s.verified.assumed = false
		return false, s.remember(*s.verified)
	}
	anchor, err := s.keysAt(ctx, newest, verified{})
	if err != nil {
		return false, err
	}
	s.verified = &anchor
	return true, nil
}

// memory returns the file of the cache that remembers the verified commit.
func (s *Session) memory() string {
	sum := sha256.Sum256([]byte(strings.Join([]string{s.options.ControlPlane, s.options.Branch, s.options.Path}, "\n")))
	return filepath.Join(s.options.Cache, "verified-"+hex.EncodeToString(sum[:6]))
}

// memento is what the file holds. The keys are in it because a history that was written anew may not
// have the commit any more.
type memento struct {
	Commit git.Hash             `json:"commit"`
	Verify *v1alpha1.VerifySpec `json:"verify,omitempty"`
	File   string               `json:"file,omitempty"`
	Blob   git.Hash             `json:"blob,omitzero"`
}

// remembered returns what the cache remembers; nil if that is nothing.
func (s *Session) remembered() (*verified, error) {
	data, err := os.ReadFile(s.memory())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var had memento
	if err == nil {
		err = json.Unmarshal(data, &had)
	}
	out := &verified{commit: had.Commit, spec: had.Verify, file: had.File, blob: had.Blob}
	switch {
	case err != nil:
	case len(s.options.VerifyWith) > 0:
		out.ring = s.options.VerifyWith
	case had.Verify != nil:
		out.ring, err = VerifyKeys(*had.Verify)
	default:
		return nil, nil
	}
	if err != nil {
		return nil, manifest.Problem{Reason: v1alpha1.ReasonCacheUnusable, Path: s.memory(), Message: fmt.Sprintf("%s, which remembers the last verified commit of the control plane, cannot be read: %v", s.memory(), err), Next: "Check the newest commit yourself, and delete the file"}
	}
	switch verdict, err := git.Verify(s.mirror.Objects, out.commit, out.ring); {
	case git.IsUnknown(err):
		out.commit = git.Hash{}
	case err != nil:
		return nil, err
	case len(s.options.VerifyWith) > 0 && verdict.State != signature.Good:
		return nil, nil // other keys verified it
	}
	return out, nil
}

// remember keeps the verified commit for the next session, as long as signatures are asked for.
func (s *Session) remember(v verified) error {
	if s.kept == v.commit {
		return nil
	}
	if s.kept = v.commit; len(v.ring) == 0 {
		if err := os.Remove(s.memory()); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	data, err := json.Marshal(memento{v.commit, v.spec, v.file, v.blob})
	if err != nil {
		return err
	}
	temporary := s.memory() + ".new"
	if err := os.WriteFile(temporary, append(data, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, s.memory())
}

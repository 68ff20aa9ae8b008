package controlplane

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/review"
	"github.com/furrow-dev/furrow/internal/git"
)

const (
	// maxHistory is how many commits are searched for the one that changed some causes.
	maxHistory = 200
	// maxRead is how many files a search compares document by document: those that a mirror lacks
	// are a request each.
	maxRead = 40
	// maxDocuments is how large such a file may be, in bytes.
	maxDocuments = 1 << 20
	// maxKnown is how many answers are kept.
	maxKnown = 10_000
)

// history keeps what searches found: what a commit changed never changes. It may be used by several
// goroutines at once.
type history struct {
	mu    sync.Mutex
	known map[causeKey]review.Commit
}

type causeKey struct {
	upTo   git.Hash
	causes review.Causes
}

// CauseOf returns the commit of the control plane that tiers of a plan come from; nil where that is
// not known.
func (s *Session) CauseOf(ctx context.Context, p *plan.Plan, tiers []*plan.Tier) *review.Commit {
	_, c, err := s.identity(ctx)
	if err != nil {
		return nil
	}
	return s.commitOf(ctx, p.Revision, review.CausesOf(c, p, tiers))
}

// commitOf returns the commit that changed one of the causes last, up to a revision; nil where that
// is not known.
func (s *Session) commitOf(ctx context.Context, revision string, causes review.Causes) *review.Commit {
	_, digits, _ := strings.Cut(revision, "@sha1:")
	hash, err := git.ParseHash(digits)
	if err != nil {
		return nil
	}
	if found := s.lastCommit(ctx, hash, causes); found.ID != "" {
		return &found
	}
	return nil
}

// lastCommit is commitOf up to a commit; without an ID where none is known.
func (s *Session) lastCommit(ctx context.Context, upTo git.Hash, causes review.Causes) review.Commit {
	key := causeKey{upTo, causes}
	s.history.mu.Lock()
	found, ok := s.history.known[key]
	s.history.mu.Unlock()
	if ok {
		return found
	}
	found, err := s.searchCommit(ctx, upTo, causes)
	if err != nil {
		return found // what cannot be read now may be readable later
	}
	s.history.mu.Lock()
	defer s.history.mu.Unlock()
	if s.history.known == nil || len(s.history.known) == maxKnown {
		s.history.known = map[causeKey]review.Commit{}
	}
	s.history.known[key] = found
	return found
}

// searchCommit goes back from a commit until one changed a cause. A merge counts only where no
// commit that it brought did.
func (s *Session) searchCommit(ctx context.Context, upTo git.Hash, causes review.Causes) (found review.Commit, err error) {
	search := newSearch(s, causes)
	n := 0
	for commit, err := range s.mirror.Log(upTo, git.Hash{}) {
		if err != nil || n == maxHistory {
			return found, err
		}
		n++
		if found.ID != "" && len(commit.Parents) > 1 {
			continue
		}
		touched, err := search.touchedBy(ctx, commit)
		if err != nil {
			return found, err
		}
		if touched {
			found = s.described(commit)
			if len(commit.Parents) < 2 {
				break
			}
		}
	}
	return found, nil
}

// search finds the commits that change some causes.
type search struct {
	session   *Session
	paths     []string
	documents []review.Document
	// read counts the files that were compared.
	read int
}

func newSearch(s *Session, causes review.Causes) *search {
	paths, documents := causes.Parse()
	for i := range paths {
		paths[i] = path.Join(s.options.Path, paths[i])
	}
	for i := range documents {
		if documents[i].File != "" {
			documents[i].File = path.Join(s.options.Path, documents[i].File)
		}
	}
	return &search{session: s, paths: paths, documents: documents}
}

// touchedBy reports whether a commit changed a cause against its first parent.
func (s *search) touchedBy(ctx context.Context, commit git.CommitInfo) (bool, error) {
	var parent git.Hash
	if len(commit.Parents) > 0 {
		parent = commit.Parents[0]
	}
	changed, err := s.changes(parent, commit.Hash)
	if err != nil {
		return false, err
	}
	if parent.IsZero() {
		has, err := s.session.mirror.Entries(commit.Hash, s.paths)
		if err != nil || slices.ContainsFunc(s.paths, func(at string) bool { return !has[at].Hash.IsZero() }) {
			return err == nil, err
		}
	} else if slices.ContainsFunc(s.paths, func(at string) bool { return touches(changed, at) }) {
		return true, nil
	}
	for _, at := range changed {
		touched, err := s.touchesDocument(ctx, parent, commit.Hash, at)
		if touched || err != nil {
			return touched, err
		}
	}
	return false, nil
}

// changes returns the paths that differ between two commits, or all top-level ones of the first
// commit.
func (s *search) changes(parent, commit git.Hash) ([]string, error) {
	if !parent.IsZero() {
		return s.session.mirror.Changes(parent, commit)
	}
	files, err := s.session.mirror.FS(context.Background(), commit)
	if err != nil {
		return nil, err
	}
	var out []string
	entries, err := fs.ReadDir(files, ".")
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out, err
}

// touchesDocument reports whether one of the documents differs below a path that a commit changed.
func (s *search) touchesDocument(ctx context.Context, parent, commit git.Hash, at string) (bool, error) {
	seeds := path.Join(s.session.options.Path, catalog.SeedsDir)
	if at == seeds || strings.HasPrefix(at, seeds+"/") {
		return false, nil
	}
	var wanted []review.Document
	for _, d := range s.documents {
		if d.File == "" || d.File == at || strings.HasPrefix(d.File, at+"/") {
			wanted = append(wanted, d)
		}
	}
	if len(wanted) == 0 {
		return false, nil
	}
	was, err := s.files(ctx, parent, at)
	if err != nil {
		return false, err
	}
	is, err := s.files(ctx, commit, at)
	if err != nil {
		return false, err
	}
	differs := func(d review.Document) bool { return !bytes.Equal(was[d.Name], is[d.Name]) }
	return s.read < maxRead && slices.ContainsFunc(wanted, differs), nil
}

// files returns the documents in the files at and below a path of a commit, by kind and name.
func (s *search) files(ctx context.Context, commit git.Hash, at string) (map[string][]byte, error) {
	out := map[string][]byte{}
	if commit.IsZero() {
		return out, nil
	}
	tree, err := s.session.mirror.FS(ctx, commit)
	if err != nil {
		return nil, err
	}
	err = fs.WalkDir(tree, at, func(name string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case !e.Type().IsRegular() || !slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(name)):
			return nil
		case s.read == maxRead:
			return fs.SkipAll
		}
		s.read++
		if info, err := e.Info(); err != nil || info.Size() > maxDocuments {
			return err
		}
		data, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		objects, _ := manifest.Parse(name, data) // what cannot be read declares nothing
		for _, o := range objects {
			if out[o.ID.Kind+"/"+o.ID.Name], err = o.Bytes(); err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

// touches reports whether a path is among changed ones, or below or above one of them.
func touches(changed []string, at string) bool {
	return slices.ContainsFunc(changed, func(c string) bool {
		return c == at || strings.HasPrefix(c, at+"/") || strings.HasPrefix(at, c+"/")
	})
}

// described returns what people know a commit by.
func (s *Session) described(c git.CommitInfo) review.Commit {
	subject, _, _ := strings.Cut(strings.TrimSpace(c.Message), "\n")
	return review.Commit{ID: c.Hash.String(), Subject: subject, Author: c.Author.Name, URL: s.commitURL(c.Hash)}
}

// commitURL returns the page of a commit of the control plane; empty where it is not on a server.
// GitHub, GitLab, Gitea and Forgejo all have it there.
func (s *Session) commitURL(commit git.Hash) string {
	if !catalog.IsRemoteURL(s.options.ControlPlane) {
		return ""
	}
	location := git.Remote{URL: s.options.ControlPlane}.String()
	if !strings.HasPrefix(location, "https://") && !strings.HasPrefix(location, "http://") {
		return ""
	}
	return strings.TrimSuffix(strings.TrimSuffix(location, "/"), ".git") + "/commit/" + commit.String()
}

package controlplane

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/review"
	"github.com/furrow-dev/furrow/internal/git"
)

// LastCommit returns the commit of the control plane by which a path of its tree came to be as it
// was at a revision; nil where that is not known.
func (s *Session) LastCommit(revision, at string) *review.Commit {
	_, digits, _ := strings.Cut(revision, "@sha1:")
	hash, err := git.ParseHash(digits)
	if err != nil {
		return nil
	}
	if found, ok := s.lastCommits(hash, []string{at})[at]; ok {
		return &found
	}
	return nil
}

// maxHistory is how many commits are searched for those that changed some paths.
const maxHistory = 200

// lastCommits returns, of each path of the control plane's tree, the newest commit up to one that
// changed it; of what none of the last ones changed, as where another file changed the plan, the
// one that it began with. A merge counts only where no commit that it brought did. What cannot be
// read has none.
func (s *Session) lastCommits(upTo git.Hash, paths []string) map[string]review.Commit {
	out := map[string]review.Commit{}
	left := map[string]string{}
	for _, at := range paths {
		left[at] = path.Join(s.options.Path, at)
	}
	n := 0
	for commit, err := range s.mirror.Log(upTo, git.Hash{}) {
		if err != nil || n == maxHistory || len(left) == 0 {
			break
		}
		changed, err := s.changedIn(commit, slices.Collect(maps.Values(left)))
		if err != nil {
			break
		}
		for at, in := range left {
			_, noted := out[at]
			switch {
			case n > 0 && !touches(changed, in):
				continue
			case !noted || len(commit.Parents) < 2:
				out[at] = s.described(commit)
			}
			if len(commit.Parents) < 2 && touches(changed, in) {
				delete(left, at)
			}
		}
		n++
	}
	return out
}

// changedIn returns what a commit changed against its first parent; of the first commit, which of
// some paths it has.
func (s *Session) changedIn(commit git.CommitInfo, paths []string) ([]string, error) {
	if len(commit.Parents) == 0 {
		found, err := s.mirror.Entries(commit.Hash, paths)
		return slices.DeleteFunc(slices.Clone(paths), func(at string) bool { return found[at].Hash.IsZero() }), err
	}
	return s.mirror.Changes(commit.Parents[0], commit.Hash)
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

package github

import (
	"fmt"
	"net/http"
)

// Person acts in the web page of the server. What GitHub refuses is an error.
type Person struct {
	s    *Server
	user *user
}

// As is somebody who was added.
func (s *Server) As(login string) Person {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	return Person{s: s, user: s.mustUser(login)}
}

// on runs an action on a pull request. A refusal becomes the error.
func (p Person) on(repo string, number int, needed role, act func(*pull) *answer) error {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	pr := p.s.mustRepo(repo).pull(number)
	refused := notFound()
	switch {
	case pr == nil:
	case pr.repo.roleOf(p.user) < needed && pr.user != p.user:
		refused = refuse(http.StatusForbidden, "%s may not do this", p.user.login)
	default:
		refused = act(pr)
	}
	if refused != nil {
		return fmt.Errorf("%s#%d: %w", repo, number, refused)
	}
	return nil
}

// Merge merges by a method: merge, squash or rebase.
func (p Person) Merge(repo string, number int, method string) error {
	return p.on(repo, number, rolePush, func(pr *pull) *answer {
		_, refused := p.s.merge(pr, p.user, pr.repo.roleOf(p.user), mergeRequest{method: method})
		return refused
	})
}

// SetDraft makes a pull request a draft or ready for review.
func (p Person) SetDraft(repo string, number int, draft bool) error {
	return p.on(repo, number, rolePush, func(pr *pull) *answer {
		pr.draft = draft
		p.s.record(pr, map[bool]string{true: "convert_to_draft", false: "ready_for_review"}[draft], p.user, nil)
		return nil
	})
}

// Close closes a pull request.
func (p Person) Close(repo string, number int) error {
	return p.on(repo, number, roleTriage, func(pr *pull) *answer { p.s.close(pr, p.user); return nil })
}

// Reopen reopens a pull request.
func (p Person) Reopen(repo string, number int) error {
	return p.on(repo, number, roleTriage, func(pr *pull) *answer { return p.s.reopen(pr, p.user) })
}

// Retarget changes the branch that a pull request is to.
func (p Person) Retarget(repo string, number int, base string) error {
	return p.on(repo, number, roleTriage, func(pr *pull) *answer {
		pr.base.ref, pr.base.sha = base, pr.repo.git.Branch(base)
		p.s.touch(pr)
		p.s.record(pr, "base_ref_changed", p.user, nil)
		return nil
	})
}

// Rewrite changes title and body.
func (p Person) Rewrite(repo string, number int, title, body string) error {
	return p.on(repo, number, roleTriage, func(pr *pull) *answer {
		p.s.retitle(pr, title, p.user)
		pr.body, pr.updated = body, p.s.now()
		return nil
	})
}

// Comment adds a comment.
func (p Person) Comment(repo string, number int, body string) error {
	return p.on(repo, number, rolePull, func(pr *pull) *answer { p.s.addComment(pr, body, p.user); return nil })
}

// Label sets the labels as a whole.
func (p Person) Label(repo string, number int, names ...string) error {
	return p.on(repo, number, roleTriage, func(pr *pull) *answer { p.s.setLabels(pr, names, p.user); return nil })
}

// Approve approves a pull request.
func (p Person) Approve(repo string, number int) error {
	return p.on(repo, number, rolePull, func(pr *pull) *answer { return p.s.addReview(pr, "approved", "", p.user) })
}

// RequestChanges rejects a pull request in a review.
func (p Person) RequestChanges(repo string, number int, body string) error {
	return p.on(repo, number, rolePull, func(pr *pull) *answer { return p.s.addReview(pr, "changes_requested", body, p.user) })
}

// PushCommit commits files to a branch and returns the commit. A file without content is removed; a
// branch that does not exist starts at the default branch.
func (p Person) PushCommit(repo, branch, message string, files map[string]string) string {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	r := p.s.mustRepo(repo)
	old := r.git.Branch(branch)
	parent := old
	if parent == "" {
		parent = r.git.Branch(r.defaultBranch)
	}
	sha := r.git.WriteFiles(parent, message, identity(p.user.login, p.s.now()), files)
	r.git.Must("", nil, "update-ref", "refs/heads/"+branch, sha)
	p.s.branchMoved(r, branch, old, sha, p.user)
	return sha
}

// ForcePush makes a branch another commit, whatever it was.
func (p Person) ForcePush(repo, branch, sha string) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	r := p.s.mustRepo(repo)
	old := r.git.Branch(branch)
	r.git.Must("", nil, "update-ref", "refs/heads/"+branch, sha)
	p.s.branchMoved(r, branch, old, sha, p.user)
}

// DeleteBranch deletes a branch.
func (p Person) DeleteBranch(repo, branch string) error {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	if refused := p.s.deleteBranch(p.s.mustRepo(repo), branch, p.user); refused != nil {
		return fmt.Errorf("%s: branch %s: %w", repo, branch, refused)
	}
	return nil
}

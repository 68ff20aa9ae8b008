package gitlab

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
)

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// Person acts in the web page of the server. What GitLab refuses is an error.
type Person struct {
	s    *Server
	user *user
}

// As is somebody who was added.
func (s *Server) As(username string) Person {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	return Person{s: s, user: s.mustUser(username)}
}

// on runs an action on a merge request. A refusal becomes the error.
func (p Person) on(path string, iid int, needed Role, act func(*request) *answer) error {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	r := p.s.mustProject(path).request(iid)
	refused := notFound("")
	switch {
	case r == nil:
	case r.project.roleOf(p.user) < needed && r.author != p.user:
		refused = forbidden()
	default:
		refused = act(r)
		r.updated = p.s.now()
	}
	if refused != nil {
		return fmt.Errorf("%s!%d: %w", path, iid, refused)
	}
	return nil
}

// Merge merges by the method of the project, and squashes before where that is asked for.
func (p Person) Merge(path string, iid int, squash bool) error {
	return p.on(path, iid, Developer, func(r *request) *answer {
		for !r.checked && r.state == "opened" { // people wait for that
			p.s.check(r)
		}
		if !r.project.mayPush(p.user, r.to) {
			return refuse(http.StatusUnauthorized, "401 Unauthorized")
		}
		if refused := p.s.mayMerge(r, ""); refused != nil {
			return refused
		}
		return p.s.merge(r, p.user, squash, false, "", "")
	})
}

// OpenFromFork opens a merge request from a branch of a fork, and returns its iid.
func (p Person) OpenFromFork(fork, branch, to string) int {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	from := p.s.mustProject(fork)
	return p.s.addRequest(from.parent, from, branch, to, p.user).iid
}

// Rebase puts the source branch on top of the target.
func (p Person) Rebase(path string, iid int) error {
	return p.on(path, iid, Developer, func(r *request) *answer {
		sha, clean := r.project.git.Replay(r.base, r.sha, r.project.git.Branch(r.to), p.s.now())
		if !clean {
			return refuse(http.StatusConflict, "Rebase failed: Rebase locally, resolve all conflicts, then push the branch.")
		}
		p.set(r.source, r.from, sha)
		return nil
	})
}

// Close closes a merge request.
func (p Person) Close(path string, iid int) error {
	return p.on(path, iid, Developer, func(r *request) *answer { p.s.setState(r, "closed", p.user); return nil })
}

// Reopen reopens a merge request.
func (p Person) Reopen(path string, iid int) error {
	return p.on(path, iid, Developer, func(r *request) *answer { return p.s.reopen(r, p.user) })
}

// Retarget changes the branch that a merge request is to.
func (p Person) Retarget(path string, iid int, to string) error {
	return p.on(path, iid, Developer, func(r *request) *answer {
		r.to = to
		p.s.setHead(r, r.sha)
		return nil
	})
}

// Rewrite changes title and description.
func (p Person) Rewrite(path string, iid int, title, description string) error {
	return p.on(path, iid, Developer, func(r *request) *answer {
		r.title, r.description = title, description
		return nil
	})
}

// Label sets the labels as a whole.
func (p Person) Label(path string, iid int, labels ...string) error {
	return p.on(path, iid, Developer, func(r *request) *answer { r.labels = labels; return nil })
}

// Comment adds a comment.
func (p Person) Comment(path string, iid int, body string) error {
	return p.on(path, iid, Guest, func(r *request) *answer { p.s.addNote(r, p.user, body, false); return nil })
}

// Approve approves a merge request.
func (p Person) Approve(path string, iid int) error {
	return p.on(path, iid, Developer, func(r *request) *answer {
		r.approved[p.user] = true
		p.s.addNote(r, p.user, "approved this merge request", true)
		return nil
	})
}

// PushCommit commits files to a branch and returns the commit. A file without content is removed; a
// branch that does not exist starts at the default branch.
func (p Person) PushCommit(path, branch, message string, files map[string]string) string {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	to := p.s.mustProject(path)
	parent := to.git.Branch(branch)
	if parent == "" {
		parent = to.git.Branch(to.defaultBranch)
	}
	sha := to.git.WriteFiles(parent, message, identity(p.user.username, p.s.now()), files)
	p.set(to, branch, sha)
	return sha
}

// ForcePush makes a branch another commit, whatever it was.
func (p Person) ForcePush(path, branch, sha string) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.set(p.s.mustProject(path), branch, sha)
}

// DeleteBranch deletes a branch.
func (p Person) DeleteBranch(path, branch string) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.set(p.s.mustProject(path), branch, "")
}

func (p Person) set(to *project, branch, sha string) {
	old := to.git.Branch(branch)
	to.git.SetBranch(branch, sha)
	p.s.branchMoved(to, branch, old, sha, p.user)
}

// RunJob has a job of a pipeline on a commit, which shows as a status.
func (p Person) RunJob(path, sha, name, state string, mayFail bool) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	in := p.s.mustProject(path)
	in.statuses = append(in.statuses, &status{id: p.s.newID(), sha: sha, ref: in.defaultBranch, state: state, name: name, mayFail: mayFail, author: p.user, at: p.s.now()})
}

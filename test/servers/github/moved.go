package github

import (
	"fmt"
	"net/http"
	"slices"
	"time"
)

// branchMoved applies what a change of a branch means. old or sha is "" for one that is made or
// deleted.
func (s *Server) branchMoved(r *repo, branch, old, sha string, by *user) {
	r.pushed = s.now()
	s.notifyPush(r, branch, old, sha, by)
	for _, p := range s.pulls() {
		if p.head.repo == r && p.head.ref == branch {
			s.headMoved(p, old, sha, by)
		}
		if p.base.repo == r && p.base.ref == branch && p.state == "open" {
			s.baseMoved(p, sha, by)
		}
	}
}

// headMoved follows the head of a pull request. The head of a closed one stays what it was.
func (s *Server) headMoved(p *pull, old, sha string, by *user) {
	switch {
	case sha == "":
		if p.state == "open" {
			s.close(p, by)
		}
		s.record(p, "head_ref_deleted", by, nil)
	case p.state != "open":
		if old == "" {
			s.record(p, "head_ref_restored", by, nil)
		}
	default:
		before := p.head.sha
		p.repo.queue = slices.DeleteFunc(p.repo.queue, func(other *pull) bool { return other == p })
		s.fetchHead(p, sha)
		if before != "" && !p.repo.git.Contains(sha, before) {
			s.record(p, "head_ref_force_pushed", by, nil)
		}
		s.touch(p)
		p.base.sha = p.base.repo.git.Branch(p.base.ref)
		s.notifyPull(p, "synchronize", by)
		if p.repo.git.Count(p.base.sha, sha) == 0 {
			s.close(p, by)
		}
	}
}

// baseMoved follows the base: a pull request whose head is in it is merged.
func (s *Server) baseMoved(p *pull, sha string, by *user) {
	s.touch(p)
	switch {
	case sha != "" && p.repo.git.Contains(sha, p.head.sha):
		s.markMerged(p, sha, by)
	case sha == "":
		s.close(p, by)
	}
}

// fetchHead makes a head known to the base's repository as refs/pull/N/head.
func (s *Server) fetchHead(p *pull, sha string) {
	p.head.sha = sha
	ref := fmt.Sprintf("refs/pull/%d/head", p.number)
	if p.head.repo != p.repo {
		p.repo.git.Must("", nil, "fetch", "-q", p.head.repo.git.Dir, "+refs/heads/"+p.head.ref+":"+ref)
		return
	}
	p.repo.git.Must("", nil, "update-ref", ref, sha)
}

// touch forgets what is known about merging.
func (s *Server) touch(p *pull) {
	p.mergeable, p.computing = nil, false
	p.updated = s.now()
}

func (s *Server) setState(p *pull, state, event string, closed time.Time, by *user) {
	if s.lag > 0 {
		p.before, p.lag = p.state, s.lag
	}
	p.state, p.closed = state, closed
	s.record(p, event, by, nil)
	s.notifyPull(p, event, by)
}

func (s *Server) close(p *pull, by *user) { s.setState(p, "closed", "closed", s.now(), by) }

// reopen refuses a pull request whose head is gone, or not what it was and more.
func (s *Server) reopen(p *pull, by *user) *answer {
	now, refusal := p.head.repo.git.Branch(p.head.ref), ""
	switch {
	case !p.merged.IsZero():
		refusal = "The pull request has been merged."
	case now == "":
		refusal = fmt.Sprintf("The %s branch has been deleted.", p.head.ref)
	case p.base.repo.git.Branch(p.base.ref) == "":
		refusal = fmt.Sprintf("The %s branch has been deleted.", p.base.ref)
	case !p.head.repo.git.Contains(now, p.head.sha):
		refusal = fmt.Sprintf("The %s branch was force-pushed or recreated.", p.head.ref)
	case s.openPull(p.repo, p.head, p.base.ref) != nil:
		refusal = fmt.Sprintf("There is already an open pull request from %s to %s.", p.head.label(), p.base.label())
	case p.base.repo.git.Count(p.base.ref, p.head.sha) == 0:
		refusal = fmt.Sprintf("There are no new commits on the %s branch.", p.head.label())
	}
	if refusal != "" {
		return invalid("PullRequest", "state", "custom", "state cannot be changed. "+refusal)
	}
	s.fetchHead(p, now)
	s.touch(p)
	s.setState(p, "open", "reopened", time.Time{}, by)
	return nil
}

// deleteBranch refuses the default branch.
func (s *Server) deleteBranch(r *repo, branch string, by *user) *answer {
	old := r.git.Branch(branch)
	switch {
	case old == "":
		return refuse(http.StatusUnprocessableEntity, "Reference does not exist")
	case branch == r.defaultBranch:
		return refuse(http.StatusUnprocessableEntity, "Cannot delete this branch")
	}
	r.git.Must("", nil, "update-ref", "-d", "refs/heads/"+branch, old)
	s.branchMoved(r, branch, old, "", by)
	return nil
}

package github

import (
	"fmt"
	"net/http"
	"strings"
)

// readMergeable starts to compute whether a pull request can be merged, and has the answer some
// reads later.
func (s *Server) readMergeable(p *pull) {
	if p.state != "open" || p.mergeable != nil {
		return
	}
	if !p.computing {
		p.computing, p.readsLeft = true, s.mergeableAfter
	} else {
		p.readsLeft--
	}
	if p.readsLeft <= 0 {
		s.computeMergeable(p)
	}
}

// computeMergeable tries the merge. The result is in merge_commit_sha until the real merge.
func (s *Server) computeMergeable(p *pull) {
	base := p.repo.git.Branch(p.base.ref)
	tree, clean := p.repo.git.MergeTree(base, p.head.sha)
	p.mergeable, p.mergeCommit = &clean, ""
	if clean {
		message := fmt.Sprintf("Merge %s into %s", p.head.sha, base)
		p.mergeCommit = p.repo.git.CommitTree(tree, message, identity(p.user.login, s.now()), base, p.head.sha)
	}
}

func (s *Server) mergeableState(p *pull) string {
	need := p.repo.requirements(p.base.ref)
	switch {
	case p.state != "open" || p.mergeable == nil:
		return "unknown"
	case !*p.mergeable:
		return "dirty"
	case p.draft:
		return "draft"
	case need.Strict && !p.repo.git.Contains(p.head.sha, p.repo.git.Branch(p.base.ref)):
		return "behind"
	case len(s.unmet(p, need)) > 0:
		return "blocked"
	}
	for _, st := range p.repo.latest(p.head.sha) {
		if st.state != "success" {
			return "unstable"
		}
	}
	return "clean"
}

// unmet are the sentences about what protection still asks for.
func (s *Server) unmet(p *pull, need *Protection) []string {
	var out []string
	for _, name := range need.Checks {
		switch p.repo.state(p.head.sha, name) {
		case "":
			out = append(out, fmt.Sprintf("Required status check %q is expected.", name))
		case "success":
		default:
			out = append(out, fmt.Sprintf("Required status check %q is failing.", name))
		}
	}
	approvals, rejected := 0, false
	for _, approves := range p.approved {
		if approves {
			approvals++
		} else {
			rejected = true
		}
	}
	switch {
	case rejected && need.Reviews > 0:
		out = append(out, "Changes have been requested.")
	case approvals < need.Reviews:
		out = append(out, fmt.Sprintf("At least %d approving review is required by reviewers with write access.", need.Reviews))
	}
	return out
}

// mergeRequest is how somebody wants a pull request merged.
type mergeRequest struct{ method, title, message, sha string }

func (c *call) mergePull() *answer {
	p := c.pullOf()
	if p == nil {
		return notFound()
	}
	how := mergeRequest{method: or(c.text("merge_method"), "merge"), title: c.text("commit_title"), message: c.text("commit_message"), sha: c.text("sha")}
	sha, refused := c.s.merge(p, c.asker.user, c.asker.roleIn(c.repo), how)
	if refused != nil {
		return refused
	}
	return ok(object{"merged": true, "message": "Pull Request successfully merged", "sha": sha})
}

// merge merges a pull request, or returns GitHub's refusal.
func (s *Server) merge(p *pull, by *user, has role, how mergeRequest) (string, *answer) {
	if refused := s.mayMerge(p, has, how); refused != nil {
		return "", refused
	}
	base := p.repo.git.Branch(p.base.ref)
	sha := s.mergeCommit(p, by, base, how)
	if sha == "" {
		return "", refuse(http.StatusMethodNotAllowed, "Pull Request is not mergeable")
	}
	s.land(p, by, base, sha)
	return sha, nil
}

// land moves the base of a pull request to its merge.
func (s *Server) land(p *pull, by *user, base, sha string) {
	p.repo.git.Must("", nil, "update-ref", "refs/heads/"+p.base.ref, sha, base)
	s.markMerged(p, sha, by)
	s.branchMoved(p.repo, p.base.ref, base, sha, by)
	if p.repo.deleteOnMerge && p.head.repo == p.repo && p.head.ref != p.repo.defaultBranch {
		_ = s.deleteBranch(p.repo, p.head.ref, by)
	}
}

func (s *Server) mayMerge(p *pull, has role, how mergeRequest) *answer {
	need := p.repo.requirements(p.base.ref)
	notAllowed := func(text string) *answer { return refuse(http.StatusMethodNotAllowed, "%s", text) }
	allowed := map[string]bool{"merge": p.repo.mergeCommit, "squash": p.repo.squash, "rebase": p.repo.rebase}
	names := map[string]string{"merge": "Merge commits", "squash": "Squash merges", "rebase": "Rebase merges"}
	unmet := s.unmet(p, need)
	switch {
	case p.state != "open":
		return notAllowed("Pull Request is not mergeable")
	case how.sha != "" && how.sha != p.head.sha:
		return refuse(http.StatusConflict, "Head branch was modified. Review and try the merge again.")
	case p.draft:
		return notAllowed("Pull Request is still a draft")
	case !allowed[how.method]:
		return notAllowed(names[how.method] + " are not allowed on this repository.")
	case need.Queue:
		return notAllowed("Repository rule violations found\n\nChanges must be made through the merge queue\n\n")
	case need.Linear && how.method == "merge":
		return notAllowed("Merge commits are not allowed on this branch.")
	case has == roleAdmin: // may ignore protection
		return nil
	case len(unmet) > 0:
		return notAllowed(strings.Join(unmet, " "))
	case need.Strict && !p.repo.git.Contains(p.head.sha, p.repo.git.Branch(p.base.ref)):
		return notAllowed("Head branch is out of date. Review and try the merge again.")
	}
	return nil
}

// mergeCommit makes the commit that the base becomes, or returns "" when there is a conflict.
func (s *Server) mergeCommit(p *pull, by *user, base string, how mergeRequest) string {
	if how.method == "rebase" {
		from := p.repo.git.Must("", nil, "merge-base", base, p.head.sha)
		sha, clean := p.repo.git.Replay(from, p.head.sha, base, s.now())
		if !clean {
			return ""
		}
		return sha
	}
	tree, clean := p.repo.git.MergeTree(base, p.head.sha)
	if !clean {
		return ""
	}
	title, message, parents := how.title, how.message, []string{base, p.head.sha}
	if how.method == "squash" {
		title, parents = or(title, fmt.Sprintf("%s (#%d)", p.title, p.number)), parents[:1]
	} else {
		title = or(title, fmt.Sprintf("Merge pull request #%d from %s/%s", p.number, p.head.repo.owner.login, p.head.ref))
		message = or(message, p.title)
	}
	return p.repo.git.CommitTree(tree, strings.TrimSpace(title+"\n\n"+message)+"\n", identity(by.login, s.now()), parents...)
}

func (s *Server) markMerged(p *pull, sha string, by *user) {
	p.merged, p.mergedBy, p.mergeCommit = s.now(), by, sha
	s.record(p, "merged", by, object{"commit_id": sha})
	s.close(p, by)
}

package gitlab

import (
	"cmp"
	"fmt"
	"net/http"
)

// check makes the server find out whether a merge request conflicts; the answer may be there some
// reads later.
func (s *Server) check(r *request) {
	switch {
	case r.state != "opened" || r.checked:
		return
	case !r.asked:
		r.asked, r.reads = true, s.checkedAfter
	default:
		r.reads--
	}
	if r.reads > 0 {
		return
	}
	_, clean := r.project.git.MergeTree("refs/heads/"+r.to, r.sha)
	r.checked, r.conflict = true, !clean
}

// mergeStatus is why a merge request cannot be merged, or "mergeable".
func (s *Server) mergeStatus(r *request) string {
	p := r.project
	approvals := 0
	for range r.approved {
		approvals++
	}
	switch {
	case r.state != "opened":
		return "not_open"
	case !r.checked && r.asked:
		return "checking"
	case !r.checked:
		return "unchecked"
	case r.source.git.Branch(r.from) == "":
		return "commits_status"
	case r.draft():
		return "draft_status"
	case approvals < p.Approvals:
		return "not_approved"
	case r.conflict:
		return "conflict"
	case p.MergeMethod != "merge" && !p.git.Contains(r.sha, p.git.Branch(r.to)):
		return "need_rebase"
	case p.PipelinesMustSucceed:
		for _, state := range p.states(r.sha) {
			if state != "success" {
				return "ci_must_pass"
			}
		}
		if len(p.states(r.sha)) == 0 {
			return "ci_must_pass"
		}
	}
	return "mergeable"
}

func (c *call) mergeRequest() *answer {
	r := c.requestOf()
	switch {
	case r == nil:
		return notFound("")
	case !c.project.mayPush(c.asker.user, r.to):
		return refuse(http.StatusUnauthorized, "401 Unauthorized")
	}
	if refused := c.s.mayMerge(r, c.text("sha")); refused != nil {
		return refused
	}
	squash := r.squash
	if asked := c.flag("squash"); asked != nil {
		squash = *asked
	}
	remove := c.flag("should_remove_source_branch")
	if refused := c.s.merge(r, c.asker.user, squash, remove != nil && *remove, c.text("squash_commit_message"), c.text("merge_commit_message")); refused != nil {
		return refused
	}
	return c.ok(c.one(r))
}

// mayMerge refuses what the state or the rules do not allow. A merge checks at once what was not
// checked.
func (s *Server) mayMerge(r *request, sha string) *answer {
	s.check(r)
	switch {
	case s.mergeStatus(r) != "mergeable":
		return refuse(http.StatusMethodNotAllowed, "405 Method Not Allowed")
	case sha != "" && sha != r.source.git.Branch(r.from):
		return refuse(http.StatusConflict, "SHA does not match HEAD of source branch: "+r.source.git.Branch(r.from))
	}
	return nil
}

// merge merges by the method of the project, after squashing where that is asked for.
func (s *Server) merge(r *request, by *user, squash, removeSource bool, squashMessage, mergeMessage string) *answer {
	p, git, env := r.project, r.project.git, identity(by.username, s.now())
	switch {
	case squash && p.SquashOption == "never", !squash && p.SquashOption == "always":
		return refuse(http.StatusUnprocessableEntity, "Squashing is not what the project allows")
	}
	target, head := git.Branch(r.to), r.sha
	if squash {
		head = git.CommitTree(head+"^{tree}", cmp.Or(squashMessage, r.title)+"\n", env, r.base)
		r.squashCommit = head
	}
	landed := head
	if p.MergeMethod != "ff" {
		tree, clean := git.MergeTree(target, head)
		if !clean {
			return refuse(http.StatusUnprocessableEntity, "Branch cannot be merged")
		}
		own := fmt.Sprintf("Merge branch '%s' into '%s'\n\n%s\n\nSee merge request %s!%d", r.from, r.to, r.title, p.path, r.iid)
		landed = git.CommitTree(tree, cmp.Or(mergeMessage, own)+"\n", env, target, head)
		r.mergeCommit = landed
	}
	git.Must("", nil, "update-ref", "refs/heads/"+r.to, landed, target)
	s.setState(r, "merged", by)
	s.branchMoved(p, r.to, target, landed, by)
	if removeSource {
		git.SetBranch(r.from, "")
		s.branchMoved(p, r.from, r.sha, "", by)
	}
	return nil
}

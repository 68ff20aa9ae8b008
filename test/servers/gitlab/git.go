package gitlab

import (
	"net/http"
	"strings"

	"github.com/furrow-dev/furrow/test/servers/bare"
)

// serveGit serves "/group/name.git/…".
func (s *Server) serveGit(r *http.Request) *bare.Answer {
	path, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), ".git/")
	push := bare.IsPush(r)
	t, refused := s.gitToken(r, push)
	if refused != nil {
		return refused
	}
	p, moved := s.findProject(path)
	switch {
	case p == nil || t.role(p) == None:
		if t == nil {
			return wantsLogin()
		}
		return text(http.StatusNotFound, "Not found, or you do not have the permission to view it.")
	case push && t == nil:
		return wantsLogin()
	case push && p.Archived:
		return text(http.StatusForbidden, "You can't push code to an archived project.")
	case push && t.role(p) < Developer:
		return text(http.StatusForbidden, "You are not allowed to push code to this project.")
	case moved:
		out := text(http.StatusMovedPermanently, "")
		out.Header().Set("Location", s.URL+"/"+p.path+".git/"+rest+"?"+r.URL.RawQuery)
		return out
	}
	user := ""
	if t != nil {
		user = t.user.username
	}
	before := p.git.Branches()
	out, err := p.git.Serve(r, rest, user)
	if err != nil {
		return &bare.Answer{}
	}
	if rest == "git-receive-pack" {
		p.git.Moved(before, func(branch, old, sha string) { s.branchMoved(p, branch, old, sha, t.user) })
	}
	return out
}

// gitToken is the token in the password; nil without one.
func (s *Server) gitToken(r *http.Request, push bool) (*token, *bare.Answer) {
	_, password, has := r.BasicAuth()
	t := s.tokens[password]
	need := []string{"api", "write_repository"}
	if !push {
		need = append(need, "read_api", "read_repository")
	}
	switch {
	case !has:
		return nil, nil
	case t == nil, t.revoked, !t.expires.IsZero() && !s.now().Before(t.expires):
		return nil, wantsLogin()
	case !t.has(need...):
		return nil, text(http.StatusForbidden, "Access denied: the token lacks a scope")
	}
	return t, nil
}

func wantsLogin() *bare.Answer {
	out := text(http.StatusUnauthorized, "HTTP Basic: Access denied.")
	out.Header().Set("WWW-Authenticate", `Basic realm="GitLab"`)
	return out
}

// branchMoved applies what a change of a branch means. old or sha is "" for one that is made or
// deleted.
func (s *Server) branchMoved(p *project, branch, old, sha string, by *user) {
	s.follow(func() {
		for _, other := range s.projects {
			for _, r := range other.requests {
				if r.state != "opened" {
					continue
				}
				if r.project == p && r.to == branch {
					s.targetMoved(r, old, sha, by)
				}
				if r.source == p && r.from == branch && r.state == "opened" {
					s.sourceMoved(r, old, sha, by)
				}
			}
		}
	})
}

// sourceMoved follows the source of a merge request, and closes it where that was deleted.
func (s *Server) sourceMoved(r *request, old, sha string, by *user) {
	if sha == "" {
		if r.source.git.Branch(r.from) == "" { // it may be there again by now
			s.setState(r, "closed", by)
		}
		s.addNote(r, by, "deleted source branch `"+r.from+"`", true)
		return
	}
	if old == "" {
		s.addNote(r, by, "restored source branch `"+r.from+"`", true)
	}
	s.setHead(r, sha)
	s.addNote(r, by, "added commits", true)
}

// targetMoved marks a merge request whose head was pushed to the target as merged.
func (s *Server) targetMoved(r *request, old, sha string, by *user) {
	r.checked, r.asked = false, false
	git := r.project.git
	if sha == "" || old == "" || r.sha == "" || !git.Contains(sha, r.sha) || git.Contains(old, r.sha) {
		return
	}
	for commit := range strings.FieldsSeq(git.Must("", nil, "rev-list", "--first-parent", "--reverse", old+".."+sha)) {
		if git.Contains(commit, r.sha) {
			r.mergeCommit = commit
			break
		}
	}
	s.setState(r, "merged", by)
}

// setHead takes a new head, which merging has to be checked for.
func (s *Server) setHead(r *request, sha string) {
	if r.source != r.project {
		r.project.git.Must("", nil, "fetch", "-q", r.source.git.Dir, sha)
	}
	r.sha, r.checked, r.asked, r.updated = sha, false, false, s.now()
	r.project.git.Must("", nil, "update-ref", "refs/merge-requests/"+itoa(r.iid)+"/head", sha)
	r.base, _ = r.project.git.Git("merge-base", "refs/heads/"+r.to, sha)
}

package github

import (
	"net/http"
	"strings"

	"github.com/furrow-dev/furrow/test/servers/bare"
)

// serveGit serves "/owner/name.git/…" with git http-backend. A push is handled as a whole under
// the server's mutex: pull requests have followed the branches when the client reads the answer.
func (s *Server) serveGit(w http.ResponseWriter, r *http.Request) {
	name, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), ".git/")
	fault := s.begin(gitRoute(rest))
	if fault.before(w) {
		return
	}
	repo, who, refused := s.openGit(r, name, bare.IsPush(r))
	if refused != 0 {
		s.refuseGit(w, r, repo, rest, refused)
		return
	}
	out, err := s.runGit(r, repo, rest, who)
	if err != nil {
		return
	}
	if fault.after() {
		panic(http.ErrAbortHandler)
	}
	out.SendTo(w)
}

func gitRoute(rest string) string {
	if rest == "info/refs" {
		return "git info/refs"
	}
	return "git " + strings.TrimPrefix(rest, "git-")
}

// openGit finds the repository and who asks for it; refused is the status otherwise.
func (s *Server) openGit(r *http.Request, name string, push bool) (found *repo, who *caller, refused int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, password, has := r.BasicAuth(); has {
		t := s.validToken(password)
		if t == nil {
			return nil, nil, http.StatusUnauthorized
		}
		who = &caller{user: t.user, token: t}
	}
	found, renamed := s.findRepo(name)
	if found == nil || who.roleIn(found) == roleNone {
		if who == nil {
			return nil, nil, http.StatusUnauthorized
		}
		return nil, nil, http.StatusNotFound
	}
	need := "contents=read"
	if push {
		need = "contents=write"
	}
	switch {
	case push && who == nil:
		return found, nil, http.StatusUnauthorized
	case push && (who.roleIn(found) < rolePush || !who.token.covers(found)),
		who != nil && who.token.covers(found) && !who.token.permits(need), push && found.archived:
		return found, who, http.StatusForbidden
	case renamed:
		return found, who, http.StatusMovedPermanently
	}
	return found, who, 0
}

func (s *Server) refuseGit(w http.ResponseWriter, r *http.Request, repo *repo, rest string, status int) {
	switch status {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", `Basic realm="GitHub"`)
		http.Error(w, "Invalid username or token. Password authentication is not supported for Git operations.", status)
	case http.StatusForbidden:
		text := "Write access to repository not granted."
		if repo.archived {
			text = "This repository was archived so it is read-only."
		}
		http.Error(w, text, status)
	case http.StatusMovedPermanently:
		http.Redirect(w, r, s.URL+"/"+repo.fullName()+".git/"+rest+"?"+r.URL.RawQuery, status)
	default:
		http.Error(w, "Repository not found.", status)
	}
}

func (s *Server) runGit(r *http.Request, repo *repo, rest string, who *caller) (*bare.Answer, error) {
	if rest != "git-receive-pack" {
		return repo.git.Serve(r, rest, who.login())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	before := repo.git.Branches()
	out, err := repo.git.Serve(r, rest, who.login())
	repo.git.Moved(before, func(branch, old, sha string) { s.branchMoved(repo, branch, old, sha, who.user) })
	return out, err
}

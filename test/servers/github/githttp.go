package github

import (
	"bytes"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/cgi"
	"os/exec"
	"path"
	"slices"
	"strings"
)

// serveGit serves "/owner/name.git/…" with git http-backend. A push is handled as a whole under
// the server's mutex: pull requests have followed the branches when the client reads the answer.
func (s *Server) serveGit(w http.ResponseWriter, r *http.Request) {
	name, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), ".git/")
	service := path.Base(rest)
	push := service == "git-receive-pack" || r.URL.Query().Get("service") == "git-receive-pack"
	fault := s.begin(gitRoute(rest))
	if fault.before(w) {
		return
	}
	repo, who, refused := s.openGit(r, name, push)
	if refused != 0 {
		s.refuseGit(w, r, repo, rest, refused)
		return
	}
	body, err := io.ReadAll(r.Body) // CGI wants its length
	if err != nil {
		return
	}
	asked := r.Clone(r.Context())
	asked.Body, asked.ContentLength, asked.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	asked.URL.Path = "/" + path.Base(repo.dir) + "/" + rest
	out := &recorder{status: http.StatusOK, header: http.Header{}}
	if service == "git-receive-pack" {
		s.receivePack(out, asked, repo, who)
	} else {
		s.backend(asked, who).ServeHTTP(out, asked)
	}
	if fault.after() {
		panic(http.ErrAbortHandler)
	}
	out.writeTo(w)
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

func (s *Server) backend(r *http.Request, who *caller) *cgi.Handler {
	git, err := exec.LookPath("git")
	if err != nil {
		s.t.Errorf("git is not installed: %v", err)
	}
	env := append(gitEnv(), "GIT_PROJECT_ROOT="+s.dir, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER="+who.login(),
		"GIT_PROTOCOL="+r.Header.Get("Git-Protocol"))
	return &cgi.Handler{Path: git, Args: []string{"http-backend"}, Dir: s.dir, Env: env,
		Stderr: io.Discard, Logger: log.New(io.Discard, "", 0)}
}

func (s *Server) receivePack(out http.ResponseWriter, r *http.Request, repo *repo, who *caller) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := repo.refs("refs/heads/")
	s.backend(r, who).ServeHTTP(out, r)
	after := repo.refs("refs/heads/")
	all := maps.Clone(before)
	maps.Copy(all, after)
	for _, ref := range slices.Sorted(maps.Keys(all)) {
		if before[ref] != after[ref] {
			s.branchMoved(repo, strings.TrimPrefix(ref, "refs/heads/"), before[ref], after[ref], who.user)
		}
	}
}

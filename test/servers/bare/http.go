package bare

import (
	"bytes"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/cgi"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
)

// Answer keeps an answer until its effects are complete. It is an http.ResponseWriter.
type Answer struct {
	Status int
	Body   bytes.Buffer
	header http.Header
}

// Header returns the header to change.
func (a *Answer) Header() http.Header {
	if a.header == nil {
		a.header = http.Header{}
	}
	return a.header
}

// WriteHeader sets the status.
func (a *Answer) WriteHeader(status int) { a.Status = status }

// Write adds to the body.
func (a *Answer) Write(p []byte) (int, error) { return a.Body.Write(p) }

// SendTo sends the answer.
func (a *Answer) SendTo(w http.ResponseWriter) {
	maps.Copy(w.Header(), a.header)
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body.Bytes())
}

// Serve serves a request of Git over HTTP with git http-backend; rest is its path below the
// repository's, and user who sent it. The error is that of a client that is gone.
func (r *Repo) Serve(request *http.Request, rest, user string) (*Answer, error) {
	body, err := io.ReadAll(request.Body) // CGI wants its length
	if err != nil {
		return nil, err
	}
	asked := request.Clone(request.Context())
	asked.Body, asked.ContentLength, asked.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	asked.URL.Path = "/" + filepath.Base(r.Dir) + "/" + rest
	git, err := exec.LookPath("git")
	if err != nil {
		r.t.Errorf("git is not installed: %v", err)
	}
	root := filepath.Dir(r.Dir)
	env := append(Env(r.server), "GIT_PROJECT_ROOT="+root, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER="+user, "GIT_PROTOCOL="+request.Header.Get("Git-Protocol"))
	out := &Answer{Status: http.StatusOK}
	backend := &cgi.Handler{Path: git, Args: []string{"http-backend"}, Dir: root, Env: env, Stderr: io.Discard, Logger: log.New(io.Discard, "", 0)}
	backend.ServeHTTP(out, asked)
	return out, nil
}

// IsPush is whether a request of Git over HTTP is part of a push.
func IsPush(request *http.Request) bool {
	return path.Base(request.URL.Path) == "git-receive-pack" || request.URL.Query().Get("service") == "git-receive-pack"
}

// Moved calls f for each branch that is not what it was before, in order; "" is a branch that is
// not there.
func (r *Repo) Moved(before map[string]string, f func(branch, old, sha string)) {
	after := r.Branches()
	all := maps.Clone(before)
	maps.Copy(all, after)
	for _, branch := range slices.Sorted(maps.Keys(all)) {
		if before[branch] != after[branch] {
			f(branch, before[branch], after[branch])
		}
	}
}

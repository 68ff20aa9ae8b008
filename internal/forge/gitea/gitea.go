// Package gitea is the API of Gitea and Forgejo as a pull.Server.
//
// Gitea cannot be asked for the pull requests of one branch: GET pulls/{base}/{head} returns the
// oldest of several. So OfBranch searches those that were updated last.
//
// Gitea does not distinguish a conflict from a check that has not run yet, and checks an idle pull
// request only when it is read.
//
// Gitea closes a pull request shortly after its branch was deleted. At that time it also closes one
// that was just opened from a new branch of the same name. The timeline shows that (Closing).
//
// A request has a timeout. After one, further requests fail at once with the same error for some
// seconds; a later pass asks again.
//
// The contract suite runs against Gitea 1.26. Forgejo has the same API where it is used; filters
// that a server does not know are applied here again.
package gitea

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/furrow-dev/furrow/internal/backoff"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/pull"
	"github.com/furrow-dev/furrow/internal/forge/rest"
)

// Server is a repository on a Gitea or Forgejo server.
type Server struct {
	api   *rest.Client
	at    repository
	base  string
	clock backoff.Clock
	known known
}

var _ pull.Server = (*Server)(nil)

// kind is what Gitea asks of clients.
var kind = rest.Forge{Name: "Gitea", Rights: "the token needs the scope write:repository, and its user must be able to write the repository"}

// New makes the API of a repository, for pull requests to its branch base. It sends no request. The
// URL is https://host[:port][/prefix]/owner/name[.git].
func New(base string, o rest.Access) (*Server, error) {
	at, err := parseURL(o.URL)
	if err != nil {
		return nil, err
	}
	if o.Clock == nil {
		o.Clock = backoff.RealClock{}
	}
	api, err := rest.New(o, at.String(), at.server+"/api/v1", kind)
	if err != nil {
		return nil, err
	}
	return &Server{api: api, at: at, base: base, clock: o.Clock, known: known{cooldown: backoff.NewCooldown(labelPause), milestones: map[string]int64{}}}, nil
}

func (s *Server) String() string { return s.at.String() }

// Budget returns what the server still allows.
func (s *Server) Budget() forge.Budget { return s.api.Budget() }

// repository is a repository on a server, as its URL names it.
type repository struct {
	// server is the root of the server's pages and API.
	server, owner, name string
}

func (p repository) String() string { return p.server + "/" + p.owner + "/" + p.name }

// parseURL reads the URL of a repository for Git. Its last two parts are the owner and the
// name. What is before them is where Gitea is served below a prefix. Errors have no credentials.
func parseURL(raw string) (repository, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return repository{}, errors.New("the URL of the GitOps repository cannot be parsed; use https://host/owner/name")
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	if u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return repository{}, fmt.Errorf("%s is not the URL of a repository on Gitea or Forgejo; use https://host/owner/name", u)
	}
	path := strings.TrimSuffix(strings.Trim(u.Path, "/"), ".git")
	parts := strings.Split(path, "/")
	if len(parts) < 2 || parts[len(parts)-2] == "" || parts[len(parts)-1] == "" {
		return repository{}, fmt.Errorf("%s names no owner and repository; use https://host/owner/name", u)
	}
	prefix, owner, name := parts[:len(parts)-2], parts[len(parts)-2], parts[len(parts)-1]
	u.Path = strings.Join(prefix, "/")
	return repository{strings.TrimSuffix(u.String(), "/"), owner, name}, nil
}

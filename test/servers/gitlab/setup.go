package gitlab

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/furrow-dev/furrow/test/servers/bare"
)

// AddUser adds a person.
func (s *Server) AddUser(username string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.newUser(username)
}

func (s *Server) newUser(username string) *user {
	u := &user{id: s.newID(), username: username}
	s.users[username] = u
	return u
}

// ProjectOptions are what a project begins with.
type ProjectOptions struct {
	Public        bool
	DefaultBranch string            // main when empty
	Files         map[string]string // of the first commit; without any the repository is empty
	ForkOf        string
	Roles         map[string]Role // by username
}

// AddProject adds "group/name", below any number of groups. It has merge commits, and squashes
// where somebody asks for it.
func (s *Server) AddProject(path string, o ProjectOptions) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &project{
		Settings: Settings{MergeMethod: "merge", SquashOption: "default_off"},
		id:       s.newID(), path: path, public: o.Public, defaultBranch: cmp.Or(o.DefaultBranch, "main"),
		roles: map[*user]Role{}, invited: map[*user]Role{}, protected: map[string]Role{}, created: s.now(),
	}
	for username, role := range o.Roles {
		p.roles[s.mustUser(username)] = role
	}
	var err error
	dir := filepath.Join(s.dir, fmt.Sprintf("%d.git", p.id))
	if o.ForkOf == "" {
		p.git, err = bare.Init(s.t, "GitLab", dir, p.defaultBranch)
	} else {
		p.parent = s.mustProject(o.ForkOf)
		p.git, err = p.parent.git.Fork(dir)
	}
	if err != nil {
		s.t.Fatalf("project %s: %v", path, err)
	}
	if len(o.Files) > 0 {
		sha := p.git.WriteFiles(p.git.Branch(p.defaultBranch), "Initial commit\n", identity("gitlab", s.now()), o.Files)
		p.git.SetBranch(p.defaultBranch, sha)
	}
	s.projects[strings.ToLower(path)] = p
}

// identity makes the author of a commit, and its time.
func identity(username string, at time.Time) []string {
	return bare.Identity(username, "users.noreply.gitlab.com", at)
}

// Invite gives somebody a role by a group that is invited to a project.
func (s *Server) Invite(path, username string, role Role) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mustProject(path).invited[s.mustUser(username)] = role
}

// Configure changes the settings of a project.
func (s *Server) Configure(path string, change func(*Settings)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.mustProject(path).Settings)
}

// SignWith has the server sign what it commits; the key is the public one.
func (s *Server) SignWith(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.signingKey = key
}

// Protect lets only a role and those above it push and merge to a branch.
func (s *Server) Protect(path, branch string, from Role) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mustProject(path).protected[branch] = from
}

// Rename gives a project another path; its old one redirects.
func (s *Server) Rename(path, to string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.mustProject(path)
	delete(s.projects, strings.ToLower(path))
	s.moved[strings.ToLower(path)] = p
	p.path = to
	s.projects[strings.ToLower(to)] = p
}

// Branch is the commit of a branch, or "".
func (s *Server) Branch(path, branch string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mustProject(path).git.Branch(branch)
}

// Commit is a commit of a project.
func (s *Server) Commit(path, sha string) bare.Commit {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mustProject(path).git.Commit(sha)
}

// GitURL is where a project is cloned from.
func (s *Server) GitURL(path string) string { return s.URL + "/" + path + ".git" }

// Token makes a personal access token with scopes ("api", "read_repository", …).
func (s *Server) Token(username string, scopes ...string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addToken("glpat-", &token{user: s.mustUser(username), scopes: scopes})
}

// OAuth makes an OAuth token, which is sent as a bearer only.
func (s *Server) OAuth(username string, scopes ...string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addToken("", &token{user: s.mustUser(username), scopes: scopes, oauth: true})
}

// ProjectToken makes an access token of a project with a role in it.
func (s *Server) ProjectToken(path string, role Role, scopes ...string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.mustProject(path)
	bot := s.newUser(fmt.Sprintf("project_%d_bot_%x", p.id, s.newID()))
	p.roles[bot] = role
	return s.addToken("glpat-", &token{user: bot, scopes: scopes, project: p})
}

func (s *Server) addToken(prefix string, t *token) string {
	value := fmt.Sprintf("%s%020x", prefix, s.newID())
	s.tokens[value] = t
	return value
}

// Revoke makes a token invalid.
func (s *Server) Revoke(value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens[value].revoked = true
}

// Expire makes a token end at a time.
func (s *Server) Expire(value string, after time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens[value].expires = s.now().Add(after)
}

func (s *Server) mustUser(username string) *user {
	s.t.Helper()
	if u := s.users[username]; u != nil {
		return u
	}
	s.t.Errorf("there is no user %q: add it first", username)
	return s.newUser(username)
}

func (s *Server) mustProject(path string) *project {
	s.t.Helper()
	if p, _ := s.findProject(path); p != nil {
		return p
	}
	s.t.Errorf("there is no project %q: add it first", path)
	return &project{path: path, git: bare.None(s.t), roles: map[*user]Role{}, protected: map[string]Role{}}
}

func (s *Server) byID(id string) *project {
	for _, p := range s.projects {
		if strconv.FormatInt(p.id, 10) == id {
			return p
		}
	}
	return nil
}

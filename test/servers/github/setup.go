package github

import (
	"cmp"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/furrow-dev/furrow/test/servers/bare"
)

// AddUser adds a person.
func (s *Server) AddUser(login string) { s.addAccount(login, "User") }

// AddOrganization adds an account that owns repositories and does nothing itself.
func (s *Server) AddOrganization(login string) { s.addAccount(login, "Organization") }

func (s *Server) addAccount(login, kind string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.newUser(login, kind)
}

func (s *Server) newUser(login, kind string) *user {
	u := &user{id: s.newID(), login: login, kind: kind}
	s.users[strings.ToLower(login)] = u
	return u
}

// RepoOptions are what a repository begins with.
type RepoOptions struct {
	Private       bool
	DefaultBranch string            // main when empty
	Files         map[string]string // of the first commit; without any the repository is empty
	ForkOf        string
	Roles         map[string]string // by login: pull, triage, push, maintain or admin
}

// AddRepo adds "owner/name"; its owner exists already. All merge methods are allowed.
func (s *Server) AddRepo(fullName string, o RepoOptions) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	owner, name, _ := strings.Cut(fullName, "/")
	r := &repo{id: s.newID(), owner: s.mustUser(owner), name: name, private: o.Private, defaultBranch: cmp.Or(o.DefaultBranch, "main"),
		mergeCommit: true, squash: true, rebase: true, roles: map[string]role{}, labels: map[string]int64{}, teams: map[string]int64{},
		protection: map[string]*Protection{}, created: s.now(), pushed: s.now()}
	if o.ForkOf != "" {
		r.parent = s.mustRepo(o.ForkOf)
		r.defaultBranch = r.parent.defaultBranch
	}
	for login, role := range o.Roles {
		r.roles[s.mustUser(login).login] = roleNamed(role)
	}
	if err := s.initGit(r); err != nil {
		s.t.Fatalf("repository %s: %v", fullName, err)
	}
	if len(o.Files) > 0 {
		sha := r.git.WriteFiles(r.git.Branch(r.defaultBranch), "Initial commit\n", identity(r.owner.login, s.now()), o.Files)
		r.git.Must("", nil, "update-ref", "refs/heads/"+r.defaultBranch, sha)
	}
	s.repos[strings.ToLower(fullName)] = r
}

// AddRole gives somebody a role in a repository.
func (s *Server) AddRole(repo, login, role string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mustRepo(repo).roles[s.mustUser(login).login] = roleNamed(role)
}

// Settings are those of a repository that its administrators change.
type Settings struct {
	MergeCommit, Squash, Rebase, DeleteBranchOnMerge, Archived bool
	DefaultBranch                                              string
}

// Configure changes the settings of a repository.
func (s *Server) Configure(repo string, change func(*Settings)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.mustRepo(repo)
	set := Settings{r.mergeCommit, r.squash, r.rebase, r.deleteOnMerge, r.archived, r.defaultBranch}
	change(&set)
	r.mergeCommit, r.squash, r.rebase, r.deleteOnMerge, r.archived = set.MergeCommit, set.Squash, set.Rebase, set.DeleteBranchOnMerge, set.Archived
	r.defaultBranch = set.DefaultBranch
}

// Rename renames a repository; its old name redirects.
func (s *Server) Rename(repo, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.mustRepo(repo)
	delete(s.repos, strings.ToLower(r.fullName()))
	s.renamed[strings.ToLower(r.fullName())] = r
	r.name = name
	s.repos[strings.ToLower(r.fullName())] = r
}

// Protect protects a branch; nil ends it.
func (s *Server) Protect(repo, branch string, p *Protection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.mustRepo(repo).protection, branch)
	if p != nil {
		s.mustRepo(repo).protection[branch] = p
	}
}

// Branch is the commit of a branch, or "".
func (s *Server) Branch(repo, branch string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mustRepo(repo).git.Branch(branch)
}

// GitURL is where a repository is cloned from.
func (s *Server) GitURL(repo string) string { return s.URL + "/" + repo + ".git" }

// Token makes a classic personal token with scopes ("repo", "public_repo", …).
func (s *Server) Token(login string, scopes ...string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addToken(&token{kind: classic, user: s.mustUser(login), scopes: scopes}, "ghp_")
}

// FineGrained makes a fine-grained personal token: permissions by name ("contents": "write"), for
// some repositories.
func (s *Server) FineGrained(login string, permissions map[string]string, repos ...string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := &token{kind: fineGrained, user: s.mustUser(login), permissions: permissions}
	for _, name := range repos {
		t.repos = append(t.repos, s.mustRepo(name))
	}
	return s.addToken(t, "github_pat_")
}

func (s *Server) addToken(t *token, prefix string) string {
	t.value = fmt.Sprintf("%s%08x", prefix, s.newID())
	s.tokens[t.value] = t
	return t.value
}

// Revoke makes a token invalid.
func (s *Server) Revoke(value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.tokens, value)
}

// App is a GitHub App: what an administrator copies from its page.
type App struct {
	ID         int64
	Slug       string
	PrivateKey []byte // PEM, PKCS #1
}

// appKey is the key of all apps of a process, because making one is slow.
var appKey = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

// AddApp adds a GitHub App with its permissions ("checks": "write").
func (s *Server) AddApp(slug string, permissions map[string]string) App {
	s.t.Helper()
	key, err := appKey()
	if err != nil {
		s.t.Fatalf("the key of app %s: %v", slug, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a := &app{id: s.newID(), slug: slug, bot: s.newUser(slug+"[bot]", "Bot"), key: &key.PublicKey, permissions: permissions}
	s.apps[a.id] = a
	return App{ID: a.id, Slug: slug, PrivateKey: pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})}
}

// Install installs an app for an account, for all of its repositories or some, and returns the
// installation's id.
func (s *Server) Install(a App, owner string, repos ...string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := &installation{id: s.newID(), app: s.apps[a.ID], owner: s.mustUser(owner)}
	for _, name := range repos {
		i.repos = append(i.repos, s.mustRepo(name))
	}
	i.app.installations = append(i.app.installations, i)
	return i.id
}

func (s *Server) mustUser(login string) *user {
	s.t.Helper()
	u := s.findUser(login)
	if u == nil {
		s.t.Errorf("there is no user %q: add it first", login)
		return s.newUser(login, "User")
	}
	return u
}

func (s *Server) mustRepo(name string) *repo {
	s.t.Helper()
	r, _ := s.findRepo(name)
	if r == nil {
		s.t.Errorf("there is no repository %q: add it first", name)
		return &repo{owner: &user{}, git: bare.None(s.t), roles: map[string]role{}, labels: map[string]int64{}, teams: map[string]int64{}, protection: map[string]*Protection{}}
	}
	return r
}

func (s *Server) initGit(r *repo) (err error) {
	dir := filepath.Join(s.dir, fmt.Sprintf("%d.git", r.id))
	if r.parent != nil {
		r.git, err = r.parent.git.Fork(dir)
		return err
	}
	r.git, err = bare.Init(s.t, "GitHub", dir, r.defaultBranch)
	return err
}

// identity makes the author of a commit, and its time.
func identity(login string, at time.Time) []string {
	return bare.Identity(login, "users.noreply.github.com", at)
}

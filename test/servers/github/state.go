package github

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/furrow-dev/furrow/test/servers/bare"
)

// role is what a user may do in a repository.
type role int

const (
	roleNone role = iota
	rolePull
	roleTriage
	rolePush
	roleMaintain
	roleAdmin
)

var roleNames = []string{"none", "pull", "triage", "push", "maintain", "admin"}

func roleNamed(name string) role { return role(max(0, slices.Index(roleNames, name))) }

// user is an account: a person, an organization or the bot of an app.
type user struct {
	id    int64
	login string
	kind  string
}

// repo is a repository; its branches are in the bare repository git.
type repo struct {
	id            int64
	owner         *user
	name          string
	git           *bare.Repo
	parent        *repo
	private       bool
	archived      bool
	defaultBranch string

	mergeCommit, squash, rebase, deleteOnMerge bool

	roles      map[string]role
	labels     map[string]int64 // their ids by name
	teams      map[string]int64 // those of the owner that have access, ids by slug
	milestones []*milestone     // by number, from 1
	pulls      []*pull          // by number, from 1
	statuses   []*status
	checks     []*checkRun
	protection map[string]*Protection
	queue      []*pull // the merge queue

	created, pushed time.Time
}

func (r *repo) fullName() string { return r.owner.login + "/" + r.name }

// pull is the pull request with a number, or nil.
func (r *repo) pull(number int) *pull {
	if number < 1 || number > len(r.pulls) {
		return nil
	}
	return r.pulls[number-1]
}

func (r *repo) roleOf(u *user) role {
	switch {
	case u == nil:
	case u == r.owner:
		return roleAdmin
	case r.roles[u.login] != roleNone:
		return r.roles[u.login]
	}
	if r.private {
		return roleNone
	}
	return rolePull
}

// root is the repository that a network of forks comes from.
func (r *repo) root() *repo {
	for r.parent != nil {
		r = r.parent
	}
	return r
}

// side is the head or the base of a pull request.
type side struct {
	repo *repo
	ref  string
	sha  string
}

func (s side) label() string { return s.repo.owner.login + ":" + s.ref }

type pull struct {
	id          int64
	number      int
	repo        *repo
	user        *user
	title, body string
	state       string
	labels      []string
	assignees   []*user
	reviewers   []*user  // whose reviews are requested
	teams       []string // the same
	milestone   *milestone
	events      []*event
	created     time.Time
	updated     time.Time
	closed      time.Time
	lag         int    // list reads that still show the state before
	before      string // that state; empty: not listed at all

	head, base      side
	draft           bool
	maintainerEdits bool
	merged          time.Time
	mergedBy        *user
	mergeCommit     string
	mergeable       *bool
	computing       bool
	readsLeft       int
	approved        map[*user]bool // by the last review of each
	dequeued        string         // why the merge queue has removed it
}

// event is an entry of a timeline: also a comment or a review, which have a text.
type event struct {
	id    int64
	kind  string
	actor *user
	at    time.Time
	text  string
	extra object
}

type status struct {
	id                               int64
	sha, state, context, description string
	creator                          *user
	at                               time.Time
}

// Protection is what a protected branch requires.
type Protection struct {
	Checks  []string // required statuses
	Strict  bool     // the head has to contain the base
	Reviews int      // required approving reviews
	Ruleset bool     // by a rule of the repository, and not by branch protection
	Owners  bool     // the owners of changed files approve
	Threads bool     // all threads are resolved
	Linear  bool     // no merge commits
	Signed  bool     // signed commits only
	Queue   bool     // merged to by the queue, and by nobody

	Restricted bool // by a rule: only who may bypass it creates and updates the branch
}

// requirements are the protection of a branch; one without any requires nothing.
func (r *repo) requirements(branch string) *Protection {
	return cmp.Or(r.protection[branch], &Protection{})
}

// rules are the protection of a branch, also by a pattern that ends with **.
func (r *repo) rules(branch string) *Protection {
	for pattern, p := range r.protection {
		if prefix, wild := strings.CutSuffix(pattern, "**"); wild && strings.HasPrefix(branch, prefix) {
			return p
		}
	}
	return r.requirements(branch)
}

func (s *Server) newID() int64 {
	s.lastID++
	return s.lastID
}

// pulls are all pull requests.
func (s *Server) pulls() []*pull {
	var out []*pull
	for _, r := range s.repos {
		out = append(out, r.pulls...)
	}
	return out
}

// findRepo finds a repository by its present or an earlier name.
func (s *Server) findRepo(fullName string) (r *repo, renamed bool) {
	name := strings.ToLower(fullName)
	if r := s.repos[name]; r != nil {
		return r, false
	}
	r = s.renamed[name]
	return r, r != nil
}

func (s *Server) findUser(login string) *user { return s.users[strings.ToLower(login)] }

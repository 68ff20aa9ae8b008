package gitlab

import (
	"slices"
	"strings"
	"time"

	"github.com/furrow-dev/furrow/test/servers/bare"
)

// Role is what a user may do in a project.
type Role int

// The roles, by GitLab's numbers.
const (
	None       Role = 0
	Guest      Role = 10
	Reporter   Role = 20
	Developer  Role = 30
	Maintainer Role = 40
)

type user struct {
	id       int64
	username string
}

// token is a credential; one of a project has a user of its own.
type token struct {
	user    *user
	scopes  []string
	oauth   bool
	project *project // nil: all that the user has
	expires time.Time
	revoked bool
}

func (t *token) has(scopes ...string) bool {
	return slices.ContainsFunc(scopes, func(scope string) bool { return slices.Contains(t.scopes, scope) })
}

// Settings are those of a project that its maintainers change.
type Settings struct {
	MergeMethod  string // merge, rebase_merge or ff
	SquashOption string // never, always, default_on or default_off
	Archived     bool
	// RequestsDisabled switches merge requests off.
	RequestsDisabled bool
	// PipelinesMustSucceed lets merge only with a pipeline that succeeded.
	PipelinesMustSucceed bool
	Approvals            int // that are required
	// Free is the edition with one assignee and one reviewer a merge request, which leaves out
	// others, without approvals that are required, and without trains.
	Free bool
	// Rules are further approvals, by the name of a rule; "branch:" begins those for one branch.
	Rules map[string]int
	// Owners has the owners of files approve what is merged to a protected branch.
	Owners bool
	// Signed has pushes with commits refused that are not signed.
	Signed bool
	// Threads have to be resolved.
	Threads bool
	// Trains has merge requests merged by a train.
	Trains bool
}

// project is a project; its branches are in the bare repository git.
type project struct {
	Settings
	id            int64
	path          string // with its groups
	git           *bare.Repo
	parent        *project
	public        bool
	defaultBranch string
	roles         map[*user]Role
	invited       map[*user]Role  // by an invited group
	protected     map[string]Role // who may push and merge, by branch
	requests      []*request      // by iid, from 1
	train         []*request      // the merge train
	statuses      []*status
	milestones    []*milestone // those of its groups, too
	created       time.Time
}

func (p *project) name() string { return p.path[strings.LastIndex(p.path, "/")+1:] }

// request is the merge request with an iid, or nil.
func (p *project) request(iid int) *request {
	if iid < 1 || iid > len(p.requests) {
		return nil
	}
	return p.requests[iid-1]
}

// roleOf is what a user may do; token limits it to its project.
func (p *project) roleOf(u *user) Role {
	if role := max(p.roles[u], p.invited[u]); u != nil && role != None {
		return role
	}
	if p.public {
		return Guest
	}
	return None
}

// mayPush is whether a user may push and merge to a branch.
func (p *project) mayPush(u *user, branch string) bool {
	return p.roleOf(u) >= max(Developer, p.protected[branch])
}

// request is a merge request.
type request struct {
	id                 int64
	iid                int
	project, source    *project
	from, to           string // branches
	sha, base          string // the head, and where it left the target
	author             *user
	title, description string
	state              string
	labels             []string
	assignees          []*user
	reviewers          []*user
	milestone          *milestone
	squash             bool
	removeSource       *bool
	created, updated   time.Time
	merged, closed     time.Time
	by                 *user // who merged or closed it
	mergeCommit        string
	squashCommit       string
	approved           map[*user]bool
	notes              []*note
	events             []*event

	// checked is whether conflict is known; asked is whether somebody asked for that, and reads is how
	// many more reads it takes.
	checked, asked, conflict bool
	reads                    int
}

func (r *request) draft() bool {
	for _, prefix := range []string{"draft:", "[draft]", "(draft)"} {
		if strings.HasPrefix(strings.ToLower(r.title), prefix) {
			return true
		}
	}
	return false
}

type note struct {
	id     int64
	author *user
	body   string
	system bool
	at     time.Time
}

// event is a change of the state of a merge request.
type event struct {
	id    int64
	user  *user
	state string
	at    time.Time
}

type status struct {
	id                                 int64
	sha, ref, state, name, description string
	author                             *user
	at                                 time.Time
	mayFail                            bool
}

func (s *Server) newID() int64 {
	s.lastID++
	return s.lastID
}

// findProject finds a project by its id, or by its present or an earlier path.
func (s *Server) findProject(id string) (p *project, moved bool) {
	if p := s.byID(id); p != nil {
		return p, false
	}
	name := strings.ToLower(id)
	if p := s.projects[name]; p != nil {
		return p, false
	}
	p = s.moved[name]
	return p, p != nil
}

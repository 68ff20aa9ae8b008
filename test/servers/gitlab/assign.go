package gitlab

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// milestone is one of a project, or of a group that the project is in.
type milestone struct {
	id, owner int64
	ofGroup   bool
	title     string
	closed    bool
	created   time.Time
}

// AddMilestone adds an active milestone to a project, or to a group of it.
func (s *Server) AddMilestone(path, title string, ofGroup bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.mustProject(path)
	p.milestones = append(p.milestones, &milestone{id: s.newID(), owner: p.id, ofGroup: ofGroup, title: title, created: s.now()})
}

// CloseMilestone closes a milestone.
func (s *Server) CloseMilestone(path, title string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.mustProject(path).milestones {
		m.closed = m.closed || m.title == title
	}
}

// Assign assigns a merge request to people as a whole.
func (p Person) Assign(path string, iid int, usernames ...string) error {
	return p.on(path, iid, Developer, func(r *request) *answer {
		r.assignees = nil
		for _, username := range usernames {
			r.assignees = append(r.assignees, p.s.mustUser(username))
		}
		return nil
	})
}

// assign sets assignees, reviewers and milestone. Ids that do not exist, and people who cannot read
// the project, are left out.
func (c *call) assign(r *request) {
	people := func(name string, had []*user) []*user {
		list, given := c.given[name].([]any)
		if !given {
			return had
		}
		var out []*user
		for _, value := range list {
			id, _ := value.(float64)
			for _, username := range c.s.usernames() {
				u := c.s.users[username]
				if u.id == int64(id) && c.project.roleOf(u) != None && !slices.Contains(out, u) && (len(out) == 0 || !c.project.Free) {
					out = append(out, u)
				}
			}
		}
		return out
	}
	r.assignees, r.reviewers = people("assignee_ids", r.assignees), people("reviewer_ids", r.reviewers)
	if id, given := c.given["milestone_id"].(float64); given {
		r.milestone = nil
		for _, m := range c.project.milestones {
			if m.id == int64(id) {
				r.milestone = m
			}
		}
	}
}

func (s *Server) usernames() []string {
	var out []string
	for username := range s.users {
		out = append(out, username)
	}
	slices.Sort(out)
	return out
}

func (c *call) listUsers() *answer {
	var found []*user
	for _, username := range c.s.usernames() {
		if !c.has("username") || strings.EqualFold(username, c.text("username")) {
			found = append(found, c.s.users[username])
		}
	}
	for _, name := range []string{"public_email", "search", "active", "external", "blocked", "humans"} {
		if c.has(name) {
			c.s.t.Errorf("a list of users by %s is documented, and not modelled", name)
		}
	}
	return page(c, found, func(u *user) object {
		out := c.s.userFields(u).(object)
		out["locked"] = false
		return out
	})
}

func (c *call) listMilestones() *answer {
	if c.has("search") {
		c.s.t.Errorf("a search for milestones is documented, and not modelled")
	}
	ancestors := c.flag("include_ancestors")
	var found []*milestone
	for _, m := range c.project.milestones {
		closed := c.text("state") == "closed"
		if (!c.has("title") || m.title == c.text("title")) && (!c.has("state") || m.closed == closed) && (!m.ofGroup || ancestors != nil && *ancestors) {
			found = append(found, m)
		}
	}
	return page(c, found, func(m *milestone) object { return c.s.milestoneFields(m).(object) })
}

func (s *Server) usersFields(users []*user) []any {
	out := []any{}
	for _, u := range users {
		out = append(out, s.userFields(u))
	}
	return out
}

func (s *Server) milestoneFields(m *milestone) any {
	if m == nil {
		return nil
	}
	of := map[bool]string{true: "group_id", false: "project_id"}[m.ofGroup]
	return object{
		"id": m.id, "iid": m.id, of: m.owner, "title": m.title, "description": nil, "due_date": nil, "start_date": nil,
		"state": map[bool]string{true: "closed", false: "active"}[m.closed], "created_at": stamp(m.created), "updated_at": stamp(m.created),
		"expired": false, "web_url": fmt.Sprintf("%s/-/milestones/%d", s.URL, m.id),
	}
}

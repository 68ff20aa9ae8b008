package gitlab

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

func (s *Server) addNote(r *request, by *user, body string, system bool) *note {
	n := &note{s.newID(), by, body, system, s.now()}
	r.notes, r.updated = append(r.notes, n), n.at
	return n
}

func (c *call) createNote() *answer {
	r := c.requestOf()
	switch {
	case r == nil:
		return notFound("")
	case strings.TrimSpace(c.text("body")) == "":
		return refuse(http.StatusBadRequest, object{"note": []any{"can't be blank"}})
	}
	c.execute(c.text("body"))
	return c.ok(c.s.noteFields(c.s.addNote(r, c.asker.user, c.text("body"), false)))
}

func (c *call) listNotes() *answer {
	r := c.requestOf()
	if r == nil {
		return notFound("")
	}
	notes := slices.Clone(r.notes)
	if c.text("sort") != "asc" {
		slices.Reverse(notes)
	}
	return page(c, notes, c.s.noteFields)
}

func (s *Server) noteFields(n *note) object {
	return object{
		"id": n.id, "type": nil, "body": n.body, "author": s.userFields(n.author), "created_at": stamp(n.at), "updated_at": stamp(n.at), "system": n.system,
		"resolvable": false, "internal": false,
	}
}

func (c *call) listEvents() *answer {
	r := c.requestOf()
	if r == nil {
		return notFound("")
	}
	return page(c, r.events, func(e *event) object {
		return object{"id": e.id, "user": c.s.userFields(e.user), "created_at": stamp(e.at), "resource_type": "MergeRequest", "resource_id": r.id, "state": e.state}
	})
}

// createStatus adds a status to the pipeline of a commit. It belongs to a branch that has the
// commit.
func (c *call) createStatus() *answer {
	s, p, sha, name := c.s, c.project, c.path["sha"], c.text("name")
	if name == "" {
		name = c.text("context")
	}
	if name == "" {
		name = "default"
	}
	if p.git.Resolve(sha) != sha {
		return notFound("Commit")
	}
	ref := c.text("ref")
	branches := p.git.Branches()
	for _, branch := range sortedKeys(branches) {
		if ref == "" && p.git.Contains(branches[branch], sha) {
			ref = branch
		}
	}
	had := p.status(sha, name)
	switch {
	case ref == "":
		return notFound("References for commit")
	case utf8.RuneCountInString(c.text("description")) > 255:
		return refuse(http.StatusBadRequest, object{"description": []any{"is too long (maximum is 255 characters)"}})
	case had != nil && had.state == c.text("state") && (had.state == "pending" || had.state == "running"): // a finished one gets a successor
		return refuse(http.StatusBadRequest, `Cannot transition status via :`+had.state+` from :`+had.state+` (Reason(s): Status cannot transition via "`+had.state+`")`)
	}
	st := &status{id: s.newID(), sha: sha, ref: ref, state: c.text("state"), name: name, description: c.text("description"), author: c.asker.user, at: s.now()}
	p.statuses = append(p.statuses, st)
	return c.ok(s.statusFields(st))
}

// listStatuses lists the last status of each name.
func (c *call) listStatuses() *answer {
	if c.project.git.Resolve(c.path["sha"]) == "" {
		return notFound("Commit")
	}
	if len(c.given) > 2 || c.has("ref") || c.has("all") {
		c.s.t.Errorf("a list of statuses by %v is documented, and not modelled", c.given)
	}
	last := map[string]*status{}
	for _, st := range c.project.statuses {
		if st.sha == c.path["sha"] {
			last[st.name] = st
		}
	}
	rows := slices.SortedFunc(maps.Values(last), func(a, b *status) int { return int(a.id - b.id) })
	return page(c, rows, c.s.statusFields)
}

func (s *Server) statusFields(st *status) object {
	return object{
		"id": st.id, "sha": st.sha, "ref": st.ref, "status": st.state, "name": st.name, "target_url": nil, "description": orNull(st.description),
		"created_at": stamp(st.at), "started_at": stamp(st.at), "finished_at": stamp(st.at), "allow_failure": st.mayFail, "coverage": nil,
		"author": s.userFields(st.author), "pipeline_id": st.id,
	}
}

// status is the last status of a commit with a name, or nil.
func (p *project) status(sha, name string) *status {
	for _, st := range slices.Backward(p.statuses) {
		if st.sha == sha && st.name == name {
			return st
		}
	}
	return nil
}

// states are those of the last statuses of a commit, by name.
func (p *project) states(sha string) map[string]string {
	out := map[string]string{}
	for _, st := range p.statuses {
		if st.sha == sha {
			out[st.name] = st.state
		}
	}
	return out
}

// Status is the last commit status with a name; all are empty where there is none.
func (s *Server) Status(path, sha, name string) (state, description, ref string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st := s.mustProject(path).status(sha, name); st != nil {
		return st.state, st.description, st.ref
	}
	return "", "", ""
}

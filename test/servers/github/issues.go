package github

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// milestone groups issues; its number is one of its own.
type milestone struct {
	id     int64
	number int
	title  string
	closed bool
}

// AddMilestone adds an open milestone.
func (s *Server) AddMilestone(repo, title string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.mustRepo(repo)
	r.milestones = append(r.milestones, &milestone{id: s.newID(), number: len(r.milestones) + 1, title: title})
}

// CloseMilestone closes a milestone.
func (s *Server) CloseMilestone(repo, title string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.mustRepo(repo).milestones {
		m.closed = m.closed || m.title == title
	}
}

// AddTeam gives a team of the owner access to a repository.
func (s *Server) AddTeam(repo, slug string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.mustRepo(repo)
	r.teams[slug] = s.newID()
}

// Attributes are what a pull request has: labels, reviewers, assignees and the milestone.
func (s *Server) Attributes(repo string, number int) (labels, reviewers, assignees []string, title string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.mustRepo(repo).pull(number)
	for _, u := range p.assignees {
		assignees = append(assignees, u.login)
	}
	for _, u := range p.reviewers {
		reviewers = append(reviewers, u.login)
	}
	if p.milestone != nil {
		title = p.milestone.title
	}
	return slices.Clone(p.labels), append(reviewers, p.teams...), assignees, title
}

// Assign assigns a pull request to people as a whole.
func (p Person) Assign(repo string, number int, logins ...string) error {
	return p.on(repo, number, roleTriage, func(pr *pull) *answer { return p.s.assign(pr, logins) })
}

func (s *Server) assign(p *pull, logins []string) *answer {
	var wanted []*user
	for _, login := range logins {
		u := s.users[strings.ToLower(login)]
		if u == nil || p.repo.roles[u.login] == roleNone && u != p.repo.owner {
			return invalid("Issue", "assignees", "invalid", "")
		}
		if !slices.Contains(wanted, u) {
			wanted = append(wanted, u)
		}
	}
	p.assignees = wanted
	return nil
}

// editIssue changes what a pull request has as an issue; what the caller may not set is left out.
func (c *call) editIssue() *answer {
	p := c.pullOf()
	if p == nil {
		return notFound()
	}
	for name := range c.fields {
		if !slices.Contains([]string{"labels", "assignees", "milestone"}, name) {
			c.s.t.Errorf("to change %s of an issue is described, and not modelled", name)
		}
	}
	if c.asker.roleIn(c.repo) < roleTriage {
		return ok(c.issue(p))
	}
	if number, is := c.fields["milestone"].(float64); is {
		n := int(number)
		if n < 1 || n > len(c.repo.milestones) {
			return invalid("Issue", "milestone", "invalid", "")
		}
		p.milestone = c.repo.milestones[n-1]
	}
	if c.has("assignees") {
		if refused := c.s.assign(p, c.logins("assignees")); refused != nil {
			return refused
		}
	}
	if c.has("labels") {
		c.s.setLabels(p, c.labelNames(), c.asker.user)
	}
	p.updated = c.s.now()
	return ok(c.issue(p))
}

// logins are the texts of a field.
func (c *call) logins(field string) (out []string) {
	list, _ := c.fields[field].([]any)
	for _, value := range list {
		login, _ := value.(string)
		out = append(out, login)
	}
	return out
}

func (c *call) listMilestones() *answer {
	var found []*milestone
	for _, m := range c.repo.milestones {
		if state := c.query("state", "open"); state == "all" || (state == "closed") == m.closed {
			found = append(found, m)
		}
	}
	return c.page(listOf(found, func(m *milestone) object { return c.milestone(c.repo, m) }))
}

// requestReviewers requests reviews, or none where one of them cannot be requested.
func (c *call) requestReviewers() *answer {
	p := c.pullOf()
	if p == nil {
		return notFound()
	}
	reviewers, teams := slices.Clone(p.reviewers), slices.Clone(p.teams)
	for _, login := range c.logins("reviewers") {
		u := c.s.users[strings.ToLower(login)]
		switch {
		case u != nil && u == p.user:
			return refuse(http.StatusUnprocessableEntity, "Review cannot be requested from pull request author.")
		case u == nil || c.repo.roles[u.login] == roleNone:
			return c.notACollaborator()
		case !slices.Contains(reviewers, u):
			reviewers = append(reviewers, u)
		}
	}
	for _, slug := range c.logins("team_reviewers") {
		if c.repo.teams[slug] == 0 {
			return c.notACollaborator()
		}
		if !slices.Contains(teams, slug) {
			teams = append(teams, slug)
		}
	}
	p.reviewers, p.teams, p.updated = reviewers, teams, c.s.now()
	return created(c.simplePull(p))
}

func (c *call) notACollaborator() *answer {
	return refuse(http.StatusUnprocessableEntity, "Reviews may only be requested from collaborators. One or more of the users or teams you specified is not a collaborator of the %s repository.", c.repo.fullName())
}

func (v view) users(list []*user) []any {
	out := []any{}
	for _, u := range list {
		out = append(out, v.user(u))
	}
	return out
}

func (v view) team(r *repo, slug string) object {
	id := r.teams[slug]
	url := fmt.Sprintf("%s/organizations/%d/team/%d", v.api, r.owner.id, id)
	return object{"id": id, "node_id": node("T", id), "url": url, "members_url": url + "/members{/member}", "name": slug, "description": nil,
		"permission": "push", "html_url": v.s.URL + "/orgs/" + r.owner.login + "/teams/" + slug, "repositories_url": url + "/repos", "slug": slug,
		"parent": nil, "type": "organization", "organization_id": r.owner.id}
}

func (v view) milestone(r *repo, m *milestone) object {
	url := fmt.Sprintf("%s/milestones/%d", v.repoURL(r), m.number)
	return object{"id": m.id, "node_id": node("MI", m.id), "number": m.number, "title": m.title, "description": nil, "due_on": nil,
		"state": map[bool]string{true: "closed", false: "open"}[m.closed], "creator": v.user(r.owner), "closed_issues": 0, "open_issues": 0,
		"url": url, "labels_url": url + "/labels", "html_url": fmt.Sprintf("%s/%s/milestone/%d", v.s.URL, r.fullName(), m.number),
		"created_at": stamp(r.created), "updated_at": stamp(r.created), "closed_at": nil}
}

// peopleOf are the fields of an issue and of a pull request that say whom it is given to.
func (v view) peopleOf(p *pull) object {
	out := object{"assignee": nil, "assignees": v.users(p.assignees), "milestone": nil}
	if len(p.assignees) > 0 {
		out["assignee"] = v.user(p.assignees[0])
	}
	if p.milestone != nil {
		out["milestone"] = v.milestone(p.repo, p.milestone)
	}
	return out
}

func (v view) issue(p *pull) object {
	url, html := v.issueURL(p), v.htmlURL(p)
	out := v.peopleOf(p)
	for name, value := range (object{
		"id": p.id, "node_id": node("PR", p.id), "number": p.number, "state": p.state, "locked": false, "title": p.title, "body": textOrNil(p.body),
		"url": url, "html_url": html, "repository_url": v.repoURL(p.repo), "labels_url": url + "/labels{/name}", "comments_url": url + "/comments",
		"events_url": url + "/events", "user": v.user(p.user), "labels": v.labels(p), "comments": 0, "author_association": v.association(p.repo, p.user),
		"created_at": stamp(p.created), "updated_at": stamp(p.updated), "closed_at": stampOrNil(p.closed),
		"pull_request": object{"url": v.pullURL(p), "html_url": html, "diff_url": html + ".diff", "patch_url": html + ".patch"},
	}) {
		out[name] = value
	}
	return out
}

package gitlab

import (
	"cmp"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

func itoa(n int) string { return strconv.Itoa(n) }

// requestOf is the merge request that a path names, or nil.
func (c *call) requestOf() *request {
	iid, err := strconv.Atoi(c.path["merge_request_iid"])
	if err != nil {
		return nil
	}
	return c.project.request(iid)
}

func (c *call) getProject() *answer {
	out, direct := c.s.projectFields(c.project), any(nil)
	if role := c.project.roles[c.asker.user]; role != None {
		direct = object{"access_level": role, "notification_level": 3}
	}
	out["permissions"] = object{"project_access": direct, "group_access": nil}
	return c.ok(out)
}

func (c *call) getRequest() *answer {
	r := c.requestOf()
	if r == nil {
		return notFound("")
	}
	c.s.check(r)
	return c.ok(c.one(r))
}

func (c *call) listRequests() *answer {
	state := cmp.Or(c.text("state"), "all")
	var found []*request
	for _, r := range c.project.requests {
		if (state == "all" || r.state == state) && (!c.has("source_branch") || r.from == c.text("source_branch")) &&
			(!c.has("target_branch") || r.to == c.text("target_branch")) {
			found = append(found, r)
		}
		if recheck := c.flag("with_merge_status_recheck"); recheck != nil && *recheck && c.asker.role(c.project) >= Developer {
			c.s.check(r)
		}
	}
	by := cmp.Or(c.text("order_by"), "created_at")
	for _, name := range []string{"labels", "scope", "author_username", "search", "created_after", "created_before", "updated_after", "updated_before", "view", "wip", "with_labels_details"} {
		if c.has(name) {
			c.s.t.Errorf("a list of merge requests by %s is documented, and not modelled", name)
		}
	}
	if by != "created_at" && by != "updated_at" {
		c.s.t.Errorf("a list of merge requests in the order of %s is documented, and not modelled", by)
	}
	slices.SortStableFunc(found, func(a, b *request) int {
		order := cmp.Compare(a.iid, b.iid)
		if by == "updated_at" {
			order = cmp.Or(a.updated.Compare(b.updated), order)
		}
		if c.text("sort") != "asc" {
			order = -order
		}
		return order
	})
	return page(c, found, c.s.requestFields)
}

const maxTitle = 255

// badTitle refuses a title that is too long.
func badTitle(title string) *answer {
	if utf8.RuneCountInString(title) > maxTitle {
		return refuse(http.StatusBadRequest, object{"title": []any{fmt.Sprintf("is too long (maximum is %d characters)", maxTitle)}})
	}
	return nil
}

// executed are lines of a text that GitLab executes instead of showing them.
var executed = regexp.MustCompile(`(?m)^[ \t]*/([a-z_]+)`)

// execute fails the test where a text has a line that GitLab would execute.
func (c *call) execute(text string) {
	if found := executed.FindString(text); found != "" {
		c.s.t.Errorf("GitLab executes the line that begins with %q", found)
	}
}

func (c *call) createRequest() *answer {
	s, p := c.s, c.project
	from, to := c.text("source_branch"), c.text("target_branch")
	sha := p.git.Branch(from)
	switch {
	case from == to:
		return refuse(http.StatusUnprocessableEntity, []any{"You can't use same project/branch for source and target"})
	case sha == "" || p.git.Branch(to) == "":
		return refuse(http.StatusBadRequest, object{"base": []any{"Branch does not exist"}})
	}
	if refused := badTitle(c.text("title")); refused != nil {
		return refused
	}
	if open := openRequest(p, p, from, to); open != nil {
		return refuse(http.StatusConflict, []any{fmt.Sprintf("Another open merge request already exists for this source branch: !%d", open.iid)})
	}
	c.execute(c.text("description"))
	r := s.addRequest(p, p, from, to, c.asker.user)
	r.title, r.description, r.labels, r.removeSource = strings.TrimSpace(c.text("title")), c.text("description"), names(c.text("labels")), c.flag("remove_source_branch")
	if squash := c.flag("squash"); squash != nil {
		r.squash = *squash
	}
	c.assign(r)
	return c.ok(c.one(r))
}

func (s *Server) addRequest(target, source *project, from, to string, by *user) *request {
	r := &request{
		id: s.newID(), iid: len(target.requests) + 1, project: target, source: source, from: from, to: to, author: by, title: from, state: "opened",
		created: s.now(), labels: []string{}, squash: target.SquashOption == "always" || target.SquashOption == "default_on", approved: map[*user]bool{},
	}
	target.requests = append(target.requests, r)
	s.setHead(r, source.git.Branch(from))
	return r
}

func openRequest(target, source *project, from, to string) *request {
	for _, r := range target.requests {
		if r.state == "opened" && r.source == source && r.from == from && r.to == to {
			return r
		}
	}
	return nil
}

// names are the labels of a list by commas.
func names(list string) []string {
	out := []string{}
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

func (c *call) updateRequest() *answer {
	s, r := c.s, c.requestOf()
	switch {
	case r == nil:
		return notFound("")
	case c.asker.user != r.author && c.asker.role(c.project) < Developer:
		return forbidden()
	case len(c.given) == 0:
		return &answer{status: http.StatusBadRequest, body: object{"error": "title, description, state_event, … are missing, at least one parameter must be provided"}}
	case c.has("title") && strings.TrimSpace(c.text("title")) == "":
		return refuse(http.StatusBadRequest, object{"title": []any{"can't be blank"}})
	}
	if refused := badTitle(c.text("title")); refused != nil {
		return refused
	}
	if c.text("state_event") == "reopen" && r.state == "closed" {
		if refused := s.reopen(r, c.asker.user); refused != nil {
			return refused
		}
	}
	if c.text("state_event") == "close" && r.state == "opened" {
		s.setState(r, "closed", c.asker.user)
	}
	if c.has("title") {
		r.title = strings.TrimSpace(c.text("title"))
	}
	if c.has("description") {
		c.execute(c.text("description"))
		r.description = c.text("description")
	}
	if c.has("labels") {
		r.labels = names(c.text("labels"))
	}
	r.labels = names(strings.Join(r.labels, ",") + "," + c.text("add_labels"))
	remove := names(c.text("remove_labels"))
	r.labels = slices.DeleteFunc(r.labels, func(name string) bool { return slices.Contains(remove, name) })
	c.assign(r)
	if c.has("target_branch") {
		r.to = c.text("target_branch")
		s.setHead(r, r.sha)
	}
	r.updated = s.now()
	return c.ok(c.one(r))
}

// setState records a change of the state.
func (s *Server) setState(r *request, state string, by *user) {
	r.by, r.updated = by, s.now()
	switch state {
	case "closed":
		r.state, r.closed = state, r.updated
	case "merged":
		r.state, r.merged = state, r.updated
	case "reopened":
		r.state, r.by, r.closed, r.checked, r.asked = "opened", nil, time.Time{}, false, false
	}
	r.events = append(r.events, &event{s.newID(), by, state, r.updated})
}

// reopen refuses where another one is open. A branch that is not there keeps it closed.
func (s *Server) reopen(r *request, by *user) *answer {
	if open := openRequest(r.project, r.source, r.from, r.to); open != nil {
		return refuse(http.StatusConflict, []any{fmt.Sprintf("Another open merge request already exists for this source branch: !%d", open.iid)})
	}
	sha := r.source.git.Branch(r.from)
	if sha == "" {
		return nil
	}
	s.setState(r, "reopened", by)
	s.setHead(r, sha)
	return nil
}

func stamp(at time.Time) any {
	if at.IsZero() {
		return nil
	}
	return at.Format("2006-01-02T15:04:05.000Z07:00")
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func (s *Server) userFields(u *user) any {
	if u == nil {
		return nil
	}
	return object{"id": u.id, "username": u.username, "name": u.username, "state": "active", "avatar_url": nil, "web_url": s.URL + "/" + u.username}
}

func (s *Server) projectFields(p *project) object {
	branch := any(p.defaultBranch)
	empty := len(p.git.Branches()) == 0
	if empty {
		branch = nil
	}
	return object{
		"id": p.id, "name": p.name(), "path": p.name(), "path_with_namespace": p.path, "description": nil, "web_url": s.URL + "/" + p.path,
		"http_url_to_repo": s.GitURL(p.path), "default_branch": branch, "archived": p.Archived, "empty_repo": empty,
		"visibility": map[bool]string{true: "public", false: "private"}[p.public], "merge_method": p.MergeMethod, "squash_option": p.SquashOption,
		"merge_requests_enabled": !p.RequestsDisabled, "only_allow_merge_if_pipeline_succeeds": p.PipelinesMustSucceed,
		"only_allow_merge_if_all_discussions_are_resolved": p.Threads, "merge_trains_enabled": p.Trains,
		"remove_source_branch_after_merge": true, "created_at": stamp(p.created), "last_activity_at": stamp(p.created),
	}
}

func (s *Server) requestFields(r *request) object {
	var merger, closer any
	if r.state == "merged" {
		merger = s.userFields(r.by)
	}
	closed := stamp(r.closed)
	if r.state == "closed" && !s.hideCloser {
		closer = s.userFields(r.by)
	}
	if s.hideCloser {
		closed = nil
	}
	comments := 0
	for _, n := range r.notes {
		if !n.system {
			comments++
		}
	}
	status := s.mergeStatus(r)
	return object{
		"id": r.id, "iid": r.iid, "project_id": r.project.id, "title": r.title, "description": orNull(r.description), "state": r.state,
		"created_at": stamp(r.created), "updated_at": stamp(r.updated), "merged_at": stamp(r.merged), "closed_at": closed,
		"merge_user": merger, "merged_by": merger, "closed_by": closer, "author": s.userFields(r.author),
		"target_branch": r.to, "source_branch": r.from, "source_project_id": r.source.id, "target_project_id": r.project.id,
		"labels": r.labels, "draft": r.draft(), "work_in_progress": r.draft(), "merge_status": oldStatus(r, status), "detailed_merge_status": status,
		"sha": orNull(r.sha), "merge_commit_sha": orNull(r.mergeCommit), "squash_commit_sha": orNull(r.squashCommit),
		"should_remove_source_branch": nil, "force_remove_source_branch": r.removeSource, "squash": r.squash, "squash_on_merge": r.squash,
		"has_conflicts": r.state == "opened" && r.checked && r.conflict, "blocking_discussions_resolved": true, "user_notes_count": comments,
		"web_url": fmt.Sprintf("%s/%s/-/merge_requests/%d", s.URL, r.project.path, r.iid), "assignees": s.usersFields(r.assignees), "reviewers": s.usersFields(r.reviewers), "milestone": s.milestoneFields(r.milestone),
	}
}

// oldStatus is what was there before the detailed status.
func oldStatus(r *request, status string) string {
	switch {
	case status == "checking", status == "unchecked":
		return status
	case r.checked && r.conflict:
		return "cannot_be_merged"
	case !r.checked:
		return "unchecked"
	}
	return "can_be_merged"
}

// one is a merge request that is read alone.
func (c *call) one(r *request) object {
	out := c.s.requestFields(r)
	out["merge_error"], out["subscribed"], out["changes_count"] = nil, r.author == c.asker.user, nil
	out["diff_refs"] = object{"base_sha": r.base, "head_sha": r.sha, "start_sha": r.base}
	out["user"] = object{"can_merge": r.project.mayPush(c.asker.user, r.to)}
	return out
}

package github

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
)

func (c *call) createStatus() *answer {
	sha := c.params["sha"]
	state, _ := c.fields["state"].(string)
	if c.repo.git.Resolve(sha) != sha {
		return refuse(http.StatusUnprocessableEntity, "No commit found for SHA: %s", sha)
	}
	st := &status{id: c.s.newID(), sha: sha, state: state, context: or(c.text("context"), "default"),
		description: c.text("description"), creator: c.asker.user, at: c.s.now()}
	if len([]rune(st.description)) > 140 {
		return invalid("Status", "description", "custom", "description is too long (maximum is 140 characters)")
	}
	c.repo.statuses = append(c.repo.statuses, st)
	return created(c.status(st))
}

func (c *call) status(st *status) object {
	return object{"id": st.id, "node_id": node("SC", st.id), "url": c.repoURL(c.repo) + "/statuses/" + st.sha,
		"state": st.state, "context": st.context, "description": textOrNil(st.description), "target_url": nil,
		"avatar_url": c.s.URL + "/avatars/" + st.creator.login, "creator": c.user(st.creator),
		"created_at": stamp(st.at), "updated_at": stamp(st.at)}
}

// getCombinedStatus has the last status of each context.
func (c *call) getCombinedStatus() *answer {
	sha := c.repo.git.Resolve(c.params["ref"])
	if sha == "" {
		return notFound()
	}
	latest, state := c.repo.latest(sha), "success"
	var found []*status
	for _, name := range slices.Sorted(maps.Keys(latest)) {
		st := latest[name]
		found = append(found, st)
		switch {
		case st.state == "failure" || st.state == "error":
			state = "failure"
		case st.state == "pending" && state == "success":
			state = "pending"
		}
	}
	if len(found) == 0 {
		state = "pending"
	}
	url, page := c.repoURL(c.repo)+"/commits/"+sha, c.page(listOf(found, c.status))
	page.body = object{"state": state, "sha": sha, "total_count": len(found), "statuses": page.body,
		"repository": c.repository(c.repo), "commit_url": url, "url": url + "/status"}
	return page
}

// latest are the last statuses of a commit by context.
func (r *repo) latest(sha string) map[string]*status {
	out := map[string]*status{}
	for _, st := range r.statuses {
		if st.sha == sha {
			out[st.context] = st
		}
	}
	return out
}

// Status is the last commit status of a context; both are empty where there is none.
func (s *Server) Status(repo, sha, context string) (state, description string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st := s.mustRepo(repo).latest(sha)[context]; st != nil {
		return st.state, st.description
	}
	return "", ""
}

// checkRun is a check of an app other than Furrow's.
type checkRun struct {
	id                    int64
	sha, name, conclusion string
}

// SetCheck sets the check run of a commit: "" is in progress.
func (s *Server) SetCheck(repo, sha, name, conclusion string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.mustRepo(repo)
	r.checks = slices.DeleteFunc(r.checks, func(run *checkRun) bool { return run.sha == sha && run.name == name })
	r.checks = append(r.checks, &checkRun{id: s.newID(), sha: sha, name: name, conclusion: conclusion})
}

func (c *call) listChecks() *answer {
	sha := c.repo.git.Resolve(c.params["ref"])
	var found []*checkRun
	for _, run := range c.repo.checks {
		if run.sha == sha {
			found = append(found, run)
		}
	}
	page := c.page(listOf(found, c.check))
	page.body = object{"total_count": len(found), "check_runs": page.body}
	return page
}

func (c *call) check(run *checkRun) object {
	url := fmt.Sprintf("%s/check-runs/%d", c.repoURL(c.repo), run.id)
	out := object{"id": run.id, "node_id": node("CR", run.id), "head_sha": run.sha, "name": run.name, "url": url, "html_url": url,
		"details_url": nil, "status": "in_progress", "conclusion": nil, "external_id": "", "started_at": stamp(c.s.now()), "completed_at": nil,
		"check_suite": object{"id": run.id}, "app": nil, "pull_requests": []any{},
		"output": object{"title": nil, "summary": nil, "text": nil, "annotations_count": 0, "annotations_url": url + "/annotations"}}
	if run.conclusion != "" {
		out["status"], out["conclusion"], out["completed_at"] = "completed", run.conclusion, stamp(c.s.now())
	}
	return out
}

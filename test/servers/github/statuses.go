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

// checkRun is a check of an app.
type checkRun struct {
	id                                    int64
	sha, name, conclusion, title, summary string
}

// createCheck refuses all but GitHub Apps.
func (c *call) createCheck() *answer {
	if c.asker.token.kind != installationToken {
		return refuse(http.StatusForbidden, "You must authenticate via a GitHub App.")
	}
	sha := c.text("head_sha")
	output, _ := c.fields["output"].(object)
	run := &checkRun{id: c.s.newID(), sha: sha, name: c.text("name"), conclusion: c.text("conclusion")}
	run.title, _ = output["title"].(string)
	run.summary, _ = output["summary"].(string)
	switch {
	case c.repo.git.Resolve(sha) != sha:
		return refuse(http.StatusUnprocessableEntity, "No commit found for SHA: %s", sha)
	case (c.text("status") == "completed") != (run.conclusion != ""):
		return refuse(http.StatusUnprocessableEntity, "Invalid request. A completed check has a conclusion, and no other one.")
	}
	c.repo.setCheck(run)
	return created(c.check(run))
}

// setCheck leaves only the last run of a name.
func (r *repo) setCheck(run *checkRun) {
	r.checks = slices.DeleteFunc(r.checks, func(other *checkRun) bool { return other.sha == run.sha && other.name == run.name })
	r.checks = append(r.checks, run)
}

// state is the last result of a check, by a status or a check run: "" where there is none.
func (r *repo) state(sha, name string) string {
	if st := r.latest(sha)[name]; st != nil {
		return st.state
	}
	for _, run := range r.checks {
		if run.sha == sha && run.name == name {
			return or(run.conclusion, "pending")
		}
	}
	return ""
}

// Check is the last check run of a name; all are empty where there is none.
func (s *Server) Check(repo, sha, name string) (conclusion, title, summary string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, run := range s.mustRepo(repo).checks {
		if run.sha == sha && run.name == name {
			return run.conclusion, run.title, run.summary
		}
	}
	return "", "", ""
}

// SetCheck sets the check run of a commit: "" is in progress.
func (s *Server) SetCheck(repo, sha, name, conclusion string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.mustRepo(repo)
	r.setCheck(&checkRun{id: s.newID(), sha: sha, name: name, conclusion: conclusion})
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
		"output": object{"title": textOrNil(run.title), "summary": textOrNil(run.summary), "text": nil, "annotations_count": 0, "annotations_url": url + "/annotations"}}
	if run.conclusion != "" {
		out["status"], out["conclusion"], out["completed_at"] = "completed", run.conclusion, stamp(c.s.now())
	}
	return out
}

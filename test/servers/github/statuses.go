package github

import "net/http"

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
	return created(object{"id": st.id, "node_id": node("SC", st.id), "url": c.repoURL(c.repo) + "/statuses/" + sha,
		"state": state, "context": st.context, "description": textOrNil(st.description), "target_url": nil,
		"avatar_url": c.s.URL + "/avatars/" + st.creator.login, "creator": c.user(st.creator),
		"created_at": stamp(st.at), "updated_at": stamp(st.at)})
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

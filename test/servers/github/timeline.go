package github

import "strings"

// record adds an event to the timeline of a pull request.
func (s *Server) record(p *pull, kind string, by *user, extra object) *event {
	e := &event{id: s.newID(), kind: kind, actor: by, at: s.now(), extra: extra}
	p.events, p.updated = append(p.events, e), s.now()
	return e
}

func (s *Server) addComment(p *pull, text string, by *user) *event {
	e := s.record(p, "commented", by, nil)
	e.text = text
	return e
}

// addReview adds a review in a state: approved or changes_requested.
func (s *Server) addReview(p *pull, state, text string, by *user) *answer {
	switch {
	case by == p.user:
		return refuse(422, "Can not review your own pull request")
	case p.repo.roleOf(by) >= rolePush:
		p.approved[by] = state == "approved"
	}
	s.record(p, "reviewed", by, object{"state": state, "commit_id": p.head.sha}).text = text
	return nil
}

func (c *call) createComment() *answer {
	p := c.pullOf()
	switch {
	case p == nil:
		return notFound()
	case strings.TrimSpace(c.text("body")) == "":
		return invalid("IssueComment", "body", "missing_field", "")
	}
	if refused := tooLong("", c.text("body")); refused != nil {
		return refused
	}
	return created(c.comment(p, c.s.addComment(p, c.text("body"), c.asker.user)))
}

func (c *call) listTimeline() *answer {
	p := c.pullOf()
	if p == nil {
		return notFound()
	}
	return c.page(listOf(p.events, func(e *event) object {
		switch e.kind {
		case "commented":
			out := c.comment(p, e)
			out["event"], out["actor"] = e.kind, out["user"]
			return out
		case "reviewed":
			return c.review(p, e)
		}
		return c.event(p, e)
	}))
}

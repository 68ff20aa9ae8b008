package gitlab

import (
	"net/http"
	"slices"
)

func (c *call) trainEntry(r *request) object {
	return object{
		"id": r.id, "merge_request": object{"id": r.id, "iid": r.iid}, "user": c.s.userFields(c.asker.user), "pipeline": nil, "created_at": stamp(c.s.now()),
		"updated_at": stamp(c.s.now()), "target_branch": r.to, "status": "fresh", "merged_at": nil, "duration": nil,
	}
}

// getTrain shows a merge request that is on a merge train.
func (c *call) getTrain() *answer {
	r := c.requestOf()
	if r == nil || !slices.Contains(c.project.train, r) {
		return notFound("")
	}
	return c.ok(c.trainEntry(r))
}

// addToTrain refuses what a merge would.
func (c *call) addToTrain() *answer {
	r := c.requestOf()
	switch {
	case r == nil || !c.project.Trains:
		return notFound("")
	case !c.project.mayPush(c.asker.user, r.to):
		return forbidden()
	}
	c.s.check(r)
	switch {
	case c.text("sha") != "" && c.text("sha") != r.source.git.Branch(r.from):
		return refuse(http.StatusConflict, "SHA does not match HEAD of source branch: "+r.source.git.Branch(r.from))
	case c.s.mergeStatus(r) != "mergeable" || slices.Contains(c.project.train, r):
		return refuse(http.StatusBadRequest, "400 Bad request - Failed to merge")
	}
	c.project.train = append(c.project.train, r)
	return page(c, c.project.train, c.trainEntry)
}

// RunTrain merges the first merge request of the merge train.
func (s *Server) RunTrain(path string) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.mustProject(path)
	r := p.train[0]
	p.train = p.train[1:]
	if refused := s.merge(r, r.author, false, false, "", ""); refused != nil {
		s.t.Errorf("the merge train: %v", refused)
	}
}

// Derail removes a merge request from the merge train, with a note.
func (s *Server) Derail(path string, iid int, because string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.mustProject(path)
	r := p.request(iid)
	p.train = slices.DeleteFunc(p.train, func(other *request) bool { return other == r })
	s.addNote(r, r.author, "removed this merge request from the merge train because "+because, true)
}

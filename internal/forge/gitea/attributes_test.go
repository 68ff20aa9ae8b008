package gitea_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/gitea"
	"github.com/furrow-dev/furrow/internal/forge/pull"
	"github.com/furrow-dev/furrow/internal/forge/rest"
)

// user adds somebody who may write the repository.
func (s *site) user(name string) string {
	s.Helper()
	name = s.name + "-" + name
	s.do(http.MethodPost, "/admin/users", map[string]any{"username": name, "email": name + "@example.com", "password": "Correct-horse-1", "must_change_password": false}, nil)
	s.do(http.MethodPut, s.repo("/collaborators/"+name), map[string]any{"permission": "write"}, nil)
	return name
}

// has is what a pull request has on the server.
func (s *site) has(number int) string {
	s.Helper()
	var pr struct {
		Labels    []struct{ Name string }
		Assignees []struct{ Login string }
		Reviewers []struct{ Login string } `json:"requested_reviewers"`
		Milestone *struct{ Title string }
	}
	s.do(http.MethodGet, s.repo(fmt.Sprintf("/pulls/%d", number)), nil, &pr)
	var labels, reviewers, assignees []string
	for _, l := range pr.Labels {
		labels = append(labels, l.Name)
	}
	for _, u := range pr.Reviewers {
		reviewers = append(reviewers, strings.TrimPrefix(u.Login, s.name+"-"))
	}
	for _, u := range pr.Assignees {
		assignees = append(assignees, strings.TrimPrefix(u.Login, s.name+"-"))
	}
	slices.Sort(labels)
	slices.Sort(assignees)
	title := ""
	if pr.Milestone != nil {
		title = pr.Milestone.Title
	}
	return fmt.Sprint(labels, reviewers, assignees, title)
}

// newStaffedForge is a forge that sets all that there is.
func (s *site) newStaffedForge(o pull.Options) forge.Forge {
	s.Helper()
	server, err := gitea.New("main", rest.Access{URL: s.url, Source: tokenOf(botToken), Transport: s.requests})
	s.must(err)
	o.Base = "main"
	return pull.New(server, s.mirror, o)
}

// All that can be set is, whatever Gitea refuses.
func TestProposalsCarryWhatIsAskedFor(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ann, bea := s.user("ann"), s.user("bea")
	s.do(http.MethodPost, s.repo("/milestones"), map[string]any{"title": "Summer"}, nil)
	s.do(http.MethodPost, s.repo("/milestones"), map[string]any{"title": "Summer school"}, nil)
	o := pull.Options{Reviewers: []string{ann}, Assignees: []string{ann, bea}, Milestone: "summer"}
	s.forge = s.newStaffedForge(o)
	s.list()
	propose := func(number int, want string) {
		t.Helper()
		_, err := s.forge.Propose(t.Context(), s.push(layout.Tier{Seed: fmt.Sprintf("s%d", number), Cluster: "edge"}, "w1"))
		s.must(err)
		if got := s.has(number); got != want {
			t.Errorf("#%d has %s, want %s", number, got, want)
		}
	}
	pass := func() {
		t.Helper()
		for _, p := range s.list() {
			s.must(s.forge.Gate(t.Context(), p, forge.Gate{}))
		}
	}
	propose(1, "[furrow] [ann] [ann bea]Summer")
	s.requests.take()
	propose(2, "[furrow] [ann] [ann bea]Summer")
	s.wantRequests("another proposal", "POST /pulls", "POST /pulls/2/requested_reviewers")
	pass()
	s.wantRequests("a pass", "GET /pulls")

	// The author, one who does not exist, and a milestone that is not there.
	o.Reviewers, o.Assignees, o.Milestone = []string{bot, ann, "other/ops"}, []string{bea, "nobody-" + s.name}, "Winter"
	s.forge = s.newStaffedForge(o)
	s.list()
	propose(3, "[furrow] [ann] [bea]")
	var said []string
	for _, w := range s.forge.Warnings() {
		said = append(said, w.Field)
	}
	want := []string{"spec.proposals.assignees", "spec.proposals.milestone", "spec.proposals.reviewers", "spec.proposals.reviewers"}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("warnings %v (-want +got):\n%s", s.forge.Warnings(), diff)
	}
	s.requests.take()
	propose(4, "[furrow] [ann] [bea]")
	s.wantRequests("a proposal after that", "POST /pulls", "POST /pulls/4/requested_reviewers")
	s.do(http.MethodPost, s.repo("/milestones"), map[string]any{"title": "Winter"}, nil)
	pass()
	o.Reviewers, o.Assignees = []string{ann}, []string{bea}
	s.forge = s.newStaffedForge(o)
	pass()
	for number := 3; number <= 4; number++ {
		if got, want := s.has(number), "[furrow] [ann] [bea]Winter"; got != want {
			t.Errorf("once it is corrected, #%d has %s, want %s", number, got, want)
		}
	}
	if w := s.forge.Warnings(); len(w) > 0 {
		t.Errorf("warned of %v", w)
	}
}

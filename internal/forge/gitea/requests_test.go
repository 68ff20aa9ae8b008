package gitea_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/forge"
)

// wantRequests checks what was asked since the last time; paths are without the
// repository's, and commits are cut.
func (s *site) wantRequests(what string, want ...string) {
	s.Helper()
	var got []string
	for _, made := range s.requests.take() {
		made = strings.Replace(made, "/api/v1/repos/"+bot+"/"+s.name, "", 1)
		if at := strings.Index(made, "/statuses/"); at >= 0 {
			made = made[:at+len("/statuses")]
		}
		if at := strings.Index(made, "/labels/"); at >= 0 {
			made = made[:at+len("/labels")]
		}
		got = append(got, made)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		s.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestRequests(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.list()
	s.wantRequests("a first pass", "GET /pulls")
	first, second := edge, layout.Tier{Seed: "b", Cluster: "edge-1"}
	ask := func(digest string) forge.Outcome {
		t.Helper()
		c, err := s.forge.Closed(t.Context(), s.refs(), first, digest)
		s.must(err)
		return c.Outcome
	}
	ask("w1")
	s.wantRequests("a first question about closed ones")
	_, err := s.forge.Propose(t.Context(), s.push(first, "w1"))
	s.must(err)
	s.wantRequests("a first proposal", "GET /labels", "POST /labels", "POST /pulls", "GET /branches/main")
	_, err = s.forge.Propose(t.Context(), s.push(second, "w1"))
	s.must(err)
	s.wantRequests("a second proposal", "POST /pulls")
	pass := func(what string, more ...string) forge.Proposal {
		t.Helper()
		p := s.find(first)
		if !p.Rejected {
			s.must(s.forge.Gate(t.Context(), p, forge.Gate{}))
		}
		ask("w9")
		s.wantRequests(what, append([]string{"GET /pulls"}, more...)...)
		return p
	}
	pass("a pass after proposals")
	p := pass("a pass in which nothing changed")
	s.must(s.forge.Gate(t.Context(), p, forge.Gate{Shut: "b is no longer Released"}))
	s.must(s.forge.Gate(t.Context(), p, forge.Gate{Shut: "b is no longer Released"}))
	s.wantRequests("a gate that fails", "PATCH /pulls/1", "POST /labels", "POST /issues/1/labels", "POST /statuses")
	_, err = s.forge.Propose(t.Context(), s.push(first, "w2"))
	s.must(err)
	s.wantRequests("an update", "PATCH /pulls/1", "DELETE /issues/1/labels") // a new commit has no status
	p = pass("a pass after an update")
	s.must(s.forge.Reject(t.Context(), p, bob, "no"))
	s.wantRequests("a rejection", "GET /pulls/1", "PATCH /pulls/1", "POST /issues/1/comments")
	pass("a pass after a rejection", "GET /pulls/1")
	if ask("w2") != forge.OutcomeRejected {
		t.Error("it is not rejected")
	}
	pass("a pass while it stays rejected")
	s.must(s.forge.Merge(t.Context(), s.find(second), bob))
	s.wantRequests("a merge", "GET /pulls", "GET ", "GET /pulls/2", "POST /pulls/2/merge")
	pass("a pass after a merge", "GET /pulls/2")
	pass("a pass after that")
}

func TestALostAnswerOpensNoSecondProposal(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.push(edge, "w1")
	s.requests.after = func(r *http.Request, response *http.Response) (*http.Response, error) {
		if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/pulls") {
			return response, nil
		}
		_ = response.Body.Close()
		return nil, errors.New("connection reset by peer")
	}
	if _, err := s.forge.Propose(t.Context(), r); !forge.IsFailure(err, forge.FailedNetwork) {
		t.Fatalf("got %v", err)
	}
	s.requests.after = nil
	s.requests.take()
	p, err := s.forge.Propose(t.Context(), r)
	s.must(err)
	s.wantRequests("the second try", "POST /pulls", "GET /pulls", "GET /branches/main")
	if all := s.all("all"); len(all) != 1 || !strings.HasSuffix(p.URL, "/pulls/1") {
		t.Errorf("there are %+v, and the proposal is at %s", all, p.URL)
	}
}

func TestManyPullRequestsOfOthers(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.requests.limit = 5
	s.checkOut("main")
	s.git("commit", "--quiet", "--allow-empty", "-m", "Work by hand")
	const others = 8
	args := []string{"push", "--quiet", "origin"}
	for i := range others {
		args = append(args, fmt.Sprintf("HEAD:refs/heads/work-%d", i))
	}
	s.git(args...)
	open := func(from, to int) {
		for i := range to - from {
			s.do(http.MethodPost, s.repo("/pulls"), map[string]any{"head": fmt.Sprintf("work-%d", from+i), "base": "main", "title": "Work"}, nil)
		}
	}
	open(0, 2)
	p := s.propose(edge, "w1")
	open(2, others)
	late := layout.Tier{Seed: "b", Cluster: "edge-1"}
	_, err := s.forge.Propose(t.Context(), s.push(late, "w1"))
	s.must(err)
	s.requests.take()
	if list := s.list(); len(list) != 2 || !cmp.Equal(list[0], p) || !list[1].Has(late) {
		t.Errorf("listed %+v", list)
	}
	s.wantRequests("ten, five on a page", "GET /pulls", "GET /pulls")
	s.do(http.MethodPatch, s.pull(p), map[string]any{"state": "closed"}, nil)
	for number := 4; number < others+2; number++ {
		s.do(http.MethodPatch, s.repo(fmt.Sprintf("/pulls/%d", number)), map[string]any{"state": "closed"}, nil)
	}
	fresh := s.newForge(s.mirror, botToken)
	s.wantOutcome(fresh, "w1", forge.OutcomeRejected)
	s.wantRequests("closed ones of others are not read", "GET /pulls", "GET /pulls/3", "GET /issues/3/timeline")
}

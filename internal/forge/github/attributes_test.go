package github_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/pull"
)

// has is what a pull request has on the server.
func (s site) has(number int) string {
	labels, reviewers, assignees, milestone := s.Attributes(fleet, number)
	return fmt.Sprint(labels, reviewers, assignees, milestone)
}

// newStaffedSite has people, a team and a milestone.
func newStaffedSite(t *testing.T) site {
	t.Helper()
	s := newSite(t)
	s.AddTeam(fleet, "ops")
	s.AddMilestone(fleet, "Spring")
	s.AddMilestone(fleet, "Summer")
	s.CloseMilestone(fleet, "Spring")
	return s
}

func TestAttributesAreAdded(t *testing.T) {
	t.Parallel()
	s := newStaffedSite(t)
	r := s.open("a")
	must(t, s.As("ann").Label(fleet, 1, "theirs", "furrow/waiting"))
	must(t, s.As("ann").Assign(fleet, 1, "ann"))
	const labels, issue = "/repos/{owner}/{repo}/issues/{issue_number}/labels", "/repos/{owner}/{repo}/issues/{issue_number}"
	for _, tc := range []struct {
		add  pull.Attributes
		off  []string
		want string
		asks []string
	}{
		{pull.Attributes{Labels: []string{"furrow", "a b"}}, nil, "[theirs furrow/waiting furrow a b] [] [ann]", []string{"POST " + labels}},
		{pull.Attributes{}, []string{"furrow/waiting", "gone"}, "[theirs furrow a b] [] [ann]", []string{"DELETE " + labels + "/{name}"}},
		{
			pull.Attributes{Labels: []string{"seed"}, Assignees: []string{"bot"}, Milestone: "summer"}, nil, "[theirs furrow a b seed] [] [ann bot]Summer",
			[]string{"GET /repos/{owner}/{repo}/milestones", "PATCH " + issue},
		},
		{pull.Attributes{Milestone: "summer"}, nil, "[theirs furrow a b seed] [] [ann bot]Summer", []string{"PATCH " + issue}},
		{
			pull.Attributes{Reviewers: []string{"ann", "acme/ops"}}, nil, "[theirs furrow a b seed] [ann acme/ops] [ann bot]Summer",
			[]string{"POST /repos/{owner}/{repo}/pulls/{pull_number}/requested_reviewers"},
		},
	} {
		at, err := s.api.Get(t.Context(), r.Number)
		must(t, err)
		var has pull.Attributes
		asked := s.asked(func() {
			has, err = s.api.Attach(t.Context(), at, tc.add, tc.off)
			must(t, err)
		})
		now, err := s.api.Get(t.Context(), r.Number)
		must(t, err)
		if got := fmt.Sprint(now.Labels, now.Reviewers, now.Assignees, now.Milestone); got != tc.want {
			t.Errorf("after %+v it has %s, want %s", tc.add, got, tc.want)
		}
		for _, route := range tc.asks {
			if asked[route] == 0 {
				t.Errorf("%+v asked %v, want %v", tc.add, asked, tc.asks)
			}
		}
		if len(asked) != len(tc.asks) {
			t.Errorf("%+v asked %v, want %v", tc.add, asked, tc.asks)
		}
		if len(tc.add.Reviewers) > 0 && !cmp.Equal(has.Reviewers, now.Reviewers) || len(tc.add.Labels) > 0 && !cmp.Equal(has.Labels, now.Labels) {
			t.Errorf("%+v returned %+v", tc.add, has)
		}
	}
}

func TestAttributesThatAreRefused(t *testing.T) {
	t.Parallel()
	s := newStaffedSite(t)
	r := s.open("a")
	for says, add := range map[string]pull.Attributes{
		`request reviews of pull request #1 in ` + s.URL + `/acme/fleet: .*Review cannot be requested from pull request author`: {Reviewers: []string{"bot"}},
		`request reviews of pull request #1 in ` + s.URL + `/acme/fleet: .*is not a collaborator`:                               {Reviewers: []string{"eve"}},
		`the team other/ops is not one of acme`:    {Reviewers: []string{"other/ops"}},
		`there is no open milestone "Spring"`:      {Milestone: "Spring"},
		`label and assign pull request #1 in .*: `: {Assignees: []string{"eve"}},
	} {
		_, err := s.api.Attach(t.Context(), r, add, nil)
		first, rest, _ := strings.Cut(says, ".*")
		if !forge.IsFailure(err, forge.FailedOther) || !strings.Contains(err.Error(), first) || !strings.Contains(err.Error(), rest) {
			t.Errorf("%+v: %v", add, err)
		}
	}
	reader := s.as(s.FineGrained("bot", map[string]string{"pull_requests": "read"}, fleet))
	if _, err := reader.Attach(t.Context(), r, pull.Attributes{Labels: []string{"furrow"}}, nil); !forge.IsFailure(err, forge.FailedAuth) {
		t.Errorf("without permission: %v", err)
	}
}

// All that can be set is, whatever GitHub refuses.
func TestProposalsCarryWhatIsAskedFor(t *testing.T) {
	t.Parallel()
	f := fleetOf{site: newStaffedSite(t)}
	f.git = f.mirror()
	server := f.api
	f.forge = pull.New(server, f.git, pull.Options{Base: "main", Reviewers: []string{"ann", "bot", "acme/ops"}, Assignees: []string{"ann"}, Milestone: "Summer"})
	f.list()
	for i := range 3 {
		_, err := f.forge.Propose(t.Context(), f.push(layout.Tier{Seed: fmt.Sprintf("s%d", i), Cluster: "edge"}, "w1"))
		must(t, err)
		if got, want := f.has(i+1), "[furrow] [ann ops] [ann]Summer"; got != want {
			t.Errorf("#%d has %s, want %s", i+1, got, want)
		}
	}
	warnings := f.forge.Warnings()
	if len(warnings) != 1 || !strings.Contains(warnings[0].Message, `the reviewer "bot"`) || !strings.Contains(warnings[0].Message, "pull request author") {
		t.Errorf("warned of %v", warnings)
	}
	f.wantRequests("a proposal after that", func() {
		_, err := f.forge.Propose(t.Context(), f.push(layout.Tier{Seed: "a", Cluster: "edge"}, "w1"))
		must(t, err)
	}, "1 PATCH /issues/{issue_number}", "1 POST /pulls", "1 POST /pulls/{pull_number}/requested_reviewers")
	f.wantRequests("a pass", func() {
		for _, p := range f.list() {
			must(t, f.forge.Gate(t.Context(), p, forge.Gate{}))
		}
	}, "1 GET /pulls")
}

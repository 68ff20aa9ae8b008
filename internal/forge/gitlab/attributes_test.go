package gitlab_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/pull"
	servers "github.com/furrow-dev/furrow/test/servers/gitlab"
)

// has is what a merge request has.
func (s site) has(number int64) string {
	s.Helper()
	r, err := s.api.Get(s.Context(), number)
	must(s.T, err)
	return fmt.Sprint(r.Labels, r.Reviewers, r.Assignees, r.Milestone)
}

// newStaffedSite has milestones, of the project and of its group.
func newStaffedSite(t *testing.T) site {
	t.Helper()
	s := newSite(t)
	s.AddMilestone(fleet, "Spring", false)
	s.CloseMilestone(fleet, "Spring")
	s.AddMilestone(fleet, "Summer", true)
	return s
}

func TestAMergeRequestIsOpenedWithPeopleAndMilestone(t *testing.T) {
	t.Parallel()
	s := newStaffedSite(t)
	with := pull.Attributes{Labels: []string{"furrow"}, Reviewers: []string{"ann", "nobody", "acme/ops"}, Assignees: []string{"ANN", "bot"}, Milestone: "Summer"}
	for i, want := range []int{5, 1} { // one for each name, but for those that are known
		branch := fmt.Sprintf("furrow/%d", i)
		s.push(branch, branch, "a\n")
		asked := s.asked(func() {
			_, err := s.api.Create(t.Context(), pull.NewRequest{Branch: branch, Title: "Plant", Attributes: with})
			must(t, err)
		})
		if got, want := s.has(int64(i+1)), "[furrow] [ann] [ann bot]Summer"; got != want {
			t.Errorf("!%d has %s, want %s", i+1, got, want)
		}
		if sum(asked) != want+1 {
			t.Errorf("!%d took %v", i+1, asked)
		}
	}
}

func TestAttributesAreAdded(t *testing.T) {
	t.Parallel()
	s := newStaffedSite(t)
	r := s.open("a")
	must(t, s.As("ann").Label(fleet, 1, "theirs", "furrow/waiting"))
	must(t, s.As("ann").Assign(fleet, 1, "ann"))
	for _, tc := range []struct {
		add   pull.Attributes
		off   []string
		want  string
		costs int
	}{
		{pull.Attributes{Labels: []string{"furrow", "a b"}}, []string{"furrow/waiting", "gone"}, "[theirs furrow a b] [] [ann]", 1},
		{pull.Attributes{Labels: []string{"seed"}, Assignees: []string{"bot"}, Milestone: "Summer"}, nil, "[theirs furrow a b seed] [] [ann bot]Summer", 4},
		{pull.Attributes{Reviewers: []string{"ann"}}, nil, "[theirs furrow a b seed] [ann] [ann bot]Summer", 3},
	} {
		asked := s.asked(func() {
			has, err := s.api.Attach(t.Context(), r, tc.add, tc.off)
			must(t, err)
			if got := fmt.Sprint(has.Labels, has.Reviewers, has.Assignees, has.Milestone); got != tc.want {
				t.Errorf("%+v returned %s, want %s", tc.add, got, tc.want)
			}
		})
		if got := s.has(1); got != tc.want || sum(asked) != tc.costs {
			t.Errorf("after %+v by %v it has %s, want %s", tc.add, asked, got, tc.want)
		}
	}
	for says, add := range map[string]pull.Attributes{
		"GitLab has no team acme/ops":         {Reviewers: []string{"acme/ops"}},
		`there is no user "nobody"`:           {Assignees: []string{"nobody"}},
		`there is no open milestone "Spring"`: {Milestone: "Spring"},
	} {
		if _, err := s.api.Attach(t.Context(), r, add, nil); !forge.IsFailure(err, forge.FailedOther) || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v: %v", add, err)
		}
	}
}

// All that can be set is, whatever GitLab does not know, or leaves out.
func TestProposalsCarryWhatIsAskedFor(t *testing.T) {
	t.Parallel()
	f := fleetOf{site: newStaffedSite(t)}
	f.Configure(fleet, func(o *servers.Settings) { o.Free = true })
	f.git = f.mirror()
	f.forge = pull.New(f.api, f.git, pull.Options{Base: "main", Reviewers: []string{"ann", "bot"}, Assignees: []string{"ann", "nobody"}, Milestone: "Summer"})
	f.list()
	for i := range 3 {
		_, err := f.forge.Propose(t.Context(), f.push(layout.Tier{Seed: fmt.Sprintf("s%d", i), Cluster: "edge"}, "w1"))
		must(t, err)
		if got, want := f.has(int64(i+1)), "[furrow] [ann] [ann]Summer"; got != want {
			t.Errorf("!%d has %s, want %s", i+1, got, want)
		}
	}
	var warned []string
	for _, w := range f.forge.Warnings() {
		warned = append(warned, w.Message)
	}
	if said := strings.Join(warned, "\n"); len(warned) != 2 || !strings.Contains(said, `there is no user "nobody"`) || !strings.Contains(said, `the reviewer "bot"`) {
		t.Errorf("warned of %s", said)
	}
	f.wantRequests("a proposal after that", func() {
		_, err := f.forge.Propose(t.Context(), f.push(layout.Tier{Seed: "a", Cluster: "edge"}, "w1"))
		must(t, err)
	}, "1 POST /merge_requests")
	f.wantRequests("a pass", func() { f.pass() }, "1 GET /merge_requests")
}

package gitlab_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/forge/pull"
)

func TestHowAMergeRequestWasClosed(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		act      func(s site)
		want     pull.Closing
		requests int
	}{
		"by a person, with a comment": {func(s site) {
			must(s.T, s.As("ann").Comment(fleet, 1, "wait"))
			must(s.T, s.As("ann").Comment(fleet, 1, "not on Fridays"))
			must(s.T, s.As("ann").Close(fleet, 1))
			s.Advance(time.Second)
			must(s.T, s.As("bot").Comment(fleet, 1, "too late"))
		}, pull.Closing{By: "ann", Said: []pull.Comment{{By: "ann", Text: "not on Fridays"}, {By: "ann", Text: "wait"}}}, 2},
		"by deleting its branch": {func(s site) {
			s.As("ann").DeleteBranch(fleet, "a")
		}, pull.Closing{By: "ann", BranchDeleted: true}, 2},
		"before its branch was deleted": {func(s site) {
			must(s.T, s.As("ann").Close(fleet, 1))
			s.As("bot").DeleteBranch(fleet, "a")
		}, pull.Closing{By: "ann"}, 2},
		"for the second time": {func(s site) {
			head := s.Branch(fleet, "a")
			s.As("ann").DeleteBranch(fleet, "a")
			s.Advance(time.Minute)
			s.As("bot").ForcePush(fleet, "a", head)
			must(s.T, s.As("ann").Reopen(fleet, 1))
			must(s.T, s.As("bot").Close(fleet, 1))
		}, pull.Closing{By: "bot"}, 2},
		"and GitLab shows it only in the events": {func(s site) {
			s.HideCloser()
			must(s.T, s.As("bot").Close(fleet, 1))
			must(s.T, s.As("bot").Reopen(fleet, 1))
			must(s.T, s.As("ann").Comment(fleet, 1, "no"))
			must(s.T, s.As("ann").Close(fleet, 1))
		}, pull.Closing{By: "ann", Said: []pull.Comment{{By: "ann", Text: "no"}}}, 3},
		"not yet": {func(site) {}, pull.Closing{}, 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.open("a")
			tc.act(s)
			var got pull.Closing
			asked := s.asked(func() {
				var err error
				got, err = s.api.Closing(t.Context(), 1, time.Time{})
				must(t, err)
			})
			for i := range got.Said {
				if got.Said[i].At.IsZero() {
					t.Errorf("%+v has no time", got.Said[i])
				}
				got.Said[i].At = time.Time{}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || sum(asked) != tc.requests {
				t.Errorf("by %v (-want +got):\n%s", asked, diff)
			}
		})
	}
}

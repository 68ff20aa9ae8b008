package github_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/forge/pull"
)

func TestHowAPullRequestWasClosed(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		act  func(s site)
		want pull.Closing
	}{
		"by a person, with a comment": {func(s site) {
			must(s.T, s.As("ann").Comment(fleet, 1, "wait"))
			must(s.T, s.As("ann").Comment(fleet, 1, "not on Fridays"))
			must(s.T, s.As("ann").Close(fleet, 1))
			must(s.T, s.As("bot").Comment(fleet, 1, "too late"))
		}, pull.Closing{By: "ann", Said: []pull.Comment{{By: "ann", Text: "not on Fridays"}, {By: "ann", Text: "wait"}}}},
		"after a review": {func(s site) {
			must(s.T, s.As("ann").RequestChanges(fleet, 1, "two replicas"))
			must(s.T, s.As("bot").Close(fleet, 1))
		}, pull.Closing{By: "bot", Said: []pull.Comment{{By: "ann", Text: "two replicas"}}}},
		"by deleting its branch": {func(s site) {
			must(s.T, s.As("ann").DeleteBranch(fleet, "a"))
		}, pull.Closing{By: "ann", BranchDeleted: true}},
		"before its branch was deleted": {func(s site) {
			must(s.T, s.As("ann").Close(fleet, 1))
			s.Advance(time.Minute)
			must(s.T, s.As("bot").DeleteBranch(fleet, "a"))
		}, pull.Closing{By: "ann"}},
		"for the second time": {func(s site) {
			must(s.T, s.As("ann").DeleteBranch(fleet, "a"))
			s.Advance(time.Minute)
			s.As("bot").ForcePush(fleet, "a", s.head)
			must(s.T, s.As("ann").Reopen(fleet, 1))
			s.Advance(time.Minute)
			must(s.T, s.As("bot").Close(fleet, 1))
		}, pull.Closing{By: "bot"}},
		"by an app, which says why": {func(s site) {
			must(s.T, s.As("ci[bot]").Comment(fleet, 1, "stale"))
			must(s.T, s.As("ci[bot]").Close(fleet, 1))
		}, pull.Closing{By: "ci[bot]"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.head = s.open("a").Head.String()
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
			if diff := cmp.Diff(tc.want, got); diff != "" || sum(asked) != 1 {
				t.Errorf("by %v (-want +got):\n%s", asked, diff)
			}
		})
	}
}

func TestALongTimelineIsReadFromItsEnd(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.open("a")
	for i := range 250 {
		must(t, s.As("ann").Comment(fleet, 1, fmt.Sprint(i)))
	}
	must(t, s.As("ann").Close(fleet, 1))
	var got pull.Closing
	asked := s.asked(func() {
		var err error
		got, err = s.api.Closing(t.Context(), 1, time.Time{})
		must(t, err)
	})
	if len(got.Said) < 50 || got.Said[0].Text != "249" || got.By != "ann" || sum(asked) != 3 {
		t.Errorf("%d comments from %q, closed by %q, by %v", len(got.Said), got.Said[0].Text, got.By, asked)
	}
}

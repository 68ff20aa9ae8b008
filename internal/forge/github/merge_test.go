package github_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/pull"
	"github.com/furrow-dev/furrow/internal/git"
	servers "github.com/furrow-dev/furrow/test/servers/github"
)

func TestMethodsMerge(t *testing.T) {
	t.Parallel()
	for _, method := range []pull.Method{pull.MergeCommit, pull.Squash, pull.Rebase} {
		t.Run(string(method), func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			r := s.open("a")
			s.push("main", "b", "b\n")
			asked := s.asked(func() {
				must(t, s.api.Merge(t.Context(), r.Number, pull.Merge{Method: method, Head: r.Head, Title: "Plant a", Message: "by ann"}))
			})
			got, err := s.api.Get(t.Context(), r.Number)
			must(t, err)
			if got.State != pull.Merged || got.Merge != s.hash(s.Branch(fleet, "main")) || got.Closed.IsZero() || sum(asked) != 1 {
				t.Errorf("merged %+v by %v", got, asked)
			}
			if s.Branch(fleet, "a") != r.Head.String() {
				t.Error("the branch is not what it was")
			}
		})
	}
}

func TestARefusedMergeIsExplained(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		prepare func(s site)
		method  pull.Method
		checked bool // GitHub has found out whether it can be merged
		want    error
		says    string
	}{
		"its branch has moved":          {prepare: func(s site) { s.push("a", "more", "more\n") }, want: forge.ErrGone},
		"it was closed":                 {prepare: func(s site) { must(s.T, s.As("ann").Close(fleet, 1)) }, want: forge.ErrGone},
		"it was merged":                 {prepare: func(s site) { must(s.T, s.As("ann").Merge(fleet, 1, "merge")) }, want: forge.ErrGone},
		"it is to another branch now":   {prepare: func(s site) { s.push("b", "b", "b\n"); must(s.T, s.As("ann").Retarget(fleet, 1, "b")); draft(s) }, want: forge.ErrGone},
		"GitHub has not checked yet":    {prepare: conflict, want: pull.ErrUnchecked},
		"it conflicts":                  {prepare: conflict, checked: true, want: forge.ErrConflict},
		"it is behind, and must not be": {prepare: func(s site) { s.Protect(fleet, "main", &servers.Protection{Strict: true}); s.push("main", "b", "b\n") }, checked: true, want: forge.ErrConflict},
		"it is a draft":                 {prepare: draft, checked: true, says: "Pull Request is still a draft"},
		"the method is off":             {prepare: func(s site) { s.Configure(fleet, func(o *servers.Settings) { o.Squash = false }) }, method: pull.Squash, checked: true, says: "Squash merges are not allowed"},
		"the server has no such method": {prepare: func(site) {}, method: pull.FastForward, says: "GitHub cannot merge by fast-forward"},
		"a check is required":           {prepare: func(s site) { s.Protect(fleet, "main", &servers.Protection{Checks: []string{"ci"}}) }, checked: true, says: `Required status check "ci" is expected`},
		"an approval is required":       {prepare: func(s site) { s.Protect(fleet, "main", &servers.Protection{Reviews: 1}) }, checked: true, says: "At least 1 approving review"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			r := s.open("a")
			if tc.checked {
				s.MergeableAfter(0)
			}
			tc.prepare(s)
			method := tc.method
			if method == "" {
				method = pull.MergeCommit
			}
			err := s.api.Merge(t.Context(), r.Number, pull.Merge{Method: method, Head: r.Head})
			if tc.want != nil && !errors.Is(err, tc.want) || tc.want == nil && !forge.IsFailure(err, forge.FailedOther) || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got %v, want %v %q", err, tc.want, tc.says)
			}
		})
	}
}

func conflict(s site) { s.push("main", "a.yaml", "other\n") }
func draft(s site)    { must(s.T, s.As("ann").SetDraft(fleet, 1, true)) }

func TestAMergeOfNothingIsGone(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	if err := s.api.Merge(t.Context(), 7, pull.Merge{Method: pull.Squash, Head: git.Hash{1}}); !forge.IsGone(err) {
		t.Error(err)
	}
}

func TestAMergeThatTheTokenMayNotDoIsRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.open("a")
	err := s.as(s.FineGrained("bot", map[string]string{"pull_requests": "write"}, fleet)).Merge(t.Context(), r.Number, pull.Merge{Method: pull.Squash, Head: r.Head})
	if !forge.IsFailure(err, forge.FailedAuth) || !strings.Contains(err.Error(), "contents=write") {
		t.Error(err)
	}
}

func TestWhatIsRefusedForNowIsNotAConflict(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.open("a")
	s.MergeableAfter(0)
	for said, status := range map[string]int{
		"Base branch was modified. Review and try the merge again.": http.StatusMethodNotAllowed, "Pull Request is not mergeable": http.StatusMethodNotAllowed,
		"Merge already in progress": http.StatusConflict,
	} {
		api := newServer(t, s.GitURL(fleet), s.Token("bot", "repo"), instead{http.MethodPut, status, `{"message":"` + said + `"}`})
		if err := api.Merge(t.Context(), r.Number, pull.Merge{Method: pull.Squash, Head: r.Head}); !errors.Is(err, pull.ErrUnchecked) {
			t.Errorf("%s: %v", said, err)
		}
	}
}

package gitlab_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/pull"
	"github.com/furrow-dev/furrow/internal/forge/rest"
	"github.com/furrow-dev/furrow/internal/git"
	servers "github.com/furrow-dev/furrow/test/servers/gitlab"
)

func TestMethodsMerge(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		project string
		method  pull.Method
		behind  bool
		message string // of the commit at the tip of base
		parents int
	}{
		"a merge commit":              {project: "merge", method: pull.MergeCommit, behind: true, message: "Plant a\n\nby ann", parents: 2},
		"squash":                      {project: "merge", method: pull.Squash, behind: true, message: "Merge branch 'a' into 'main'\n\nChange a\n\nSee merge request acme/web.apps/fleet!1", parents: 2},
		"rebase and a merge commit":   {project: "rebase_merge", method: pull.RebaseMerge, message: "Plant a\n\nby ann", parents: 2},
		"fast-forward":                {project: "ff", method: pull.FastForward, message: "Change a.yaml", parents: 1},
		"squash without merge commit": {project: "ff", method: pull.Squash, message: "Plant a\n\nby ann", parents: 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.Configure(fleet, func(o *servers.Settings) { o.MergeMethod = tc.project })
			r := s.open("a")
			if tc.behind {
				s.push("main", "b", "b\n")
			}
			s.CheckedAfter(0)
			asked := s.asked(func() {
				must(t, s.api.Merge(t.Context(), r.Number, pull.Merge{Method: tc.method, Head: r.Head, Title: "Plant a", Message: "by ann\n"}))
			})
			got, err := s.api.Get(t.Context(), r.Number)
			must(t, err)
			tip := s.Branch(fleet, "main")
			if got.State != pull.Merged || got.Merge != s.hash(tip) || got.Closed.IsZero() || sum(asked) != 1 {
				t.Errorf("merged %+v by %v", got, asked)
			}
			if c := s.Commit(fleet, tip); c.Message != tc.message || len(c.Parents) != tc.parents {
				t.Errorf("the commit is %+v", c)
			}
			if s.Branch(fleet, "a") != r.Head.String() {
				t.Error("the branch is not what it was")
			}
		})
	}
}

func TestWhatWasPushedToBaseIsMerged(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.open("a")
	s.As("ann").ForcePush(fleet, "main", r.Head.String())
	if got, err := s.api.Get(t.Context(), r.Number); err != nil || got.State != pull.Merged || got.Merge != r.Head {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAMergeOnlyWithAMessageHasATitle(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.CheckedAfter(0)
	r := s.open("a")
	must(t, s.api.Merge(t.Context(), r.Number, pull.Merge{Method: pull.MergeCommit, Head: r.Head, Message: "Accepted-by: Ann <ann@example.com>"}))
	if c := s.Commit(fleet, s.Branch(fleet, "main")); c.Message != "Merge !1 into main\n\nAccepted-by: Ann <ann@example.com>" {
		t.Errorf("the message is %q", c.Message)
	}
}

func TestARefusedMergeIsExplained(t *testing.T) {
	t.Parallel()
	set := func(change func(*servers.Settings)) func(s site) { return func(s site) { s.Configure(fleet, change) } }
	cases := map[string]struct {
		prepare   func(s site)
		method    pull.Method
		unchecked bool // GitLab has not found out yet whether it can be merged
		want      error
		kind      forge.Kind
		says      string
	}{
		"its branch has moved":          {prepare: func(s site) { s.push("a", "more", "more\n") }, want: forge.ErrGone},
		"its branch has moved just now": {prepare: func(s site) { s.LagPushes(9); s.push("a", "more", "more\n") }, want: forge.ErrGone},
		"its branch is gone":            {prepare: func(s site) { s.LagPushes(9); s.As("ann").DeleteBranch(fleet, "a") }, want: forge.ErrGone},
		"it was closed":                 {prepare: func(s site) { must(s.T, s.As("ann").Close(fleet, 1)) }, want: forge.ErrGone},
		"it was merged":                 {prepare: func(s site) { must(s.T, s.As("ann").Merge(fleet, 1, false)) }, want: forge.ErrGone},
		"it is to another branch now":   {prepare: func(s site) { s.push("b", "b", "b\n"); must(s.T, s.As("ann").Retarget(fleet, 1, "b")); draft(s) }, want: forge.ErrGone},
		"GitLab has not checked yet":    {prepare: conflict, unchecked: true, want: pull.ErrUnchecked},
		"it conflicts":                  {prepare: conflict, want: forge.ErrConflict},
		"it is behind, and must not be": {prepare: func(s site) { s.push("main", "b", "b\n"); set(func(o *servers.Settings) { o.MergeMethod = "ff" })(s) }, want: forge.ErrConflict},
		"it is a draft":                 {prepare: draft, says: "the project's rules do not let it be merged: draft status"},
		"a pipeline must succeed":       {prepare: set(func(o *servers.Settings) { o.PipelinesMustSucceed = true }), says: "ci must pass"},
		"an approval is required":       {prepare: set(func(o *servers.Settings) { o.Approvals = 1 }), says: "not approved"},
		"the server has no such method": {prepare: func(site) {}, method: pull.Rebase, says: "GitLab cannot merge by rebase"},
		"the branch is protected":       {prepare: func(s site) { s.Protect(fleet, "main", servers.Maintainer) }, kind: forge.FailedAuth, says: "allow their user to merge into the protected branch"},
		"the project is archived":       {prepare: set(func(o *servers.Settings) { o.Archived = true }), says: "unarchive it"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			r := s.open("a")
			s.CheckedAfter(map[bool]int{true: 9}[tc.unchecked])
			tc.prepare(s)
			method, kind := tc.method, tc.kind
			if method == "" {
				method = pull.MergeCommit
			}
			if kind == "" {
				kind = forge.FailedOther
			}
			err := s.api.Merge(t.Context(), r.Number, pull.Merge{Method: method, Head: r.Head})
			if tc.want != nil && !errors.Is(err, tc.want) || tc.want == nil && !forge.IsFailure(err, kind) || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got %v, want %v %q", err, tc.want, tc.says)
			}
		})
	}
}

func conflict(s site) { s.push("main", "a.yaml", "other\n") }
func draft(s site)    { must(s.T, s.As("ann").Rewrite(fleet, 1, "Draft: A", "")) }

func TestAPipelineThatSucceedsLetsMerge(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.CheckedAfter(0)
	s.Configure(fleet, func(o *servers.Settings) { o.PipelinesMustSucceed = true })
	r := s.open("a")
	how := pull.Merge{Method: pull.MergeCommit, Head: r.Head}
	for _, passed := range []bool{false, true} {
		must(t, s.api.SetStatus(t.Context(), r.Head, pull.Status{Context: "furrow/gate", Passed: passed}))
		if err := s.api.Merge(t.Context(), r.Number, how); (err == nil) != passed {
			t.Errorf("the gate passed: %v, and the merge: %v", passed, err)
		}
	}
}

func TestAMergeOfNothingIsGone(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	if err := s.api.Merge(t.Context(), 7, pull.Merge{Method: pull.Squash, Head: git.Hash{1}}); !forge.IsGone(err) {
		t.Error(err)
	}
}

func TestWhatIsRefusedForNowIsNotAConflict(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.open("a")
	s.CheckedAfter(0)
	for status, said := range map[int]string{
		http.StatusMethodNotAllowed: "405 Method Not Allowed", http.StatusNotAcceptable: "Branch cannot be merged", http.StatusUnprocessableEntity: "Branch cannot be merged",
	} {
		api := newServer(t, s.GitURL(fleet), s.Token("bot", "api"), rest.PrivateToken, instead{http.MethodPut, status, `{"message":"` + said + `"}`})
		if err := api.Merge(t.Context(), r.Number, pull.Merge{Method: pull.Squash, Head: r.Head}); !errors.Is(err, pull.ErrUnchecked) {
			t.Errorf("%d: %v", status, err)
		}
	}
}

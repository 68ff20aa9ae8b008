package gitlab_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/forgetest"
	"github.com/furrow-dev/furrow/internal/forge/pull"
	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/test/gitcmd"
	"github.com/furrow-dev/furrow/test/people"
	servers "github.com/furrow-dev/furrow/test/servers/gitlab"
)

func TestMain(m *testing.M) { gitcmd.Main(m) }

func TestContract(t *testing.T) {
	forgetest.Run(t, func(t *testing.T) forgetest.Fixture {
		t.Helper()
		s := newSite(t)
		ann := person{s, t.TempDir()}
		gitcmd.Run(t, "", "clone", "--quiet", strings.Replace(s.GitURL(fleet), "://", "://ann:"+s.Token("ann", "api")+"@", 1), ann.dir)
		mirror := s.mirror()
		return forgetest.Fixture{
			Forge: s.forge(mirror), Mirror: mirror, Base: "main", Person: ann,
			MergeMethods: map[forgetest.MergeMethod]bool{
				forgetest.MergeCommit: true, forgetest.FastForward: true, forgetest.Rebase: true,
				forgetest.RebaseMerge: true, forgetest.Squash: true,
			},
			ReportsMerge: true,
			Closes:       true,
			Delete:       func(t *testing.T, branch string) { t.Helper(); s.As("ann").DeleteBranch(fleet, branch) },
			Reopen:       func(t *testing.T, p forge.Proposal) { t.Helper(); must(t, s.As("ann").Reopen(fleet, int(p.Number))) },
			Closed: func(t *testing.T, p forge.Proposal) bool {
				t.Helper()
				r, err := s.api.Get(t.Context(), p.Number)
				must(t, err)
				return r.State == pull.Closed
			},
			Gate: func(t *testing.T, p forge.Proposal) (bool, string) {
				t.Helper()
				state, why, ref := s.Status(fleet, p.Head.String(), "furrow/gate")
				if state != "" && ref != p.Branch {
					t.Fatalf("the gate of %s is on %q", p.Branch, ref)
				}
				return state == "success" || state == "", why // base does not require it
			},
			Labels: func(t *testing.T, p forge.Proposal) []string {
				t.Helper()
				r, err := s.api.Get(t.Context(), p.Number)
				must(t, err)
				return r.Labels
			},
			Other: func(t *testing.T) forge.Forge { t.Helper(); return s.forge(mirror) },
		}
	})
}

func (s site) mirror() *git.Mirror {
	s.Helper()
	m, err := git.Open(s.Context(), filepath.Join(s.TempDir(), "mirror"), git.Remote{URL: s.GitURL(fleet), Token: s.Token("bot", "api")})
	must(s.T, err)
	s.Cleanup(func() { _ = m.Close() })
	return m
}

// forge is the repository as a new process has it.
func (s site) forge(m *git.Mirror) forge.Forge {
	s.Helper()
	return pull.New(s.as(s.Token("bot", "api")), m, pull.Options{Base: "main"})
}

// person is somebody with a clone, and in front of GitLab's pages.
type person struct {
	site
	dir string
}

func (p person) git(args ...string) {
	p.Helper()
	gitcmd.Run(p.T, p.dir, args...)
}

// work checks out a branch as it is on the server, changes it, and pushes it. One that is not there
// is made from base.
func (p person) work(branch string, files map[string]string, args ...string) {
	p.Helper()
	from := "origin/" + branch
	p.git("fetch", "--quiet", "--prune")
	if p.Branch(fleet, branch) == "" {
		from = "origin/main"
	}
	p.git("checkout", "--quiet", "--detach", from)
	people.Change(p.T, p.dir, files)
	p.git(args...)
	p.git("push", "--quiet", "--force", "origin", "HEAD:refs/heads/"+branch)
}

func (p person) Commit(t *testing.T, branch string, files map[string]string) {
	t.Helper()
	p.work(branch, files, "commit", "--quiet", "-m", "Work by hand")
}

func (p person) Amend(t *testing.T, branch string, files map[string]string) {
	t.Helper()
	p.work(branch, files, "commit", "--quiet", "--amend", "--no-edit")
}

func (p person) Update(t *testing.T, branch string) {
	t.Helper()
	p.work(branch, nil, "merge", "--quiet", "--no-edit", "origin/main")
}

func (p person) Reset(t *testing.T, branch string, to git.Hash) {
	t.Helper()
	p.As("ann").ForcePush(fleet, branch, to.String())
}

// Merge merges by the method of the project, which is changed for that.
func (p person) Merge(t *testing.T, proposal forge.Proposal, method forgetest.MergeMethod) {
	t.Helper()
	set := func(name string) { p.Configure(fleet, func(o *servers.Settings) { o.MergeMethod = name }) }
	defer set("merge")
	switch method {
	case forgetest.FastForward:
		set("ff")
	case forgetest.Rebase:
		set("ff")
		must(t, p.As("ann").Rebase(fleet, int(proposal.Number)))
	case forgetest.RebaseMerge:
		set("rebase_merge")
		must(t, p.As("ann").Rebase(fleet, int(proposal.Number)))
	}
	must(t, p.As("ann").Merge(fleet, int(proposal.Number), method == forgetest.Squash))
}

func (p person) Close(t *testing.T, proposal forge.Proposal, reason string) {
	t.Helper()
	must(t, p.As("ann").Comment(fleet, int(proposal.Number), reason))
	must(t, p.As("ann").Close(fleet, int(proposal.Number)))
}

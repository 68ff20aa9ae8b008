package github_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/forgetest"
	"github.com/furrow-dev/furrow/internal/forge/pull"
	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/test/gitcmd"
)

func TestMain(m *testing.M) { gitcmd.Main(m) }

func TestContract(t *testing.T) {
	forgetest.Run(t, func(t *testing.T) forgetest.Fixture {
		t.Helper()
		s := newSite(t)
		ann := person{s, t.TempDir()}
		gitcmd.Run(t, "", "clone", "--quiet", strings.Replace(s.GitURL(fleet), "://", "://ann:"+s.Token("ann", "repo")+"@", 1), ann.dir)
		mirror := s.mirror()
		return forgetest.Fixture{
			Forge: s.forge(mirror), Mirror: mirror, Base: "main", Person: ann,
			MergeMethods: map[forgetest.MergeMethod]bool{forgetest.MergeCommit: true, forgetest.Squash: true, forgetest.Rebase: true},
			ReportsMerge: true,
			Closes:       true,
			Delete:       func(t *testing.T, branch string) { t.Helper(); must(t, s.As("ann").DeleteBranch(fleet, branch)) },
			Reopen:       func(t *testing.T, p forge.Proposal) { t.Helper(); must(t, s.As("ann").Reopen(fleet, int(p.Number))) },
			Closed: func(t *testing.T, p forge.Proposal) bool {
				t.Helper()
				r, err := s.api.Get(t.Context(), p.Number)
				must(t, err)
				return r.State == pull.Closed
			},
			Gate: func(t *testing.T, p forge.Proposal) (bool, string) {
				t.Helper()
				state, why := s.Status(fleet, p.Head.String(), "furrow/gate")
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
	m, err := git.Open(s.Context(), filepath.Join(s.TempDir(), "mirror"), git.Remote{URL: s.GitURL(fleet), Token: s.Token("bot", "repo")})
	must(s.T, err)
	s.Cleanup(func() { _ = m.Close() })
	return m
}

// forge is the repository as a new process has it.
func (s site) forge(m *git.Mirror) forge.Forge {
	s.Helper()
	return pull.New(s.as(s.Token("bot", "repo")), m, pull.Options{Base: "main"})
}

// person is somebody with a clone, and in front of GitHub's pages.
type person struct {
	site
	dir string
}

func (p person) git(args ...string) {
	p.Helper()
	gitcmd.Run(p.T, p.dir, args...)
}

// checkOut takes a branch as it is on the server; one that is not there is made from base.
func (p person) checkOut(branch string) {
	p.Helper()
	from := "origin/" + branch
	p.git("fetch", "--quiet", "--prune")
	if p.Branch(fleet, branch) == "" {
		from = "origin/main"
	}
	p.git("checkout", "--quiet", "--detach", from)
}

// change writes files and stages them; those without content are removed.
func (p person) change(files map[string]string) {
	p.Helper()
	for name, content := range files {
		at := filepath.Join(p.dir, filepath.FromSlash(name))
		if content == "" {
			p.git("rm", "--quiet", name)
			continue
		}
		must(p.T, os.MkdirAll(filepath.Dir(at), 0o750))
		must(p.T, os.WriteFile(at, []byte(content), 0o600))
		p.git("add", name)
	}
}

func (p person) send(branch string) {
	p.Helper()
	p.git("push", "--quiet", "--force", "origin", "HEAD:refs/heads/"+branch)
}

func (p person) Commit(t *testing.T, branch string, files map[string]string) {
	t.Helper()
	p.checkOut(branch)
	p.change(files)
	p.git("commit", "--quiet", "-m", "Work by hand")
	p.send(branch)
}

func (p person) Amend(t *testing.T, branch string, files map[string]string) {
	t.Helper()
	p.checkOut(branch)
	p.change(files)
	p.git("commit", "--quiet", "--amend", "--no-edit")
	p.send(branch)
}

func (p person) Update(t *testing.T, branch string) {
	t.Helper()
	p.checkOut(branch)
	p.git("merge", "--quiet", "--no-edit", "origin/main")
	p.send(branch)
}

func (p person) Reset(t *testing.T, branch string, to git.Hash) {
	t.Helper()
	p.As("ann").ForcePush(fleet, branch, to.String())
}

func (p person) Merge(t *testing.T, proposal forge.Proposal, method forgetest.MergeMethod) {
	t.Helper()
	names := map[forgetest.MergeMethod]string{forgetest.MergeCommit: "merge", forgetest.Squash: "squash", forgetest.Rebase: "rebase"}
	must(t, p.As("ann").Merge(fleet, int(proposal.Number), names[method]))
}

func (p person) Close(t *testing.T, proposal forge.Proposal, reason string) {
	t.Helper()
	must(t, p.As("ann").Comment(fleet, int(proposal.Number), reason))
	must(t, p.As("ann").Close(fleet, int(proposal.Number)))
}

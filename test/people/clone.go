package people

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/forgetest"
	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/test/gitcmd"
)

// Clone is a Person without a server's pages, who works in a new work tree of a bare repository for
// all they do.
type Clone struct{ Bare string }

// CheckOut makes a work tree at a branch; a new one starts at main.
func (p Clone) CheckOut(t *testing.T, branch string) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "work")
	from := "refs/heads/" + branch
	if exec.Command("git", "-C", p.Bare, "rev-parse", "--verify", "--quiet", from).Run() != nil {
		from = "refs/heads/main"
	}
	gitcmd.Run(t, p.Bare, "worktree", "add", "--quiet", "--detach", dir, from)
	return dir
}

// Push moves a branch to what is in a work tree.
func Push(t *testing.T, dir, branch string) {
	t.Helper()
	gitcmd.Run(t, dir, "update-ref", "refs/heads/"+branch, "HEAD")
}

// Change writes files into a work tree and stages them.
func Change(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if content == "" {
			gitcmd.Run(t, dir, "rm", "--quiet", name)
			continue
		}
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		gitcmd.Run(t, dir, "add", name)
	}
}

// Commit pushes a commit on top of a branch.
func (p Clone) Commit(t *testing.T, branch string, files map[string]string) {
	t.Helper()
	dir := p.CheckOut(t, branch)
	Change(t, dir, files)
	gitcmd.Run(t, dir, "commit", "--quiet", "-m", "Work by hand")
	Push(t, dir, branch)
}

// Amend replaces the last commit of a branch.
func (p Clone) Amend(t *testing.T, branch string, files map[string]string) {
	t.Helper()
	dir := p.CheckOut(t, branch)
	Change(t, dir, files)
	gitcmd.Run(t, dir, "commit", "--quiet", "--amend", "--no-edit")
	Push(t, dir, branch)
}

// Update merges base into a branch.
func (p Clone) Update(t *testing.T, branch string) {
	t.Helper()
	dir := p.CheckOut(t, branch)
	gitcmd.Run(t, dir, "merge", "--quiet", "--no-edit", "main")
	Push(t, dir, branch)
}

// Merge merges a branch into base.
func (p Clone) Merge(t *testing.T, proposal forge.Proposal, method forgetest.MergeMethod) {
	t.Helper()
	dir := p.CheckOut(t, "main")
	from := proposal.Branch
	switch method {
	case forgetest.MergeCommit:
		gitcmd.Run(t, dir, "merge", "--quiet", "--no-ff", "--no-edit", from)
	case forgetest.FastForward:
		gitcmd.Run(t, dir, "merge", "--quiet", "--ff-only", from)
	case forgetest.Squash:
		gitcmd.Run(t, dir, "merge", "--quiet", "--squash", from)
		gitcmd.Run(t, dir, "commit", "--quiet", "-m", "Plant it")
	case forgetest.Rebase:
		gitcmd.Run(t, dir, "cherry-pick", "main.."+from)
	default:
		t.Fatalf("%s is not a merge method of plain Git", method)
	}
	Push(t, dir, "main")
}

// Reset moves a branch by force.
func (p Clone) Reset(t *testing.T, branch string, to git.Hash) {
	t.Helper()
	gitcmd.Run(t, p.Bare, "update-ref", "refs/heads/"+branch, to.String())
}

// Close is what a person without Furrow does, with git alone.
func (p Clone) Close(t *testing.T, proposal forge.Proposal, reason string) {
	t.Helper()
	dir := p.CheckOut(t, proposal.Branch)
	gitcmd.Run(t, dir, "commit", "--quiet", "--allow-empty", "-m", reason, "--trailer", forge.TrailerRejected+": "+proposal.Digest)
	Push(t, dir, proposal.Branch)
}

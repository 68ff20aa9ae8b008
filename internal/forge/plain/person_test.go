package plain_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/forgetest"
)

// person is somebody who makes a clone of a bare repository for all they do.
type person struct{ bare string }

// run runs git in dir and gives its trimmed output.
func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %s: %v\n%s%s", strings.Join(args, " "), err, stderr.String(), out)
	}
	return strings.TrimSpace(string(out))
}

// checkOut makes a clone with a branch in its work tree; a new one starts at main.
func (p person) checkOut(t *testing.T, branch string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	run(t, dir, "clone", "--quiet", "--shared", "--no-checkout", p.bare, ".")
	from := "origin/main"
	if exec.Command("git", "-C", dir, "rev-parse", "--verify", "--quiet", "origin/"+branch).Run() == nil {
		from = "origin/" + branch
	}
	if exec.Command("git", "-C", dir, "rev-parse", "--verify", "--quiet", from).Run() == nil {
		run(t, dir, "checkout", "--quiet", "-B", branch, from)
	}
	return dir
}

// change writes files into a work tree and stages them.
func change(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if content == "" {
			run(t, dir, "rm", "--quiet", name)
			continue
		}
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		run(t, dir, "add", name)
	}
}

func (p person) Commit(t *testing.T, branch string, files map[string]string) {
	t.Helper()
	dir := p.checkOut(t, branch)
	change(t, dir, files)
	run(t, dir, "commit", "--quiet", "-m", "Work by hand")
	run(t, dir, "push", "--quiet", "origin", "HEAD:refs/heads/"+branch)
}

func (p person) Amend(t *testing.T, branch string, files map[string]string) {
	t.Helper()
	dir := p.checkOut(t, branch)
	change(t, dir, files)
	run(t, dir, "commit", "--quiet", "--amend", "--no-edit")
	run(t, dir, "push", "--quiet", "--force", "origin", "HEAD:refs/heads/"+branch)
}

func (p person) Update(t *testing.T, branch string) {
	t.Helper()
	dir := p.checkOut(t, branch)
	run(t, dir, "merge", "--quiet", "--no-edit", "origin/main")
	run(t, dir, "push", "--quiet", "origin", "HEAD:refs/heads/"+branch)
}

func (p person) Merge(t *testing.T, proposal forge.Proposal, way forgetest.Way) {
	t.Helper()
	dir := p.checkOut(t, "main")
	from := "origin/" + proposal.Branch
	switch way {
	case forgetest.MergeCommit:
		run(t, dir, "merge", "--quiet", "--no-ff", "--no-edit", from)
	case forgetest.FastForward:
		run(t, dir, "merge", "--quiet", "--ff-only", from)
	case forgetest.Squash:
		run(t, dir, "merge", "--quiet", "--squash", from)
		run(t, dir, "commit", "--quiet", "-m", "Plant it")
	case forgetest.Rebase:
		run(t, dir, "cherry-pick", "main.."+from)
	default:
		t.Fatalf("%s is no way of plain Git", way)
	}
	run(t, dir, "push", "--quiet", "origin", "HEAD:refs/heads/main")
}

// Close is what a person without Furrow does, with git alone.
func (p person) Close(t *testing.T, proposal forge.Proposal, reason string) {
	t.Helper()
	dir := p.checkOut(t, proposal.Branch)
	run(t, dir, "commit", "--quiet", "--allow-empty", "-m", reason, "--trailer", forge.TrailerRejected+": "+proposal.Wants)
	run(t, dir, "push", "--quiet", "origin", "HEAD:refs/heads/"+proposal.Branch)
}

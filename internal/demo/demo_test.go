package demo

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func prepared(t *testing.T) Repositories {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("SKIPPED: git is not installed, so the demo's repositories are not made")
	}
	p, again, err := Prepare(t.Context(), filepath.Join(t.TempDir(), "demo"))
	if err != nil || again {
		t.Fatalf("Prepare: again %v, %v", again, err)
	}
	return p
}

func ask(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func TestTheRepositoriesAreReadyForARun(t *testing.T) {
	p := prepared(t)
	if left := ask(t, p.ControlPlane(), "status", "--porcelain"); left != "" {
		t.Errorf("the control plane is not committed:\n%s", left)
	}
	roots := "clusters/mgmt/README.md\nclusters/site-a/README.md\nclusters/site-b/README.md"
	if got := ask(t, p.GitOps(), "ls-tree", "-r", "--name-only", "main"); got != roots {
		t.Errorf("the GitOps repository holds:\n%s", got)
	}
	if _, err := os.Stat(p.UpdateFile()); err != nil {
		t.Errorf("the next version of the seed: %v", err)
	}
}

func TestADemoThatIsThereIsLeftAsItIs(t *testing.T) {
	p := prepared(t)
	before := ask(t, p.ControlPlane(), "rev-parse", "HEAD")
	again, resumes, err := Prepare(t.Context(), p.Dir)
	if err != nil || !resumes || again != p {
		t.Errorf("Prepare: %v, resumes %v, %v", again, resumes, err)
	}
	if after := ask(t, p.ControlPlane(), "rev-parse", "HEAD"); after != before {
		t.Errorf("the control plane moved from %s to %s", before, after)
	}
}

func TestADirectoryWithSomethingElseIsRefused(t *testing.T) {
	p := prepared(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "letter.txt"), []byte("dear Ann"), 0o644); err != nil {
		t.Fatal(err)
	}
	for sentence, dir := range map[string]string{"a directory of somebody's": dir, "a part of the demo": p.ControlPlane()} {
		if _, _, err := Prepare(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "is not empty and holds no demo; name another directory with --dir") {
			t.Errorf("%s: %v", sentence, err)
		}
	}
}

func TestAnUpdateIsOneCommitOfTheSeedAlone(t *testing.T) {
	p := prepared(t)
	if err := p.Update(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := ask(t, p.ControlPlane(), "diff", "--name-only", "HEAD~1", "HEAD"); got != "seeds/edge-5g.yaml" {
		t.Errorf("the commit changes:\n%s", got)
	}
}

func TestADemoThatIsInterruptedSaysSo(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, _, err := Prepare(ctx, filepath.Join(t.TempDir(), "demo")); err == nil {
		t.Error("it claims to be ready")
	}
}

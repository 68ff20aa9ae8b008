package cli

import (
	"os"
	"strings"
	"testing"
)

// forge replaces a branch by a commit on main with the message and the files of the one that is there,
// after somebody has changed the files in the clone work.
func (p *workspace) forge(branch string, change func()) {
	p.t.Helper()
	p.git("work", "fetch", "--quiet", "origin", branch)
	message := p.git("work", "log", "-1", "--format=%B", "FETCH_HEAD")
	theirs := p.git("work", "rev-parse", "FETCH_HEAD")
	p.git("work", "fetch", "--quiet", "origin", "main")
	p.git("work", "reset", "--quiet", "--hard", "FETCH_HEAD")
	p.git("work", "checkout", "--quiet", theirs, "--", ".")
	change()
	p.git("work", "add", "--all")
	p.git("work", "commit", "--quiet", "--message="+message)
	p.git("work", "push", "--quiet", "--force", "origin", "HEAD:"+branch)
}

func TestAForgedProposalIsShownAndNotMerged(t *testing.T) {
	t.Parallel()
	const branch, reconciler = "furrow/main/tier/web/east/00", "clusters/east/furrow/web/tier-00.yaml"
	for name, tc := range map[string]struct {
		change func(*workspace)
		// says is what it is said to change.
		says string
	}{
		"another object": {func(p *workspace) {
			p.write("work", map[string]string{"planted/east/web/tier-00/evil.yaml": "kind: ConfigMap\n"})
		}, "holds something else than planned at planted/east/web/tier-00"},
		"a file elsewhere":      {func(p *workspace) { p.write("work", map[string]string{"clusters/east/evil.yaml": "kind: ConfigMap\n"}) }, "also changes clusters/east/evil.yaml"},
		"an executable of ours": {func(p *workspace) { p.chmod("work/" + reconciler) }, "holds something else than planned at " + reconciler},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newWorkspace(t, map[string]string{"seeds/web.yaml": webSeed})
			p.pass()
			p.forge(branch, func() { tc.change(p) })
			refuse := func() {
				t.Helper()
				mustContain(t, p.must("pr", "list"), "web/east/00  Edited  ")
				mustContain(t, strings.Join(strings.Fields(p.must("pr", "show", "web/east/00")), " "), "do not merge yet: commit ")
				p.refused("web/east/00 is not merged: commit ", "pr", "merge", "web/east/00")
				p.refused(tc.says, "pr", "merge", "web/east/00", "--force")
			}
			refuse() // as the branch is now, whatever the last pass has reported
			p.pass()
			refuse()
			mustContain(t, p.states(), "east tier 00  Held (do not merge)  commit ", tc.says)
			p.refused("web/east/00 is not merged: commit ", "pr", "merge", "--all")
			if files := p.git("fleet.git", "ls-tree", "-r", "--name-only", "main"); strings.Contains(files, "evil") || strings.Contains(files, reconciler) {
				t.Errorf("base has\n%s", files)
			}
			p.git("fleet.git", "update-ref", "-d", "refs/heads/"+branch)
			p.plant("Seed web: Released\n")
		})
	}
}

func TestMergeAllLeavesOutWhatAPersonHasEdited(t *testing.T) {
	t.Parallel()
	p := newWorkspace(t, map[string]string{"seeds/web.yaml": webSeed})
	p.pass()
	p.commitTo("furrow/main/tier/web/east/00", map[string]string{"planted/east/web/tier-00/mine.yaml": "kind: ConfigMap\n"})
	mustContain(t, p.must("pr", "merge", "--all"), "Left out: 1 proposal that a person has edited.", "Merged furrow/main/tier/web/west/00 ")
}

func (p *workspace) chmod(file string) {
	p.t.Helper()
	if err := os.Chmod(p.at(file), 0o755); err != nil { //nolint:gosec // G302: the mode is what the test is about
		p.t.Fatal(err)
	}
}

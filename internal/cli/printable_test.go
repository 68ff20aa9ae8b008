package cli

import (
	"regexp"
	"strings"
	"testing"
)

// acting is what a terminal acts on, or what turns the direction of text.
var acting = regexp.MustCompile("[\x00-\x08\x0b-\x1f\x7f\u0080-\u009f\u202a-\u202e\u2066-\u2069\u200b]")

func TestTextOfPeopleReachesNoTerminalOrLogAsItIs(t *testing.T) {
	t.Parallel()
	const act = "x\x1b]0;pwn\a\x1b[2J\u202e\u009b1m\x7f"
	const shown = `x\x1b]0;pwn\a\x1b[2J\u202e\u009b1m\x7f`
	p := newWorkspace(t, map[string]string{"seeds/web.yaml": webSeed})
	p.pass()
	p.git("work", "fetch", "--quiet", "origin")
	p.git("work", "checkout", "--quiet", "-B", "theirs", "origin/furrow/main/tier/web/west/00")
	p.git("work", "commit", "--quiet", "--allow-empty", "--author="+act+" <"+act+"@example.com>", "--message="+act)
	p.git("work", "push", "--quiet", "--force", "origin", "HEAD:furrow/main/tier/web/west/00", "HEAD:furrow/main/tier/web/west/01")
	p.must("pr", "reject", "web/east/00", "--reason", act)
	if message := p.git("fleet.git", "log", "-1", "--format=%B", "furrow/main/tier/web/east/00"); !strings.Contains(message, shown) || acting.MatchString(message) {
		t.Errorf("the commit that rejects says %q", message)
	}
	pages := p.pass()
	for _, command := range []string{"status", "pr list", "pr show web/east/00", "pr show web/west/00", "pr show web/west/01", "pr merge " + act, "explain " + act, "retry " + act, "run --once --simulate", act} {
		pages += p.furrow(strings.Split(command, " ")...).all()
	}
	mustContain(t, pages, "a person rejected it: "+shown+". ", "Foreign   "+shown)
	if at := acting.FindStringIndex(pages); at != nil {
		t.Errorf("a control character is in %q", pages[max(0, at[0]-80):min(len(pages), at[1]+80)])
	}
}

func TestARejectionWrittenByHandIsPrinted(t *testing.T) {
	t.Parallel()
	p := newWorkspace(t, map[string]string{"seeds/web.yaml": webSeed})
	p.pass()
	p.git("work", "fetch", "--quiet", "origin")
	p.git("work", "checkout", "--quiet", "-B", "theirs", "origin/furrow/main/tier/web/east/00")
	digest := p.git("work", "log", "-1", "--format=%(trailers:key=Furrow-Digest,valueonly)")
	p.git("work", "commit", "--quiet", "--allow-empty", "--message=no \x1b[2J\a\n\nFurrow-Rejected: "+digest)
	p.git("work", "push", "--quiet", "origin", "HEAD:furrow/main/tier/web/east/00")
	pages := p.pass() + p.must("status") + p.must("status", "-o", "yaml") + p.must("pr", "show", "web/east/00")
	mustContain(t, pages, `a person rejected it: no \x1b[2J\a`)
	if acting.MatchString(pages) {
		t.Errorf("a control character is in %q", pages)
	}
}

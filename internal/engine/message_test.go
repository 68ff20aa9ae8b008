package engine_test

import (
	"regexp"
	"strings"
	"testing"
)

// TestTextFromSeedsIsEscapedInProposalsAndCommits proposes a tier whose objects have names that RBAC allows and
// forges act on, and that waits for another by an annotation with the like in it.
func TestTextFromSeedsIsEscapedInProposalsAndCommits(t *testing.T) {
	w := newWorld(t, fleet{workload: []string{"site-a"}})
	w.control.put("main", "add a hostile seed", map[string]string{"seeds/web.yaml": `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "x` + "`" + `<img src=evil>|y @all closes #1 [skip ci]"}
rules: []
---
apiVersion: v1
kind: Namespace
metadata: {name: a}
---
apiVersion: v1
kind: Namespace
metadata:
  name: b
  annotations:
    planter.nephio.org/cluster: SELF
    planter.nephio.org/dependencies: "v1` + "`" + `<img src=evil>\n\n# closes #3 @all\u202e\nFurrow-Superseded: yes|Namespace||a"
`})
	raw := regexp.MustCompile(`@all|#\d|\[skip|src=evil>\||\x{202e}|(?m)^(# |Furrow-Superseded)`)
	seen := map[string]bool{}
	for range 10 {
		w.pass()
		for _, p := range w.open() {
			for what, text := range map[string]string{"text": p.Title + "\n" + p.Body, "commit": w.gitops.commits[p.Head].Message} {
				if found := raw.FindString(text); found != "" {
					t.Errorf("the %s of %s has %q:\n%s", what, p.Branch, found, text)
				}
				seen["the name in the "+what] = seen["the name in the "+what] || strings.Contains(text, "/x\\x60<img src=evil>\\x7cy @\u200ball closes #\u200b1")
				if lines := strings.Split(strings.TrimSpace(text), "\n\nFurrow-Seed: "); what == "commit" && strings.Count(lines[0], "\n") > 9 {
					t.Errorf("the commit of %s has more than ten lines:\n%s", p.Branch, text)
				}
				seen["the reason in the "+what] = seen["the reason in the "+what] || strings.Contains(text, `(declared: planter.nephio.org/dependencies: v1\x60<img src=evil>\n\n#`)
			}
			w.merge(p)
		}
		w.tick()
	}
	for _, want := range []string{"the name in the text", "the name in the commit", "the reason in the text"} {
		if !seen[want] {
			t.Errorf("no proposal shows %s:\n%s", want, w.describe())
		}
	}
}

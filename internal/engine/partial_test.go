package engine_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/git"
)

// mustHaveAllBlobs asserts that a repository has all that its plan branches hold: a server
// refuses a push with objects that neither it has nor the push brings.
func (e *estate) mustHaveAllBlobs(repo string) {
	e.t.Helper()
	m := e.repos[repo]
	for branch, at := range m.refs {
		if _, ok := layout.PlanSeed("main", branch); !ok {
			continue
		}
		for file, blob := range m.trees[m.commits[at].Tree] {
			if _, has := m.blobs[blob]; !has {
				e.t.Errorf("%s of repository %s has %s, whose content never came there", branch, repo, file)
			}
		}
	}
}

// TestAPlanThatReachedOneRepositoryAlone pushes a plan to two repositories, the second push fails, and then people
// change the seed.
func TestAPlanThatReachedOneRepositoryAlone(t *testing.T) {
	both := func(docs ...string) string { return strings.Join(docs, "---\n") }
	for name, tc := range map[string]struct {
		// before is planted everywhere, lost is what one repository alone has received, and after what comes then.
		before, lost, after string
		// want are the objects in the end.
		want []string
	}{
		"a new object leaves again": {
			before: plainSeed("c", 1, ""), lost: both(plainSeed("c", 1, ""), plainSeed("d", 1, "")), after: plainSeed("c", 2, ""), want: []string{"c:v2"},
		},
		"a new seed loses an object": {
			lost: both(plainSeed("c", 1, ""), plainSeed("d", 1, "")), after: plainSeed("c", 1, ""), want: []string{"c:v1"},
		},
		"an object that has changed leaves": {
			before: both(plainSeed("c", 1, ""), plainSeed("d", 1, "")), lost: both(plainSeed("c", 1, ""), plainSeed("d", 2, "")), after: plainSeed("c", 1, ""), want: []string{"c:v1"},
		},
		"an object that left is back": {
			before: both(plainSeed("c", 1, ""), plainSeed("d", 1, "")), lost: plainSeed("c", 2, ""), after: both(plainSeed("c", 1, ""), plainSeed("d", 3, "")), want: []string{"c:v1", "d:v3"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEstate(t, twoSites())
			furrow := e.engine(rival{})
			if tc.before != "" {
				e.plant(seeds{"web": tc.before})
				e.rounds(8, furrow)
			}
			e.onPush = func(repo string, _ []git.Update) error {
				if repo == "b" {
					return manifest.Problem{Reason: v1alpha1.ReasonRepositoryFailed, Message: "the disk is full"}
				}
				return nil
			}
			had := maps.Clone(e.repos["b"].blobs)
			e.plant(seeds{"web": tc.lost})
			e.pass(furrow)
			e.onPush, e.repos["b"].blobs = nil, had // what was written there is lost with the cache
			e.plant(seeds{"web": tc.after})
			for range 20 {
				e.pass(furrow)
				e.mustHaveAllBlobs("b")
				e.mergeAll()
				e.tick()
			}
			for repo, site := range map[string]string{"a": "site-a", "b": "site-b"} {
				var got []string
				files := e.repos[repo].files()
				for _, object := range []string{"c", "d"} {
					text, there := files["planted/"+site+"/web/tier-00/configmap."+object+".yaml"]
					if _, version, _ := strings.Cut(text, "version: "); there {
						got = append(got, object+":"+version[:2])
					}
				}
				if strings.Join(got, " ") != strings.Join(tc.want, " ") {
					t.Errorf("repository %s has %v, want %v\n%s", repo, got, tc.want, describe(e.report, e.simulator))
				}
			}
			if !e.report.Done() {
				t.Errorf("it does not come to rest:\n%s", describe(e.report, e.simulator))
			}
		})
	}
}

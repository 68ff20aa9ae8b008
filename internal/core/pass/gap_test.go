package pass_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/pass"
)

// threeTiers are three objects; each waits for the one before.
func threeTiers(version int) []string {
	return append(chain(version, "east"), configMap("third", version, on("east"), after("second")))
}

// rewind moves main by force to a commit that no merge is on, on which some tiers are as they were before.
func (f *fleet) rewind(before map[string]layout.Hash, dirs ...string) {
	r := f.repos["a"]
	files := maps.Clone(r.commits[r.refs["main"]].files)
	for _, dir := range dirs {
		for _, root := range []string{"planted/east/web/" + dir + "/", "clusters/east/furrow/web/" + dir + ".yaml"} {
			maps.DeleteFunc(files, func(at string, _ layout.Hash) bool { return strings.HasPrefix(at, root) })
			for at, hash := range before {
				if strings.HasPrefix(at, root) {
					files[at] = hash
				}
			}
		}
	}
	r.refs["main"] = r.commit(layout.Hash{}, files)
}

// TestAForcePushThatDropsATierShutsTheGatesBehindIt has base, or the control plane, moved by force while
// later tiers are merged.
func TestAForcePushThatDropsATierShutsTheGatesBehindIt(t *testing.T) {
	cases := map[string]struct {
		arrange func(f *fleet)
		want    []string
		gate    bool // whether the third tier has an open proposal
	}{
		"while the last tier is proposed": {
			func(f *fleet) { f.step(); f.rewind(nil, "tier-00") },
			[]string{"web/east/00 Reverted Reverted", "web/east/01 Released Healthy", "web/east/02 Proposed WaitingForTier"}, true,
		},
		"before the last tier is proposed": {
			func(f *fleet) { f.rewind(nil, "tier-00") },
			[]string{"web/east/00 Reverted Reverted", "web/east/01 Released Healthy", "web/east/02 Blocked WaitingForTier"}, false,
		},
		"and nobody knows of the merge any more": {
			func(f *fleet) { f.step(); f.rewind(nil, "tier-00"); f.repos["a"].closed = map[string]closed{} },
			[]string{"web/east/00 Queued Proposing", "web/east/01 Released Healthy", "web/east/02 Proposed WaitingForTier"}, true,
		},
		"and the cluster has lost it, too": {
			func(f *fleet) { f.step(); f.rewind(nil, "tier-00"); f.sync() },
			[]string{"web/east/00 Reverted Reverted", "web/east/01 Released Healthy", "web/east/02 Proposed WaitingForTier"}, true,
		},
		"in the middle": {
			func(f *fleet) { f.step(); f.mergeAll(); f.sync(); f.rewind(nil, "tier-01") },
			[]string{"web/east/00 Released Healthy", "web/east/01 Reverted Reverted", "web/east/02 Released Healthy"}, false,
		},
		"to what it was before an update": {
			func(f *fleet) {
				f.releaseAll()
				before := f.repos["a"].commits[f.repos["a"].refs["main"]].files
				f.seed("web", threeTiers(2)...)
				for range 2 {
					f.step()
					f.mergeAll()
					f.sync()
				}
				f.step()
				f.rewind(before, "tier-00")
			},
			[]string{"web/east/00 Reverted Reverted", "web/east/01 Released Healthy", "web/east/02 Proposed WaitingForTier"}, true,
		},
		"of the control plane, whose tiers are as before": {
			func(f *fleet) {
				f.releaseAll()
				f.seed("web", threeTiers(2)...)
				f.step()
				f.mergeAll()
				f.sync()
				f.step()
				f.seed("web", threeTiers(1)...)
				f.repos["a"].closed = map[string]closed{} // a forge knows that the second version was merged over the first
			},
			[]string{"web/east/00 Queued Proposing", "web/east/01 Released Healthy", "web/east/02 Released Healthy"}, false,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f := one(t)
			f.seed("web", threeTiers(1)...)
			for range 2 {
				f.step()
				f.mergeAll()
				f.sync()
			}
			c.arrange(f)
			d := f.decide()
			if diff := cmp.Diff(c.want, states(d)); diff != "" {
				t.Errorf("states (-want +got):\n%s", diff)
			}
			shut := false
			for _, a := range d.Actions {
				shut = shut || a.Verb == pass.Gate && a.Branch == "furrow/main/tier/web/east/02" && a.Why != ""
			}
			if shut != c.gate {
				t.Errorf("its gate is shut: %v, want %v", shut, c.gate)
			}
		})
	}
}

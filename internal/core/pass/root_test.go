package pass_test

import (
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/health"
	"github.com/furrow-dev/furrow/internal/core/merging"
	"github.com/furrow-dev/furrow/internal/core/pass"
	"github.com/furrow-dev/furrow/internal/core/release"
)

func TestAProposalIsMergedByAWayWhoseSignatureTheRootAccepts(t *testing.T) {
	squash, commit := merging.Way{Name: "squash", Signer: merging.ByForge}, merging.Way{Name: "merge", Signer: merging.ByForge}
	rebase := merging.Way{Name: "rebase", Signer: merging.ByFurrow, Current: true}
	for name, c := range map[string]struct {
		signing, keys string
		ways          []merging.Way
		unsigned      bool
		wantState     string
		want          []string
		wantWarned    string
	}{
		"the forge signs nothing, and only squashes": {"ours", "ours theirs", []merging.Way{squash}, true, "web/east/00 Held RootVerification", nil, ""},
		"one way of several works":                   {"ours", "ours", []merging.Way{commit, rebase, squash}, true, "web/east/00 Proposed ProposalOpen", []string{"rebase"}, "Do not allow merge commit and squash there"},
		"all ways work":                              {"ours", "ours theirs", []merging.Way{commit, rebase}, false, "web/east/00 Proposed ProposalOpen", []string{"merge", "rebase"}, ""},
		"nobody verifies anything":                   {"ours", "", []merging.Way{squash}, true, "web/east/00 Proposed ProposalOpen", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := one(t)
			f.signing, f.merging = c.signing, merging.Repository{Ways: c.ways, Unsigned: c.unsigned}
			f.onRoot = func(r *health.Root) {
				if r.SourceReady = "True"; c.keys != "" {
					r.Verify = health.Verify{Mode: "HEAD", Keys: c.keys, Secret: "flux-system/keys"}
				}
			}
			f.seed("web", configMap("first", 1, on("east")))
			f.step()
			d := f.step()
			if got := states(d); len(got) != 1 || !strings.HasPrefix(got[0], c.wantState) {
				t.Errorf("%v, want %s", got, c.wantState)
			}
			if diff := cmp.Diff(c.want, d.MergeBy["a"].Ways); diff != "" {
				t.Errorf("ways (-want +got):\n%s", diff)
			}
			next := ""
			for _, w := range d.MergeBy["a"].Warnings {
				if next = w.Next; w.Reason != v1alpha1.ReasonRootRefusesMethod {
					t.Errorf("warned of %s", w.Reason)
				}
			}
			if next != c.wantWarned {
				t.Errorf("next step %q, want %q", next, c.wantWarned)
			}
		})
	}
}

// verifies has the root of a cluster verify signatures with keys; without keys it verifies nothing.
func verifies(of map[string]string) func(*health.Root) {
	return func(r *health.Root) {
		cluster := path.Base(r.Path)
		if r.SourceReady = "True"; of[cluster] != "" {
			r.Verify = health.Verify{Mode: "HEAD", Keys: strings.TrimSuffix(of[cluster], " (refused)"), Secret: cluster + "/keys", Failed: strings.HasSuffix(of[cluster], " (refused)")}
		}
	}
}

func TestNothingIsMergedThatARootWouldRefuse(t *testing.T) {
	squash, rebase := merging.Way{Name: "squash", Signer: merging.ByForge}, merging.Way{Name: "rebase", Signer: merging.ByFurrow, Current: true}
	const east, west = "web/east/00 Proposed ", "web/west/00 Proposed "
	cases := map[string]struct {
		signing string
		ways    []merging.Way
		// before and after are the keys of each cluster's root when tiers are proposed, and later.
		before, after map[string]string
		want          []string
		wantWays      []string
	}{
		"two roots agree on one way": {"ours", []merging.Way{squash, rebase}, nil, map[string]string{"east": "ours theirs", "west": "ours"}, []string{east + "AutoMerging", west + "AutoMerging"}, []string{"rebase"}},
		"two roots agree on no way":  {"ours", []merging.Way{squash, rebase}, nil, map[string]string{"east": "theirs", "west": "ours"}, []string{east + "RootVerification", west + "RootVerification"}, nil},
		"they never did": {"ours", []merging.Way{squash, rebase}, map[string]string{"east": "theirs", "west": "ours"}, map[string]string{"east": "theirs", "west": "ours"},
			[]string{"web/east/00 Held RootVerification", "web/west/00 Held RootVerification"}, nil},
		"one root accepts no way, and Furrow has no key": {"", []merging.Way{squash, rebase}, nil, map[string]string{"east": "theirs", "west": "others"}, []string{east + "RootVerification", west + "RootVerification"}, nil},
		"one root accepts nothing any more":              {"ours", []merging.Way{squash}, nil, map[string]string{"east": "ours"}, []string{east + "RootVerification", west + "RootVerification"}, nil},
		"it refuses base already":                        {"ours", []merging.Way{squash}, nil, map[string]string{"east": "ours (refused)"}, []string{east + "AutoMerging", west + "AutoMerging"}, nil},
		"only one root verifies, and accepts one way":    {"", []merging.Way{rebase, squash}, nil, map[string]string{"west": "theirs"}, []string{east + "AutoMerging", west + "AutoMerging"}, []string{"squash"}},
		"nobody verifies":                                {"", []merging.Way{rebase, squash}, nil, nil, []string{east + "AutoMerging", west + "AutoMerging"}, nil},
	}
	for _, groupBy := range []string{"Tier", "Level"} {
		for name, c := range cases {
			t.Run(groupBy+", "+name, func(t *testing.T) {
				f := one(t)
				f.signing, f.merging, f.checks = c.signing, merging.Repository{Ways: c.ways, Keys: []string{"theirs"}}, release.Checks{State: release.ChecksPassed}
				f.seed("web", document("Seed", "web", "rollout: {groupBy: "+groupBy+", autoMerge: WhenGreen}"), configMap("first", 1))
				f.onRoot = verifies(c.before)
				f.step()
				f.onRoot = verifies(c.after)
				d := f.decide()
				if diff := cmp.Diff(c.want, states(d)); diff != "" {
					t.Errorf("states (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(c.wantWays, d.MergeBy["a"].Ways); diff != "" {
					t.Errorf("ways (-want +got):\n%s", diff)
				}
				for _, a := range d.Actions {
					if a.Verb == pass.Gate && (a.Why == "") != strings.Contains(c.want[0], "AutoMerging") {
						t.Errorf("the gate of %s: %q", a.Branch, a.Why)
					}
				}
			})
		}
	}
}

package pass_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/githash"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/pass"
	"github.com/furrow-dev/furrow/internal/core/plan"
)

func TestPreviousPlans(t *testing.T) {
	planOf := func(owner string, generation int, repos ...string) *plan.Plan {
		p := &plan.Plan{Seed: "web", Owner: owner, Generation: generation}
		for _, repo := range repos {
			p.Tiers = append(p.Tiers, plan.Tier{Cluster: "on-" + repo, Repo: repo})
		}
		return p
	}
	const ours, theirs = "acme/test", "other/test"
	failure := pass.Fail(errors.New("broken"), false)
	tests := map[string]struct {
		branches []pass.PlanOnBranch
		scope    map[string]bool
		failed   string
		// want is the plan that counts, its repositories and flags, and why the seed cannot be decided about.
		owner      string
		generation int
		commits    string
		others     string
		foreign    bool
		partial    bool
		reason     v1alpha1.Reason
	}{
		"a plan that all its repositories have is whole": {
			branches: []pass.PlanOnBranch{{Repo: "a", Plan: planOf(ours, 3, "a", "b")}, {Repo: "b", Plan: planOf(ours, 3, "a", "b")}},
			owner:    ours, generation: 3, commits: "a b",
		},
		"of two generations the newest counts, and is partial": {
			branches: []pass.PlanOnBranch{{Repo: "a", Plan: planOf(ours, 3, "a", "b")}, {Repo: "b", Plan: planOf(ours, 4, "a", "b")}},
			owner:    ours, generation: 4, commits: "a b", partial: true,
		},
		"a plan that a repository lacks is partial": {
			branches: []pass.PlanOnBranch{{Repo: "a", Plan: planOf(ours, 3, "a", "b")}},
			owner:    ours, generation: 3, commits: "a", partial: true,
		},
		"the plan of another owner is foreign": {
			branches: []pass.PlanOnBranch{{Repo: "a", Plan: planOf(theirs, 3, "a")}},
			owner:    theirs, generation: 3, commits: "a", foreign: true,
		},
		"our plan counts beside a newer one of another owner": {
			branches: []pass.PlanOnBranch{{Repo: "a", Plan: planOf(ours, 3, "a")}, {Repo: "b", Plan: planOf(theirs, 9, "b")}},
			owner:    ours, generation: 3, commits: "a", others: "b " + theirs,
		},
		"our plan counts as well where it comes second": {
			branches: []pass.PlanOnBranch{{Repo: "a", Plan: planOf(theirs, 9, "a")}, {Repo: "b", Plan: planOf(ours, 3, "b")}},
			owner:    ours, generation: 3, commits: "b", others: "a " + theirs,
		},
		"of two other owners the newest counts": {
			branches: []pass.PlanOnBranch{{Repo: "a", Plan: planOf(theirs, 2, "a")}, {Repo: "b", Plan: planOf("third/test", 3, "b")}},
			owner:    "third/test", generation: 3, commits: "b", others: "a " + theirs, foreign: true,
		},
		"of two other owners the newest counts as well where it comes first": {
			branches: []pass.PlanOnBranch{{Repo: "a", Plan: planOf("third/test", 3, "a")}, {Repo: "b", Plan: planOf(theirs, 2, "b")}},
			owner:    "third/test", generation: 3, commits: "a", others: "b " + theirs, foreign: true,
		},
		"a repository that our plan needs and another owner has is refused": {
			branches: []pass.PlanOnBranch{{Repo: "a", Plan: planOf(ours, 3, "a", "b")}, {Repo: "b", Plan: planOf(theirs, 9, "b")}},
			owner:    ours, generation: 3, commits: "a", others: "b " + theirs, reason: v1alpha1.ReasonForeignOwner,
		},
		"a plan that cannot be read is an error, whatever other repositories have": {
			branches: []pass.PlanOnBranch{{Repo: "a", Failure: failure}, {Repo: "b", Plan: planOf(ours, 3, "b")}},
			owner:    ours, generation: 3, commits: "a b", reason: v1alpha1.ReasonInternal,
		},
		"a seed of another engine is foreign, and a repository that it lacks does not matter": {
			branches: []pass.PlanOnBranch{{Repo: "a", Plan: planOf(ours, 3, "a", "b")}},
			scope:    map[string]bool{"api": true},
			owner:    ours, generation: 3, commits: "a", foreign: true,
		},
		"a seed of ours is not foreign": {
			branches: []pass.PlanOnBranch{{Repo: "a", Plan: planOf(ours, 3, "a")}},
			scope:    map[string]bool{"web": true},
			owner:    ours, generation: 3, commits: "a",
		},
		"a repository that is not declared any more is an error": {
			branches: []pass.PlanOnBranch{{Repo: "a", Plan: planOf(ours, 3, "a", "c")}},
			owner:    ours, generation: 3, commits: "a", reason: v1alpha1.ReasonUnknownRepository,
		},
		"a repository whose document is broken is an error": {
			branches: []pass.PlanOnBranch{{Repo: "a", Plan: planOf(ours, 3, "a", "broken")}},
			owner:    ours, generation: 3, commits: "a", reason: v1alpha1.ReasonRepositoryBroken,
		},
		"a repository that cannot be used is an error": {
			branches: []pass.PlanOnBranch{{Repo: "a", Plan: planOf(ours, 3, "a", "b")}},
			failed:   "b",
			owner:    ours, generation: 3, commits: "a", reason: v1alpha1.ReasonRepositoryBroken,
		},
	}
	for sentence, tc := range tests {
		t.Run(sentence, func(t *testing.T) {
			f := two(t)
			f.put("repos/broken.yaml", document("GitOpsRepo", "broken", "unknown: field"))
			facts := f.facts()
			facts.ControlPlane.Scope = tc.scope
			if tc.failed != "" {
				facts.Repos[tc.failed].Failure = down()
			}
			for _, b := range tc.branches {
				b.Seed, b.Commit = "web", githash.Blob([]byte(b.Repo))
				facts.Plans = append(facts.Plans, b)
			}
			for range 2 { // in whatever order they come
				got := facts.Previous()["web"]
				if got.Plan.Owner != tc.owner || got.Plan.Generation != tc.generation || got.Foreign != tc.foreign || (len(got.Older) > 0) != tc.partial || manifest.ReasonOf(got.Err) != tc.reason {
					t.Errorf("owner %s, generation %d, foreign %v, partial %v, error %v", got.Plan.Owner, got.Plan.Generation, got.Foreign, len(got.Older) > 0, got.Err)
				}
				if diff := cmp.Diff(tc.commits, strings.Join(slices.Sorted(maps.Keys(got.Commits)), " ")); diff != "" {
					t.Errorf("the repositories (-want +got):\n%s", diff)
				}
				var others []string
				for repo, of := range got.Others {
					others = append(others, repo+" "+of.Owner)
				}
				if diff := cmp.Diff(tc.others, strings.Join(others, ", ")); diff != "" {
					t.Errorf("the plans of others (-want +got):\n%s", diff)
				}
				slices.Reverse(facts.Plans)
			}
		})
	}
}

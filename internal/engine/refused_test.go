package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/test/golden"
)

// refuse makes the server of repository a refuse every update of branches that match.
func (e *estate) refuse(matches func(git.Update) bool) {
	e.onPush = func(repo string, updates []git.Update) error {
		refused := map[string]string{}
		for _, u := range updates {
			if repo == "a" && matches(u) {
				refused[u.Ref] = "protected branch hook declined"
			}
		}
		if len(refused) == 0 {
			return nil
		}
		return &git.PushError{Refs: refused}
	}
}

// markAtPlan puts a marker at the plan of the seed web in repository a.
func (e *estate) markAtPlan(branch string) {
	a := e.repos["a"]
	a.refs[branch] = a.refs[layout.PlanBranch("main", "web")]
}

func TestABranchThatTheServerRefusesToMoveIsReported(t *testing.T) {
	planBranch, retry := layout.PlanBranch("main", "web"), layout.RetryBranch("main", "web")
	tests := map[string]struct {
		arrange func(e *estate)
		branch  string
		deletes bool
		// seed reports whether the problem is the seed's, and not the repository's.
		seed bool
	}{
		"the plan branch of a new seed": {
			arrange: func(e *estate) { e.plant(seeds{"web": plainSeed("c", 1, "site-a")}) }, branch: planBranch, seed: true,
		},
		"the plan branch of a seed that is gone": {
			arrange: func(e *estate) {
				furrow := e.engine(rival{})
				e.plant(seeds{"web": plainSeed("c", 1, "site-a")})
				e.rounds(6, furrow)
				e.plant(seeds{"web": ""})
			},
			branch: planBranch, deletes: true, seed: true,
		},
		"the marker of a retry": {
			arrange: func(e *estate) {
				furrow := e.engine(rival{})
				e.plant(seeds{"web": plainSeed("c", 1, "site-a")})
				e.rounds(6, furrow)
				e.markAtPlan(retry)
			},
			branch: retry, deletes: true, seed: true,
		},
		"the marker of a cluster that was given up": {
			arrange: func(e *estate) {
				a := e.repos["a"]
				a.refs[layout.AbandonBranch("main", "acme/prod", "lost")] = a.refs["main"]
			},
			branch: layout.AbandonBranch("main", "acme/prod", "lost"), deletes: true,
		},
	}
	texts := golden.Of(t)
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			e := newEstate(t, twoSites())
			tc.arrange(e)
			e.refuse(func(u git.Update) bool { return u.Ref == tc.branch && u.New.IsZero() == tc.deletes })
			e.rounds(5, e.engine(rival{}))
			problems := e.report.Problems
			if tc.seed {
				s, ok := e.report.Seed("web")
				if !ok {
					t.Fatal(describe(e.report, e.simulator))
				}
				problems = s.Problems
			}
			want := manifest.Problem{Reason: v1alpha1.ReasonBranchRefused, Repo: "a", Path: tc.branch}
			if tc.seed {
				want.Seed = "web"
			}
			if len(problems) != 1 {
				t.Fatalf("got the problems %v, want one\n%s", problems, describe(e.report, e.simulator))
			}
			got := problems[0]
			texts.Add(name, got.Error()) // with the branch, the server's reason and a next step
			got.Message, got.Next, got.Object = "", "", ""
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the problem (-want +got):\n%s", diff)
			}
		})
	}
}

// TestARefusedMarkerHoldsNothingElse: what a seed has in other repositories goes on.
func TestARefusedMarkerHoldsNothingElse(t *testing.T) {
	e := newEstate(t, twoSites())
	furrow := e.engine(rival{})
	e.plant(seeds{"web": plainSeed("c", 1, "")})
	e.rounds(6, furrow)
	e.markAtPlan(layout.RetryBranch("main", "web"))
	e.refuse(func(u git.Update) bool { return u.Ref == layout.RetryBranch("main", "web") })
	e.plant(seeds{"web": plainSeed("c", 2, "")})
	e.rounds(3, furrow)
	for repo, site := range map[string]string{"a": "site-a", "b": "site-b"} {
		if text := e.repos[repo].files()["planted/"+site+"/web/tier-00/configmap.c.yaml"]; !strings.Contains(text, "v2") {
			t.Errorf("repository %s has %q\n%s", repo, text, describe(e.report, e.simulator))
		}
	}
}

// TestTheOutageOfOneRepositoryHidesNoPushErrorOfAnother: what keeps branches of one repository
// from being pushed is reported while another one does not answer.
func TestTheOutageOfOneRepositoryHidesNoPushErrorOfAnother(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		seed bool
	}{
		"the server refuses the push": {manifest.Problem{Reason: v1alpha1.ReasonRepositoryFailed, Message: "the disk is full"}, true},
		"the server asks to wait":     {&forge.Error{Op: "push", Repository: "a", Kind: forge.FailedNetwork, Text: "the disk is full"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEstate(t, twoSites())
			e.plant(seeds{"web": plainSeed("c", 1, "site-a"), "api": plainSeed("d", 1, "site-b")})
			e.onPush = func(repo string, _ []git.Update) error {
				if repo == "b" {
					return &forge.Error{Op: "push", Repository: "b", Kind: forge.FailedNetwork, Text: "connection refused"}
				}
				return tc.err
			}
			e.pass(e.engine(rival{}))
			found := e.report.Problems
			if tc.seed {
				s, _ := e.report.Seed("web")
				found = s.Problems
			}
			if len(found) == 0 || !strings.Contains(found[0].Error(), "the disk is full") {
				t.Errorf("got %v\n%s", found, describe(e.report, e.simulator))
			}
		})
	}
}

// TestALockThatStaysIsReported: a server that was cut off while it moved a branch may keep it locked.
// What is locked for a moment is being moved by somebody else.
func TestALockThatStaysIsReported(t *testing.T) {
	e := newEstate(t, twoSites())
	furrow := e.engine(rival{})
	e.plant(seeds{"web": plainSeed("c", 1, "site-a")})
	branch, locked := layout.TierBranch("main", layout.Tier{Seed: "web", Cluster: "site-a"}), true
	e.onPush = func(_ string, updates []git.Update) error {
		for _, u := range updates {
			if locked && u.Ref == branch {
				reason := "Unable to create '/repositories/a.git/refs/heads/" + branch + ".lock': File exists."
				return &git.PushError{Refs: map[string]string{branch: reason}, Raced: map[string]bool{branch: true}}
			}
		}
		return nil
	}
	tier := func() string {
		t.Helper()
		e.pass(furrow)
		s, ok := e.report.Seed("web")
		if !ok || len(s.Tiers) != 1 {
			t.Fatal(describe(e.report, e.simulator))
		}
		return fmt.Sprint(s.Tiers[0].State, " ", s.Tiers[0].Reason, " ", s.Tiers[0].Message)
	}
	texts := golden.Of(t)
	texts.Add("at first", tier())
	e.now = e.now.Add(2 * time.Minute)
	texts.Add("after two minutes", tier())
	locked = false
	texts.Add("without the lock", tier())
}

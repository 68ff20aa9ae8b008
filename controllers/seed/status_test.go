package seed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/state"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// tier returns the report of a tier on edge-1.
func tier(ordinal int, of release.State, changes ...func(*state.Tier)) state.Tier {
	reasons := map[release.State]v1alpha1.Reason{
		release.Blocked: v1alpha1.ReasonWaitingForTier, release.Queued: v1alpha1.ReasonSuspended, release.Proposed: v1alpha1.ReasonProposalOpen,
		release.Held: v1alpha1.ReasonForeignContent, release.Rejected: v1alpha1.ReasonRejected, release.Reverted: v1alpha1.ReasonReverted,
		release.Merged: v1alpha1.ReasonRevisionBehind, release.Progressing: v1alpha1.ReasonNotReady, release.Failed: v1alpha1.ReasonHealthCheckFailed,
		release.Released: v1alpha1.ReasonHealthy, release.Gone: v1alpha1.ReasonGone,
	}
	t := state.Tier{Cluster: "edge-1", Ordinal: ordinal, State: of, Reason: reasons[of], Objects: 2, Digest: fmt.Sprint("w", ordinal)}
	for _, change := range changes {
		change(&t)
	}
	return t
}

func says(message string) func(*state.Tier) {
	return func(t *state.Tier) { t.Message = message }
}

func proposedAt(url string) func(*state.Tier) {
	return func(t *state.Tier) {
		t.Proposal = &state.Proposal{Repo: "fleet", Branch: "b", Title: "Plant it", URL: url}
	}
}

// shut marks the tier's proposal as one that must not be merged.
func shut(t *state.Tier) {
	t.Reason, t.Proposal.Gate, t.Proposal.GateReason = v1alpha1.ReasonWaitingForTier, "it must not", v1alpha1.ReasonWaitingForTier
}

func waitsFor(n int) func(*state.Tier) {
	return func(t *state.Tier) {
		for i := range n {
			t.Waits = append(t.Waits, state.Edge{Tier: fmt.Sprintf("mgmt tier %02d", i), State: release.Progressing, Why: "cluster edge-1 is created"})
		}
	}
}

// report returns a report of a seed "web" with these tiers.
func report(tiers ...state.Tier) *engine.Report {
	return &engine.Report{
		State: state.State{Revision: "main@sha1:1", Seeds: []state.Seed{{Name: "web", State: state.Summary(tiers), Tiers: tiers}}},
		Plans: map[string]*plan.Plan{"web": {Seed: "web", Revision: "main@sha1:0", Inputs: "sha256:2"}}, Catalog: &catalog.Catalog{},
	}
}

// brief has the most important fields of a status.
type brief struct {
	Ready, Reason, Reconciling, Stalled, State, Progress, WaitingFor string
}

func briefOf(s v1alpha1.SeedStatus) brief {
	status := func(kind string) string {
		if c := conditionOf(s.Conditions, kind); c != nil {
			return string(c.Status)
		}
		return ""
	}
	return brief{
		status(v1alpha1.ConditionReady), reason(s.Conditions), status(v1alpha1.ConditionReconciling), status(v1alpha1.ConditionStalled),
		s.State, s.Progress, s.WaitingFor,
	}
}

func TestTheStatusOfASeedNamesWhatItWaitsFor(t *testing.T) {
	unread := func(why error, tiers ...state.Tier) *engine.Report {
		r := report(tiers...)
		r.ReadErr = why
		return r
	}
	refused, away := errors.New("the token has ended"), fmt.Errorf("the server does not answer: %w", context.DeadlineExceeded)
	proposal := tier(0, release.Proposed, proposedAt("https://git/1"))
	unplanned := report()
	unplanned.Seeds[0].State, unplanned.Seeds[0].Reason, unplanned.Seeds[0].Message, unplanned.Plans = state.Stalled, v1alpha1.ReasonInvalidYAML, "seeds/web.yaml:3: the file is not valid YAML", nil
	limited := report()
	limited.Seeds[0].State, limited.Seeds[0].Reason, limited.Seeds[0].Message, limited.Plans = state.Unknown, v1alpha1.ReasonRateLimited, "waits until noon", nil
	absent := &engine.Report{State: state.State{Revision: "main@sha1:1"}}
	lost := &engine.Report{Repos: map[string]engine.RepoReport{}}
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		lost.Repos[name] = engine.RepoReport{Err: fmt.Errorf("repository %s does not answer", name)}
	}
	removal := report(tier(0, release.Proposed, proposedAt("https://git/2")), tier(1, release.Gone))
	removal.Seeds[0].Removal = true
	tests := map[string]struct {
		view    view
		change  func(*v1alpha1.Seed)
		want    brief
		message string
	}{
		"its proposals cannot be listed before a reset": {
			view:    view{report: limited},
			want:    brief{"False", "RateLimited", "True", "", "Unknown", "0/0", ""},
			message: "waits until noon",
		},
		"everything is released": {
			view: view{report: report(tier(0, release.Released), tier(1, release.Released))},
			want: brief{"True", "Succeeded", "", "", "Released", "2/2", ""},
		},
		"a proposal waits for review": {
			view: view{report: report(tier(0, release.Released), tier(1, release.Proposed, proposedAt("https://git/1")))},
			want: brief{"False", "ProposalOpen", "True", "", "Proposed", "1/2", "review of https://git/1"},
		},
		"several proposals are counted": {
			view: view{report: report(tier(0, release.Proposed, proposedAt("https://git/1")), tier(1, release.Proposed, proposedAt("https://git/2")))},
			want: brief{"False", "ProposalOpen", "True", "", "Proposed", "0/2", "review of 2 proposals"},
		},
		"a proposal on plain Git is named by its branch": {
			view: view{report: report(tier(0, release.Proposed, proposedAt("")))},
			want: brief{"False", "ProposalOpen", "True", "", "Proposed", "0/1", "review of branch b of fleet"},
		},
		"a tier waits for another one": {
			view: view{report: report(tier(0, release.Blocked, waitsFor(2)))},
			want: brief{"False", "WaitingForTier", "True", "", "Blocked", "0/1", "mgmt tier 00 (Progressing)"},
		},
		"a proposal that must not be merged waits for no review": {
			view: view{report: report(tier(0, release.Reverted), tier(1, release.Proposed, proposedAt("https://git/1"), shut, waitsFor(1)))},
			want: brief{"False", "Reverted", "", "True", "Reverted", "0/2", "edge-1 tier 00: "},
		},
		"a proposal that must not be merged waits for what its gate waits for": {
			view: view{report: report(tier(0, release.Released), tier(1, release.Proposed, proposedAt("https://git/1"), shut, waitsFor(1)))},
			want: brief{"False", "WaitingForTier", "True", "", "Proposed", "1/2", "mgmt tier 00 (Progressing)"},
		},
		"a proposal that a person has to fix says how": {
			view: view{report: report(tier(0, release.Proposed, proposedAt("https://git/1"), shut, says("do not merge yet: delete its branch")))},
			want: brief{"False", "WaitingForTier", "True", "", "Proposed", "0/1", "edge-1 tier 00: do not merge yet: delete its branch"},
		},
		"only proposals that may be merged are counted": {
			view: view{report: report(tier(0, release.Proposed, proposedAt("https://git/1")), tier(1, release.Proposed, proposedAt("https://git/2"), shut, waitsFor(1)))},
			want: brief{"False", "ProposalOpen", "True", "", "Proposed", "0/2", "review of https://git/1"},
		},
		"a held tier needs a person, regardless of other tiers": {
			view: view{report: report(tier(0, release.Progressing), tier(1, release.Held, says("foreign content: remove it")))},
			want: brief{"False", "ForeignContent", "", "True", "Held", "0/2", "edge-1 tier 01: foreign content: remove it"},
		},
		"a failing tier is reconciling": {
			view: view{report: report(tier(0, release.Failed, says("Deployment web: no image")))},
			want: brief{"False", "HealthCheckFailed", "True", "", "Failed", "0/1", "edge-1 tier 00: Deployment web: no image"},
		},
		"a seed that cannot be planned is stalled": {
			view: view{report: unplanned},
			want: brief{"False", "InvalidYAML", "", "True", "Stalled", "0/0", "seeds/web.yaml:3: the file is not valid YAML"},
		},
		"a seed that is not in the tree is stalled": {
			view:    view{report: absent},
			want:    brief{"False", "SeedNotFound", "", "True", "Stalled", "", `main@sha1:1 has no seed "web". Commit its package below seeds/, or delete this Seed`},
			message: "Commit its package",
		},
		"the first of several unreadable repositories is named": {
			view: view{report: lost},
			want: brief{"Unknown", "Unreachable", "", "True", "", "", "repository a does not answer"},
		},
		"a suspended seed reports it": {
			view:   view{report: report(tier(0, release.Queued, says("is not proposed while the seed is suspended")))},
			change: func(s *v1alpha1.Seed) { s.Spec.Suspend = true },
			want:   brief{"False", "Suspended", "True", "", "Queued", "0/1", "edge-1 tier 00: is not proposed while the seed is suspended"},
		},
		"a removal is in progress": {
			view: view{report: removal},
			want: brief{"False", "Removing", "True", "", "Proposed", "1/2", "review of https://git/2"},
		},
		"a released seed is not Ready while the source cannot be read": {
			view:    view{report: unread(away, tier(0, release.Released))},
			want:    brief{"False", "SourceFailed", "True", "", "Released", "1/1", "the control plane cannot be read: the server does not answer: context deadline exceeded"},
			message: "the server does not answer",
		},
		"an unreachable source does not hide what a rollout waits for": {
			view: view{report: unread(away, proposal)},
			want: brief{"False", "ProposalOpen", "True", "", "Proposed", "0/1", "review of https://git/1"},
		},
		"a source that a person has to fix takes precedence over what a rollout waits for": {
			view:    view{report: unread(refused, proposal)},
			want:    brief{"False", "SourceFailed", "", "True", "Proposed", "0/1", "the control plane cannot be read: the token has ended"},
			message: "0/1 tiers are released, and the control plane cannot be read anew: the token has ended",
		},
		"the last status remains if nothing can be observed": {
			view: view{err: errors.New("there is no GitRepository")},
			change: func(s *v1alpha1.Seed) {
				s.Status.State, s.Status.Progress = "Released", "2/2"
			},
			want: brief{"Unknown", "SourceFailed", "", "True", "Released", "2/2", "there is no GitRepository"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			seed := &v1alpha1.Seed{ObjectMeta: metav1.ObjectMeta{Name: "web", Generation: 3}}
			if tc.change != nil {
				tc.change(seed)
			}
			tc.view.now = noon
			got := seedStatus(seed, tc.view)
			if diff := cmp.Diff(tc.want, briefOf(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			ready := conditionOf(got.Conditions, v1alpha1.ConditionReady)
			if !strings.Contains(ready.Message, tc.message) {
				t.Errorf("the message is %q", ready.Message)
			}
			if got.ObservedGeneration != 3 || ready.ObservedGeneration != 3 {
				t.Error("the generation is not the observed one")
			}
			seed.Status = got
			tc.view.now = noon.Add(time.Hour)
			if again := seedStatus(seed, tc.view); !equal(got, again) {
				t.Errorf("the same pass results in another status (-first +second):\n%s", cmp.Diff(got, again))
			}
		})
	}
}

func TestStagesCountTheTiersThatHaveReachedThem(t *testing.T) {
	seed := &v1alpha1.Seed{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	got := seedStatus(seed, view{now: noon, report: report(tier(0, release.Released), tier(1, release.Merged), tier(2, release.Proposed), tier(3, release.Blocked))})
	for condition, want := range map[string]string{
		v1alpha1.ConditionProposed: "3 of 4 tiers are proposed", v1alpha1.ConditionMerged: "2 of 4 tiers are merged", v1alpha1.ConditionReleased: "1 of 4 tiers are released",
	} {
		c := conditionOf(got.Conditions, condition)
		if c == nil || c.Status != metav1.ConditionFalse || c.Message != want {
			t.Errorf("%s: got %+v, want %q", condition, c, want)
		}
	}
	all := seedStatus(seed, view{now: noon, report: report(tier(0, release.Released))})
	if c := conditionOf(all.Conditions, v1alpha1.ConditionReleased); c == nil || c.Status != metav1.ConditionTrue {
		t.Errorf("got %+v", c)
	}
}

func TestBlockersAreTheMostUrgentFirstAndBounded(t *testing.T) {
	var tiers []state.Tier
	for i := range 20 {
		tiers = append(tiers, tier(i, release.Progressing, says(strings.Repeat("é", 400))))
	}
	tiers = append(tiers, tier(20, release.Blocked), tier(21, release.Held, says("decide it")), tier(22, release.Released))
	seed := &v1alpha1.Seed{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	got := seedStatus(seed, view{now: noon, report: report(tiers...)})
	if len(got.Blockers) != v1alpha1.MaxBlockers || got.Blockers[0].Tier != "edge-1 tier 21" || got.Blockers[1].Tier != "edge-1 tier 00" {
		t.Errorf("got %+v", got.Blockers)
	}
	for _, b := range got.Blockers {
		if len(b.Message) > state.MaxText || strings.ContainsRune(b.Message, '\uFFFD') {
			t.Errorf("message of %d bytes: %q", len(b.Message), b.Message)
		}
	}
	want := []v1alpha1.StateCount{{State: "Blocked", Count: 1}, {State: "Held", Count: 1}, {State: "Progressing", Count: 20}, {State: "Released", Count: 1}}
	slices.SortFunc(got.Tiers, func(a, b v1alpha1.StateCount) int { return strings.Compare(a.State, b.State) })
	if diff := cmp.Diff(want, got.Tiers); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestProposalsThatMustNotBeMergedAreMarked(t *testing.T) {
	waiting := tier(0, release.Proposed, proposedAt("https://git/1"), shut, waitsFor(1))
	edited := tier(1, release.Proposed, proposedAt("https://git/2"), shut)
	edited.Foreign = slices.Repeat([]string{"planted/mine.yaml"}, v1alpha1.MaxForeign+2)
	seed := seedStatus(&v1alpha1.Seed{ObjectMeta: metav1.ObjectMeta{Name: "web"}}, view{now: noon, report: report(waiting, edited)})
	if len(seed.Blockers) != 1 || seed.Blockers[0].Tier != "edge-1 tier 01" || seed.Blockers[0].Gate != "it must not" {
		t.Errorf("the blockers are %+v", seed.Blockers)
	}
	planting := plantingStatus(&v1alpha1.Planting{}, []state.Tier{waiting, edited}, noon)
	for _, tier := range planting.Tiers {
		if tier.Proposal.Gate != "it must not" {
			t.Errorf("tier %d: the proposal is %+v", tier.Ordinal, tier.Proposal)
		}
	}
	if tier := planting.Tiers[1]; len(tier.Foreign) != v1alpha1.MaxForeign || tier.OmittedForeign != 2 {
		t.Errorf("%d files of others are shown, and %d are omitted", len(tier.Foreign), tier.OmittedForeign)
	}
	if planting.Proposal != "" {
		t.Errorf("the planting asks for the review of %s", planting.Proposal)
	}
}

func TestAHeldTierIsABlockerWhileItsGateIsShut(t *testing.T) {
	const edited = "a person has edited the open proposal, and the plan has changed since. Delete its branch"
	waiting := tier(0, release.Proposed, proposedAt("https://git/1"), shut, waitsFor(1))
	held := tier(1, release.Held, proposedAt("https://git/2"), shut, waitsFor(1), says(edited))
	held.Reason = v1alpha1.ReasonEditedAndUnmergeable
	got := seedStatus(&v1alpha1.Seed{ObjectMeta: metav1.ObjectMeta{Name: "web"}}, view{now: noon, report: report(waiting, held)})
	want := []v1alpha1.Blocker{{Tier: "edge-1 tier 01", State: "Held", Reason: v1alpha1.ReasonEditedAndUnmergeable, Message: edited, URL: "https://git/2", Gate: "it must not"}}
	if diff := cmp.Diff(want, got.Blockers); diff != "" {
		t.Errorf("the blockers (-want +got):\n%s", diff)
	}
	if want := "edge-1 tier 01: " + edited; got.WaitingFor != want {
		t.Errorf("it waits for %q, want %q", got.WaitingFor, want)
	}
}

func TestTheStatusHasWhatPeopleCanRequest(t *testing.T) {
	rejected := tier(0, release.Rejected)
	rejected.Retry = true
	planting := plantingStatus(&v1alpha1.Planting{}, []state.Tier{rejected, tier(1, release.Blocked)}, noon)
	if !planting.Tiers[0].Retry || planting.Tiers[1].Retry {
		t.Errorf("got %+v", planting.Tiers)
	}
	seed := &v1alpha1.Seed{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	held := report(rejected)
	held.Seeds[0].Unconfirmed = slices.Repeat([]string{"Namespace web on edge-1 " + strings.Repeat("é", 400)}, v1alpha1.MaxUnconfirmed+2)
	for sentence, c := range map[string]struct {
		report        *engine.Report
		shown, hidden int
	}{
		"a removal needs a confirmation":  {held, v1alpha1.MaxUnconfirmed, 2},
		"no removal needs a confirmation": {report(rejected), 0, 0},
		"the seed does not exist":         {&engine.Report{State: state.State{Revision: "main@sha1:1"}}, 0, 0},
	} {
		seed.Status.Unconfirmed, seed.Status.OmittedUnconfirmed = []string{"what was held before"}, 7
		got := seedStatus(seed, view{now: noon, report: c.report})
		if len(got.Unconfirmed) != c.shown || int(got.OmittedUnconfirmed) != c.hidden {
			t.Errorf("%s: %d are shown, and %d are omitted", sentence, len(got.Unconfirmed), got.OmittedUnconfirmed)
		}
		for _, text := range got.Unconfirmed {
			if len(text) > state.MaxText {
				t.Errorf("%s: a text of %d bytes", sentence, len(text))
			}
		}
	}
}

func TestPlantingStatusIsBoundedAndKeepsTimes(t *testing.T) {
	var tiers []state.Tier
	for i := range v1alpha1.MaxTiers + 3 {
		tiers = append(tiers, tier(i, release.Blocked, waitsFor(5)))
	}
	p := &v1alpha1.Planting{ObjectMeta: metav1.ObjectMeta{Generation: 1}, Spec: v1alpha1.PlantingSpec{Seed: "web", Cluster: "edge-1"}}
	p.Status = plantingStatus(p, tiers, noon)
	s := p.Status
	if len(s.Tiers) != v1alpha1.MaxTiers || s.OmittedTiers != 3 || len(s.Tiers[0].Waits) != v1alpha1.MaxWaits || s.Tiers[0].OmittedWaits != 2 {
		t.Errorf("got %d tiers and %d more, %d waits and %d more", len(s.Tiers), s.OmittedTiers, len(s.Tiers[0].Waits), s.Tiers[0].OmittedWaits)
	}
	if s.State != "Blocked" || s.Current != "00" || s.Progress != "0/67" || s.WaitingFor == "" {
		t.Errorf("got %+v", s)
	}
	tiers[1].State, tiers[1].Proposal = release.Proposed, &state.Proposal{Repo: "fleet", Branch: "b", URL: "https://git/1"}
	later := plantingStatus(p, tiers, noon.Add(time.Hour))
	if !later.Tiers[0].Since.Time.Equal(noon) || !later.Tiers[1].Since.Time.Equal(noon.Add(time.Hour)) {
		t.Errorf("the tiers are so since %v and %v", later.Tiers[0].Since, later.Tiers[1].Since)
	}
	if later.Current != "01" || later.Proposal != "https://git/1" {
		t.Errorf("got %+v", later)
	}
	changes := plantingChanges(&p.Status, &later)
	if len(changes) != 1 || changes[0].reason != "Proposed" || !strings.Contains(changes[0].note, "https://git/1") {
		t.Errorf("the events are %+v", changes)
	}
	if again := plantingChanges(&later, &later); len(again) != 0 {
		t.Errorf("the events are repeated: %+v", again)
	}
}

func TestASeedThatIsOnlyMissingIsNotTreatedAsRemoved(t *testing.T) {
	seed := func(p *v1alpha1.PlanSummary) *v1alpha1.Seed {
		return &v1alpha1.Seed{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Status: v1alpha1.SeedStatus{Plan: p}}
	}
	empty := &engine.Report{Repos: map[string]engine.RepoReport{"fleet": {}}}
	tests := map[string]struct {
		view view
		seed *v1alpha1.Seed
		want bool
	}{
		"nothing was ever planted":            {view{report: empty}, seed(nil), true},
		"the removal was observed to the end": {view{report: empty}, seed(&v1alpha1.PlanSummary{Removal: true}), true},
		"the plan is lost":                    {view{report: empty}, seed(&v1alpha1.PlanSummary{}), false},
		"its repository is not declared any more": {
			view{report: empty}, seed(&v1alpha1.PlanSummary{Removal: true, Repos: []string{"gitops"}}), false,
		},
		"its repository is still declared": {
			view{report: &engine.Report{Repos: map[string]engine.RepoReport{"gitops": {}}}}, seed(&v1alpha1.PlanSummary{Removal: true, Repos: []string{"gitops"}}), true,
		},
		"the removal is in progress":  {view{report: report(tier(0, release.Proposed))}, seed(&v1alpha1.PlanSummary{Removal: true}), false},
		"a repository cannot be read": {view{report: &engine.Report{Repos: map[string]engine.RepoReport{"fleet": {Err: errors.New("down")}}}}, seed(nil), false},
		"nothing could be observed":   {view{err: errors.New("down")}, seed(nil), false},
	}
	for name, tc := range tests {
		if got := tc.view.nothingLeft(tc.seed); got != tc.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}

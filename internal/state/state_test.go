package state_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/state"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// shop is the state of a seed on two clusters.
func shop() *state.State {
	s := state.New("acme/prod", "sha256:1", "main@sha1:1")
	s.Repositories = []state.Repository{{Name: "fleet", URL: "https://git.example.com/acme/fleet.git", Branch: "main", Proposals: 1}}
	s.Clusters = []state.Cluster{{Name: "east", Role: "Workload", Type: "metro", Labels: map[string]string{"region": "eu"}, Repo: "fleet"}, {Name: "west", Abandoned: true}}
	s.Seeds = []state.Seed{{Name: "shop", State: "Proposed", Tiers: []state.Tier{
		{Cluster: "east", State: release.Released, Reason: v1alpha1.ReasonHealthy, Since: noon},
		{Cluster: "east", Ordinal: 1, Level: 1, State: release.Proposed, Since: noon, After: []state.Edge{{Tier: "east tier 00", Why: "its Namespace"}}, Proposal: &state.Proposal{Repo: "fleet", Branch: "b"}},
		{Cluster: "west", State: release.Blocked, Since: noon, Waits: []state.Edge{{Tier: "east tier 01", State: release.Proposed, Reason: v1alpha1.ReasonProposalOpen, Why: "it says so"}}},
	}}}
	return &s
}

func TestAStateIsReadAsItWasWritten(t *testing.T) {
	data, err := manifest.YAML(shop())
	if err != nil {
		t.Fatal(err)
	}
	got, err := state.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(shop(), got); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
}

func TestNewerMinorVersionsAreReadAndOthersAreRefused(t *testing.T) {
	cases := map[string]struct {
		version string
		want    string
	}{
		"the same version":         {`version: "1.0"`, ""},
		"a newer minor version":    {`version: "1.7"`, ""},
		"a newer major version":    {`version: "2.0"`, "it is of version 2.0, and this Furrow reads version 1. Use the version of Furrow that wrote it, or a newer one"},
		"an older major version":   {`version: "0.9"`, "it is of version 0.9, and this Furrow reads version 1. The next pass writes it again"},
		"no version":               {"", "it is of version 0.0, and this Furrow reads version 1. The next pass writes it again"},
		"what is not a version":    {"version: soon", `"soon" is not a version. Write it as in 1.0`},
		"a version without minors": {`version: "1"`, ""},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			got, err := state.Decode([]byte(c.version + "\nowner: acme/prod\norigin: sha256:1\nfromTheFuture: [1]\nseeds: [{name: web, state: Released, mood: fine}]\n"))
			switch {
			case c.want == "":
				if err != nil || len(got.Seeds) != 1 || got.Seeds[0].State != "Released" {
					t.Errorf("it reads %+v, %v", got, err)
				}
			case err == nil || !strings.Contains(err.Error(), c.want):
				t.Errorf("the error is %v, want %q", err, c.want)
			case manifest.ReasonOf(err) != v1alpha1.ReasonUnsupportedVersion && sentence != "what is not a version":
				t.Errorf("its reason is %s", manifest.ReasonOf(err))
			case got != nil && (got.Owner != "acme/prod" || got.Origin != "sha256:1" || len(got.Seeds) > 0):
				t.Errorf("of another version it reads %+v", got)
			}
		})
	}
}

func TestATierIsAsOldAsItsState(t *testing.T) {
	later := noon.Add(time.Hour)
	had := shop()
	had.Stale = []state.Stale{{Repo: "fleet", Since: noon}}
	now := shop()
	for i := range now.Seeds[0].Tiers {
		now.Seeds[0].Tiers[i].Since = time.Time{}
	}
	now.Seeds[0].Tiers[1].State = release.Merged
	now.Seeds[0].Tiers = append([]state.Tier{{Cluster: "berlin", State: release.Queued}}, now.Seeds[0].Tiers...)
	now.Stale = []state.Stale{{Repo: "fleet", Since: later}, {Since: later}}
	now.KeepSince(had)
	now.Date(later)
	var got []time.Time
	for _, tier := range now.Seeds[0].Tiers {
		got = append(got, tier.Since)
	}
	for _, s := range now.Stale {
		got = append(got, s.Since)
	}
	if diff := cmp.Diff([]time.Time{later, noon, later, noon, noon, later}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAStateThatCannotBeParsedNamesTheNextStep(t *testing.T) {
	for _, text := range []string{"seeds: [", "version: \"1.0\"\nseeds: 1\n", "foo"} {
		_, err := state.Decode([]byte(text))
		if p := manifest.ProblemOf(err); p.Reason != v1alpha1.ReasonInvalidYAML || p.Next == "" {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestResourcesHaveTheWavesOfASeed(t *testing.T) {
	want := &state.Rollout{
		Paused: "by Ada", Unpaced: "by Bob",
		Waves: []state.Wave{
			{Name: "canary", State: release.WaveSoaking, Clusters: 3, Done: 3, Reason: v1alpha1.ReasonWaveSoaking, Message: "it soaks", Until: noon},
			{Name: "fleet", State: release.WaveWaiting, Leaving: true, Clusters: 20, Reason: v1alpha1.ReasonWaveSoaking},
		},
	}
	seed := v1alpha1.Seed{}
	(&state.Seed{Rollout: want}).ToStatus(&seed.Status)
	if diff := cmp.Diff(want, state.FromResources([]v1alpha1.Seed{seed}, nil).Seeds[0].Rollout); diff != "" {
		t.Errorf("the rollout (-want +got):\n%s", diff)
	}
	(&state.Seed{}).ToStatus(&seed.Status)
	if seed.Status.Rollout != nil {
		t.Errorf("without waves it is %+v", seed.Status.Rollout)
	}
	planting := v1alpha1.Planting{}
	state.ToPlanting([]state.Tier{{Cluster: "c01", Wave: "canary"}}, &planting.Status)
	if got := state.FromPlanting(&planting)[0].Wave; got != "canary" {
		t.Errorf("the tier is in wave %q", got)
	}
}

package forge_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/forge"
)

var (
	carried   = forge.Alone(layout.Tier{Seed: "a", Cluster: "c"}, "w1")
	described = forge.Describe(forge.Request{Carried: carried, Body: "## What\n\n- it\n"})
	several   = forge.Carried{Digest: "w3", Tiers: []layout.Member{{Tier: layout.Tier{Seed: "a", Cluster: "c"}, Digest: "w1"}, {Tier: layout.Tier{Seed: "a", Cluster: "d", Ordinal: 1}, Digest: "w2"}}}
)

func TestDescriptionsAreReadBack(t *testing.T) {
	superseded := forge.MarkSuperseded(described, "the plan\nhas changed")
	rejected := forge.MarkRejected(described, "w1", "not before Monday")
	cases := map[string]struct {
		text string
		want forge.Description
	}{
		"as it was written":               {described, forge.Description{Carried: carried}},
		"with the line ends of a browser": {strings.ReplaceAll(described, "\n", "\r\n"), forge.Description{Carried: carried}},
		"with a person's words below":     {described + "\nLooks good: yes.\n", forge.Description{Carried: carried}},
		"written anew by a person":        {"Mine\n", forge.Description{}},
		"nothing":                         {"", forge.Description{}},
		"no text of its own":              {forge.Describe(forge.Request{Carried: carried}), forge.Description{Carried: carried}},
		"of several tiers":                {forge.Describe(forge.Request{Carried: several, Body: "It.\n"}), forge.Description{Carried: several}},
		"superseded":                      {superseded, forge.Description{Carried: carried, Superseded: true}},
		"superseded with words below":     {forge.MarkSuperseded(described+"\nLooks good.\n", "x"), forge.Description{Carried: carried, Superseded: true}},
		"rejected":                        {rejected, forge.Description{Carried: carried, Rejected: true, Reason: "not before Monday"}},
		"rejected without a reason":       {forge.MarkRejected(described, "w1", ""), forge.Description{Carried: carried, Rejected: true}},
		"rejected again":                  {forge.MarkRejected(rejected, "w1", "never"), forge.Description{Carried: carried, Rejected: true, Reason: "never"}},
		"superseded, not rejected":        {forge.MarkSuperseded(rejected, "x"), forge.Description{Carried: carried, Superseded: true}},
		"withdrawn":                       {forge.Unmark(rejected), forge.Description{Carried: carried}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, forge.ReadDescription(tc.text)); diff != "" {
				t.Errorf("%q (-want +got):\n%s", tc.text, diff)
			}
		})
	}
}

func TestMarksAreTakenOutWithoutATrace(t *testing.T) {
	for _, marked := range []string{forge.MarkSuperseded(described, "x"), forge.MarkRejected(described, "w1", "no")} {
		if got := forge.Unmark(marked); got != described {
			t.Errorf("got %q, want %q", got, described)
		}
	}
}

func TestACommitSaysThatItDestroysData(t *testing.T) {
	for _, destroys := range []bool{true, false} {
		carried := forge.Alone(layout.Tier{Seed: "a", Cluster: "c"}, "sha256:1")
		carried.Destroys = destroys
		if got := forge.CarriedBy(forge.AddTrailers("Update a", carried.Trailers())); got.Destroys != destroys {
			t.Errorf("written %t, read %+v", destroys, got)
		}
	}
}

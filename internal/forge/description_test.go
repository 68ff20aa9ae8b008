package forge_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/forge"
)

var described = forge.Describe(forge.Request{Tier: layout.Tier{Seed: "a", Cluster: "c"}, Wants: "w1", Body: "## What\n\n- it\n"})

func TestDescriptionsAreReadBack(t *testing.T) {
	superseded := forge.MarkSuperseded(described, "the plan\nhas changed")
	rejected := forge.MarkRejected(described, "w1", "not before Monday")
	cases := map[string]struct {
		text string
		want forge.Description
	}{
		"as it was written":               {described, forge.Description{Wants: "w1"}},
		"with the line ends of a browser": {strings.ReplaceAll(described, "\n", "\r\n"), forge.Description{Wants: "w1"}},
		"with a person's words below":     {described + "\nLooks good: yes.\n", forge.Description{Wants: "w1"}},
		"written anew by a person":        {"Mine\n", forge.Description{}},
		"nothing":                         {"", forge.Description{}},
		"no text of its own":              {forge.Describe(forge.Request{Wants: "w2"}), forge.Description{Wants: "w2"}},
		"superseded":                      {superseded, forge.Description{Wants: "w1", Superseded: true}},
		"superseded with words below":     {forge.MarkSuperseded(described+"\nLooks good.\n", "x"), forge.Description{Wants: "w1", Superseded: true}},
		"rejected":                        {rejected, forge.Description{Wants: "w1", Rejected: true, Reason: "not before Monday"}},
		"rejected without a reason":       {forge.MarkRejected(described, "w1", ""), forge.Description{Wants: "w1", Rejected: true}},
		"rejected again":                  {forge.MarkRejected(rejected, "w1", "never"), forge.Description{Wants: "w1", Rejected: true, Reason: "never"}},
		"superseded, not rejected":        {forge.MarkSuperseded(rejected, "x"), forge.Description{Wants: "w1", Superseded: true}},
		"taken back":                      {forge.Unmark(rejected), forge.Description{Wants: "w1"}},
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

package pass_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/internal/core/pass"
)

func TestRoomForProposalsIsSharedByTurns(t *testing.T) {
	cases := map[string]struct {
		seeds string
		n     int
		want  string
	}{
		"nothing to open":                      {"", 3, ""},
		"no room":                              {"a b", 0, ". ."},
		"less than none":                       {"a b", -1, ". ."},
		"room for all":                         {"a a b", 3, "a a b"},
		"more room than that":                  {"a a b", 9, "a a b"},
		"one of each seed first":               {"a a a b c", 3, "a . . b c"},
		"then the second ones":                 {"a a a b c c", 4, "a a . b c ."},
		"the first seed of the order is first": {"c a b", 1, "c . ."},
	}
	for name, tc := range cases {
		seeds := strings.Fields(tc.seeds)
		var got []string
		for i, opens := range pass.Share(seeds, tc.n) {
			got = append(got, map[bool]string{true: seeds[i], false: "."}[opens])
		}
		if strings.Join(got, " ") != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}

func TestTheNextTurnIsOfWhoWasLeftOut(t *testing.T) {
	cases := map[string]struct{ seeds, opened, left, want string }{
		"nobody":                            {"a b c", "a b c", "", ""},
		"the first one that got nothing":    {"a b c", "a", "b c", "b"},
		"in the order of the pass":          {"b c a", "", "a c", "c"},
		"not one that was left out in part": {"a b c", "a b", "a c", "c"},
		"one that was left out in part":     {"a b c", "a b c", "b c", "b"},
	}
	set := func(list string) map[string]bool {
		out := map[string]bool{}
		for _, s := range strings.Fields(list) {
			out[s] = true
		}
		return out
	}
	for name, tc := range cases {
		if got := pass.NextTurn(strings.Fields(tc.seeds), set(tc.opened), set(tc.left)); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}

// TestNoSeedStarves: while all seeds have proposals to open, however many each, none waits for more
// passes in which some were opened than there are other seeds; and where all have one, none gets two
// more than another. That holds however much room there is in each pass, and also where some of what
// there was room for is refused.
func TestNoSeedStarves(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for run := range 200 {
		var names []string
		wants := map[string]int{}
		for i := range 2 + random.IntN(9) {
			names = append(names, fmt.Sprintf("seed-%02d", i))
			wants[names[i]] = 1
			if run%2 == 0 {
				wants[names[i]] += random.IntN(3)
			}
		}
		got, waits, first := map[string]int{}, map[string]int{}, ""
		for range 60 {
			at := max(0, slices.Index(names, first))
			order := slices.Concat(names[at:], names[:at])
			var seeds []string
			for _, name := range order {
				seeds = append(seeds, slices.Repeat([]string{name}, wants[name])...)
			}
			opened, left, accepted := map[string]bool{}, map[string]bool{}, random.IntN(6)
			for i, opens := range pass.Share(seeds, random.IntN(2*len(names))) {
				if !opens || accepted == 0 {
					left[seeds[i]] = true
					continue
				}
				accepted--
				opened[seeds[i]] = true
				got[seeds[i]]++
			}
			first = cmp.Or(pass.NextTurn(order, opened, left), first)
			for _, name := range names {
				if len(opened) == 0 {
					continue
				}
				if waits[name]++; opened[name] {
					waits[name] = 0
				}
				if waits[name] >= len(names) {
					t.Fatalf("run %d: %s waits for %v", run, name, waits)
				}
			}
			least, most := got[names[0]], got[names[0]]
			for _, name := range names {
				least, most = min(least, got[name]), max(most, got[name])
			}
			if run%2 == 1 && most-least > 1 {
				t.Fatalf("run %d: %v", run, got)
			}
		}
	}
}

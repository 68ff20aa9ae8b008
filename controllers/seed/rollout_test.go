package seed

import "testing"

func TestRequestsOfRolloutsAreRead(t *testing.T) {
	for value, want := range map[string]rolloutRequest{
		"pause 2026-11-23T09:00:00Z": {verb: "pause"},
		"pause 2026-11-23T09:00:00Z by ada lovelace because it is by the shop": {verb: "pause", by: "ada lovelace", why: "it is by the shop"},
		"resume 2026-11-23T09:00:00Z by ada":                                   {verb: "resume", by: "ada"},
		"skip canary 2026-11-23T09:00:00Z because it is rebuilt":               {verb: "skip", wave: "canary", why: "it is rebuilt"},
		"now 2026-11-23T09:00:00Z because roll back":                           {verb: "now", why: "roll back"},
		"": {},
	} {
		if got := parseRollout(value); got != want {
			t.Errorf("%q is %+v, want %+v", value, got, want)
		}
	}
}

package github_test

import (
	"testing"

	"github.com/furrow-dev/furrow/internal/forge"
	servers "github.com/furrow-dev/furrow/test/servers/github"
)

func TestWhoMayPushToFurrowsBranches(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		pattern    string
		protection servers.Protection
		want       forge.PushersState
	}{
		"no rule":                              {"main", servers.Protection{Reviews: 1}, forge.PushersEverybody},
		"a rule for other branches":            {"release/**", servers.Protection{Ruleset: true, Restricted: true}, forge.PushersEverybody},
		"a rule that restricts nobody":         {"furrow/**", servers.Protection{Ruleset: true, Linear: true}, forge.PushersEverybody},
		"a rule that restricts who may push":   {"furrow/**", servers.Protection{Ruleset: true, Restricted: true}, forge.PushersRestricted},
		"a branch protection, which is hidden": {"furrow/main/plan/web", servers.Protection{}, forge.PushersUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.As("ann").PushCommit(fleet, "furrow/main/plan/web", "Plan", map[string]string{"plan.yaml": "kind: Plan\n"})
			s.Protect(fleet, tc.pattern, &tc.protection)
			got, err := s.api.Pushers(t.Context())
			must(t, err)
			if got.State != tc.want || (got.Who == "") != (tc.want == forge.PushersUnknown) {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestWhoMayPushMayBeHidden(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	if got, err := s.as(s.Token("eve", "repo")).Pushers(t.Context()); err != nil || got.State != forge.PushersUnknown {
		t.Errorf("%+v, %v", got, err)
	}
	s.Fail(servers.Fault{Kind: servers.BadGateway})
	if _, err := s.api.Pushers(t.Context()); !forge.IsFailure(err, forge.FailedNetwork) {
		t.Error(err)
	}
}

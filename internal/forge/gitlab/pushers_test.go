package gitlab_test

import (
	"net/http"
	"testing"

	"github.com/furrow-dev/furrow/internal/forge"
	servers "github.com/furrow-dev/furrow/test/servers/gitlab"
)

func TestWhoMayPushToFurrowsBranches(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		protected map[string]servers.Role
		want      forge.Pushers
	}{
		"nothing is protected":   {nil, forge.Pushers{State: forge.PushersEverybody, Who: "everybody with the role Developer"}},
		"base is protected":      {map[string]servers.Role{"main": servers.Maintainer, "furrow": servers.Maintainer}, forge.Pushers{State: forge.PushersEverybody, Who: "everybody with the role Developer"}},
		"for maintainers":        {map[string]servers.Role{"furrow/*": servers.Maintainer}, forge.Pushers{State: forge.PushersRestricted, Who: "Maintainers"}},
		"for developers":         {map[string]servers.Role{"furrow/*": servers.Developer}, forge.Pushers{State: forge.PushersEverybody, Who: "everybody with the role Developer"}},
		"by two rules, one wide": {map[string]servers.Role{"furrow/*": servers.Maintainer, "*/tier/*": servers.Developer}, forge.Pushers{State: forge.PushersEverybody, Who: "everybody with the role Developer"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			for branch, role := range tc.protected {
				s.Protect(fleet, branch, role)
			}
			if got, err := s.api.Pushers(t.Context()); err != nil || got != tc.want {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

func TestWhoMayPushMayBeHidden(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for name, token := range map[string]string{
		"a stranger":      s.Token("eve", "api"),
		"a revoked token": "glpat-wrong",
		"a reporter":      s.ProjectToken(fleet, servers.Reporter, "api"),
	} {
		if got, err := s.as(token).Pushers(t.Context()); err != nil || got.State != forge.PushersUnknown {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	s.Fail("", http.StatusBadGateway)
	if _, err := s.api.Pushers(t.Context()); !forge.IsFailure(err, forge.FailedNetwork) {
		t.Error(err)
	}
}

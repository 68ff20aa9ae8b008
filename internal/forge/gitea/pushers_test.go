package gitea_test

import (
	"net/http"
	"testing"

	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/gitea"
	"github.com/furrow-dev/furrow/internal/forge/rest"
)

func TestWhoMayPushToFurrowsBranches(t *testing.T) {
	t.Parallel()
	everybody := forge.Pushers{State: forge.PushersEverybody, Who: "everybody with write access"}
	for name, tc := range map[string]struct {
		rule map[string]any
		want forge.Pushers
	}{
		"no rule":                      {nil, everybody},
		"base takes signed commits":    {map[string]any{"rule_name": "main", "require_signed_commits": true}, forge.Pushers{State: everybody.State, Who: everybody.Who, SignedBase: true}},
		"a rule for other branches":    {map[string]any{"rule_name": "furrow/*", "enable_push": false}, everybody},
		"a rule that lets all push":    {map[string]any{"rule_name": "furrow/**", "enable_push": true}, everybody},
		"a rule that lets one person":  {map[string]any{"rule_name": "furrow/**", "enable_push": true, "enable_push_whitelist": true, "push_whitelist_usernames": []string{bot}}, forge.Pushers{State: forge.PushersRestricted, Who: bot}},
		"a rule that lets nobody push": {map[string]any{"rule_name": "furrow/**", "enable_push": false}, forge.Pushers{State: forge.PushersRestricted, Who: "nobody"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			if tc.rule != nil {
				s.do(http.MethodPost, s.repo("/branch_protections"), tc.rule, nil)
			}
			api, err := gitea.New("main", rest.Access{URL: s.url, Source: tokenOf(botToken), Transport: http.DefaultTransport})
			s.must(err)
			if got, err := api.Pushers(t.Context()); err != nil || got != tc.want {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

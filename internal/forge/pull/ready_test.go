package pull_test

import (
	"testing"

	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/pull"
)

func TestNothingIsPushedWithoutAccess(t *testing.T) {
	t.Parallel()
	const prefix = "push branches in https://forge.example/acme/fleet: "
	for name, tc := range map[string]struct {
		access pull.Access
		kind   forge.Kind
		says   string
	}{
		"all is there":           {},
		"an archived repository": {pull.Access{Archived: true}, forge.FailedOther, "the repository is archived; unarchive it, or remove its GitOpsRepo"},
		"a scope":                {pull.Access{Missing: []pull.Missing{{Name: "the scope api", Next: "make a token that has it"}}}, forge.FailedAuth, "the credentials lack the scope api; make a token that has it"},
		"two permissions": {pull.Access{Missing: []pull.Missing{
			{Name: "the permission contents=write", Next: "grant it"}, {Name: "the permission checks=write", Next: "grant it"},
		}}, forge.FailedAuth, "the credentials lack the permission contents=write and the permission checks=write; grant it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.server.access = tc.access
			err := s.forge.Ready(t.Context())
			if (err == nil) != (tc.says == "") || err != nil && (err.Error() != prefix+tc.says || !forge.IsFailure(err, tc.kind)) {
				t.Errorf("got %v", err)
			}
		})
	}
}

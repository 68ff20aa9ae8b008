package pull_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/pull"
	"github.com/furrow-dev/furrow/internal/git"
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

func TestWhoElseMayPushIsAWarning(t *testing.T) {
	t.Parallel()
	everybody := forge.Pushers{State: forge.PushersEverybody, Who: "everybody with write access"}
	for name, tc := range map[string]struct {
		pushers forge.Pushers
		signed  bool
		warns   bool
	}{
		"everybody may":                     {everybody, false, true},
		"everybody may, and Furrow signs":   {everybody, true, false},
		"a rule restricts it":               {forge.Pushers{State: forge.PushersRestricted, Who: "furrow"}, false, false},
		"the server does not say who may":   {forge.Pushers{State: forge.PushersUnknown}, false, false},
		"the server does not answer at all": {forge.Pushers{}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.server.pushers = tc.pushers
			s.options.Signed = tc.signed
			s.forge = s.newForge()
			s.server.before = func(call string) error {
				if call == "Pushers" && tc.pushers == (forge.Pushers{}) {
					return errors.New("the server does not answer")
				}
				return nil
			}
			s.must(s.forge.Ready(t.Context()))
			warnings := s.forge.Warnings()
			if !tc.warns {
				if len(warnings) > 0 {
					t.Errorf("got %v", warnings)
				}
				return
			}
			if len(warnings) != 1 || warnings[0].Reason != v1alpha1.ReasonBranchesUnprotected || warnings[0].Field != "spec.signing" || !strings.Contains(warnings[0].Message, "everybody with write access") {
				t.Errorf("got %v", warnings)
			}
		})
	}
}

func TestPassedChecksAreNotEnoughWhereEverybodyMayPush(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		pushers forge.PushersState
		signed  bool
		check   pull.CheckState
		want    forge.ChecksState
	}{
		"everybody may push":               {forge.PushersEverybody, false, pull.CheckPassed, forge.ChecksUnprotected},
		"everybody may, and a check fails": {forge.PushersEverybody, false, pull.CheckFailed, forge.ChecksFailed},
		"everybody may, and Furrow signs":  {forge.PushersEverybody, true, pull.CheckPassed, forge.ChecksPassed},
		"a rule restricts it":              {forge.PushersRestricted, false, pull.CheckPassed, forge.ChecksPassed},
		"the server does not say":          {forge.PushersUnknown, false, pull.CheckPassed, forge.ChecksPassed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.server.pushers = forge.Pushers{State: tc.pushers, Who: "everybody"}
			s.options.Signed = tc.signed
			s.forge = s.newForge()
			p := s.propose("v1")
			s.server.checks = map[git.Hash][]pull.Check{p.Head: {{Name: "ci", State: tc.check}}}
			if got, err := s.forge.Checks(t.Context(), p); err != nil || got.State != tc.want {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

func TestABaseThatTakesOnlySignedCommitsIsAWarning(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ takesSigned, signs, warns bool }{
		"base takes signed commits, and Furrow signs nothing": {true, false, true},
		"base takes signed commits, and Furrow signs":         {true, true, false},
		"base takes all commits":                              {false, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.server.requires.Signed = tc.takesSigned
			s.options.Signed = tc.signs
			s.forge = s.newForge()
			s.must(s.forge.Ready(t.Context()))
			warnings := s.forge.Warnings()
			if (len(warnings) == 1) != tc.warns || tc.warns && (warnings[0].Reason != v1alpha1.ReasonBaseTakesSignedOnly || warnings[0].Field != "spec.signing") {
				t.Errorf("got %v", warnings)
			}
		})
	}
}

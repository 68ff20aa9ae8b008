package gitlab_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/gitlab"
	servers "github.com/furrow-dev/furrow/test/servers/gitlab"
)

func TestWhatBaseRequires(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		settings  func(*servers.Settings)
		protected bool
		want      forge.Requirements
		requests  int
	}{
		"nothing":         {func(*servers.Settings) {}, false, forge.Requirements{}, 3},
		"in free edition": {func(o *servers.Settings) { o.Free, o.Threads = true, true }, false, forge.Requirements{Threads: true}, 2},
		"a pipeline":      {func(o *servers.Settings) { o.PipelinesMustSucceed = true }, false, forge.Requirements{AllChecks: true}, 3},
		"approvals": {func(o *servers.Settings) {
			o.Approvals, o.Rules = 2, map[string]int{"security": 1, "other:ops": 1, "optional": 0}
		}, false, forge.Requirements{Approvals: 2, Approvers: []string{"1 of security"}}, 3},
		"code owners, by a train": {func(o *servers.Settings) { o.Owners, o.Trains = true, true }, true, forge.Requirements{CodeOwners: true, Queue: true}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.Configure(fleet, tc.settings)
			if tc.protected {
				s.Protect(fleet, "main", servers.Maintainer)
			}
			asked := s.asked(func() {
				got, err := s.api.Requires(t.Context())
				must(t, err)
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
			if sum(asked) != tc.requests {
				t.Errorf("asked %v", asked)
			}
		})
	}
}

// The push rules are shown to maintainers.
func TestBaseThatTakesOnlySignedCommits(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Configure(fleet, func(o *servers.Settings) { o.Signed = true })
	for role, want := range map[servers.Role]bool{servers.Developer: false, servers.Maintainer: true} {
		got, err := s.as(s.ProjectToken(fleet, role, "api")).Pushers(t.Context())
		if must(t, err); got.SignedBase != want {
			t.Errorf("as %v: %+v", role, got)
		}
	}
}

func TestWhatBaseRequiresMayBeHidden(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	hidden := forge.Requirements{HidesChecks: true, HidesReviews: true}
	for name, tc := range map[string]struct {
		api  *gitlab.Server
		want forge.Requirements
	}{
		"a stranger":      {s.as(s.Token("eve", "api")), hidden},
		"a revoked token": {s.as("glpat-wrong"), hidden},
		"a reporter":      {s.as(s.ProjectToken(fleet, servers.Reporter, "api")), forge.Requirements{HidesReviews: true}},
	} {
		if got, err := tc.api.Requires(t.Context()); err != nil || !cmp.Equal(got, tc.want) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	s.Fail("", http.StatusBadGateway)
	if _, err := s.api.Requires(t.Context()); !forge.IsFailure(err, forge.FailedNetwork) {
		t.Error(err)
	}
}

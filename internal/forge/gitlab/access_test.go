package gitlab_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/forge/gitlab"
	"github.com/furrow-dev/furrow/internal/forge/pull"
	"github.com/furrow-dev/furrow/internal/forge/rest"
	servers "github.com/furrow-dev/furrow/test/servers/gitlab"
)

func TestAccessNamesWhatCredentialsLack(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		of       func(site) *gitlab.Server
		want     []string
		requests int
	}{
		"a personal token":            {func(s site) *gitlab.Server { return s.as(s.Token("bot", "api")) }, nil, 2},
		"a token that only reads":     {func(s site) *gitlab.Server { return s.as(s.Token("bot", "read_api", "write_repository")) }, []string{"the scope api"}, 1},
		"a project token":             {func(s site) *gitlab.Server { return s.as(s.ProjectToken(fleet, servers.Developer, "api")) }, nil, 2},
		"a project token of a reader": {func(s site) *gitlab.Server { return s.as(s.ProjectToken(fleet, servers.Reporter, "api")) }, []string{"the role Developer"}, 3},
		"a project token that only reads": {func(s site) *gitlab.Server {
			return s.as(s.ProjectToken(fleet, servers.Developer, "read_repository"))
		}, []string{"the scope api"}, 1},
		"a member of an invited group": {func(s site) *gitlab.Server {
			s.Invite(fleet, "eve", servers.Developer)
			return s.as(s.Token("eve", "api"))
		}, nil, 3},
		"a reader who is a member of an invited group": {func(s site) *gitlab.Server {
			s.Invite(fleet, "eve", servers.Reporter)
			return s.as(s.Token("eve", "api"))
		}, []string{"the role Developer"}, 3},
		"a token of OAuth, which shows no scopes": {func(s site) *gitlab.Server {
			return newServer(s.T, s.GitURL(fleet), s.OAuth("bot", "api"), rest.Bearer, http.DefaultTransport)
		}, nil, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			api, got := tc.of(s), pull.Access{}
			asked := s.asked(func() {
				var err error
				got, err = api.Access(t.Context())
				must(t, err)
			})
			var names []string
			for _, m := range got.Missing {
				names = append(names, m.Name)
			}
			if diff := cmp.Diff(tc.want, names); diff != "" || got.Archived || sum(asked) != tc.requests {
				t.Errorf("missing, asked %v (-want +got):\n%s", asked, diff)
			}
		})
	}
}

func TestAccessShowsAnArchivedProject(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Configure(fleet, func(o *servers.Settings) { o.Archived = true })
	if got, err := s.api.Access(t.Context()); err != nil || !got.Archived {
		t.Errorf("%+v, %v", got, err)
	}
}

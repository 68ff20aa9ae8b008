package gitlab

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	gl "gitlab.com/gitlab-org/api/client-go"

	"github.com/furrow-dev/furrow/internal/forge/pull"
	"github.com/furrow-dev/furrow/internal/forge/rest"
)

// Access reads the token and the project. A token of OAuth shows no scopes. The project does not
// show a role that comes from an invited group; the list of members does.
func (s *Server) Access(ctx context.Context) (pull.Access, error) {
	var token *gl.PersonalAccessToken
	err := s.do(ctx, "read the scopes of the token", func(with gl.RequestOptionFunc) (err error) {
		token, _, err = s.api.PersonalAccessTokens.GetSinglePersonalAccessToken(with)
		return err
	})
	known := err == nil
	if err != nil && !unanswered(err) {
		return pull.Access{}, err
	}
	// One that is fine-grained has permissions instead, which it does not show by the same names.
	if known && !slices.Contains(token.Scopes, "api") && !slices.Contains(token.Scopes, "granular") {
		return pull.Access{Missing: []pull.Missing{{Name: "the scope api", Next: "make a token that has it"}}}, nil
	}
	p, err := s.read(ctx)
	if err != nil {
		return pull.Access{}, err
	}
	out := pull.Access{Archived: p.Archived}
	if !known || roleIn(p) >= gl.DeveloperPermissions {
		return out, nil
	}
	has, err := s.member(ctx, token.UserID)
	if err == nil && has > 0 && has < gl.DeveloperPermissions {
		out.Missing = []pull.Missing{{Name: "the role Developer", Next: "give it to the user of the token in the project"}}
	}
	return out, err
}

// unanswered reports whether GitLab does not show something to these credentials, or at all.
func unanswered(err error) bool {
	return slices.ContainsFunc([]int{http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed}, func(status int) bool { return rest.Refused(err, status) })
}

// roleIn returns the role in a project, as far as the project shows it.
func roleIn(p *gl.Project) (out gl.AccessLevelValue) {
	if p.Permissions == nil {
		return 0
	}
	if access := p.Permissions.ProjectAccess; access != nil {
		out = access.AccessLevel
	}
	if access := p.Permissions.GroupAccess; access != nil {
		out = max(out, access.AccessLevel)
	}
	return out
}

// member returns the role of a user, by whatever group; zero for one who is not a member, as an
// administrator, or where that is not shown.
func (s *Server) member(ctx context.Context, user int64) (gl.AccessLevelValue, error) {
	var m *gl.ProjectMember
	err := s.do(ctx, fmt.Sprintf("read the role of user %d", user), func(with gl.RequestOptionFunc) (err error) {
		m, _, err = s.api.ProjectMembers.GetInheritedProjectMember(s.path, user, with)
		return err
	})
	switch {
	case unanswered(err):
		return 0, nil
	case err != nil:
		return 0, err
	}
	return m.AccessLevel, nil
}

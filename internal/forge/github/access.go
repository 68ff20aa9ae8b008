package github

import (
	"context"
	"net/http"
	"slices"
	"strings"

	gh "github.com/google/go-github/v56/github"

	"github.com/furrow-dev/furrow/internal/forge/pull"
)

// Access reads the repository. It shows the role of a user, and its headers the scopes of a classic
// token. Of a fine-grained token GitHub shows no permissions.
func (s *Server) Access(ctx context.Context) (pull.Access, error) {
	var r *gh.Repository
	var header http.Header
	err := s.do(ctx, "read the repository", func(ctx context.Context, c *gh.Client) error {
		found, answer, err := c.Repositories.Get(ctx, s.owner, s.name)
		if err == nil {
			r, header = found, answer.Header
		}
		return err
	})
	if err != nil {
		return pull.Access{}, err
	}
	out := pull.Access{Archived: r.GetArchived()}
	if permissions := s.client.Permissions(); permissions != nil {
		out.Missing = missingPermissions(permissions)
		return out, nil
	}
	if scopes, classic := header["X-Oauth-Scopes"]; classic {
		out.Missing = missingScope(scopes, r.GetPrivate())
	}
	// The tokens of Apps have no role: not even to read.
	if role := r.GetPermissions(); len(out.Missing) == 0 && role["pull"] && !role["push"] {
		out.Missing = append(out.Missing, pull.Missing{Name: "the role Write", Next: "give it to the user of the token in the repository"})
	}
	return out, nil
}

// needed are the permissions of an App without which nothing works; one of each row is enough.
var needed = [][]string{{"contents"}, {"pull_requests"}, {"checks", "statuses"}}

// missingPermissions returns what an installation of an App lacks.
func missingPermissions(has map[string]string) (out []pull.Missing) {
	for _, names := range needed {
		if slices.ContainsFunc(names, func(name string) bool { return has[name] == "write" || has[name] == "admin" }) {
			continue
		}
		out = append(out, pull.Missing{
			Name: "the permission " + strings.Join(names, "=write or ") + "=write",
			Next: "grant it in the settings of the App, and accept it in those of the installation",
		})
	}
	return out
}

// missingScope returns what a classic token lacks.
func missingScope(scopes []string, private bool) []pull.Missing {
	name := "the scope repo"
	accepted := []string{"repo"}
	if !private {
		accepted, name = append(accepted, "public_repo"), name+" or public_repo"
	}
	for scope := range strings.SplitSeq(strings.Join(scopes, ","), ",") {
		if slices.Contains(accepted, strings.TrimSpace(scope)) {
			return nil
		}
	}
	return []pull.Missing{{Name: name, Next: "add it to the token"}}
}

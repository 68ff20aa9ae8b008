package gitlab

import (
	"context"
	"net/http"
	"regexp"
	"slices"
	"strings"

	gl "gitlab.com/gitlab-org/api/client-go"

	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/rest"
)

// Pushers reads the protected branches, whose names may have wildcards. Where several match, GitLab
// lets those push whom one of them lets.
func (s *Server) Pushers(ctx context.Context) (forge.Pushers, error) {
	var all []*gl.ProtectedBranch
	err := s.do(ctx, "read who may push to branches", func(with gl.RequestOptionFunc) error {
		all = nil
		for b, err := range pages(func(o gl.ListOptions) ([]*gl.ProtectedBranch, *gl.Response, error) {
			return s.api.ProtectedBranches.ListProtectedBranches(s.path, &gl.ListProtectedBranchesOptions{ListOptions: o}, with)
		}) {
			if err != nil {
				return err
			}
			all = append(all, b)
		}
		return nil
	})
	switch {
	case rest.Refused(err, http.StatusForbidden), rest.Refused(err, http.StatusUnauthorized), rest.Refused(err, http.StatusNotFound):
		return forge.Pushers{State: forge.PushersUnknown}, nil
	case err != nil:
		return forge.Pushers{}, err
	}
	out := pushers(all, forge.ProbeBranch(s.base))
	out.SignedBase = s.takesSigned(ctx)
	return out, nil
}

// takesSigned reports whether the push rules refuse commits that are not signed. The free edition has no push
// rules, and others show them to maintainers.
func (s *Server) takesSigned(ctx context.Context) (signed bool) {
	_ = s.do(ctx, "read the push rules", func(with gl.RequestOptionFunc) error {
		rules, _, err := s.api.Projects.GetProjectPushRules(s.path, with)
		signed = err == nil && rules.RejectUnsignedCommits
		return err
	})
	return signed
}

// pushers returns who may push to a branch.
func pushers(protected []*gl.ProtectedBranch, branch string) forge.Pushers {
	var who []string
	restricted := false
	for _, b := range protected {
		if !matches(b.Name, branch) {
			continue
		}
		restricted = true
		for _, level := range b.PushAccessLevels {
			if level.UserID == 0 && level.GroupID == 0 && level.DeployKeyID == 0 && level.AccessLevel == gl.DeveloperPermissions {
				return forge.Pushers{State: forge.PushersEverybody, Who: "everybody with the role Developer"}
			}
			who = append(who, level.AccessLevelDescription)
		}
	}
	if !restricted {
		return forge.Pushers{State: forge.PushersEverybody, Who: "everybody with the role Developer"}
	}
	slices.Sort(who)
	return forge.Pushers{State: forge.PushersRestricted, Who: strings.Join(slices.Compact(who), ", ")}
}

// matches reports whether a branch has the name of a protected one, in which * is any text.
func matches(pattern, branch string) bool {
	parts := strings.Split(pattern, "*")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	found, err := regexp.MatchString("^"+strings.Join(parts, ".*")+"$", branch)
	return found && err == nil
}

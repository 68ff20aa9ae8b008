package gitea

import (
	"context"
	"net/http"
	"slices"
	"strings"

	sdk "code.gitea.io/sdk/gitea"
	"github.com/gobwas/glob"

	"github.com/furrow-dev/furrow/internal/forge"
)

// Pushers reads the branch protections, which Gitea shows to administrators of the repository. The
// first rule that matches counts, exact names before patterns.
func (s *Server) Pushers(ctx context.Context) (forge.Pushers, error) {
	var rules []sdk.BranchProtection
	if _, err := s.call(ctx, "read who may push to branches", http.MethodGet, "/branch_protections", nil, &rules); err != nil {
		if forge.IsFailure(err, forge.FailedAuth) || forge.IsFailure(err, forge.FailedNotFound) {
			return forge.Pushers{State: forge.PushersUnknown}, nil
		}
		return forge.Pushers{}, err
	}
	of := func(branch string) *sdk.BranchProtection {
		if at := slices.IndexFunc(rules, func(r sdk.BranchProtection) bool { return matches(r.RuleName, branch) }); at >= 0 {
			return &rules[at]
		}
		return nil
	}
	base, r := of(s.base), of(forge.ProbeBranch(s.base))
	signed := base != nil && base.RequireSignedCommits
	if r == nil || r.EnablePush && !r.EnablePushWhitelist {
		return forge.Pushers{State: forge.PushersEverybody, Who: "everybody with write access", SignedBase: signed}, nil
	}
	who := []string{}
	if r.EnablePush {
		who = slices.Concat(r.PushWhitelistUsernames, r.PushWhitelistTeams)
		if r.PushWhitelistDeployKeys {
			who = append(who, "deploy keys")
		}
	}
	if len(who) == 0 {
		who = append(who, "nobody")
	}
	return forge.Pushers{State: forge.PushersRestricted, Who: strings.Join(who, ", "), SignedBase: signed}, nil
}

// matches reports whether a branch protection is for a branch. Gitea matches names by the same library.
func matches(pattern, branch string) bool {
	g, err := glob.Compile(pattern, '/')
	return err == nil && g.Match(branch)
}

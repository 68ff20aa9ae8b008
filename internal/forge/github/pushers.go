package github

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/internal/forge"
)

// Pushers reads the rules for a branch of Furrow's, which need not exist. A rule against updates, and one
// against creations, leave pushing to those who may bypass the ruleset. Whom a branch protection lets
// push is shown to administrators only, and only for branches that exist.
func (s *Server) Pushers(ctx context.Context) (forge.Pushers, error) {
	const op = "read who may push to branches"
	var rules []struct{ Type string }
	_, err := s.client.Call(ctx, op, http.MethodGet, fmt.Sprintf("repos/%s/%s/rules/branches/%s?per_page=%d", s.owner, s.name, url.PathEscape(forge.ProbeBranch(s.base)), perPage), nil, &rules)
	switch has := func(kind string) bool {
		return slices.ContainsFunc(rules, func(r struct{ Type string }) bool { return r.Type == kind })
	}; {
	case hidden(err):
		return forge.Pushers{State: forge.PushersUnknown}, nil
	case err != nil:
		return forge.Pushers{}, err
	case has("update") && has("creation"):
		return forge.Pushers{State: forge.PushersRestricted, Who: "those who may bypass the ruleset"}, nil
	}
	var protected []struct{ Name string }
	_, err = s.client.Call(ctx, op, http.MethodGet, fmt.Sprintf("repos/%s/%s/branches?protected=true&per_page=%d", s.owner, s.name, perPage), nil, &protected)
	switch {
	case hidden(err):
		return forge.Pushers{State: forge.PushersUnknown}, nil
	case err != nil:
		return forge.Pushers{}, err
	case slices.ContainsFunc(protected, func(b struct{ Name string }) bool { return strings.HasPrefix(b.Name, "furrow/") }):
		return forge.Pushers{State: forge.PushersUnknown}, nil
	}
	return forge.Pushers{State: forge.PushersEverybody, Who: "everybody with the role Write"}, nil
}

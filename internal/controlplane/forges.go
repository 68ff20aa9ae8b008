package controlplane

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/gitea"
	"github.com/furrow-dev/furrow/internal/forge/github"
	"github.com/furrow-dev/furrow/internal/forge/gitlab"
	"github.com/furrow-dev/furrow/internal/forge/plain"
	"github.com/furrow-dev/furrow/internal/forge/pull"
	"github.com/furrow-dev/furrow/internal/forge/rest"
	"github.com/furrow-dev/furrow/internal/git"
)

// forgeKind is a kind of forge.
type forgeKind struct {
	name v1alpha1.ForgeType
	// form is how its API wants a token.
	form rest.Form
	// open makes the API of a repository, for pull requests to a branch; nil where there are none.
	open func(base string, o rest.Access) (pull.Server, error)
}

// forges lists the kinds of forges.
var forges = []forgeKind{
	{name: v1alpha1.ForgePlain},
	{v1alpha1.ForgeGitea, rest.Token, opener(gitea.New)},
	{v1alpha1.ForgeGitHub, rest.Bearer, opener(github.New)},
	{v1alpha1.ForgeGitLab, rest.Bearer, opener(gitlab.New)},
}

func opener[S pull.Server](open func(string, rest.Access) (S, error)) func(string, rest.Access) (pull.Server, error) {
	return func(base string, o rest.Access) (pull.Server, error) { return open(base, o) }
}

// kindOf returns the kind of forge of a repository.
func kindOf(spec v1alpha1.GitOpsRepoSpec) (forgeKind, error) {
	i := slices.IndexFunc(forges, func(k forgeKind) bool { return k.name == spec.ForgeOrDefault() })
	if i < 0 {
		names := make([]string, len(forges))
		for i, k := range forges {
			names[i] = string(k.name)
		}
		last := len(names) - 1
		return forgeKind{}, manifest.Problem{Reason: v1alpha1.ReasonInvalidField, Field: "spec.forge", Message: fmt.Sprintf("spec.forge %q is unknown", spec.Forge), Next: "Write " + strings.Join(names[:last], ", ") + " or " + names[last]}
	}
	return forges[i], nil
}

// openForge opens the forge of a repository. The remote is that of its API (forAPI).
func (s *Session) openForge(name string, m *git.Mirror, remote git.Remote, spec v1alpha1.GitOpsRepoSpec) (forge.Forge, error) {
	kind, err := kindOf(spec)
	if err != nil {
		return nil, err
	}
	if kind.open == nil {
		return plain.New(m, spec.BranchOrDefault()), nil
	}
	o := rest.Access{URL: remote.URL, CABundle: remote.CABundle, Limits: s.options.ForgeLimits}
	if o.Source, err = sourceOf(remote, kind.form); err != nil {
		return nil, err
	}
	if s.options.ObserveTransport != nil {
		o.Observe = func(next http.RoundTripper) http.RoundTripper { return s.options.ObserveTransport(name, next) }
	}
	server, err := kind.open(spec.BranchOrDefault(), o)
	if err != nil {
		return nil, err
	}
	p := spec.Proposals
	return pull.New(server, m, pull.Options{
		Base: spec.BranchOrDefault(), Reviewers: p.Reviewers, Assignees: p.Assignees, Milestone: p.Milestone,
		Unlabeled: p.Labels != nil && len(p.Labels) == 0, Signed: spec.Signing != nil,
	}), nil
}

// sourceOf returns the credentials for the API: those of Git.
func sourceOf(remote git.Remote, form rest.Form) (rest.Source, error) {
	if app, ok := remote.Source.(rest.Source); ok {
		return app, nil
	}
	l := rest.Login{Token: remote.Token, Username: remote.Username, Password: remote.Password}
	if u, err := url.Parse(remote.URL); err == nil {
		l.User = u.User
	}
	return rest.NewSource(l, form, remote.String())
}

package e2e

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/furrow-dev/furrow/test/servers"
)

// account is a user of Gitea.
type account struct{ name, token string }

// client returns a client of Gitea's API for this user.
func (a account) client(gitea string) (*sdk.Client, error) {
	return sdk.NewClient(gitea, sdk.SetToken(a.token), sdk.SetGiteaVersion(""))
}

// createAccount creates a user.
func createAccount(ctx context.Context, gitea *servers.Gitea, name string) (account, error) {
	token, err := gitea.CreateUser(ctx, name)
	return account{name, token}, err
}

// createRepository creates a repository with a first commit, which the accounts may write.
func createRepository(ctx context.Context, gitea *servers.Gitea, owner, name string, writers ...account) (url string, err error) {
	if url, err = gitea.CreateRepo(ctx, owner, name, true); err != nil {
		return "", err
	}
	admin, err := account{gitea.AdminUser, gitea.AdminToken}.client(gitea.URL)
	if err != nil {
		return "", err
	}
	write := sdk.AccessModeWrite
	for _, writer := range writers {
		if _, err := admin.AddCollaborator(owner, name, writer.name, sdk.AddCollaboratorOption{Permission: &write}); err != nil {
			return "", fmt.Errorf("let %s write %s/%s: %w", writer.name, owner, name, err)
		}
	}
	return url, nil
}

// listPulls lists the pull requests of a repository, the oldest first.
func listPulls(client *sdk.Client, r *repository, state sdk.StateType) ([]*sdk.PullRequest, error) {
	var all []*sdk.PullRequest
	for page := 1; ; page++ {
		pulls, _, err := client.ListRepoPullRequests(r.owner, r.name, sdk.ListPullRequestsOptions{
			ListOptions: sdk.ListOptions{Page: page, PageSize: 50}, State: state, Sort: "oldest",
		})
		if err != nil {
			return nil, err
		}
		all = append(all, pulls...)
		if len(pulls) < 50 {
			slices.SortFunc(all, func(a, b *sdk.PullRequest) int { return int(a.Index - b.Index) })
			return all, nil
		}
	}
}

// listBranches lists the branches of a repository.
func listBranches(client *sdk.Client, r *repository) ([]string, error) {
	var names []string
	for page := 1; ; page++ {
		branches, _, err := client.ListRepoBranches(r.owner, r.name, sdk.ListRepoBranchesOptions{ListOptions: sdk.ListOptions{Page: page, PageSize: 50}})
		if err != nil {
			return nil, err
		}
		for _, branch := range branches {
			names = append(names, branch.Name)
		}
		if len(branches) < 50 {
			return names, nil
		}
	}
}

// tierPrefix and groupPrefix are the prefixes of the head branches of proposals: of one tier, and of a group.
const tierPrefix, groupPrefix = "furrow/main/tier/", "furrow/main/group/"

// tierOf returns the tier of a pull request, as seed/cluster/number, or its group, as seed/group; empty if the pull request
// is not furrow's.
func tierOf(pull *sdk.PullRequest) string {
	if pull.Head == nil {
		return ""
	}
	for _, prefix := range []string{tierPrefix, groupPrefix} {
		if tier, ok := strings.CutPrefix(pull.Head.Name, prefix); ok {
			return tier
		}
	}
	return ""
}

var tierLine = regexp.MustCompile(`(?m)^Furrow-Tier: (\S+/)tier-(\d+)`)

// tiersOf returns the tiers of a pull request in order, from the name of its branch or, for a group, from its text.
func tiersOf(pull *sdk.PullRequest) []string {
	if strings.HasPrefix(pull.Head.Name, tierPrefix) {
		return []string{tierOf(pull)}
	}
	var tiers []string
	for _, line := range tierLine.FindAllStringSubmatch(pull.Body, -1) {
		tiers = append(tiers, line[1]+line[2])
	}
	slices.Sort(tiers)
	return tiers
}

// pullNames names pull requests for people.
func pullNames(pulls []*sdk.PullRequest) []string {
	names := make([]string, 0, len(pulls))
	for _, pull := range pulls {
		names = append(names, fmt.Sprintf("#%d %s (%s)", pull.Index, tierOf(pull), pull.State))
	}
	return names
}

package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/furrow-dev/furrow/test/servers"
)

// The repositories, and the organisation that has them.
const (
	organisation     = "acme"
	controlPlaneRepo = "control-plane"
	gitopsRepo       = "gitops"
)

// The users of Gitea.
const (
	botName    = "furrow"
	personName = "you"
	readerName = "flux"
)

// account is a user of Gitea, with a token or a password.
type account struct{ name, secret string }

// people are who uses Gitea.
type people struct {
	gitea string
	// bot is furrow run, which proposes; person merges; reader is Flux, which reads.
	bot, person, reader account
}

// url is that of a repository for Git, without credentials.
func (p *people) url(repo string) string {
	return p.gitea + "/" + organisation + "/" + repo + ".git"
}

// urlAs is that of a repository with an account's credentials in it.
func (p *people) urlAs(who account, repo string) (string, error) {
	u, err := url.Parse(p.url(repo))
	if err != nil {
		return "", fmt.Errorf("read the URL of a repository: %w", err)
	}
	u.User = url.UserPassword(who.name, who.secret)
	return u.String(), nil
}

// pulls returns the page of the pull requests, by way of the login.
func (p *people) pulls() string {
	return p.gitea + "/user/login?redirect_to=/" + organisation + "/" + gitopsRepo + "/pulls"
}

// api is Gitea's API as a person has it.
func (p *people) api(ctx context.Context) (*sdk.Client, error) {
	client, err := sdk.NewClient(p.gitea, sdk.SetContext(ctx), sdk.SetBasicAuth(p.person.name, p.person.secret), sdk.SetGiteaVersion(""))
	if err != nil {
		return nil, fmt.Errorf("make a client of Gitea: %w", err)
	}
	return client, nil
}

// startGitea starts Gitea.
func (d *demonstration) startGitea(ctx context.Context) error {
	var err error
	if d.gitea, err = servers.StartGitea(ctx, servers.GiteaOptions{Dir: d.folder.path("gitea")}); err != nil {
		return err
	}
	if !d.again {
		if err := d.customizePages(ctx); err != nil {
			return err
		}
	}
	d.started("Gitea", d.gitea.URL)
	return nil
}

// fill makes the users, their credentials and the repositories; a demo that is continued has them.
// Only at the end it notes that it is done: a demo that was stopped in between begins anew.
func (d *demonstration) fill(ctx context.Context) error {
	d.people = &people{gitea: d.gitea.URL, person: account{personName, d.folder.state.Password}}
	if d.again {
		token, err := os.ReadFile(d.folder.path("credentials", readerName, "token"))
		d.people.reader = account{readerName, string(token)}
		return err
	}
	var err error
	if d.people.bot, err = d.createUser(ctx, botName); err != nil {
		return err
	}
	if d.people.reader, err = d.createUser(ctx, readerName); err != nil {
		return err
	}
	admin, err := sdk.NewClient(d.gitea.URL, sdk.SetContext(ctx), sdk.SetToken(d.gitea.AdminToken), sdk.SetGiteaVersion(""))
	if err != nil {
		return fmt.Errorf("make a client of Gitea: %w", err)
	}
	if err := d.createPerson(admin); err != nil {
		return err
	}
	if err := d.gitea.CreateOrg(ctx, organisation); err != nil {
		return err
	}
	for _, repo := range []string{controlPlaneRepo, gitopsRepo} {
		if err := d.createRepository(ctx, admin, repo); err != nil {
			return err
		}
	}
	if err := d.writeCredentials(); err != nil {
		return err
	}
	if err := d.pushRepositories(ctx); err != nil {
		return err
	}
	if err := awaitPush(ctx, admin); err != nil {
		return err
	}
	if err := protect(admin); err != nil {
		return err
	}
	d.started("Gitea", "two repositories, and the users furrow, flux and you")
	return d.folder.filled()
}

// createUser makes a user who has a token.
func (d *demonstration) createUser(ctx context.Context, name string) (account, error) {
	token, err := d.gitea.CreateUser(ctx, name)
	return account{name, token}, err
}

// createPerson makes the user who logs in.
func (d *demonstration) createPerson(admin *sdk.Client) error {
	change := false
	_, _, err := admin.AdminCreateUser(sdk.CreateUserOption{
		Username: personName, Password: d.people.person.secret, Email: personName + "@example.invalid", MustChangePassword: &change,
	})
	if err != nil {
		return fmt.Errorf("make the user %s: %w", personName, err)
	}
	return nil
}

// createRepository makes an empty repository: the person may write it, Flux read it, and furrow
// write what it proposes to.
func (d *demonstration) createRepository(ctx context.Context, admin *sdk.Client, name string) error {
	if _, err := d.gitea.CreateRepo(ctx, organisation, name, false); err != nil {
		return err
	}
	access := map[string]sdk.AccessMode{botName: sdk.AccessModeRead, personName: sdk.AccessModeWrite}
	if name == gitopsRepo {
		access = map[string]sdk.AccessMode{botName: sdk.AccessModeWrite, personName: sdk.AccessModeWrite, readerName: sdk.AccessModeRead}
	}
	for user, mode := range access {
		if _, err := admin.AddCollaborator(organisation, name, user, sdk.AddCollaboratorOption{Permission: &mode}); err != nil {
			return fmt.Errorf("let %s use %s/%s: %w", user, organisation, name, err)
		}
	}
	return nil
}

// awaitPush waits until Gitea has taken note of what was pushed: until then the repository counts
// as empty, and has no pull requests.
func awaitPush(ctx context.Context, admin *sdk.Client) error {
	return servers.Until(ctx, "Gitea has taken note of the push", func(context.Context) error {
		repository, _, err := admin.GetRepo(organisation, gitopsRepo)
		if err == nil && repository.Empty {
			err = errors.New("the repository is empty")
		}
		return err
	})
}

// protect lets nobody but the person merge or push to what the clusters run.
func protect(admin *sdk.Client) error {
	_, _, err := admin.CreateBranchProtection(organisation, gitopsRepo, sdk.CreateBranchProtectionOption{
		RuleName:   "main",
		EnablePush: true, EnablePushWhitelist: true, PushWhitelistUsernames: []string{personName},
		EnableMergeWhitelist: true, MergeWhitelistUsernames: []string{personName},
	})
	if err != nil {
		return fmt.Errorf("protect the base branch: %w", err)
	}
	return nil
}

// writeCredentials writes the credentials of furrow run, those of the person for furrow's commands,
// and Flux's.
func (d *demonstration) writeCredentials() error {
	if err := d.folder.write([]byte(d.people.reader.secret), "credentials", readerName, "token"); err != nil {
		return err
	}
	for _, set := range []string{controlPlaneRepo, gitopsRepo} {
		for file, content := range map[string]string{
			"credentials/furrow/" + set + "/token": d.people.bot.secret,
			"credentials/you/" + set + "/username": d.people.person.name,
			"credentials/you/" + set + "/password": d.people.person.secret,
			"credentials/furrow/" + set + "/url":   d.people.url(set),
			"credentials/you/" + set + "/url":      d.people.url(set),
		} {
			if err := d.folder.write([]byte(content), file); err != nil {
				return err
			}
		}
	}
	return nil
}

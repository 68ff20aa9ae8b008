package github

import (
	"net/http"
	"slices"
	"strconv"
	"time"
)

func (c *call) getRepoInstallation() *answer {
	for _, i := range c.asker.app.installations {
		if i.has(c.repo) {
			url := c.api + "/app/installations"
			return ok(object{"id": i.id, "app_id": i.app.id, "app_slug": i.app.slug, "target_id": i.owner.id, "target_type": i.owner.kind,
				"account": c.user(i.owner), "single_file_name": nil, "repository_selection": i.selection(), "events": []any{},
				"access_tokens_url": url + "/access_tokens", "html_url": c.s.URL + "/settings/installations",
				"repositories_url": c.api + "/installation/repositories", "permissions": i.app.permissions,
				"created_at": stamp(c.s.now()), "updated_at": stamp(c.s.now()), "suspended_by": nil, "suspended_at": nil})
		}
	}
	return notFound()
}

func (i *installation) selection() string {
	if i.repos == nil {
		return "all"
	}
	return "selected"
}

// createInstallationToken gives a token for an hour, for some repositories and permissions of the
// installation.
func (c *call) createInstallationToken() *answer {
	id, _ := strconv.ParseInt(c.params["installation_id"], 10, 64)
	at := slices.IndexFunc(c.asker.app.installations, func(i *installation) bool { return i.id == id })
	if at < 0 {
		return notFound()
	}
	i := c.asker.app.installations[at]
	t := &token{kind: installationToken, user: i.app.bot, installation: i, permissions: i.app.permissions,
		expires: c.s.now().Add(time.Hour), repos: i.repos}
	if names, _ := c.fields["repositories"].([]any); len(names) > 0 {
		t.repos = nil
		for _, r := range c.s.repos {
			if i.has(r) && slices.Contains(names, any(r.name)) {
				t.repos = append(t.repos, r)
			}
		}
		if len(t.repos) != len(names) {
			return refuse(http.StatusUnprocessableEntity, "There is at least one repository that does not exist or is not accessible to the parent installation.")
		}
	}
	if asked, has := c.fields["permissions"].(object); has {
		t.permissions = map[string]string{}
		for name, level := range asked {
			t.permissions[name], _ = level.(string)
			if granted := i.app.permissions[name]; granted != level && (granted != "write" || level != "read") {
				return refuse(http.StatusUnprocessableEntity, "The permissions requested are not granted to this installation.")
			}
		}
	}
	c.s.addToken(t, "ghs_")
	return created(object{"token": t.value, "expires_at": stamp(t.expires), "permissions": t.permissions, "repository_selection": i.selection()})
}

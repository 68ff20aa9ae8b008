package github

import (
	"net/http"
	"slices"
	"strconv"
	"time"
)

// createInstallationToken gives a token for an hour, for some repositories of the installation.
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
	c.s.addToken(t, "ghs_")
	return created(object{"token": t.value, "expires_at": stamp(t.expires), "permissions": t.permissions, "repository_selection": "selected"})
}

package github

import (
	"fmt"
	"maps"
	"net/url"
	"strings"
	"time"
)

// view makes the objects of answers: api is the API's root that the asker used.
type view struct {
	s     *Server
	api   string
	asker *caller
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func stampOrNil(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return stamp(t)
}

func textOrNil(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func node(kind string, id int64) string { return fmt.Sprintf("%s_%d", kind, id) }

// userLinks and repoLinks are the addresses that users and repositories have, by what is behind
// their own.
var userLinks = map[string]string{
	"events_url": "/events{/privacy}", "followers_url": "/followers", "following_url": "/following{/other_user}",
	"gists_url": "/gists{/gist_id}", "organizations_url": "/orgs", "received_events_url": "/received_events",
	"repos_url": "/repos", "starred_url": "/starred{/owner}{/repo}", "subscriptions_url": "/subscriptions", "url": "",
}

var repoLinks = map[string]string{
	"archive_url": "/{archive_format}{/ref}", "assignees_url": "/assignees{/user}", "blobs_url": "/git/blobs{/sha}",
	"branches_url": "/branches{/branch}", "collaborators_url": "/collaborators{/collaborator}",
	"comments_url": "/comments{/number}", "commits_url": "/commits{/sha}", "compare_url": "/compare/{base}...{head}",
	"contents_url": "/contents/{+path}", "contributors_url": "/contributors", "deployments_url": "/deployments",
	"downloads_url": "/downloads", "events_url": "/events", "forks_url": "/forks", "git_commits_url": "/git/commits{/sha}",
	"git_refs_url": "/git/refs{/sha}", "git_tags_url": "/git/tags{/sha}", "hooks_url": "/hooks",
	"issue_comment_url": "/issues/comments{/number}", "issue_events_url": "/issues/events{/number}",
	"issues_url": "/issues{/number}", "keys_url": "/keys{/key_id}", "labels_url": "/labels{/name}",
	"languages_url": "/languages", "merges_url": "/merges", "milestones_url": "/milestones{/number}",
	"notifications_url": "/notifications{?since,all,participating}", "pulls_url": "/pulls{/number}",
	"releases_url": "/releases{/id}", "stargazers_url": "/stargazers", "statuses_url": "/statuses/{sha}",
	"subscribers_url": "/subscribers", "subscription_url": "/subscription", "tags_url": "/tags", "teams_url": "/teams",
	"trees_url": "/git/trees{/sha}", "url": "",
}

func (v view) user(u *user) any {
	if u == nil {
		return nil
	}
	out := object{
		"id": u.id, "node_id": node("U", u.id), "login": u.login, "type": u.kind, "site_admin": false, "gravatar_id": "",
		"avatar_url": v.s.URL + "/avatars/" + u.login, "html_url": v.s.URL + "/" + u.login,
	}
	for name, suffix := range userLinks {
		out[name] = v.api + "/users/" + u.login + suffix
	}
	return out
}

func (v view) repoURL(r *repo) string { return v.api + "/repos/" + r.fullName() }

func (v view) repository(r *repo) object {
	html := v.s.URL + "/" + r.fullName()
	out := object{
		"id": r.id, "node_id": node("R", r.id), "name": r.name, "full_name": r.fullName(), "owner": v.user(r.owner),
		"private": r.private, "visibility": map[bool]string{true: "private", false: "public"}[r.private],
		"description": nil, "fork": r.parent != nil, "html_url": html, "clone_url": html + ".git",
		"git_url": "git" + strings.TrimPrefix(html, "http") + ".git", "svn_url": html, "homepage": nil, "mirror_url": nil,
		"ssh_url":        "git@github.com:" + r.fullName() + ".git",
		"default_branch": r.defaultBranch, "archived": r.archived, "disabled": false, "language": nil, "license": nil,
		"forks": 0, "forks_count": 0, "open_issues": 0, "open_issues_count": 0, "size": 0,
		"stargazers_count": 0, "watchers": 0, "watchers_count": 0, "network_count": 0, "subscribers_count": 0,
		"has_issues": true, "has_projects": false, "has_wiki": false, "has_pages": false, "has_downloads": true, "has_discussions": false,
		"pushed_at": stamp(r.pushed), "created_at": stamp(r.created), "updated_at": stamp(r.pushed),
	}
	for name, suffix := range repoLinks {
		out[name] = v.repoURL(r) + suffix
	}
	if v.asker != nil {
		has := v.asker.roleIn(r)
		if v.asker.token != nil && v.asker.token.kind == installationToken {
			has = roleNone // an App has permissions, and no role
		}
		out["permissions"] = object{"pull": has >= rolePull, "triage": has >= roleTriage, "push": has >= rolePush,
			"maintain": has >= roleMaintain, "admin": has >= roleAdmin}
	}
	return out
}

func (c *call) getRepo() *answer { return ok(c.fullRepository(c.repo)) }

// fullRepository has what only one repository shows, and merge settings only to those who may push.
func (v view) fullRepository(r *repo) object {
	out := v.repository(r)
	if r.parent != nil {
		out["parent"], out["source"] = v.repository(r.parent), v.repository(r.root())
	}
	if v.asker.roleIn(r) >= rolePush {
		for name, value := range map[string]bool{
			"allow_merge_commit": r.mergeCommit, "allow_squash_merge": r.squash, "allow_rebase_merge": r.rebase,
			"delete_branch_on_merge": r.deleteOnMerge,
		} {
			out[name] = value
		}
	}
	return out
}

func (v view) side(s side) object {
	return object{"label": s.label(), "ref": s.ref, "sha": s.sha, "user": v.user(s.repo.owner), "repo": v.repository(s.repo)}
}

func (v view) association(r *repo, u *user) string {
	switch {
	case u == r.owner:
		return "OWNER"
	case r.roles[u.login] != roleNone:
		return "COLLABORATOR"
	}
	return "NONE"
}

func (v view) labels(p *pull) []any {
	return listOf(p.labels, func(name string) object {
		id := p.repo.labels[name]
		return object{"id": id, "node_id": node("LA", id), "url": v.repoURL(p.repo) + "/labels/" + url.PathEscape(name),
			"name": name, "color": "ededed", "default": false, "description": ""}
	})
}

func (v view) issueURL(p *pull) string {
	return fmt.Sprintf("%s/issues/%d", v.repoURL(p.repo), p.number)
}

func (v view) htmlURL(p *pull) string {
	return fmt.Sprintf("%s/%s/pull/%d", v.s.URL, p.repo.fullName(), p.number)
}

func (v view) pullURL(p *pull) string { return fmt.Sprintf("%s/pulls/%d", v.repoURL(p.repo), p.number) }

func (v view) simplePull(p *pull) object {
	url, html, issue := v.pullURL(p), v.htmlURL(p), v.issueURL(p)
	links := map[string]string{
		"self": url, "html": html, "issue": issue, "comments": issue + "/comments", "commits": url + "/commits",
		"review_comments": url + "/comments", "review_comment": v.repoURL(p.repo) + "/pulls/comments{/number}",
		"statuses": v.repoURL(p.repo) + "/statuses/" + p.head.sha,
	}
	out, hrefs := object{}, object{}
	for name, link := range links {
		hrefs[name] = object{"href": link}
		if name != "self" && name != "html" {
			out[name+"_url"] = link
		}
	}
	maps.Copy(out, object{
		"node_id": node("PR", p.id), "url": url, "html_url": html, "diff_url": html + ".diff", "patch_url": html + ".patch",
		"_links": hrefs, "head": v.side(p.head), "base": v.side(p.base), "draft": p.draft,
		"merged_at": stampOrNil(p.merged), "merge_commit_sha": textOrNil(p.mergeCommit), "auto_merge": nil,
		"requested_reviewers": v.users(p.reviewers), "requested_teams": listOf(p.teams, func(slug string) object { return v.team(p.repo, slug) }),
		"id": p.id, "number": p.number, "state": p.state, "locked": false, "title": p.title, "body": textOrNil(p.body),
		"user": v.user(p.user), "labels": v.labels(p), "author_association": v.association(p.repo, p.user),
		"created_at": stamp(p.created), "updated_at": stamp(p.updated), "closed_at": stampOrNil(p.closed),
	})
	maps.Copy(out, v.peopleOf(p))
	return out
}

func (v view) pull(p *pull) object {
	out := v.simplePull(p)
	maps.Copy(out, object{
		"merged": !p.merged.IsZero(), "merged_by": v.user(p.mergedBy), "mergeable": nil, "mergeable_state": v.s.mergeableState(p),
		"rebaseable": nil, "maintainer_can_modify": p.maintainerEdits, "comments": 0, "review_comments": 0,
		"commits": p.repo.git.Count(p.base.sha, p.head.sha), "additions": 0, "deletions": 0, "changed_files": 0,
	})
	if p.mergeable != nil && p.state == "open" {
		out["mergeable"], out["rebaseable"] = *p.mergeable, *p.mergeable
	}
	return out
}

func (v view) comment(p *pull, e *event) object {
	return object{"id": e.id, "node_id": node("IC", e.id), "url": fmt.Sprintf("%s/issues/comments/%d", v.repoURL(p.repo), e.id),
		"html_url":  fmt.Sprintf("%s#issuecomment-%d", v.htmlURL(p), e.id),
		"issue_url": v.issueURL(p), "user": v.user(e.actor), "body": e.text, "author_association": v.association(p.repo, e.actor),
		"created_at": stamp(e.at), "updated_at": stamp(e.at)}
}

func (v view) review(p *pull, e *event) object {
	html := fmt.Sprintf("%s#pullrequestreview-%d", v.htmlURL(p), e.id)
	return object{"id": e.id, "node_id": node("PRR", e.id), "event": e.kind, "user": v.user(e.actor), "body": e.text,
		"state": e.extra["state"], "commit_id": e.extra["commit_id"], "html_url": html, "pull_request_url": v.pullURL(p),
		"submitted_at": stamp(e.at), "author_association": v.association(p.repo, e.actor),
		"_links": object{"html": object{"href": html}, "pull_request": object{"href": v.pullURL(p)}}}
}

func (v view) event(p *pull, e *event) object {
	out := object{"id": e.id, "node_id": node("EV", e.id), "url": fmt.Sprintf("%s/issues/events/%d", v.repoURL(p.repo), e.id),
		"actor": v.user(e.actor), "event": e.kind, "commit_id": nil, "commit_url": nil,
		"created_at": stamp(e.at), "performed_via_github_app": nil}
	maps.Copy(out, e.extra)
	if sha := out["commit_id"]; sha != nil {
		out["commit_url"] = fmt.Sprintf("%s/commits/%s", v.repoURL(p.repo), sha)
	}
	return out
}

package github

import "strings"

// getBranch shows what branch protection requires; rules have an operation of their own.
func (c *call) getBranch() *answer {
	name := c.params["branch"]
	sha := c.repo.git.Branch(name)
	if sha == "" {
		return refuse(404, "Branch not found")
	}
	need, protected := c.repo.protection[name]
	protected = protected && !need.Ruleset
	checks := object{"contexts": []string{}, "checks": []object{}, "enforcement_level": "off"}
	if protected && len(need.Checks) > 0 {
		var apps []object
		for _, name := range need.Checks {
			apps = append(apps, object{"context": name, "app_id": nil})
		}
		checks = object{"contexts": need.Checks, "checks": apps, "enforcement_level": "non_admins"}
	}
	at := c.repoURL(c.repo) + "/branches/" + name
	return ok(object{
		"name": name, "commit": c.commit(sha), "protected": protected, "protection_url": at + "/protection",
		"_links":     object{"self": at, "html": c.s.URL + "/" + c.repo.fullName() + "/tree/" + name},
		"protection": object{"enabled": protected, "required_status_checks": checks},
	})
}

// listBranches shows the protected branches, and no others.
func (c *call) listBranches() *answer {
	rows := []object{}
	for name, need := range c.repo.protection {
		if sha := c.repo.git.Branch(name); sha != "" && !need.Ruleset {
			rows = append(rows, object{"name": name, "commit": object{"sha": sha, "url": c.repoURL(c.repo) + "/commits/" + sha}, "protected": true})
		}
	}
	return ok(rows)
}

// commit is a commit as the API shows it.
func (c *call) commit(sha string) object {
	out, _ := c.repo.git.Git("show", "-s", "--format=%T%x00%an%x00%ae%x00%aI%x00%cn%x00%ce%x00%cI%x00%P%x00%B", sha)
	part := strings.SplitN(out, "\x00", 9)
	at := c.repoURL(c.repo) + "/commits/" + sha
	parents := []object{}
	for _, parent := range strings.Fields(part[7]) {
		parents = append(parents, object{"sha": parent, "url": c.repoURL(c.repo) + "/commits/" + parent, "html_url": c.s.URL + "/" + c.repo.fullName() + "/commit/" + parent})
	}
	return object{
		"sha": sha, "node_id": "C_" + sha, "url": at, "html_url": c.s.URL + "/" + c.repo.fullName() + "/commit/" + sha, "comments_url": at + "/comments",
		"author": nil, "committer": nil, "parents": parents,
		"commit": object{
			"url": c.repoURL(c.repo) + "/git/commits/" + sha, "message": part[8], "comment_count": 0,
			"author":    object{"name": part[1], "email": part[2], "date": part[3]},
			"committer": object{"name": part[4], "email": part[5], "date": part[6]},
			"tree":      object{"sha": part[0], "url": c.repoURL(c.repo) + "/git/trees/" + part[0]},
		},
	}
}

// getProtection shows a branch protection whole.
func (c *call) getProtection() *answer {
	name := c.params["branch"]
	need, there := c.repo.protection[name]
	if !there || need.Ruleset {
		return refuse(404, "Branch not protected")
	}
	at := c.repoURL(c.repo) + "/branches/" + name + "/protection"
	out := object{
		"url": at, "enforce_admins": object{"url": at + "/enforce_admins", "enabled": false},
		"required_conversation_resolution": object{"enabled": need.Threads}, "required_linear_history": object{"enabled": need.Linear},
		"required_signatures": object{"url": at + "/required_signatures", "enabled": need.Signed},
	}
	if need.Reviews > 0 || need.Owners {
		out["required_pull_request_reviews"] = object{
			"url": at + "/required_pull_request_reviews", "dismiss_stale_reviews": false,
			"require_code_owner_reviews": need.Owners, "required_approving_review_count": need.Reviews, "require_last_push_approval": false,
		}
	}
	return ok(out)
}

// listRules shows what rules of the repository require.
func (c *call) listRules() *answer {
	need := c.repo.rules(c.params["branch"])
	rules := []object{}
	if !need.Ruleset {
		return ok(rules)
	}
	rule := func(kind string, parameters object) {
		out := object{"type": kind, "ruleset_id": 1, "ruleset_source": c.repo.fullName(), "ruleset_source_type": "Repository"}
		if parameters != nil {
			out["parameters"] = parameters
		}
		rules = append(rules, out)
	}
	if len(need.Checks) > 0 {
		var checks []object
		for _, name := range need.Checks {
			checks = append(checks, object{"context": name})
		}
		rule("required_status_checks", object{"required_status_checks": checks, "strict_required_status_checks_policy": need.Strict})
	}
	if need.Reviews > 0 || need.Owners || need.Threads {
		rule("pull_request", object{
			"required_approving_review_count": need.Reviews, "require_code_owner_review": need.Owners, "required_review_thread_resolution": need.Threads,
			"dismiss_stale_reviews_on_push": false, "require_last_push_approval": false,
		})
	}
	if need.Linear {
		rule("required_linear_history", nil)
	}
	if need.Signed {
		rule("required_signatures", nil)
	}
	if need.Restricted {
		rule("creation", nil)
		rule("update", object{"update_allows_fetch_and_merge": false})
	}
	if need.Queue {
		rule("merge_queue", object{
			"check_response_timeout_minutes": 60, "grouping_strategy": "ALLGREEN", "max_entries_to_build": 5, "max_entries_to_merge": 5,
			"merge_method": "MERGE", "min_entries_to_merge": 1, "min_entries_to_merge_wait_minutes": 5,
		})
	}
	return ok(rules)
}

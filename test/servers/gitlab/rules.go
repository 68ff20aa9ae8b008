package gitlab

import (
	"maps"
	"slices"
	"strings"
)

// listRules shows who has to approve.
func (c *call) listRules() *answer {
	if c.project.Free {
		return notFound("")
	}
	type rule struct {
		name, kind, branch string
		approvals          int
	}
	var rules []rule
	if n := c.project.Approvals; n > 0 {
		rules = append(rules, rule{name: "All Members", kind: "any_approver", approvals: n})
	}
	for name, n := range c.project.Rules {
		branch, rest, one := strings.Cut(name, ":")
		if !one {
			branch, rest = "", name
		}
		rules = append(rules, rule{rest, "regular", branch, n})
	}
	return page(c, rules, func(r rule) object {
		branches := []object{}
		if r.branch != "" {
			branches = append(branches, object{"id": 1, "name": r.branch})
		}
		return object{
			"id": 1, "name": r.name, "rule_type": r.kind, "approvals_required": r.approvals, "eligible_approvers": []any{}, "users": []any{}, "groups": []any{},
			"contains_hidden_groups": false, "protected_branches": branches, "applies_to_all_protected_branches": false,
		}
	})
}

// getProtected shows the protection of a branch.
func (c *call) getProtected() *answer {
	name := c.path["name"]
	if c.project.protected[name] == None {
		return notFound("")
	}
	return c.ok(c.protected(name))
}

// listProtected shows all protected branches.
func (c *call) listProtected() *answer {
	return page(c, slices.Sorted(maps.Keys(c.project.protected)), c.protected)
}

func (c *call) protected(name string) object {
	level := object{"id": 1, "access_level": c.project.protected[name], "access_level_description": accessLevels[c.project.protected[name]]}
	return object{
		"id": 1, "name": name, "push_access_levels": []any{level}, "merge_access_levels": []any{level}, "allow_force_push": false, "code_owner_approval_required": c.project.Owners,
	}
}

// accessLevels are what GitLab calls roles in protections.
var accessLevels = map[Role]string{Developer: "Developers + Maintainers", Maintainer: "Maintainers"}

// getPushRule shows what is refused when it is pushed.
func (c *call) getPushRule() *answer {
	if c.project.Free {
		return notFound("")
	}
	return c.ok(object{
		"id": 1, "project_id": c.project.id, "created_at": stamp(c.s.now()), "deny_delete_tag": false, "member_check": false, "prevent_secrets": false, "max_file_size": 0,
		"commit_committer_check": false, "commit_committer_name_check": false, "reject_unsigned_commits": c.project.Signed, "reject_non_dco_commits": false,
		"commit_message_regex": nil, "commit_message_negative_regex": nil, "branch_name_regex": nil, "author_email_regex": nil, "file_name_regex": nil,
	})
}

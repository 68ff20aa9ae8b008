package gitlab

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// operation is one operation of the API: what GitLab's documentation says of it, and what handles
// it.
type operation struct {
	method, path string
	// params are those of the query, or of the body: "name type", with "*" at the end of a name that
	// is required, and with the values that are allowed.
	params []string
	// answer are the fields of the answer, or of each row: "name type", with "?" at the end of a type
	// that may be null.
	answer []string
	list   bool
	status int
	// role is what the caller needs in the project.
	role Role
	// anyScope lets tokens of all scopes.
	anyScope bool
	handle   func(*call) *answer

	pattern *regexp.Regexp
}

func (o *operation) name() string { return o.method + " " + o.path }

const (
	projectPath = "/projects/:id"
	listPath    = projectPath + "/merge_requests"
	requestPath = listPath + "/:merge_request_iid"
	trainPath   = projectPath + "/merge_trains/merge_requests/:merge_request_iid"
)

var (
	paged = []string{"page integer", "per_page integer"}

	// listedUserFields are those that are not an administrator's.
	listedUserFields = append(slices.Clone(userFields), "locked boolean")

	// milestoneFields are those beside the id of its project, or of its group.
	milestoneFields = []string{
		"id integer", "iid integer", "title string", "description string?", "due_date string?", "start_date string?", "state active,closed",
		"created_at time", "updated_at time", "expired boolean?", "web_url string",
	}

	userFields = []string{"id integer", "username string", "name string", "state string", "avatar_url string?", "web_url string"}

	projectFields = []string{
		"id integer", "name string", "path string", "path_with_namespace string", "description string?", "web_url string",
		"http_url_to_repo string", "default_branch string?", "archived boolean", "empty_repo boolean", "visibility string",
		"merge_method merge,rebase_merge,ff", "squash_option never,always,default_on,default_off", "merge_requests_enabled boolean",
		"only_allow_merge_if_pipeline_succeeds boolean", "only_allow_merge_if_all_discussions_are_resolved boolean", "merge_trains_enabled boolean", "remove_source_branch_after_merge boolean?", "created_at time", "last_activity_at time",
		"permissions object",
	}

	tokenFields = []string{
		"id integer", "name string", "revoked boolean", "created_at time", "description string?", "scopes strings", "user_id integer",
		"last_used_at time?", "active boolean", "expires_at string?",
	}

	ruleFields = []string{
		"id integer", "name string", "rule_type any_approver,regular,report_approver,code_owner", "approvals_required integer", "eligible_approvers list",
		"users list", "groups list", "contains_hidden_groups boolean", "protected_branches list", "applies_to_all_protected_branches boolean",
	}

	protectedFields = []string{
		"id integer", "name string", "push_access_levels list", "merge_access_levels list", "allow_force_push boolean", "code_owner_approval_required boolean",
	}

	pushRuleFields = []string{
		"id integer", "project_id integer", "created_at time", "commit_message_regex string?", "commit_message_negative_regex string?", "branch_name_regex string?",
		"author_email_regex string?", "file_name_regex string?", "deny_delete_tag boolean", "member_check boolean", "prevent_secrets boolean", "max_file_size integer",
		"commit_committer_check boolean", "commit_committer_name_check boolean", "reject_unsigned_commits boolean", "reject_non_dco_commits boolean",
	}

	trainFields = []string{
		"id integer", "merge_request object", "user user", "pipeline object?", "created_at time", "updated_at time", "target_branch string",
		"status idle,stale,fresh,merging,merged,skip_merged", "merged_at time?", "duration integer?",
	}

	memberFields = append(slices.Clone(userFields), "access_level integer", "created_at time", "expires_at string?")

	requestFields = []string{
		"id integer", "iid integer", "project_id integer", "title string", "description string?", "state opened,closed,locked,merged",
		"created_at time", "updated_at time", "merged_at time?", "closed_at time?", "merge_user user?", "merged_by user?", "closed_by user?", "author user",
		"target_branch string", "source_branch string", "source_project_id integer?", "target_project_id integer", "labels strings",
		"draft boolean", "work_in_progress boolean", "merge_status unchecked,checking,can_be_merged,cannot_be_merged,cannot_be_merged_recheck",
		"detailed_merge_status " + strings.Join(mergeStatuses, ","), "sha string?", "merge_commit_sha string?", "squash_commit_sha string?",
		"should_remove_source_branch boolean?", "force_remove_source_branch boolean?", "squash boolean", "squash_on_merge boolean",
		"has_conflicts boolean", "blocking_discussions_resolved boolean", "user_notes_count integer", "web_url string", "assignees users", "reviewers users", "milestone milestone?",
	}

	oneRequestFields = append(slices.Clone(requestFields), "merge_error string?", "subscribed boolean", "changes_count string?", "diff_refs object?", "user object")

	noteFields = []string{"id integer", "type string?", "body string", "author user", "created_at time", "updated_at time", "system boolean", "resolvable boolean", "internal boolean"}

	eventFields = []string{"id integer", "user user", "created_at time", "resource_type string", "resource_id integer", "state opened,closed,merged,reopened"}

	statusFields = []string{"id integer", "sha string", "ref string", "status string", "name string", "target_url string?", "description string?", "created_at time", "started_at time?", "finished_at time?", "allow_failure boolean", "coverage number?", "author user", "pipeline_id integer"}
)

var mergeStatuses = []string{
	"approvals_syncing", "checking", "ci_must_pass", "ci_still_running", "commits_status", "conflict", "discussions_not_resolved",
	"draft_status", "merge_time", "mergeable", "need_rebase", "not_approved", "not_open", "preparing", "requested_changes", "unchecked",
}

// operations is the whole API.
var operations = compile([]operation{
	{method: "GET", path: projectPath, params: []string{"license boolean", "statistics boolean", "with_custom_attributes boolean"},
		answer: projectFields, role: Guest, handle: (*call).getProject},
	{method: "GET", path: "/web_commits/public_key", answer: []string{"public_key string"}, handle: (*call).getSigningKey},
	{method: "GET", path: "/personal_access_tokens/self", answer: tokenFields, anyScope: true, handle: (*call).getToken},
	{method: "GET", path: projectPath + "/members/all/:user_id", answer: memberFields, role: Guest, handle: (*call).getMember},
	{method: "GET", path: projectPath + "/approval_rules", list: true, params: paged, answer: ruleFields, role: Developer, handle: (*call).listRules},
	{method: "GET", path: projectPath + "/protected_branches", list: true, params: append([]string{"search string"}, paged...), answer: protectedFields, role: Developer, handle: (*call).listProtected},
	{method: "GET", path: projectPath + "/protected_branches/:name", answer: protectedFields, role: Developer, handle: (*call).getProtected},
	{method: "GET", path: projectPath + "/push_rule", answer: pushRuleFields, role: Maintainer, handle: (*call).getPushRule},
	{method: "GET", path: trainPath, answer: trainFields, role: Developer, handle: (*call).getTrain},
	{method: "POST", path: trainPath, list: true, answer: trainFields, status: http.StatusCreated, role: Developer, handle: (*call).addToTrain,
		params: []string{"auto_merge boolean", "when_pipeline_succeeds boolean", "sha string", "squash boolean"}},
	{method: "GET", path: listPath, list: true, answer: requestFields, role: Guest, handle: (*call).listRequests, params: append([]string{
		"state all,opened,closed,locked,merged", "order_by created_at,label_priority,merged_at,milestone_due,popularity,priority,title,updated_at", "sort asc,desc",
		"source_branch string", "target_branch string", "labels string", "scope created_by_me,assigned_to_me,reviews_for_me,all", "author_username string", "search string",
		"created_after time", "created_before time", "updated_after time", "updated_before time", "view simple", "wip yes,no",
		"with_labels_details boolean", "with_merge_status_recheck boolean",
	}, paged...)},
	{method: "POST", path: listPath, answer: oneRequestFields, status: http.StatusCreated, role: Developer, handle: (*call).createRequest, params: []string{
		"source_branch* string", "target_branch* string", "title* string", "description string", "labels string", "assignee_ids integers", "reviewer_ids integers",
		"milestone_id integer", "remove_source_branch boolean", "squash boolean", "allow_collaboration boolean",
	}},
	{method: "GET", path: requestPath, params: []string{"render_html boolean", "include_diverged_commits_count boolean", "include_rebase_in_progress boolean"},
		answer: oneRequestFields, role: Guest, handle: (*call).getRequest},
	{method: "PUT", path: requestPath, answer: oneRequestFields, role: Reporter, handle: (*call).updateRequest, params: []string{
		"title string", "description string", "state_event close,reopen", "labels string", "add_labels string", "remove_labels string", "target_branch string",
		"assignee_ids integers", "reviewer_ids integers", "milestone_id integer", "remove_source_branch boolean", "squash boolean", "discussion_locked boolean", "allow_collaboration boolean",
	}},
	{method: "PUT", path: requestPath + "/merge", answer: oneRequestFields, role: Guest, handle: (*call).mergeRequest, params: []string{
		"auto_merge boolean", "merge_commit_message string", "squash_commit_message string", "squash boolean", "should_remove_source_branch boolean", "sha string",
	}},
	{method: "GET", path: "/users", list: true, answer: listedUserFields, handle: (*call).listUsers, params: append([]string{
		"username string", "public_email string", "search string", "active boolean", "external boolean", "blocked boolean", "humans boolean",
	}, paged...)},
	{method: "GET", path: projectPath + "/milestones", list: true, answer: []string{"milestone"}, role: Guest, handle: (*call).listMilestones,
		params: append([]string{"title string", "state active,closed", "search string", "include_ancestors boolean"}, paged...)},
	{method: "GET", path: requestPath + "/notes", list: true, answer: noteFields, role: Guest, handle: (*call).listNotes,
		params: append([]string{"sort asc,desc", "order_by created_at,updated_at", "activity_filter all_notes,only_comments,only_activity"}, paged...)},
	{method: "POST", path: requestPath + "/notes", answer: noteFields, status: http.StatusCreated, role: Guest, handle: (*call).createNote,
		params: []string{"body* string", "internal boolean", "merge_request_diff_head_sha string"}},
	{method: "GET", path: requestPath + "/resource_state_events", list: true, answer: eventFields, role: Guest, handle: (*call).listEvents, params: paged},
	{method: "GET", path: projectPath + "/repository/commits/:sha/statuses", list: true, answer: statusFields, role: Reporter, handle: (*call).listStatuses,
		params: append([]string{"ref string", "stage string", "name string", "pipeline_id integer", "order_by id,pipeline_id", "sort asc,desc", "all boolean"}, paged...)},
	{method: "POST", path: projectPath + "/statuses/:sha", answer: statusFields, status: http.StatusCreated, role: Developer, handle: (*call).createStatus, params: []string{
		"state* pending,running,success,failed,canceled,skipped", "name string", "context string", "description string", "target_url string", "ref string", "coverage number", "pipeline_id integer",
	}},
})

var placeholder = regexp.MustCompile(`:(\w+)`)

func compile(table []operation) []operation {
	for i := range table {
		expr := placeholder.ReplaceAllStringFunc(table[i].path, func(name string) string {
			if strings.HasSuffix(name, "_iid") {
				return `(?P<` + name[1:] + `>[0-9]+)`
			}
			return `(?P<` + name[1:] + `>[^/]+)`
		})
		table[i].pattern = regexp.MustCompile("^" + expr + "$")
		if table[i].status == 0 {
			table[i].status = http.StatusOK
		}
	}
	return table
}

// find is the operation of a request, by its escaped path below the API's root.
func find(method, path string) (*operation, map[string]string) {
	for i := range operations {
		o := &operations[i]
		values := o.pattern.FindStringSubmatch(path)
		if o.method != method || values == nil {
			continue
		}
		params := map[string]string{}
		for i, name := range o.pattern.SubexpNames() {
			if text, err := url.PathUnescape(values[i]); err == nil && name != "" {
				params[name] = text
			}
		}
		return o, params
	}
	return nil, nil
}

// given reads the parameters of a request, or reports what the contract does not allow.
func (o *operation) given(r *http.Request, body []byte) (object, error) {
	out := object{}
	switch {
	case r.Method == http.MethodGet && len(body) > 0:
		return nil, fmt.Errorf("a body where none is read: %s", body)
	case r.Method != http.MethodGet && r.URL.RawQuery != "":
		return nil, fmt.Errorf("a query where a body is expected: %s", r.URL.RawQuery)
	case len(body) > 0:
		if !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
			return nil, fmt.Errorf("the body is %q", r.Header.Get("Content-Type"))
		}
		if err := json.Unmarshal(body, &out); err != nil {
			return nil, fmt.Errorf("the body is not an object: %w", err)
		}
	}
	for name, values := range r.URL.Query() {
		if len(values) != 1 {
			return nil, fmt.Errorf("%s is there %d times", name, len(values))
		}
		out[name] = values[0]
	}
	known := map[string]string{}
	for _, row := range o.params {
		name, kind, _ := strings.Cut(row, " ")
		bare, required := strings.CutSuffix(name, "*")
		if _, there := out[bare]; required && !there {
			return nil, fmt.Errorf("%s is missing", bare)
		}
		known[bare] = kind
	}
	for name, value := range out {
		kind, ok := known[name]
		if !ok {
			return nil, fmt.Errorf("unknown parameter %q", name)
		}
		if text, isText := value.(string); isText && r.Method == http.MethodGet {
			value = typed(kind, text)
		}
		if err := conforms(kind, value); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out[name] = value
	}
	return out, nil
}

// typed is the value of a text in a query.
func typed(kind, text string) any {
	if kind != "integer" && kind != "boolean" && kind != "number" {
		return text
	}
	var value any
	if json.Unmarshal([]byte(text), &value) != nil {
		return text
	}
	return value
}

// conforms reports whether a value is of a type, or one of several values.
func conforms(kind string, value any) error {
	kind, nullable := strings.CutSuffix(kind, "?")
	if value == nil && nullable {
		return nil
	}
	ok := false
	switch kind {
	case "string":
		_, ok = value.(string)
	case "boolean":
		_, ok = value.(bool)
	case "number":
		_, ok = value.(float64)
	case "integer":
		n, isNumber := value.(float64)
		ok = isNumber && n == float64(int64(n))
	case "time":
		text, _ := value.(string)
		_, err := time.Parse(time.RFC3339, text)
		ok = err == nil
	case "object":
		_, ok = value.(object)
	case "list":
		_, ok = value.([]any)
	case "strings", "integers":
		list, isList := value.([]any)
		ok = isList && !slices.ContainsFunc(list, func(v any) bool { return conforms(strings.TrimSuffix(kind, "s"), v) != nil })
	case "user":
		return hasFields(userFields, value)
	case "milestone":
		return hasFields([]string{kind}, value)
	case "users":
		list, isList := value.([]any)
		ok = isList && !slices.ContainsFunc(list, func(v any) bool { return hasFields(userFields, v) != nil })
	default:
		text, isText := value.(string)
		ok = isText && slices.Contains(strings.Split(kind, ","), text)
	}
	if !ok {
		return fmt.Errorf("%v is not %s", value, kind)
	}
	return nil
}

// hasFields reports whether a value is an object with exactly these fields.
func hasFields(fields []string, value any) error {
	o, ok := value.(object)
	if !ok {
		return fmt.Errorf("%v is not an object", value)
	}
	if len(fields) == 1 && fields[0] == "milestone" {
		of := "project_id integer"
		if o["group_id"] != nil {
			of = "group_id integer"
		}
		fields = append(slices.Clone(milestoneFields), of)
	}
	left := maps.Clone(o)
	for _, row := range fields {
		name, kind, _ := strings.Cut(row, " ")
		if _, there := o[name]; !there {
			return fmt.Errorf("field %s is missing", name)
		}
		if err := conforms(kind, o[name]); err != nil {
			return fmt.Errorf("field %s: %w", name, err)
		}
		delete(left, name)
	}
	if len(left) > 0 {
		return fmt.Errorf("unknown fields: %v", slices.Sorted(maps.Keys(left)))
	}
	return nil
}

// answers reports where an answer is not what GitLab documents. Refusals have a message or an
// error.
func (o *operation) answers(status int, header http.Header, body []byte) error {
	var value any
	switch {
	case status == http.StatusNotModified && len(body) == 0, status == http.StatusTooManyRequests:
		return nil
	case json.Unmarshal(body, &value) != nil:
		return fmt.Errorf("answer %d is not JSON: %s", status, body)
	case status/100 == 3 && header.Get("Location") != "":
		return nil
	case status >= 400:
		fields, _ := value.(object)
		if fields["message"] == nil && fields["error"] == nil {
			return fmt.Errorf("answer %d says nothing", status)
		}
		return nil
	case status != o.status:
		return fmt.Errorf("the status is %d, not %d", status, o.status)
	case !o.list:
		return hasFields(o.answer, value)
	}
	rows, isList := value.([]any)
	if !isList {
		return fmt.Errorf("the answer is not a list")
	}
	if _, err := strconv.Atoi(header.Get("X-Per-Page")); err != nil {
		return fmt.Errorf("the list has no pages: %w", err)
	}
	for i, row := range rows {
		if err := hasFields(o.answer, row); err != nil {
			return fmt.Errorf("row %d: %w", i, err)
		}
	}
	return nil
}

package github

import (
	"net/http"
	"regexp"
	"strings"
)

// route is one operation of the API.
type route struct {
	method, path string
	handle       func(*call) *answer
	need         need

	pattern *regexp.Regexp
	names   []string
}

// need is what a route requires of its caller.
type need struct {
	permissions string // of fine-grained and installation tokens, alternatives after "; "
	role        role   // in the repository
	content     bool   // creates content: counts against the secondary limit
	app         bool   // wants a GitHub App's JWT
}

const (
	repoPath  = "/repos/{owner}/{repo}"
	issuePath = repoPath + "/issues/{issue_number}"
	pullPath  = repoPath + "/pulls/{pull_number}"
	labelPath = issuePath + "/labels"

	readsPulls  = "issues=read; pull_requests=read"
	writesPulls = "issues=write; pull_requests=write"
)

// routes is the whole API.
var routes = compile([]route{
	{"POST", "/app/installations/{installation_id}/access_tokens", (*call).createInstallationToken, need{app: true}, nil, nil},
	{"GET", repoPath, (*call).getRepo, need{permissions: "metadata=read", role: rolePull}, nil, nil},
	{"GET", repoPath + "/branches", (*call).listBranches, need{permissions: "contents=read", role: rolePull}, nil, nil},
	{"GET", repoPath + "/branches/{branch}", (*call).getBranch, need{permissions: "contents=read", role: rolePull}, nil, nil},
	{"GET", repoPath + "/branches/{branch}/protection", (*call).getProtection, need{permissions: "administration=read", role: roleAdmin}, nil, nil},
	{"GET", repoPath + "/rules/branches/{branch}", (*call).listRules, need{permissions: "metadata=read", role: rolePull}, nil, nil},
	{"GET", repoPath + "/pulls", (*call).listPulls, need{permissions: "pull_requests=read", role: rolePull}, nil, nil},
	{"POST", repoPath + "/pulls", (*call).createPull, need{permissions: "pull_requests=write", role: rolePull, content: true}, nil, nil},
	{"GET", pullPath, (*call).getPull, need{permissions: "pull_requests=read", role: rolePull}, nil, nil},
	{"PATCH", pullPath, (*call).editPull, need{permissions: "pull_requests=write", role: rolePull}, nil, nil},
	{"PUT", pullPath + "/merge", (*call).mergePull, need{permissions: "contents=write", role: rolePush, content: true}, nil, nil},
	{"POST", issuePath + "/comments", (*call).createComment, need{permissions: writesPulls, role: rolePull, content: true}, nil, nil},
	{"GET", issuePath + "/timeline", (*call).listTimeline, need{permissions: readsPulls, role: rolePull}, nil, nil},
	{"POST", labelPath, (*call).addLabels, need{permissions: writesPulls, role: roleTriage}, nil, nil},
	{"GET", repoPath + "/commits/{ref}/status", (*call).getCombinedStatus, need{permissions: "statuses=read", role: rolePull}, nil, nil},
	{"GET", repoPath + "/commits/{ref}/check-runs", (*call).listChecks, need{permissions: "checks=read", role: rolePull}, nil, nil},
	{"DELETE", labelPath + "/{name}", (*call).removeLabel, need{permissions: writesPulls, role: roleTriage}, nil, nil},
	{"PATCH", issuePath, (*call).editIssue, need{permissions: writesPulls, role: rolePull}, nil, nil},
	{"POST", pullPath + "/requested_reviewers", (*call).requestReviewers, need{permissions: "pull_requests=write", role: roleTriage, content: true}, nil, nil},
	{"GET", repoPath + "/milestones", (*call).listMilestones, need{permissions: readsPulls, role: rolePull}, nil, nil},
	{"POST", repoPath + "/check-runs", (*call).createCheck, need{permissions: "checks=write", role: rolePull}, nil, nil},
	{"POST", repoPath + "/statuses/{sha}", (*call).createStatus, need{permissions: "statuses=write", role: rolePush}, nil, nil},
})

var parameter = regexp.MustCompile(`\{(\w+)\}`)

func compile(table []route) []route {
	for i := range table {
		rt := &table[i]
		expr := parameter.ReplaceAllStringFunc(rt.path, func(p string) string {
			name := strings.Trim(p, "{}")
			rt.names = append(rt.names, name)
			if strings.HasSuffix(name, "_number") || strings.HasSuffix(name, "_id") {
				return `([0-9]+)`
			}
			return `([^/]+)`
		})
		rt.pattern = regexp.MustCompile("^" + expr + "$")
	}
	return table
}

// match finds the route of a request by its escaped path below the API's root.
func match(r *http.Request, path string) (*route, map[string]string) {
	for i := range routes {
		rt := &routes[i]
		if rt.method != r.Method {
			continue
		}
		values := rt.pattern.FindStringSubmatch(path)
		if values == nil {
			continue
		}
		params := map[string]string{}
		for i, name := range rt.names {
			params[name] = unescape(values[i+1])
		}
		return rt, params
	}
	return nil, nil
}

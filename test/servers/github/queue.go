package github

import (
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/test/servers/bare"
)

// words are those of GitHub's GraphQL schema that may be in a query.
var words = strings.Fields(`query mutation on owner name number id head String Int ID GitObjectID
	repository pullRequest state headRefOid isInMergeQueue mergeQueueEntry position
	timelineItems last itemTypes REMOVED_FROM_MERGE_QUEUE_EVENT nodes RemovedFromMergeQueueEvent reason
	enqueuePullRequest input pullRequestId expectedHeadOid`)

var word = regexp.MustCompile(`[A-Za-z_]\w*`)

// graphQuery is a request of the GraphQL API.
type graphQuery struct {
	Query     string `json:"query"`
	Variables struct {
		Owner, Name string
		Number      int
		ID, Head    string
	} `json:"variables"`
}

// serveGraphQL serves what of GraphQL is about the merge queue. Refusals are answers of status 200.
func (s *Server) serveGraphQL(w http.ResponseWriter, r *http.Request) {
	fault := s.begin("POST /graphql")
	if fault.before(w) {
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	var q graphQuery
	if err := json.Unmarshal(body, &q); err != nil || r.Method != http.MethodPost {
		s.t.Errorf("%s %s: %s: %v", r.Method, r.URL, body, err)
	}
	for _, name := range word.FindAllString(q.Query, -1) {
		if !slices.Contains(words, name) {
			s.t.Errorf("GitHub's schema has no %q that is modelled", name)
		}
	}
	s.mu.Lock()
	out := &bare.Answer{}
	out.Header().Set("X-RateLimit-Resource", "graphql")
	out.Header().Set("X-RateLimit-Remaining", "0") // a limit of its own, which must not count for others
	who, refused := s.authenticate(r)
	switch {
	case refused != nil:
		refused.record(out)
	case strings.HasPrefix(q.Query, "mutation"):
		ok(s.enqueue(who, q)).record(out)
	default:
		ok(s.queueEntry(who, q)).record(out)
	}
	s.mu.Unlock()
	if fault.after() {
		panic(http.ErrAbortHandler)
	}
	out.SendTo(w)
}

func graphError(kind, message string) object {
	return object{"data": object{"repository": nil, "enqueuePullRequest": nil}, "errors": []object{{"type": kind, "message": message}}}
}

func (s *Server) queueEntry(who *caller, q graphQuery) object {
	r, _ := s.findRepo(q.Variables.Owner + "/" + q.Variables.Name)
	if r == nil || who.roleIn(r) == roleNone {
		return graphError("NOT_FOUND", "Could not resolve to a Repository with the name '"+q.Variables.Owner+"/"+q.Variables.Name+"'.")
	}
	p := r.pull(q.Variables.Number)
	if p == nil {
		out := graphError("NOT_FOUND", "Could not resolve to a PullRequest.")
		out["data"] = object{"repository": object{"pullRequest": nil}}
		return out
	}
	state := map[bool]string{true: "MERGED", false: strings.ToUpper(p.state)}[!p.merged.IsZero()]
	at := slices.Index(r.queue, p)
	entry, removals := any(nil), []object{}
	if at >= 0 {
		entry = object{"position": at + 1, "state": "AWAITING_CHECKS"}
	}
	if p.dequeued != "" {
		removals = append(removals, object{"reason": p.dequeued})
	}
	return object{"data": object{"repository": object{"pullRequest": object{
		"id": node("PR", p.id), "state": state, "headRefOid": p.head.sha, "isInMergeQueue": at >= 0, "mergeQueueEntry": entry,
		"timelineItems": object{"nodes": removals},
	}}}}
}

func (s *Server) enqueue(who *caller, q graphQuery) object {
	all := s.pulls()
	i := slices.IndexFunc(all, func(p *pull) bool { return node("PR", p.id) == q.Variables.ID })
	switch {
	case i < 0:
		return graphError("NOT_FOUND", "Could not resolve to a node with the global id of '"+q.Variables.ID+"'.")
	case who.roleIn(all[i].repo) < rolePush || who.token != nil && !who.token.permits("pull_requests=write"):
		return graphError("FORBIDDEN", "Resource not accessible by personal access token")
	}
	p := all[i]
	need := p.repo.requirements(p.base.ref)
	switch unmet := s.unmet(p, need); {
	case !need.Queue:
		return graphError("UNPROCESSABLE", "Pull request's base branch has no merge queue")
	case p.head.sha != q.Variables.Head:
		return graphError("UNPROCESSABLE", "The head of the pull request has changed")
	case slices.Contains(p.repo.queue, p):
		return graphError("UNPROCESSABLE", "Pull request is already in the queue")
	case len(unmet) > 0:
		return graphError("UNPROCESSABLE", "Pull request is not mergeable: "+strings.Join(unmet, " "))
	}
	p.repo.queue, p.dequeued = append(p.repo.queue, p), ""
	return object{"data": object{"enqueuePullRequest": object{"mergeQueueEntry": object{"position": len(p.repo.queue)}}}}
}

// RunQueue merges the first pull request of the merge queue.
func (s *Server) RunQueue(repo string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.mustRepo(repo)
	p := r.queue[0]
	r.queue = r.queue[1:]
	base := r.git.Branch(p.base.ref)
	s.land(p, p.user, base, s.mergeCommit(p, p.user, base, mergeRequest{method: "merge"}))
}

// Dequeue removes a pull request from the merge queue.
func (s *Server) Dequeue(repo string, number int, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.mustRepo(repo)
	p := r.pull(number)
	r.queue, p.dequeued = slices.DeleteFunc(r.queue, func(other *pull) bool { return other == p }), reason
}

package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	gh "github.com/google/go-github/v56/github"
)

const fleet = "acme/fleet"

var ctx = context.Background()

// world is a server with an organization, a repository, and people: alice writes, bob reviews, root
// administers, eve has no access.
func world(t *testing.T) *Server {
	t.Helper()
	s := Start(t)
	s.AddOrganization("acme")
	for _, login := range []string{"alice", "bob", "root", "eve"} {
		s.AddUser(login)
	}
	s.AddRepo(fleet, RepoOptions{Private: true, Files: map[string]string{"README.md": "fleet\n"},
		Roles: map[string]string{"alice": "push", "bob": "push", "root": "admin"}})
	return s
}

func client(t *testing.T, s *Server, token string) *gh.Client {
	t.Helper()
	c := gh.NewClient(&http.Client{})
	if token != "" {
		c = c.WithAuthToken(token)
	}
	c, err := c.WithEnterpriseURLs(s.URL, s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func as(t *testing.T, s *Server, login string) *gh.Client {
	return client(t, s, s.Token(login, "repo"))
}

// propose pushes a branch and opens a pull request for it.
func propose(t *testing.T, s *Server, c *gh.Client, branch string) *gh.PullRequest {
	t.Helper()
	s.As("alice").PushCommit(fleet, branch, "Change "+branch+"\n", map[string]string{branch + ".yaml": branch + "\n"})
	return open(t, c, branch, "main")
}

func open(t *testing.T, c *gh.Client, head, base string) *gh.PullRequest {
	t.Helper()
	p, _, err := c.PullRequests.Create(ctx, "acme", "fleet", &gh.NewPullRequest{
		Title: gh.String("Change " + head), Head: gh.String(head), Base: gh.String(base), Body: gh.String("body")})
	must(t, err)
	return p
}

func get(t *testing.T, c *gh.Client, number int) *gh.PullRequest {
	t.Helper()
	p, _, err := c.PullRequests.Get(ctx, "acme", "fleet", number)
	must(t, err)
	return p
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// refused checks the status of a refusal, and a part of its text.
func refused(t *testing.T, err error, status int, text string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error; want %d %q", status, text)
	}
	got := 0
	var response *gh.ErrorResponse
	var rate *gh.RateLimitError
	var abuse *gh.AbuseRateLimitError
	switch {
	case errors.As(err, &response):
		got = response.Response.StatusCode
	case errors.As(err, &rate):
		got = rate.Response.StatusCode
	case errors.As(err, &abuse):
		got = abuse.Response.StatusCode
	}
	if got != status || !strings.Contains(err.Error(), text) {
		t.Fatalf("got %v; want %d %q", err, status, text)
	}
}

func kinds(t *testing.T, c *gh.Client, number int) string {
	t.Helper()
	events, _, err := c.Issues.ListIssueTimeline(ctx, "acme", "fleet", number, nil)
	must(t, err)
	var out []string
	for _, e := range events {
		out = append(out, e.GetEvent())
	}
	return strings.Join(out, " ")
}

func equal[T comparable](t *testing.T, got, want T) {
	t.Helper()
	if got != want {
		t.Fatalf("got %v, want %v", got, want)
	}
}

func TestASecondPullRequestOfOneHeadIsRefused(t *testing.T) {
	s := world(t)
	c := as(t, s, "alice")
	p := propose(t, s, c, "a")
	equal(t, p.GetState()+" "+p.GetUser().GetLogin()+" "+p.GetHead().GetLabel(), "open alice acme:a")
	create := func(head, base string) error {
		_, _, err := c.PullRequests.Create(ctx, "acme", "fleet", &gh.NewPullRequest{Title: gh.String("x"), Head: &head, Base: &base})
		return err
	}
	refused(t, create("a", "main"), 422, "A pull request already exists for acme:a.")
	refused(t, create("missing", "main"), 422, "{Resource:PullRequest Field:head Code:invalid")
	refused(t, create("a", "missing"), 422, "Field:base")
	s.As("alice").ForcePush(fleet, "same", s.Branch(fleet, "main"))
	refused(t, create("same", "main"), 422, "No commits between main and same")
	_, _, err := c.PullRequests.Create(ctx, "acme", "fleet", &gh.NewPullRequest{Title: gh.String("x"), Head: gh.String("a"),
		Base: gh.String("same"), Body: gh.String(strings.Repeat("x", 65537))})
	refused(t, err, 422, "body is too long (maximum is 65536 characters)")
}

func TestForksProposeWithTheirOwner(t *testing.T) {
	s := world(t)
	s.AddRepo("bob/fleet", RepoOptions{ForkOf: fleet, Private: true})
	s.As("bob").PushCommit("bob/fleet", "idea", "Idea\n", map[string]string{"idea": "x\n"})
	c := as(t, s, "bob")
	p := open(t, c, "bob:idea", "main")
	equal(t, p.GetHead().GetRepo().GetFullName(), "bob/fleet")
	equal(t, p.GetMaintainerCanModify(), true)
	s.As("bob").PushCommit("bob/fleet", "idea", "More\n", map[string]string{"more": "x\n"})
	equal(t, get(t, c, p.GetNumber()).GetHead().GetSHA(), s.Branch("bob/fleet", "idea"))
	must(t, s.As("root").Merge(fleet, p.GetNumber(), "squash"))
	equal(t, get(t, c, p.GetNumber()).GetMerged(), true)
}

func TestListsHavePagesLinksAndFilters(t *testing.T) {
	s := world(t)
	c := as(t, s, "alice")
	for i := range 5 {
		propose(t, s, c, fmt.Sprintf("b%d", i))
	}
	must(t, s.As("bob").Close(fleet, 2))
	list := func(o gh.PullRequestListOptions) (string, *gh.Response) {
		found, r, err := c.PullRequests.List(ctx, "acme", "fleet", &o)
		must(t, err)
		var numbers []string
		for _, p := range found {
			numbers = append(numbers, fmt.Sprint(p.GetNumber()))
		}
		return strings.Join(numbers, " "), r
	}
	page := func(n int) gh.ListOptions { return gh.ListOptions{Page: n, PerPage: 2} }
	got, r := list(gh.PullRequestListOptions{State: "all", ListOptions: page(2)})
	equal(t, got, "3 2")
	equal(t, fmt.Sprint(r.FirstPage, r.PrevPage, r.NextPage, r.LastPage), "1 1 3 3")
	got, r = list(gh.PullRequestListOptions{State: "all", ListOptions: page(3)})
	equal(t, got+fmt.Sprint(" ", r.NextPage), "1 0")
	got, _ = list(gh.PullRequestListOptions{Direction: "asc"})
	equal(t, got, "1 3 4 5")
	got, _ = list(gh.PullRequestListOptions{State: "closed"})
	equal(t, got, "2")
	got, _ = list(gh.PullRequestListOptions{Head: "acme:b3"})
	equal(t, got, "4")
	got, _ = list(gh.PullRequestListOptions{Base: "other"})
	equal(t, got, "")
	got, _ = list(gh.PullRequestListOptions{State: "all", Sort: "updated", Direction: "desc", ListOptions: gh.ListOptions{PerPage: 100}})
	equal(t, len(strings.Fields(got)), 5)
}

func TestConditionalRequestsCostNothing(t *testing.T) {
	s := world(t)
	token := s.Token("alice", "repo")
	c := client(t, s, token)
	propose(t, s, c, "a")
	ask := func(etag string) (int, http.Header) {
		r, _ := http.NewRequest(http.MethodGet, s.URL+"/repos/acme/fleet/pulls", nil)
		r.Header.Set("Authorization", "token "+token)
		r.Header.Set("If-None-Match", etag)
		answer, err := http.DefaultClient.Do(r)
		must(t, err)
		answer.Body.Close()
		return answer.StatusCode, answer.Header
	}
	_, first := ask("")
	status, second := ask(first.Get("ETag"))
	equal(t, status, http.StatusNotModified)
	equal(t, second.Get("X-RateLimit-Remaining"), first.Get("X-RateLimit-Remaining"))
	equal(t, s.NotModified()["GET /repos/{owner}/{repo}/pulls"], 1)
	must(t, s.As("bob").Rewrite(fleet, 1, "New", "text"))
	status, _ = ask(first.Get("ETag"))
	equal(t, status, http.StatusOK)
	equal(t, s.Requests()["GET /repos/{owner}/{repo}/pulls"], 3)
	s.ResetRequests()
	equal(t, len(s.Requests()), 0)
}

func TestMergeabilityIsComputedAfterTheFirstRead(t *testing.T) {
	s := world(t)
	c := as(t, s, "alice")
	n := propose(t, s, c, "a").GetNumber()
	first := get(t, c, n)
	equal(t, first.Mergeable == nil, true)
	equal(t, first.GetMergeableState(), "unknown")
	second := get(t, c, n)
	equal(t, second.GetMergeable(), true)
	equal(t, second.GetMergeableState(), "clean")
	s.As("bob").PushCommit(fleet, "main", "Conflict\n", map[string]string{"a.yaml": "other\n"})
	s.MergeableAfter(2)
	for range 2 {
		equal(t, get(t, c, n).Mergeable == nil, true)
	}
	p := get(t, c, n)
	equal(t, p.Mergeable != nil && !p.GetMergeable(), true)
	equal(t, p.GetMergeableState(), "dirty")
	_, _, err := c.PullRequests.Merge(ctx, "acme", "fleet", n, "", nil)
	refused(t, err, 405, "Pull Request is not mergeable")
}

func TestEditsAndReopening(t *testing.T) {
	s := world(t)
	c := as(t, s, "alice")
	n := propose(t, s, c, "a").GetNumber()
	edit := func(change *gh.PullRequest) (*gh.PullRequest, error) {
		p, _, err := c.PullRequests.Edit(ctx, "acme", "fleet", n, change)
		return p, err
	}
	p, err := edit(&gh.PullRequest{Title: gh.String("New"), Body: gh.String("text"), State: gh.String("closed")})
	must(t, err)
	equal(t, p.GetTitle()+" "+p.GetBody()+" "+p.GetState()+fmt.Sprint(" ", p.ClosedAt != nil), "New text closed true")
	p, err = edit(&gh.PullRequest{State: gh.String("open")})
	must(t, err)
	equal(t, p.GetState()+fmt.Sprint(" ", p.ClosedAt == nil), "open true")
	must(t, s.As("bob").Close(fleet, n))
	s.As("alice").ForcePush(fleet, "a", s.As("alice").PushCommit(fleet, "x", "Other\n", map[string]string{"x": "x\n"}))
	_, err = edit(&gh.PullRequest{State: gh.String("open")})
	refused(t, err, 422, "force-pushed or recreated")
	must(t, s.As("alice").DeleteBranch(fleet, "a"))
	_, err = edit(&gh.PullRequest{State: gh.String("open")})
	refused(t, err, 422, "The a branch has been deleted")
	equal(t, kinds(t, c, n), "renamed closed reopened closed head_ref_deleted")
}

func TestMergeMethods(t *testing.T) {
	for method, want := range map[string]struct {
		subject string
		parents int
	}{"merge": {"Title by hand", 2}, "squash": {"Title by hand", 1}, "rebase": {"Change a", 1}} {
		t.Run(method, func(t *testing.T) {
			s := world(t)
			c := as(t, s, "alice")
			n := propose(t, s, c, "a").GetNumber()
			s.As("bob").PushCommit(fleet, "main", "Meanwhile\n", map[string]string{"m": "m\n"})
			_, _, err := c.PullRequests.Merge(ctx, "acme", "fleet", n, "message", &gh.PullRequestOptions{SHA: strings.Repeat("0", 40), MergeMethod: method})
			refused(t, err, 409, "Head branch was modified")
			result, _, err := c.PullRequests.Merge(ctx, "acme", "fleet", n, "message",
				&gh.PullRequestOptions{CommitTitle: "Title by hand", SHA: s.Branch(fleet, "a"), MergeMethod: method})
			must(t, err)
			equal(t, result.GetSHA(), s.Branch(fleet, "main"))
			p := get(t, c, n)
			equal(t, p.GetMerged(), true)
			equal(t, p.GetMergeCommitSHA(), result.GetSHA())
			equal(t, p.GetMergedBy().GetLogin(), "alice")
			merged := s.mustRepo(fleet).git.Commit(result.GetSHA())
			subject, _, _ := strings.Cut(merged.Message, "\n")
			equal(t, subject, want.subject)
			equal(t, len(merged.Parents), want.parents)
			_, _, err = c.PullRequests.Merge(ctx, "acme", "fleet", n, "", nil)
			refused(t, err, 405, "not mergeable")
		})
	}
}

func TestMergesThatAreNotAllowedAreRefused(t *testing.T) {
	s := world(t)
	c := as(t, s, "alice")
	p := propose(t, s, c, "a")
	n := p.GetNumber()
	merge := func(method string) error {
		_, _, err := c.PullRequests.Merge(ctx, "acme", "fleet", n, "", &gh.PullRequestOptions{MergeMethod: method})
		return err
	}
	s.Configure(fleet, func(o *Settings) { o.Squash, o.DeleteBranchOnMerge = false, true })
	refused(t, merge("squash"), 405, "Squash merges are not allowed on this repository.")
	must(t, s.As("alice").SetDraft(fleet, n, true))
	refused(t, merge("merge"), 405, "draft")
	must(t, s.As("alice").SetDraft(fleet, n, false))
	s.Protect(fleet, "main", &Protection{Checks: []string{"gate"}, Reviews: 1})
	refused(t, merge("merge"), 405, `Required status check "gate" is expected.`)
	status := gh.RepoStatus{State: gh.String("success"), Context: gh.String("gate"), Description: gh.String("open")}
	_, _, err := c.Repositories.CreateStatus(ctx, "acme", "fleet", p.GetHead().GetSHA(), &status)
	must(t, err)
	state, text := s.Status(fleet, p.GetHead().GetSHA(), "gate")
	equal(t, state+" "+text, "success open")
	refused(t, merge("merge"), 405, "At least 1 approving review is required")
	s.MergeableAfter(0)
	equal(t, get(t, c, n).GetMergeableState(), "blocked")
	must(t, s.As("bob").Approve(fleet, n))
	equal(t, get(t, c, n).GetMergeableState(), "clean")
	must(t, merge("merge"))
	equal(t, s.Branch(fleet, "a"), "")
	equal(t, kinds(t, c, n), "convert_to_draft ready_for_review reviewed merged closed head_ref_deleted")
	_, _, err = c.Repositories.CreateStatus(ctx, "acme", "fleet", strings.Repeat("1", 40), &status)
	refused(t, err, 422, "No commit found for SHA")
}

func TestLabelsAndComments(t *testing.T) {
	s := world(t)
	c := as(t, s, "alice")
	n := propose(t, s, c, "a").GetNumber()
	names := func(labels []*gh.Label, _ *gh.Response, err error) string {
		t.Helper()
		must(t, err)
		var out []string
		for _, l := range labels {
			out = append(out, l.GetName())
		}
		return strings.Join(out, " ")
	}
	equal(t, names(c.Issues.AddLabelsToIssue(ctx, "acme", "fleet", n, []string{"furrow", "seed-a"})), "furrow seed-a")
	issue, _, err := c.Issues.Edit(ctx, "acme", "fleet", n, &gh.IssueRequest{Labels: &[]string{"SEED-A", "z"}})
	must(t, err)
	equal(t, names(issue.Labels, nil, nil), "seed-a z")
	_, err = c.Issues.RemoveLabelForIssue(ctx, "acme", "fleet", n, "furrow")
	refused(t, err, 404, "Not Found")
	_, _, err = c.Issues.CreateComment(ctx, "acme", "fleet", n, &gh.IssueComment{Body: gh.String("one")})
	must(t, err)
	must(t, s.As("bob").Comment(fleet, n, "two"))
	must(t, s.As("bob").RequestChanges(fleet, n, "no"))
	equal(t, kinds(t, c, n), "labeled labeled unlabeled labeled commented commented reviewed")
}

func TestWhoIsAskedForAPullRequest(t *testing.T) {
	s := world(t)
	s.AddMilestone(fleet, "Spring")
	s.AddMilestone(fleet, "Summer")
	s.CloseMilestone(fleet, "Spring")
	s.AddTeam(fleet, "ops")
	c := as(t, s, "alice")
	n := propose(t, s, c, "a").GetNumber()
	open, _, err := c.Issues.ListMilestones(ctx, "acme", "fleet", nil)
	must(t, err)
	equal(t, fmt.Sprint(len(open), " ", open[0].GetTitle()), "1 Summer")
	_, _, err = c.Issues.Edit(ctx, "acme", "fleet", n, &gh.IssueRequest{Assignees: &[]string{"bob", "root"}, Milestone: open[0].Number})
	must(t, err)
	_, _, err = c.Issues.Edit(ctx, "acme", "fleet", n, &gh.IssueRequest{Assignees: &[]string{"eve"}})
	refused(t, err, 422, "Validation Failed")
	_, _, err = c.Issues.Edit(ctx, "acme", "fleet", n, &gh.IssueRequest{Milestone: gh.Int(9)})
	refused(t, err, 422, "Validation Failed")
	for reviewer, why := range map[string]string{"alice": "author", "eve": "collaborator"} {
		_, _, err = c.PullRequests.RequestReviewers(ctx, "acme", "fleet", n, gh.ReviewersRequest{Reviewers: []string{reviewer}})
		refused(t, err, 422, why)
	}
	p, _, err := c.PullRequests.RequestReviewers(ctx, "acme", "fleet", n, gh.ReviewersRequest{Reviewers: []string{"bob"}, TeamReviewers: []string{"ops"}})
	must(t, err)
	equal(t, fmt.Sprint(p.RequestedReviewers[0].GetLogin(), " ", p.RequestedTeams[0].GetSlug(), " ", len(p.Assignees), " ", p.Milestone.GetTitle()), "bob ops 2 Summer")
}

func TestRepositoriesAreHiddenRenamedAndArchived(t *testing.T) {
	s := world(t)
	c := as(t, s, "alice")
	r, _, err := c.Repositories.Get(ctx, "acme", "fleet")
	must(t, err)
	equal(t, fmt.Sprint(r.GetDefaultBranch(), " ", r.GetAllowSquashMerge(), r.GetPermissions()["push"]), "main true true")
	_, _, err = as(t, s, "eve").Repositories.Get(ctx, "acme", "fleet")
	refused(t, err, 404, "Not Found")
	_, _, err = client(t, s, s.Token("alice")).Repositories.Get(ctx, "acme", "fleet")
	refused(t, err, 404, "Not Found")
	n := propose(t, s, c, "a").GetNumber()
	s.Rename(fleet, "ships")
	p, _, err := c.PullRequests.Get(ctx, "acme", "fleet", n)
	must(t, err)
	equal(t, p.GetBase().GetRepo().GetFullName(), "acme/ships")
	s.Configure("acme/ships", func(o *Settings) { o.Archived = true })
	_, _, err = c.Issues.AddLabelsToIssue(ctx, "acme", "ships", n, []string{"y"})
	refused(t, err, 403, "archived")
}

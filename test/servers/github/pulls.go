package github

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// pullOf is the pull request that a path names; GitHub counts it as an issue, too.
func (c *call) pullOf() *pull {
	number, err := strconv.Atoi(c.params["pull_number"] + c.params["issue_number"])
	if err != nil {
		return nil
	}
	return c.repo.pull(number)
}

// openPull is the open pull request of a head and a base.
func (s *Server) openPull(r *repo, head side, base string) *pull {
	for _, p := range r.pulls {
		if p.state == "open" && p.head.repo == head.repo && p.head.ref == head.ref && p.base.ref == base {
			return p
		}
	}
	return nil
}

// findHead resolves "branch" or "owner:branch" to a branch of the repository or of one of its
// forks.
func (s *Server) findHead(r *repo, head, name string) side {
	owner, branch, found := strings.Cut(head, ":")
	if !found {
		return side{repo: r, ref: head, sha: r.git.Branch(head)}
	}
	for _, other := range s.repos {
		if strings.EqualFold(other.owner.login, owner) && other.root() == r.root() && (name == "" || other.name == name) {
			return side{repo: other, ref: branch, sha: other.git.Branch(branch)}
		}
	}
	return side{}
}

const (
	maxTitle = 256
	maxBody  = 65536
)

func tooLong(title, body string) *answer {
	switch {
	case utf8.RuneCountInString(title) > maxTitle:
		return invalid("Issue", "title", "custom", fmt.Sprintf("title is too long (maximum is %d characters)", maxTitle))
	case utf8.RuneCountInString(body) > maxBody:
		return invalid("Issue", "body", "custom", fmt.Sprintf("body is too long (maximum is %d characters)", maxBody))
	}
	return nil
}

func (c *call) createPull() *answer {
	s, r := c.s, c.repo
	head, base := s.findHead(r, c.text("head"), c.text("head_repo")), c.text("base")
	switch {
	case c.text("title") == "":
		return invalid("PullRequest", "title", "missing_field", "")
	case head.sha == "":
		return invalid("PullRequest", "head", "invalid", "")
	case r.git.Branch(base) == "":
		return invalid("PullRequest", "base", "invalid", "")
	case c.asker.roleIn(head.repo) < rolePush:
		return refuse(http.StatusForbidden, "Must have push access to the head repository.")
	case s.openPull(r, head, base) != nil:
		return invalid("PullRequest", "", "custom", fmt.Sprintf("A pull request already exists for %s.", head.label()))
	}
	if refused := tooLong(c.text("title"), c.text("body")); refused != nil {
		return refused
	}
	if head.repo != r {
		r.git.Must("", nil, "fetch", "-q", head.repo.git.Dir, head.sha)
	}
	baseSHA := r.git.Branch(base)
	if _, err := r.git.Git("merge-base", baseSHA, head.sha); err != nil {
		return invalid("PullRequest", "", "custom", fmt.Sprintf("The %s branch has no history in common with %s", head.label(), base))
	}
	if r.git.Count(baseSHA, head.sha) == 0 {
		return invalid("PullRequest", "", "custom", fmt.Sprintf("No commits between %s and %s", base, c.text("head")))
	}
	p := &pull{id: s.newID(), number: len(r.pulls) + 1, repo: r, user: c.asker.user, title: c.text("title"), body: c.text("body"),
		state: "open", created: s.now(), updated: s.now(), lag: s.lag, approved: map[*user]bool{},
		head: head, base: side{repo: r, ref: base, sha: baseSHA}, draft: c.flag("draft", false)}
	r.pulls = append(r.pulls, p)
	p.maintainerEdits = head.repo != r && c.flag("maintainer_can_modify", true)
	s.fetchHead(p, head.sha)
	s.notifyPull(p, "opened", c.asker.user)
	return created(c.pull(p))
}

// listed is the state that lists show of an issue, and counts a read of it: lists may lag behind.
func (p *pull) listed() string {
	if p.lag > 0 {
		p.lag--
	}
	if p.lag > 0 {
		return p.before
	}
	return p.state
}

func (c *call) listPulls() *answer {
	state, head, base := c.query("state", "open"), c.query("head", ""), c.query("base", "")
	sort := c.query("sort", "created")
	direction := "asc"
	if sort == "created" {
		direction = "desc"
	}
	direction = c.query("direction", direction)
	var found []*pull
	for _, p := range c.repo.pulls {
		switch shown := p.listed(); {
		case shown == "", state != "all" && shown != state, base != "" && p.base.ref != base:
		case strings.Contains(head, ":") && !strings.EqualFold(head, p.head.label()): // without an owner it is ignored
		default:
			found = append(found, p)
		}
	}
	slices.SortStableFunc(found, func(a, b *pull) int {
		order := cmp.Compare(a.number, b.number)
		if sort == "updated" {
			order = cmp.Or(a.updated.Compare(b.updated), order)
		}
		if direction == "desc" {
			order = -order
		}
		return order
	})
	return c.page(listOf(found, c.listedPull))
}

// listedPull shows the earlier state in a list that lags behind.
func (c *call) listedPull(p *pull) object {
	out := c.simplePull(p)
	if p.lag > 0 && p.before == "open" && p.state == "closed" {
		out["state"], out["closed_at"], out["merged_at"] = "open", nil, nil
	}
	return out
}

func (c *call) getPull() *answer {
	p := c.pullOf()
	if p == nil {
		return notFound()
	}
	c.s.readMergeable(p)
	return ok(c.pull(p))
}

func (c *call) editPull() *answer {
	p := c.pullOf()
	if p == nil {
		return notFound()
	}
	if c.asker.user != p.user && c.asker.roleIn(c.repo) < rolePush {
		return refuse(http.StatusForbidden, "Must have push access to Repository.")
	}
	if refused := tooLong(c.text("title"), c.text("body")); refused != nil {
		return refused
	}
	by := c.asker.user
	if title := c.text("title"); title != "" {
		c.s.retitle(p, title, by)
	}
	if c.has("body") {
		p.body, p.updated = c.text("body"), c.s.now()
	}
	switch state := c.text("state"); {
	case state == "closed" && p.state == "open":
		c.s.close(p, by)
	case state == "open" && p.state == "closed":
		if refused := c.s.reopen(p, by); refused != nil {
			return refused
		}
	}
	return ok(c.pull(p))
}

func (s *Server) retitle(p *pull, title string, by *user) {
	if p.title != title {
		s.record(p, "renamed", by, object{"rename": object{"from": p.title, "to": title}})
		p.title = title
	}
}

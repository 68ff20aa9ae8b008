package gitea

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"time"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
)

const (
	// pageSize is what servers give by default; one that gives less says how to go on.
	pageSize = 50
	// maxReadings is how often a list is read that changes while it is read.
	maxReadings = 3
)

// row is a pull request of ours, as the last answer that had it says.
type row struct {
	number      int64
	branch, url string
	title, body string
	head        git.Hash
	// open and merged give the state; neither is closed unmerged.
	open, merged bool
	// draft and mergeable are Gitea's; it is not mergeable while that is being found out.
	draft, mergeable bool
	opened, closed   time.Time
	merge            git.Hash
	comments         int
	// duplicate is one that was opened in the same moment by another process.
	duplicate *row
}

// isDuplicateOf reports whether both were opened for the same by two processes at once,
// which Gitea lets happen.
func (r row) isDuplicateOf(other row) bool {
	digest := forge.ReadDescription(r.body).Digest
	return r.open && digest != "" && digest == forge.ReadDescription(other.body).Digest && other.opened.Sub(r.opened).Abs() < branchDeletionTime
}

// rowOf returns the row of a pull request of the branch of a proposal, to base, and within the
// repository.
func (f *Forge) rowOf(pr *sdk.PullRequest) (row, bool) {
	if pr == nil || pr.Head == nil || pr.Base == nil || pr.Base.Ref != f.base || pr.Head.RepoID != pr.Base.RepoID {
		return row{}, false
	}
	// Ref is that of the pull request once the branch is gone; Name stays.
	branch := pr.Head.Name
	if _, ok := layout.SeedOfBranch(f.base, branch); !ok {
		return row{}, false
	}
	r := row{
		number: pr.Index, branch: branch, url: pr.HTMLURL, title: pr.Title, body: pr.Body, head: hash(pr.Head.Sha),
		open: pr.State == sdk.StateOpen, merged: pr.HasMerged, draft: pr.Draft, mergeable: pr.Mergeable, comments: pr.Comments,
	}
	if pr.Closed != nil {
		r.closed = *pr.Closed
	}
	if pr.Created != nil {
		r.opened = *pr.Created
	}
	if pr.MergedCommitID != nil {
		r.merge = hash(*pr.MergedCommitID)
	}
	return r, true
}

// hash is zero where the server does not know the commit.
func hash(s string) git.Hash {
	h, err := git.ParseHash(s)
	if err != nil {
		return git.Hash{}
	}
	return h
}

// query is a list of pull requests.
type query struct {
	op    string
	state sdk.StateType
	sort  string
	// more are parameters that the SDK does not have; a server that does not know one
	// gives more.
	more url.Values
	// from is where to begin; the zero value is the beginning.
	from window
}

// window is which rows of a list to ask for: those of a page, of pages of some size.
type window struct {
	number, size int
	// most is how many rows the server gives.
	most int
	// after is the row that the window before ended with. This one has it once more,
	// so a list which shrank meanwhile hides no row in between.
	after int64
}

// next returns the window that reaches furthest, of those that begin before the end of this one.
// Where servers give so few rows that there is none, it begins at the end.
//
// The API has pages, which begin at a multiple of their size. A list that shrinks between two
// requests moves rows to the page before, where nobody reads them again. So the next request must
// have the last row of this one once more, for which another page size is chosen whose pages are
// cut differently. If that row is not there, something moved, and the list is read again.
func (w window) next(after int64) window {
	end := w.number * w.size
	best := window{number: end/w.most + 1, size: w.most, most: w.most}
	reach := end
	for size := w.most; size > 0; size-- {
		if number := (end-1)/size + 1; number*size > reach {
			best, reach = window{number, size, w.most, after}, number*size
		}
	}
	return best
}

// page is a part of a list.
type page struct {
	window
	prs []*sdk.PullRequest
	// gap reports whether the row before is not here, so others may have been missed.
	gap bool
	// now is the server's clock.
	now  time.Time
	last bool
}

// endsBefore says of a page of the most recently updated that it reaches back to before t.
func (p page) endsBefore(t time.Time) bool {
	if len(p.prs) == 0 {
		return true
	}
	last := p.prs[len(p.prs)-1]
	return last.Updated != nil && last.Updated.Before(t)
}

// pages reads a list page by page.
func (f *Forge) pages(ctx context.Context, q query) iter.Seq2[page, error] {
	return func(yield func(page, error) bool) {
		w := cmp.Or(q.from, window{number: 1, size: pageSize, most: pageSize})
		for {
			at, err := f.page(ctx, q, w)
			if !yield(at, err) || err != nil || at.last || len(at.prs) == 0 {
				return
			}
			if w.number == 1 { // the server may give less than was asked for
				w.size, w.most = len(at.prs), len(at.prs)
			}
			w = w.next(at.prs[len(at.prs)-1].Index)
		}
	}
}

// page asks for one window. Whether it is the last is in the Link header; a server without one
// gives fewer rows than were asked for.
func (f *Forge) page(ctx context.Context, q query, w window) (page, error) {
	at := page{window: w}
	err := f.api.do(ctx, q.op, q.more, func(c *sdk.Client) error {
		prs, response, err := c.ListRepoPullRequests(f.api.owner, f.api.name, sdk.ListPullRequestsOptions{
			ListOptions: sdk.ListOptions{Page: w.number, PageSize: w.size}, State: q.state, Sort: q.sort,
		})
		if err != nil {
			return err
		}
		at.prs = prs
		at.gap = w.after != 0 && !slices.ContainsFunc(prs, func(pr *sdk.PullRequest) bool { return pr.Index == w.after })
		at.now, _ = http.ParseTime(response.Header.Get("Date"))
		at.last = response.NextPage <= w.number && (response.Header.Get("Link") != "" || len(prs) < w.size)
		return nil
	})
	return at, err
}

func (f *Forge) toBase() url.Values { return url.Values{"base_branch": {f.base}} }

// listOpen returns the open pull requests of ours, by branch. A list that shrinks while it is read
// moves rows over to pages that were read before.
func (f *Forge) listOpen(ctx context.Context) (map[string]row, error) {
	for reading := 1; ; reading++ {
		rows, gap, err := f.readOpen(ctx)
		if refused(err, http.StatusNotFound) && f.countsAsEmpty(ctx) {
			return map[string]row{}, nil
		}
		if err != nil || !gap || reading == maxReadings {
			return rows, err
		}
	}
}

// readOpen reads them once; gap reports whether some may have been missed.
func (f *Forge) readOpen(ctx context.Context) (rows map[string]row, gap bool, err error) {
	q := query{op: "list open pull requests", state: sdk.StateOpen, sort: "oldest", more: f.toBase()}
	rows = map[string]row{}
	for at, err := range f.pages(ctx, q) {
		if err != nil {
			return nil, false, err
		}
		f.noteClock(at.now)
		gap = gap || at.gap
		for _, pr := range at.prs {
			// A person can reopen one beside another; the newest counts.
			r, ok := f.rowOf(pr)
			had := rows[r.branch]
			if !ok || !r.open || had.number >= r.number {
				continue
			}
			if had.isDuplicateOf(r) {
				r.duplicate = &had
			}
			rows[r.branch] = r
		}
	}
	return rows, gap, nil
}

// countsAsEmpty reports whether the server has not noticed the first push to the
// repository yet: until then it answers 404 to all that is about pull requests.
func (f *Forge) countsAsEmpty(ctx context.Context) bool {
	empty := false
	err := f.api.do(ctx, "read the repository", nil, func(c *sdk.Client) error {
		repo, _, err := c.GetRepo(f.api.owner, f.api.name)
		empty = err == nil && repo.Empty
		return err
	})
	return err == nil && empty
}

// List asks for the open pull requests, and reads their branches. What a proposal carries comes
// from its branch, whether it is open from the server. Branches without an open pull request are
// listed if a person rejected them, or works on them.
func (f *Forge) List(ctx context.Context, refs git.Refs) ([]forge.Proposal, error) {
	rows, err := f.listOpen(ctx)
	if err != nil {
		return nil, err
	}
	f.note(rows, refs)
	checks := maxChecks
	var out []forge.Proposal
	for _, name := range slices.Sorted(maps.Keys(refs)) {
		if _, ok := layout.SeedOfBranch(f.base, name); !ok {
			continue
		}
		b, err := f.reader.ReadRef(ctx, refs, name)
		if err != nil {
			return nil, err
		}
		if b.Merged {
			f.noteLanded(rows[name])
			continue
		}
		b.Rejected, b.Reason = false, "" // commits reject on plain Git only
		if r, open := rows[name]; open {
			b.URL = r.url
			f.noteOutstanding(r)
			b.Stale = b.Stale || f.refuses(ctx, refs[f.base], r, &b, &checks)
			out = append(out, b.Proposal)
			continue
		}
		p, listed, err := f.leftover(ctx, refs, &b)
		if err != nil {
			return nil, err
		}
		if listed {
			out = append(out, p)
		}
	}
	return out, nil
}

// leftover returns a branch without an open pull request: it was rejected, or a person works on it.
// Any other is the engine's to push and propose again.
func (f *Forge) leftover(ctx context.Context, refs git.Refs, b *forge.Branch) (p forge.Proposal, listed bool, err error) {
	p = b.Proposal
	if b.Foreign() {
		return p, true, nil
	}
	for _, m := range p.Tiers {
		c, err := f.findClosed(ctx, refs, m.Tier, m.Digest)
		switch {
		case err != nil:
			return p, false, err
		case c.outcome == forge.OutcomeRejected && (c.branch == p.Branch || len(p.Tiers) == 1):
			p.Rejected, p.URL = true, c.url
			p.Reason = f.reasonOf(ctx, c)
			return p, true, nil
		case c.outcome == forge.OutcomeMerged && c.head == p.Head:
			return p, false, nil
		}
	}
	return p, p.Edited, nil
}

// note takes in what is open now, and forgets what was remembered of the rest.
func (f *Forge) note(rows map[string]row, refs git.Refs) {
	f.mu.Lock()
	defer f.mu.Unlock()
	numbers, heads := map[int64]bool{}, map[git.Hash]bool{}
	for _, r := range rows {
		numbers[r.number], heads[r.head], heads[refs[r.branch]] = true, true, true
		f.closed.remove(r.number)
	}
	for _, r := range f.open {
		f.closed.old = f.closed.old || !numbers[r.number]
		f.closed.missed = f.closed.missed || !numbers[r.number] && !f.closed.whole
	}
	f.open = rows
	maps.DeleteFunc(f.shown, func(head git.Hash, _ gate) bool { return !heads[head] })
	maps.DeleteFunc(f.unmergeable, func(number int64, _ conflict) bool { return !numbers[number] })
}

// noteLanded notes that base has all of an open pull request. When the engine deletes its
// branch, Gitea closes it unmerged, which is not a rejection.
func (f *Forge) noteLanded(r row) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.open {
		f.landed[r.number] = true
	}
}

// noteOutstanding notes that an open pull request brings base something, whatever it did before.
func (f *Forge) noteOutstanding(r row) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.landed, r.number)
}

// seen returns the open pull request of a branch that was seen last.
func (f *Forge) seen(branch string) (row, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r, ok := f.open[branch]
	return r, ok
}

// have notes what one pull request is now.
func (f *Forge) have(r row) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed.old = f.closed.old || !r.open || f.open[r.branch].number != r.number
	switch {
	case r.open:
		f.open[r.branch] = r
		f.closed.remove(r.number)
	case f.open[r.branch].number == r.number:
		delete(f.open, r.branch)
	}
}

// get reads one pull request, which makes Gitea check whether it can be merged.
func (f *Forge) get(ctx context.Context, number int64) (row, error) {
	var pr *sdk.PullRequest
	err := f.api.do(ctx, fmt.Sprintf("read pull request #%d", number), nil, func(c *sdk.Client) (err error) {
		pr, _, err = c.GetPullRequest(f.api.owner, f.api.name, number)
		return err
	})
	if err != nil {
		return row{}, err
	}
	r, ok := f.rowOf(pr)
	if !ok {
		return row{}, forge.ErrGone
	}
	f.have(r)
	return r, nil
}

// numbered finds the number in the URL of a pull request's page.
var numbered = regexp.MustCompile(`/pulls/([0-9]+)$`)

// number is that of a proposal's pull request; zero where it has none.
func number(p forge.Proposal) int64 {
	m := numbered.FindStringSubmatch(p.URL)
	if m == nil {
		return 0
	}
	n, _ := strconv.ParseInt(m[1], 10, 64) // zero where it is not a number
	return n
}

// conflict is a pull request that Gitea would not merge as it is.
type conflict struct {
	head, base git.Hash
	// passes counts passes up to the one after checkPass; checked is when Gitea was made
	// to check, by its own clock.
	passes  int
	checked time.Time
}

const (
	// checkPass is the pass in which Gitea is made to check, unless it has by itself.
	checkPass = 2
	// checkTime is how long the check may take.
	checkTime = 10 * time.Second
	// maxChecks bounds the checks requested in one pass. Whenever base moves, all open
	// pull requests count as not mergeable at first, and Gitea checks most of them by
	// itself sooner than a pass could ask for each.
	maxChecks = 5
)

// refuses reports whether Gitea finds a conflict that our rules do not, for example
// because a person renamed a directory that the proposal writes to. It makes Gitea check
// while checks are left.
func (f *Forge) refuses(ctx context.Context, base git.Hash, r row, b *forge.Branch, checks *int) bool {
	f.mu.Lock()
	d := f.unmergeable[r.number]
	switch {
	case r.mergeable || r.draft || b.Edited || b.Base == base || r.head != b.Head:
		delete(f.unmergeable, r.number)
		f.mu.Unlock()
		return false
	case d.head != b.Head || d.base != base:
		d = conflict{head: b.Head, base: base}
	}
	clock := f.clock
	if d.passes+1 != checkPass || *checks > 0 {
		d.passes = min(d.passes+1, checkPass+1)
	}
	check := d.passes == checkPass
	if check {
		d.checked = clock
		*checks--
	}
	f.unmergeable[r.number] = d
	f.mu.Unlock()
	if check {
		// The request makes Gitea check. The answer and errors are not needed.
		_, _ = f.get(ctx, r.number)
	}
	return d.passes > checkPass && clock.Sub(d.checked) >= checkTime
}

// newer orders pull requests by when they were closed.
func newer(a, b closedRow) int {
	return cmp.Or(a.closed.Compare(b.closed), cmp.Compare(a.number, b.number))
}

package gitea

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/furrow-dev/furrow/internal/backoff"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/truncate"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
)

const (
	// gateContext is the commit status that a branch protection can require.
	gateContext = "furrow/gate"
	// maxShown bounds what a status says.
	maxShown = 250
	// labelName is on every proposal.
	labelName  = "furrow"
	labelColor = "#5b8c3e"
	// maxOpening is how often opening is tried while the repository counts as empty:
	// Gitea answers 404 for up to 2 s after the first push to it.
	maxOpening = 12
)

// retries are the pauses before the server is asked again what it was not ready for.
var retries = backoff.Doubling(100*time.Millisecond, time.Second)

// labelPause is for how long proposals do without the label after the server did not
// answer the request for it.
var labelPause = backoff.Constant(10 * time.Minute)

// gate is what the commit status says.
type gate struct {
	open bool
	why  string
}

// gateOf returns what the commit status says of a proposal that must not be merged for a reason, or
// that may be merged where there is none.
func gateOf(shut string) gate {
	if shut = strings.Join(strings.Fields(shut), " "); shut != "" {
		return gate{false, shut}
	}
	return gate{true, "all prerequisites are released"}
}

// Propose opens a pull request, or writes anew the text of the one that is open.
func (f *Forge) Propose(ctx context.Context, r forge.Request) (forge.Proposal, error) {
	c, err := f.mirror.Commit(r.Head)
	if err != nil {
		return forge.Proposal{}, fmt.Errorf("propose %s: %w", r.Branch, err)
	}
	p := forge.Proposal{Branch: r.Branch, Carried: r.Carried, Title: r.Title, Body: r.Body, Head: r.Head}
	p.Seed, _ = layout.SeedOfBranch(f.base, r.Branch)
	if len(c.Parents) > 0 {
		p.Base = c.Parents[0]
	}
	at, err := f.openOrUpdate(ctx, r)
	if err != nil {
		return forge.Proposal{}, err
	}
	p.URL = at.url
	return p, f.show(ctx, r.Head, gateOf(r.Shut))
}

// openOrUpdate rewrites the open pull request of the branch, or opens one. Between the listing and
// now a person may have closed or merged it; what they decided counts, and the caller observes
// again.
func (f *Forge) openOrUpdate(ctx context.Context, r forge.Request) (row, error) {
	if at, open := f.seen(r.Branch); open {
		now, err := f.rewrite(ctx, at, r)
		if err != nil || now.open {
			return now, err
		}
		if now.merged { // perhaps with what was pushed just now: the base branch says
			return row{}, fmt.Errorf("propose %s: pull request #%d was merged meanwhile: %w", r.Branch, at.number, forge.ErrGone)
		}
		if err := f.mayFollow(at, r); err != nil {
			return row{}, err
		}
	}
	at, err := f.create(ctx, r)
	if !refused(err, http.StatusConflict) {
		return at, err
	}
	// One exists already: a person's, another process's, or our own whose answer got
	// lost.
	rows, listErr := f.listOpen(ctx)
	if listErr != nil {
		return row{}, listErr
	}
	at, there := rows[r.Branch]
	if !there {
		return row{}, err
	}
	f.have(at)
	now, err := f.rewrite(ctx, at, r)
	if err == nil && !now.open {
		err = fmt.Errorf("propose %s: %w", r.Branch, forge.ErrGone)
	}
	return now, err
}

// mayFollow returns nil if a new pull request may follow one that was open when it was
// listed, and is closed unmerged now. With the same digest it may not: that is what a person
// has just decided about.
func (f *Forge) mayFollow(was row, r forge.Request) error {
	text, tip, err := f.carriedBy(was)
	if err == nil && (text.Digest == r.Digest || tip.Digest == r.Digest) {
		err = fmt.Errorf("propose %s: pull request #%d was closed meanwhile: %w", r.Branch, was.number, forge.ErrGone)
	}
	return err
}

// rewrite brings the text of an open pull request up to date. Where a person closed
// it just now, the text that they closed is put back: that is what they rejected.
func (f *Forge) rewrite(ctx context.Context, at row, r forge.Request) (row, error) {
	title, body := keepDraft(at, r.Title), forge.Describe(r)
	if at.title == title && at.body == body {
		return at, nil
	}
	op := fmt.Sprintf("update pull request #%d of %s", at.number, at.branch)
	now, err := f.edit(ctx, op, at.number, sdk.EditPullRequestOption{Title: title, Body: &body})
	if err != nil || now.open {
		return now, err
	}
	_, err = f.edit(ctx, op, at.number, sdk.EditPullRequestOption{Title: at.title, Body: &at.body})
	return now, err
}

// draftPrefix is the beginning of a title that may make a draft of a pull request, such as "WIP:"
// or "[WIP]"; which ones do the server decides.
var draftPrefix = regexp.MustCompile(`^\s*(\[[^\]]*\]|[A-Za-z]+:)\s*`)

// keepDraft leaves a draft one: its title begins with a word that the server is set up for.
func keepDraft(at row, title string) string {
	if prefix := draftPrefix.FindString(at.title); at.draft && prefix != "" && !strings.HasPrefix(title, prefix) {
		return prefix + title
	}
	return title
}

// edit changes a pull request and takes note of how it is then, so the next list need not read
// it again.
func (f *Forge) edit(ctx context.Context, op string, number int64, o sdk.EditPullRequestOption) (row, error) {
	var pr *sdk.PullRequest
	err := f.api.do(ctx, op, nil, func(c *sdk.Client) (err error) {
		pr, _, err = c.EditPullRequest(f.api.owner, f.api.name, number, o)
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

// create opens a pull request, and tries again while the server has not noticed the first push to
// the repository.
func (f *Forge) create(ctx context.Context, r forge.Request) (row, error) {
	label, err := f.label.get(ctx, f.api)
	if err != nil {
		return row{}, err
	}
	o := sdk.CreatePullRequestOption{Head: r.Branch, Base: f.base, Title: r.Title, Body: forge.Describe(r), Labels: label}
	var pr *sdk.PullRequest
	pauses, last := retries, false
	for try := 1; ; try++ {
		err := f.api.do(ctx, "open a pull request of "+r.Branch, nil, func(c *sdk.Client) (err error) {
			pr, _, err = c.CreatePullRequest(f.api.owner, f.api.name, o)
			return err
		})
		if err == nil {
			break
		}
		if last || try == maxOpening || !refused(err, http.StatusNotFound) {
			return row{}, err
		}
		if last = !f.countsAsEmpty(ctx); last {
			continue // the server may have noticed between the two questions
		}
		if err := backoff.Sleep(ctx, f.api.clock, pauses.Step()); err != nil {
			return row{}, err
		}
	}
	at, ok := f.rowOf(pr)
	if !ok {
		return row{}, fmt.Errorf("open a pull request of %s in %s: %w", r.Branch, f.api, forge.ErrGone)
	}
	f.have(at)
	return at, nil
}

// labels knows the label of proposals.
type labels struct {
	mu    sync.Mutex
	known bool
	ids   []int64
	// cooldown is active while the server is not asked for it again.
	cooldown backoff.Cooldown
}

// get reads the label once, and creates it if it is missing. Proposals have no label
// if the credentials do not allow that: it needs a token scope of its own. If the
// server asks to wait, proposals wait, because the label is not added later.
func (l *labels) get(ctx context.Context, a *api) ([]int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known || l.cooldown.Active(a.clock.Now()) {
		return l.ids, nil
	}
	id, err := a.findLabel(ctx)
	if err == nil && id == 0 {
		id, err = a.makeLabel(ctx)
	}
	failed, _ := errors.AsType[*answer](err)
	switch {
	case err == nil:
		l.ids, l.known = []int64{id}, true
	case failed != nil && failed.limited:
		return nil, err
	case ctx.Err() != nil, failed != nil && failed.unasked: // that says nothing of it
	case forge.IsFailure(err, forge.FailedNetwork):
		l.cooldown.Fail(a.clock.Now(), err, 0)
	default:
		l.known = true
	}
	return l.ids, nil
}

// findLabel returns the id of the label, 0 if the repository does not have it yet.
func (a *api) findLabel(ctx context.Context) (id int64, err error) {
	for number := 1; ; number++ {
		last := false
		err := a.do(ctx, "list labels", nil, func(c *sdk.Client) error {
			found, response, err := c.ListRepoLabels(a.owner, a.name, sdk.ListLabelsOptions{ListOptions: sdk.ListOptions{Page: number, PageSize: pageSize}})
			if err != nil {
				return err
			}
			last = response.NextPage <= number || len(found) == 0
			for _, label := range found {
				if label.Name == labelName {
					id = label.ID
				}
			}
			return nil
		})
		if err != nil || last || id != 0 {
			return id, err
		}
	}
}

func (a *api) makeLabel(ctx context.Context) (id int64, err error) {
	err = a.do(ctx, "make the label "+labelName, nil, func(c *sdk.Client) error {
		label, _, err := c.CreateLabel(a.owner, a.name, sdk.CreateLabelOption{Name: labelName, Color: labelColor, Description: "opened by Furrow"})
		if err == nil {
			id = label.ID
		}
		return err
	})
	return id, err
}

// Gate posts the commit status, where it does not say so already. It also corrects the
// text of a proposal that was pushed but not rewritten, as when Furrow was killed
// in between, and closes what another process opened in the same moment.
func (f *Forge) Gate(ctx context.Context, p forge.Proposal, shut string) error {
	at, open := f.seen(p.Branch)
	if !open || at.head != p.Head {
		return nil // nobody could read it, or the next pass knows more
	}
	if err := f.closeDuplicate(ctx, at); err != nil {
		return err
	}
	if had := forge.ReadDescription(at.body).Digest; had != "" && had != p.Digest && !p.Edited {
		_, err := f.rewrite(ctx, at, forge.Request{Branch: p.Branch, Carried: p.Carried, Title: p.Title, Body: p.Body, Head: p.Head})
		if err != nil {
			return err
		}
	}
	return f.show(ctx, p.Head, gateOf(shut))
}

// closeDuplicate leaves one of two pull requests that were opened at once.
func (f *Forge) closeDuplicate(ctx context.Context, at row) error {
	if at.duplicate == nil {
		return nil
	}
	op := fmt.Sprintf("close pull request #%d, for #%d is the same", at.duplicate.number, at.number)
	err := f.close(ctx, *at.duplicate, op, forge.MarkSuperseded(at.duplicate.body, fmt.Sprintf("#%d was opened for the same in that moment", at.number)))
	if err == nil {
		at.duplicate = nil
		f.have(at)
	}
	return err
}

// show posts the commit status, once for each commit and text.
func (f *Forge) show(ctx context.Context, head git.Hash, g gate) error {
	f.mu.Lock()
	had, known := f.shown[head]
	f.mu.Unlock()
	if known && had == g {
		return nil
	}
	state := sdk.StatusFailure
	if g.open {
		state = sdk.StatusSuccess
	}
	err := f.api.do(ctx, "show the gate on commit "+head.String(), nil, func(c *sdk.Client) error {
		_, _, err := c.CreateStatus(f.api.owner, f.api.name, head.String(), sdk.CreateStatusOption{State: state, Context: gateContext, Description: truncate.Text(g.why, maxShown)})
		return err
	})
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.shown[head] = g
	return nil
}

// Supersede marks and closes in one request; the server writes the mark first. What is
// closed already is left as it is: a person was faster. So is one that a person pushed
// to meanwhile: it would be closed with a commit that nobody has read.
func (f *Forge) Supersede(ctx context.Context, p forge.Proposal, why string) error {
	n := number(p)
	if n == 0 {
		return nil
	}
	at, err := f.get(ctx, n)
	if err != nil || !at.open {
		return err
	}
	if at.head != p.Head {
		return fmt.Errorf("supersede %s: %w", p.Branch, forge.ErrGone)
	}
	if strings.TrimSpace(why) == "" {
		why = "the plan has changed"
	}
	return f.close(ctx, at, fmt.Sprintf("close pull request #%d of %s as superseded", n, p.Branch), forge.MarkSuperseded(at.body, why))
}

func (f *Forge) close(ctx context.Context, at row, op, body string) error {
	state := sdk.StateClosed
	_, err := f.edit(ctx, op, at.number, sdk.EditPullRequestOption{Body: &body, State: &state})
	return err
}

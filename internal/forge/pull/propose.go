package pull

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/furrow-dev/furrow/internal/backoff"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/template"
	"github.com/furrow-dev/furrow/internal/core/truncate"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
)

const (
	// gateContext is the commit status that a branch protection can require.
	gateContext = "furrow/gate"
	// maxShown bounds what a status says: GitHub takes 140 characters.
	maxShown = 140
	// maxOpening is how often opening is tried while the repository counts as empty: Gitea
	// answers 404 for up to 2 s after the first push to it.
	maxOpening = 12
	// requiredTime is for how long it is remembered what base asks of a merge.
	requiredTime = 2 * time.Minute
)

// retries are the pauses before the server is asked again what it was not ready for.
var retries = backoff.Doubling(100*time.Millisecond, time.Second)

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
	p.Number, p.URL = at.Number, at.URL
	f.attach(ctx, at, p, r.Shut)
	return p, f.show(ctx, r.Branch, r.Head, gateOf(r.Shut))
}

// openOrUpdate rewrites the open pull request of the branch, or opens one. Between the listing and
// now a person may have closed or merged it; what they decided counts, and the caller observes
// again.
func (f *Forge) openOrUpdate(ctx context.Context, r forge.Request) (Request, error) {
	if at, open := f.seen(r.Branch); open {
		now, err := f.rewrite(ctx, at.Request, r)
		if err != nil || now.State == Open {
			return now, err
		}
		if now.State == Merged { // perhaps with what was pushed just now: the base branch says
			return Request{}, fmt.Errorf("propose %s: pull request #%d was merged meanwhile: %w", r.Branch, at.Number, forge.ErrGone)
		}
		if err := f.mayFollow(at.Request, r); err != nil {
			return Request{}, err
		}
	}
	at, err := f.create(ctx, r)
	if !errors.Is(err, ErrExists) {
		return at, err
	}
	// One exists already: a person's, another process's, or our own whose answer got lost.
	rows, _, listErr := f.listOpen(ctx)
	if listErr != nil {
		return Request{}, listErr
	}
	there, open := rows[r.Branch]
	if !open {
		return Request{}, fmt.Errorf("propose %s: %w", r.Branch, err)
	}
	f.have(there.Request)
	now, err := f.rewrite(ctx, there.Request, r)
	if err == nil && now.State != Open {
		err = fmt.Errorf("propose %s: %w", r.Branch, forge.ErrGone)
	}
	return now, err
}

// mayFollow returns nil if a new pull request may follow one that was open when it was listed, and
// is closed unmerged now. With the same digest it may not: that is what a person has just decided
// about.
func (f *Forge) mayFollow(was Request, r forge.Request) error {
	text, tip, err := f.carriedBy(was)
	if err == nil && (text.Digest == r.Digest || tip.Digest == r.Digest) {
		err = fmt.Errorf("propose %s: pull request #%d was closed meanwhile: %w", r.Branch, was.Number, forge.ErrGone)
	}
	return err
}

// rewrite brings the text of an open pull request up to date. Where a person closed it just now, the
// text that they closed is put back: that is what they rejected.
func (f *Forge) rewrite(ctx context.Context, at Request, r forge.Request) (Request, error) {
	title, body := keepDraft(at, r.Title), forge.Describe(r)
	if at.Title == title && at.Body == body {
		return at, nil
	}
	now, err := f.edit(ctx, at.Number, Edit{Title: &title, Body: &body})
	if err != nil || now.State == Open {
		return now, err
	}
	_, err = f.edit(ctx, at.Number, Edit{Title: &at.Title, Body: &at.Body})
	return now, err
}

// draftPrefix is the beginning of a title that may make a draft of a pull request, such as "WIP:" or
// "[WIP]"; which ones do the server decides.
var draftPrefix = regexp.MustCompile(`^\s*(\[[^\]]*\]|[A-Za-z]+:)\s*`)

// keepDraft leaves a draft one where its title makes it one.
func keepDraft(at Request, title string) string {
	if prefix := draftPrefix.FindString(at.Title); at.Draft && prefix != "" && !strings.HasPrefix(title, prefix) {
		return prefix + title
	}
	return title
}

// edit changes a pull request and takes note of how it is then, so the next list need not read it
// again.
func (f *Forge) edit(ctx context.Context, number int64, e Edit) (Request, error) {
	r, err := f.server.Edit(ctx, number, e)
	if err != nil {
		return Request{}, err
	}
	if _, ours := layout.SeedOfBranch(f.base, r.Branch); !ours {
		return Request{}, forge.ErrGone
	}
	f.have(r)
	return r, nil
}

// create opens a pull request, and tries again while the server has not noticed the first push to
// the repository.
func (f *Forge) create(ctx context.Context, r forge.Request) (Request, error) {
	with := f.opensWith(r)
	states, _ := f.stateLabels(forge.Proposal{Carried: r.Carried}, r.Shut)
	n := NewRequest{Branch: r.Branch, Title: r.Title, Body: forge.Describe(r), Attributes: attributesOf(f.allowed(0, append(with, states...)))}
	pauses, last := retries, false
	for try := 1; ; try++ {
		at, err := f.createOnce(ctx, n)
		if err == nil {
			f.have(at)
			f.recordNew(at, r, with)
			return at, nil
		}
		if last || try == maxOpening || !forge.IsFailure(err, forge.FailedNotFound) {
			return Request{}, err
		}
		if last = !f.countsAsEmpty(ctx); last {
			continue // the server may have noticed between the two questions
		}
		if err := backoff.Sleep(ctx, f.clock, pauses.Step()); err != nil {
			return Request{}, err
		}
	}
}

// createOnce opens a pull request, without people and milestone where the server refuses it with
// them.
func (f *Forge) createOnce(ctx context.Context, n NewRequest) (Request, error) {
	at, err := f.server.Create(ctx, n)
	plain := Attributes{Labels: n.Labels}
	if err == nil || errors.Is(err, ErrExists) || isUnanswered(ctx, err) || len(n.list()) == len(plain.list()) {
		return at, err
	}
	n.Attributes = plain
	return f.server.Create(ctx, n)
}

// recordNew records a pull request that was opened in the place of one that was closed meanwhile; all
// others are recorded before.
func (f *Forge) recordNew(at Request, r forge.Request, with []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, recorded := f.records.number(at.Branch, at.Number); !recorded {
		f.records.put(at.Branch, record{Number: at.Number, URL: at.URL, Head: r.Head, Tiers: r.Tiers, Unset: with})
	}
}

// Gate posts the commit status, where it does not say so already. It also corrects the text of a
// proposal that was pushed but not rewritten, as when Furrow was killed in between, closes what
// another process opened in the same moment, and sets what the proposal lacks (attach).
func (f *Forge) Gate(ctx context.Context, p forge.Proposal, g forge.Gate) error {
	at, open := f.seen(p.Branch)
	if !open || at.Head != p.Head {
		return nil // nobody could read it, or the next pass knows more
	}
	if err := f.closeDuplicate(ctx, at); err != nil {
		return err
	}
	if had := forge.ReadDescription(at.Body).Digest; had != "" && had != p.Digest && !p.Edited {
		_, err := f.rewrite(ctx, at.Request, forge.Request{Branch: p.Branch, Carried: p.Carried, Title: p.Title, Body: p.Body, Head: p.Head, Shut: g.Shut})
		if err != nil {
			return err
		}
	}
	if f.contradicts(at.Request, p.Head, g) {
		f.mu.Lock()
		f.shown[p.Head] = gate{why: "what another process has shown"}
		f.mu.Unlock()
	}
	if at, open = f.seen(p.Branch); open && p.Digest != "" && !g.Updating {
		if err := f.showInText(ctx, at.Request, g.Shut); err != nil {
			return err
		}
		if at, open = f.seen(p.Branch); open {
			f.attach(ctx, at.Request, p, g.Shut)
		}
	}
	return f.show(ctx, p.Branch, p.Head, gateOf(g.Shut))
}

// contradicts reports whether the label of a pull request says something else than its gate was shown
// as last: then somebody else has changed both. The label comes with each list, and the commit
// status would take a request.
func (f *Forge) contradicts(at Request, head git.Hash, g forge.Gate) bool {
	label := kindLabel + " " + LabelWaiting
	f.mu.Lock()
	defer f.mu.Unlock()
	_, refused := f.refused[label]
	had, known := f.shown[head]
	if f.options.Unlabeled || refused || known && had != gateOf(g.Shut) {
		return false
	}
	if waits := contains(at.list(), label); known || waits {
		return waits != (g.Shut != "")
	}
	return false
}

// showInText brings what the text of a pull request says of its gate up to date. Where a person
// closed it just now, the next pass knows.
func (f *Forge) showInText(ctx context.Context, at Request, shut string) error {
	body := forge.WithGate(at.Body, shut)
	if body == at.Body || forge.ReadDescription(at.Body).Digest == "" {
		return nil
	}
	_, err := f.edit(ctx, at.Number, Edit{Body: &body})
	return err
}

// closeDuplicate leaves one of two pull requests that were opened at once.
func (f *Forge) closeDuplicate(ctx context.Context, at row) error {
	if at.duplicate == nil {
		return nil
	}
	err := f.supersede(ctx, *at.duplicate, fmt.Sprintf("#%d was opened for the same in that moment", at.Number))
	if err == nil {
		f.have(at.Request)
	}
	return err
}

// show posts the commit status, once for each commit and text. That a proposal may be merged is
// shown only where base requires the status, or where something else was shown before: it costs a
// request for each proposal.
func (f *Forge) show(ctx context.Context, branch string, head git.Hash, g gate) error {
	f.mu.Lock()
	had, known := f.shown[head]
	r, _ := f.records.number(branch, f.open[branch].Number)
	f.mu.Unlock()
	if known && had == g {
		return nil
	}
	if g.open && !known && !r.Shown {
		if required, err := f.Requires(ctx); err != nil || !required.RequiresCheck(gateContext) {
			return err
		}
	}
	if err := f.server.SetStatus(ctx, head, Status{Context: gateContext, Passed: g.open, Text: truncate.Text(g.why, maxShown)}); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.shown[head] = g
	if r, recorded := f.records.number(branch, f.open[branch].Number); recorded && r.Shown == g.open {
		r.Shown = !g.open
		f.records.put(branch, r)
	}
	return nil
}

// Requires returns what base asks of a merge; it asks every some minutes.
func (f *Forge) Requires(ctx context.Context) (forge.Requirements, error) {
	f.asking.Lock()
	defer f.asking.Unlock()
	return f.required.get(ctx, f.clock.Now(), requiredTime, f.server.Requires)
}

// asked is something that a server said, and when; at is zero before the first time.
type asked[T any] struct {
	of T
	at time.Time
}

// get returns what the server said, or asks again if that is as long ago as age.
func (a *asked[T]) get(ctx context.Context, now time.Time, age time.Duration, ask func(context.Context) (T, error)) (T, error) {
	if a.at.IsZero() || now.Sub(a.at) >= age {
		of, err := ask(ctx)
		if err != nil {
			return *new(T), err
		}
		a.of, a.at = of, now
	}
	return a.of, nil
}

// Supersede marks and closes in one request. What is closed already is left as it is: a person was
// faster. So is one whose branch moved meanwhile: it would be closed with a commit that nobody has
// read. Git says where the branch is; servers may show an earlier commit for some time.
func (f *Forge) Supersede(ctx context.Context, p forge.Proposal, why string) error {
	if p.Number == 0 {
		return nil
	}
	at, err := f.get(ctx, p.Number)
	if err != nil || at.State != Open {
		return err
	}
	tip, err := f.tip(ctx, p.Branch)
	if err == nil && tip != p.Head {
		err = forge.ErrGone
	}
	if err != nil {
		return fmt.Errorf("supersede %s: %w", p.Branch, err)
	}
	if strings.TrimSpace(why) == "" {
		why = "the plan has changed"
	}
	return f.supersede(ctx, at, why)
}

// supersede marks a pull request and closes it, and records that.
func (f *Forge) supersede(ctx context.Context, at Request, why string) error {
	now, err := f.close(ctx, at.Number, forge.MarkSuperseded(forge.WithGate(at.Body, ""), why))
	if err != nil || now.State != Closed {
		return err
	}
	// Credentials need not be allowed to comment, and it is closed all the same.
	_ = f.server.Comment(ctx, at.Number, "Furrow closed this: "+template.Code(why)+". Nobody has to do anything.")
	f.mu.Lock()
	defer f.mu.Unlock()
	had, known := f.records.number(at.Branch, at.Number)
	if !known {
		return nil
	}
	had.Head, had.Outcome, had.Closed, had.Reason = now.Head, forge.OutcomeSuperseded, &now.Closed, ""
	had.Unset = nil
	f.records.put(at.Branch, had)
	return nil
}

func (f *Forge) close(ctx context.Context, number int64, body string) (Request, error) {
	state := Closed
	return f.edit(ctx, number, Edit{Body: &body, State: &state})
}

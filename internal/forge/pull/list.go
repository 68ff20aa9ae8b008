package pull

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
)

// List asks for the open pull requests, and reads their branches. What a proposal carries comes
// from its branch, whether it is open from the server. Branches without an open pull request are
// listed if a person rejected them, or works on them.
//
// While the server allows no requests, the open ones are those that were seen last: what people do
// to their branches and to base is known all the same, and nothing can be opened on the server.
func (f *Forge) List(ctx context.Context, refs git.Refs) ([]forge.Proposal, error) {
	if err := f.update(ctx, refs); err != nil && !(f.hasListed() && forge.IsLimited(err)) {
		return nil, err
	}
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
		r, open := f.seen(name)
		if open {
			f.recordOpen(r, &b)
		}
		if b.Merged {
			continue
		}
		b.Rejected, b.Reason = false, "" // commits reject on plain Git only
		if open {
			b.Number, b.URL = r.Number, r.URL
			b.Stale = b.Stale || f.refuses(ctx, refs[f.base], r, &b, &checks)
			out = append(out, b.Proposal)
			continue
		}
		p, listed, err := f.leftover(ctx, refs, &b)
		if err != nil && !(f.hasListed() && forge.IsLimited(err)) {
			return nil, err
		}
		if listed {
			out = append(out, p)
		}
	}
	return out, nil
}

// hasListed reports whether the server has listed the open ones before.
func (f *Forge) hasListed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.listed.IsZero()
}

// leftover returns a branch without an open pull request: it was rejected, or a person works on it.
// Any other is the engine's to push and propose again.
func (f *Forge) leftover(ctx context.Context, refs git.Refs, b *forge.Branch) (p forge.Proposal, listed bool, err error) {
	p = b.Proposal
	if b.Foreign() {
		return p, true, nil
	}
	if err := f.recover(ctx, refs, b); err != nil {
		return p, false, err
	}
	for _, m := range p.Tiers {
		c, err := f.findClosed(ctx, refs, m)
		switch {
		case err != nil:
			return p, false, err
		case c.Outcome == forge.OutcomeRejected && (c.branch == p.Branch || len(p.Tiers) == 1):
			p.Rejected, p.Number, p.URL, p.Reason = true, c.Number, c.URL, c.Reason
			return p, true, nil
		case c.Outcome == forge.OutcomeMerged && c.Head == p.Head:
			return p, false, nil
		}
	}
	return p, p.Edited, nil
}

// recover asks for the pull requests of a branch without records, as where somebody deleted them.
func (f *Forge) recover(ctx context.Context, refs git.Refs, b *forge.Branch) error {
	f.mu.Lock()
	known := len(f.records.of[b.Branch]) > 0
	f.mu.Unlock()
	if known {
		return nil
	}
	list, err := f.server.OfBranch(ctx, b.Branch)
	for _, r := range list {
		if err == nil && r.State != Open && r.Branch == b.Branch {
			err = f.conclude(ctx, refs, onBranch{branch: b.Branch, record: record{Number: r.Number, Tiers: b.Tiers}}, r)
		}
	}
	return err
}

// update reads the records, lists the open pull requests, and finds out what became of those that
// are not open any more.
func (f *Forge) update(ctx context.Context, refs git.Refs) error {
	f.listing.Lock()
	defer f.listing.Unlock()
	base, err := f.reader.BaseTip(refs)
	if err != nil {
		return err
	}
	f.mu.Lock()
	err = f.records.load(ctx, refs)
	f.mu.Unlock()
	if err != nil {
		return err
	}
	if f.rests(refs) {
		return nil
	}
	rows, numbers, err := f.listOpen(ctx)
	if err != nil {
		return err
	}
	closed, err := f.dropClosed(ctx, refs, rows, numbers)
	if err != nil {
		return err
	}
	f.note(rows, numbers, refs)
	if err := f.closeMissing(ctx, refs, closed); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.listed, f.rest.refs, f.rest.listed = base, f.branches(refs), f.clock.Now()
	return nil
}

// listOpen returns the open pull requests of our branches, by branch, and the numbers of all of them:
// of several for one branch the newest counts.
func (f *Forge) listOpen(ctx context.Context) (rows map[string]row, numbers map[int64]bool, err error) {
	list, err := f.server.Open(ctx)
	if forge.IsFailure(err, forge.FailedNotFound) && f.countsAsEmpty(ctx) {
		list, err = nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	slices.SortFunc(list, func(a, b Request) int { return cmp.Compare(a.Number, b.Number) })
	rows, numbers = map[string]row{}, map[int64]bool{}
	for _, r := range list {
		if _, ours := layout.SeedOfBranch(f.base, r.Branch); !ours || r.State != Open {
			continue
		}
		now := row{Request: r}
		if had, two := rows[r.Branch]; two && isDuplicate(had.Request, r) {
			now.duplicate = &had.Request
		}
		rows[r.Branch], numbers[r.Number] = now, true
	}
	return rows, numbers, nil
}

// isDuplicate reports whether two pull requests were opened for the same by two processes at once,
// which some servers let happen.
func isDuplicate(a, b Request) bool {
	digest := forge.ReadDescription(a.Body).Digest
	return a.State == Open && digest != "" && digest == forge.ReadDescription(b.Body).Digest && b.Created.Sub(a.Created).Abs() < together
}

// countsAsEmpty reports whether the server has not noticed the first push to the repository yet.
func (f *Forge) countsAsEmpty(ctx context.Context) bool {
	r, err := f.server.Repository(ctx)
	return err == nil && r.Empty
}

// note takes in what is open now, and forgets what was remembered of the rest.
func (f *Forge) note(rows map[string]row, numbers map[int64]bool, refs git.Refs) {
	f.mu.Lock()
	defer f.mu.Unlock()
	heads := map[git.Hash]bool{}
	for _, r := range rows {
		heads[r.Head], heads[refs[r.Branch]] = true, true
		f.reopen(r.Request)
	}
	if f.rest.listed.IsZero() || !reflect.DeepEqual(f.open, rows) {
		f.rest.changed = f.clock.Now()
	}
	f.open, f.numbers = rows, numbers
	maps.DeleteFunc(f.shown, func(head git.Hash, _ gate) bool { return !heads[head] })
	maps.DeleteFunc(f.conflicts, func(number int64, _ conflict) bool { return !numbers[number] })
	maps.DeleteFunc(f.queued, func(number int64, _ queued) bool { return !numbers[number] })
}

// reopen notes that a pull request is open, whatever was recorded: one that is being opened has its
// number now, and one that was closed may have been opened again.
func (f *Forge) reopen(r Request) {
	had, known := f.records.number(r.Branch, r.Number)
	if !known {
		if had, known = f.records.opening(r.Branch); !known {
			return // it is recorded once its branch is read
		}
		f.records.drop(r.Branch, had)
	}
	had.Number, had.URL = r.Number, r.URL
	if had.Outcome != forge.OutcomeMerged { // that base has all of it is decided by the branch
		had.Outcome, had.Closed, had.Reason = "", nil, ""
	}
	f.records.put(r.Branch, had)
}

// recordOpen records an open pull request as its branch has it. What base has all of counts as
// merged as long as that is so: when the engine deletes the branch, the server closes it unmerged,
// and nobody rejected it.
func (f *Forge) recordOpen(r row, b *forge.Branch) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now, known := f.records.number(r.Branch, r.Number)
	if !known && b.Foreign() {
		return
	}
	if !b.Foreign() {
		now.Tiers = b.Tiers
	}
	now.Number, now.URL, now.Head, now.Outcome = r.Number, r.URL, b.Head, ""
	if b.Merged {
		now.Outcome = forge.OutcomeMerged
	}
	f.records.put(r.Branch, now)
}

// seen returns the open pull request of a branch that was seen last.
func (f *Forge) seen(branch string) (row, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r, ok := f.open[branch]
	return r, ok
}

// have notes what one pull request is now.
func (f *Forge) have(r Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rest.changed = f.clock.Now()
	switch {
	case r.State != Open:
		delete(f.numbers, r.Number)
		if f.open[r.Branch].Number == r.Number {
			delete(f.open, r.Branch)
		}
	case r.Number >= f.open[r.Branch].Number:
		f.open[r.Branch] = row{Request: r}
		f.numbers[r.Number] = true
		f.reopen(r)
	default: // a newer one is open
		f.numbers[r.Number] = true
	}
}

// get reads one pull request of ours.
func (f *Forge) get(ctx context.Context, number int64) (Request, error) {
	r, err := f.read(ctx, number)
	if err == nil {
		if _, ours := layout.SeedOfBranch(f.base, r.Branch); !ours {
			return Request{}, forge.ErrGone
		}
		f.have(r)
	}
	return r, err
}

// read reads one pull request; ErrGone where it does not exist and the repository does.
func (f *Forge) read(ctx context.Context, number int64) (Request, error) {
	r, err := f.server.Get(ctx, number)
	if !forge.IsFailure(err, forge.FailedNotFound) {
		return r, err
	}
	if _, err := f.server.Repository(ctx); err != nil {
		return Request{}, err
	}
	return Request{}, forge.ErrGone
}

// closeMissing finds out what became of the pull requests that are recorded as open and are not.
// Those that are known already are in closed.
func (f *Forge) closeMissing(ctx context.Context, refs git.Refs, closed map[int64]Request) error {
	f.mu.Lock()
	var missing []onBranch
	for branch := range f.records.pending {
		for _, r := range f.records.of[branch] {
			ask := r.Undecided && !f.clock.Now().Before(f.undecided[r.Number].next)
			if !f.numbers[r.Number] && (r.isOpen() || ask || r.hasLanded()) {
				missing = append(missing, onBranch{branch: branch, record: r})
			}
		}
	}
	f.mu.Unlock()
	slices.SortFunc(missing, func(a, b onBranch) int { return cmp.Compare(a.Number, b.Number) })
	recent, unknown := map[int64]Request{}, 0
	for _, m := range missing {
		if r, known := closed[m.Number]; known {
			recent[m.Number] = r
		} else {
			unknown++
		}
	}
	if unknown > 1 {
		list, err := f.server.Recent(ctx)
		if err != nil {
			return err
		}
		for _, r := range list {
			recent[r.Number] = r
		}
	}
	for _, m := range missing {
		if err := f.closeOne(ctx, refs, m, recent); err != nil {
			return err
		}
	}
	return nil
}

// closeOne finds out what became of one pull request.
func (f *Forge) closeOne(ctx context.Context, refs git.Refs, m onBranch, recent map[int64]Request) error {
	r, known := recent[m.Number]
	var err error
	switch {
	case known:
	case m.Number != 0:
		r, err = f.read(ctx, m.Number)
	default:
		r, known, err = f.opened(ctx, m)
		if err == nil && !known { // it was never opened, or the server does not show it yet
			f.mu.Lock()
			defer f.mu.Unlock()
			f.records.drop(m.branch, m.record)
			return nil
		}
	}
	switch {
	case errors.Is(err, forge.ErrGone), err == nil && r.Branch != m.branch: // deleted, or its base was changed
		f.mu.Lock()
		defer f.mu.Unlock()
		f.records.drop(m.branch, m.record)
		return nil
	case err != nil:
		return err
	}
	if r.State == Open { // the list had it not, because it changed while it was read
		f.have(r)
		return nil
	}
	return f.conclude(ctx, refs, m, r)
}

// conclude records what became of a closed pull request.
func (f *Forge) conclude(ctx context.Context, refs git.Refs, m onBranch, r Request) error {
	done, answer, err := f.judge(ctx, refs, m.record, r)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.clock.Now()
	asked, again := f.undecided[r.Number]
	if !again {
		asked.first = now
	}
	if answer == answerFailed {
		asked.next = now.Add(closingDelay)
	}
	done.Undecided = answer == answerFailed || answer == answerIncomplete && now.Sub(asked.first) < closingDelay
	if f.undecided[r.Number] = asked; !done.Undecided {
		delete(f.undecided, r.Number)
	}
	f.records.drop(m.branch, m.record)
	f.records.put(m.branch, done)
	return nil
}

// opened returns the pull request of a branch that was recorded before it was opened.
func (f *Forge) opened(ctx context.Context, m onBranch) (Request, bool, error) {
	list, err := f.server.OfBranch(ctx, m.branch)
	if err != nil {
		return Request{}, false, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range list {
		if _, known := f.records.number(m.branch, r.Number); !known && r.Branch == m.branch && r.Head == m.Head {
			return r, true, nil
		}
	}
	return Request{}, false, nil
}

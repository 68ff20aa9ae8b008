package gitea

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/furrow-dev/furrow/internal/backoff"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/truncate"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
)

// overlap is what is read again of what was read before: a server may show an
// update a little later than its time says.
const overlap = time.Minute

// closedRow is what is kept of a closed pull request; a repository may have tens of thousands.
type closedRow struct {
	number int64
	branch string
	// tiers are those that it counts for, with their digests.
	tiers []layout.Member
	// opened and closed are when that was.
	opened, closed time.Time
	outcome        forge.Outcome
	url, reason    string
	comments       int
	head, merge    git.Hash
	// judged reports whether no more can be found out of how it was closed.
	judged bool
}

// index has the closed pull requests, so far as they were read. It is guarded by Forge.mu; a copy
// of it shares the maps, and is only used for its other fields.
type index struct {
	rows map[int64]closedRow
	// byTier are the numbers of those that carried a tier, in no order.
	byTier map[layout.Tier][]int64
	// old reports whether something may have been closed since it was read.
	old bool
	// base is where the base branch was when it was read.
	base git.Hash
	// newest is the last update that was read. The first reading goes back through
	// all pages of our own user's, and where it is cut short goes on at next. From
	// newest on, others' are read as well.
	newest time.Time
	next   window
	whole  bool
	// missed reports whether an open one was gone before the first reading.
	missed bool
	// by is our own user; nobody where that cannot be asked.
	by *string
}

func newIndex() index {
	return index{rows: map[int64]closedRow{}, byTier: map[layout.Tier][]int64{}, old: true}
}

// add takes in a closed pull request.
func (x *index) add(c closedRow) {
	if had := x.rows[c.number]; had.judged && had.closed.Equal(c.closed) && slices.Equal(had.tiers, c.tiers) {
		c = had // more is known of it
	}
	x.remove(c.number)
	x.rows[c.number] = c
	for _, m := range c.tiers {
		if !slices.Contains(x.byTier[m.Tier], c.number) {
			x.byTier[m.Tier] = append(x.byTier[m.Tier], c.number)
		}
	}
}

// remove drops a row that is open again, or that will be added again.
func (x *index) remove(number int64) {
	for _, m := range x.rows[number].tiers {
		x.byTier[m.Tier] = slices.DeleteFunc(x.byTier[m.Tier], func(n int64) bool { return n == number })
	}
	delete(x.rows, number)
}

// change notes what was found out of one that is there.
func (x *index) change(c closedRow) {
	if _, there := x.rows[c.number]; there {
		x.rows[c.number] = c
	}
}

// found is what is known of the closed pull requests of a tier with a digest.
type found struct {
	// newest is the last of them; its number is zero if there is none.
	newest closedRow
	// replaced reports whether one with another digest was merged after that.
	replaced bool
	// landings are those that were merged, newest first.
	landings []forge.Landing
}

// find searches the rows of one tier; there are as many as it was ever proposed. It finds
// the newest one with the digest; whether a later merge of another digest has replaced it, which
// then is not a revert; and every merge with the digest.
func (x *index) find(tier layout.Tier, digest string) found {
	var out found
	var merged closedRow
	var rows []closedRow
	for _, number := range x.byTier[tier] {
		c := x.rows[number]
		carries := slices.Contains(c.tiers, layout.Member{Tier: tier, Digest: digest})
		if carries && newer(c, out.newest) > 0 {
			out.newest = c
		}
		if c.outcome != forge.OutcomeMerged {
			continue
		}
		if newer(c, merged) > 0 {
			merged, out.replaced = c, !carries
		}
		if carries {
			rows = append(rows, c)
		}
	}
	out.replaced = out.replaced && newer(merged, out.newest) > 0
	slices.SortFunc(rows, func(a, b closedRow) int { return newer(b, a) })
	for _, c := range rows {
		if !c.merge.IsZero() {
			out.landings = append(out.landings, forge.Landing{Merge: c.merge, URL: c.url})
		}
	}
	return out
}

// Closed searches the index, after updating it if necessary.
func (f *Forge) Closed(ctx context.Context, refs git.Refs, tier layout.Tier, digest string) (forge.Closed, error) {
	for _, r := range f.deleted(refs, tier.Seed) {
		// Somebody has deleted the branch, and the server is about to close it.
		text, tip, err := f.carriedBy(r)
		switch {
		case err != nil:
			return forge.Closed{}, err
		case text.Carries(tier, digest), tip.Carries(tier, digest):
			return forge.Closed{Outcome: forge.OutcomeRejected, URL: r.url}, nil
		}
	}
	c, err := f.findClosed(ctx, refs, tier, digest)
	f.mu.Lock()
	defer f.mu.Unlock()
	return forge.Closed{Outcome: c.outcome, Landings: f.closed.find(tier, digest).landings, URL: c.url}, err
}

// deleted returns the open pull requests of a seed whose branches are not there any more.
func (f *Forge) deleted(refs git.Refs, seed string) []row {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []row
	for _, branch := range slices.Sorted(maps.Keys(f.open)) {
		r := f.open[branch]
		of, _ := layout.SeedOfBranch(f.base, branch)
		if _, there := refs[branch]; of == seed && !there {
			out = append(out, r)
		}
	}
	return out
}

// findClosed finds the newest closed pull request that counts. What Gitea reports as closed
// unmerged need not be a rejection: Gitea may have closed it, or a person may have pushed its
// commit to base. And what it reports as merged need not be on base any more.
func (f *Forge) findClosed(ctx context.Context, refs git.Refs, tier layout.Tier, digest string) (closedRow, error) {
	none := closedRow{outcome: forge.OutcomeNone}
	base, err := f.reader.BaseTip(refs)
	if err != nil {
		return none, err
	}
	if err := f.readClosed(ctx, base); err != nil {
		return none, err
	}
	f.mu.Lock()
	found := f.closed.find(tier, digest)
	f.mu.Unlock()
	c := found.newest
	// What landed since would have replaced it; and the plan has changed since it was
	// rejected.
	switch {
	case c.number == 0, c.outcome == forge.OutcomeNone:
		return f.findPushed(ctx, base, tier, digest)
	case c.outcome == forge.OutcomeSuperseded:
		return c, nil
	case c.outcome == forge.OutcomeRejected:
		unjudged, err := f.closedByServer(ctx, refs, c)
		if err == nil && !unjudged {
			unjudged, err = f.history.Landed(ctx, base, c.head)
		}
		switch {
		case err != nil:
			return none, err
		case unjudged:
			return f.findPushed(ctx, base, tier, digest)
		}
	}
	if found.replaced {
		return none, nil
	}
	if c.outcome == forge.OutcomeMerged && !c.merge.IsZero() {
		if on, err := f.hasMerge(ctx, base, c); err != nil {
			return none, err
		} else if !on {
			return f.findPushed(ctx, base, tier, digest)
		}
	}
	return c, nil
}

// hasMerge reports whether base has a merge in its history. A negative answer, which
// takes a request to the server, is valid until base moves.
func (f *Forge) hasMerge(ctx context.Context, base git.Hash, c closedRow) (bool, error) {
	f.mu.Lock()
	lost := f.lost[c.merge] == base
	f.mu.Unlock()
	if lost {
		return false, nil
	}
	on, err := f.reader.HasMerge(ctx, base, c.merge)
	if err != nil {
		return false, fmt.Errorf("find the merge of pull request #%d: %w", c.number, err)
	}
	if !on {
		f.mu.Lock()
		f.lost[c.merge] = base
		f.mu.Unlock()
	}
	return on, nil
}

const (
	// branchDeletionTime is how long Gitea may take to process the deletion of a branch.
	branchDeletionTime = time.Minute
	// timelineDelay is how long after closing it may take to write the timeline.
	timelineDelay = 10 * time.Second
)

// closedByServer reports whether Gitea closed a pull request after processing the
// deletion of an earlier branch of the same name: the branch of this one still exists. No
// person has judged it then; a merge at that moment counts, although Gitea does not
// report it.
func (f *Forge) closedByServer(ctx context.Context, refs git.Refs, c closedRow) (bool, error) {
	if c.judged || refs[c.branch] != c.head || c.closed.Sub(c.opened) > branchDeletionTime {
		return false, nil
	}
	events, err := f.timeline(ctx, fmt.Sprintf("read how pull request #%d was closed", c.number), c.number, time.Time{})
	if err != nil && !forge.IsFailure(err, forge.FailedAuth) {
		return false, err
	}
	itself := slices.ContainsFunc(events, func(e event) bool { return e.Type == "delete_branch" })
	if itself {
		c.outcome = forge.OutcomeNone
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	c.judged = itself || f.clock.Sub(c.closed) > timelineDelay
	f.closed.change(c)
	return itself, nil
}

// findPushed finds what a person merged without a pull request.
func (f *Forge) findPushed(ctx context.Context, base git.Hash, tier layout.Tier, digest string) (closedRow, error) {
	merged, err := f.history.Merged(ctx, base, tier, digest)
	if err != nil || !merged {
		return closedRow{outcome: forge.OutcomeNone}, err
	}
	return closedRow{outcome: forge.OutcomeMerged}, nil
}

// readClosed updates the index, where an answer can have changed.
func (f *Forge) readClosed(ctx context.Context, base git.Hash) error {
	f.reading.Lock()
	defer f.reading.Unlock()
	f.mu.Lock()
	x := f.closed
	f.closed.old, f.closed.base = false, base
	f.mu.Unlock()
	if !x.old && x.base == base {
		return nil
	}
	rest, err := f.readToRest(ctx, x)
	if err != nil || !rest {
		f.mu.Lock()
		f.closed.old = true
		f.mu.Unlock()
	}
	return err
}

// readToRest reads again where a row may have been missed: one that was updated while later pages
// were read is on the first one now. It reports whether the list came to rest; if not, the next
// question reads on.
func (f *Forge) readToRest(ctx context.Context, x index) (rest bool, err error) {
	since := x.newest.Add(-overlap)
	for range maxReadings {
		r, err := f.readUpdates(ctx, x, since)
		if err != nil {
			return false, err
		}
		first := !x.whole
		f.mu.Lock()
		x = f.closed
		f.mu.Unlock()
		switch {
		case r.gap: // the same once more
		case first && (r.long || x.missed):
			// What others opened can be closed since the first listing of open pull
			// requests.
			since = x.newest.Add(-overlap)
		case r.long:
			if since = x.newest.Add(-overlap); !r.began.IsZero() {
				since = r.began
			}
		default:
			return true, nil
		}
	}
	return false, nil
}

// reading is how reading a list of closed pull requests went.
type reading struct {
	// began is when, by the server's clock.
	began time.Time
	// long reports whether it took more than one page, and gap whether a row may have
	// been missed between two.
	long, gap bool
}

// readUpdates reads what was updated since, newest first, or, the first time, all of our own
// user's. It stops at what is older than since, or at a gap, after which all is read anew (window).
// The marks of how far it has read move only at the end, so a reading that fails is made again
// as a whole.
func (f *Forge) readUpdates(ctx context.Context, x index, since time.Time) (r reading, err error) {
	q, err := f.closedQuery(ctx, x)
	if err != nil {
		return r, err
	}
	newest := x.newest
	for at, err := range f.pages(ctx, q) {
		if err == nil {
			err = f.addPage(ctx, x, at)
		}
		if err != nil {
			return r, err // what is newer than newest is read again
		}
		if r.began.IsZero() {
			r.began = at.now
		}
		r.long, r.gap = r.long || at.number > 1, r.gap || at.gap
		for _, pr := range at.prs {
			if pr.Updated != nil && pr.Updated.After(newest) {
				newest = *pr.Updated
			}
		}
		if r.gap || x.whole && at.endsBefore(since) {
			break
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case r.gap:
		f.closed.next = window{}
	case x.whole:
		f.closed.newest = newest
	default:
		f.closed.whole = true
	}
	return r, nil
}

// closedQuery asks for what was updated last, in the first reading of our own user's.
func (f *Forge) closedQuery(ctx context.Context, x index) (query, error) {
	q := query{op: "list closed pull requests", state: sdk.StateClosed, sort: "recentupdate", more: f.toBase()}
	if x.whole {
		return q, nil
	}
	q.from = x.next
	by, err := f.self(ctx)
	if by != "" {
		q.more.Set("poster", by)
	}
	return q, err
}

// addPage takes in one page.
func (f *Forge) addPage(ctx context.Context, x index, at page) error {
	f.noteClock(at.now)
	for _, pr := range at.prs {
		r, ok := f.rowOf(pr)
		if !ok || r.open {
			continue
		}
		c, err := f.closedOf(r)
		if err != nil {
			return err
		}
		f.mu.Lock()
		f.closed.add(c)
		f.mu.Unlock()
	}
	if !x.whole {
		f.mu.Lock()
		f.closed.next = at.window
		f.mu.Unlock()
	}
	return ctx.Err()
}

// noteClock keeps the server's clock. It reads what others closed only since this process
// first listed pull requests.
func (f *Forge) noteClock(now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !now.IsZero() {
		f.clock = now
	}
	if f.closed.newest.IsZero() {
		f.closed.newest = now
	}
}

// closedOf derives what a closed pull request means for each of its tiers and their digests.
//
// The commit at its head says what it carries, and so does its text, which people can edit. Where
// the two disagree, what landed is what the commit says; a rejection counts for both, so
// nothing that a person has rejected is proposed again by a change of the text.
func (f *Forge) closedOf(r row) (closedRow, error) {
	d := forge.ReadDescription(r.body)
	c := closedRow{number: r.number, branch: r.branch, opened: r.opened, closed: r.closed, url: r.url, head: r.head, merge: r.merge, comments: r.comments, reason: truncate.Text(d.Reason, maxReason)}
	f.mu.Lock()
	landed := f.landed[r.number]
	f.mu.Unlock()
	switch {
	case r.merged:
		c.outcome, c.judged = forge.OutcomeMerged, true
	case d.Superseded:
		c.outcome = forge.OutcomeSuperseded
	case landed:
		c.outcome, c.judged = forge.OutcomeMerged, true
	default:
		c.outcome = forge.OutcomeRejected
	}
	if d.Rejected {
		c.comments = 0 // the reason is known
	}
	text, tip, err := f.carriedBy(r)
	switch {
	case tip.Digest == "" || tip.Digest == text.Digest || d.Digest != "" && c.outcome == forge.OutcomeSuperseded:
		c.tiers = text.Tiers
	case c.outcome == forge.OutcomeMerged: // that is what landed
		c.tiers = tip.Tiers
	default:
		c.tiers = slices.Concat(text.Tiers, tip.Tiers)
	}
	return c, err
}

// carriedBy returns what a pull request's text says that it carries, and what its tip does where
// that is Furrow's commit. They differ where Furrow was killed before it wrote the text; without a
// text, the commits say it.
func (f *Forge) carriedBy(r row) (text, tip forge.Carried, err error) {
	text = forge.ReadDescription(r.body).Carried
	if text.Digest == "" {
		text, err = f.reader.Carried(r.branch, r.head)
		return text, forge.Carried{}, err
	}
	tip, made, err := f.reader.Tip(r.branch, r.head)
	tier, single := layout.TierOfBranch(f.base, r.branch)
	switch {
	case single: // whatever people did to the line that names it
		text.Tiers = []layout.Member{{Tier: tier, Digest: text.Digest}}
	case text.Digest == tip.Digest:
		text.Tiers = tip.Tiers
	}
	if !r.open && made.After(r.closed) {
		// The server shows where the branch is now, and not where it was closed.
		tip = forge.Carried{}
	}
	return text, tip, err
}

// self is our own user, or nothing where the credentials may not ask.
func (f *Forge) self(ctx context.Context) (string, error) {
	f.mu.Lock()
	by := f.closed.by
	f.mu.Unlock()
	if by != nil {
		return *by, nil
	}
	var user *sdk.User
	err := f.api.do(ctx, "ask who we are", nil, func(c *sdk.Client) (err error) {
		user, _, err = c.GetMyUserInfo()
		return err
	})
	name := ""
	switch {
	case err == nil:
		name = user.UserName
	case !refused(err, http.StatusForbidden) && !refused(err, http.StatusNotFound):
		return "", err
	}
	f.mu.Lock()
	f.closed.by = &name
	f.mu.Unlock()
	return name, nil
}

const (
	// said is how long before closing a person may have said why.
	said = 10 * time.Minute
	// maxReason bounds what is shown of that.
	maxReason = 300
)

// reasonPause is for how long reasons are not asked for after the server failed to
// return one.
var reasonPause = backoff.Constant(time.Minute)

// event is a line of a pull request's timeline.
type event struct {
	Type    string
	Body    string
	Created time.Time `json:"created_at"`
	User    struct{ Login string }
}

// timeline reads what happened on a pull request since some time, the oldest first.
func (f *Forge) timeline(ctx context.Context, op string, number int64, since time.Time) ([]event, error) {
	var events []event
	err := f.api.read(ctx, op, &events, func(client *sdk.Client) error {
		// The SDK takes the label of an event for a list of labels.
		_, _, err := client.ListIssueTimeline(f.api.owner, f.api.name, number, sdk.ListIssueCommentOptions{
			ListOptions: sdk.ListOptions{Page: 1, PageSize: pageSize}, Since: since,
		})
		return err
	})
	return events, err
}

// reasonOf returns why a person closed a pull request, as far as the server says: a proposal is
// rejected with and without a reason.
func (f *Forge) reasonOf(ctx context.Context, c closedRow) string {
	f.mu.Lock()
	cooling := f.reasons.Active(f.api.clock.Now())
	f.mu.Unlock()
	if c.reason != "" || c.comments == 0 || cooling {
		return c.reason
	}
	events, err := f.timeline(ctx, fmt.Sprintf("read why pull request #%d was closed", c.number), c.number, c.closed.Add(-said))
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil && !forge.IsFailure(err, forge.FailedAuth) {
		if ctx.Err() == nil {
			f.reasons.Fail(f.api.clock.Now(), err, 0)
		}
		return ""
	}
	c.reason, c.comments = reasonIn(events, c.closed), 0
	f.closed.change(c)
	return c.reason
}

// reasonIn returns what was said last, right before closing: by who closed it or, where they said
// nothing, by anybody.
func reasonIn(events []event, closed time.Time) string {
	closer, last, own := "", "", ""
	for _, e := range slices.Backward(events) {
		switch {
		case e.Created.After(closed.Add(time.Second)):
		case e.Type == "close":
			closer = cmp.Or(closer, e.User.Login)
		case e.Type == "comment":
			last = cmp.Or(last, e.Body)
			if e.User.Login == closer {
				own = cmp.Or(own, e.Body)
			}
		}
	}
	return truncate.Text(strings.Join(strings.Fields(cmp.Or(own, last)), " "), maxReason)
}

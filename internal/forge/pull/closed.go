package pull

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/truncate"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
)

const (
	// maxReason bounds what is kept of why a person closed a pull request.
	maxReason = 300
	// closingDelay is how long a server may take to show how a pull request was closed.
	closingDelay = 10 * time.Second
	// reasonTime is for how long before the closing a comment may be its reason.
	reasonTime = 10 * time.Minute
)

// question is when a server was first asked how a pull request was closed, and when it is asked again.
type question struct{ first, next time.Time }

// answer is what a server says about how a pull request was closed.
type answer int

const (
	answerSure answer = iota
	// answerIncomplete means that it may say more within closingDelay.
	answerIncomplete
	// answerFailed means that it could not be asked.
	answerFailed
)

// Closed answers from the records, after taking in what the server says where base has moved since
// that was done last.
func (f *Forge) Closed(ctx context.Context, refs git.Refs, tier layout.Tier, digest string) (forge.Closed, error) {
	if err := f.keepUp(ctx, refs, tier); err != nil {
		return forge.Closed{}, err
	}
	m := layout.Member{Tier: tier, Digest: digest}
	for _, r := range f.deleted(refs, tier.Seed) {
		// Somebody has deleted the branch, and the server is about to close it.
		text, tip, err := f.carriedBy(r)
		switch {
		case err != nil:
			return forge.Closed{}, err
		case text.Carries(tier, digest), tip.Carries(tier, digest):
			return forge.Closed{Outcome: forge.OutcomeRejected, URL: r.URL, Reason: forge.BranchDeleted}, nil
		}
	}
	c, err := f.findClosed(ctx, refs, m)
	return forge.Closed{Outcome: c.Outcome, Landings: f.landings(m), Plan: c.plan, URL: c.URL, Reason: c.Reason}, err
}

// keepUp takes in what the server says, where that can have changed what is known of a tier.
func (f *Forge) keepUp(ctx context.Context, refs git.Refs, tier layout.Tier) error {
	base, err := f.reader.BaseTip(refs)
	if err != nil {
		return err
	}
	f.mu.Lock()
	stale := f.listed != base
	missing := slices.ContainsFunc(f.records.ofTier(tier), func(r onBranch) bool {
		return r.isOpen() && !f.numbers[r.Number]
	})
	f.mu.Unlock()
	switch {
	case stale:
		return f.update(ctx, refs)
	case missing:
		f.listing.Lock()
		defer f.listing.Unlock()
		return f.closeMissing(ctx, refs, nil)
	}
	return nil
}

// deleted returns the open pull requests of a seed whose branches are not there any more, unless
// base has all of them.
func (f *Forge) deleted(refs git.Refs, seed string) []Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []Request
	for _, branch := range slices.Sorted(maps.Keys(f.open)) {
		r := f.open[branch]
		of, _ := layout.SeedOfBranch(f.base, branch)
		had, _ := f.records.number(branch, r.Number)
		if _, there := refs[branch]; of == seed && !there && had.Outcome != forge.OutcomeMerged {
			out = append(out, r.Request)
		}
	}
	return out
}

// Merged returns the pull requests that have landed, by the records.
func (f *Forge) Merged(context.Context, git.Refs) ([]forge.Merged, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []onBranch
	for branch, records := range f.records.of {
		for _, r := range records {
			if r.Outcome == forge.OutcomeMerged {
				all = append(all, onBranch{branch: branch, record: r})
			}
		}
	}
	slices.SortFunc(all, func(a, b onBranch) int { return cmp.Or(newer(a.record, b.record), cmp.Compare(a.branch, b.branch)) })
	out := make([]forge.Merged, 0, min(len(all), forge.MaxMerged))
	for _, r := range all[:min(len(all), forge.MaxMerged)] {
		out = append(out, forge.Merged{Branch: r.branch, Tiers: r.Tiers, Merge: r.Merge, URL: r.URL})
	}
	return out, nil
}

// RejectedWithoutBranch returns the pull requests that were rejected last of their branches, where these
// were deleted. They are those of the last List.
func (f *Forge) RejectedWithoutBranch(refs git.Refs) []forge.Proposal {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []forge.Proposal
	for _, branch := range slices.Sorted(maps.Keys(f.records.of)) {
		seed, ok := layout.SeedOfBranch(f.base, branch)
		if _, there := refs[branch]; !ok || there || len(f.records.of[branch]) == 0 {
			continue
		}
		if r := f.records.of[branch][0]; r.Outcome == forge.OutcomeRejected {
			out = append(out, forge.Proposal{Branch: branch, Seed: seed, Number: r.Number, URL: r.URL, Head: r.Head, Carried: forge.Carried{Tiers: r.Tiers}, Rejected: true, Reason: r.Reason})
		}
	}
	return out
}

// landings returns where a tier with a digest landed, newest first.
func (f *Forge) landings(m layout.Member) []forge.Landing {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []forge.Landing
	for _, r := range f.records.ofTier(m.Tier) {
		if r.Outcome == forge.OutcomeMerged && !r.Merge.IsZero() && r.carries(m) {
			out = append(out, forge.Landing{Merge: r.Merge, Head: r.Head, URL: r.URL})
		}
	}
	return out
}

// newest finds, of the records of a tier, the newest closed one with the digest, and whether a
// later merge of another digest has replaced what it brought, which then is not a revert.
func newest(list []onBranch, m layout.Member) (found onBranch, replaced bool) {
	for _, r := range list {
		switch {
		case r.isOpen() || r.Outcome == forge.OutcomeNone:
		case r.carries(m):
			return r, replaced
		case r.Outcome == forge.OutcomeMerged:
			replaced = true
		}
	}
	return onBranch{record: record{Outcome: forge.OutcomeNone}}, false
}

// findClosed finds the newest closed pull request that counts. What a server calls closed unmerged
// need not be a rejection: a person may have pushed its commit to base. And what it calls merged
// need not be on base any more.
func (f *Forge) findClosed(ctx context.Context, refs git.Refs, m layout.Member) (onBranch, error) {
	none := onBranch{record: record{Outcome: forge.OutcomeNone}}
	base, err := f.reader.BaseTip(refs)
	if err != nil {
		return none, err
	}
	f.mu.Lock()
	c, replaced := newest(f.records.ofTier(m.Tier), m)
	f.mu.Unlock()
	switch c.Outcome {
	case forge.OutcomeNone:
		return f.findPushed(ctx, base, m)
	case forge.OutcomeSuperseded:
		return c, nil
	case forge.OutcomeRejected:
		if landed, err := f.history.Landed(ctx, base, c.Head); err != nil {
			return none, err
		} else if landed {
			return f.findPushed(ctx, base, m)
		}
	}
	// What landed since would have replaced it; and the plan has changed since it was rejected.
	if replaced {
		return none, nil
	}
	if c.Outcome == forge.OutcomeMerged && !c.Merge.IsZero() {
		if on, err := f.hasMerge(ctx, base, c.record); err != nil {
			return none, err
		} else if !on {
			return f.findPushed(ctx, base, m)
		}
	}
	return c, nil
}

// hasMerge reports whether base has a merge in its history. A negative answer, which takes a
// request to the server, is valid until base moves.
func (f *Forge) hasMerge(ctx context.Context, base git.Hash, c record) (bool, error) {
	f.mu.Lock()
	lost := f.lostAt == base && f.lost[c.Merge]
	f.mu.Unlock()
	if lost {
		return false, nil
	}
	on, err := f.reader.HasMerge(ctx, base, c.Merge)
	if err != nil {
		return false, fmt.Errorf("find the merge of pull request #%d: %w", c.Number, err)
	}
	if !on {
		f.mu.Lock()
		if f.lostAt != base {
			f.lostAt, f.lost = base, map[git.Hash]bool{}
		}
		f.lost[c.Merge] = true
		f.mu.Unlock()
	}
	return on, nil
}

// findPushed finds what a person merged without a pull request.
func (f *Forge) findPushed(ctx context.Context, base git.Hash, m layout.Member) (onBranch, error) {
	out := onBranch{record: record{Outcome: forge.OutcomeNone}}
	merged, from, err := f.history.Merged(ctx, base, m.Tier, m.Digest)
	if err == nil && merged {
		out.Outcome, out.plan = forge.OutcomeMerged, from
	}
	return out, err
}

// judge decides what a closed pull request means, for which tiers and digests, and how sure that is.
//
// Furrow closes one by the same request that marks its text Furrow-Superseded. All others that are
// closed unmerged were rejected by a person, by the button, through Furrow, or by deleting the
// branch. But a server may take its time for the deletion of a branch, and then close a pull request
// that was just opened from a new branch of that name: nobody has judged that.
//
// The commit at its head says what it carries, and so does its text, which people can edit. Where
// the two disagree, what landed is what the commit says; a rejection counts for both, because people
// could read both.
func (f *Forge) judge(ctx context.Context, refs git.Refs, had record, r Request) (now record, how answer, err error) {
	text, tip, err := f.carriedBy(r)
	if err != nil {
		return now, how, err
	}
	d := forge.ReadDescription(r.Body)
	closed := r.Closed
	now = record{Number: r.Number, URL: r.URL, Head: r.Head, Merge: r.Merge, Closed: &closed, Outcome: forge.OutcomeRejected}
	switch {
	case r.State == Merged:
		now.Outcome = forge.OutcomeMerged
	case d.Superseded:
		now.Outcome = forge.OutcomeSuperseded
	case had.hasLanded(): // the server closed it because its branch was deleted
		now.Outcome = forge.OutcomeMerged
	case d.Rejected:
		now.Reason = truncate.Text(d.Reason, maxReason)
	default:
		how = f.readClosing(ctx, refs, &now, r)
	}
	switch {
	case text.Digest == "" && tip.Digest == "":
		now.Tiers = had.Tiers
	case tip.Digest == "" || tip.Digest == text.Digest || d.Digest != "" && now.Outcome == forge.OutcomeSuperseded:
		now.Tiers = text.Tiers
	case now.Outcome == forge.OutcomeMerged:
		now.Tiers = tip.Tiers
	default:
		now.Tiers = slices.Concat(text.Tiers, tip.Tiers)
	}
	return now, how, nil
}

// readClosing asks how a person closed a pull request. Credentials that may not know that keep
// nothing from being known as rejected.
func (f *Forge) readClosing(ctx context.Context, refs git.Refs, now *record, r Request) answer {
	since := r.Closed.Add(-reasonTime)
	closing, err := f.server.Closing(ctx, r.Number, since)
	switch {
	case forge.IsFailure(err, forge.FailedAuth):
		return answerSure
	case err != nil:
		return answerFailed
	}
	if closing.BranchDeleted && refs[r.Branch] == r.Head && r.Closed.Sub(r.Created) <= together {
		now.Outcome = forge.OutcomeNone
	}
	now.Reason = reasonIn(closing, since, r.Closed)
	if closing.BranchDeleted && now.Outcome == forge.OutcomeRejected {
		now.Reason = cmp.Or(now.Reason, forge.BranchDeleted)
	}
	if closing.By == "" && !closing.BranchDeleted {
		return answerIncomplete
	}
	return answerSure
}

// reasonIn returns what was said last, right before closing: by who closed it or, where they said
// nothing, by anybody.
func reasonIn(c Closing, since, closed time.Time) string {
	last, own := "", ""
	for _, said := range c.Said {
		if said.At.Before(since) || said.At.After(closed.Add(time.Second)) {
			continue
		}
		last = cmp.Or(last, said.Text)
		if said.By == c.By {
			own = cmp.Or(own, said.Text)
		}
	}
	return truncate.Text(strings.Join(strings.Fields(cmp.Or(own, last)), " "), maxReason)
}

// carriedBy returns what a pull request's text says that it carries, and what its tip does where
// that is Furrow's commit. They differ where Furrow was killed before it wrote the text; without a
// text, the commits say it.
func (f *Forge) carriedBy(r Request) (text, tip forge.Carried, err error) {
	text = forge.ReadDescription(r.Body).Carried
	if text.Digest == "" {
		text, err = f.reader.Carried(r.Branch, r.Head)
		return text, forge.Carried{}, err
	}
	tip, made, err := f.reader.Tip(r.Branch, r.Head)
	tier, single := layout.TierOfBranch(f.base, r.Branch)
	switch {
	case single: // whatever people did to the line that names it
		text.Tiers = []layout.Member{{Tier: tier, Digest: text.Digest}}
	case text.Digest == tip.Digest:
		text.Tiers = tip.Tiers
	}
	if r.State != Open && made.After(r.Closed) {
		// The server shows where the branch is now, and not where it was closed.
		tip = forge.Carried{}
	}
	return text, tip, err
}

package pull

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/forge"
)

const (
	// Label is on every proposal.
	Label = "furrow"
	// LabelWaiting is on proposals that must not be merged now.
	LabelWaiting = Label + "/waiting"
	// LabelDestroys is on proposals that destroy data when they are merged.
	LabelDestroys = Label + "/destroys"
	// LabelEdited is on proposals that a person has changed.
	LabelEdited = Label + "/edited"
	// LabelConflict is on edited proposals that cannot be merged as they are. Others are updated.
	LabelConflict = Label + "/conflict"

	// attachPause is for how long the server is not asked again to set what it refused.
	attachPause = 10 * time.Minute
)

// Attributes are what a pull request carries beside its text.
type Attributes struct {
	Labels []string
	// Reviewers and Assignees are users. A reviewer with a slash is a team, after its organization.
	Reviewers, Assignees []string
	// Milestone is the title of one.
	Milestone string
}

// The kinds of attributes.
const (
	kindLabel     = "label"
	kindReviewer  = "reviewer"
	kindAssignee  = "assignee"
	kindMilestone = "milestone"
)

// list names each attribute, as "label furrow" or "reviewer ada".
func (a Attributes) list() []string {
	var out []string
	add := func(kind string, names ...string) {
		for _, name := range names {
			if item := kind + " " + name; name != "" && !slices.Contains(out, item) {
				out = append(out, item)
			}
		}
	}
	add(kindLabel, a.Labels...)
	add(kindReviewer, a.Reviewers...)
	add(kindAssignee, a.Assignees...)
	add(kindMilestone, a.Milestone)
	return out
}

// attributesOf returns the attributes that a list names.
func attributesOf(list []string) (a Attributes) {
	for _, item := range list {
		switch kind, name, _ := strings.Cut(item, " "); kind {
		case kindLabel:
			a.Labels = append(a.Labels, name)
		case kindReviewer:
			a.Reviewers = append(a.Reviewers, name)
		case kindAssignee:
			a.Assignees = append(a.Assignees, name)
		case kindMilestone:
			a.Milestone = name
		}
	}
	return a
}

// without returns what of a list is not in another one. Servers may ignore case.
func without(list, has []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(item string) bool { return contains(has, item) })
}

func contains(list []string, item string) bool {
	return slices.ContainsFunc(list, func(other string) bool { return strings.EqualFold(item, other) })
}

// refusal is why an attribute could not be set.
type refusal struct {
	// why is for people; empty where the server did not answer.
	why string
	// number is a proposal that lacks it.
	number int64
	// at is when the server was asked last, and wanted when a proposal lacked it last.
	at, wanted time.Time
}

// opensWith returns what a proposal is opened with.
func (f *Forge) opensWith(r forge.Request) []string {
	a := Attributes{Reviewers: f.options.Reviewers, Assignees: f.options.Assignees, Milestone: f.options.Milestone}
	if !f.options.Unlabeled {
		a.Labels = slices.Sorted(slices.Values(append([]string{Label}, r.Labels...)))
	}
	return a.list()
}

// stateLabels returns the labels of the states that a proposal may be in, and those that apply.
func (f *Forge) stateLabels(p forge.Proposal, shut string) (apply, all []string) {
	if f.options.Unlabeled {
		return nil, nil
	}
	for _, state := range []struct {
		label string
		is    bool
	}{{LabelWaiting, shut != ""}, {LabelDestroys, p.Destroys}, {LabelEdited, p.Edited}, {LabelConflict, p.Edited && p.Stale}} {
		item := kindLabel + " " + state.label
		if all = append(all, item); state.is {
			apply = append(apply, item)
		}
	}
	return apply, all
}

// attach sets what is missing of what an open proposal is opened with, and changes its labels where
// its state has changed. What cannot be set keeps nothing up: it is noted, and tried again later.
func (f *Forge) attach(ctx context.Context, at Request, p forge.Proposal, shut string) {
	has := at.list()
	apply, all := f.stateLabels(p, shut)
	add := append(f.unset(at), without(apply, has)...)
	off := slices.DeleteFunc(without(all, apply), func(label string) bool { return !contains(has, label) })
	add, off = f.allowed(at.Number, add), f.allowed(at.Number, off)
	if len(add)+len(off) == 0 {
		return
	}
	var err error
	at, err = f.attachPart(ctx, at, part{add, off})
	if err != nil && len(add)+len(off) > 1 && !isUnanswered(ctx, err) {
		for _, one := range parts(add, off) { // which of them are refused is not known
			at, err = f.attachPart(ctx, at, one)
			f.noteRefused(ctx, at.Number, one, err)
		}
	} else {
		f.noteRefused(ctx, at.Number, part{add, off}, err)
	}
	f.have(at)
	f.unset(at)
}

// part is what is set by one call.
type part struct{ add, off []string }

// parts are the labels, and each other attribute.
func parts(add, off []string) []part {
	labels := part{off: off}
	var out []part
	for _, item := range add {
		if strings.HasPrefix(item, kindLabel+" ") {
			labels.add = append(labels.add, item)
		} else {
			out = append(out, part{add: []string{item}})
		}
	}
	if len(labels.add)+len(off) > 0 {
		out = append(out, labels)
	}
	return out
}

// errLeftOut means that the server left something out without an error.
var errLeftOut = errors.New("the server accepted the request, and did not do it")

// attachPart returns the pull request with what was set. The error is errLeftOut where that is not
// all.
func (f *Forge) attachPart(ctx context.Context, at Request, p part) (Request, error) {
	now, err := f.server.Attach(ctx, at, attributesOf(p.add), attributesOf(p.off).Labels)
	if err != nil {
		return at, err
	}
	missing, left := without(p.add, now.list()), without(p.off, now.list())
	at.Attributes = attributesOf(append(without(at.list(), left), without(p.add, append(missing, at.list()...))...))
	if len(missing) > 0 || len(left) < len(p.off) {
		err = errLeftOut
	}
	return at, err
}

// isUnanswered reports whether an error says nothing about what was asked.
func isUnanswered(ctx context.Context, err error) bool {
	return ctx.Err() != nil || forge.IsGone(err) || forge.IsFailure(err, forge.FailedNetwork)
}

// noteRefused notes what the server refused, or takes that back.
func (f *Forge) noteRefused(ctx context.Context, number int64, p part, err error) {
	of, limited := errors.AsType[*forge.Error](err)
	if limited = limited && of.Wait > 0; ctx.Err() != nil || forge.IsGone(err) || limited {
		return // it is asked in the next pass
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.clock.Now()
	for _, item := range slices.Concat(p.add, p.off) {
		if err == nil {
			delete(f.refused, item)
			continue
		}
		r := refusal{number: number, at: now, wanted: now}
		if !forge.IsFailure(err, forge.FailedNetwork) {
			r.why = err.Error()
		}
		f.refused[item] = r
	}
	maps.DeleteFunc(f.refused, func(_ string, r refusal) bool { return now.Sub(r.wanted) >= 2*attachPause })
}

// allowed returns what the server did not refuse lately.
func (f *Forge) allowed(number int64, list []string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.clock.Now()
	return slices.DeleteFunc(slices.Clone(list), func(item string) bool {
		r, refused := f.refused[item]
		if refused {
			r.number, r.wanted = cmp.Or(number, r.number), now
			f.refused[item] = r
		}
		return refused && now.Sub(r.at) < attachPause
	})
}

// unset returns what is still missing of what a proposal is opened with, and records that. What it
// had once does not count: people may take it off.
func (f *Forge) unset(at Request) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	r, recorded := f.records.number(at.Branch, at.Number)
	if !recorded || len(r.Unset) == 0 {
		return nil
	}
	lacks := without(f.current(r.Unset), at.list())
	if !slices.Equal(lacks, r.Unset) {
		r.Unset = lacks
		f.records.put(at.Branch, r)
	}
	return lacks
}

// current returns what is still wanted of what was recorded: where the names of a kind were changed
// since, the new ones.
func (f *Forge) current(unset []string) []string {
	wanted := f.opensWith(forge.Request{Labels: attributesOf(unset).Labels})
	kinds := map[string]bool{}
	for _, item := range without(unset, wanted) {
		kind, _, _ := strings.Cut(item, " ")
		kinds[kind] = true
	}
	return slices.DeleteFunc(wanted, func(item string) bool {
		kind, _, _ := strings.Cut(item, " ")
		return !kinds[kind] && !contains(unset, item)
	})
}

// attributeKinds say what people do about attributes that are refused.
var attributeKinds = map[string]struct{ field, next string }{
	kindLabel:     {"spec.proposals.labels", "Let the user of the credentials label pull requests, or set spec.proposals.labels to an empty list for no labels"},
	kindReviewer:  {"spec.proposals.reviewers", "Correct spec.proposals.reviewers, or give that user access to the repository"},
	kindAssignee:  {"spec.proposals.assignees", "Correct spec.proposals.assignees, or give that user access to the repository"},
	kindMilestone: {"spec.proposals.milestone", "Open the milestone, or correct spec.proposals.milestone"},
}

// Warnings names what proposals lack because the server refused it, once for each reason, and who may
// push to Furrow's branches besides Furrow.
func (f *Forge) Warnings() manifest.Problems {
	return slices.Concat(f.unprotectedWarning(), f.unsignedWarning(), f.incomplete())
}

// incomplete names what proposals lack.
func (f *Forge) incomplete() manifest.Problems {
	f.mu.Lock()
	defer f.mu.Unlock()
	type key struct{ kind, why string }
	names, number := map[key][]string{}, map[key]int64{}
	for _, item := range slices.Sorted(maps.Keys(f.refused)) {
		r := f.refused[item]
		if r.why == "" || f.clock.Now().Sub(r.wanted) >= attachPause {
			continue
		}
		kind, name, _ := strings.Cut(item, " ")
		k := key{kind, r.why}
		names[k], number[k] = append(names[k], strconv.Quote(name)), max(number[k], r.number)
	}
	var out manifest.Problems
	for k, list := range names {
		out = append(out, manifest.Problem{
			Reason: "ProposalIncomplete", Field: attributeKinds[k.kind].field, Next: attributeKinds[k.kind].next,
			Message: fmt.Sprintf("proposals lack the %s %s, as #%d does: %s", k.kind, strings.Join(list, ", "), number[k], k.why),
		})
	}
	slices.SortFunc(out, func(a, b manifest.Problem) int {
		return cmp.Or(cmp.Compare(a.Field, b.Field), cmp.Compare(a.Message, b.Message))
	})
	return out
}

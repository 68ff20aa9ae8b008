package git

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"

	"github.com/furrow-dev/furrow/internal/git/odb"
)

// noThin is the capability of a server that wants packs without outside bases.
const noThin capability.Capability = "no-thin"

// Update moves one branch, if it is where the caller expects it.
type Update struct {
	// Ref is the branch, without refs/heads/.
	Ref string
	// Old is where the caller has seen the branch; zero: it must not exist.
	Old Hash
	// New is where the branch shall be; zero: delete it.
	New Hash
	// Objects are those that the server may lack, as WriteTree and Graft list them.
	Objects []Hash
}

// Push moves all the branches in one request, or none, each only if it is at Old on the server. A
// server without atomic pushes may move some and refuse others: the PushError then names those it
// refused, and the others are done. No update at all is not an error.
//
// A lease is checked twice: against the list of branches with which the server begins the session,
// before anything is sent, and by the server, which refuses a branch that is not at Old when it
// moves it.
//
// Trees go as differences from trees that the server should have. A server that has removed them
// cannot unpack what was sent; then the push is repeated once, with whole objects.
func (m *Mirror) Push(ctx context.Context, updates []Update) error {
	if err := checkUpdates(updates); err != nil {
		return err
	}
	if len(updates) == 0 {
		return nil
	}
	ctx, cancel := withDeadline(ctx)
	defer cancel()
	outcome, err := m.send(ctx, updates, true)
	if errors.Is(err, errUnpack) {
		outcome, err = m.send(ctx, updates, false)
	}
	if err != nil {
		return m.remote.translate(ctx, "push to", err)
	}
	if len(outcome.done) > 0 {
		m.follow(ctx, outcome.done)
	}
	if outcome.refused != nil {
		return outcome.refused
	}
	return nil
}

// checkUpdates refuses what no server could carry out as it is meant.
func checkUpdates(updates []Update) error {
	seen := map[string]bool{}
	for _, u := range updates {
		if err := CheckRef(u.Ref); err != nil {
			return err
		}
		if seen[u.Ref] {
			return fmt.Errorf("branch %s is updated twice in one push", u.Ref)
		}
		if u.Old.IsZero() && u.New.IsZero() {
			return fmt.Errorf("branch %s: neither an old nor a new commit is given", u.Ref)
		}
		seen[u.Ref] = true
	}
	return nil
}

// outcome is what became of the updates that were sent.
type outcome struct {
	done    []Update
	refused *PushError
}

// errUnpack means that the server could not use the pack.
var errUnpack = errors.New("the server could not unpack what was sent")

// send runs one receive-pack session. A branch that was refused is an outcome, not an error: an
// error means that nothing is known of what the server did, as when a connection breaks before its
// report.
func (m *Mirror) send(ctx context.Context, updates []Update, thin bool) (outcome, error) {
	if err := ctx.Err(); err != nil {
		return outcome{}, err
	}
	turns := &turns{}
	session, err := opened(ctx, m.remote, turns, m.remote.transport.NewReceivePackSession)
	if err != nil {
		return outcome{}, err
	}
	defer hangUp(ctx, turns, session)
	adv, err := begin(ctx, m.remote, turns, session.AdvertisedReferencesContext)
	if err != nil {
		return outcome{}, err
	}
	if stale := m.checkLeases(updates, adv); stale != nil {
		return outcome{refused: stale}, nil
	}
	request, said, err := m.request(updates, adv, thin)
	if err != nil {
		return outcome{}, err
	}
	report, err := within(ctx, turns, func() (*packp.ReportStatus, error) { return session.ReceivePack(ctx, request) })
	if report == nil {
		return outcome{}, withText(cmp.Or(err, io.ErrUnexpectedEOF), said.String())
	}
	if report.UnpackStatus != "ok" {
		return outcome{}, fmt.Errorf("%w: %s %s", errUnpack, report.UnpackStatus, said.String())
	}
	return m.judge(updates, report, said.String()), nil
}

// withText adds what the server said on the side, which is often the only reason there is.
func withText(err error, text string) error {
	if text == "" {
		return err
	}
	return fmt.Errorf("%w; the server said: %s", err, text)
}

// checkLeases compares what the caller expects with what the server advertises.
func (m *Mirror) checkLeases(updates []Update, adv *packp.AdvRefs) *PushError {
	out := m.newPushError("")
	for _, u := range updates {
		actual := Hash(adv.References[odb.HeadsPrefix+u.Ref])
		if actual == u.Old {
			out.NotPushed = append(out.NotPushed, u.Ref)
			continue
		}
		out.blame(u.Ref, fmt.Sprintf("is at %s, not at %s", position(actual), position(u.Old)), true)
	}
	if len(out.Refs) == 0 {
		return nil
	}
	return out
}

func position(hash Hash) string {
	if hash.IsZero() {
		return "no commit"
	}
	return hash.String()
}

func (m *Mirror) newPushError(text string) *PushError {
	return &PushError{Refs: map[string]string{}, Raced: map[string]bool{}, remote: m.remote.url, Text: m.remote.clean(text)}
}

func (e *PushError) blame(ref, reason string, raced bool) {
	e.Refs[ref] = reason
	if raced {
		e.Raced[ref] = true
	}
}

// request makes the update request with its pack, and the writer for the server's messages. A
// request that only deletes branches must have no pack, not an empty one.
func (m *Mirror) request(updates []Update, adv *packp.AdvRefs, thin bool) (*packp.ReferenceUpdateRequest, *messages, error) {
	request := packp.NewReferenceUpdateRequestFromCapabilities(adv.Capabilities)
	said := &messages{}
	request.Progress = said
	for _, wanted := range []capability.Capability{capability.Atomic, capability.Sideband64k, capability.Quiet, capability.DeleteRefs} {
		if adv.Capabilities.Supports(wanted) {
			if err := request.Capabilities.Set(wanted); err != nil {
				return nil, nil, err
			}
		}
	}
	var objects []Hash
	deletesOnly := true
	for _, u := range updates {
		objects = append(objects, u.Objects...)
		deletesOnly = deletesOnly && u.New.IsZero()
		request.Commands = append(request.Commands, &packp.Command{
			Name: plumbing.ReferenceName(odb.HeadsPrefix + u.Ref), Old: plumbing.Hash(u.Old), New: plumbing.Hash(u.New)})
	}
	if deletesOnly {
		return request, said, nil
	}
	pack, err := m.EncodePack(objects, thin && !adv.Capabilities.Supports(noThin))
	request.Packfile = io.NopCloser(pack)
	return request, said, err
}

// messages keeps the beginning of what the server says on the side.
type messages struct{ bytes.Buffer }

// Write never fails: what is too long is dropped, and the push goes on.
func (s *messages) Write(p []byte) (int, error) {
	const most = 8 << 10
	if room := most - s.Len(); room > 0 {
		s.Buffer.Write(p[:min(len(p), room)])
	}
	return len(p), nil
}

// atomicWords mark the refs that git refuses only because another ref of the request was refused.
var atomicWords = []string{"atomic", "transaction"}

// lostRace marks a ref that moved between the listing and the update; its lock may also be held by
// the one who moves it.
var lostRace = regexp.MustCompile(`is at [0-9a-f]{7,} but expected|reference already exists|unable to resolve reference|` +
	`incorrect old value|failed to update ref|\.lock': File exists|stale info|fetch first`)

// fileExists marks a ref that is locked, by the one who moves it or by one who was cut off.
var fileExists = regexp.MustCompile(`\.lock': File exists`)

// lockedRef finds the branch that git could not lock in its messages.
var lockedRef = regexp.MustCompile(`cannot lock ref 'refs/heads/([^']+)': ([^\n]+)`)

// judge sorts the server's report into what is done, what is to blame and what was only refused
// together with others. Git reports reasons as text only, so the words of its receive-pack are
// matched; those of a forge's hooks are arbitrary, and count as a refusal of the branch.
func (m *Mirror) judge(updates []Update, report *packp.ReportStatus, said string) outcome {
	reasons := map[string]string{}
	for _, status := range report.CommandStatuses {
		reasons[strings.TrimPrefix(status.ReferenceName.String(), odb.HeadsPrefix)] = status.Status
	}
	refused := m.newPushError(said)
	var out outcome
	for _, u := range updates {
		reason, reported := reasons[u.Ref]
		switch {
		case !reported:
			refused.blame(u.Ref, "the server did not report on it", false)
		case reason == "ok":
			out.done = append(out.done, u)
		case slices.ContainsFunc(atomicWords, func(word string) bool { return strings.Contains(reason, word) }):
			refused.NotPushed = append(refused.NotPushed, u.Ref)
		default:
			refused.blame(u.Ref, m.remote.clean(reason), lostRace.MatchString(reason))
		}
	}
	refused.blameLocks(said, m.remote.clean)
	if len(refused.Refs)+len(refused.NotPushed) > 0 {
		out.refused = refused
	}
	return out
}

// blameLocks finds in the server's messages which branch it could not lock. In an atomic push, Git
// may report every branch as failed in the same words, and name the one to blame only there. If it
// names none, and nothing else is to blame, all are: a PushError without a branch to blame says
// nothing.
func (e *PushError) blameLocks(said string, clean func(string) string) {
	for _, match := range lockedRef.FindAllStringSubmatch(said, -1) {
		ref, reason := match[1], clean(match[2])
		at := slices.Index(e.NotPushed, ref)
		if _, blamed := e.Refs[ref]; at < 0 && !blamed {
			continue
		}
		if at >= 0 {
			e.NotPushed = slices.Delete(e.NotPushed, at, at+1)
		}
		delete(e.Raced, ref)
		e.blame(ref, reason, lostRace.MatchString(reason))
	}
	if len(e.Refs) > 0 {
		return
	}
	for _, ref := range e.NotPushed {
		e.blame(ref, "refused together with the others, and the server names no branch", lostRace.MatchString(said))
	}
	e.NotPushed = nil
}

// follow moves the mirror's refs to where the push put them, which also protects the pushed objects
// from collection. A failure is left to the next Fetch: the push itself is done.
func (m *Mirror) follow(ctx context.Context, done []Update) {
	unlock, err := m.lock(ctx)
	if err != nil {
		return
	}
	defer unlock()
	refs, err := m.db.Refs()
	if err != nil {
		return
	}
	for _, u := range done {
		switch {
		case u.New.IsZero():
			delete(refs, u.Ref)
		case m.Has(u.New):
			refs[u.Ref] = u.New
		}
	}
	_ = m.db.SetRefs(refs)
}

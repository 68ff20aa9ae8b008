package pull_test

import (
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/forgetest"
	"github.com/furrow-dev/furrow/internal/forge/pull"
	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/test/gitcmd"
	"github.com/furrow-dev/furrow/test/people"
)

// fake is a server of pull requests on a bare repository, in memory. It behaves as forges do: it
// closes a pull request whose branch is gone, and marks one as merged whose commit base has.
type fake struct {
	t    testing.TB
	bare string

	mu       sync.Mutex
	requests []*fakeRequest
	statuses map[git.Hash]pull.Status
	checks   map[git.Hash][]pull.Check
	// calls are the names of the methods that were called.
	calls []string
	// now is the server's clock.
	now time.Time
	// before can fail a call, or do something meanwhile.
	before func(call string) error
	// after can lose the answer of a call that was made.
	after func(call string) error
	// hidden are the numbers that no list shows yet.
	hidden map[int64]bool
	// lateClosing keeps pull requests open whose branch is gone.
	lateClosing bool
	// late keeps the heads of pull requests where they are, whatever is pushed.
	late bool
	// shown is what the list of open ones shows instead of those that are open.
	shown []pull.Request
	// lax lets a branch have several open pull requests.
	lax bool
	// requires is what base asks of a merge, pushers who may push to Furrow's branches.
	requires forge.Requirements
	pushers  forge.Pushers
	access   pull.Access
	// linear reports whether it merges only what is on top of base.
	linear bool
	// queue has the merge queue's pull requests, and those that it removed; nil where base has none.
	queue map[int64]pull.Queued
	// budget is what it says that it allows.
	budget forge.Budget
	// opensBare lets pull requests be opened without attributes; refuses are names that cannot be set, and
	// dropped those that are left out without an error.
	opensBare        bool
	refuses, dropped []string
	// methods are the ways to merge; merge commits where there are none.
	methods []pull.Method
	// signing is what merging does to signatures.
	signing pull.Signing
}

type fakeRequest struct {
	pull.Request
	closing pull.Closing
	// compared are the commits of its branch and of base that were compared last.
	compared string
}

func newFake(t testing.TB, bare string) *fake {
	return &fake{t: t, bare: bare, statuses: map[git.Hash]pull.Status{}, now: time.Unix(1_800_000_000, 0).UTC(), hidden: map[int64]bool{}}
}

func (s *fake) Budget() forge.Budget {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.budget
}

func (s *fake) String() string { return "https://forge.example/acme/fleet" }

// call is the frame of every method: hooks, the clock, and what happened to branches meanwhile.
func (s *fake) call(name string, do func() error) error {
	s.mu.Lock()
	before, after := s.before, s.after
	s.calls = append(s.calls, name)
	s.mu.Unlock()
	if before != nil {
		if err := before(name); err != nil {
			return err
		}
	}
	s.mu.Lock()
	s.now = s.now.Add(time.Second)
	s.observe()
	err := do()
	s.mu.Unlock()
	if err == nil && after != nil {
		return after(name)
	}
	return err
}

// take returns the calls since the last time.
func (s *fake) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	made := s.calls
	s.calls = nil
	return made
}

func (s *fake) git(args ...string) (string, bool) {
	out, err := exec.Command("git", append([]string{"-C", s.bare}, args...)...).CombinedOutput()
	return strings.TrimSpace(string(out)), err == nil
}

// observe takes in where branches are.
func (s *fake) observe() {
	out, _ := s.git("for-each-ref", "--format=%(refname:short) %(objectname)", "refs/heads")
	tips := map[string]string{}
	for line := range strings.Lines(out) {
		name, tip, _ := strings.Cut(strings.TrimSpace(line), " ")
		tips[name] = tip
	}
	for _, r := range s.requests {
		if r.State != pull.Open {
			continue
		}
		tip, there := tips[r.Branch]
		if !there {
			if !s.lateClosing {
				s.close(r, pull.Closing{By: "someone", BranchDeleted: true})
			}
			continue
		}
		if !s.late || r.Head.IsZero() {
			r.Head, _ = git.ParseHash(tip)
		}
		if compared := tip + tips["main"]; r.compared != compared {
			r.compared = compared
			if _, merged := s.git("merge-base", "--is-ancestor", tip, tips["main"]); merged {
				r.State, r.Closed = pull.Merged, s.now
				r.Merge, _ = git.ParseHash(tips["main"])
			}
		}
	}
}

func (s *fake) close(r *fakeRequest, how pull.Closing) {
	how.Said = append(how.Said, r.closing.Said...)
	r.State, r.Closed, r.closing = pull.Closed, s.now, how
}

func (s *fake) find(number int64) (*fakeRequest, error) {
	for _, r := range s.requests {
		if r.Number == number {
			return r, nil
		}
	}
	return nil, &forge.Error{Op: fmt.Sprintf("read #%d", number), Repository: s.String(), Kind: forge.FailedNotFound, Text: "not found"}
}

func (s *fake) list(name string, want func(*fakeRequest) bool) (out []pull.Request, err error) {
	err = s.call(name, func() error {
		for _, r := range slices.Backward(s.requests) {
			if want(r) && !s.hidden[r.Number] {
				out = append(out, r.Request)
			}
		}
		return nil
	})
	return out, err
}

func (s *fake) Open(context.Context) ([]pull.Request, error) {
	if s.shown != nil {
		return slices.Clone(s.shown), s.call("Open", func() error { return nil })
	}
	return s.list("Open", func(r *fakeRequest) bool { return r.State == pull.Open })
}

func (s *fake) OfBranch(_ context.Context, branch string) ([]pull.Request, error) {
	return s.list("OfBranch", func(r *fakeRequest) bool { return r.Branch == branch })
}

func (s *fake) Recent(context.Context) ([]pull.Request, error) {
	return s.list("Recent", func(r *fakeRequest) bool { return r.State != pull.Open })
}

func (s *fake) Get(_ context.Context, number int64) (out pull.Request, err error) {
	err = s.call("Get", func() error {
		r, err := s.find(number)
		if err == nil {
			out = r.Request
		}
		return err
	})
	return out, err
}

func (s *fake) Create(_ context.Context, n pull.NewRequest) (out pull.Request, err error) {
	err = s.call("Create", func() error {
		if !s.lax && slices.ContainsFunc(s.requests, func(r *fakeRequest) bool { return r.Branch == n.Branch && r.State == pull.Open }) {
			return fmt.Errorf("a pull request exists: %w", pull.ErrExists)
		}
		number := int64(len(s.requests) + 1)
		r := &fakeRequest{Request: pull.Request{
			Number: number, URL: fmt.Sprintf("%s/pulls/%d", s, number), Branch: n.Branch, Title: n.Title, Body: n.Body, State: pull.Open, Created: s.now,
		}}
		if !s.opensBare {
			if err := s.set(r, n.Attributes); err != nil {
				return err
			}
		}
		s.requests = append(s.requests, r)
		s.observe()
		out = r.Request
		return nil
	})
	return out, err
}

func (s *fake) Edit(_ context.Context, number int64, e pull.Edit) (out pull.Request, err error) {
	err = s.call("Edit", func() error {
		r, err := s.find(number)
		if err != nil {
			return err
		}
		if e.Title != nil {
			r.Title = *e.Title
		}
		if e.Body != nil {
			r.Body = *e.Body
		}
		switch {
		case e.State == nil || *e.State == r.State || r.State == pull.Merged:
		case *e.State == pull.Closed:
			s.close(r, pull.Closing{By: "furrow"})
		default:
			r.State, r.Closed = pull.Open, time.Time{}
		}
		out = r.Request
		return nil
	})
	return out, err
}

func (s *fake) Attach(_ context.Context, at pull.Request, add pull.Attributes, off []string) (out pull.Attributes, err error) {
	err = s.call("Attach", func() error {
		r, err := s.find(at.Number)
		if err != nil {
			return err
		}
		r.Labels = slices.DeleteFunc(slices.Clone(r.Labels), func(name string) bool { return slices.Contains(off, name) })
		err = s.set(r, add)
		out = r.Attributes
		return err
	})
	return out, err
}

// set adds attributes, or none where one of them is refused.
func (s *fake) set(r *fakeRequest, a pull.Attributes) error {
	add := func(to []string, names []string) []string {
		for _, name := range names {
			if !slices.Contains(to, name) && !slices.Contains(s.dropped, name) {
				to = append(slices.Clip(to), name)
			}
		}
		return to
	}
	for _, name := range slices.Concat(a.Labels, a.Reviewers, a.Assignees, []string{a.Milestone}) {
		if slices.Contains(s.refuses, name) {
			return &forge.Error{Op: fmt.Sprintf("set what #%d has", r.Number), Repository: s.String(), Kind: forge.FailedOther, Text: "there is no " + name}
		}
	}
	r.Labels, r.Reviewers, r.Assignees = add(r.Labels, a.Labels), add(r.Reviewers, a.Reviewers), add(r.Assignees, a.Assignees)
	r.Milestone = cmp.Or(a.Milestone, r.Milestone)
	return nil
}

func (s *fake) Closing(_ context.Context, number int64, _ time.Time) (out pull.Closing, err error) {
	err = s.call("Closing", func() error {
		r, err := s.find(number)
		if err == nil {
			out = r.closing
		}
		return err
	})
	return out, err
}

func (s *fake) Comment(_ context.Context, number int64, text string) error {
	return s.call("Comment", func() error { return s.say(number, "furrow", text) })
}

func (s *fake) say(number int64, by, text string) error {
	r, err := s.find(number)
	if err == nil {
		r.closing.Said = append([]pull.Comment{{By: by, Text: text, At: s.now}}, r.closing.Said...)
	}
	return err
}

func (s *fake) Checks(_ context.Context, commit git.Hash) (out []pull.Check, err error) {
	return out, s.call("Checks", func() error { out = s.checks[commit]; return nil })
}

func (s *fake) SetStatus(_ context.Context, commit git.Hash, status pull.Status) error {
	return s.call("SetStatus", func() error { s.statuses[commit] = status; return nil })
}

func (s *fake) Requires(context.Context) (out forge.Requirements, err error) {
	err = s.call("Requires", func() error { out = s.requires; return nil })
	return out, err
}

func (s *fake) Pushers(context.Context) (out forge.Pushers, err error) {
	return out, s.call("Pushers", func() error { out = s.pushers; return nil })
}

func (s *fake) Repository(context.Context) (out pull.Repository, err error) {
	err = s.call("Repository", func() error { out.Methods = s.methods; return nil })
	return out, err
}

func (s *fake) Signing(context.Context) (out pull.Signing, err error) {
	return out, s.call("Signing", func() error { out = s.signing; return nil })
}

func (s *fake) Access(context.Context) (out pull.Access, err error) {
	err = s.call("Access", func() error { out = s.access; return nil })
	return out, err
}

func (s *fake) Enqueue(_ context.Context, number int64, m pull.Merge) error {
	return s.call("Enqueue", func() error {
		r, err := s.find(number)
		switch {
		case err != nil:
			return err
		case r.State != pull.Open || r.Head != m.Head:
			return forge.ErrGone
		}
		s.queue[number] = pull.Queued{Is: true, Why: "at position 1"}
		return nil
	})
}

func (s *fake) Queued(_ context.Context, number int64) (out pull.Queued, err error) {
	err = s.call("Queued", func() error { out = s.queue[number]; return nil })
	return out, err
}

func (s *fake) Merge(_ context.Context, number int64, m pull.Merge) error {
	return s.call("Merge", func() error {
		r, err := s.find(number)
		switch {
		case err != nil:
			return err
		case r.State != pull.Open || r.Head != m.Head:
			return forge.ErrGone
		case s.queue != nil:
			return pull.ErrMergeQueue
		case s.linear:
			if _, on := s.git("merge-base", "--is-ancestor", "refs/heads/main", m.Head.String()); !on {
				return forge.ErrConflict
			}
		}
		tree, clean := s.git("merge-tree", "--write-tree", "refs/heads/main", m.Head.String())
		if !clean {
			return forge.ErrConflict
		}
		base, _ := s.git("rev-parse", "refs/heads/main")
		args := []string{"commit-tree", "-p", base, "-p", m.Head.String(), "-m", "Merge", "-m", m.Message, tree}
		if m.Method == pull.Squash {
			args = []string{"commit-tree", "-p", base, "-m", m.Title, "-m", m.Message, tree}
		}
		merge, _ := s.git(args...)
		return s.land(r, base, merge)
	})
}

// land moves base to a merge; somebody else may have been faster.
func (s *fake) land(r *fakeRequest, base, merge string) error {
	if out, moved := s.git("update-ref", "refs/heads/main", merge, base); !moved {
		return fmt.Errorf("%s: %w", out, pull.ErrUnchecked)
	}
	r.State, r.Closed = pull.Merged, s.now
	r.Merge, _ = git.ParseHash(merge)
	return nil
}

// personAt is somebody in front of the fake's pages.
type personAt struct {
	people.Clone
	server *fake
}

func (p personAt) do(t *testing.T, do func() error) {
	t.Helper()
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	p.server.now = p.server.now.Add(time.Second)
	p.server.observe()
	if err := do(); err != nil {
		t.Fatal(err)
	}
}

func (p personAt) Merge(t *testing.T, proposal forge.Proposal, method forgetest.MergeMethod) {
	t.Helper()
	p.do(t, func() error {
		r, err := p.server.find(proposal.Number)
		if err != nil {
			return err
		}
		p.Clone.Merge(t, proposal, method)
		merge, _ := p.server.git("rev-parse", "refs/heads/main")
		return p.server.land(r, merge, merge)
	})
}

func (p personAt) Close(t *testing.T, proposal forge.Proposal, reason string) {
	t.Helper()
	p.do(t, func() error {
		r, err := p.server.find(proposal.Number)
		if err != nil {
			return err
		}
		err = p.server.say(r.Number, "bob", reason)
		p.server.close(r, pull.Closing{By: "bob"})
		return err
	})
}

// planRef is the plan of the seed "a"; its records stay while it is there.
const planRef = "refs/heads/furrow/main/plan/a"

// site is a repository with a server and a forge.
type site struct {
	*testing.T
	bare   string
	mirror *git.Mirror
	server *fake
	forge  *pull.Forge
	// options are those of new processes, and labels those of new proposals.
	options pull.Options
	labels  []string
}

func newSite(t *testing.T) *site {
	t.Helper()
	dir := t.TempDir()
	bare := filepath.Join(dir, "remote.git")
	gitcmd.Run(t, dir, "init", "--quiet", "--bare", "--initial-branch=main", bare)
	empty := gitcmd.Run(t, bare, "mktree")
	gitcmd.Run(t, bare, "update-ref", "refs/heads/main", gitcmd.Run(t, bare, "commit-tree", "-m", "Start", empty))
	gitcmd.Run(t, bare, "update-ref", planRef, "refs/heads/main")
	s := &site{T: t, bare: bare, server: newFake(t, bare)}
	s.mirror = s.newMirror()
	s.forge = s.newForge()
	return s
}

func (s *site) newMirror() *git.Mirror {
	s.Helper()
	m, err := git.Open(s.Context(), filepath.Join(s.TempDir(), "mirror"), git.Remote{URL: s.bare})
	s.must(err)
	s.Cleanup(func() { _ = m.Close() })
	return m
}

// newForge is the forge as a process has it that has just begun.
func (s *site) newForge() *pull.Forge {
	s.Helper()
	o := s.options
	o.Base = "main"
	return pull.New(s.server, s.mirror, o)
}

func (s *site) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

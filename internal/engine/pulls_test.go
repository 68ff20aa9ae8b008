package engine_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/pull"
	"github.com/furrow-dev/furrow/internal/git"
)

// TestRandomHistoriesOfPullRequests is TestRandomHistories where proposals are pull requests: the policy of internal/forge/pull
// on a server in memory. Engines that crash begin with a forge that remembers nothing, and people have one of their own.
func TestRandomHistoriesOfPullRequests(t *testing.T) {
	eachHistory(t, func(t *testing.T, seed int64) { history(t, seed, nil, inWaves, onPulls, paced) })
}

// TestRandomHistoriesOfPullRequestsAcrossSeeds is the same for seeds that wait for each other.
func TestRandomHistoriesOfPullRequestsAcrossSeeds(t *testing.T) {
	eachHistory(t, func(t *testing.T, seed int64) { historyAcrossSeeds(t, seed, inWaves, onPulls, paced) })
}

// onPulls has a world work with pull requests.
func onPulls(w *world) {
	server := &pullServer{repo: w.gitops, now: func() time.Time { return w.now.UTC() }}
	w.pulls = server
	clock := clocktesting.NewFakeClock(w.now)
	w.newForge = func() forge.Forge { return pull.New(server, w.gitops, pull.Options{Base: "main", Clock: clock}) }
	w.forge = w.newForge()
	w.onTime = func() {
		if w.now.After(clock.Now()) {
			clock.SetTime(w.now)
		}
	}
}

// pullServer is a server of pull requests on a repository in memory. It closes a pull request whose branch is gone, and
// marks one as merged whose commit base has. What histories do not need is nil.
type pullServer struct {
	pull.Server
	repo *memory
	now  func() time.Time
	// methods are the ways to merge, and signing what that does to signatures.
	methods []pull.Method
	signing pull.Signing

	mu       sync.Mutex
	requests []*pullRequest
	// used are the methods by which pull requests were merged.
	used []pull.Method
}

type pullRequest struct {
	pull.Request
	closing pull.Closing
	// compared are the commits of its branch and of base that were compared last.
	compared [2]git.Hash
}

func (s *pullServer) String() string { return "https://forge.example/acme/fleet" }

// do runs one call of the API, once what happened to branches is known.
func (s *pullServer) do(call func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.observe()
	return call()
}

func (s *pullServer) observe() {
	refs, _ := s.repo.Fetch(context.Background(), "main")
	for _, r := range s.requests {
		if r.State != pull.Open {
			continue
		}
		tip, there := refs[r.Branch]
		if !there {
			r.close(s.now(), pull.Closing{By: "someone", BranchDeleted: true})
			continue
		}
		r.Head = tip
		if compared := [2]git.Hash{tip, refs["main"]}; r.compared != compared {
			r.compared = compared
			if merged, _ := s.repo.IsAncestor(tip, refs["main"]); merged {
				r.State, r.Closed, r.Merge = pull.Merged, s.now(), refs["main"]
			}
		}
	}
}

func (r *pullRequest) close(at time.Time, how pull.Closing) {
	how.Said = append(how.Said, r.closing.Said...)
	r.State, r.Closed, r.closing = pull.Closed, at, how
}

func (s *pullServer) find(number int64, change func(*pullRequest) error) error {
	return s.do(func() error {
		if number < 1 || number > int64(len(s.requests)) {
			return forge.ErrGone
		}
		return change(s.requests[number-1])
	})
}

func (s *pullServer) list(want func(*pullRequest) bool) (out []pull.Request, err error) {
	err = s.do(func() error {
		for _, r := range slices.Backward(s.requests) {
			if want(r) {
				out = append(out, r.Request)
			}
		}
		return nil
	})
	return out, err
}

func (s *pullServer) Open(context.Context) ([]pull.Request, error) {
	return s.list(func(r *pullRequest) bool { return r.State == pull.Open })
}

func (s *pullServer) OfBranch(_ context.Context, branch string) ([]pull.Request, error) {
	return s.list(func(r *pullRequest) bool { return r.Branch == branch })
}

func (s *pullServer) Recent(context.Context) ([]pull.Request, error) {
	return s.list(func(r *pullRequest) bool { return r.State != pull.Open })
}

func (s *pullServer) Get(_ context.Context, number int64) (out pull.Request, err error) {
	err = s.find(number, func(r *pullRequest) error { out = r.Request; return nil })
	return out, err
}

func (s *pullServer) Create(_ context.Context, n pull.NewRequest) (out pull.Request, err error) {
	err = s.do(func() error {
		if slices.ContainsFunc(s.requests, func(r *pullRequest) bool { return r.Branch == n.Branch && r.State == pull.Open }) {
			return fmt.Errorf("a pull request exists: %w", pull.ErrExists)
		}
		number := int64(len(s.requests) + 1)
		r := &pullRequest{Request: pull.Request{
			Number: number, URL: fmt.Sprintf("%s/pulls/%d", s, number), Branch: n.Branch, Title: n.Title, Body: n.Body, Attributes: n.Attributes, State: pull.Open, Created: s.now(),
		}}
		s.requests = append(s.requests, r)
		s.observe()
		out = r.Request
		return nil
	})
	return out, err
}

func (s *pullServer) Edit(_ context.Context, number int64, e pull.Edit) (out pull.Request, err error) {
	err = s.find(number, func(r *pullRequest) error {
		if e.Title != nil {
			r.Title = *e.Title
		}
		if e.Body != nil {
			r.Body = *e.Body
		}
		switch {
		case e.State == nil || *e.State == r.State || r.State == pull.Merged:
		case *e.State == pull.Closed:
			r.close(s.now(), pull.Closing{By: "furrow"})
		default:
			r.State, r.Closed = pull.Open, time.Time{}
		}
		out = r.Request
		return nil
	})
	return out, err
}

func (s *pullServer) Attach(_ context.Context, at pull.Request, add pull.Attributes, off []string) (out pull.Attributes, err error) {
	err = s.find(at.Number, func(r *pullRequest) error {
		r.Labels = slices.DeleteFunc(r.Labels, func(l string) bool { return slices.Contains(off, l) || slices.Contains(add.Labels, l) })
		r.Labels = append(r.Labels, add.Labels...)
		out = r.Attributes
		return nil
	})
	return out, err
}

func (s *pullServer) Closing(_ context.Context, number int64, _ time.Time) (out pull.Closing, err error) {
	err = s.find(number, func(r *pullRequest) error { out = r.closing; return nil })
	return out, err
}

func (s *pullServer) Comment(_ context.Context, number int64, text string) error {
	return s.find(number, func(r *pullRequest) error {
		r.closing.Said = append([]pull.Comment{{By: "furrow", Text: text, At: s.now()}}, r.closing.Said...)
		return nil
	})
}

func (s *pullServer) SetStatus(context.Context, git.Hash, pull.Status) error { return nil }

// Checks has one that has passed.
func (s *pullServer) Checks(context.Context, git.Hash) ([]pull.Check, error) {
	return []pull.Check{{Name: "ci", State: pull.CheckPassed}}, nil
}

func (s *pullServer) Pushers(context.Context) (forge.Pushers, error) {
	return forge.Pushers{}, nil
}

func (s *pullServer) Requires(context.Context) (forge.Requirements, error) {
	return forge.Requirements{}, nil
}

func (s *pullServer) Repository(context.Context) (pull.Repository, error) {
	return pull.Repository{Methods: s.methods}, nil
}

func (s *pullServer) Signing(context.Context) (pull.Signing, error) { return s.signing, nil }

func (s *pullServer) Access(context.Context) (pull.Access, error) { return pull.Access{}, nil }

func (s *pullServer) Budget() forge.Budget { return forge.Budget{} }

func (s *pullServer) Merge(ctx context.Context, number int64, m pull.Merge) error {
	return s.find(number, func(r *pullRequest) error {
		if r.State != pull.Open || r.Head != m.Head {
			return forge.ErrGone
		}
		refs, _ := s.repo.Fetch(ctx, "main")
		base := refs["main"]
		shared, from := s.repo.reach(base), git.Hash{}
		for c, err := range s.repo.Log(m.Head, git.Hash{}) {
			if err != nil {
				return err
			}
			if shared[c.Hash] {
				from = c.Hash
				break
			}
		}
		meta := git.CommitMeta{Author: git.Person{Name: "forge", When: s.now()}, Message: "Merge\n\n" + m.Message}
		merged, err := s.repo.MergeTrees(from, m.Head, base, nil)
		if err != nil || len(merged.Conflicts) > 0 {
			return forge.ErrConflict
		}
		grafted, err := s.repo.Graft(base, merged.Edits, meta)
		if err != nil {
			return err
		}
		commit, err := s.repo.CommitTree(grafted.Tree, []git.Hash{base, m.Head}, meta)
		if err != nil {
			return err
		}
		if err := s.repo.Push(ctx, []git.Update{{Ref: "main", Old: base, New: commit}}); err != nil {
			return fmt.Errorf("%w: %w", pull.ErrUnchecked, err)
		}
		r.State, r.Closed, r.Merge = pull.Merged, s.now(), commit
		s.used = append(s.used, m.Method)
		return nil
	})
}

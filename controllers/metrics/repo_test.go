package metrics

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/furrow-dev/furrow/controllers/fleet"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
)

// fakeMirror and fakeForge fail with an error, after some time.
type fakeMirror struct {
	engine.Mirror
	err  error
	wait func()
}

func (m *fakeMirror) Fetch(context.Context, string) (git.Refs, error) {
	if m.wait != nil {
		m.wait()
	}
	return git.Refs{"main": git.Hash{1}}, m.err
}

func (m *fakeMirror) Push(context.Context, []git.Update) error { return m.err }

func (m *fakeMirror) Blob(context.Context, git.Hash) ([]byte, error) { return []byte("blob"), nil }

type fakeForge struct {
	forge.Forge
	err error
}

func (f *fakeForge) List(context.Context, git.Refs) ([]forge.Proposal, error) { return nil, f.err }

func (f *fakeForge) Closed(context.Context, git.Refs, layout.Tier, string) (forge.Closed, error) {
	return forge.Closed{}, f.err
}

func (f *fakeForge) Propose(context.Context, forge.Request) (forge.Proposal, error) {
	return forge.Proposal{Title: "t"}, f.err
}
func (f *fakeForge) Supersede(context.Context, forge.Proposal, string) error          { return f.err }
func (f *fakeForge) Merge(context.Context, forge.Proposal, git.Person) error          { return f.err }
func (f *fakeForge) Reject(context.Context, forge.Proposal, git.Person, string) error { return f.err }
func (f *fakeForge) Reopen(context.Context, forge.Proposal) error                     { return f.err }
func (f *fakeForge) Gate(context.Context, forge.Proposal, forge.Gate) error           { return f.err }
func (f *fakeForge) Amends() bool                                                     { return true }
func (f *fakeForge) Budget() forge.Budget                                             { return forge.Budget{} }

// leaseRefused is the error of a push whose branch is not at the expected commit.
func leaseRefused(t *testing.T) error {
	t.Helper()
	server := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "git", "init", "-q", "--bare", server).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	mirror, err := git.Open(t.Context(), t.TempDir(), git.Remote{URL: server})
	if err != nil {
		t.Fatal(err)
	}
	defer mirror.Close()
	tree, err := mirror.WriteTree(map[string][]byte{"a": []byte("a")})
	if err != nil {
		t.Fatal(err)
	}
	commit, err := mirror.CommitTree(tree.Hash, nil, git.CommitMeta{Author: git.Person{Name: "a", Email: "a@example.com", When: began}, Message: "a\n"})
	if err != nil {
		t.Fatal(err)
	}
	update := git.Update{Ref: "main", New: commit, Objects: append(tree.Objects, commit)}
	if err := mirror.Push(t.Context(), []git.Update{update}); err != nil {
		t.Fatal(err)
	}
	next, err := mirror.CommitTree(tree.Hash, nil, git.CommitMeta{Author: git.Person{Name: "a", Email: "a@example.com", When: began}, Message: "b\n"})
	if err != nil {
		t.Fatal(err)
	}
	update = git.Update{Ref: "main", New: next, Objects: append(tree.Objects, next)}
	return mirror.Push(t.Context(), []git.Update{update})
}

func TestOutcomes(t *testing.T) {
	failed := func(kind forge.Kind, wait time.Duration) error {
		return fmt.Errorf("GitOpsRepo %q: %w", "fleet", &forge.Error{Kind: kind, Wait: wait})
	}
	tests := map[string]error{
		"ok":           nil,
		"rate_limited": failed(forge.FailedNetwork, time.Second),
		"auth":         failed(forge.FailedAuth, 0),
		"not_found":    failed(forge.FailedNotFound, 0),
		"network":      failed(forge.FailedTrust, 0),
		"refused":      &git.PushError{Refs: map[string]string{"main": "protected"}},
		"lease":        leaseRefused(t),
		"other":        errors.New("it went wrong"),
	}
	if len(tests) != len(outcomes) {
		t.Errorf("%d outcomes, but %d are tested", len(outcomes), len(tests))
	}
	for want, err := range tests {
		if got := outcomeOf(err); got != want {
			t.Errorf("%v: got %s, want %s", err, got, want)
		}
	}
	for _, err := range []error{forge.ErrConflict, forge.ErrGone, forge.ErrRejected, forge.ErrForeign} {
		if got := outcomeOf(fmt.Errorf("it is so: %w", err)); got != "refused" {
			t.Errorf("%v: got %s", err, got)
		}
	}
}

func TestCalls(t *testing.T) {
	w := newWorld(t)
	m, f := &fakeMirror{wait: func() { w.clock.Step(3 * time.Second) }}, &fakeForge{}
	r := w.Repo("prod", "fleet", engine.Repo{Mirror: m, Forge: f})
	call := func() {
		refs, err := r.Mirror.Fetch(t.Context(), "main")
		if !errors.Is(err, m.err) || len(refs) != 1 {
			t.Errorf("got %v, %v", refs, err)
		}
		_ = r.Mirror.Push(t.Context(), nil)
	}
	call()
	m.err = &forge.Error{Kind: forge.FailedAuth}
	call()
	m.err = context.Canceled
	call()
	if data, err := r.Mirror.Blob(t.Context(), git.Hash{}); string(data) != "blob" || err != nil {
		t.Errorf("methods without a counter do not call the mirror: %s, %v", data, err)
	}
	w.want(map[string]float64{
		"git_calls_total fetch ok fleet": 1, "git_calls_total fetch auth fleet": 1, "git_calls_total push ok fleet": 1, "git_calls_total push auth fleet": 1,
		"git_call_duration_seconds fetch fleet count": 2, "git_call_duration_seconds fetch fleet sum": 6,
		"git_call_duration_seconds push fleet count": 2, "git_call_duration_seconds push fleet sum": 0,
	}, "furrow_git")

	ctx, p := t.Context(), forge.Proposal{}
	_, _ = r.Forge.List(ctx, nil)
	_, _ = r.Forge.Closed(ctx, nil, layout.Tier{}, "")
	f.err = errors.New("it went wrong")
	if got, err := r.Forge.Propose(ctx, forge.Request{}); got.Title != "t" || !errors.Is(err, f.err) {
		t.Errorf("got %+v, %v", got, err)
	}
	_ = r.Forge.Supersede(ctx, p, "")
	_ = r.Forge.Merge(ctx, p, git.Person{})
	_ = r.Forge.Reject(ctx, p, git.Person{}, "")
	_ = r.Forge.Reopen(ctx, p)
	_ = r.Forge.Gate(ctx, p, forge.Gate{})
	want := map[string]float64{"forge_calls_total list ok fleet": 1, "forge_calls_total closed ok fleet": 1}
	for _, operation := range []string{"propose", "supersede", "merge", "reject", "reopen", "gate"} {
		want["forge_calls_total "+operation+" other fleet"] = 1
	}
	w.want(want, "furrow_forge_calls")
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// answer makes the forge of prod/fleet answer a request.
func (w *world) answer(header http.Header, status int) error {
	next := roundTripper(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: status, Header: header, Body: http.NoBody}, nil
	})
	return request(w.Transport("prod", "fleet", next))
}

func request(through http.RoundTripper) error {
	response, err := through.RoundTrip(httptest.NewRequest(http.MethodGet, "https://forge.example", http.NoBody))
	if err != nil {
		return err
	}
	return response.Body.Close()
}

func TestForgeRequests(t *testing.T) {
	w := newWorld(t)
	for _, status := range []int{200, 204, 404, 503} {
		if err := w.answer(http.Header{}, status); err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range []error{errors.New("no route"), context.Canceled} {
		failing := w.Transport("prod", "fleet", roundTripper(func(*http.Request) (*http.Response, error) { return nil, err }))
		if got := request(failing); !errors.Is(got, err) {
			t.Errorf("got %v", got)
		}
	}
	w.want(map[string]float64{
		"forge_http_requests_total fleet 2xx": 2, "forge_http_requests_total fleet 4xx": 1, "forge_http_requests_total fleet 5xx": 1, "forge_http_requests_total fleet none": 1,
	}, "furrow_forge_http", "furrow_rate")
}

func TestRateLimits(t *testing.T) {
	header := func(pairs ...string) http.Header {
		h := http.Header{}
		for i := 0; i < len(pairs); i += 2 {
			h.Set(pairs[i], pairs[i+1])
		}
		return h
	}
	inAMinute := strconv.FormatInt(began.Add(time.Minute).Unix(), 10)
	tests := map[string]struct {
		said []http.Header
		step time.Duration
		want map[string]float64
	}{
		"a server without rate limits": {said: []http.Header{{}}, want: map[string]float64{}},
		"GitHub": {
			said: []http.Header{header("X-RateLimit-Limit", "5000", "X-RateLimit-Remaining", "4999", "X-RateLimit-Reset", inAMinute)},
			step: 10 * time.Second,
			want: map[string]float64{"rate_limit_limit fleet": 5000, "rate_limit_remaining fleet": 4999, "rate_limit_reset_seconds fleet": 50},
		},
		"GitHub, other resources are ignored": {
			said: []http.Header{
				header("X-RateLimit-Limit", "5000", "X-RateLimit-Remaining", "4999", "X-RateLimit-Resource", "core"),
				header("X-RateLimit-Limit", "30", "X-RateLimit-Remaining", "1", "X-RateLimit-Resource", "search"),
			},
			want: map[string]float64{"rate_limit_limit fleet": 5000, "rate_limit_remaining fleet": 4999},
		},
		"the IETF's draft": {
			said: []http.Header{header("RateLimit-Limit", "100, 100;w=60", "RateLimit-Remaining", "0", "RateLimit-Reset", "30")},
			want: map[string]float64{"rate_limit_limit fleet": 100, "rate_limit_remaining fleet": 0, "rate_limit_reset_seconds fleet": 30},
		},
		"the last response wins": {
			said: []http.Header{header("RateLimit-Remaining", "9", "RateLimit-Limit", "10"), header("RateLimit-Remaining", "8")},
			want: map[string]float64{"rate_limit_remaining fleet": 8},
		},
		"a response without rate limits changes nothing": {
			said: []http.Header{header("RateLimit-Remaining", "9"), {}},
			want: map[string]float64{"rate_limit_remaining fleet": 9},
		},
		"unknown after the reset": {
			said: []http.Header{header("RateLimit-Remaining", "0", "RateLimit-Reset", "30")},
			step: 30 * time.Second,
			want: map[string]float64{},
		},
		"Retry-After in seconds": {
			said: []http.Header{header("Retry-After", "120")},
			step: time.Minute,
			want: map[string]float64{"rate_limit_reset_seconds fleet": 60},
		},
		"Retry-After as a date": {
			said: []http.Header{header("Retry-After", began.Add(time.Minute).Format(http.TimeFormat))},
			want: map[string]float64{"rate_limit_reset_seconds fleet": 60},
		},
		"the later of reset and Retry-After": {
			said: []http.Header{header("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", inAMinute, "Retry-After", "90")},
			want: map[string]float64{"rate_limit_remaining fleet": 0, "rate_limit_reset_seconds fleet": 90},
		},
		"invalid numbers": {
			said: []http.Header{header("X-RateLimit-Remaining", "many", "X-RateLimit-Limit", "-1", "Retry-After", "soon")},
			want: map[string]float64{},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for _, said := range tc.said {
				if err := w.answer(said, http.StatusOK); err != nil {
					t.Fatal(err)
				}
			}
			w.clock.Step(tc.step)
			w.want(tc.want, "furrow_rate")
		})
	}
}

// TestRepositoriesAreForgotten uses a repository that two control planes of a namespace name.
func TestRepositoriesAreForgotten(t *testing.T) {
	w := newWorld(t)
	use := func(name string) {
		r := w.Repo("prod", name, engine.Repo{Mirror: &fakeMirror{}, Forge: &fakeForge{}})
		_, _ = r.Mirror.Fetch(t.Context(), "main")
		_, _ = r.Forge.List(t.Context(), nil)
	}
	use("fleet")
	use("unread")
	if err := w.answer(http.Header{"Ratelimit-Remaining": {"1"}}, http.StatusOK); err != nil {
		t.Fatal(err)
	}
	w.Pass(shop, reportOf([]string{"fleet"}), nil, 0)
	w.Pass(other, reportOf([]string{"fleet"}), nil, 0)
	w.Pass(fleet.ControlPlane{Namespace: "test"}, reportOf([]string{"fleet"}), nil, 0)
	prefixes := []string{"furrow_git_calls", "furrow_forge_calls", "furrow_forge_http", "furrow_rate"}
	both := map[string]float64{
		"git_calls_total fetch ok fleet": 1, "forge_calls_total list ok fleet": 1, "forge_http_requests_total fleet 2xx": 1, "rate_limit_remaining fleet": 1,
		"git_calls_total fetch ok unread": 1, "forge_calls_total list ok unread": 1,
	}
	w.Pass(shop, reportOf(nil), nil, 0)
	w.want(both, prefixes...)
	w.Pass(other, reportOf(nil), nil, 0)
	w.want(map[string]float64{"git_calls_total fetch ok unread": 1, "forge_calls_total list ok unread": 1}, prefixes...)
	w.Forget(other)
	w.Forget(shop)
	w.want(map[string]float64{}, prefixes...)
}

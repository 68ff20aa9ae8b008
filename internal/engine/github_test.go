package engine_test

import (
	"context"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/backoff"
	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/forge/github"
	"github.com/furrow-dev/furrow/internal/forge/pull"
	"github.com/furrow-dev/furrow/internal/forge/rest"
	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/internal/state"
	servers "github.com/furrow-dev/furrow/test/servers/github"
)

// ahead is a clock that a test sets forward together with the server's.
type ahead struct {
	backoff.RealClock
	by *atomic.Int64
}

func (a ahead) Now() time.Time { return a.RealClock.Now().Add(time.Duration(a.by.Load())) }

// NewTimer is for turns, which are not waited for.
func (a ahead) NewTimer(time.Duration) backoff.Timer { return a.RealClock.NewTimer(0) }

// counting counts the requests that were sent in vain.
type counting struct{ refused *atomic.Int64 }

func (c counting) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && (response.StatusCode == http.StatusForbidden || response.StatusCode == http.StatusTooManyRequests) {
		c.refused.Add(1)
	}
	return response, err
}

// TestManySeedsAreProposedWithASmallBudget runs an engine with twelve requests an hour: all pull
// requests are opened over the hours, and no request is sent in vain.
func TestManySeedsAreProposedWithASmallBudget(t *testing.T) {
	t.Parallel()
	const seeds = 10
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	s := servers.Start(t)
	s.AddOrganization("acme")
	s.AddUser("bot")
	s.AddRepo("acme/fleet", servers.RepoOptions{Private: true, Files: map[string]string{"clusters/edge/README.md": "root\n"}, Roles: map[string]string{"bot": "push"}})
	url, token := s.GitURL("acme/fleet"), s.Token("bot", "repo")
	clock, refused := ahead{by: &atomic.Int64{}}, &atomic.Int64{}
	files := manySeeds(seeds)
	files["repo.yaml"], files["edge.yaml"] = document("GitOpsRepo", "fleet", "spec: {url: '"+url+"', forge: GitHub}"), document("Cluster", "edge", "spec: {}")
	tree := fstest.MapFS{}
	for name, text := range files {
		tree[name] = &fstest.MapFile{Data: []byte(text)}
	}
	e := engine.New(engine.Config{
		Owner: "acme/test", Person: git.Person{Name: "Furrow", Email: "furrow@example.com"}, Now: clock.Now, Interval: time.Minute, Slice: time.Minute, ForgeCalls: 4,
		ControlPlane: func(context.Context) (engine.Tree, error) { return engine.Tree{FS: tree, Revision: "main@sha1:1"}, nil },
		Open: func(ctx context.Context, _ string, spec v1alpha1.GitOpsRepoSpec) (engine.Repo, error) {
			source, err := rest.NewSource(rest.Login{Token: token}, rest.Bearer, url)
			must(err)
			m, err := git.Open(ctx, filepath.Join(t.TempDir(), "mirror"), git.Remote{URL: url, Token: token})
			must(err)
			t.Cleanup(func() { _ = m.Close() })
			server, err := github.New("main", rest.Access{URL: url, Source: source, Transport: counting{refused}, Clock: clock})
			must(err)
			return engine.Repo{Mirror: m, Forge: pull.New(server, m, pull.Options{Base: "main", Clock: clock})}, nil
		},
	})
	s.LimitRate(12)
	var report *engine.Report
	for hour, before := 0, 0; ; hour++ {
		for n := 0; n == 0 || report.Changed; n++ {
			var err error
			report, err = e.Pass(t.Context())
			must(err)
			if n > 20 {
				t.Fatalf("passes follow each other without an end: %+v", report.Seeds)
			}
		}
		opened := report.Repos["fleet"].Proposals
		waiting := 0
		for _, one := range report.Seeds {
			if one.Tiers[0].Reason == v1alpha1.ReasonRateLimited {
				waiting++
			}
			if one.State == state.Stalled {
				t.Errorf("%s is stalled: %s", one.Name, one.Message)
			}
		}
		if refused.Load() > 0 || len(report.Problems) > 0 || waiting != seeds-opened {
			t.Fatalf("%d requests were sent in vain, %d pull requests are open, %d wait: %v", refused.Load(), opened, waiting, report.Problems)
		}
		if opened == seeds {
			t.Logf("opened within %d hours", hour+1)
			break
		}
		limit := report.Repos["fleet"].Limit
		if limit == nil || !limit.Until.Equal(report.Until) || report.Until.Sub(clock.Now()) > time.Hour || opened <= before {
			t.Fatalf("%d pull requests are open after %d, and the others wait: %+v, until %s", opened, before, limit, report.Until)
		}
		before = opened
		s.Advance(time.Hour)
		clock.by.Add(int64(time.Hour))
	}
}

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

// TestManySeedsAreProposedWithinTheLimitsOfGitHub runs an engine against limits that allow a few pull
// requests at a time: all are opened in the end.
func TestManySeedsAreProposedWithinTheLimitsOfGitHub(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		limit func(*servers.Server)
		// window is after what time there are more, and inVain how many requests may be refused in
		// one: no budget says how much content may be created, and four are opened at once.
		window time.Duration
		inVain int64
	}{
		"requests in an hour":  {func(s *servers.Server) { s.LimitRate(12) }, time.Hour, 0},
		"contents in a minute": {func(s *servers.Server) { s.LimitContent(4) }, time.Minute, 4},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, pass, refused, skip := manySeedsOnGitHub(t)
			tc.limit(s)
			for window, before := int64(1), 0; ; window++ {
				report := pass()
				for n := 0; report.Changed; n++ {
					if report = pass(); n > 20 {
						t.Fatalf("passes follow each other without an end: %+v", report.Seeds)
					}
				}
				opened, waiting := report.Repos["fleet"].Proposals, 0
				for _, one := range report.Seeds {
					if one.Tiers[0].Reason == v1alpha1.ReasonRateLimited {
						waiting++
					}
					if one.State == state.Stalled {
						t.Errorf("%s is stalled: %s", one.Name, one.Message)
					}
				}
				if refused.Load() > tc.inVain*window || len(report.Problems) > 0 || waiting != len(report.Seeds)-opened {
					t.Fatalf("%d requests were sent in vain in %d windows, %d pull requests are open, %d wait: %v", refused.Load(), window, opened, waiting, report.Problems)
				}
				if waiting == 0 {
					t.Logf("opened in %d windows, with %d requests in vain", window, refused.Load())
					return
				}
				limit := report.Repos["fleet"].Limit
				if limit == nil || !limit.Until.Equal(report.Until) || report.Until.Sub(report.Now) > tc.window+time.Second || opened <= before {
					t.Fatalf("%d pull requests are open after %d, and the others wait: %+v, until %s", opened, before, limit, report.Until)
				}
				before = opened
				skip(tc.window)
			}
		})
	}
}

// manySeedsOnGitHub has an engine with ten seeds for a repository on a strict server. refused counts
// the requests that were sent in vain, and skip sets all clocks forward.
func manySeedsOnGitHub(t *testing.T) (s *servers.Server, pass func() *engine.Report, refused *atomic.Int64, skip func(time.Duration)) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	s = servers.Start(t)
	s.AddOrganization("acme")
	s.AddUser("bot")
	s.AddRepo("acme/fleet", servers.RepoOptions{Private: true, Files: map[string]string{"clusters/edge/README.md": "root\n"}, Roles: map[string]string{"bot": "push"}})
	url, token := s.GitURL("acme/fleet"), s.Token("bot", "repo")
	clock, files := ahead{by: &atomic.Int64{}}, manySeeds(10)
	refused = &atomic.Int64{}
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
	pass = func() *engine.Report {
		t.Helper()
		report, err := e.Pass(t.Context())
		must(err)
		return report
	}
	return s, pass, refused, func(d time.Duration) {
		s.Advance(d)
		clock.by.Add(int64(d))
	}
}

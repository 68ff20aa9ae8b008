package gitea_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/backoff"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/gitea"
	"github.com/furrow-dev/furrow/internal/forge/pull"
	"github.com/furrow-dev/furrow/internal/forge/rest"
	"github.com/furrow-dev/furrow/internal/git"
)

// wire is a server without a network, so time can be skipped.
type wire struct {
	// made are the requests, as "METHOD path".
	made   []string
	answer func(*http.Request) (status int, body string, err error)
	// stalls reports whether answers never come to their end.
	stalls bool
}

type stalled struct{ ctx context.Context }

func (s stalled) Read([]byte) (int, error) {
	<-s.ctx.Done()
	return 0, s.ctx.Err()
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	w.made = append(w.made, r.Method+" "+strings.TrimPrefix(r.URL.Path, "/api/v1/repos/acme/fleet"))
	status, body, err := w.answer(r)
	if err != nil {
		return nil, err
	}
	content := io.Reader(strings.NewReader(body))
	if w.stalls {
		content = io.MultiReader(content, stalled{r.Context()})
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Request: r, Body: io.NopCloser(content)}, nil
}

func (w *wire) take() []string {
	made := w.made
	w.made = nil
	return made
}

// hang is a server that does not answer.
func hang(r *http.Request) (int, string, error) {
	<-r.Context().Done()
	return 0, "", r.Context().Err()
}

// onWire runs a case at a server that answers so, with a request to propose.
func onWire(t *testing.T, run func(*testing.T, *wire, forge.Forge, forge.Request)) {
	t.Helper()
	t.Parallel()
	m := newMirror(t)
	refs, err := m.Fetch(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	r := forge.Request{Branch: branch, Carried: forge.Alone(edge, "w1"), Title: "Plant it", Head: refs["main"]}
	synctest.Test(t, func(t *testing.T) {
		w := &wire{}
		server, err := gitea.New("main", rest.Access{URL: "https://git.example.com/acme/fleet", Source: tokenOf(secret), Transport: w})
		if err != nil {
			t.Fatal(err)
		}
		run(t, w, pull.New(server, m, pull.Options{Base: "main"}), r)
	})
}

// skip lets time pass.
func skip(t *testing.T, d time.Duration) {
	t.Helper()
	if err := backoff.Sleep(t.Context(), backoff.RealClock{}, d); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
}

// usual answers what a proposal takes.
func usual(r forge.Request, on *http.Request) (int, string, error) {
	switch {
	case strings.HasSuffix(on.URL.Path, "/labels"):
		return http.StatusOK, `[{"id":1,"name":"furrow"}]`, nil
	case on.Method == http.MethodPost && strings.HasSuffix(on.URL.Path, "/pulls"):
		opened := pullOf(1, r.Head.String())
		if said, _ := io.ReadAll(on.Body); strings.Contains(string(said), `"labels":[1]`) {
			opened = strings.Replace(opened, `"state":"open"`, `"state":"open","labels":[{"id":1,"name":"furrow"}]`, 1)
		}
		return http.StatusCreated, opened, nil
	case strings.Contains(on.URL.Path, "/pulls"):
		return http.StatusOK, "[]", nil
	}
	return http.StatusOK, "{}", nil
}

func TestAServerThatHangsIsWaitedForOnce(t *testing.T) {
	onWire(t, func(t *testing.T, w *wire, f forge.Forge, r forge.Request) {
		w.answer = hang
		list := func() error { _, err := f.List(t.Context(), git.Refs{"main": r.Head}); return err }
		began := time.Now()
		first := list()
		if took := time.Since(began); !forge.IsFailure(first, forge.FailedNetwork) || took != 15*time.Second {
			t.Fatalf("after %s: %v", took, first)
		}
		for range 50 {
			if err := list(); err == nil || err.Error() != first.Error() {
				t.Fatalf("got %v, want %v", err, first)
			}
			_, err := f.Propose(t.Context(), r)
			if !forge.IsFailure(err, forge.FailedNetwork) || !strings.Contains(err.Error(), "open a pull request of "+branch) {
				t.Fatalf("got %v", err)
			}
		}
		if took := time.Since(began); took != 15*time.Second || len(w.made) != 1 {
			t.Errorf("it took %s and %q", took, w.made)
		}
		skip(t, 5*time.Second)
		w.answer = func(on *http.Request) (int, string, error) { return usual(r, on) }
		if err := list(); err != nil {
			t.Error(err)
		}
		w.take()
		if _, err := f.Propose(t.Context(), r); err != nil {
			t.Error(err)
		}
		if made := w.take(); len(made) == 0 || made[0] != "GET /labels" {
			t.Errorf("the label was given up without having been asked for: %q", made)
		}
	})
}

func TestAnAnswerThatHangsIsGivenUp(t *testing.T) {
	onWire(t, func(t *testing.T, w *wire, f forge.Forge, r forge.Request) {
		w.stalls = true
		w.answer = func(*http.Request) (int, string, error) { return http.StatusOK, "[", nil }
		began := time.Now()
		for range 2 {
			if _, err := f.List(t.Context(), git.Refs{"main": r.Head}); !forge.IsFailure(err, forge.FailedNetwork) {
				t.Errorf("got %v", err)
			}
		}
		if took := time.Since(began); took != 15*time.Second || len(w.made) != 1 {
			t.Errorf("it took %s and %q", took, w.made)
		}
	})
}

func TestLostAnswers(t *testing.T) {
	const lost, answered, fails = "lost", "answered", "fails"
	cases := map[string]struct {
		answers []string
		// want is how many of them are asked for before the next question fails at once.
		want int
	}{
		"one":                        {[]string{lost, answered}, 2},
		"two in a row":               {[]string{lost, lost, answered}, 2},
		"two with an answer between": {[]string{lost, answered, lost, answered}, 4},
		"two with a failure between": {[]string{lost, fails, lost, fails}, 4},
		"failures are answers":       {[]string{fails, fails, fails, answered}, 4},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			onWire(t, func(t *testing.T, w *wire, f forge.Forge, r forge.Request) {
				w.answer = func(*http.Request) (int, string, error) {
					switch tc.answers[len(w.made)-1] {
					case lost:
						return 0, "", errors.New("connection reset by peer")
					case fails:
						return http.StatusBadGateway, "", nil
					}
					return http.StatusOK, "[]", nil
				}
				for range tc.answers {
					_, _ = f.List(t.Context(), git.Refs{"main": r.Head})
				}
				if len(w.made) != tc.want {
					t.Errorf("%d were asked for, want %d", len(w.made), tc.want)
				}
			})
		})
	}
}

func TestWhatTheCallerBreaksOffSaysNothingOfTheServer(t *testing.T) {
	onWire(t, func(t *testing.T, w *wire, f forge.Forge, r forge.Request) {
		w.answer = hang
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_, err := f.List(ctx, git.Refs{"main": r.Head})
			cancel()
			if err == nil || len(w.take()) != 1 {
				t.Errorf("got %v", err)
			}
		}
	})
}

func TestALabelThatHangsIsNotAskedForAgain(t *testing.T) {
	onWire(t, func(t *testing.T, w *wire, f forge.Forge, r forge.Request) {
		broken := true
		w.answer = func(on *http.Request) (int, string, error) {
			if broken && strings.HasSuffix(on.URL.Path, "/labels") {
				return hang(on)
			}
			return usual(r, on)
		}
		if _, err := f.Propose(t.Context(), r); err == nil {
			t.Error("the server was asked although it does not answer")
		}
		skip(t, 5*time.Second)
		propose := func(want ...string) {
			t.Helper()
			r.Branch += "-other" // each is opened anew
			w.take()
			if _, err := f.Propose(t.Context(), r); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(want, opened(w.take())); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
		propose("POST /pulls")
		propose("POST /pulls")
		broken = false
		skip(t, 10*time.Minute)
		propose("GET /labels", "POST /pulls")
		propose("POST /pulls")
	})
}

// opened is what was asked to open a proposal, without its gate.
func opened(made []string) []string {
	var out []string
	for _, m := range made {
		if !strings.Contains(m, "/statuses/") && !strings.Contains(m, "/branches/") {
			out = append(out, m)
		}
	}
	return out
}

func TestOpeningWaitsOnlyForARepositoryThatCountsAsEmpty(t *testing.T) {
	cases := map[string]struct {
		// empty is how often the repository counts as empty; found how often opening is
		// answered by 404.
		empty, found int
		opens        bool
		want         []string
		took         time.Duration
	}{
		"a repository that has more":            {0, 99, false, []string{"POST /pulls", "GET ", "POST /pulls"}, 0},
		"an empty one":                          {2, 2, true, []string{"POST /pulls", "GET ", "POST /pulls", "GET ", "POST /pulls"}, 300 * time.Millisecond},
		"one noticed between the two questions": {0, 1, true, []string{"POST /pulls", "GET ", "POST /pulls"}, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			onWire(t, func(t *testing.T, w *wire, f forge.Forge, r forge.Request) {
				empty, missing := tc.empty, tc.found
				w.answer = func(on *http.Request) (int, string, error) {
					switch {
					case on.Method == http.MethodPost && strings.HasSuffix(on.URL.Path, "/pulls") && missing > 0:
						missing--
						return http.StatusNotFound, "", nil
					case strings.HasSuffix(on.URL.Path, "/fleet") && empty > 0:
						empty--
						return http.StatusOK, `{"empty":true}`, nil
					}
					return usual(r, on)
				}
				began := time.Now()
				_, err := f.Propose(t.Context(), r)
				if tc.opens != (err == nil) || !tc.opens && !forge.IsFailure(err, forge.FailedNotFound) {
					t.Errorf("got %v", err)
				}
				if diff := cmp.Diff(append([]string{"GET /labels"}, tc.want...), opened(w.take())); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if took := time.Since(began); took != tc.took {
					t.Errorf("it took %s, want %s", took, tc.took)
				}
			})
		})
	}
}

func TestALabelThatTheServerAsksToWaitForIsWaitedFor(t *testing.T) {
	onWire(t, func(t *testing.T, w *wire, f forge.Forge, r forge.Request) {
		busy := true
		w.answer = func(on *http.Request) (int, string, error) {
			if busy && strings.HasSuffix(on.URL.Path, "/labels") {
				return http.StatusTooManyRequests, "", nil
			}
			return usual(r, on)
		}
		if _, err := f.Propose(t.Context(), r); !forge.IsFailure(err, forge.FailedNetwork) || !strings.Contains(err.Error(), "asks to wait") {
			t.Errorf("got %v", err)
		}
		busy = false
		if _, err := f.Propose(t.Context(), r); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]string{"GET /labels", "GET /labels", "POST /pulls"}, opened(w.take())); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

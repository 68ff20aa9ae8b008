package flux

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/furrow-dev/furrow/internal/core/health"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/probe"
)

// eventually waits until something holds, and returns how long that took.
func eventually(t *testing.T, limit time.Duration, what string, holds func() bool) time.Duration {
	t.Helper()
	began := time.Now()
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, limit, true, func(context.Context) (bool, error) { return holds(), nil })
	if err != nil {
		t.Fatalf("after %s it is not so that %s", limit, what)
	}
	return time.Since(began)
}

// drain takes a signal that is there.
func drain(ch *Channel) {
	select {
	case <-ch.Changed():
	default:
	}
}

func signalled(ch *Channel) bool {
	select {
	case <-ch.Changed():
		return true
	default:
		return false
	}
}

func reconciler(t *testing.T, ch *Channel, key probe.ReconcilerKey) health.Reconciler {
	t.Helper()
	answers, err := ch.Reconcilers(t.Context(), []probe.ReconcilerKey{key})
	if err != nil {
		t.Fatal(err)
	}
	return answers[key]
}

func creator(t *testing.T, ch *Channel, key probe.CreatorKey) health.Creator {
	t.Helper()
	answers, err := ch.Creators(t.Context(), []probe.CreatorKey{key})
	if err != nil {
		t.Fatal(err)
	}
	return answers[key]
}

func root(t *testing.T, ch *Channel, key probe.RootKey) health.Root {
	t.Helper()
	answers, err := ch.Roots(t.Context(), []probe.RootKey{key})
	if err != nil {
		t.Fatal(err)
	}
	return answers[key]
}

// kustomization is a tier's, in the state of its condition Ready.
func kustomization(status, reason, revision, since string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"namespace": "n", "name": "k", "generation": int64(2)},
		"status": map[string]any{
			"observedGeneration": int64(2), "lastAppliedRevision": revision, "lastAttemptedRevision": revision,
			"conditions": []any{map[string]any{
				"type": "Ready", "status": status, "reason": reason, "observedGeneration": int64(2), "lastTransitionTime": since,
			}},
		},
	}}
}

// TestConclusionsLast plays what Flux does at every interval.
func TestConclusionsLast(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Now())
	ch := New(Options{Clock: clock})
	defer ch.Close()
	c := newCluster(ch, "edge")
	s := newSession(t.Context(), c, nil)
	table := &s.reconcilers
	fd := &feed{first: newLatch()}
	table.of(fd)
	n := name{"n", "k"}
	c.reconcilers[n] = clock.Now()
	if err := table.Replace([]any{kustomization("True", "ReconciliationSucceeded", "r1", "10:00")}, ""); err != nil {
		t.Fatal(err)
	}
	steps := []struct {
		what       string
		object     *unstructured.Unstructured
		step       time.Duration
		wantReady  string
		wantSignal bool
	}{
		{what: "the first list counts", wantReady: "True", wantSignal: true},
		{what: "another observation changes nothing", object: kustomization("Unknown", "Progressing", "r1", "10:10"), wantReady: "True"},
		{what: "concluding the same neither", object: kustomization("True", "ReconciliationSucceeded", "r1", "10:11"), wantReady: "True"},
		{what: "nor does a further one", object: kustomization("Unknown", "Progressing", "r1", "10:20"), wantReady: "True"},
		{what: "for a while", step: conclusionTTL - time.Second, wantReady: "True"},
		{what: "but not for long", step: time.Second, wantReady: "Unknown", wantSignal: true},
		{what: "a conclusion then is new", object: kustomization("False", "HealthCheckFailed", "r1", "10:21"), wantReady: "False", wantSignal: true},
		{what: "a failure is kept too", object: kustomization("Unknown", "Progressing", "r1", "10:22"), wantReady: "False"},
		{what: "until it is another", object: kustomization("True", "ReconciliationSucceeded", "r1", "10:23"), wantReady: "True", wantSignal: true},
		{what: "a new revision is news at once", object: kustomization("Unknown", "Progressing", "r2", "10:30"), wantReady: "Unknown", wantSignal: true},
		{what: "and what was concluded before is forgotten after a while", step: conclusionTTL, wantReady: "Unknown", wantSignal: true},
		{what: "once", step: conclusionTTL, wantReady: "Unknown"},
	}
	for _, step := range steps {
		if step.object != nil {
			if err := table.Update(step.object); err != nil {
				t.Fatal(err)
			}
		}
		clock.Step(step.step)
		if step.step > 0 && step.wantSignal {
			eventually(t, 5*time.Second, "the timer fired", func() bool { return len(ch.changed) > 0 })
		}
		c.mu.Lock()
		got := table.rows[n].shown()
		c.mu.Unlock()
		if got.Ready != step.wantReady || signalled(ch) != step.wantSignal {
			t.Errorf("%s: got %s, signal wanted: %t", step.what, got.Ready, step.wantSignal)
		}
	}
	s.end()
}

func TestOnlyWhatWasAskedForSignals(t *testing.T) {
	ch := New(Options{})
	defer ch.Close()
	s := newSession(t.Context(), newCluster(ch, "edge"), nil)
	s.reconcilers.of(&feed{first: newLatch(), known: true})
	if err := s.reconcilers.Add(kustomization("True", "ReconciliationSucceeded", "r1", "10:00")); err != nil {
		t.Fatal(err)
	}
	if signalled(ch) {
		t.Error("a change that nobody asked about was signalled")
	}
	s.end()
}

// fakeServer answers /readyz, and everything else with what answer makes.
func fakeServer(t *testing.T, answer http.HandlerFunc) (dir string, server *httptest.Server) {
	t.Helper()
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/readyz" && answer == nil {
			_, _ = w.Write([]byte("ok"))
			return
		}
		if answer == nil {
			http.NotFound(w, r)
			return
		}
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	dir = t.TempDir()
	file := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"a","contexts":[{"name":"a","context":{"cluster":"a","user":"a"}}],
		"clusters":[{"name":"a","cluster":{"server":%q}}],"users":[{"name":"a","user":{"token":%q}}]}`, server.URL, secretToken)
	if err := os.WriteFile(filepath.Join(dir, "edge"), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, server
}

func TestACallDoesNotHang(t *testing.T) {
	release := make(chan struct{})
	dir, _ := fakeServer(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	ch := New(Options{Directory: dir})
	defer ch.Close()
	defer close(release)
	key := probe.ReconcilerKey{Cluster: "edge", Namespace: "n", Name: "k"}
	began := time.Now()
	if got := reconciler(t, ch, key); got.Known || got.Message == "" {
		t.Errorf("got %+v", got)
	}
	if took := time.Since(began); took > firstAnswerTimeout+time.Second {
		t.Errorf("it took %s", took)
	}
	began = time.Now()
	reconciler(t, ch, key)
	if took := time.Since(began); took > time.Second {
		t.Errorf("the second time it took %s", took)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ch.Reconcilers(ctx, []probe.ReconcilerKey{key}); err == nil {
		t.Error("a call that was given up has an answer")
	}
}

func TestNothingRunsAfterClose(t *testing.T) {
	dir, _ := fakeServer(t, nil)
	before := runtime.NumGoroutine()
	ch := New(Options{Directory: dir})
	reconciler(t, ch, probe.ReconcilerKey{Cluster: "edge"})
	root(t, ch, probe.RootKey{Cluster: "edge"})
	creator(t, ch, probe.CreatorKey{Cluster: "edge", Creates: "newborn", Object: manifest.ID{Group: "g", Kind: "K", Name: "n"}, KubeConfig: probe.SecretKey{Cluster: "edge", Namespace: "n", Name: "s"}})
	ch.Close()
	eventually(t, 10*time.Second, "no goroutine is left", func() bool { return runtime.NumGoroutine() <= before+2 }) // the server's own
	if _, err := ch.Reconcilers(t.Context(), []probe.ReconcilerKey{{Cluster: "edge"}}); err == nil {
		t.Error("a closed channel answers")
	}
	ch.Close()
}

func TestWhatNobodyAsksAboutIsLetGo(t *testing.T) {
	dir, _ := fakeServer(t, nil)
	clock := clocktesting.NewFakeClock(time.Now())
	ch := New(Options{Directory: dir, Clock: clock, Idle: time.Minute})
	defer ch.Close()
	left := func() int {
		clock.Step(fileInterval)
		ch.mu.Lock()
		defer ch.mu.Unlock()
		return len(ch.clusters)
	}
	reconciler(t, ch, probe.ReconcilerKey{Cluster: "edge"})
	reconciler(t, ch, probe.ReconcilerKey{Cluster: "unknown"})
	if n := left(); n != 2 {
		t.Fatalf("%d clusters", n)
	}
	eventually(t, 20*time.Second, "both are let go", func() bool { return left() == 0 })
	if got := reconciler(t, ch, probe.ReconcilerKey{Cluster: "edge"}); strings.Contains(got.Message, "connected") {
		t.Errorf("it does not come back: %s", got.Message)
	}
}

// TestWhatIsNotAnAPIServer covers answers that must not pass for "it is not there".
func TestWhatIsNotAnAPIServer(t *testing.T) {
	var code atomic.Int64
	var groups atomic.Value
	groups.Store("")
	dir, _ := fakeServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/readyz" {
			_, _ = w.Write([]byte("ok"))
			return
		}
		if g := groups.Load().(string); r.URL.Path == "/apis" && g != "" {
			_, _ = w.Write([]byte(g))
			return
		}
		w.WriteHeader(int(code.Load()))
	})
	key := probe.CreatorKey{Cluster: "edge", Creates: "newborn", Object: manifest.ID{Group: "cluster.x-k8s.io", Kind: "Cluster", Namespace: "n", Name: "c"}}
	for _, status := range []int{http.StatusNotFound, http.StatusForbidden, http.StatusServiceUnavailable, http.StatusFound} {
		code.Store(int64(status))
		ch := New(Options{Directory: dir})
		if got := creator(t, ch, key); got.Known || got.Message == "" || strings.Contains(got.Message, secretToken) {
			t.Errorf("%d: got %+v", status, got)
		}
		ch.Close()
	}
	group := func(g string) string {
		data, _ := json.Marshal(map[string]any{"kind": "APIGroupList", "groups": []any{map[string]any{
			"name": g, "versions": []any{map[string]any{"groupVersion": g + "/v1", "version": "v1"}},
		}}})
		return string(data)
	}
	for g, known := range map[string]bool{"other.example": true, "cluster.x-k8s.io": false} {
		groups.Store(group(g))
		ch := New(Options{Directory: dir})
		if got := creator(t, ch, key); got.Known != known || got.Found {
			t.Errorf("with group %s: got %+v", g, got)
		}
		ch.Close()
	}
}

// TestAFileMayNameAProgram is about what a Secret may not.
func TestAFileMayNameAProgram(t *testing.T) {
	var authorized atomic.Bool
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+secretToken {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		authorized.Store(true)
		_, _ = w.Write([]byte("ok"))
	}))
	defer server.Close()
	credential := `{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"` + secretToken + `"}}`
	user := `exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: IfAvailable, command: echo, args: ['` + credential + `']}`
	data := strings.Replace(string(kubeConfig(", insecure-skip-tls-verify: true", user)), "https://127.0.0.1:1", server.URL, 1)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "edge"), []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
	ch := New(Options{Directory: dir})
	defer ch.Close()
	reconciler(t, ch, probe.ReconcilerKey{Cluster: "edge"})
	eventually(t, 5*time.Second, "the program's token is sent", authorized.Load)
}

// TestManyCallers is for the race detector.
func TestManyCallers(t *testing.T) {
	dir, _ := fakeServer(t, nil)
	ch := New(Options{Directory: dir})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			cluster := []string{"edge", "none"}[i%2]
			for range 20 {
				_, _ = ch.Reconcilers(t.Context(), []probe.ReconcilerKey{{Cluster: cluster, Name: "k"}})
				_, _ = ch.Roots(t.Context(), []probe.RootKey{{Cluster: cluster, Path: "a"}})
				_, _ = ch.Creators(t.Context(), []probe.CreatorKey{{
					Cluster: cluster, Creates: "other", Object: manifest.ID{Group: "g", Kind: "K", Name: "n"},
					KubeConfig: probe.SecretKey{Cluster: "other", Name: "in-itself"},
				}})
				drain(ch)
			}
		})
	}
	all.Wait()
	all.Go(func() { _, _ = ch.Reconcilers(t.Context(), []probe.ReconcilerKey{{Cluster: "late"}}) })
	ch.Close()
	all.Wait()
}

package flux

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/furrow-dev/furrow/internal/probe"
)

// hang is the status code for not answering at all.
const hang = -1

// apiServer is ready, has the tier n/k, and refuses lists and watches with a code.
func apiServer(t *testing.T) (dir string, code, refused *atomic.Int64) {
	t.Helper()
	code, refused = &atomic.Int64{}, &atomic.Int64{}
	dir, _ = fakeServer(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.URL.Path == "/readyz":
			_, _ = w.Write([]byte("ok"))
		case code.Load() == hang:
			refused.Add(1)
			whileItIs(r.Context(), code, hang)
		case code.Load() != 0:
			refused.Add(1)
			w.WriteHeader(int(code.Load()))
			_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"the server is busy","reason":"TooManyRequests","code":429}`))
		case r.URL.Query().Get("watch") != "":
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			whileItIs(r.Context(), code, 0)
			_, _ = w.Write([]byte(`{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}}`))
		default:
			_, _ = w.Write([]byte(`{"kind":"KustomizationList","apiVersion":"kustomize.toolkit.fluxcd.io/v1","metadata":{"resourceVersion":"7"},"items":[
				{"apiVersion":"kustomize.toolkit.fluxcd.io/v1","kind":"Kustomization","metadata":{"namespace":"n","name":"k","generation":1},
				 "status":{"conditions":[{"type":"Ready","status":"True","reason":"ReconciliationSucceeded"}]}}]}`))
		}
	})
	return dir, code, refused
}

// whileItIs waits for the code to become another one.
func whileItIs(ctx context.Context, code *atomic.Int64, is int64) {
	for code.Load() == is && ctx.Err() == nil {
		short, done := context.WithTimeout(ctx, 10*time.Millisecond)
		<-short.Done()
		done()
	}
}

func TestWhatIsNotAnsweredForLongIsNotKnown(t *testing.T) {
	dir, code, asked := apiServer(t)
	ch := New(Options{Directory: dir})
	defer ch.Close()
	key := probe.ReconcilerKey{Cluster: "edge", Namespace: "n", Name: "k"}
	eventually(t, 15*time.Second, "it is ready", func() bool { return reconciler(t, ch, key).Ready == "True" })
	drain(ch)
	code.Store(hang) // ends the watch, and does not answer what comes next
	eventually(t, 10*time.Second, "a list is asked for", func() bool { return asked.Load() > 0 })
	if got := reconciler(t, ch, key); !got.Known {
		t.Errorf("a list that takes a moment makes it unknown: %s", got.Message)
	}
	eventually(t, 3*feedTTL, "it is unknown", func() bool {
		got := reconciler(t, ch, key)
		return !got.Known && strings.Contains(got.Message, "no answer in time")
	})
	if !signalled(ch) {
		t.Error("that is not signalled")
	}
	code.Store(0)
	eventually(t, 15*time.Second, "it is known again", func() bool { return reconciler(t, ch, key).Ready == "True" })
}

func TestWhatIsRefusedForLongIsNotKnown(t *testing.T) {
	dir, code, refused := apiServer(t)
	ch := New(Options{Directory: dir})
	defer ch.Close()
	key := probe.ReconcilerKey{Cluster: "edge", Namespace: "n", Name: "k"}

	code.Store(http.StatusTooManyRequests)
	eventually(t, 10*time.Second, "the message says why nothing could be listed", func() bool {
		got := reconciler(t, ch, key)
		return !got.Known && strings.Contains(got.Message, "list of kustomizations.kustomize.toolkit.fluxcd.io failed: the server")
	})
	code.Store(0)
	eventually(t, 15*time.Second, "it is ready", func() bool { return reconciler(t, ch, key).Ready == "True" })
	drain(ch)
	refused.Store(0)
	code.Store(http.StatusTooManyRequests)
	eventually(t, 10*time.Second, "something is refused", func() bool { return refused.Load() > 0 })
	if got := reconciler(t, ch, key); !got.Known {
		t.Errorf("one refusal makes it unknown: %s", got.Message)
	}
	took := eventually(t, 15*time.Second, "it is unknown", func() bool { return !reconciler(t, ch, key).Known })
	if !signalled(ch) {
		t.Error("that is not signalled")
	}
	message := reconciler(t, ch, key).Message
	t.Logf("unknown after %s and %d refusals: %s", took, refused.Load(), message)
	if !strings.Contains(message, "failed: the server") {
		t.Errorf("the message does not say that the API server refuses: %s", message)
	}
	code.Store(0)
	eventually(t, 15*time.Second, "it is known again", func() bool { return reconciler(t, ch, key).Ready == "True" })
}

func TestOneExpiredWatchIsNotNews(t *testing.T) {
	dir, code, _ := apiServer(t)
	ch := New(Options{Directory: dir})
	defer ch.Close()
	key := probe.ReconcilerKey{Cluster: "edge", Namespace: "n", Name: "k"}
	eventually(t, 10*time.Second, "it is ready", func() bool { return reconciler(t, ch, key).Ready == "True" })
	code.Store(http.StatusGone) // ends the watch, and refuses what comes next
	began := time.Now()
	for time.Since(began) < feedTTL/2 {
		if got := reconciler(t, ch, key); !got.Known {
			t.Fatalf("got %+v", got)
		}
		if time.Since(began) > feedTTL/4 {
			code.Store(0)
		}
		<-time.After(50 * time.Millisecond) //nolint:forbidigo // time is what this is about
	}
	began = time.Now()
	for time.Since(began) < feedTTL+time.Second {
		if got := reconciler(t, ch, key); !got.Known {
			t.Fatalf("got %+v", got)
		}
		<-time.After(50 * time.Millisecond) //nolint:forbidigo // time is what this is about
	}
}

func TestACallWhileItCloses(t *testing.T) {
	ch := New(Options{})
	c := newCluster(ch, "edge")
	c.session = newSession(ch.ctx, c, nil)
	ch.Close()
	if first := wantFeed(ours)(c)(); first != nil {
		t.Errorf("something is waited for: %v", first)
	}
}

package e2e

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// wire is the way from one story's furrow to Gitea. It counts furrow's passes: each lists the open pull requests once.
// People and Flux do not go through it.
type wire struct {
	server *httptest.Server

	mu     sync.Mutex
	passes int
	// changed is closed, and made anew, when passes grows.
	changed chan struct{}
	// fault answers a request in Gitea's place, and says that it did.
	fault func(http.ResponseWriter, *http.Request) bool
}

func newWire(t testing.TB, gitea string) *wire {
	t.Helper()
	target, err := url.Parse(gitea)
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{changed: make(chan struct{})}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, FlushInterval: -1,
		// A furrow that is stopped leaves requests behind, and a Gitea that is away is told to furrow.
		ErrorHandler: func(out http.ResponseWriter, _ *http.Request, _ error) { out.WriteHeader(http.StatusBadGateway) },
	}
	w.server = httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		w.count(r)
		w.mu.Lock()
		fault := w.fault
		w.mu.Unlock()
		if fault == nil || !fault(out, r) {
			proxy.ServeHTTP(out, r)
		}
	}))
	t.Cleanup(w.server.Close)
	return w
}

func (w *wire) count(r *http.Request) {
	query := r.URL.Query()
	listing := r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/pulls") && query.Get("state") == "open"
	if !listing || query.Get("page") != "" && query.Get("page") != "1" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.passes++
	close(w.changed)
	w.changed = make(chan struct{})
}

// seen is how many passes have begun, and a channel that is closed when one more does.
func (w *wire) seen() (int, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.passes, w.changed
}

// through is the URL of a repository of Gitea as furrow is to use it.
func (w *wire) through(gitea, repository string) string {
	return w.server.URL + strings.TrimPrefix(repository, gitea)
}

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

// wire is a proxy between one story's furrow and Gitea. It counts furrow's passes: each lists the open pull requests once.
// People and Flux do not use it.
type wire struct {
	server *httptest.Server

	mu     sync.Mutex
	passes int
	// changed is closed and replaced when passes grows.
	changed chan struct{}
	// fault may respond to a request instead of Gitea; it reports whether it did.
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
		// A stopped furrow aborts its requests, and furrow itself reports an unreachable Gitea.
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

// count notes that a pass has begun: each asks once where the branches of the GitOps repository are. At rest
// it does not list pull requests.
func (w *wire) count(r *http.Request) {
	if !strings.HasSuffix(r.URL.Path, "/gitops.git/info/refs") || r.URL.Query().Get("service") != "git-upload-pack" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.passes++
	close(w.changed)
	w.changed = make(chan struct{})
}

// seen returns the number of passes that have begun, and a channel that is closed when another begins.
func (w *wire) seen() (int, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.passes, w.changed
}

// through returns the URL by which furrow uses a repository of Gitea.
func (w *wire) through(gitea, repository string) string {
	return w.server.URL + strings.TrimPrefix(repository, gitea)
}

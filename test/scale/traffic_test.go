package scale

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/furrow-dev/furrow/test/servers"
)

// traffic counts requests by name.
type traffic struct {
	mu     sync.Mutex
	counts calls
	open   int
}

// calls has the number of requests by verb and resource.
type calls map[string]int

func newTraffic() *traffic { return &traffic{counts: calls{}} }

func (t *traffic) count(what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts[what]++
}

// soFar returns a copy of the counts.
func (t *traffic) soFar() calls {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.counts)
}

// since returns the calls since earlier counts.
func (c calls) since(before calls) calls {
	out := calls{}
	for what, n := range c {
		if d := n - before[what]; d > 0 {
			out[what] = d
		}
	}
	return out
}

// of returns the sum of the calls whose names begin with one of the words.
func (c calls) of(beginnings ...string) int {
	sum := 0
	for what, n := range c {
		if slices.ContainsFunc(beginnings, func(b string) bool { return strings.HasPrefix(what, b) }) {
			sum += n
		}
	}
	return sum
}

func (c calls) all() int { return c.of("") }

// writes returns the number of calls that change something, without events.
func (c calls) writes() int {
	return c.of("create ", "patch ", "update ", "delete ") - c.events()
}

func (c calls) events() int { return c.of("create events", "patch events", "update events") }

func (c calls) String() string {
	var out []string
	for _, what := range slices.Sorted(maps.Keys(c)) {
		out = append(out, fmt.Sprintf("%s: %d", what, c[what]))
	}
	return strings.Join(out, ", ")
}

// transport counts the requests to an API server.
func (t *traffic) transport(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		what := callOf(r)
		t.count(what)
		if strings.HasPrefix(what, "watch ") {
			return next.RoundTrip(r)
		}
		t.begin(1)
		defer t.begin(-1)
		return next.RoundTrip(r)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (t *traffic) begin(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open += n
}

// rest waits until twenty checks in a row found no new request: events are written in
// the background.
func (t *traffic) rest(ctx context.Context) error {
	const samples = 20
	last, same := -1, 0
	return servers.Until(ctx, "nothing more is asked of the API server", func(context.Context) error {
		t.mu.Lock()
		defer t.mu.Unlock()
		if n := t.counts.all(); t.open > 0 || n != last {
			last, same = n, 0
		}
		if same++; same < samples {
			return fmt.Errorf("%d requests, %d of them open", last, t.open)
		}
		return nil
	})
}

var verbs = map[string]string{
	http.MethodPost: "create", http.MethodPatch: "patch", http.MethodPut: "update", http.MethodDelete: "delete",
}

// discovery is a request for the kinds that the API server has.
const discovery = "discover"

// callOf names a request by verb and resource, as "patch plantings/status".
func callOf(r *http.Request) string {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if len(parts) > 2 && parts[0] == "apis" {
		parts = parts[3:]
	} else {
		parts = parts[min(2, len(parts)):]
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		parts = parts[2:]
	}
	if len(parts) == 0 {
		return discovery
	}
	verb, resource := verbs[r.Method], parts[0]
	if len(parts) > 2 {
		resource += "/" + parts[2]
	}
	switch {
	case verb != "":
	case r.URL.Query().Get("watch") != "":
		verb = "watch"
	case len(parts) > 1:
		verb = "get"
	default:
		verb = "list"
	}
	return verb + " " + resource
}

// gitCall names a request to a Git server.
func gitCall(r *http.Request) string {
	_, repo, _ := strings.Cut(r.URL.Path, "/")
	repo, what, _ := strings.Cut(repo, "/")
	if service := r.URL.Query().Get("service"); service != "" {
		what += " for " + service
	}
	return strings.TrimSuffix(repo, ".git") + ": " + what
}

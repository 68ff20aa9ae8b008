package git

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestAServerThatDoesNotAnswerHoldsNobody(t *testing.T) {
	t.Parallel()
	const limit = 500 * time.Millisecond
	slow, done := context.WithTimeout(t.Context(), 2*limit)
	defer done()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/fast" {
			_, _ = io.Copy(io.Discard, r.Body)
			<-slow.Done()
		}
		_, _ = io.WriteString(w, "an answer")
	}))
	defer server.Close()
	for _, tc := range []struct {
		method, path string
		answers      bool
	}{{http.MethodGet, "/fast", true}, {http.MethodGet, "/slow", false}, {http.MethodPost, "/slow", true}} {
		request, err := http.NewRequestWithContext(t.Context(), tc.method, server.URL+tc.path, strings.NewReader(""))
		if err != nil {
			t.Fatal(err)
		}
		var body []byte
		response, err := impatient{http.DefaultTransport, limit}.RoundTrip(request)
		if err == nil {
			body, err = io.ReadAll(response.Body)
			err = errors.Join(err, response.Body.Close())
		}
		if answered := err == nil && string(body) == "an answer"; answered != tc.answers || !tc.answers && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s %s: got %q, %v", tc.method, tc.path, body, err)
		}
		if ep := (&endpoint{url: server.URL}); !tc.answers && !IsTransient(ep.translate(t.Context(), "ask", err)) {
			t.Errorf("%s %s: %v is not transient", tc.method, tc.path, err)
		}
	}
}

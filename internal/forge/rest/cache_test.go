package rest

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// Answers to a token that has expired are never asked for again.
func TestTheCacheIsEmptiedWhenTheCredentialsChange(t *testing.T) {
	t.Parallel()
	var c cache
	ask := func(token string) (key string, kept *answer) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "https://git.example.com/api", http.NoBody)
		r.Header.Set("Authorization", "Bearer "+token)
		return c.find(r)
	}
	key, _ := ask("first")
	c.keep(key, &answer{status: http.StatusOK, header: http.Header{"Etag": {"1"}}, body: []byte("{}")})
	if _, kept := ask("first"); kept == nil {
		t.Fatal("the answer is not kept")
	}
	if _, kept := ask("second"); kept != nil || c.bytes != 0 {
		t.Errorf("with other credentials it has %v, and %d bytes", kept, c.bytes)
	}
}

package github

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestWebhooksAreSignedAndSentInOrder has a receiver that accepts only what is signed with its secret.
func TestWebhooksAreSignedAndSentInOrder(t *testing.T) {
	t.Parallel()
	const secret = "the secret of the receiver"
	var mu sync.Mutex
	var got []string
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write(body)
		if r.Header.Get("X-Hub-Signature-256") != "sha256="+hex.EncodeToString(mac.Sum(nil)) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		var event struct {
			Ref, Action string
			Repository  struct {
				CloneURL string `json:"clone_url"`
			}
		}
		if err := json.Unmarshal(body, &event); err != nil || event.Repository.CloneURL == "" {
			t.Errorf("%s: %v", body, err)
		}
		mu.Lock()
		defer mu.Unlock()
		got = append(got, strings.TrimSpace(r.Header.Get("X-GitHub-Event")+" "+event.Ref+event.Action))
	}))
	t.Cleanup(receiver.Close)
	s := world(t)
	s.AddHook(fleet, receiver.URL, "another secret")
	alice := s.As("alice")
	alice.PushCommit(fleet, "topic", "Change it\n", map[string]string{"a": "1\n"})
	await := func(n int) []Delivery {
		t.Helper()
		for until := time.Now().Add(time.Minute); len(s.Deliveries()) < n; {
			if time.Now().After(until) {
				t.Fatalf("%d events were sent, want %d", len(s.Deliveries()), n)
			}
			time.Sleep(time.Millisecond)
		}
		return s.Deliveries()
	}
	if sent := await(1); sent[0].Status != http.StatusUnauthorized {
		t.Errorf("an event with another secret is answered with %d", sent[0].Status)
	}
	s.SetSecrets(fleet, secret)
	s.Redeliver(s.Deliveries()[0])
	open(t, as(t, s, "alice"), "topic", "main")
	alice.PushCommit(fleet, "topic", "Change it again\n", map[string]string{"a": "2\n"})
	must(t, alice.Merge(fleet, 1, "squash"))
	await(7)
	mu.Lock()
	defer mu.Unlock()
	want := []string{"push refs/heads/topic", "pull_request opened", "push refs/heads/topic", "pull_request synchronize", "pull_request closed", "push refs/heads/main"}
	slices.Sort(want[4:])
	slices.Sort(got[min(4, len(got)):]) // in one moment
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

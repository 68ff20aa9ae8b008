package webhook_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/webhook"
)

const secret = "0123456789abcdef0123"

func sign(key, body string) string {
	sum := hmac.New(sha256.New, []byte(key))
	sum.Write([]byte(body))
	return hex.EncodeToString(sum.Sum(nil))
}

const (
	hubBody = `{"ref":"refs/heads/main","repository":{"clone_url":"https://git.example.com/acme/fleet.git","ssh_url":"git@git.example.com:acme/fleet.git","html_url":"https://git.example.com/acme/fleet"}}`
	labBody = `{"object_kind":"push","project":{"git_http_url":"https://gitlab.example.com/a/b/fleet.git","git_ssh_url":"git@gitlab.example.com:a/b/fleet.git","web_url":"https://gitlab.example.com/a/b/fleet"},"repository":{"git_http_url":"https://gitlab.example.com/a/b/fleet.git"}}`
)

func TestEvents(t *testing.T) {
	fleet := []string{"https://git.example.com/acme/fleet.git", "git@git.example.com:acme/fleet.git", "https://git.example.com/acme/fleet"}
	lab := []string{"https://gitlab.example.com/a/b/fleet.git", "https://gitlab.example.com/a/b/fleet.git", "git@gitlab.example.com:a/b/fleet.git", "https://gitlab.example.com/a/b/fleet"}
	cases := map[string]struct {
		method, body string
		header       map[string]string
		status       int
		want         []string
	}{
		"a push to GitHub":            {"POST", hubBody, map[string]string{"X-GitHub-Event": "push", "X-Hub-Signature-256": "sha256=" + sign(secret, hubBody)}, 202, fleet},
		"a pull request on GitHub":    {"POST", hubBody, map[string]string{"X-GitHub-Event": "pull_request", "X-Hub-Signature-256": "sha256=" + sign(secret, hubBody)}, 202, fleet},
		"a push to Gitea":             {"POST", hubBody, map[string]string{"X-Gitea-Event": "push", "X-Gitea-Signature": sign(secret, hubBody)}, 202, fleet},
		"a push to GitLab":            {"POST", labBody, map[string]string{"X-Gitlab-Event": "Push Hook", "X-Gitlab-Token": secret}, 202, lab},
		"a merge request on GitLab":   {"POST", labBody, map[string]string{"X-Gitlab-Event": "Merge Request Hook", "X-Gitlab-Token": secret}, 202, lab},
		"a ping":                      {"POST", hubBody, map[string]string{"X-GitHub-Event": "ping", "X-Hub-Signature-256": "sha256=" + sign(secret, hubBody)}, 200, nil},
		"a star":                      {"POST", hubBody, map[string]string{"X-GitHub-Event": "star", "X-Hub-Signature-256": "sha256=" + sign(secret, hubBody)}, 200, nil},
		"no event":                    {"POST", hubBody, map[string]string{"X-Hub-Signature-256": "sha256=" + sign(secret, hubBody)}, 200, nil},
		"no signature":                {"POST", hubBody, map[string]string{"X-GitHub-Event": "push"}, 401, nil},
		"another secret":              {"POST", hubBody, map[string]string{"X-GitHub-Event": "push", "X-Hub-Signature-256": "sha256=" + sign("another secret!!", hubBody)}, 401, nil},
		"the signature of other text": {"POST", hubBody, map[string]string{"X-Gitea-Event": "push", "X-Gitea-Signature": sign(secret, labBody)}, 401, nil},
		"an empty signature":          {"POST", hubBody, map[string]string{"X-GitHub-Event": "push", "X-Hub-Signature-256": "sha256="}, 401, nil},
		"a signature that is not hex": {"POST", hubBody, map[string]string{"X-GitHub-Event": "push", "X-Hub-Signature-256": "sha256=xyz"}, 401, nil},
		"SHA-1":                       {"POST", hubBody, map[string]string{"X-GitHub-Event": "push", "X-Hub-Signature": "sha1=" + sign(secret, hubBody)}, 401, nil},
		"another token":               {"POST", labBody, map[string]string{"X-Gitlab-Event": "Push Hook", "X-Gitlab-Token": secret + "x"}, 401, nil},
		"a form":                      {"POST", "payload=%7B%7D", map[string]string{"X-GitHub-Event": "push", "X-Hub-Signature-256": "sha256=" + sign(secret, "payload=%7B%7D")}, 400, nil},
		"no repository":               {"POST", "{}", map[string]string{"X-GitHub-Event": "push", "X-Hub-Signature-256": "sha256=" + sign(secret, "{}")}, 400, nil},
		"a GET":                       {"GET", "", nil, 405, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			hints := webhook.NewHints()
			h, err := webhook.New([]byte(secret+"\n"), hints)
			if err != nil {
				t.Fatal(err)
			}
			r := httptest.NewRequestWithContext(t.Context(), c.method, webhook.Path, strings.NewReader(c.body))
			for key, value := range c.header {
				r.Header.Set(key, value)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != c.status {
				t.Errorf("it answers %d %s, want %d", w.Code, w.Body, c.status)
			}
			var got []string
			select {
			case got = <-hints:
			default:
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("hints (-want +got):\n%s", diff)
			}
			if strings.Contains(w.Body.String(), secret) {
				t.Errorf("it shows the secret: %s", w.Body)
			}
		})
	}
}

// unread is a body that must not be read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("it reads the body")
	return 0, io.EOF
}

// Whoever does not know the secret cannot make Furrow read what they send.
func TestEventsThatAreRefusedByTheirHeadersAreNotRead(t *testing.T) {
	signature := sign(secret, hubBody)
	cases := map[string]struct {
		header map[string]string
		size   int64
		status int
	}{
		"no signature":                      {map[string]string{"X-GitHub-Event": "push"}, -1, 401},
		"a signature that is too short":     {map[string]string{"X-GitHub-Event": "push", "X-Hub-Signature-256": "sha256=00"}, -1, 401},
		"a signature that is too long":      {map[string]string{"X-Gitea-Event": "push", "X-Gitea-Signature": signature + "00"}, -1, 401},
		"a signature that is not hex":       {map[string]string{"X-Gitea-Event": "push", "X-Gitea-Signature": strings.Repeat("x", len(signature))}, -1, 401},
		"another token":                     {map[string]string{"X-Gitlab-Event": "Push Hook", "X-Gitlab-Token": secret + "x"}, -1, 401},
		"the token, and no event":           {map[string]string{"X-Gitlab-Token": secret}, -1, 200},
		"the token, and an event of no use": {map[string]string{"X-Gitlab-Event": "Wiki Page Hook", "X-Gitlab-Token": secret}, -1, 200},
		"an announced size":                 {map[string]string{"X-Gitlab-Event": "Push Hook", "X-Gitlab-Token": secret}, 5<<20 + 1, 413},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			h, err := webhook.New([]byte(secret), webhook.NewHints())
			if err != nil {
				t.Fatal(err)
			}
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, webhook.Path, unread{t})
			r.ContentLength = c.size
			for key, value := range c.header {
				r.Header.Set(key, value)
			}
			w := httptest.NewRecorder()
			if h.ServeHTTP(w, r); w.Code != c.status {
				t.Errorf("it answers %d %s, want %d", w.Code, w.Body, c.status)
			}
		})
	}
}

func TestAnEventThatIsTooLargeIsRefused(t *testing.T) {
	h, err := webhook.New([]byte(secret), webhook.NewHints())
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, webhook.Path, strings.NewReader(strings.Repeat(" ", 5<<20+1)))
	r.ContentLength = -1
	r.Header.Set("X-Github-Event", "push")
	r.Header.Set("X-Hub-Signature-256", "sha256="+sign(secret, hubBody))
	w := httptest.NewRecorder()
	if h.ServeHTTP(w, r); w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("it answers %d %s", w.Code, w.Body)
	}
}

// slow is a body that reports when it is read, and ends when it is released.
type slow struct {
	reads   chan<- struct{}
	release <-chan struct{}
}

func (s slow) Read([]byte) (int, error) {
	s.reads <- struct{}{}
	<-s.release
	return 0, io.EOF
}

// Signatures are known to be wrong only at the end of an event, so what is read before that has a
// bound for all senders together. One that cannot be cut off keeps its slot.
func TestFewEventsAreReadAtOnce(t *testing.T) {
	h, err := webhook.New([]byte(secret), webhook.NewHints())
	if err != nil {
		t.Fatal(err)
	}
	send := func(ctx context.Context, body io.Reader) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, webhook.Path, body)
		r.Header.Set("X-Github-Event", "push")
		r.Header.Set("X-Hub-Signature-256", "sha256="+sign(secret, hubBody))
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	reads, release := make(chan struct{}), make(chan struct{})
	var senders sync.WaitGroup
	for range 4 {
		senders.Go(func() { send(t.Context(), slow{reads, release}) })
		<-reads
	}
	soon, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if w := send(soon, unread{t}); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("it answers %d %s", w.Code, w.Body)
	}
	close(release)
	senders.Wait()
	if w := send(t.Context(), strings.NewReader(hubBody)); w.Code != http.StatusAccepted {
		t.Errorf("afterwards it answers %d %s", w.Code, w.Body)
	}
}

func TestSlowSendersWithoutTheSecretDoNotKeepOthersOut(t *testing.T) {
	hints := webhook.NewHints()
	h, err := webhook.New([]byte(secret), hints)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	defer server.Close()
	for range 12 {
		connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = connection.Close() }()
		if _, err := io.WriteString(connection, "POST "+webhook.Path+" HTTP/1.1\r\nHost: furrow\r\nX-Github-Event: push\r\nX-Hub-Signature-256: sha256="+sign("a stranger", "{}")+"\r\nContent-Length: 1000\r\n\r\n{"); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+webhook.Path, strings.NewReader(hubBody))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Github-Event", "push")
		r.Header.Set("X-Hub-Signature-256", "sha256="+sign(secret, hubBody))
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusAccepted {
			t.Errorf("it answers %s", response.Status)
		}
	}
	if len(hints) != 3 {
		t.Errorf("it keeps %d hints", len(hints))
	}
}

// However many events come while nobody takes them, none waits.
func TestEventsThatNobodyTakesAreDropped(t *testing.T) {
	h, err := webhook.New([]byte(secret), webhook.NewHints())
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, webhook.Path, strings.NewReader(labBody))
		r.Header.Set("X-Gitlab-Event", "Push Hook")
		r.Header.Set("X-Gitlab-Token", secret)
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != http.StatusAccepted {
			t.Fatalf("it answers %d %s", w.Code, w.Body)
		}
	}
}

// A forge that gets 202 from a replica which is not the leader would show the event as delivered.
func TestAReplicaThatIsNotTheLeaderRefusesEvents(t *testing.T) {
	hints, elected := webhook.NewHints(), make(chan struct{})
	h, err := webhook.New([]byte(secret), hints)
	if err != nil {
		t.Fatal(err)
	}
	h.Activate(elected)
	send := func(token string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, webhook.Path, strings.NewReader(labBody))
		r.Header.Set("X-Gitlab-Event", "Push Hook")
		r.Header.Set("X-Gitlab-Token", token)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	if w := send(secret); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" || len(hints) > 0 {
		t.Errorf("it answers %d %s, and keeps %d hints", w.Code, w.Body, len(hints))
	}
	if w := send("another secret!!"); w.Code != http.StatusUnauthorized {
		t.Errorf("to a stranger it answers %d %s", w.Code, w.Body)
	}
	close(elected)
	if w := send(secret); w.Code != http.StatusAccepted || len(hints) != 1 {
		t.Errorf("as the leader it answers %d %s, and keeps %d hints", w.Code, w.Body, len(hints))
	}
}

func TestASecretThatCanBeGuessedIsRefused(t *testing.T) {
	for _, secret := range []string{"", "secret", "   \n", "123456789012345"} {
		if _, err := webhook.New([]byte(secret), nil); err == nil || !strings.Contains(err.Error(), "16 or more") {
			t.Errorf("%q: got %v", secret, err)
		}
	}
}

func TestServe(t *testing.T) {
	h, err := webhook.New([]byte(secret), webhook.NewHints())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ready, ended := make(chan net.Addr, 1), make(chan error, 1)
	go func() { ended <- h.Serve(ctx, "127.0.0.1:0", func(at net.Addr) { ready <- at }) }()
	at := (<-ready).String()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+at+webhook.Path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil || response.StatusCode != http.StatusMethodNotAllowed {
		t.Fatal(response, err)
	}
	_ = response.Body.Close()
	if err := h.Serve(ctx, at, func(net.Addr) {}); err == nil || !strings.Contains(err.Error(), "choose another address") {
		t.Errorf("on an address that is taken: got %v", err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// Package webhook receives what forges send when somebody pushes or decides about a pull request.
//
// An event is a hint to observe a repository sooner, and nothing else: whatever it says is read from
// the repository and the forge themselves. So a replayed event costs a pass at most, and a lost one
// nothing, because repositories are observed at intervals anyway.
//
// Invariants: nothing of a request is used before its signature is checked, except its headers; and
// of its body only the URLs of the repository. Senders without the secret cannot make it hold more
// than maxReads bodies of maxEvent bytes, and slow ones do not keep others out.
package webhook

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

const (
	// Path is where events are received.
	Path = "/webhook"
	// maxEvent bounds an event. GitHub sends up to 25 MB, but a push that large is only a hint, and
	// is observed without it at the next interval.
	maxEvent = 5 << 20
	// maxReads is how many events are read at once.
	maxReads = 4
	// grace is how long an event may be read while others wait: the body of a forge comes at once.
	grace = 250 * time.Millisecond
	// maxWait bounds how long an event waits to be read, and maxWaiting how many do.
	maxWait    = 5 * time.Second
	maxWaiting = 64
	// timeout bounds a request: forges wait for ten seconds.
	timeout = 10 * time.Second
	// minSecret is the least length of a secret: a shorter one can be guessed.
	minSecret = 16
)

// Hints are the URLs of repositories, as events name them: each of one repository in all forms.
type Hints chan []string

// NewHints makes the channel of a Handler. It holds some hints while a pass is made; what comes when
// it is full is dropped, because the next pass observes everything.
func NewHints() Hints { return make(Hints, 16) }

// Handler checks events and passes on the repositories that they name.
type Handler struct {
	secret []byte
	hints  Hints
	// reads are the events that are being read.
	reads *reads
	// active is closed once hints are taken; nil if they always are.
	active <-chan struct{}
}

// New makes a handler of events that are signed with the secret.
func New(secret []byte, hints Hints) (*Handler, error) {
	secret = []byte(strings.TrimSpace(string(secret)))
	if len(secret) < minSecret {
		return nil, fmt.Errorf("the secret of webhooks has %d characters: use %d or more, such as the output of 'openssl rand -hex 32'", len(secret), minSecret)
	}
	return &Handler{secret: secret, hints: hints, reads: newReads()}, nil
}

// Activate has events refused until active is closed, because nobody takes hints before. It must be
// called before Serve.
func (h *Handler) Activate(active <-chan struct{}) { h.active = active }

// standby reports whether nobody takes hints.
func (h *Handler) standby() bool {
	if h.active == nil {
		return false
	}
	select {
	case <-h.active:
		return false
	default:
		return true
	}
}

// ServeHTTP answers with 202 if the event was taken, 200 if it means nothing here, 401 if it is not
// signed with the secret, and 503 if too many events are being read or nobody takes hints.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "send events with POST", http.StatusMethodNotAllowed)
		return
	}
	token := r.Header.Get("X-Gitlab-Token")
	signature := signature(r.Header)
	trusted := token != "" && subtle.ConstantTimeCompare([]byte(token), h.secret) == 1
	switch {
	case token != "" && !trusted, token == "" && len(signature) != sha256.Size:
		http.Error(w, unsigned, http.StatusUnauthorized)
		return
	case trusted && !relevant(r.Header):
		return
	}
	if h.standby() {
		unavailable(w, "this replica is not the leader, which takes events")
		return
	}
	if r.ContentLength > maxEvent {
		http.Error(w, tooLarge, http.StatusRequestEntityTooLarge)
		return
	}
	release, ok := h.reads.acquire(r.Context(), func() { _ = http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0)) })
	if !ok {
		unavailable(w, "too many events at once")
		return
	}
	defer release()
	h.receive(w, r, trusted, signature)
}

// unavailable refuses an event that may be sent again.
func unavailable(w http.ResponseWriter, why string) {
	w.Header().Set("Retry-After", "1")
	http.Error(w, why+"; what this one is about is observed at the next interval", http.StatusServiceUnavailable)
}

const (
	unsigned = "the event is not signed with the secret that Furrow has"
	tooLarge = "the event is too large"
)

// receive reads an event, and passes on the repository that it names.
func (h *Handler) receive(w http.ResponseWriter, r *http.Request, trusted bool, signature []byte) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxEvent))
	if larger := (*http.MaxBytesError)(nil); errors.As(err, &larger) {
		http.Error(w, tooLarge, http.StatusRequestEntityTooLarge)
		return
	} else if err != nil {
		http.Error(w, "the event cannot be read, or comes too slowly", http.StatusBadRequest)
		return
	}
	if !trusted && !hmac.Equal(signature, h.sum(body)) {
		http.Error(w, unsigned, http.StatusUnauthorized)
		return
	}
	// GitHub and Gitea sign what they send, so an event of no use is read too: the answer to a ping
	// is how people find out that the secret is another one.
	if !relevant(r.Header) {
		return
	}
	urls, err := repository(body)
	if err != nil {
		http.Error(w, "the event is not JSON, or names no repository; set the content type of the webhook to application/json", http.StatusBadRequest)
		return
	}
	select {
	case h.hints <- urls:
	default:
	}
	w.WriteHeader(http.StatusAccepted)
}

// signature returns the HMAC-SHA256 of the body as GitHub (sha256=<hex>), Gitea and Forgejo (<hex>)
// send it; nil if there is none. GitLab sends the secret itself.
func signature(header http.Header) []byte {
	text := header.Get("X-Gitea-Signature")
	if hub, found := strings.CutPrefix(header.Get("X-Hub-Signature-256"), "sha256="); found {
		text = hub
	}
	given, err := hex.DecodeString(text)
	if err != nil {
		return nil
	}
	return given
}

// sum is the signature that a body must have.
func (h *Handler) sum(body []byte) []byte {
	sum := hmac.New(sha256.New, h.secret)
	sum.Write(body)
	return sum.Sum(nil)
}

// events are those that can change what a pass observes, as GitHub, Gitea and GitLab name them.
var events = map[string]bool{
	"push": true, "create": true, "delete": true, "pull_request": true, "pull_request_review": true, "status": true, "check_suite": true,
	"pull_request_approved": true, "pull_request_rejected": true, "Push Hook": true, "Merge Request Hook": true, "Pipeline Hook": true,
}

// relevant reports whether a pass may observe something new after an event.
func relevant(header http.Header) bool {
	for _, name := range []string{"X-Github-Event", "X-Gitea-Event", "X-Gitlab-Event"} {
		if event := header.Get(name); event != "" {
			return events[event]
		}
	}
	return false
}

// repository returns the URLs of the repository that an event is about.
func repository(body []byte) ([]string, error) {
	var event struct {
		Repository, Project struct {
			CloneURL   string `json:"clone_url"`
			SSHURL     string `json:"ssh_url"`
			HTMLURL    string `json:"html_url"`
			GitHTTPURL string `json:"git_http_url"`
			GitSSHURL  string `json:"git_ssh_url"`
			WebURL     string `json:"web_url"`
		}
	}
	if err := json.Unmarshal(body, &event); err != nil {
		return nil, err
	}
	var urls []string
	for _, of := range []string{
		event.Repository.CloneURL, event.Repository.SSHURL, event.Repository.HTMLURL, event.Repository.GitHTTPURL, event.Repository.GitSSHURL,
		event.Project.GitHTTPURL, event.Project.GitSSHURL, event.Project.WebURL,
	} {
		if of != "" {
			urls = append(urls, of)
		}
	}
	if len(urls) == 0 {
		return nil, errors.New("no repository")
	}
	return urls, nil
}

// Serve receives events on an address until the context ends. ready gets the address that it listens
// on.
func (h *Handler) Serve(ctx context.Context, address string, ready func(net.Addr)) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listening for webhooks: %w; choose another address", err)
	}
	mux := http.NewServeMux()
	mux.Handle(Path, h)
	server := &http.Server{Handler: mux, ReadTimeout: timeout, WriteTimeout: timeout, MaxHeaderBytes: 1 << 14, BaseContext: func(net.Listener) context.Context { return ctx }}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	ready(listener.Addr())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) || ctx.Err() == nil {
		return err
	}
	return nil
}

package github

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
)

// hook is a webhook of a repository.
type hook struct {
	id          int64
	repo        *repo
	url, secret string
}

// Delivery is an event that was sent.
type Delivery struct {
	ID, Event, Action string
	// Status is that of the receiver's answer; 0 if there was none.
	Status int

	hook *hook
	body []byte
}

// outbox sends events one after the other, without the server's mutex.
type outbox struct {
	queue   chan Delivery
	stopped sync.WaitGroup

	mu   sync.Mutex
	sent []Delivery
}

// maxQueue is more than a test sends before the receiver answers.
const maxQueue = 1000

func newOutbox(s *Server) *outbox {
	o := &outbox{queue: make(chan Delivery, maxQueue)}
	o.stopped.Go(func() {
		for d := range o.queue {
			s.mu.Lock()
			secret := d.hook.secret
			s.mu.Unlock()
			d.Status = d.send(secret)
			o.mu.Lock()
			o.sent = append(o.sent, d)
			o.mu.Unlock()
		}
	})
	return o
}

// end sends what is queued; nothing may be added then.
func (o *outbox) end() {
	close(o.queue)
	o.stopped.Wait()
}

func (d Delivery) send(secret string) int {
	r, err := http.NewRequest(http.MethodPost, d.hook.url, bytes.NewReader(d.body))
	if err != nil {
		return 0
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(d.body)
	for name, value := range map[string]string{
		"Content-Type": "application/json", "User-Agent": "GitHub-Hookshot/test", "X-GitHub-Event": d.Event, "X-GitHub-Delivery": d.ID,
		"X-GitHub-Hook-ID": fmt.Sprint(d.hook.id), "X-Hub-Signature-256": "sha256=" + hex.EncodeToString(mac.Sum(nil)),
	} {
		r.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}

// AddHook adds a webhook for pushes to a repository and for its pull requests.
func (s *Server) AddHook(repo, url, secret string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hooks = append(s.hooks, &hook{id: s.newID(), repo: s.mustRepo(repo), url: url, secret: secret})
}

// SetSecrets gives all webhooks of a repository another secret.
func (s *Server) SetSecrets(repo, secret string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.mustRepo(repo)
	for _, h := range s.hooks {
		if h.repo == r {
			h.secret = secret
		}
	}
}

// Deliveries are the events that were sent, the oldest first.
func (s *Server) Deliveries() []Delivery {
	s.outbox.mu.Lock()
	defer s.outbox.mu.Unlock()
	return slices.Clone(s.outbox.sent)
}

// Redeliver sends an event again, as people can from the page of a webhook.
func (s *Server) Redeliver(d Delivery) { s.outbox.queue <- d }

func (s *Server) notify(r *repo, event, action string, by *user, payload object) {
	if !slices.ContainsFunc(s.hooks, func(h *hook) bool { return h.repo == r }) {
		return
	}
	v := view{s: s, api: s.URL + "/api/v3"}
	payload["repository"], payload["sender"] = v.repository(r), v.user(by)
	if action != "" {
		payload["action"] = action
	}
	body, err := json.Marshal(payload)
	if err != nil {
		panic(err) // values are maps, lists and plain types
	}
	for _, h := range s.hooks {
		if h.repo == r {
			s.outbox.queue <- Delivery{ID: fmt.Sprintf("%08x-0000-4000-8000-%012x", h.id, s.newID()), Event: event, Action: action, hook: h, body: body}
		}
	}
}

// none is how events write a commit that is not there.
const none = "0000000000000000000000000000000000000000"

func (s *Server) notifyPush(r *repo, branch, old, sha string, by *user) {
	s.notify(r, "push", "", by, object{
		"ref": "refs/heads/" + branch, "before": or(old, none), "after": or(sha, none), "created": old == "", "deleted": sha == "",
		"forced":  old != "" && sha != "" && !r.git.Contains(sha, old),
		"compare": s.URL + "/" + r.fullName() + "/compare", "pusher": object{"name": by.login},
	})
}

func (s *Server) notifyPull(p *pull, action string, by *user) {
	v := view{s: s, api: s.URL + "/api/v3"}
	s.notify(p.repo, "pull_request", action, by, object{"number": p.number, "pull_request": v.pull(p)})
}

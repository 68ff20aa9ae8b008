package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-git/go-git/v5/plumbing/format/pktline"
)

// crash is a point at which furrow is killed.
type crash struct {
	// call names the request to Gitea at this point.
	call string
	// answered means that Gitea has processed the request and furrow never receives the response; otherwise Gitea never
	// receives the request.
	answered bool
}

func (c crash) String() string {
	if c.answered {
		return "after " + c.call
	}
	return "before " + c.call
}

// gate is a proxy between one story's furrow and Gitea. It records all points at which furrow can be killed, and kills it
// at some of them.
//
// A point is identified by the request and the last event, not by a number: how often furrow polls while it waits differs
// between runs. Every request that changes something at Gitea makes two points, before and after it. A request that only
// reads makes a point if it is the first of its kind since the last change by furrow or by a person: later ones read the
// same state again. It makes one point only, because Gitea is the same before and after it.
type gate struct {
	forward http.Handler
	// victim provides the process to kill. fell receives a message for each killed process.
	victim chan *process
	fell   chan struct{}

	mu sync.Mutex
	// at has the remaining points by call.
	at    map[string]crash
	noted []crash
	// act is the last action of a person, last the last change by anybody, asked the reads since then.
	act, last string
	asked     map[string]bool
	// times counts each change since act, changes counts all changes.
	times   map[string]int
	changes int
}

// newGate adds a gate to the story's wire, which kills furrow at the given points, each of another call.
func newGate(t testing.TB, s *story, at []crash) *gate {
	t.Helper()
	target, err := url.Parse(s.world.gitea.URL)
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{
		forward: &httputil.ReverseProxy{
			Rewrite:      func(r *httputil.ProxyRequest) { r.SetURL(target) },
			ErrorHandler: func(out http.ResponseWriter, _ *http.Request, _ error) { out.WriteHeader(http.StatusBadGateway) },
		},
		victim: make(chan *process, 1), fell: make(chan struct{}, 1),
		at: map[string]crash{}, times: map[string]int{},
	}
	g.does("the start")
	for _, point := range at {
		g.at[point.call] = point
	}
	s.wire.mu.Lock()
	defer s.wire.mu.Unlock()
	s.wire.fault = g.pass
	return g
}

// pass forwards a request, unless furrow must be killed at it.
//
// Gitea is left to finish a push of a furrow that is killed meanwhile at another request: it would
// kill Git, which then leaves branches locked for good.
func (g *gate) pass(out http.ResponseWriter, r *http.Request) bool {
	name, err := nameOf(r)
	if err != nil {
		return false // furrow is gone
	}
	here, dies := g.arrives(name, isChange(r))
	if !dies && isPush(r) {
		whole, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), limit)
		defer cancel()
		g.forward.ServeHTTP(out, r.WithContext(whole))
		return true
	}
	if !dies {
		return false
	}
	if here.answered {
		g.forward.ServeHTTP(httptest.NewRecorder(), r)
	}
	victim := <-g.victim
	_ = victim.cmd.Process.Kill()
	<-victim.done
	g.fell <- struct{}{}
	panic(http.ErrAbortHandler)
}

// arrives records a request, and reports whether furrow must be killed at it.
func (g *gate) arrives(name string, change bool) (here crash, dies bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	point := name + " since " + g.last
	switch {
	case change:
		g.changes++
		g.times[name]++
		point = fmt.Sprintf("%s since %s", name, g.act)
		if n := g.times[name]; n > 1 {
			point = fmt.Sprintf("%s (%d)", point, n)
		}
		g.noted = append(g.noted, crash{point, false}, crash{point, true})
		if !isPaced(name) {
			g.turn(name)
		}
	case g.asked[name]:
		return crash{}, false
	default:
		g.asked[name] = true
		g.noted = append(g.noted, crash{point, false})
	}
	here, dies = g.at[point]
	delete(g.at, point)
	return here, dies
}

func (g *gate) turn(change string) {
	g.last, g.asked = change, map[string]bool{}
}

// does records an action that a person is about to take.
func (g *gate) does(act string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.act, g.times = act, map[string]int{}
	g.turn(act)
}

// made returns the number of changes that furrow has requested.
func (g *gate) made() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.changes
}

// missed returns the points that were not reached.
func (g *gate) missed() []crash {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Collect(maps.Values(g.at))
}

// points returns all points recorded so far, in order.
func (g *gate) points() []crash {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]crash(nil), g.noted...)
}

// isChange reports whether a request changes something at Gitea.
func isChange(r *http.Request) bool {
	return r.Method != http.MethodGet && !strings.HasSuffix(r.URL.Path, "/git-upload-pack")
}

// isPush reports whether a request moves branches.
func isPush(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/git-receive-pack") }

var (
	// inRepository splits a path into the repository's name and the rest.
	inRepository = regexp.MustCompile(`^(?:/api/v1/repos)?/org-[^/]+/([^/.]+)(?:\.git)?/(.*)$`)
	commitID     = regexp.MustCompile(`/[0-9a-f]{40}`)
	// refUpdate matches one line of a push, in Git's framing.
	refUpdate = regexp.MustCompile(`([0-9a-f]{40}) ([0-9a-f]{40}) refs/heads/furrow/main/([^\x00\n]+)`)
)

// nameOf names a request; the names are the same in all stories.
func nameOf(r *http.Request) (string, error) {
	path := r.URL.Path
	if in := inRepository.FindStringSubmatch(path); in != nil {
		path = in[1] + "/" + commitID.ReplaceAllString(in[2], "")
	}
	query := r.URL.Query()
	name := strings.Join(strings.Fields(strings.Join([]string{r.Method, path, query.Get("service"), query.Get("state")}, " ")), " ")
	if !isPush(r) {
		return name, nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return "", err
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	var updates [][]string
	for lines := pktline.NewScanner(bytes.NewReader(body)); lines.Scan() && len(lines.Bytes()) > 0; {
		if update := refUpdate.FindStringSubmatch(string(lines.Bytes())); update != nil {
			updates = append(updates, update)
		}
	}
	return nameOfPush(updates), nil
}

// nameOfPush names a push by its tiers. Whether plans and deletions of merged branches are pushed with the tiers or
// separately depends on how fast the clusters are.
func nameOfPush(updates [][]string) string {
	none := strings.Repeat("0", 40)
	var tiers, others []string
	for _, update := range updates {
		before, after, branch := update[1], update[2], update[3]
		switch {
		case after == none:
			others = append(others, "-"+branch)
		case !strings.HasPrefix(branch, "tier/"):
			others = append(others, branch)
		case before == none:
			tiers = append(tiers, "+"+branch)
		default:
			tiers = append(tiers, "~"+branch)
		}
	}
	if len(tiers) == 0 {
		tiers = others
	}
	return "push " + strings.Join(tiers, " ")
}

// isPaced reports whether the call is a push without tiers: if and when it occurs depends on how fast the clusters are.
func isPaced(call string) bool {
	return strings.HasPrefix(call, "push ") && !strings.HasPrefix(call, "push +") && !strings.HasPrefix(call, "push ~")
}

// isRepeat reports whether a call is a repetition since the last event. How often it occurs depends on the timing of
// passes. Furrow is killed at the first call in any case.
func isRepeat(call string) bool { return strings.HasSuffix(call, ")") }

// isStatus reports whether a call sets a commit status on a pull request: its order among the calls of people depends on
// how fast they are.
func isStatus(call string) bool { return strings.Contains(call, "/statuses since ") }

// isRead reports whether a call only reads.
func isRead(call string) bool {
	return strings.HasPrefix(call, "GET ") || strings.Contains(call, "/git-upload-pack since ")
}

// kinds are the kinds of changes that furrow makes at Gitea; it must be killed at each of them.
var kinds = []string{
	"opens a pull request", "updates a pull request", "pushes a new tier", "pushes an update", "pushes a removal", "sets a status",
	"makes a label", "deletes a branch",
}

// kindOf returns the kind of change that a call makes; empty for reads and other changes.
func kindOf(call string) string {
	name, act, _ := strings.Cut(call, " since ")
	push := strings.HasPrefix(name, "push ")
	switch {
	case push && strings.Contains(name, "+tier/") && strings.Contains(act, "removal"):
		return "pushes a removal"
	case push && strings.Contains(name, "+tier/"):
		return "pushes a new tier"
	case push && strings.Contains(name, "~tier/"):
		return "pushes an update"
	case push && strings.Contains(name, "-tier/"):
		return "deletes a branch"
	case name == "POST gitops/pulls":
		return "opens a pull request"
	case strings.HasPrefix(name, "PATCH gitops/pulls/"):
		return "updates a pull request"
	case strings.HasPrefix(name, "POST gitops/statuses"):
		return "sets a status"
	case name == "POST gitops/labels":
		return "makes a label"
	}
	return ""
}

package e2e

import (
	"bytes"
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
	// call is what furrow asks of Gitea there.
	call string
	// answered says that Gitea has done it and furrow never hears of it; else Gitea never hears of it.
	answered bool
}

func (c crash) String() string {
	if c.answered {
		return "after " + c.call
	}
	return "before " + c.call
}

// gate stands on the way from one story's furrow to Gitea. It notes all points at which furrow can be killed, and kills
// it at some of them.
//
// A point is told by what is asked for and what happened last, and not by a number, for how often furrow looks while it
// waits differs from one run to the next. What changes something at Gitea is a point each time, before and after. What
// only reads is a point when it is the first of its kind since the last change by furrow or by a person: what comes later
// asks the same again of the same state. It has one point and not two, as Gitea is the same with and without it.
type gate struct {
	forward http.Handler
	// victim gives the process to kill. A message is in fell for each that was killed.
	victim chan *process
	fell   chan struct{}

	mu sync.Mutex
	// at are the points that are still to come, by call.
	at    map[string]crash
	noted []crash
	// act is what a person did last, last the last change by anybody, asked what was read since.
	act, last string
	asked     map[string]bool
	// times is how often each change came since the person's act, changes how many came in all.
	times   map[string]int
	changes int
}

// newGate puts a gate on the story's wire; furrow is to be killed at some points, each by another call.
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

// pass lets a request through, unless it is the one at which furrow dies.
func (g *gate) pass(_ http.ResponseWriter, r *http.Request) bool {
	name, err := nameOf(r)
	if err != nil {
		return false // furrow is gone
	}
	here, dies := g.arrives(name, isChange(r))
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

// arrives notes a request, and says whether furrow is to be killed at it.
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

// does notes that a person is about to do something.
func (g *gate) does(act string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.act, g.times = act, map[string]int{}
	g.turn(act)
}

// made is how many changes furrow has asked for.
func (g *gate) made() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.changes
}

// missed are the points that did not come.
func (g *gate) missed() []crash {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Collect(maps.Values(g.at))
}

// points are those that were noted so far, in order.
func (g *gate) points() []crash {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]crash(nil), g.noted...)
}

// isChange says that a request changes something at Gitea.
func isChange(r *http.Request) bool {
	return r.Method != http.MethodGet && !strings.HasSuffix(r.URL.Path, "/git-upload-pack")
}

var (
	// inRepository takes a path apart: the repository's name, and what is asked for in it.
	inRepository = regexp.MustCompile(`^(?:/api/v1/repos)?/org-[^/]+/([^/.]+)(?:\.git)?/(.*)$`)
	commitID     = regexp.MustCompile(`/[0-9a-f]{40}`)
	// refUpdate is one line of what is pushed, as Git frames it.
	refUpdate = regexp.MustCompile(`([0-9a-f]{40}) ([0-9a-f]{40}) refs/heads/furrow/main/([^\x00\n]+)`)
)

// nameOf names what a request asks for, in the same way in all stories.
func nameOf(r *http.Request) (string, error) {
	path := r.URL.Path
	if in := inRepository.FindStringSubmatch(path); in != nil {
		path = in[1] + "/" + commitID.ReplaceAllString(in[2], "")
	}
	query := r.URL.Query()
	name := strings.Join(strings.Fields(strings.Join([]string{r.Method, path, query.Get("service"), query.Get("state")}, " ")), " ")
	if !strings.HasSuffix(path, "/git-receive-pack") {
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

// nameOfPush names a push by the tiers in it. Whether a plan, or a merged branch to delete, goes along with them or alone
// depends on how fast the clusters are.
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

// isPaced says that it depends on how fast the clusters are whether, and when, a call comes: a push without tiers.
func isPaced(call string) bool {
	return strings.HasPrefix(call, "push ") && !strings.HasPrefix(call, "push +") && !strings.HasPrefix(call, "push ~")
}

// isRepeat says that a call is not the first of its kind since what happened last: how often it comes depends on how
// passes fall. What it repeats is killed at in any case.
func isRepeat(call string) bool { return strings.HasSuffix(call, ")") }

// isStatus says that a call shows the gate on a pull request: where it comes between the calls of people depends on how
// fast they are.
func isStatus(call string) bool { return strings.Contains(call, "/statuses since ") }

// isRead says that a call only reads.
func isRead(call string) bool {
	return strings.HasPrefix(call, "GET ") || strings.Contains(call, "/git-upload-pack since ")
}

// kinds are those of changes that furrow makes at Gitea, so that each is there to be killed at.
var kinds = []string{
	"opens a pull request", "updates a pull request", "pushes a new tier", "pushes an update", "pushes a removal", "tells a status",
	"makes a label", "deletes a branch",
}

// kindOf is the kind of change that a call makes; empty for one that only reads, or is of no kind to look at.
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
		return "tells a status"
	case name == "POST gitops/labels":
		return "makes a label"
	}
	return ""
}

package gitea_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/gitea"
	"github.com/furrow-dev/furrow/internal/git"
)

// pull is a pull request of the tier of its number.
type pull struct {
	number  int
	updated time.Time
}

func tierOf(number int) layout.Tier {
	return layout.Tier{Seed: fmt.Sprintf("s%d", number), Cluster: "edge-1"}
}

// shelf is a server that has nothing but lists of pull requests, page by page.
type shelf struct {
	open, closed []pull
	// most is how many it shows on a page.
	most int
	// meanwhile happens before the second page of a list is shown.
	meanwhile func()
	// pages counts those of closed ones that were shown.
	pages int
}

func (s *shelf) serve(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	if !strings.HasSuffix(r.URL.Path, "/pulls") {
		_, _ = fmt.Fprint(w, "{}")
		return
	}
	page, _ := strconv.Atoi(query.Get("page"))
	limit, _ := strconv.Atoi(query.Get("limit"))
	if limit = min(limit, s.most); page == 2 && s.meanwhile != nil {
		s.meanwhile()
		s.meanwhile = nil
	}
	state, list := query.Get("state"), s.open
	if state == "closed" {
		list = s.closed
		s.pages++
	}
	from, to := min((page-1)*limit, len(list)), min(page*limit, len(list))
	link := "<http://x/pulls?page=1>; rel=\"first\""
	if to < len(list) {
		link += fmt.Sprintf(", <http://x/pulls?page=%d>; rel=\"next\"", page+1)
	}
	w.Header().Set("Link", link)
	w.Header().Set("X-Total-Count", strconv.Itoa(len(list)))
	rows := []map[string]any{}
	for _, p := range list[from:to] {
		rows = append(rows, p.row(state))
	}
	_ = json.NewEncoder(w).Encode(rows)
}

func (p pull) row(state string) map[string]any {
	name := layout.TierBranch("main", tierOf(p.number))
	return map[string]any{
		"number": p.number, "state": state, "html_url": fmt.Sprintf("http://x/acme/fleet/pulls/%d", p.number), "title": "Plant it",
		"body": forge.Describe(forge.Request{Carried: forge.Alone(tierOf(p.number), "w1")}), "created_at": p.updated.Add(-time.Hour), "closed_at": p.updated, "updated_at": p.updated,
		"base": map[string]any{"ref": "main", "repo_id": 1}, "head": map[string]any{"label": name, "ref": name, "repo_id": 1},
	}
}

// pulls are pull requests of these numbers, updated half a minute ago.
func pulls(numbers ...int) []pull {
	var out []pull
	for _, n := range numbers {
		out = append(out, pull{n, time.Now().Add(-30 * time.Second)})
	}
	return out
}

func without(list []pull, number int) []pull {
	return slices.DeleteFunc(slices.Clone(list), func(p pull) bool { return p.number == number })
}

// A list of open ones is ordered by when they were opened.
func TestNoOpenOneIsMissedWhileTheListChanges(t *testing.T) {
	t.Parallel()
	changes := map[string]func(*shelf){
		"one is closed":                   func(s *shelf) { s.open = without(s.open, 1) },
		"one is closed and one is opened": func(s *shelf) { s.open = append(without(s.open, 1), pulls(100)...) },
		"many are closed":                 func(s *shelf) { s.open = slices.Clone(s.open[3:]) },
	}
	for name, change := range changes {
		for _, most := range []int{5, 7, 50} {
			t.Run(fmt.Sprintf("%s, %d on a page", name, most), func(t *testing.T) {
				t.Parallel()
				s := &shelf{most: most}
				for n := range 3 * most {
					s.open = append(s.open, pulls(n+1)...)
				}
				s.meanwhile = func() { change(s) }
				f, refs := newStub(t, gitea.Options{Token: secret}, s.serve)
				if _, err := f.List(t.Context(), refs); err != nil {
					t.Fatal(err)
				}
				for n := 4; n <= 3*most; n++ {
					wantOpen(t, f, refs, n)
				}
			})
		}
	}
}

// wantOpen checks that the open pull request of a number is known: its branch has gone,
// so the server is about to close it.
func wantOpen(t *testing.T, f *gitea.Forge, refs git.Refs, number int) {
	t.Helper()
	c, err := f.Closed(t.Context(), refs, tierOf(number), "w1")
	if err != nil || c.Outcome != forge.OutcomeRejected {
		t.Errorf("open pull request #%d was missed: %+v, %v", number, c, err)
	}
}

// A list of closed ones is ordered by when they were updated, newest first.
func TestNoClosedOneIsMissedWhileTheListChanges(t *testing.T) {
	t.Parallel()
	changes := map[string]func(*shelf){
		"one is reopened": func(s *shelf) { s.closed = without(s.closed, 1) },
		"one is commented on": func(s *shelf) {
			last := s.closed[len(s.closed)-1]
			last.updated = time.Now().Add(time.Second)
			s.closed = append([]pull{last}, without(s.closed, last.number)...)
		},
	}
	for name, change := range changes {
		for _, first := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, in the first reading: %t", name, first), func(t *testing.T) {
				t.Parallel()
				s := &shelf{most: 4, open: pulls(100)}
				f, refs := newStub(t, gitea.Options{Token: secret}, s.serve)
				judge := func(number int) forge.Outcome {
					t.Helper()
					_, err := f.List(t.Context(), refs)
					if err != nil {
						t.Fatal(err)
					}
					c, err := f.Closed(t.Context(), refs, tierOf(number), "w1")
					if err != nil {
						t.Fatal(err)
					}
					return c.Outcome
				}
				if !first {
					judge(1)
				}
				s.open, s.closed, s.pages = nil, pulls(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12), 0
				s.meanwhile = func() { change(s) }
				for n := 2; n <= 12; n++ {
					if got := judge(n); got != forge.OutcomeRejected {
						t.Errorf("closed pull request #%d was missed: %s", n, got)
					}
				}
				if s.pages > 20 {
					t.Errorf("%d pages were read", s.pages)
				}
			})
		}
	}
}

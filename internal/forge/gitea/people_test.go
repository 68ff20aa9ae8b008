package gitea_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/forgetest"
	"github.com/furrow-dev/furrow/internal/git"
)

func TestWhatPeopleDoToAPullRequest(t *testing.T) {
	t.Parallel()
	cases := map[string]func(*site, forge.Proposal){
		"retitle it":          func(s *site, p forge.Proposal) { s.do("PATCH", s.pull(p), map[string]any{"title": "Mine"}, nil) },
		"write its text anew": func(s *site, p forge.Proposal) { s.do("PATCH", s.pull(p), map[string]any{"body": "Mine"}, nil) },
		"write below it": func(s *site, p forge.Proposal) {
			s.do("PATCH", s.pull(p), map[string]any{"body": s.fetch(p).Body + "\r\n\r\nLooks good.\r\n"}, nil)
		},
		"take the label off": func(s *site, p forge.Proposal) {
			s.do("PUT", s.issue(p)+"/labels", map[string]any{"labels": []int{}}, nil)
		},
		"make it a draft": func(s *site, p forge.Proposal) {
			s.do("PATCH", s.pull(p), map[string]any{"title": "WIP: " + p.Title}, nil)
		},
		"lock it": func(s *site, p forge.Proposal) {
			s.do("PUT", s.issue(p)+"/lock", map[string]any{"reason": "Spam"}, nil)
		},
	}
	for name, act := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			p := s.propose(edge, "w1")
			act(s, p)
			if again := s.find(edge); !cmp.Equal(again, p) {
				t.Errorf("%+v became %+v", p, again)
			}
			s.do(http.MethodPatch, s.pull(p), map[string]any{"state": "closed"}, nil)
			if again := s.find(edge); !again.Rejected || again.Digest != "w1" {
				t.Errorf("it was closed and is %+v", again)
			}
			s.wantOutcome(s.newForge(s.mirror, botToken), "w1", forge.OutcomeRejected)
			s.wantOutcome(s.forge, "w2", forge.OutcomeNone)
		})
	}
}

func TestAnUpdateLeavesADraftOne(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.propose(edge, "w1")
	s.do(http.MethodPatch, s.pull(p), map[string]any{"title": "WIP: " + p.Title}, nil)
	if err := s.forge.Merge(t.Context(), s.find(edge), bob); err == nil || !strings.Contains(strings.ToLower(err.Error()), "work in progress") {
		t.Errorf("got %v", err)
	}
	p = s.propose(edge, "w2")
	if seen := s.fetch(p); seen.Title != "WIP: "+p.Title || !strings.Contains(seen.Body, "Furrow-Digest: w2") || len(seen.Labels) != 1 || seen.Labels[0].Name != "furrow" {
		t.Errorf("it is %+v", seen)
	}
}

func TestAPullRequestToAnotherBaseIsNotOurs(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.commit("stable", map[string]string{"notes.md": "1\n"})
	p := s.propose(edge, "w1")
	s.do(http.MethodPatch, s.pull(p), map[string]any{"base": "stable"}, nil)
	if list := s.list(); len(list) != 0 {
		t.Errorf("listed %+v", list)
	}
	s.wantOutcome(s.forge, "w1", forge.OutcomeNone)
	again := s.propose(edge, "w1")
	if again.URL == p.URL || s.fetch(p).Base.Ref != "stable" || s.fetch(again).Base.Ref != "main" {
		t.Errorf("%s is %+v, %s is %+v", p.URL, s.fetch(p), again.URL, s.fetch(again))
	}
}

func TestAPersonsPullRequestFromOurBranchIsTakenOver(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.push(edge, "w1")
	s.do(http.MethodPost, s.repo("/pulls"), map[string]any{"head": branch, "base": "main", "title": "Mine"}, nil)
	if p := s.find(edge); p.Digest != "w1" || p.Edited {
		t.Errorf("listed %+v", p)
	}
	p, err := s.newForge(s.mirror, botToken).Propose(t.Context(), r)
	s.must(err)
	if seen := s.fetch(p); len(s.all("all")) != 1 || seen.Title != r.Title || !strings.Contains(seen.Body, "Furrow-Digest: w1") {
		t.Errorf("it is %+v of %+v", seen, s.all("all"))
	}
	s.list()
	s.do(http.MethodPatch, s.pull(p), map[string]any{"state": "closed"}, nil)
	if again := s.find(edge); !again.Rejected {
		t.Errorf("listed %+v", again)
	}
}

func TestAPullRequestFromAForkIsNotOurs(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	fork := s.name + "-fork"
	s.do(http.MethodPost, s.repo("/forks"), map[string]any{"name": fork}, nil)
	s.checkOut("main")
	s.save(map[string]string{"notes.md": "theirs\n"})
	s.git("commit", "--quiet", "-m", "Work by hand")
	s.git("push", "--quiet", strings.Replace(strings.Replace(s.url, "://", "://x:"+server.AdminToken+"@", 1), bot+"/"+s.name, server.AdminUser+"/"+fork, 1), "HEAD:refs/heads/"+branch)
	opened := func() bool {
		status, _ := s.ask(http.MethodPost, s.repo("/pulls"), map[string]any{"head": server.AdminUser + ":" + branch, "base": "main", "title": "Theirs", "body": "Furrow-Digest: w1"}, nil)
		return status == http.StatusCreated
	}
	s.await("the fork's pull request is opened", opened)
	if list := s.list(); len(list) != 0 {
		t.Errorf("listed %+v", list)
	}
	p := s.propose(edge, "w1")
	if !strings.HasSuffix(p.URL, "/2") {
		t.Errorf("the proposal is at %s", p.URL)
	}
	s.do(http.MethodPatch, s.repo("/pulls/1"), map[string]any{"state": "closed"}, nil)
	s.list()
	s.wantOutcome(s.forge, "w1", forge.OutcomeNone)
}

// protect makes a rule for the base branch.
func (s *site) protect(rule map[string]any) {
	s.Helper()
	rule["rule_name"] = "main"
	s.do(http.MethodPost, s.repo("/branch_protections"), rule, nil)
}

func TestBaseThatRequiresTheGate(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.propose(edge, "w1")
	s.protect(map[string]any{
		"enable_status_check": true, "status_check_contexts": []string{"furrow/gate"},
		"enable_push": true, "enable_push_whitelist": true, "push_whitelist_usernames": []string{server.AdminUser},
	})
	s.must(s.forge.Gate(t.Context(), p, forge.Gate{Shut: "a/hub/tier-00 is no longer Released"}))
	s.await("Gitea refuses to merge", func() bool {
		status, said := s.ask(http.MethodPost, s.pull(p)+"/merge", map[string]any{"Do": "merge"}, nil)
		if status/100 == 2 {
			t.Fatal("a person merged it although the gate fails")
		}
		return strings.Contains(said, "status check")
	})
	if err := s.forge.Merge(t.Context(), p, bob); err == nil || !strings.Contains(err.Error(), "rules do not let it be merged") || !strings.Contains(err.Error(), "status check") {
		t.Errorf("got %v", err)
	}
	s.must(s.forge.Gate(t.Context(), p, forge.Gate{}))
	person{s}.Merge(t, p, "a merge commit")
	s.wantOutcome(s.forge, "w1", forge.OutcomeMerged)
}

func TestProposingUnderARuleThatIsThereAlready(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.protect(map[string]any{"enable_status_check": true, "status_check_contexts": []string{"furrow/gate"}, "required_approvals": 0})
	p := s.propose(edge, "w1")
	s.must(s.forge.Gate(t.Context(), p, forge.Gate{Shut: "a/hub/tier-00 is no longer Released"}))
	if err := s.forge.Merge(t.Context(), p, bob); err == nil || !strings.Contains(err.Error(), "rules do not let it be merged") {
		t.Errorf("got %v", err)
	}
	p = s.propose(edge, "w2")
	s.must(s.forge.Merge(t.Context(), p, bob))
	s.wantOutcome(s.forge, "w2", forge.OutcomeMerged)
}

// The engine pushes what is behind anew, where the policy is WhenBehind.
func TestARuleThatBlocksWhatIsBehind(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.protect(map[string]any{"block_on_outdated_branch": true, "enable_push": true, "enable_push_whitelist": true, "push_whitelist_usernames": []string{server.AdminUser}})
	p := s.propose(edge, "w1")
	s.commit("main", map[string]string{"notes.md": "1\n"})
	behind := s.find(edge)
	if behind.Base == s.refs()["main"] || behind.Stale {
		t.Errorf("got %+v, want it behind and not stale", behind)
	}
	s.await("Gitea notices that it is behind", func() bool {
		_, said := s.ask(http.MethodPost, s.pull(p)+"/merge", map[string]any{"Do": "merge", "head_commit_id": strings.Repeat("1", 40)}, nil)
		return isBehind(said)
	})
	if err := s.forge.Merge(t.Context(), behind, bob); err == nil || !strings.Contains(err.Error(), "rules do not let it be merged") || !isBehind(err.Error()) {
		t.Errorf("got %v", err)
	}
	fresh := s.propose(edge, "w1")
	if fresh.URL != p.URL || fresh.Base != s.refs()["main"] {
		t.Errorf("%+v became %+v", p, fresh)
	}
	s.await("Gitea notices that it is not behind any more", func() bool {
		err := s.forge.Merge(t.Context(), fresh, bob)
		if err != nil && !isBehind(err.Error()) {
			t.Fatal(err)
		}
		return err == nil
	})
	s.wantOutcome(s.forge, "w1", forge.OutcomeMerged)
}

func isBehind(said string) bool { return strings.Contains(said, "behind the base branch") }

func TestUpdateBranchMakesItEditedUntilItIsHandedBack(t *testing.T) {
	t.Parallel()
	for _, style := range []string{"merge", "rebase"} {
		t.Run(style, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			p := s.propose(edge, "w1")
			s.commit("main", map[string]string{"notes.md": "1\n"})
			s.do(http.MethodPost, s.pull(p)+"/update?style="+style, nil, nil)
			s.await("Gitea has updated the branch", func() bool { return s.refs()[branch] != p.Head })
			if again := s.find(edge); !again.Edited || again.Digest != "w1" {
				t.Errorf("it is %+v", again)
			}
			s.git("push", "--quiet", "--force", "origin", p.Head.String()+":refs/heads/"+branch)
			if again := s.find(edge); !cmp.Equal(again, p) {
				t.Errorf("handed back it is %+v, want %+v", again, p)
			}
		})
	}
}

func TestMergeKeepsToTheRepositorysWay(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.do(http.MethodPatch, s.repo(""), map[string]any{"allow_merge_commits": false, "allow_squash_merge": true, "allow_rebase": false, "allow_rebase_explicit": false, "default_merge_style": "squash", "has_pull_requests": true}, nil)
	s.must(s.forge.Merge(t.Context(), s.propose(edge, "w1"), bob))
	c, err := s.mirror.Commit(s.refs()["main"])
	s.must(err)
	trailers := forge.Trailers(c.Message)
	if len(c.Parents) != 1 || trailers["Furrow-Digest"] != "w1" || trailers["Accepted-by"] != "Bob <bob@example.com>" {
		t.Errorf("got %q with parents %v", c.Message, c.Parents)
	}
	closed, err := s.newForge(s.mirror, botToken).Closed(t.Context(), s.refs(), edge, "w1")
	s.must(err)
	if len(closed.Landings) != 1 || closed.Landings[0].Merge != c.Hash {
		t.Errorf("got %+v, want %s", closed, c.Hash)
	}
}

func TestARepositoryThatWasEmptyASecondAgo(t *testing.T) {
	t.Parallel()
	s := newSiteOf(t, false)
	s.git("checkout", "--quiet", "-b", "work")
	s.git("commit", "--quiet", "--allow-empty", "-m", "Start")
	s.send("main")
	if list := s.list(); len(list) != 0 {
		t.Errorf("listed %+v", list)
	}
	opened, missing := 0, 0
	s.requests.after = func(r *http.Request, response *http.Response) (*http.Response, error) {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/pulls") {
			opened++
			if response.StatusCode == http.StatusNotFound {
				missing++
			}
		}
		return response, nil
	}
	s.propose(edge, "w1")
	switch {
	case opened != missing+1:
		t.Errorf("opening was tried %d times, and answered with 404 %d times", opened, missing)
	case missing == 0:
		t.Log("NOTHING WAS SHOWN HERE: this time Gitea noticed the first push at once, and never answered with 404")
	}
}

func TestANewBranchOfTheSameNameIsNotRejectedByTheServer(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for range 3 {
		var p forge.Proposal
		// Gitea may close a new pull request because of the deletion before, whenever it gets to it.
		s.await("the proposal is open", func() bool {
			_, err := s.forge.Propose(t.Context(), s.push(edge, "w1"))
			s.must(err)
			list := s.list()
			if len(list) > 0 {
				p = list[0]
			}
			return len(list) > 0
		})
		s.must(s.forge.Supersede(t.Context(), p, "the plan has changed"))
		s.must(s.mirror.Push(t.Context(), []git.Update{{Ref: p.Branch, Old: p.Head}}))
		_, err := s.forge.Propose(t.Context(), s.push(edge, "w1"))
		s.must(err)
		for range 10 { // Gitea is done with the deletion some time meanwhile
			s.await("it is not treated as a rejection", func() bool {
				s.list()
				c, err := s.forge.Closed(t.Context(), s.refs(), edge, "w1")
				s.must(err)
				return c.Outcome != forge.OutcomeRejected
			})
		}
	}
}

func TestTheTextIsCorrectedAfterACrash(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.propose(edge, "w1")
	s.push(edge, "w2")
	var p forge.Proposal
	s.await("the text is corrected", func() bool {
		p = s.find(edge)
		s.must(s.forge.Gate(t.Context(), p, forge.Gate{}))
		return strings.Contains(s.fetch(p).Body, "Furrow-Digest: w2")
	})
	if p.Digest != "w2" || !strings.Contains(s.fetch(p).Body, "What w2 brings.") {
		t.Errorf("%+v with text %q", p, s.fetch(p).Body)
	}
}

// Furrow is killed between pushing a branch and writing the text, and a person
// rejects what they read.
func TestWhatWasPushedAndNotWrittenIsRejectedWithWhatWasWritten(t *testing.T) {
	t.Parallel()
	ways := map[string]func(*site, forge.Proposal){
		"by closing it": func(s *site, p forge.Proposal) {
			s.do(http.MethodPatch, s.pull(p), map[string]any{"state": "closed"}, nil)
		},
		"by deleting its branch": func(s *site, _ forge.Proposal) { s.git("push", "--quiet", "origin", ":refs/heads/"+branch) },
	}
	for name, reject := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.made = epoch.AddDate(-5, 0, 0)
			p := s.propose(edge, "w1")
			s.push(edge, "w2")
			fresh := s.newForge(s.mirror, botToken)
			_, err := fresh.List(t.Context(), s.refs())
			s.must(err)
			reject(s, p)
			for range 2 {
				_, err := fresh.List(t.Context(), s.refs())
				s.must(err)
				for _, digest := range []string{"w1", "w2"} {
					s.wantOutcome(fresh, digest, forge.OutcomeRejected)
				}
				s.wantOutcome(fresh, "w3", forge.OutcomeNone)
			}
		})
	}
}

// A server may show for a closed one where its branch is now.
func TestWhatIsPushedAfterARejectionIsNotRejected(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.made = epoch.AddDate(-5, 0, 0)
	p := s.propose(edge, "w1")
	s.do(http.MethodPatch, s.pull(p), map[string]any{"state": "closed"}, nil)
	s.made = epoch
	r := s.push(edge, "w2")
	s.requests.after = func(_ *http.Request, response *http.Response) (*http.Response, error) {
		said, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		response.Body = io.NopCloser(bytes.NewReader(bytes.ReplaceAll(said, []byte(p.Head.String()), []byte(r.Head.String()))))
		return response, err
	}
	s.list()
	s.wantOutcome(s.forge, "w1", forge.OutcomeRejected)
	s.wantOutcome(s.forge, "w2", forge.OutcomeNone)
}

func TestWhatBaseHadForAWhileIsNotMergedForGood(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		end  func(*site, forge.Proposal)
		want forge.Outcome
	}{
		"and a person closes it then": {func(s *site, p forge.Proposal) {
			s.commit("main", map[string]string{edge.Dir("") + "/object.yaml": ""})
			s.find(edge)
			s.do(http.MethodPatch, s.pull(p), map[string]any{"state": "closed"}, nil)
		}, forge.OutcomeRejected},
		"and Furrow closes it": {func(s *site, p forge.Proposal) {
			s.must(s.forge.Supersede(s.Context(), p, "the plan has changed"))
		}, forge.OutcomeSuperseded},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			p := s.propose(edge, "w1")
			s.commit("main", map[string]string{edge.Dir("") + "/object.yaml": "w1"})
			if list := s.list(); len(list) != 0 {
				t.Errorf("listed %+v", list)
			}
			tc.end(s, p)
			s.list()
			s.wantOutcome(s.forge, "w1", tc.want)
		})
	}
}

func TestAConflictThatOnlyGiteaReports(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.propose(edge, "w1")
	s.commit("main", map[string]string{"notes.md": "1\n"})
	clock := clocktesting.NewFakeClock(epoch)
	s.forge = s.newForgeAt(clock)
	s.requests.after = func(r *http.Request, response *http.Response) (*http.Response, error) {
		said, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		said = bytes.ReplaceAll(said, []byte(`"mergeable":true`), []byte(`"mergeable":false`))
		response.Body = io.NopCloser(bytes.NewReader(said))
		return response, err
	}
	s.requests.take()
	want := func(what string, stale bool) {
		t.Helper()
		if got := s.find(edge).Stale; got != stale {
			t.Errorf("%s it is stale: %t", what, got)
		}
	}
	want("in the first pass", false)
	clock.Step(time.Hour)
	for range 5 {
		want("in passes within a second", false)
	}
	clock.Step(9 * time.Second)
	want("while Gitea may still be checking", false)
	clock.Step(time.Second)
	want("when Gitea has had the time to check", true)
	want("from then on", true)
	s.wantRequests("all that", "GET /pulls", "GET /pulls", "GET /pulls/1", "GET /pulls", "GET /pulls", "GET /pulls", "GET /pulls", "GET /pulls", "GET /pulls", "GET /pulls")
	for range 5 {
		if p := s.propose(edge, "w2"); p.Stale {
			t.Fatal("it is stale on the tip of base")
		}
	}
}

func TestAPassMakesGiteaCheckFewPullRequests(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const proposals, most = 7, 5
	for i := range proposals {
		tier := edge
		tier.Ordinal = i
		s.propose(tier, "w1")
	}
	s.commit("main", map[string]string{"notes.md": "1\n"})
	s.requests.after = func(_ *http.Request, response *http.Response) (*http.Response, error) {
		said, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		response.Body = io.NopCloser(bytes.NewReader(bytes.ReplaceAll(said, []byte(`"mergeable":true`), []byte(`"mergeable":false`))))
		return response, err
	}
	checked := map[string]bool{}
	for range 4 {
		s.requests.take()
		s.list()
		checks := slices.DeleteFunc(s.requests.take(), func(request string) bool { return strings.HasSuffix(request, "/pulls") })
		if len(checks) > most {
			t.Errorf("a pass checks %d pull requests, want at most %d: %v", len(checks), most, checks)
		}
		for _, request := range checks {
			checked[request] = true
		}
	}
	if len(checked) != proposals {
		t.Errorf("four passes check %d pull requests, want all %d: %v", len(checked), proposals, checked)
	}
}

func TestMergingWhereAPersonMovedTheDirectory(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.must(s.forge.Merge(t.Context(), s.propose(edge, "w1"), bob))
	next := edge
	next.Ordinal = 1
	p := s.propose(next, "w1")
	s.checkOut("main")
	s.git("mv", "planted", "archive")
	s.git("commit", "--quiet", "-m", "Move it")
	s.send("main")
	s.must(s.forge.Merge(t.Context(), p, bob))
	if _, there, err := s.mirror.Entry(s.refs()["main"], next.Dir("")+"/object.yaml"); err != nil || !there {
		t.Errorf("it was not merged to where it belongs: %v", err)
	}
}

func TestMergingGoesOnWhileTheServerSaysSo(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.propose(edge, "w1")
	says := []string{`{"message":"Please try again later"}`, `{"message":"merge push out of date"}`}
	status := []int{http.StatusMethodNotAllowed, http.StatusConflict}
	s.requests.instead = func(r *http.Request) *http.Response {
		if !strings.HasSuffix(r.URL.Path, "/merge") || len(says) == 0 {
			return nil
		}
		answer := &http.Response{StatusCode: status[0], Header: http.Header{}, Request: r, Body: io.NopCloser(strings.NewReader(says[0]))}
		says, status = says[1:], status[1:]
		return answer
	}
	s.must(s.forge.Merge(t.Context(), p, bob))
	if len(says) > 0 {
		t.Errorf("it never came to %q", says)
	}
}

func TestReopenWhereTheServerWouldReopenAnything(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.must(s.forge.Reject(t.Context(), s.propose(edge, "w1"), bob, "no"))
	rejected := s.find(edge)
	s.commit(branch, map[string]string{"notes.md": "mine\n"})
	if err := s.forge.Reopen(t.Context(), rejected); !forge.IsGone(err) {
		t.Errorf("got %v, want ErrGone", err)
	}
	if s.fetch(rejected).State != "closed" {
		t.Error("it was reopened with other content")
	}
}

func TestCredentialsThatMayNotDoAll(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	user := s.name + "-bot"
	const password = "Correct-horse-1"
	s.do(http.MethodPost, "/admin/users", map[string]any{"username": user, "email": user + "@example.com", "password": password, "must_change_password": false}, nil)
	s.do(http.MethodPut, s.repo("/collaborators/"+user), map[string]any{"permission": "write"}, nil)
	token := func(name string, scopes ...string) string {
		content, err := json.Marshal(map[string]any{"name": name, "scopes": scopes})
		s.must(err)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/api/v1/users/"+user+"/tokens", bytes.NewReader(content))
		s.must(err)
		r.SetBasicAuth(user, password)
		r.Header.Set("Content-Type", "application/json")
		response, err := http.DefaultClient.Do(r)
		s.must(err)
		defer func() { _ = response.Body.Close() }()
		var made struct {
			SHA1 string `json:"sha1"`
		}
		s.must(json.NewDecoder(response.Body).Decode(&made))
		return made.SHA1
	}
	narrow := s.newForge(s.mirror, token("narrow", "write:repository"))
	p, err := narrow.Propose(t.Context(), s.push(edge, "w1"))
	s.must(err)
	if seen := s.fetch(p); len(seen.Labels) != 0 {
		t.Errorf("the token may not read labels, and the proposal has %+v", seen.Labels)
	}
	s.must(narrow.Reject(t.Context(), p, bob, "no"))
	list, err := narrow.List(t.Context(), s.refs())
	s.must(err)
	if len(list) != 1 || list[0].Reason != "no" {
		t.Errorf("listed %+v", list)
	}
	s.must(narrow.Ready(t.Context()))
	reader := s.newForge(s.mirror, token("reader", "read:repository"))
	if err := reader.Ready(t.Context()); !forge.IsFailure(err, forge.FailedAuth) || !strings.Contains(err.Error(), "lack the scope write:repository; make a token") {
		t.Errorf("got %v", err)
	}
	_, err = reader.Propose(t.Context(), s.push(edge, "w2"))
	if !forge.IsFailure(err, forge.FailedAuth) || !strings.Contains(err.Error(), s.name) || !strings.Contains(err.Error(), "write:repository") {
		t.Errorf("got %v", err)
	}
	s.do(http.MethodPut, s.repo("/collaborators/"+user), map[string]any{"permission": "read"}, nil)
	if err := narrow.Ready(t.Context()); !forge.IsFailure(err, forge.FailedAuth) || !strings.Contains(err.Error(), "lack the access to write") {
		t.Errorf("got %v", err)
	}
	_, err = s.newForge(s.mirror, "no-token").List(t.Context(), s.refs())
	if !forge.IsFailure(err, forge.FailedAuth) || strings.Contains(err.Error(), "no-token") {
		t.Errorf("got %v", err)
	}
}

func TestRepositoriesThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.propose(edge, "w1")
	other := edge
	other.Seed = "b"
	r := s.push(other, "w1")
	s.do(http.MethodPatch, s.repo(""), map[string]any{"archived": true}, nil)
	_, err := s.forge.Propose(t.Context(), r)
	for _, err := range []error{err, s.forge.Ready(t.Context())} {
		if err == nil || !strings.Contains(err.Error(), "archived") {
			t.Errorf("archived: got %v", err)
		}
	}
	s.do(http.MethodPatch, s.repo(""), map[string]any{"archived": false}, nil)
	refs := s.refs()
	s.do(http.MethodPatch, s.repo(""), map[string]any{"name": s.name + "-new"}, nil)
	for what, err := range map[string]error{
		"list":    func() error { _, err := s.forge.List(t.Context(), refs); return err }(),
		"propose": func() error { _, err := s.forge.Propose(t.Context(), r); return err }(),
	} {
		if !forge.IsFailure(err, forge.FailedNotFound) || !strings.Contains(err.Error(), s.name+"-new") {
			t.Errorf("%s after a rename: got %v", what, err)
		}
	}
	s.name += "-new"
	s.do(http.MethodDelete, s.repo(""), nil, nil)
	if _, err := s.forge.List(t.Context(), refs); !forge.IsFailure(err, forge.FailedNotFound) {
		t.Errorf("deleted: got %v", err)
	}
	if err := s.forge.Supersede(t.Context(), p, ""); !forge.IsFailure(err, forge.FailedNotFound) {
		t.Errorf("deleted: got %v", err)
	}
}

func TestWhatAPersonPushedToBaseIsMerged(t *testing.T) {
	t.Parallel()
	ways := map[string]func(*site){
		"as it is": func(s *site) { s.git("merge", "--quiet", "--ff-only", "origin/"+branch) },
		"squashed": func(s *site) {
			s.git("merge", "--quiet", "--squash", "origin/"+branch)
			s.git("commit", "--quiet", "-m", "Plant it")
		},
	}
	for name, land := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			p := s.propose(edge, "w1")
			s.checkOut("main")
			land(s)
			s.send("main")
			if list := s.list(); len(list) != 0 {
				t.Errorf("listed %+v", list)
			}
			s.must(s.mirror.Push(t.Context(), []git.Update{{Ref: p.Branch, Old: p.Head}}))
			s.await("Gitea closes it", func() bool { return s.fetch(p).State == "closed" })
			s.commit("main", map[string]string{edge.Dir("") + "/object.yaml": ""})
			s.list()
			s.wantOutcome(s.forge, "w1", forge.OutcomeMerged)
		})
	}
}

func TestWhereItLandedIsKnownAlsoWhenItIsRejectedLater(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.propose(edge, "w1")
	s.must(s.forge.Merge(t.Context(), p, bob))
	landed := s.refs()["main"]
	s.must(s.mirror.Push(t.Context(), []git.Update{{Ref: p.Branch, Old: p.Head}}))
	s.commit("main", map[string]string{edge.Dir("") + "/more.yaml": "theirs\n"})
	again := s.propose(edge, "w1")
	s.do(http.MethodPatch, s.pull(again), map[string]any{"state": "closed"}, nil)
	s.list()
	closed, err := s.forge.Closed(t.Context(), s.refs(), edge, "w1")
	s.must(err)
	if closed.Outcome != forge.OutcomeRejected || len(closed.Landings) != 1 || closed.Landings[0].Merge != landed {
		t.Errorf("got %+v, want it Rejected, and landed by %s", closed, landed)
	}
}

// mergeMeanwhile merges a proposal for a person in the moment in which the open pull
// requests are asked for, when the branches were read already.
func (s *site) mergeMeanwhile(p forge.Proposal) {
	merged := false
	s.requests.instead = func(r *http.Request) *http.Response {
		if !merged && r.URL.Query().Get("state") == "open" {
			merged = true
			person{s}.Merge(s.T, p, forgetest.MergeCommit)
		}
		return nil
	}
}

func TestWhatIsMergedWhileProposalsAreListedIsReadAgain(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.propose(edge, "w1")
	before := s.refs()
	s.mergeMeanwhile(p)
	if list, err := s.forge.List(t.Context(), before); !forge.IsGone(err) {
		t.Errorf("got %+v, %v, want ErrGone", list, err)
	}
	for who, f := range map[string]forge.Forge{"this process": s.forge, "another one": s.newForge(s.mirror, botToken)} {
		if c, err := f.Closed(t.Context(), before, edge, "w1"); !forge.IsGone(err) {
			t.Errorf("%s: got %+v, %v, want ErrGone", who, c, err)
		}
		s.wantOutcome(f, "w1", forge.OutcomeMerged)
	}
	if list := s.list(); len(list) != 0 {
		t.Errorf("listed %+v", list)
	}
}

func TestAMergeThatAForcePushTookOutOfBaseCountsAsNone(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	before := s.refs()["main"].String()
	p := s.propose(edge, "w1")
	s.must(s.forge.Merge(t.Context(), p, bob))
	s.must(s.mirror.Push(t.Context(), []git.Update{{Ref: p.Branch, Old: p.Head}}))
	s.list()
	s.wantOutcome(s.forge, "w1", forge.OutcomeMerged)
	s.git("push", "--quiet", "--force", "origin", before+":refs/heads/main")
	late := s.newMirror()
	_, err := late.Fetch(t.Context(), "main")
	s.must(err)
	forges := map[string]forge.Forge{"a mirror that has the merge": s.forge, "one that never had it": s.newForge(late, botToken)}
	for what, f := range forges {
		for range 2 {
			if c, err := f.Closed(t.Context(), s.refs(), edge, "w1"); err != nil || c.Outcome != forge.OutcomeNone {
				t.Errorf("%s: got %+v, %v", what, c, err)
			}
		}
	}
	s.propose(edge, "w1")
}

func TestTheReasonOfARejectionIsThatOfWhoClosedIt(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("no ", 2000)
	cases := map[string]struct{ mine, theirs, want string }{
		"who closed it spoke before somebody else did": {"not before Monday", "all checks have passed", "not before Monday"},
		"who closed it said nothing":                   {"", "not before Monday", "not before Monday"},
		"it is long":                                   {long, "", long[:297] + "…"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			p := s.propose(edge, "w1")
			for _, said := range []struct{ token, text string }{{server.AdminToken, tc.mine}, {botToken, tc.theirs}} {
				if said.text == "" {
					continue
				}
				if status, why := s.askAs(said.token, http.MethodPost, s.issue(p)+"/comments", map[string]any{"body": said.text}, nil); status/100 != 2 {
					t.Fatalf("comment: %d %s", status, why)
				}
			}
			s.do(http.MethodPatch, s.pull(p), map[string]any{"state": "closed"}, nil)
			if got := s.find(edge).Reason; got != tc.want {
				t.Errorf("the reason is %q, want %q", got, tc.want)
			}
		})
	}
}

func TestAReasonThatCannotBeReadKeepsNothingFromBeingListed(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.propose(edge, "w1")
	person{s}.Close(t, p, "not before Monday")
	s.requests.instead = func(r *http.Request) *http.Response {
		if !strings.HasSuffix(r.URL.Path, "/timeline") {
			return nil
		}
		return &http.Response{StatusCode: http.StatusInternalServerError, Header: http.Header{}, Request: r, Body: http.NoBody}
	}
	s.requests.take()
	for range 3 {
		if p := s.find(edge); !p.Rejected || p.Reason != "" {
			t.Errorf("listed %+v", p)
		}
	}
	asked := 0
	for _, made := range s.requests.take() {
		if strings.Contains(made, "/issues/1/") {
			asked++
		}
	}
	if asked > 4 { // how it was closed may be asked each time
		t.Errorf("the reason was asked for again at once: %d questions", asked)
	}
}

func TestWhatGiteaClosedByItselfIsMergedOrNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.requests.instead = func(r *http.Request) *http.Response {
		if !strings.HasSuffix(r.URL.Path, "/timeline") {
			return nil
		}
		return &http.Response{
			StatusCode: http.StatusOK, Request: r, Header: http.Header{"Content-Type": {"application/json"}},
			Body: io.NopCloser(strings.NewReader(`[{"type": "delete_branch"}]`)),
		}
	}
	p := s.propose(edge, "w1")
	s.do(http.MethodPatch, s.pull(p), map[string]any{"state": "closed"}, nil)
	for range 2 {
		s.list()
		s.wantOutcome(s.forge, "w1", forge.OutcomeNone)
	}
	s.checkOut("main")
	s.git("merge", "--quiet", "--squash", "origin/"+branch)
	s.git("commit", "--quiet", "--reuse-message=origin/"+branch)
	s.send("main")
	s.wantOutcome(s.forge, "w1", forge.OutcomeMerged)
	s.wantOutcome(s.newForge(s.mirror, botToken), "w1", forge.OutcomeMerged)
}

func TestWhatBaseRequires(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	list := func() string {
		got, err := s.newForge(s.mirror, botToken).Requires(t.Context())
		s.must(err)
		return strings.Join(got.List(), "; ")
	}
	if got := list(); got != "" {
		t.Errorf("without a rule: %q", got)
	}
	s.protect(map[string]any{"enable_status_check": true, "status_check_contexts": []string{"furrow/*", "ci"}, "required_approvals": 2})
	if got := list(); got != "2 approvals; checks: furrow/*, ci" {
		t.Errorf("with a rule: %q", got)
	}
}

package gitea_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/forgetest"
	"github.com/furrow-dev/furrow/internal/git"
)

func TestContract(t *testing.T) {
	forgetest.Run(t, func(t *testing.T) forgetest.Fixture {
		t.Helper()
		s := newSite(t)
		return forgetest.Fixture{
			Forge: s.forge, Mirror: s.mirror, Base: "main", Person: person{s},
			MergeMethods: map[forgetest.MergeMethod]bool{
				forgetest.MergeCommit: true, forgetest.FastForward: true, forgetest.Rebase: true,
				forgetest.RebaseMerge: true, forgetest.Squash: true,
			},
			ReportsMerge: true,
			Closes:       true,
			Delete: func(t *testing.T, branch string) {
				t.Helper()
				s.git("push", "--quiet", "origin", ":refs/heads/"+branch)
			},
			Reopen: func(t *testing.T, p forge.Proposal) {
				t.Helper()
				s.do(http.MethodPatch, s.pull(p), map[string]any{"state": "open"}, nil)
			},
			Closed: func(t *testing.T, p forge.Proposal) bool { t.Helper(); return s.fetch(p).State == "closed" },
			Gate:   func(t *testing.T, p forge.Proposal) (bool, string) { t.Helper(); return s.gate(p) },
			Labels: func(t *testing.T, p forge.Proposal) (out []string) {
				t.Helper()
				for _, label := range s.fetch(p).Labels {
					out = append(out, label.Name)
				}
				return out
			},
			Other: func(t *testing.T) forge.Forge { t.Helper(); return s.newForge(s.mirror, botToken) },
		}
	})
}

// person is somebody with a clone, and in front of Gitea's pages.
type person struct{ site *site }

func (p person) Commit(t *testing.T, branch string, files map[string]string) {
	t.Helper()
	p.site.commit(branch, files)
}

func (p person) Amend(t *testing.T, branch string, files map[string]string) {
	t.Helper()
	p.site.checkOut(branch)
	p.site.save(files)
	p.site.git("commit", "--quiet", "--amend", "--no-edit")
	p.site.send(branch)
}

func (p person) Update(t *testing.T, branch string) {
	t.Helper()
	p.site.checkOut(branch)
	p.site.git("merge", "--quiet", "--no-edit", "origin/main")
	p.site.send(branch)
}

func (p person) Reset(t *testing.T, branch string, to git.Hash) {
	t.Helper()
	p.site.git("fetch", "--quiet")
	p.site.git("push", "--quiet", "--force", "origin", to.String()+":refs/heads/"+branch)
}

// styles are Gitea's names of the ways to merge.
var styles = map[forgetest.MergeMethod]string{
	forgetest.MergeCommit: "merge", forgetest.FastForward: "fast-forward-only", forgetest.Rebase: "rebase",
	forgetest.RebaseMerge: "rebase-merge", forgetest.Squash: "squash",
}

func (p person) Merge(t *testing.T, proposal forge.Proposal, method forgetest.MergeMethod) {
	t.Helper()
	p.site.mergeBy(proposal, styles[method])
}

func (s *site) mergeBy(p forge.Proposal, style string) {
	s.Helper()
	said := ""
	s.await("Gitea merges "+p.URL, func() bool {
		var status int
		status, said = s.ask(http.MethodPost, s.pull(p)+"/merge", map[string]any{"Do": style}, nil)
		if status/100 != 2 && !strings.Contains(said, "try again") {
			s.Fatalf("merge %s by %s: %d %s", p.URL, style, status, said)
		}
		return status/100 == 2
	})
}

func (p person) Close(t *testing.T, proposal forge.Proposal, reason string) {
	t.Helper()
	p.site.do(http.MethodPost, p.site.issue(proposal)+"/comments", map[string]any{"body": reason}, nil)
	p.site.do(http.MethodPatch, p.site.pull(proposal), map[string]any{"state": "closed"}, nil)
}

// gate is the commit status as people read it.
func (s *site) gate(p forge.Proposal) (holds bool, why string) {
	s.Helper()
	var combined struct {
		Statuses []struct{ Status, Context, Description string }
	}
	s.do(http.MethodGet, s.repo("/commits/"+p.Head.String()+"/status"), nil, &combined)
	for _, status := range combined.Statuses {
		if status.Context == "furrow/gate" {
			return status.Status == "success", status.Description
		}
	}
	return true, "" // where base does not require it
}

package pull_test

import (
	"testing"

	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/forgetest"
	"github.com/furrow-dev/furrow/internal/forge/pull"
	"github.com/furrow-dev/furrow/test/gitcmd"
	"github.com/furrow-dev/furrow/test/people"
)

func TestMain(m *testing.M) { gitcmd.Main(m) }

func TestContract(t *testing.T) {
	forgetest.Run(t, func(t *testing.T) forgetest.Fixture {
		t.Helper()
		s := newSite(t)
		person := personAt{people.Clone{Bare: s.bare}, s.server}
		return forgetest.Fixture{
			Forge: s.forge, Mirror: s.mirror, Base: "main", Person: person,
			MergeMethods: map[forgetest.MergeMethod]bool{
				forgetest.MergeCommit: true, forgetest.FastForward: true, forgetest.Rebase: true, forgetest.Squash: true,
			},
			ReportsMerge: true,
			Closes:       true,
			Delete: func(t *testing.T, branch string) {
				t.Helper()
				gitcmd.Run(t, s.bare, "update-ref", "-d", "refs/heads/"+branch)
			},
			Reopen: func(t *testing.T, p forge.Proposal) {
				t.Helper()
				open := pull.Open
				_, err := s.server.Edit(t.Context(), p.Number, pull.Edit{State: &open})
				s.must(err)
			},
			Closed: func(t *testing.T, p forge.Proposal) bool {
				t.Helper()
				r, err := s.server.Get(t.Context(), p.Number)
				s.must(err)
				return r.State == pull.Closed
			},
			Gate: func(t *testing.T, p forge.Proposal) (bool, string) {
				t.Helper()
				status, there := s.server.statuses[p.Head]
				return status.Passed || !there, status.Text
			},
			Labels: func(t *testing.T, p forge.Proposal) []string {
				t.Helper()
				r, err := s.server.Get(t.Context(), p.Number)
				s.must(err)
				return r.Labels
			},
			Other: func(t *testing.T) forge.Forge { t.Helper(); return s.newForge() },
		}
	})
}

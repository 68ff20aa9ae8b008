package pass_test

import (
	"strings"
	"testing"
	"time"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/githash"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/pass"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/internal/core/review"
)

// revision returns a commit of the control plane, and its revision.
func revision(digit string) (layout.Hash, string) {
	digits := strings.Repeat(digit, 40)
	hash, err := githash.Parse(digits)
	if err != nil {
		panic(err)
	}
	return hash, "main@sha1:" + digits
}

func TestANewerPlanIsNotReplaced(t *testing.T) {
	planned, was := revision("b")
	_, is := revision("a")
	for name, c := range map[string]struct {
		relation pass.Relation
		clone    bool
		arrange  func(*pass.Facts)
		want     v1alpha1.Reason
		// wantMoved reports whether the new plan says what it replaces.
		wantMoved bool
	}{
		"a clone that is ahead goes on":                        {relation: pass.Older, clone: true},
		"a clone that is behind does nothing":                  {relation: pass.Newer, clone: true, want: v1alpha1.ReasonControlPlaneBehind},
		"a clone of another history does nothing":              {relation: pass.Diverged, clone: true, want: v1alpha1.ReasonControlPlaneUnrelated},
		"a clone without the commit does nothing":              {relation: pass.Unknown, clone: true, want: v1alpha1.ReasonControlPlaneUnrelated},
		"a person may take over":                               {relation: pass.Newer, clone: true, arrange: func(f *pass.Facts) { f.ControlPlane.TakeOver = true }, wantMoved: true},
		"the repository itself may be moved back":              {relation: pass.Newer, wantMoved: true},
		"the repository itself may be rewritten":               {relation: pass.Diverged, wantMoved: true},
		"a made-up commit does not stall the repository":       {relation: pass.Unknown, wantMoved: true},
		"a plan without a commit can be replaced":              {relation: pass.Unknown, clone: true, arrange: func(f *pass.Facts) { f.Plans[0].Plan.Revision = "" }},
		"a plan of files on disk can be replaced":              {relation: pass.Unknown, clone: true, arrange: func(f *pass.Facts) { f.Plans[0].Plan.Revision = "the files on disk" }},
		"files on disk are not compared":                       {relation: pass.Unknown, clone: true, arrange: func(f *pass.Facts) { f.ControlPlane.Revision = "the files on disk" }},
		"a plan of another environment is not compared":        {relation: pass.Newer, clone: true, arrange: func(f *pass.Facts) { f.Self.Owner = "acme/other" }},
		"a control plane that cannot be read replaces nothing": {relation: pass.Newer, clone: true, arrange: func(f *pass.Facts) { f.ControlPlane.Unread = "down" }},
		"the repository waits for a run of a clone that is ahead": {
			relation: pass.Unknown, arrange: reportedBy(was, true, time.Minute), want: v1alpha1.ReasonControlPlaneUnrelated,
		},
		"the repository goes on once that run has ended": {
			relation: pass.Unknown, arrange: reportedBy(was, true, 2*pass.WriterTimeout), wantMoved: true,
		},
		"the repository does not wait for a report from the future": {
			relation: pass.Unknown, arrange: reportedBy(was, true, -time.Hour), wantMoved: true,
		},
		"the repository does not wait for a run that has ended": {
			relation: pass.Newer, arrange: func(f *pass.Facts) {
				reportedBy(was, true, time.Minute)(f)
				f.ControlPlane.Writer.Ended = true
			}, wantMoved: true,
		},
		"the repository does not wait for a run of the repository": {
			relation: pass.Newer, arrange: reportedBy(was, false, time.Minute), wantMoved: true,
		},
		"a clone that is behind what was read last does nothing, also without a plan": {
			relation: pass.Newer, clone: true, want: v1alpha1.ReasonControlPlaneBehind, arrange: func(f *pass.Facts) {
				reportedBy(was, false, time.Hour)(f)
				f.Plans = nil
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := planted(one(t), map[string][]string{"web": {configMap("c", 1, on("east"))}})
			f.seed("web", configMap("c", 2, on("east")))
			f.commit = &review.Commit{}
			facts := f.facts()
			first := *facts.Plans[0].Plan
			facts.Plans[0].Plan, first.Revision = &first, was
			cp := &facts.ControlPlane
			cp.Revision, cp.Compared, cp.Clone, cp.Relations = is, true, c.clone, map[layout.Hash]pass.Relation{planned: c.relation}
			if c.arrange != nil {
				c.arrange(facts)
			}
			d, _ := f.ask(facts, nil)
			if got := d.Refusal; got == nil != (c.want == "") {
				t.Fatalf("refused with %v, want %q", got, c.want)
			}
			if c.want != "" {
				mustNameBoth(t, d.Refusal, c.want, is, was)
				return
			}
			if s := d.Seeds["web"]; s.Plan != nil && (s.Plan.MovedFrom == was) != c.wantMoved {
				t.Errorf("the new plan was moved from %q, want %v", s.Plan.MovedFrom, c.wantMoved)
			}
		})
	}
}

func reportedBy(revision string, clone bool, ago time.Duration) func(*pass.Facts) {
	return func(f *pass.Facts) {
		f.ControlPlane.Writer = &pass.Writer{Name: "furrow run on laptop (process 7)", Revision: revision, Clone: clone, At: f.Now.Add(-ago)}
	}
}

func mustNameBoth(t *testing.T, err error, reason v1alpha1.Reason, is, was string) {
	t.Helper()
	p := manifest.ProblemOf(err)
	if p.Reason != reason || !strings.Contains(p.Message, is) || !strings.Contains(p.Message, was) || !strings.Contains(p.Next, "--take-over") {
		t.Errorf("refused with %+v, want %s with both commits and --take-over", p, reason)
	}
}

func TestGatesOfAnotherControlPlaneStay(t *testing.T) {
	for name, c := range map[string]struct {
		arrange func(*fleet)
		want    []string
	}{
		"a stale proposal of a seed whose plan cannot be read is shut": {func(f *fleet) { f.repos["a"].plans = map[layout.Hash]*plan.Plan{} }, []string{"a: Gate tier/web/east/00 shut"}},
		"one of another owner is not":                                  {func(f *fleet) { f.self.Owner = "other/test" }, []string{}},
		"one of another origin is not":                                 {func(f *fleet) { f.self.Origin = "sha256:other" }, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			f := one(t)
			f.seed("web", configMap("c", 1, on("east")))
			f.step()
			f.change("web/east/00", func(p *pass.Proposal) { p.Stale = true })
			c.arrange(f)
			if got := actions(f.decide()); strings.Join(got, "\n") != strings.Join(c.want, "\n") {
				t.Errorf("actions are %q, want %q", got, c.want)
			}
		})
	}
}

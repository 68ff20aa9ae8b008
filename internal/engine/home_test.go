package engine_test

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/git"
)

// downMirror is a repository whose server does not answer while it is said to be down.
type downMirror struct {
	engine.Mirror
	down *map[string]bool
	name string
}

func (m downMirror) Fetch(ctx context.Context, base string) (git.Refs, error) {
	if (*m.down)[m.name] {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
	}
	return m.Mirror.Fetch(ctx, base)
}

// withOutages is an engine some of whose repositories may be down.
func (e *estate) withOutages(down *map[string]bool) *engine.Engine {
	return e.engineWith(rival{}, func(c *engine.Config) {
		open := c.Open
		c.Open = func(ctx context.Context, name string, spec v1alpha1.GitOpsRepoSpec) (engine.Repo, error) {
			repo, err := open(ctx, name, spec)
			repo.Mirror = downMirror{repo.Mirror, down, name}
			return repo, err
		}
	})
}

func (e *estate) statuses() (found []string) {
	for _, repo := range []string{"a", "b"} {
		if !e.branches(repo)[layout.StatusBranch("main", "acme/prod")].IsZero() {
			found = append(found, repo)
		}
	}
	return found
}

func TestTheStatusHasOneHomeAlsoWhileThatIsDown(t *testing.T) {
	e := newEstate(t, twoSites())
	e.plant(seeds{"web": web("app", 1, "site-a,site-b")})
	down := map[string]bool{"a": true}
	furrow := e.withOutages(&down)
	for range 3 {
		e.pass(furrow)
	}
	if got := e.statuses(); len(got) != 0 {
		t.Errorf("the status is in %v while its home is down", got)
	}
	down["a"] = false
	e.converge(furrow)
	if got := e.statuses(); len(got) != 1 || got[0] != "a" {
		t.Errorf("the status is in %v", got)
	}
}

func TestAStatusThatIsNotAtHomeIsRemoved(t *testing.T) {
	e := newEstate(t, twoSites())
	e.plant(seeds{"web": web("app", 1, "site-b")})
	document := e.control.files()["repos/a.yaml"]
	e.control.put("main", "without a", map[string]string{"repos/a.yaml": "", "clusters/site-a.yaml": ""})
	furrow := e.engine(rival{})
	e.converge(furrow)
	if got := e.statuses(); len(got) != 1 || got[0] != "b" {
		t.Errorf("the status is in %v", got)
	}
	e.control.put("main", "with a", map[string]string{"repos/a.yaml": document})
	e.converge(furrow)
	if got := e.statuses(); len(got) != 1 || got[0] != "a" {
		t.Errorf("the status is in %v", got)
	}

	// A document with a mistake in it does not move the status.
	e.control.put("main", "break a", map[string]string{"repos/a.yaml": "apiVersion: furrow.dev/v1alpha1\nkind: GitOpsRepo\nmetadata: {name: a}\nspec: {urk: x}\n"})
	e.pass(furrow, furrow)
	if got := e.statuses(); len(got) != 1 || got[0] != "a" {
		t.Errorf("the status is in %v", got)
	}
}

func TestTheStatusSaysWhatIsStaleSinceWhen(t *testing.T) {
	e := newEstate(t, twoSites())
	e.plant(seeds{"web": web("app", 1, "site-b")})
	down := map[string]bool{}
	furrow := e.withOutages(&down)
	e.converge(furrow)
	if len(e.report.Stale) != 0 {
		t.Errorf("stale: %v", e.report.Stale)
	}
	down["b"] = true
	began := e.now
	e.pass(furrow)
	if len(e.report.Stale) != 1 || e.report.Stale[0].Repo != "b" || e.report.Stale[0].Since.Before(began) {
		t.Fatalf("stale: %v", e.report.Stale)
	}
	since := e.report.Stale[0].Since
	for range 3 {
		e.pass(furrow)
	}
	if got := e.report.Stale[0].Since; got != since {
		t.Errorf("stale since %s, and since %s before", got, since)
	}

	// Another run goes on with what this one has reported.
	again := e.withOutages(&down)
	e.pass(again, again)
	if got := e.publishedStatus("a"); len(got.Stale) != 1 || !got.Stale[0].Since.Equal(since) {
		t.Errorf("published as stale: %v, want since %s", got.Stale, since)
	}
	down["b"] = false
	e.converge(again)
	if got := e.publishedStatus("a"); len(got.Stale) != 0 {
		t.Errorf("still stale: %v", got.Stale)
	}
}

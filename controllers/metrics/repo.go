package metrics

import (
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/merging"
	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
)

// calls counts and measures calls of a server.
type calls struct {
	total    *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

func (c calls) forget(of prometheus.Labels) {
	c.total.DeletePartialMatch(of)
	c.duration.DeletePartialMatch(of)
}

// outcomes are the outcomes of calls; the first that matches an error applies.
var outcomes = []struct {
	name string
	of   func(error) bool
}{
	{"ok", func(err error) bool { return err == nil || forge.IsQueued(err) }},
	{"rate_limited", func(err error) bool { _, asked := git.RetryAfter(err); return asked }},
	{"auth", git.IsAuth},
	{"not_found", git.IsNotFound},
	{"network", git.IsNetwork},
	{"refused", refused},
	{"lease", git.IsLeaseRefused},
	{"other", func(error) bool { return true }},
}

// refused reports whether a person has to fix a branch or proposal before the call can succeed.
func refused(err error) bool {
	return git.IsRefRefused(err) || forge.IsConflict(err) || forge.IsGone(err) || forge.IsRejected(err) || forge.IsForeign(err)
}

// outcomeOf returns the first outcome in the table that fits.
func outcomeOf(err error) string {
	for _, o := range outcomes {
		if o.of(err) {
			return o.name
		}
	}
	return ""
}

// meter counts the calls of one repository.
type meter struct {
	calls
	repo
	clock clock.PassiveClock
}

// call makes a call and counts it, unless it was canceled.
func (m meter) call(operation string, f func() error) error {
	began := m.clock.Now()
	err := f()
	if errors.Is(err, context.Canceled) {
		return err
	}
	m.total.WithLabelValues(m.namespace, m.name, operation, outcomeOf(err)).Inc()
	m.duration.WithLabelValues(m.namespace, m.name, operation).Observe(m.clock.Since(began).Seconds())
	return err
}

// ask is call for a function with a result.
func ask[T any](m meter, operation string, f func() (T, error)) (answer T, err error) {
	err = m.call(operation, func() error {
		answer, err = f()
		return err
	})
	return answer, err
}

// Repo counts the calls of a GitOps repository and its forge.
func (m *Metrics) Repo(namespace, name string, r engine.Repo) engine.Repo {
	at := repo{namespace, name}
	m.open(at)
	return engine.Repo{
		Mirror: mirror{r.Mirror, meter{m.git, at, m.clock}},
		Forge:  proposals{r.Forge, meter{m.forge, at, m.clock}},
	}
}

// mirror counts the calls of the Git server, except the objects that a mirror fetches later by
// itself.
type mirror struct {
	engine.Mirror
	meter meter
}

func (m mirror) Fetch(ctx context.Context, base string) (git.Refs, error) {
	return ask(m.meter, "fetch", func() (git.Refs, error) { return m.Mirror.Fetch(ctx, base) })
}

func (m mirror) Push(ctx context.Context, updates []git.Update) error {
	return m.meter.call("push", func() error { return m.Mirror.Push(ctx, updates) })
}

// proposals counts the calls of a forge.
type proposals struct {
	forge.Forge
	meter meter
}

func (p proposals) Ready(ctx context.Context) error {
	return p.meter.call("ready", func() error { return p.Forge.Ready(ctx) })
}

func (p proposals) Requires(ctx context.Context) (forge.Requirements, error) {
	return ask(p.meter, "requires", func() (forge.Requirements, error) { return p.Forge.Requires(ctx) })
}

func (p proposals) Merging(ctx context.Context) (merging.Repository, error) {
	return ask(p.meter, "merging", func() (merging.Repository, error) { return p.Forge.Merging(ctx) })
}

func (p proposals) List(ctx context.Context, refs git.Refs) ([]forge.Proposal, error) {
	return ask(p.meter, "list", func() ([]forge.Proposal, error) { return p.Forge.List(ctx, refs) })
}

func (p proposals) Closed(ctx context.Context, refs git.Refs, tier layout.Tier, digest string) (forge.Closed, error) {
	return ask(p.meter, "closed", func() (forge.Closed, error) { return p.Forge.Closed(ctx, refs, tier, digest) })
}

func (p proposals) Propose(ctx context.Context, r forge.Request) (forge.Proposal, error) {
	return ask(p.meter, "propose", func() (forge.Proposal, error) { return p.Forge.Propose(ctx, r) })
}

func (p proposals) Supersede(ctx context.Context, proposal forge.Proposal, why string) error {
	return p.meter.call("supersede", func() error { return p.Forge.Supersede(ctx, proposal, why) })
}

func (p proposals) Merge(ctx context.Context, proposal forge.Proposal, by git.Person) error {
	return p.meter.call("merge", func() error { return p.Forge.Merge(ctx, proposal, by) })
}

func (p proposals) Reject(ctx context.Context, proposal forge.Proposal, by git.Person, reason string) error {
	return p.meter.call("reject", func() error { return p.Forge.Reject(ctx, proposal, by, reason) })
}

func (p proposals) Reopen(ctx context.Context, proposal forge.Proposal) error {
	return p.meter.call("reopen", func() error { return p.Forge.Reopen(ctx, proposal) })
}

func (p proposals) Gate(ctx context.Context, proposal forge.Proposal, g forge.Gate) error {
	return p.meter.call("gate", func() error { return p.Forge.Gate(ctx, proposal, g) })
}

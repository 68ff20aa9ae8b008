package engine_test

import (
	"context"
	"io/fs"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/health"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/internal/probe"
)

// mode is what becomes of one edge call.
type mode int

const (
	passes mode = iota
	failsBefore
	failsAfter
	failsTwice // this call before its effect, and the next one too
	crashesBefore
	crashesAfter
)

// errFault is what a failing edge call returns.
var errFault error = manifest.Problem{Reason: v1alpha1.ReasonRepositoryUnavailable, Message: "the edge failed, as the test wants it"}

// crash is what a killed engine panics with.
type crash struct{}

// faults counts edge calls and disturbs the at-th one, counted from 1.
type faults struct {
	calls int
	at    int
	mode  mode
	// rate, when set, disturbs calls at random instead.
	rate func() mode
}

// do runs one edge call.
func (f *faults) do(effect func() error) error {
	f.calls++
	m := passes
	switch {
	case f.rate != nil:
		m = f.rate()
	case f.calls == f.at:
		m = f.mode
	case f.mode == failsTwice && f.calls == f.at+1:
		m = failsBefore
	}
	switch m {
	case failsBefore, failsTwice:
		return errFault
	case crashesBefore:
		panic(crash{})
	}
	err := effect()
	switch m {
	case failsAfter:
		return errFault
	case crashesAfter:
		panic(crash{})
	}
	return err
}

// faultyMirror disturbs what a mirror does over the network, or writes.
type faultyMirror struct {
	engine.Mirror
	faults *faults
}

func (m faultyMirror) Fetch(ctx context.Context, base string) (refs git.Refs, err error) {
	err = m.faults.do(func() error { refs, err = m.Mirror.Fetch(ctx, base); return err })
	return refs, err
}

func (m faultyMirror) Blob(ctx context.Context, hash git.Hash) (data []byte, err error) {
	err = m.faults.do(func() error { data, err = m.Mirror.Blob(ctx, hash); return err })
	return data, err
}

func (m faultyMirror) BlobUpTo(ctx context.Context, hash git.Hash, limit int64) (data []byte, err error) {
	err = m.faults.do(func() error { data, err = m.Mirror.BlobUpTo(ctx, hash, limit); return err })
	return data, err
}

func (m faultyMirror) FS(ctx context.Context, commit git.Hash) (tree fs.FS, err error) {
	err = m.faults.do(func() error { tree, err = m.Mirror.FS(ctx, commit); return err })
	return tree, err
}

func (m faultyMirror) WriteTree(files map[string][]byte) (tree git.Tree, err error) {
	err = m.faults.do(func() error { tree, err = m.Mirror.WriteTree(files); return err })
	return tree, err
}

func (m faultyMirror) Graft(base git.Hash, edits []git.Edit, meta git.CommitMeta) (out git.Grafted, err error) {
	err = m.faults.do(func() error { out, err = m.Mirror.Graft(base, edits, meta); return err })
	return out, err
}

func (m faultyMirror) Push(ctx context.Context, updates []git.Update) error {
	return m.faults.do(func() error { return m.Mirror.Push(ctx, updates) })
}

// faultyForge disturbs a forge.
type faultyForge struct {
	forge.Forge
	faults *faults
	// proposed is called with every proposal before it is opened.
	proposed func(forge.Request)
}

func (f faultyForge) List(ctx context.Context, refs git.Refs) (out []forge.Proposal, err error) {
	err = f.faults.do(func() error { out, err = f.Forge.List(ctx, refs); return err })
	return out, err
}

func (f faultyForge) Closed(ctx context.Context, refs git.Refs, tier layout.Tier, digest string) (out forge.Closed, err error) {
	err = f.faults.do(func() error { out, err = f.Forge.Closed(ctx, refs, tier, digest); return err })
	return out, err
}

func (f faultyForge) Propose(ctx context.Context, r forge.Request) (out forge.Proposal, err error) {
	f.proposed(r)
	err = f.faults.do(func() error { out, err = f.Forge.Propose(ctx, r); return err })
	return out, err
}

func (f faultyForge) Supersede(ctx context.Context, p forge.Proposal, why string) error {
	return f.faults.do(func() error { return f.Forge.Supersede(ctx, p, why) })
}

// faultyChannel disturbs a health channel.
type faultyChannel struct {
	probe.Channel
	faults *faults
	// onRoot changes what is said of roots; nil leaves it.
	onRoot func(*health.Root)
	// onReconciler changes what is said of reconciler objects; nil leaves it.
	onReconciler func(*health.Reconciler)
}

func (c faultyChannel) Roots(ctx context.Context, keys []probe.RootKey) (out map[probe.RootKey]health.Root, err error) {
	err = c.faults.do(func() error { out, err = c.Channel.Roots(ctx, keys); return err })
	for key, root := range out {
		if c.onRoot != nil {
			c.onRoot(&root)
			out[key] = root
		}
	}
	return out, err
}

func (c faultyChannel) Reconcilers(ctx context.Context, keys []probe.ReconcilerKey) (out map[probe.ReconcilerKey]health.Reconciler, err error) {
	err = c.faults.do(func() error { out, err = c.Channel.Reconcilers(ctx, keys); return err })
	for key, seen := range out {
		if c.onReconciler != nil {
			c.onReconciler(&seen)
			out[key] = seen
		}
	}
	return out, err
}

func (c faultyChannel) Creators(ctx context.Context, keys []probe.CreatorKey) (out map[probe.CreatorKey]health.Creator, err error) {
	err = c.faults.do(func() error { out, err = c.Channel.Creators(ctx, keys); return err })
	return out, err
}

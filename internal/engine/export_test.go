package engine

import (
	"context"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/pass"
)

// Single requests outside of a pass, as the commands make them.

func request[T any](ctx context.Context, e *Engine, do func(*Requests) (T, error)) (out T, err error) {
	q, err := e.Requests(ctx)
	if err != nil {
		return out, err
	}
	return do(q)
}

func (e *Engine) Retry(ctx context.Context, seed string) error {
	_, err := request(ctx, e, func(q *Requests) (any, error) { return nil, q.Retry(ctx, seed, "", "") })
	return err
}

func (e *Engine) RetryRejected(ctx context.Context, seed string) ([]layout.Tier, error) {
	return request(ctx, e, func(q *Requests) ([]layout.Tier, error) { return q.RetryRejected(ctx, seed, "", "") })
}

func (e *Engine) Confirm(ctx context.Context, seed string) ([]string, error) {
	return request(ctx, e, func(q *Requests) ([]string, error) { return q.Confirm(ctx, seed, "") })
}

func (e *Engine) Overwritten(ctx context.Context, seed string) (pass.Overwrites, error) {
	return request(ctx, e, func(q *Requests) (pass.Overwrites, error) { return q.Overwritten(ctx, seed) })
}

func (e *Engine) Abandon(ctx context.Context, cluster string) error {
	_, err := request(ctx, e, func(q *Requests) (any, error) { return nil, q.Abandon(ctx, cluster, "") })
	return err
}

func (e *Engine) UndoAbandon(ctx context.Context, cluster string) error {
	_, err := request(ctx, e, func(q *Requests) (any, error) { return nil, q.UndoAbandon(ctx, cluster) })
	return err
}

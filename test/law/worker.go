package law

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
)

// worker has API servers that it reuses for one stack after the other.
type worker struct {
	dir       string
	authority *authority
	started   []*cluster
}

// start returns a cluster for each name. The clusters hold what they held before.
func (w *worker) start(ctx context.Context, names []string) (map[string]*cluster, error) {
	chosen := map[string]*cluster{}
	for i, name := range names {
		if i == len(w.started) {
			c, err := startCluster(ctx, filepath.Join(w.dir, fmt.Sprint(i)), w.authority)
			if err != nil {
				return nil, fmt.Errorf("start cluster %s: %w", name, err)
			}
			w.started = append(w.started, c)
		}
		chosen[name] = w.started[i]
	}
	return chosen, nil
}

func (w *worker) stop() error {
	var errs []error
	for _, c := range w.started {
		errs = append(errs, c.stop())
	}
	w.started = nil
	return errors.Join(errs...)
}

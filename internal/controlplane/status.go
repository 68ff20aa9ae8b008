package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/engine"
)

// ErrNoStatus says that no run has reported yet.
var ErrNoStatus = errors.New("no status was reported yet; start 'furrow run'")

// Status is what a run reported last, from the status branch.
func (s *Session) Status(ctx context.Context) (*engine.Report, error) {
	repos, err := s.Repos(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(repos)) {
		r := repos[name]
		refs, err := r.Mirror.Fetch(ctx, r.Base)
		if err != nil {
			return nil, fmt.Errorf("GitOpsRepo %q: %w", name, err)
		}
		commit, ok := refs[layout.StatusBranch(r.Base, s.Owner())]
		if !ok {
			continue
		}
		tree, err := r.Mirror.FS(ctx, commit)
		if err != nil {
			return nil, err
		}
		data, err := fs.ReadFile(tree, engine.StatusFile)
		if err != nil {
			return nil, err
		}
		info, err := r.Mirror.Commit(commit)
		if err != nil {
			return nil, err
		}
		var report engine.Report
		if err := yaml.UnmarshalStrict(data, &report); err != nil {
			return nil, fmt.Errorf("branch %s of GitOpsRepo %q: %w", layout.StatusBranch(r.Base, s.Owner()), name, err)
		}
		report.LastPass = info.Committer.When.UTC()
		return &report, nil
	}
	return nil, ErrNoStatus
}

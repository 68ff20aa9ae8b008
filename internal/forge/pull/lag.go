package pull

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
)

// Servers notice pushes late, and their lists may show what was true some time ago. What Git says
// of a branch is true now.

// tipTime is for how long one listing of branches counts.
const tipTime = time.Second

// tip returns where a branch is now; zero where it is gone.
func (f *Forge) tip(ctx context.Context, branch string) (git.Hash, error) {
	f.asking.Lock()
	defer f.asking.Unlock()
	if now := f.clock.Now(); f.tips.at.IsZero() || now.Sub(f.tips.at) >= tipTime {
		refs, err := f.mirror.Fetch(ctx, f.base)
		if err != nil {
			return git.Hash{}, err
		}
		f.tips.refs, f.tips.at = refs, now
	}
	return f.tips.refs[branch], nil
}

// dropClosed takes out of a list of open pull requests those whose branch is gone and that are
// closed already, and returns them. It asks once for each.
func (f *Forge) dropClosed(ctx context.Context, refs git.Refs, rows map[string]row, numbers map[int64]bool) (map[int64]Request, error) {
	f.mu.Lock()
	maps.DeleteFunc(f.gone, func(number int64, _ Request) bool { return !numbers[number] })
	f.mu.Unlock()
	closed := map[int64]Request{}
	for branch, r := range rows {
		_, there := refs[branch]
		f.mu.Lock()
		if there {
			delete(f.gone, r.Number)
		}
		now, asked := f.gone[r.Number]
		f.mu.Unlock()
		if there {
			continue
		}
		if !asked {
			var err error
			if now, err = f.read(ctx, r.Number); err != nil && !errors.Is(err, forge.ErrGone) {
				return nil, err
			}
			f.mu.Lock()
			f.gone[r.Number] = now
			f.mu.Unlock()
		}
		if now.State != Open {
			delete(rows, branch)
			delete(numbers, r.Number)
			closed[r.Number] = now
		}
	}
	return closed, nil
}

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
// closed already, and returns them. It asks once for each while base stays.
func (f *Forge) dropClosed(ctx context.Context, refs git.Refs, rows map[string]row, numbers map[int64]bool) (map[int64]Request, error) {
	f.mu.Lock()
	maps.DeleteFunc(f.gone, func(number int64, _ goneBranch) bool { return !numbers[number] })
	f.mu.Unlock()
	closed := map[int64]Request{}
	for branch, r := range rows {
		if _, there := refs[branch]; there {
			f.mu.Lock()
			delete(f.gone, r.Number)
			f.mu.Unlock()
			continue
		}
		f.mu.Lock()
		known, asked := f.gone[r.Number]
		f.mu.Unlock()
		if !asked || known.at.State == Open && known.base != refs[f.base] {
			at, err := f.read(ctx, r.Number)
			if err != nil && !errors.Is(err, forge.ErrGone) {
				return nil, err
			}
			known = goneBranch{at: at, base: refs[f.base]}
			f.mu.Lock()
			f.gone[r.Number] = known
			f.mu.Unlock()
		}
		if known.at.State != Open {
			delete(rows, branch)
			delete(numbers, r.Number)
			closed[r.Number] = known.at
		}
	}
	return closed, nil
}

// goneBranch is a pull request whose branch is gone, as it was read when base was there.
type goneBranch struct {
	at   Request
	base git.Hash
}

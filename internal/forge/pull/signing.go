package pull

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/merging"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git/signature"
)

// mergingTime is for how long it is remembered how people may merge: it takes several requests to ask,
// and changes rarely.
const mergingTime = 10 * time.Minute

// Merging returns how people may merge, and what that does to signatures.
func (f *Forge) Merging(ctx context.Context) (merging.Repository, error) {
	f.asking.Lock()
	defer f.asking.Unlock()
	return f.merging.get(ctx, f.clock.Now(), mergingTime, func(ctx context.Context) (out merging.Repository, err error) {
		r, err := f.server.Repository(ctx)
		if err != nil {
			return out, err
		}
		s, err := f.server.Signing(ctx)
		if err != nil {
			return out, err
		}
		out.Unsigned, out.Keeping = s.Unsigned, s.Keeping
		if keys, err := signature.Parse(s.Keys); err == nil { // else they count as not known
			out.Keys = keys.IDs()
		}
		for _, m := range r.Methods {
			out.Ways = append(out.Ways, s.way(m))
		}
		return out, nil
	})
}

// way returns what a method does to signatures.
func (s Signing) way(m Method) merging.Way {
	w := merging.Way{Name: string(m), Signer: merging.ByForge}
	switch m {
	case FastForward:
		w.Signer, w.Current = merging.ByFurrow, true
	case Rebase:
		w.Signer, w.Current = s.Rebase, s.Rebase == merging.ByFurrow
	case Squash:
		w.Squashes = true
	}
	return w
}

// choose returns the first of the allowed methods that leaves a signature which is accepted; simply the
// first where that does not matter. What is behind base has its commits made anew by a rebase, and
// cannot be fast-forwarded.
func choose(allowed []Method, p forge.Proposal, behind bool) (Method, error) {
	if len(p.MergeBy) == 0 {
		return allowed[0], nil
	}
	for _, m := range allowed {
		if slices.Contains(p.MergeBy, string(m)) && !(behind && (m == FastForward || m == Rebase)) {
			return m, nil
		}
	}
	problem := manifest.Problem{Reason: "MergeRefused", Message: fmt.Sprintf("the repository allows none of the ways to merge whose signature Flux accepts: %s", strings.Join(p.MergeBy, ", ")), Next: "Allow one of them"}
	if behind {
		problem.Message = fmt.Sprintf("it is behind the base branch, and then Flux would refuse the signature of what is merged; it accepts %s of a branch that is up to date", strings.Join(p.MergeBy, ", "))
		problem.Next = "Set spec.update of the GitOpsRepo to WhenBehind, and merge it once Furrow has updated it"
	}
	return "", problem
}

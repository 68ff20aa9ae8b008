package pull

import (
	"context"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/internal/forge"
)

// Ready returns why nothing may be pushed.
func (f *Forge) Ready(ctx context.Context) error {
	access, err := f.server.Access(ctx)
	if err != nil {
		return err
	}
	return access.refusal(f.server.String())
}

// refusal returns why nothing may be pushed to a repository; nil if something may.
func (a Access) refusal(repository string) error {
	e := &forge.Error{Op: "push branches", Repository: repository}
	switch {
	case a.Archived:
		e.Kind, e.Text = forge.FailedOther, "the repository is archived; unarchive it, or remove its GitOpsRepo"
	case len(a.Missing) > 0:
		var names, next []string
		for _, m := range a.Missing {
			names = append(names, m.Name)
			if !slices.Contains(next, m.Next) {
				next = append(next, m.Next)
			}
		}
		e.Kind, e.Text = forge.FailedAuth, "the credentials lack "+strings.Join(names, " and ")+"; "+strings.Join(next, "; ")
	default:
		return nil
	}
	return e
}

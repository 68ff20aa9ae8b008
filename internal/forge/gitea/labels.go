package gitea

import (
	"context"
	"errors"
	"sync"
	"time"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/furrow-dev/furrow/internal/backoff"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/pull"
)

const (
	labelName  = pull.Label
	labelColor = "#5b8c3e"
)

// labelPause is for how long proposals do without the label after the server did not
// answer the request for it.
var labelPause = backoff.Constant(10 * time.Minute)

// labels knows the label of proposals.
type labels struct {
	mu    sync.Mutex
	known bool
	ids   []int64
	// cooldown is active while the server is not asked for it again.
	cooldown backoff.Cooldown
}

// get reads the label once, and creates it if it is missing. Proposals have no label
// if the credentials do not allow that: it needs a token scope of its own. If the
// server asks to wait, proposals wait, because the label is not added later.
func (l *labels) get(ctx context.Context, a *api) ([]int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known || l.cooldown.Active(a.clock.Now()) {
		return l.ids, nil
	}
	id, err := a.findLabel(ctx)
	if err == nil && id == 0 {
		id, err = a.makeLabel(ctx)
	}
	failed, _ := errors.AsType[*answer](err)
	switch {
	case err == nil:
		l.ids, l.known = []int64{id}, true
	case failed != nil && failed.limited:
		return nil, err
	case ctx.Err() != nil, failed != nil && failed.unasked: // that says nothing of it
	case forge.IsFailure(err, forge.FailedNetwork):
		l.cooldown.Fail(a.clock.Now(), err, 0)
	default:
		l.known = true
	}
	return l.ids, nil
}

// findLabel returns the id of the label, 0 if the repository does not have it yet.
func (a *api) findLabel(ctx context.Context) (id int64, err error) {
	for number := 1; ; number++ {
		last := false
		err := a.do(ctx, "list labels", nil, func(c *sdk.Client) error {
			found, response, err := c.ListRepoLabels(a.owner, a.name, sdk.ListLabelsOptions{ListOptions: sdk.ListOptions{Page: number, PageSize: pageSize}})
			if err != nil {
				return err
			}
			last = response.NextPage <= number || len(found) == 0
			for _, label := range found {
				if label.Name == labelName {
					id = label.ID
				}
			}
			return nil
		})
		if err != nil || last || id != 0 {
			return id, err
		}
	}
}

func (a *api) makeLabel(ctx context.Context) (id int64, err error) {
	err = a.do(ctx, "make the label "+labelName, nil, func(c *sdk.Client) error {
		label, _, err := c.CreateLabel(a.owner, a.name, sdk.CreateLabelOption{Name: labelName, Color: labelColor, Description: "opened by Furrow"})
		if err == nil {
			id = label.ID
		}
		return err
	})
	return id, err
}

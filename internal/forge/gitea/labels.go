package gitea

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/furrow-dev/furrow/internal/backoff"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/pull"
	"github.com/furrow-dev/furrow/internal/forge/rest"
)

const labelColor = "#5b8c3e"

// labelPause is for how long proposals do without the label after the server did not answer the
// request for it.
var labelPause = backoff.Constant(10 * time.Minute)

// labels knows the label of proposals.
type labels struct {
	mu    sync.Mutex
	known bool
	ids   []int64
	// cooldown is active while the server is not asked for it again.
	cooldown backoff.Cooldown
}

// labelIDs reads the label once, and creates it if it is missing. Proposals have no label if the
// credentials do not allow that: it needs a token scope of its own. If the server asks to wait,
// proposals wait, because the label is not added later.
func (s *Server) labelIDs(ctx context.Context) ([]int64, error) {
	l := &s.label
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known || l.cooldown.Active(s.clock.Now()) {
		return l.ids, nil
	}
	id, err := s.findLabel(ctx)
	if err == nil && id == 0 {
		id, err = s.makeLabel(ctx)
	}
	failed, _ := errors.AsType[*rest.Failure](err)
	switch {
	case err == nil:
		l.ids, l.known = []int64{id}, true
	case failed != nil && failed.Limited:
		return nil, err
	case ctx.Err() != nil, failed != nil && failed.Unasked: // that says nothing of it
	case forge.IsFailure(err, forge.FailedNetwork):
		l.cooldown.Fail(s.clock.Now(), err, 0)
	default:
		l.known = true
	}
	return l.ids, nil
}

// findLabel returns the id of the label, 0 if the repository does not have it yet.
func (s *Server) findLabel(ctx context.Context) (id int64, err error) {
	for page := 1; ; page++ {
		var list []sdk.Label
		header, err := s.call(ctx, "list labels", http.MethodGet, fmt.Sprintf("/labels?page=%d&limit=%d", page, pageSize), nil, &list)
		for _, label := range list {
			if label.Name == pull.Label {
				return label.ID, nil
			}
		}
		if err != nil || !strings.Contains(header.Get("Link"), `rel="next"`) {
			return 0, err
		}
	}
}

func (s *Server) makeLabel(ctx context.Context) (id int64, err error) {
	var label sdk.Label
	_, err = s.call(ctx, "make the label "+pull.Label, http.MethodPost, "/labels", sdk.CreateLabelOption{Name: pull.Label, Color: labelColor, Description: "opened by Furrow"}, &label)
	return label.ID, err
}

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
	"github.com/furrow-dev/furrow/internal/forge/rest"
)

const labelColor = "#5b8c3e"

// labelPause is for how long proposals do without the label after the server did not answer the
// request for it.
var labelPause = backoff.Constant(10 * time.Minute)

// labels knows the labels of the repository.
type labels struct {
	mu sync.Mutex
	// ids are those that the repository has, by name; nil until they were listed.
	ids map[string]int64
	// denied reports whether the credentials may not use labels.
	denied bool
	// cooldown is active while the server is not asked for them again.
	cooldown backoff.Cooldown
}

// labelIDs returns the ids of labels. The server is asked for all of them once, and those that are
// missing are created. Proposals have no label if the credentials do not allow that: it needs a
// token scope of its own. If the server asks to wait, proposals wait, because labels are not added
// later.
func (s *Server) labelIDs(ctx context.Context, names []string) ([]int64, error) {
	l := &s.label
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.denied && !l.cooldown.Active(s.clock.Now()) {
		err := s.provideLabels(ctx, names)
		failed, _ := errors.AsType[*rest.Failure](err)
		switch {
		case err == nil:
		case failed != nil && failed.Limited:
			return nil, err
		case ctx.Err() != nil, failed != nil && failed.Unasked: // that says nothing of them
		case forge.IsFailure(err, forge.FailedNetwork):
			l.cooldown.Fail(s.clock.Now(), err, 0)
		default:
			l.denied = true
		}
	}
	var ids []int64
	for _, name := range names {
		if id, there := l.ids[name]; there {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// provideLabels lists the labels, the first time, and creates those that are missing.
func (s *Server) provideLabels(ctx context.Context, names []string) error {
	if s.label.ids == nil {
		ids, err := s.listLabels(ctx)
		if err != nil {
			return err
		}
		s.label.ids = ids
	}
	for _, name := range names {
		if _, there := s.label.ids[name]; there {
			continue
		}
		var made sdk.Label
		o := sdk.CreateLabelOption{Name: name, Color: labelColor, Description: "used by Furrow"}
		if _, err := s.call(ctx, "make the label "+name, http.MethodPost, "/labels", o, &made); err != nil {
			return err
		}
		s.label.ids[name] = made.ID
	}
	return nil
}

func (s *Server) listLabels(ctx context.Context) (map[string]int64, error) {
	ids := map[string]int64{}
	for page := 1; ; page++ {
		var list []sdk.Label
		header, err := s.call(ctx, "list labels", http.MethodGet, fmt.Sprintf("/labels?page=%d&limit=%d", page, pageSize), nil, &list)
		for _, label := range list {
			ids[label.Name] = label.ID
		}
		if err != nil || !strings.Contains(header.Get("Link"), `rel="next"`) {
			return ids, err
		}
	}
}

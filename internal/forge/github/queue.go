package github

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/pull"
)

// The merge queue has only a GraphQL API.
const (
	queueQuery = `query($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      id state headRefOid isInMergeQueue
      mergeQueueEntry { position state }
      timelineItems(last: 1, itemTypes: [REMOVED_FROM_MERGE_QUEUE_EVENT]) { nodes { ... on RemovedFromMergeQueueEvent { reason } } }
    }
  }
}`
	enqueue = `mutation($id: ID!, $head: GitObjectID!) {
  enqueuePullRequest(input: {pullRequestId: $id, expectedHeadOid: $head}) { mergeQueueEntry { position } }
}`
)

// queueEntry is a pull request as the queue has it.
type queueEntry struct {
	ID             string
	State          string
	HeadRefOid     string
	IsInMergeQueue bool
	Entry          *struct {
		Position int
		State    string
	} `json:"mergeQueueEntry"`
	Timeline struct {
		Nodes []struct{ Reason string }
	} `json:"timelineItems"`
}

// Enqueue adds a pull request to the merge queue. The queue has its own method to merge.
func (s *Server) Enqueue(ctx context.Context, number int64, m pull.Merge) error {
	entry, err := s.queueEntry(ctx, number)
	switch {
	case err != nil:
		return err
	case entry.State != "OPEN" || entry.HeadRefOid != m.Head.String():
		return forge.ErrGone
	case entry.IsInMergeQueue:
		return nil
	}
	const verb = "add to the merge queue"
	said, err := s.graphql(ctx, op(verb, number), enqueue, map[string]any{"id": entry.ID, "head": m.Head.String()}, nil)
	if err == nil && said != "" {
		failure := s.client.Refusal(op(verb, number), forge.FailedOther, said)
		failure.Err.Reason = "MergeRefused"
		return failure
	}
	return err
}

// Queued reads the queue's entry of a pull request.
func (s *Server) Queued(ctx context.Context, number int64) (pull.Queued, error) {
	entry, err := s.queueEntry(ctx, number)
	switch {
	case err != nil:
		return pull.Queued{}, err
	case entry.IsInMergeQueue && entry.Entry != nil:
		return pull.Queued{Is: true, Why: fmt.Sprintf("at position %d", entry.Entry.Position)}, nil
	case !entry.IsInMergeQueue && len(entry.Timeline.Nodes) > 0:
		return pull.Queued{Why: strings.ToLower(strings.ReplaceAll(entry.Timeline.Nodes[0].Reason, "_", " "))}, nil
	}
	return pull.Queued{Is: entry.IsInMergeQueue}, nil
}

// queueEntry reads a pull request; ErrGone if there is none.
func (s *Server) queueEntry(ctx context.Context, number int64) (*queueEntry, error) {
	var out struct {
		Repository *struct{ PullRequest *queueEntry }
	}
	what := op("read the queue's entry of", number)
	said, err := s.graphql(ctx, what, queueQuery, map[string]any{"owner": s.owner, "name": s.name, "number": number}, &out)
	switch {
	case err != nil:
		return nil, err
	case out.Repository != nil && out.Repository.PullRequest != nil:
		return out.Repository.PullRequest, nil
	case said != "" && out.Repository == nil:
		return nil, s.client.Refusal(what, forge.FailedAuth, said)
	}
	return nil, forge.ErrGone
}

// graphql makes a request to the GraphQL API. What it refuses is said in an answer that is a
// success.
func (s *Server) graphql(ctx context.Context, op, query string, variables map[string]any, out any) (said string, err error) {
	at := *s.api
	at.Path = strings.TrimSuffix(at.Path, "v3/") + "graphql"
	content, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		return "", err
	}
	var answer struct {
		Data   any
		Errors []struct{ Message string }
	}
	answer.Data = out
	err = s.client.Do(ctx, op, func(ctx context.Context) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, at.String(), bytes.NewReader(content))
		if err != nil {
			return err
		}
		r.Header.Set("Content-Type", "application/json")
		response, err := s.client.HTTP().Do(r)
		if err != nil {
			return err
		}
		defer func() { _ = response.Body.Close() }()
		if response.StatusCode/100 != 2 {
			return nil
		}
		return json.NewDecoder(response.Body).Decode(&answer)
	})
	var all []string
	for _, e := range answer.Errors {
		all = append(all, e.Message)
	}
	return strings.Join(all, "; "), err
}

package github

import (
	"context"
	"slices"

	gh "github.com/google/go-github/v56/github"

	"github.com/furrow-dev/furrow/internal/forge/pull"
	"github.com/furrow-dev/furrow/internal/git"
)

// SetStatus shows a commit status, or a check run as an App that may write those. GitHub requires
// either by its name.
func (s *Server) SetStatus(ctx context.Context, commit git.Hash, status pull.Status) error {
	state := "failure"
	if status.Passed {
		state = "success"
	}
	asCheck := s.client.Permissions()["checks"] == "write"
	return s.do(ctx, "show the status of commit "+commit.String(), func(ctx context.Context, c *gh.Client) (err error) {
		if asCheck {
			_, _, err = c.Checks.CreateCheckRun(ctx, s.owner, s.name, gh.CreateCheckRunOptions{
				Name: status.Context, HeadSHA: commit.String(), Status: new("completed"), Conclusion: &state,
				Output: &gh.CheckRunOutput{Title: &status.Text, Summary: new(checkSummary(status))},
			})
			return err
		}
		_, _, err = c.Repositories.CreateStatus(ctx, s.owner, s.name, commit.String(), &gh.RepoStatus{
			State: &state, Context: &status.Context, Description: &status.Text,
		})
		return err
	})
}

// checkSummary is what the page of a check run says below its title.
func checkSummary(status pull.Status) string {
	if status.Passed {
		return "This pull request may be merged."
	}
	return "Do not merge this pull request now. Furrow updates this check by itself."
}

// Checks reads the statuses of a commit, the last one of each context, and its check runs.
func (s *Server) Checks(ctx context.Context, commit git.Hash) ([]pull.Check, error) {
	var out []pull.Check
	for page := 1; page != 0; {
		err := s.do(ctx, "read the statuses of commit "+commit.String(), func(ctx context.Context, c *gh.Client) error {
			combined, response, err := c.Repositories.GetCombinedStatus(ctx, s.owner, s.name, commit.String(), &gh.ListOptions{Page: page, PerPage: 100})
			if err != nil {
				return err
			}
			for _, status := range combined.Statuses {
				out = append(out, pull.Check{Name: status.GetContext(), State: statusStates[status.GetState()]})
			}
			page = response.NextPage
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	for page := 1; page != 0; {
		err := s.do(ctx, "read the check runs of commit "+commit.String(), func(ctx context.Context, c *gh.Client) error {
			runs, response, err := c.Checks.ListCheckRunsForRef(ctx, s.owner, s.name, commit.String(), &gh.ListCheckRunsOptions{ListOptions: gh.ListOptions{Page: page, PerPage: 100}})
			if err != nil {
				return err
			}
			for _, run := range runs.CheckRuns {
				out = append(out, pull.Check{Name: run.GetName(), State: runState(run)})
			}
			page = response.NextPage
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// statusStates are the ends of statuses; one that is pending has none.
var statusStates = map[string]pull.CheckState{"success": pull.CheckPassed, "failure": pull.CheckFailed, "error": pull.CheckFailed}

// runState returns how a check run ended. GitHub lets a merge pass that requires one which was skipped
// or is neutral; all other ends are failures.
func runState(run *gh.CheckRun) pull.CheckState {
	switch {
	case run.GetStatus() != "completed":
		return ""
	case slices.Contains([]string{"success", "neutral", "skipped"}, run.GetConclusion()):
		return pull.CheckPassed
	}
	return pull.CheckFailed
}

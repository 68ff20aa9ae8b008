package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	sdk "code.gitea.io/sdk/gitea"
)

// mergeEvery is how often open pull requests are listed.
const mergeEvery = 500 * time.Millisecond

// mergeAll merges every pull request as the person, until everything is Released. Errors on the way
// are tried again until the time is up, and the last one is then part of the error.
func (d *demonstration) mergeAll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, mergeLimit)
	defer cancel()
	api, err := d.people.api(ctx)
	if err != nil {
		return err
	}
	every := time.NewTicker(mergeEvery)
	defer every.Stop()
	for {
		open, err := d.mergeOpen(api)
		if err == nil && open == 0 {
			err = d.released(ctx)
		}
		if err == nil && open == 0 {
			return d.showEnd(ctx)
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("not everything was Released within %s", mergeLimit), err)
		case <-every.C:
		}
	}
}

// mergeOpen merges the pull requests that are open, and gives their number. One that Gitea does not
// let merge yet is merged the next time.
func (d *demonstration) mergeOpen(api *sdk.Client) (open int, err error) {
	pulls, _, err := api.ListRepoPullRequests(organisation, gitopsRepo, sdk.ListPullRequestsOptions{State: sdk.StateOpen, Sort: "oldest"})
	if err != nil {
		return 0, fmt.Errorf("list the pull requests: %w", err)
	}
	var errs []error
	for _, pull := range pulls {
		merged, _, err := api.MergePullRequest(organisation, gitopsRepo, pull.Index, sdk.MergePullRequestOption{
			Style: sdk.MergeStyleMerge, HeadCommitId: pull.Head.Sha,
		})
		if err != nil || !merged {
			errs = append(errs, fmt.Errorf("merge pull request #%d: merged %t: %w", pull.Index, merged, err))
			continue
		}
		d.screen.say(personName, tierOf(pull.Head.Name), "merged", "pull request #%d in Gitea", pull.Index)
	}
	return len(pulls), errors.Join(errs...)
}

// tierOf names the tier that a branch carries, as in "mgmt tier 00".
func tierOf(branch string) string {
	parts := strings.Split(branch, "/")
	if len(parts) < 2 {
		return branch
	}
	return parts[len(parts)-2] + " tier " + parts[len(parts)-1]
}

// showEnd shows the status when all is done.
func (d *demonstration) showEnd(ctx context.Context) error {
	output, err := d.furrowCommand(ctx, personName, "status").Output()
	if err != nil {
		return fmt.Errorf("furrow status: %w", err)
	}
	d.screen.show("\n%s\nEverything is Released, %.0f seconds after furrow was started.\n\n", output, d.screen.elapsed().Seconds())
	return nil
}

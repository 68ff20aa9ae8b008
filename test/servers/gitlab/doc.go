// Package gitlab is a strict server for tests that behaves as GitLab's documentation says: the REST
// API of merge requests, Git over HTTP, access tokens, and rates. It listens on the loopback
// interface and ends with the test.
//
//	s := gitlab.Start(t)
//	s.AddUser("alice")
//	s.AddProject("acme/web/fleet", gitlab.ProjectOptions{
//		Files: map[string]string{"README.md": "hello\n"}, Roles: map[string]gitlab.Role{"alice": gitlab.Maintainer}})
//	token := s.Token("alice", "api")
//	client, _ := sdk.NewClient(token, sdk.WithBaseURL(s.URL))
//	s.As("alice").Merge("acme/web/fleet", 1, false)
//
// Strict means: every request and every answer is checked against the tables of contract.go, which
// were written from GitLab's documentation. A parameter that is not in them, a wrong type or value,
// a path that is not there, and an own answer that has other fields fail the test.
//
// Modelled: the operations of contract.go; what pushes do to merge requests (new head, deleted
// branch, merged by push), at once or later (LagPushes); merges by all methods of a project, with
// squashing, protected branches, approvals and pipelines that must succeed; mergeability that is
// computed after the first read; lines of texts that GitLab executes; personal, project and OAuth
// tokens with scopes; rates, conditional requests, moved and archived projects; answers that fail
// or are lost.
//
// Not modelled: GraphQL, merge trains and auto-merge, rebasing by GitLab, discussions, issues,
// groups but as owners of milestones, pipelines but the one that external statuses make, webhooks, SSH. An answer has
// the fields that clients read, not all that GitLab sends.
//
// One mutex guards all state: a request is handled under it, a push as a whole too. git 2.38 or
// newer must be on the PATH.
package gitlab

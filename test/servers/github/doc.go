// Package github is a strict server for tests that behaves as GitHub's documentation says: the REST
// API of pull requests, Git over HTTP, tokens and GitHub Apps, and rates. It listens on the
// loopback interface and ends with the test.
//
//	s := github.Start(t)
//	s.AddUser("alice")
//	s.AddRepo("alice/fleet", github.RepoOptions{Files: map[string]string{"README.md": "hello\n"}})
//	token := s.Token("alice", "repo")
//	client, _ := gogithub.NewClient(nil).WithAuthToken(token).WithEnterpriseURLs(s.URL, s.URL)
//	s.As("alice").Merge("alice/fleet", 1, "squash")
//
// Strict means: every request and every answer is checked against GitHub's OpenAPI description
// (testdata). A request that it does not allow, a query parameter or a field that it does not know,
// a path that it does not have, and an own answer that violates it fail the test. One thing is
// added to the description: labels of an issue may be sent as a plain list, which GitHub accepts
// and go-github sends.
//
// Modelled: the routes of routes.go; what pushes do to pull requests (new head, deleted head,
// merged by push, forced push); merges with branch protection, in the API and for pushes;
// mergeability that is computed after the first read; labels, assignees, milestones, requested
// reviews of users and teams; classic and fine-grained tokens, GitHub Apps and their installation
// tokens; primary and secondary rates, conditional requests; lists that lag
// behind, and answers that fail or are lost; webhooks for pushes and pull requests.
//
// Not modelled: GraphQL, and so neither a merge queue nor auto-merge nor switching a draft off
// through the API (people can, see Person); issues, writing check runs, members of teams, code
// owners, transfers to another owner, SSH. An answer has the fields that the description
// requires and those that clients read, not all that GitHub sends.
//
// One mutex guards all state: a request is handled under it, a push as a whole too. What a client
// reads after an answer includes its effect, unless LagLists asks for something else. git 2.38 or
// newer must be on the PATH.
package github

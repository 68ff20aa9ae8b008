// Package rest is the HTTP layer that the servers of all forges share: credentials, rates,
// conditional requests, servers that do not answer, and what a failure means.
//
//	Do(ctx, op, ask) ─▶ the forge's SDK ─▶ Client.HTTP() ─▶ breaker ─▶ rates and pace
//	   ▲                                                        ─▶ cache ─▶ credentials ─▶ network
//	   └── *Failure, a *forge.Error with the status and the server's words
//
// A server makes one Client for its repository, gives Client.HTTP() to its SDK, and makes each
// call of the SDK inside Do, with the context that Do passes on:
//
//	c, err := rest.New(rest.Access{Source: source}, url, "https://git.example.com/api/v1",
//		rest.Forge{Name: "Gitea", Rights: "the token needs …"})
//	err = c.Do(ctx, "list pull requests", func(ctx context.Context) error {
//		pulls, _, err = sdk.PullRequests.List(ctx, …)
//		return err
//	})
//	if rest.Refused(err, http.StatusConflict) { … }
//
// Call does the same for one request with JSON, without an SDK.
//
// Invariants: credentials are sent only to the server of the API. No redirect is followed. An
// answer is bounded, and read as a whole within the timeout of its request. No error holds a secret.
// Nothing waits inside a call for longer than maxPause: what must wait longer fails at once with a
// forge.Error that says for how long.
//
// Concurrency: a Client, a Source and Limits may be used by several goroutines. Several clients
// share Limits, because servers count requests by credentials and not by repository.
package rest

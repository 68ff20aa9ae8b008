// Package law tests the law of plans on real packages: applied tier by tier, the objects of a tier
// in any order, once, no object is rejected by a real API server; and no boundary between tiers is
// needless.
//
// packages.go lists packages of other projects, which make servers downloads, and stacks of them:
// control planes that plan them for one or several clusters. A stack is planned by the furrow
// program, its tiers are read from the files that furrow plan --out writes, and a run applies them
// level by level to an API server for each cluster: each level in its worst order, and then again
// in random ones.
//
// The API servers admit pods by ServiceAccount, with controllers that make the default accounts.
// What they send to Services goes to a socket of the test (egress.go), which answers for admission
// webhooks, conversion webhooks and aggregated APIs. Nothing is sent to any other address.
//
// player.go does what runs on a cluster: after all objects of a level are declared, a workload
// starts if its pod would be admitted and what it mounts exists; then the Services that select it
// get endpoints, and its operator, or cert-manager, writes the caBundle. Until then every call
// fails. What starts never is reported, because a tier with it never becomes ready.
package law

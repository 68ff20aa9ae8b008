// Package law tests the law of plans on real packages: applied tier by tier, the objects of a tier
// in any order, once, no object is rejected by a real API server; no tier waits for a later one to become
// ready; and no boundary between tiers is needless.
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
// player.go does what runs on a cluster, and readiness.go says what an object needs for that: after all objects
// of a level are declared, a workload starts if its pod would be admitted and what it names exists;
// operators act if they run; then the Services that select a workload get endpoints, and its operator, or
// cert-manager, writes the caBundle. Until then every call fails.
//
// What is not ready when its level is all declared is reported, because a tier with it is never
// released. It is stuck if a later level has what it needs.
//
// inputs.go lists minimal inputs beside the packages. Each is also planned with the rules switched off that keep it
// from being stuck, or refused, and must be so then.
//
// The controller manager deletes token Secrets whose ServiceAccount does not exist. A Secret that is lost so counts as
// refused. The test writes the status of quotas, as their controller does.
package law

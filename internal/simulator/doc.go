// Package simulator owns simulated clusters for the demo, property tests and
// scale benchmarks. Nothing in it is real: no cluster, no Flux, no network.
//
// It is as strict as a real API server and Flux where the order of things
// matters, and stricter where the design promises more: the objects of a tier
// are applied one by one in random order, once an attempt, and what a real
// API server would reject is rejected and recorded.
//
//	Source ─ fetch ─▶ root ─▶ Kustomizations ─ apply, prune, check health ─▶ objects ─▶ clusters
//	                               └─▶ status ─ Chaos ─▶ Channel
//
// Not simulated: workers and thus Cluster API's Available, admission webhooks,
// aggregated APIs, kustomize overlays, CEL, drift, and sources other than the
// root's own. Health expressions count as true some ticks after an apply.
//
// Invariants:
//   - Time is logical. Only Tick moves it; nothing reads a clock.
//   - Equal options, sources and calls give an equal history; what a Channel
//     answers depends on the seed, the tick and how often a key was asked.
//   - An object that is pruned names the pruning Kustomization as its owner and
//     is not annotated do-not-prune.
//   - The cost of a tick depends on its tasks, not on the number of clusters.
//
// A Simulator starts no goroutines. It is safe for use by several; one mutex
// guards all of its state, and trees are read under it.
package simulator

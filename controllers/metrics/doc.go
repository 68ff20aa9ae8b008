// Package metrics owns what operators see of 'furrow controller' in Prometheus: a
// Metrics is told of passes, tiers, repositories and clusters, and registers itself
// where it is made. docs/metrics.md has what each metric is for, and alerts.
//
//	furrow_build_info                        which version runs
//	furrow_passes_total                      passes, by namespace and outcome
//	furrow_pass_duration_seconds             how long they took
//	furrow_pass_rounds                       how often they read what the decision asked for
//	furrow_git_calls_total                   fetches and pushes, by repository, operation and outcome
//	furrow_git_call_duration_seconds         how long they took
//	furrow_forge_calls_total                 what was asked of a forge, likewise
//	furrow_forge_call_duration_seconds       how long that took
//	furrow_forge_http_requests_total         requests to a forge's server, by class of status
//	furrow_rate_limit_remaining              what a forge's server lets us ask for yet
//	furrow_rate_limit_limit                  what it lets us ask for in all
//	furrow_rate_limit_reset_seconds          when that begins anew, or the wait ends that it asked for
//	furrow_seeds                             seeds, by state
//	furrow_tiers                             tiers, by seed and state
//	furrow_tier_oldest_seconds               how long the oldest of them has been there
//	furrow_tier_state_duration_seconds       how long tiers were in the states that they left
//	furrow_proposals_open                    open proposals, by repository
//	furrow_proposal_oldest_seconds           how long the oldest of them has been open
//	furrow_clusters_asked                    clusters that were asked for their health
//	furrow_clusters_silent                   those of which it is not known
//
// Invariants: no label has more values than there are namespaces, seeds, repositories
// or a handful of words. What was told of a control plane is replaced as a whole, and
// forgotten with it, so that no series stays that nobody speaks of. Ages are computed
// when they are read, from times that survive a restart.
//
// Concurrency: a Metrics may be used by several goroutines.
package metrics

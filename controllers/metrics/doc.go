// Package metrics owns the Prometheus metrics of 'furrow controller'. A Metrics records
// passes, tiers, repositories and clusters, and is registered when it is made.
// docs/metrics.md has the purpose of each metric, and alerts.
//
//	furrow_build_info                        which version runs
//	furrow_passes_total                      passes, by namespace and outcome
//	furrow_pass_duration_seconds             how long they took
//	furrow_pass_rounds                       how often they observed before the decision was complete
//	furrow_git_calls_total                   fetches and pushes, by repository, operation and outcome
//	furrow_git_call_duration_seconds         how long they took
//	furrow_forge_calls_total                 calls of a forge, likewise
//	furrow_forge_call_duration_seconds       how long they took
//	furrow_forge_http_requests_total         requests to a forge's server, by class of status
//	furrow_rate_limit_remaining              remaining requests of a forge's rate limit
//	furrow_rate_limit_limit                  requests of the rate limit in all
//	furrow_rate_limit_reset_seconds          time until the reset, or until the requested pause ends
//	furrow_seeds                             seeds, by state
//	furrow_tiers                             tiers, by seed and state
//	furrow_tier_oldest_seconds               age of the oldest of them
//	furrow_tier_state_duration_seconds       how long tiers were in the states that they left
//	furrow_proposals_open                    open proposals, by repository
//	furrow_proposal_oldest_seconds           age of the oldest of them
//	furrow_clusters_asked                    clusters whose health was queried
//	furrow_clusters_silent                   those whose health is unknown
//
// Invariants: labels are namespaces, seeds, repositories, or one of a few words. The
// series of a control plane are replaced as a whole, and dropped with it, so that no stale
// series remain. Ages are computed when they are read, from times that survive a restart.
//
// Concurrency: a Metrics may be used by several goroutines.
package metrics

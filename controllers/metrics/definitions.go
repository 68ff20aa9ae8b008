package metrics

import "github.com/prometheus/client_golang/prometheus"

// Types of metrics.
const (
	counter   = "counter"
	gauge     = "gauge"
	histogram = "histogram"
)

// definition is a metric as documented.
type definition struct {
	name, kind string
	labels     []string
	help       string
	// buckets are the buckets of a histogram.
	buckets []float64
}

// Buckets, in seconds. Calls of a server are usually short; tiers wait for people and
// machines.
var (
	callBuckets  = []float64{.1, .25, .5, 1, 2.5, 5, 10, 30, 60}
	passBuckets  = []float64{.1, .5, 1, 2.5, 5, 10, 30, 60, 120, 300}
	roundBuckets = []float64{1, 2, 3, 5, 8, 13, 20, 40}
	stateBuckets = []float64{60, 300, 900, 3600, 4 * 3600, 12 * 3600, 86400, 3 * 86400, 7 * 86400, 30 * 86400}
)

var (
	buildInfo = &definition{"furrow_build_info", gauge, []string{"version"},
		"Always 1; the label has the version that runs.", nil}

	passes = &definition{"furrow_passes_total", counter, []string{"namespace", "outcome"},
		"Passes over control planes: unchanged (nothing to do), changed, raced (another process was faster), stale (the control plane could not be read) or failed (nothing could be observed).", nil}
	passDuration = &definition{"furrow_pass_duration_seconds", histogram, []string{"namespace"},
		"How long passes took.", passBuckets}
	passRounds = &definition{"furrow_pass_rounds", histogram, []string{"namespace"},
		"Rounds of questions and answers in a pass.", roundBuckets}

	gitCalls = &definition{"furrow_git_calls_total", counter, []string{"namespace", "repo", "operation", "outcome"},
		"Fetches from and pushes to GitOps repositories and, without a repo, fetches from control planes.", nil}
	gitDuration = &definition{"furrow_git_call_duration_seconds", histogram, []string{"namespace", "repo", "operation"},
		"How long fetches and pushes took.", callBuckets}
	forgeCalls = &definition{"furrow_forge_calls_total", counter, []string{"namespace", "repo", "operation", "outcome"},
		"Calls of forges. One call may be several HTTP requests, or none.", nil}
	forgeDuration = &definition{"furrow_forge_call_duration_seconds", histogram, []string{"namespace", "repo", "operation"},
		"How long calls of forges took.", callBuckets}
	forgeRequests = &definition{"furrow_forge_http_requests_total", counter, []string{"namespace", "repo", "status"},
		"HTTP requests to forges by class of status: 2xx, 3xx, 4xx, 5xx, or none without an answer.", nil}

	rateRemaining = &definition{"furrow_rate_limit_remaining", gauge, []string{"namespace", "repo"},
		"Requests that the forge still allows, by its last answer. Absent if the forge does not report it, or after its reset.", nil}
	rateLimit = &definition{"furrow_rate_limit_limit", gauge, []string{"namespace", "repo"},
		"Requests that the forge allows until its reset, by its last answer.", nil}
	rateReset = &definition{"furrow_rate_limit_reset_seconds", gauge, []string{"namespace", "repo"},
		"Seconds until the forge allows all requests again, or until the end of the requested wait.", nil}

	seeds = &definition{"furrow_seeds", gauge, []string{"namespace", "state"},
		"Seeds by state: Stalled, or that of the tier that most needs attention.", nil}
	tiers = &definition{"furrow_tiers", gauge, []string{"namespace", "seed", "state"},
		"Tiers by seed and state, over all clusters.", nil}
	tierOldest = &definition{"furrow_tier_oldest_seconds", gauge, []string{"namespace", "seed", "state"},
		"How long the oldest tier in this state has been in it. Absent for Released and Gone.", nil}
	tierDuration = &definition{"furrow_tier_state_duration_seconds", histogram, []string{"state"},
		"How long tiers were in a state when they left it, except Released and Gone.", stateBuckets}

	proposalsOpen = &definition{"furrow_proposals_open", gauge, []string{"namespace", "repo"},
		"Open proposals.", nil}
	proposalOldest = &definition{"furrow_proposal_oldest_seconds", gauge, []string{"namespace", "repo"},
		"Age of the oldest open proposal that may be merged, since it was first observed or its tier entered its state.", nil}

	clustersAsked = &definition{"furrow_clusters_asked", gauge, []string{"namespace"},
		"Clusters whose health was queried in the last ten minutes.", nil}
	clustersSilent = &definition{"furrow_clusters_silent", gauge, []string{"namespace"},
		"Those of them that did not answer, or not completely.", nil}
)

// definitions are all metrics, in the order of the documentation.
var definitions = []*definition{
	buildInfo,
	passes, passDuration, passRounds,
	gitCalls, gitDuration, forgeCalls, forgeDuration, forgeRequests,
	rateRemaining, rateLimit, rateReset,
	seeds, tiers, tierOldest, tierDuration,
	proposalsOpen, proposalOldest,
	clustersAsked, clustersSilent,
}

func (d *definition) desc() *prometheus.Desc {
	return prometheus.NewDesc(d.name, d.help, d.labels, nil)
}

func (d *definition) counters() *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: d.name, Help: d.help}, d.labels)
}

func (d *definition) histograms() *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: d.name, Help: d.help, Buckets: d.buckets}, d.labels)
}

// gauges is a gauge whose values are computed when it is read.
type gauges struct{ of *prometheus.Desc }

func (d *definition) gauges() gauges { return gauges{d.desc()} }

func (g gauges) send(out chan<- prometheus.Metric, value float64, labels ...string) {
	out <- prometheus.MustNewConstMetric(g.of, prometheus.GaugeValue, value, labels...)
}

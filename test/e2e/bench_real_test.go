package e2e

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "code.gitea.io/sdk/gitea"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// soon is the polling interval of benchmarks.
	soon = 20 * time.Millisecond
	// patience limits one wait of a benchmark, such as for fifty pull requests.
	patience = 5 * time.Minute
)

// benchStory is a story that measures: furrow is built without the race detector, there is no observer, requests to Gitea
// are counted, and the first time of each event is recorded.
type benchStory struct {
	*story
	*tally
	*moments
}

func newBenchStory(b *testing.B, name string) *benchStory {
	b.Helper()
	s := &benchStory{newStory(b, name), &tally{counts: counts{}}, &moments{first: map[string]time.Time{}}}
	s.observer.end()
	s.observer = nil
	s.wire.mu.Lock()
	defer s.wire.mu.Unlock()
	s.wire.fault = s.count
	return s
}

// begin starts furrow, follows its log, and watches Kustomizations become Ready.
func (s *benchStory) begin(interval time.Duration) {
	s.t.Helper()
	s.run("--interval", interval.String())
	ctx := s.t.Context()
	go s.followLog(ctx, s.running.log)
	events, err := s.world.watch.Watch(ctx, &kustomizev1.KustomizationList{}, client.InNamespace(s.namespace))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(events.Stop)
	go func() {
		for event := range events.ResultChan() {
			if k, ok := event.Object.(*kustomizev1.Kustomization); ok {
				if with, ready := readyWith(k); ready {
					s.note(readyAt(k.Name, with.revision[strings.LastIndexByte(with.revision, ':')+1:]))
				}
			}
		}
	}()
}

func readyAt(name, commit string) string { return "ready " + name + " " + commit }

// stateLine matches a log line with the state of a tier.
var stateLine = regexp.MustCompile(`(?m)^\S+ +(\S+) +mgmt tier ([0-9]+) +(\w+)`)

// followLog records the states of tiers that furrow logs.
func (s *benchStory) followLog(ctx context.Context, log string) {
	file, err := os.Open(log)
	if err != nil {
		return
	}
	defer func() { _ = file.Close() }()
	for text := ""; ctx.Err() == nil; pause(ctx, soon/2) {
		more, _ := io.ReadAll(file)
		text += string(more)
		whole := strings.LastIndexByte(text, '\n') + 1
		for _, line := range stateLine.FindAllStringSubmatch(text[:whole], -1) {
			s.note(fmt.Sprintf("%s/mgmt/%s %s", line[1], line[2], line[3]))
		}
		text = text[whole:]
	}
}

// tally counts requests by name.
type tally struct {
	mu     sync.Mutex
	counts counts
	// changes counts the requests that change something.
	changes int
}

var numbers = regexp.MustCompile(`/[0-9]+`)

// count counts a request and forwards it.
func (t *tally) count(_ http.ResponseWriter, r *http.Request) bool {
	name, err := nameOf(r)
	if err != nil {
		return false
	}
	if strings.HasPrefix(name, "push ") {
		of := "plans and tiers"
		if strings.Contains(name, "status/") {
			of = "the status"
		}
		name = "push of " + of
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts[numbers.ReplaceAllString(name, "/N")]++
	if isChange(r) {
		t.changes++
	}
	return false
}

// take returns the counts since the last call.
func (t *tally) take() counts {
	t.mu.Lock()
	defer t.mu.Unlock()
	taken := t.counts
	t.counts = counts{}
	return taken
}

// made returns the number of changes that furrow has requested.
func (t *tally) made() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.changes
}

// idle waits for complete passes that change nothing.
func (s *benchStory) idle() {
	s.t.Helper()
	for made := -1; made != s.made(); {
		made = s.made()
		s.passes(2)
	}
}

// moments records when events happened first.
type moments struct {
	mu    sync.Mutex
	first map[string]time.Time
}

func (m *moments) note(what string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.first[what]; !known {
		m.first[what] = time.Now()
	}
}

// when returns the earliest time of any of the events.
func (m *moments) when(whats ...string) (earliest time.Time, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, what := range whats {
		if at, known := m.first[what]; known && (!ok || at.Before(earliest)) {
			earliest, ok = at, true
		}
	}
	return earliest, ok
}

// until polls until check holds, and returns the time.
func (s *benchStory) until(what string, check func() bool) time.Time {
	s.t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	every := time.NewTicker(soon)
	defer every.Stop()
	for !check() {
		select {
		case <-deadline.C:
			s.t.Fatalf("waited %s until %s\n%s", patience, what, s.scene())
		case <-every.C:
		}
	}
	return time.Now()
}

// await waits for any of the events, and returns its time.
func (s *benchStory) await(whats ...string) (at time.Time) {
	s.t.Helper()
	s.until(fmt.Sprint(whats), func() (ok bool) {
		at, ok = s.when(whats...)
		return ok
	})
	return at
}

// opened waits for the open pull request of a tier.
func (s *benchStory) opened(tier string) (pull *sdk.PullRequest, at time.Time) {
	s.t.Helper()
	at = s.until("there is a pull request of "+tier, func() bool {
		pulls := s.pulls(sdk.StateOpen)
		i := slices.IndexFunc(pulls, func(p *sdk.PullRequest) bool { return tierOf(p) == tier })
		if i >= 0 {
			pull = pulls[i]
		}
		return i >= 0
	})
	return pull, at
}

// merged merges a pull request. It returns the commit, and the times of request and response.
func (s *benchStory) merged(pull *sdk.PullRequest) (commit string, asked, answered time.Time) {
	s.t.Helper()
	answered = s.until(fmt.Sprintf("#%d is merged", pull.Index), func() bool {
		asked = time.Now()
		done, _, err := s.asPerson.MergePullRequest(s.gitops.owner, s.gitops.name, pull.Index, sdk.MergePullRequestOption{Style: sdk.MergeStyleSquash})
		return done && err == nil
	})
	now, _, err := s.asPerson.GetPullRequest(s.gitops.owner, s.gitops.name, pull.Index)
	if err != nil || now.MergedCommitID == nil {
		s.t.Fatalf("#%d has no merge commit: %v", pull.Index, err)
	}
	return *now.MergedCommitID, asked, answered
}

// durations holds samples by name.
type durations map[string][]time.Duration

func (d durations) add(what string, from, to time.Time) { d[what] = append(d[what], to.Sub(from)) }

// median returns the middle sample, or the mean of the two middle ones.
func (d durations) median(what string) time.Duration {
	all := slices.Sorted(slices.Values(d[what]))
	return (all[(len(all)-1)/2] + all[len(all)/2]) / 2
}

// report reports the median and the maximum of each.
func (d durations) report(b *testing.B) {
	for what, all := range d {
		b.ReportMetric(milliseconds(d.median(what)), what+"-ms")
		b.ReportMetric(milliseconds(slices.Max(all)), what+"-max-ms")
	}
	b.ReportMetric(0, "ns/op") // not interesting
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// goal logs a figure and its goal.
func goal[T cmp.Ordered](b *testing.B, what string, is, most T) {
	verdict := "met"
	if is > most {
		verdict = "missed"
	}
	b.Logf("%s: %v, goal at most %v: %s", what, is, most, verdict)
}

func TestTheMedianIsThatOfEvenAndOddCounts(t *testing.T) {
	d := durations{"odd": {9, 1, 5}, "even": {8, 2, 100, 4}}
	if odd, even := d.median("odd"), d.median("even"); odd != 5 || even != 6 {
		t.Errorf("the medians are %d and %d", odd, even)
	}
}

// configMap returns a seed's document; more are additional annotations.
func (s *benchStory) configMap(name, clusters string, more ...string) string {
	annotations := strings.Join(append([]string{fmt.Sprintf("furrow.dev/cluster: %q", clusters)}, more...), ", ")
	return fmt.Sprintf("---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\n  namespace: %s\n  annotations: {%s}\ndata: {text: hello}\n", name, s.namespace, annotations)
}

// chain is a seed of n ConfigMaps; each depends on the previous one.
func (s *benchStory) chain(seed string, n int) files {
	text := s.configMap(seed+"-0", "mgmt")
	for i := 1; i < n; i++ {
		text += s.configMap(fmt.Sprintf("%s-%d", seed, i), "mgmt", fmt.Sprintf("furrow.dev/depends-on: core/ConfigMap/%s/%s-%d", s.namespace, seed, i-1))
	}
	return files{"seeds/" + seed + ".yaml": text}
}

// seeds returns n seeds of one ConfigMap each.
func (s *benchStory) seeds(prefix string, n int) files {
	all := files{}
	for i := range n {
		name := fmt.Sprintf("%s-%02d", prefix, i)
		all["seeds/"+name+".yaml"] = s.configMap(name, "mgmt")
	}
	return all
}

// BenchmarkRealRelease merges a chain of tiers, each as soon as it is proposed. Flux polls its source every second; furrow
// watches the cluster and polls the repository at each interval. The times of a tier:
//   - merge: the merge is requested;
//   - seen: furrow logs another state than Proposed;
//   - ready: the tier's Kustomization is Ready at the merge commit;
//   - released: furrow logs Released;
//   - open: Gitea lists the next pull request.
//
// The time from merge to released is split into Gitea's part, until it responds to the merge request, Flux's part, until
// ready, and furrow's part, the rest.
func BenchmarkRealRelease(b *testing.B) {
	const samples = 12
	for _, interval := range []time.Duration{time.Second, 10 * time.Second, time.Minute} {
		b.Run("interval="+interval.String(), func(b *testing.B) {
			s := newBenchStory(b, "release-"+interval.String())
			took, round := durations{}, 0
			for b.Loop() {
				seed := fmt.Sprintf("chain-%d", round)
				s.commit("Plant a chain", s.fleet(), s.chain(seed, samples+1))
				if round == 0 {
					s.begin(interval)
				}
				pull, _ := s.opened(seed + "/mgmt/00")
				for i := range samples {
					tier := fmt.Sprintf("%s/mgmt/%02d", seed, i)
					commit, merged, answered := s.merged(pull)
					ready := s.await(readyAt(fmt.Sprintf("%s.mgmt.%02d", seed, i), commit))
					next, open := s.opened(fmt.Sprintf("%s/mgmt/%02d", seed, i+1))
					released := s.await(tier + " Released")
					took.add("merge-to-seen", merged, s.await(tier+" Merged", tier+" Progressing", tier+" Released"))
					took.add("merge-to-released", merged, released)
					took.add("merge-to-released-of-it-gitea", merged, answered)
					took.add("merge-to-released-of-it-flux", answered, ready)
					took.add("merge-to-released-of-it-furrow", ready, released)
					took.add("ready-to-open", ready, open)
					took.add("merge-to-open", merged, open)
					pull = next
				}
				round++
			}
			took.report(b)
			goal(b, "from Kustomization ready to the next pull request open, at the median", took.median("ready-to-open"), 2*time.Second)
		})
	}
}

// BenchmarkRealPoll merges while Flux does not poll its source, so no watch event starts a pass: furrow finds the
// merge by polling. Each merge comes right after a pass, which is the worst case.
func BenchmarkRealPoll(b *testing.B) {
	const samples, interval = 5, 10 * time.Second
	s := newBenchStory(b, "poll")
	took, round := durations{}, 0
	for b.Loop() {
		prefix := fmt.Sprintf("resting-%d", round)
		s.commit("Plant seeds", s.fleet(), s.seeds(prefix, samples))
		if round == 0 {
			s.begin(interval)
			s.opened(prefix + "-00/mgmt/00")
			s.calmSource()
		}
		for i := range samples {
			tier := fmt.Sprintf("%s-%02d/mgmt/00", prefix, i)
			pull, _ := s.opened(tier)
			s.await(tier + " Proposed")
			_, merged, _ := s.merged(pull)
			took.add("merge-to-seen", merged, s.await(tier+" Merged"))
		}
		round++
	}
	took.report(b)
}

// calmSource keeps Flux from polling the repository.
func (s *benchStory) calmSource() {
	s.t.Helper()
	source, mgmt := s.source(), s.world.mgmt.Client()
	if err := mgmt.Get(s.t.Context(), client.ObjectKeyFromObject(source), source); err != nil {
		s.t.Fatal(err)
	}
	before := source.DeepCopy()
	source.Spec.Interval.Duration = time.Hour
	if err := mgmt.Patch(s.t.Context(), source, client.MergeFrom(before)); err != nil {
		s.t.Fatal(err)
	}
}

// BenchmarkRealRequests counts the HTTP requests that furrow sends to Gitea for proposals that are opened in one pass: by
// seeds of one tier, and by one seed on several clusters. It counts all requests from the commit until nothing changes
// any more: fetches, pushes (two requests each, GET info/refs and POST git-receive-pack, for any number of branches), the
// status, and one-time requests to the forge. Every pass also lists the branches of both repositories and the open pull
// requests. Their number depends on the duration of the wait, so they are reported separately, as the idle share.
func BenchmarkRealRequests(b *testing.B) {
	cases := []struct {
		name  string
		pulls int
		plant func(s *benchStory, seed string, n int) files
	}{
		{"seeds=1", 1, (*benchStory).seeds},
		{"seeds=20", 20, (*benchStory).seeds},
		{"clusters=20", 20, (*benchStory).sites},
	}
	for _, test := range cases {
		b.Run(test.name, func(b *testing.B) {
			s := newBenchStory(b, "requests-"+strings.ReplaceAll(test.name, "=", "-"))
			s.commit("Plant one seed, so the root is known", s.fleet(), s.seeds("first", 1))
			s.begin(time.Second)
			s.opened("first-00/mgmt/00")
			s.idle()
			s.take()
			began, _ := s.wire.seen()
			opened := 0
			for b.Loop() {
				s.commit("Plant", test.plant(s, fmt.Sprintf("web-%d", opened), test.pulls))
				opened += test.pulls
				s.until("all are open", func() bool { return len(s.pulls(sdk.StateOpen)) == opened+1 })
				s.idle()
			}
			now, _ := s.wire.seen()
			s.take().report(b, opened, now-began)
		})
	}
}

// counts holds requests by name.
type counts map[string]int

// listings are the requests that every pass sends once.
var listings = []string{"GET control-plane/info/refs git-upload-pack", "GET gitops/info/refs git-upload-pack", "GET gitops/pulls open"}

// isGit reports whether a request uses the Git protocol, not the forge's API.
func isGit(request string) bool {
	return strings.HasPrefix(request, "push of ") || strings.Contains(request, "/info/refs") || strings.Contains(request, "/git-upload-pack")
}

// report reports the requests to Git and to the forge per pull request and per pass.
func (c counts) report(b *testing.B, pulls, passes int) {
	b.Logf("%d proposals in %d passes: %v", pulls, passes, map[string]int(c))
	total, idle := map[bool]int{}, map[bool]int{}
	for request, n := range c {
		total[isGit(request)] += n
		if slices.Contains(listings, request) {
			idle[isGit(request)] += min(n, passes)
		}
	}
	for name, git := range map[string]bool{"git": true, "forge": false} {
		each := func(n int) float64 { return math.Round(float64(n)/float64(pulls)*100) / 100 }
		b.ReportMetric(each(total[git]), name+"-total/PR")
		b.ReportMetric(each(idle[git]), name+"-idle/PR")
		b.ReportMetric(each(total[git]-idle[git]), name+"/PR")
		goal(b, name+" requests a pull request, without the idle share", each(total[git]-idle[git]), 2)
	}
	b.ReportMetric(float64(c["push of the status"]), "status-pushes")
	b.ReportMetric(0, "ns/op")
}

// sites is a seed of one tier on each of n clusters that the management cluster reconciles; nothing if n is 0.
func (s *benchStory) sites(seed string, n int) files {
	if n == 0 {
		return nil
	}
	var fleet strings.Builder
	var names []string
	for i := range n {
		name := fmt.Sprintf("site-%02d", i)
		names = append(names, name)
		fmt.Fprintf(&fleet, `---
apiVersion: furrow.dev/v1alpha1
kind: Cluster
metadata: {name: %s}
spec:
  role: Workload
  type: edge
  reconciledBy: mgmt
  kubeConfigSecret: {name: site, namespace: %s}
`, name, s.namespace)
	}
	return files{"fleet/sites.yaml": fleet.String(), "seeds/" + seed + ".yaml": s.configMap(seed, strings.Join(names, ","))}
}

// BenchmarkRealIdle counts the requests of a pass in which nothing changed, with some open pull requests.
func BenchmarkRealIdle(b *testing.B) {
	const passes = 10
	for _, open := range []int{0, 1, 50} {
		b.Run(fmt.Sprint("open=", open), func(b *testing.B) {
			s := newBenchStory(b, fmt.Sprint("idle-", open))
			s.commit("Plant", s.fleet(), s.sites("wide", open))
			s.begin(time.Second)
			s.until("all are open", func() bool { return len(s.pulls(sdk.StateOpen)) == open })
			s.idle()
			for b.Loop() {
				s.take()
				began, _ := s.wire.seen()
				s.passes(passes)
				counts := s.take()
				now, _ := s.wire.seen()
				b.Logf("%d passes: %v", now-began, counts)
				each := float64(now - began)
				for metric, request := range map[string]string{
					"control-plane-list/pass": "GET control-plane/info/refs git-upload-pack", "gitops-list/pass": "GET gitops/info/refs git-upload-pack",
					"pulls-list/pass": "GET gitops/pulls open",
				} {
					b.ReportMetric(float64(counts[request])/each, metric)
					delete(counts, request)
				}
				others := 0
				for _, n := range counts {
					others += n
				}
				b.ReportMetric(float64(others)/each, "others/pass")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

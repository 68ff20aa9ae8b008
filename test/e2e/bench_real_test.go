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
	// soon is how often a benchmark looks while it waits.
	soon = 20 * time.Millisecond
	// patience bounds one wait of a benchmark, as for fifty pull requests.
	patience = 5 * time.Minute
)

// benchStory is a story that measures: its furrow is built without the race detector, nobody else looks, its requests to
// Gitea are counted, and it is noted when something happened first.
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

// begin starts furrow and watches what it tells, and when Kustomizations are Ready.
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

// told is a line by which furrow tells the state of a tier.
var told = regexp.MustCompile(`(?m)^\S+ +(\S+) +mgmt tier ([0-9]+) +(\w+)`)

// followLog notes what furrow tells.
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
		for _, line := range told.FindAllStringSubmatch(text[:whole], -1) {
			s.note(fmt.Sprintf("%s/mgmt/%s %s", line[1], line[2], line[3]))
		}
		text = text[whole:]
	}
}

// tally counts requests by what they ask for.
type tally struct {
	mu     sync.Mutex
	counts counts
	// changes is how many changed something.
	changes int
}

var numbers = regexp.MustCompile(`/[0-9]+`)

// count counts a request, and lets it through.
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

// take gives what was counted since the last time.
func (t *tally) take() counts {
	t.mu.Lock()
	defer t.mu.Unlock()
	taken := t.counts
	t.counts = counts{}
	return taken
}

// made is how many changes furrow has asked for.
func (t *tally) made() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.changes
}

// idle waits for whole passes that change nothing.
func (s *benchStory) idle() {
	s.t.Helper()
	for made := -1; made != s.made(); {
		made = s.made()
		s.passes(2)
	}
}

// moments are when things happened first.
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

// when gives the earliest moment of some things.
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

// until looks often until check holds, and gives the time at which it did.
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

// await waits until one of some things has happened, and gives the moment.
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

// merged merges a pull request and gives the commit, and when that was asked for and answered.
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

// durations are samples by what they measure.
type durations map[string][]time.Duration

func (d durations) add(what string, from, to time.Time) { d[what] = append(d[what], to.Sub(from)) }

// median is the one in the middle, or what lies between the two that are there.
func (d durations) median(what string) time.Duration {
	all := slices.Sorted(slices.Values(d[what]))
	return (all[(len(all)-1)/2] + all[len(all)/2]) / 2
}

// report reports the medians, and how long the slowest took.
func (d durations) report(b *testing.B) {
	for what, all := range d {
		b.ReportMetric(milliseconds(d.median(what)), what+"-ms")
		b.ReportMetric(milliseconds(slices.Max(all)), what+"-max-ms")
	}
	b.ReportMetric(0, "ns/op") // not of interest
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// goal shows a figure beside the goal that was set for it.
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

// configMap is a seed's document; more are further annotations.
func (s *benchStory) configMap(name, clusters string, more ...string) string {
	annotations := strings.Join(append([]string{fmt.Sprintf("furrow.dev/cluster: %q", clusters)}, more...), ", ")
	return fmt.Sprintf("---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: %s\n  namespace: %s\n  annotations: {%s}\ndata: {text: hello}\n", name, s.namespace, annotations)
}

// chain is a seed of n ConfigMaps, of which each waits for the one before.
func (s *benchStory) chain(seed string, n int) files {
	text := s.configMap(seed+"-0", "mgmt")
	for i := 1; i < n; i++ {
		text += s.configMap(fmt.Sprintf("%s-%d", seed, i), "mgmt", fmt.Sprintf("furrow.dev/depends-on: core/ConfigMap/%s/%s-%d", s.namespace, seed, i-1))
	}
	return files{"seeds/" + seed + ".yaml": text}
}

// seeds are n seeds of one ConfigMap each.
func (s *benchStory) seeds(prefix string, n int) files {
	all := files{}
	for i := range n {
		name := fmt.Sprintf("%s-%02d", prefix, i)
		all["seeds/"+name+".yaml"] = s.configMap(name, "mgmt")
	}
	return all
}

// BenchmarkRealRelease merges a chain of tiers one after the other, each as soon as it is proposed. Between a merge and
// the next proposal are Flux, which looks at its source each second, and furrow, which is told by the cluster and looks at
// the repository at each interval. The merge counts from when it is asked for. It is seen when furrow tells another state
// than Proposed, ready when the tier's Kustomization is Ready at the merge, released when furrow tells that, and
// the next one is open when Gitea lists it. Of the way from merge to released, the part until Gitea answers that it has
// merged is Gitea's, the one from there until ready is Flux's, and the rest is furrow's.
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

// BenchmarkRealPoll merges while Flux does not look at its source, so that nobody tells furrow: it finds a merge when it
// looks by itself. Each merge comes right after a pass, which is the worst case.
func BenchmarkRealPoll(b *testing.B) {
	const samples, interval = 5, 10 * time.Second
	s := newBenchStory(b, "poll")
	took, round := durations{}, 0
	for b.Loop() {
		prefix := fmt.Sprintf("quiet-%d", round)
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

// calmSource keeps Flux from looking at the repository.
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

// BenchmarkRealRequests counts the HTTP requests that furrow makes of Gitea for proposals that are opened in one pass: by
// seeds of one tier, and by one seed on several clusters. All count, from the commit until nothing changes any more: what
// is fetched, a push, which is two, GET info/refs and POST git-receive-pack, and may carry many branches, the status, and
// what is asked of the forge once. What each pass asks anyway, which is to list the branches of both repositories and the
// open pull requests, depends on how long one waits: it is the idle share of the total, and told apart.
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
			s.commit("Plant one seed, so that the root is known", s.fleet(), s.seeds("first", 1))
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

// counts are requests by what they ask for.
type counts map[string]int

// listings are what each pass asks once anyway.
var listings = []string{"GET control-plane/info/refs git-upload-pack", "GET gitops/info/refs git-upload-pack", "GET gitops/pulls open"}

// isGit says that a request is made of Git, and not of the forge's API.
func isGit(request string) bool {
	return strings.HasPrefix(request, "push of ") || strings.Contains(request, "/info/refs") || strings.Contains(request, "/git-upload-pack")
}

// report reports what was asked of Git and of the forge for each of some pull requests, in some passes.
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

// sites is a seed of one tier on each of n clusters behind the management cluster; none for no cluster.
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

package scale

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	sdk "code.gitea.io/sdk/gitea"
	"sigs.k8s.io/yaml"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/release"
	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/state"
	"github.com/furrow-dev/furrow/test/program"
	"github.com/furrow-dev/furrow/test/servers"
)

const (
	fiftySeeds, fiftyClusters = 50, 5
	// fiftyLimit limits the benchmark; it reports unfinished work as it is.
	fiftyLimit = 6 * time.Minute
	// restMerges is the number of merges after everything is proposed.
	restMerges = 5
)

// BenchmarkFiftySeeds runs furrow on a Gitea for 50 seeds of three objects, each for the same five clusters. Health
// is not observed, so only the first tiers are proposed, 250 in all. Meanwhile a person merges one proposal after the
// other, each as soon as the published status has the previous one as merged. The age of the status is the time since
// it was last published, until everything is proposed.
func BenchmarkFiftySeeds(b *testing.B) {
	for b.Loop() {
		newFifty(b).measure()
	}
	b.ReportMetric(0, "ns/op")
}

// fifty is furrow on a Gitea, and a person who merges and reads the status.
type fifty struct {
	b      *testing.B
	gitea  *servers.Gitea
	person *sdk.Client
	dir    string
	// wire counts furrow's requests to Gitea.
	wire *traffic

	began time.Time
	// first and all are when the first proposal and all proposals existed.
	first, all time.Time
	proposals  int
	// published is when the status was last published, oldest its greatest age.
	published time.Time
	oldest    time.Duration
	status    string
	// merged is the tier merged last, and at when, until the status has it.
	merged string
	at     time.Time
	// busy and rest are how long the status took to have a merge, before and after everything was proposed.
	busy, rest []time.Duration
}

func newFifty(b *testing.B) *fifty {
	b.Helper()
	f := &fifty{b: b, gitea: servers.MustGitea(b, servers.GiteaOptions{}), dir: b.TempDir(), wire: newTraffic()}
	ctx := b.Context()
	_, err := f.gitea.CreateRepo(ctx, f.gitea.AdminUser, "gitops", true)
	f.must(err)
	f.person, err = sdk.NewClient(f.gitea.URL, sdk.SetToken(f.gitea.AdminToken), sdk.SetGiteaVersion(""))
	f.must(err)
	token, err := f.gitea.CreateUser(ctx, "furrow")
	f.must(err)
	write := sdk.AccessModeWrite
	_, err = f.person.AddCollaborator(f.gitea.AdminUser, "gitops", "furrow", sdk.AddCollaboratorOption{Permission: &write})
	f.must(err)
	proxy := f.proxy()
	documents := map[string]string{
		"control/repo.yaml":        document("GitOpsRepo", "gitops", fmt.Sprintf("spec: {url: %q, forge: Gitea, credentials: gitops}", proxy+"/"+f.gitea.AdminUser+"/gitops.git")),
		"credentials/gitops/token": token, "credentials/gitops/url": proxy,
	}
	var clusters []string
	for i := range fiftyClusters {
		name := fmt.Sprintf("c%d", i)
		clusters = append(clusters, name)
		documents["control/clusters/"+name+".yaml"] = document("Cluster", name, "spec: {}")
		_, _, err := f.person.CreateFile(f.gitea.AdminUser, "gitops", "clusters/"+name+"/README.md", sdk.CreateFileOptions{Content: "VGhlIHJvb3QuCg=="})
		f.must(err)
	}
	for i := range fiftySeeds {
		documents[fmt.Sprintf("control/seeds/s%02d.yaml", i)] = threeObjects(fmt.Sprintf("s%02d", i), strings.Join(clusters, ","))
	}
	for at, text := range documents {
		at = filepath.Join(f.dir, at)
		f.must(os.MkdirAll(filepath.Dir(at), 0o755))
		f.must(os.WriteFile(at, []byte(text), 0o600))
	}
	for _, args := range [][]string{{"init", "--quiet", "--initial-branch=main"}, {"add", "--all"}, {"-c", "user.name=Ann", "-c", "user.email=ann@example.com", "commit", "--quiet", "--message=first"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = filepath.Join(f.dir, "control"), append(os.Environ(), withoutSettings...)
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return f
}

func threeObjects(name, clusters string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Namespace
metadata: {name: %[1]s, annotations: {furrow.dev/cluster: %[2]q}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: %[1]s}
data: {text: hello}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: %[1]s}
spec: {selector: {app: web}, ports: [{port: 80}]}
`, name, clusters)
}

func (f *fifty) must(err error) {
	f.b.Helper()
	if err != nil {
		f.b.Fatal(err)
	}
}

// proxy starts a proxy from furrow to Gitea that counts requests.
func (f *fifty) proxy() (address string) {
	target, err := url.Parse(f.gitea.URL)
	f.must(err)
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, FlushInterval: -1,
		ErrorHandler: func(out http.ResponseWriter, _ *http.Request, _ error) { out.WriteHeader(http.StatusBadGateway) },
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/git-receive-pack") {
			f.wire.count(r.Method + " other")
			proxy.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		refs, _, _ := bytes.Cut(body, []byte("PACK"))
		for _, kind := range []string{"plan", "tier", "status"} {
			if bytes.Contains(refs, []byte("refs/heads/furrow/main/"+kind+"/")) {
				f.wire.count("push of " + kind)
			}
		}
		f.wire.count("push")
		proxy.ServeHTTP(w, r)
	}))
	f.b.Cleanup(server.Close)
	return server.URL
}

// measure runs furrow until everything is proposed and the status has restMerges later merges, and reports the figures.
func (f *fifty) measure() {
	b := f.b
	ctx, cancel := context.WithTimeout(b.Context(), fiftyLimit)
	defer cancel()
	furrow, err := program.Furrow(ctx, f.dir)
	f.must(err)
	cmd := exec.Command(furrow, "run", "--control-plane", filepath.Join(f.dir, "control"), "--credentials", filepath.Join(f.dir, "credentials"),
		"--cache", filepath.Join(f.dir, "cache"), "--id", "fifty", "--interval", "2s")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	f.began = time.Now()
	f.published = f.began
	f.must(cmd.Start())
	var proposing calls
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil && len(f.rest) < restMerges {
		f.countProposals()
		if proposing == nil && !f.all.IsZero() {
			proposing = f.wire.soFar()
		}
		f.readStatus()
		f.mergeNext()
		<-tick.C
	}
	if proposing == nil {
		proposing = f.wire.soFar()
		b.Logf("only %d proposals after %s", f.proposals, fiftyLimit)
	}
	_ = cmd.Process.Signal(os.Interrupt)
	if err := cmd.Wait(); err != nil {
		b.Errorf("furrow run: %v\n%s", err, out.Bytes()[max(0, out.Len()-1500):])
	}
	f.report(proposing, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
}

func (f *fifty) report(proposing calls, processor time.Duration) {
	b := f.b
	since := func(at time.Time) float64 {
		if at.IsZero() {
			at = time.Now()
		}
		return at.Sub(f.began).Seconds()
	}
	if f.merged != "" {
		f.note(time.Since(f.at)) // the status does not have it yet
	}
	b.ReportMetric(since(f.first), "first-proposal-s")
	b.ReportMetric(since(f.all), "all-proposals-s")
	b.ReportMetric(float64(f.proposals), "proposals")
	for name, noticed := range map[string][]time.Duration{"busy": f.busy, "rest": f.rest} {
		slices.Sort(noticed)
		if n := len(noticed); n > 0 {
			b.ReportMetric(noticed[n/2].Seconds(), "merge-noticed-"+name+"-s")
			b.ReportMetric(noticed[n-1].Seconds(), "merge-noticed-"+name+"-max-s")
		}
		b.ReportMetric(float64(len(noticed)), "merges-"+name)
	}
	b.ReportMetric(float64(proposing["push of plan"]), "plan-pushes")
	b.ReportMetric(float64(proposing["push of tier"]), "tier-pushes")
	b.ReportMetric(float64(proposing["push of status"]), "status-pushes")
	b.ReportMetric(float64(proposing["push"]), "pushes")
	b.ReportMetric(float64(proposing.all()-proposing.of("push")), "other-requests")
	b.ReportMetric(f.oldest.Seconds(), "status-age-max-s")
	b.ReportMetric(processor.Seconds(), "furrow-cpu-s")
}

// countProposals records the number of pull requests, open and closed.
func (f *fifty) countProposals() {
	if !f.all.IsZero() {
		return
	}
	_, response, err := f.person.ListRepoPullRequests(f.gitea.AdminUser, "gitops", sdk.ListPullRequestsOptions{ListOptions: sdk.ListOptions{PageSize: 1}, State: sdk.StateAll})
	f.must(err)
	f.proposals, err = strconv.Atoi(response.Header.Get("X-Total-Count"))
	f.must(err)
	if f.proposals > 0 && f.first.IsZero() {
		f.first = time.Now()
	}
	if f.proposals >= fiftySeeds*fiftyClusters {
		f.all = time.Now()
	}
}

// readStatus reads the published status, and records when it is newer and when it has the merge.
func (f *fifty) readStatus() {
	name := layout.StatusBranch("main", "fifty/default")
	branch, response, err := f.person.GetRepoBranch(f.gitea.AdminUser, "gitops", name)
	if err != nil && (response == nil || response.StatusCode != http.StatusNotFound) {
		f.must(err)
	}
	if err == nil && branch.Commit.ID != f.status {
		f.status, f.published = branch.Commit.ID, time.Now()
		f.findMerged(f.status)
	}
	if f.all.IsZero() {
		f.oldest = max(f.oldest, time.Since(f.published))
	}
}

func (f *fifty) findMerged(commit string) {
	data, _, err := f.person.GetFile(f.gitea.AdminUser, "gitops", commit, state.File)
	f.must(err)
	var report engine.Report
	f.must(yaml.Unmarshal(data, &report))
	for _, s := range report.Seeds {
		for _, t := range s.Tiers {
			if f.merged == fmt.Sprintf("%s/%s/%02d", s.Name, t.Cluster, t.Ordinal) && t.State == release.Merged {
				f.merged = ""
				f.note(time.Since(f.at))
			}
		}
	}
}

// note records how long the status took to have the last merge.
func (f *fifty) note(took time.Duration) {
	if f.all.IsZero() || f.at.Before(f.all) {
		f.busy = append(f.busy, took)
	} else {
		f.rest = append(f.rest, took)
	}
}

// mergeNext merges an open proposal, unless the status does not have the last merge yet.
func (f *fifty) mergeNext() {
	if f.merged != "" || f.first.IsZero() {
		return
	}
	open, _, err := f.person.ListRepoPullRequests(f.gitea.AdminUser, "gitops", sdk.ListPullRequestsOptions{ListOptions: sdk.ListOptions{PageSize: 1}, State: sdk.StateOpen, Sort: "oldest"})
	f.must(err)
	if len(open) == 0 {
		return
	}
	asked := time.Now()
	// Gitea refuses while it checks for conflicts; the next turn retries.
	done, _, err := f.person.MergePullRequest(f.gitea.AdminUser, "gitops", open[0].Index, sdk.MergePullRequestOption{Style: sdk.MergeStyleMerge})
	if done && err == nil {
		f.merged, f.at = strings.TrimPrefix(open[0].Head.Name, "furrow/main/tier/"), asked
	}
}

package e2e

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	gh "github.com/google/go-github/v56/github"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/furrow-dev/furrow/test/servers"
	"github.com/furrow-dev/furrow/test/servers/github"
)

const (
	// hubSeeds and hubFleet are the repositories of a story on GitHub.
	hubSeeds, hubFleet = "acme/control-plane", "acme/gitops"
	// never is an interval that no story waits for.
	never = time.Hour
	// hookSecret is what furrow checks webhooks with.
	hookSecret = "what only GitHub and Furrow know"
)

// hub is one fleet whose repositories are on a server that behaves as GitHub does and checks every request. Neither furrow
// nor Flux ask it by themselves while a story lasts: furrow waits for webhooks and for what changes on the cluster, and Flux
// for the story.
type hub struct {
	t         *testing.T
	world     *world
	server    *github.Server
	namespace string
	dir       string
	asAnn     *gh.Client
	running   *process
}

// twoTiers is a seed with one object after the other.
const twoTiers = `apiVersion: v1
kind: ConfigMap
metadata: {name: first, namespace: %[1]s, annotations: {furrow.dev/cluster: mgmt}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: second, namespace: %[1]s, annotations: {furrow.dev/cluster: mgmt, furrow.dev/depends-on: core/ConfigMap/%[1]s/first}}
`

func newHub(t *testing.T, name string) *hub {
	t.Helper()
	mustBeApart(t, name)
	h := &hub{t: t, world: theWorld(t), namespace: "story-" + name, server: github.Start(t)}
	dir, err := os.MkdirTemp("", "furrow-story-"+name+"-")
	h.must(err)
	h.dir = dir
	t.Cleanup(h.end)
	h.server.AddOrganization("acme")
	roles := map[string]string{"ann": "push", "furrow": "push", "flux": "pull"}
	for _, login := range slices.Sorted(maps.Keys(roles)) {
		h.server.AddUser(login)
	}
	h.server.AddRepo(hubFleet, github.RepoOptions{Private: true, Roles: roles, Files: map[string]string{"clusters/mgmt/README.md": "The root of cluster mgmt syncs this.\n"}})
	h.server.AddRepo(hubSeeds, github.RepoOptions{Private: true, Roles: roles, Files: map[string]string{
		"fleet/gitops-repo.yaml": "apiVersion: furrow.dev/v1alpha1\nkind: GitOpsRepo\nmetadata: {name: gitops}\nspec: {url: '" + h.server.GitURL(hubFleet) + "', forge: GitHub, credentials: gitops}\n",
		"fleet/mgmt.yaml": fmt.Sprintf("apiVersion: furrow.dev/v1alpha1\nkind: ClusterType\nmetadata: {name: management}\nspec: {source: {name: %s, namespace: %s}}\n---\n"+
			"apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: mgmt}\nspec: {role: Management, type: management}\n", rootName, h.namespace),
		"seeds/shop.yaml": fmt.Sprintf(twoTiers, h.namespace),
	}})
	h.asAnn, err = gh.NewClient(&http.Client{}).WithAuthToken(h.server.Token("ann", "repo")).WithEnterpriseURLs(h.server.URL, h.server.URL)
	h.must(err)
	token := h.server.Token("furrow", "repo")
	for set, repo := range map[string]string{"control-plane": hubSeeds, "gitops": hubFleet} {
		h.must(writeFile(filepath.Join(dir, "credentials", set, "token"), token))
		h.must(writeFile(filepath.Join(dir, "credentials", set, "url"), h.server.GitURL(repo)))
	}
	h.must(writeFile(filepath.Join(dir, "kubeconfigs", "mgmt.yaml"), string(h.world.mgmt.KubeConfig)))
	h.must(writeFile(filepath.Join(dir, "webhook-secret"), hookSecret))
	ctx, cancel := context.WithTimeout(t.Context(), startLimit)
	defer cancel()
	h.must(h.world.mgmt.Bootstrap(ctx, servers.RootOptions{
		URL: h.server.GitURL(hubFleet), Path: "./clusters/mgmt", Namespace: h.namespace, Name: rootName, Interval: never, Username: "flux", Password: h.server.Token("flux", "repo"),
	}))
	h.must(h.world.mgmt.AwaitKustomization(ctx, client.ObjectKey{Namespace: h.namespace, Name: rootName}, h.server.Branch(hubFleet, "main")))
	return h
}

func (h *hub) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *hub) end() {
	if h.running != nil && !h.running.ended() {
		if err := h.running.end(syscall.SIGINT); err != nil {
			h.t.Errorf("furrow: %v", err)
		}
	}
	if h.running != nil && (h.t.Failed() || strings.Contains(h.running.output(), "panic:")) {
		h.t.Errorf("the log of furrow:\n%s", lastLines(h.running.output(), 40))
	}
	s := &story{t: h.t, world: h.world, namespace: h.namespace}
	s.clear(context.Background())
	if err := os.RemoveAll(h.dir); err != nil {
		h.t.Error(err)
	}
}

func (h *hub) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(context.Background(), h.world.furrow, args...)
	cmd.Dir = h.dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + h.dir, "TMPDIR=" + os.TempDir(), "FURROW_CONTROL_PLANE=" + h.server.GitURL(hubSeeds),
		"FURROW_CREDENTIALS=" + filepath.Join(h.dir, "credentials"), "FURROW_KUBECONFIGS=" + filepath.Join(h.dir, "kubeconfigs"),
	}
	return cmd
}

// received finds the address in the log.
var received = regexp.MustCompile(`ebhooks are received.*?(127\.0\.0\.1:\d+)`)

// start starts furrow, and returns the URL of its webhooks.
func (h *hub) start(args ...string) (webhooks string) {
	h.t.Helper()
	args = append(args, "--interval", never.String(), "--cache", filepath.Join(h.dir, "mirrors"), "--webhook-secret-file", filepath.Join(h.dir, "webhook-secret"))
	var err error
	h.running, err = startProcess(h.command(args...), filepath.Join(h.dir, "furrow.log"))
	h.must(err)
	h.eventually("furrow receives webhooks", func() (bool, string) {
		if at := received.FindStringSubmatch(h.running.output()); at != nil {
			webhooks = "http://" + at[1] + "/webhook"
		}
		return webhooks != "", h.running.output()
	})
	return webhooks
}

// eventually waits until check holds.
func (h *hub) eventually(what string, check func() (ok bool, detail string)) {
	h.t.Helper()
	until, every := time.NewTimer(limit), time.NewTicker(tick)
	defer until.Stop()
	defer every.Stop()
	for {
		ok, detail := check()
		switch {
		case ok:
			return
		case h.running != nil && h.running.ended():
			h.t.Fatalf("furrow ended: %v", h.running.err)
		}
		select {
		case <-until.C:
			h.t.Fatalf("waited %s until %s: %s", limit, what, detail)
		case <-every.C:
		}
	}
}

// status returns what furrow reports.
func (h *hub) status() (r report) {
	h.t.Helper()
	output, err := h.command("status", "-o", "yaml").Output()
	if err == nil {
		h.must(yaml.Unmarshal(output, &r))
	}
	return r
}

func (h *hub) awaitState(tier, state string) {
	h.t.Helper()
	h.eventually(tier+" is "+state, func() (bool, string) {
		r := h.status()
		found := r.tier(tier)
		return found.State == state, fmt.Sprintf("it is %q: %s; %v", found.State, found.Message, r.Problems)
	})
}

// awaitIdle waits until nobody has asked the server for a while: furrow makes a pass after each one that changes something.
func (h *hub) awaitIdle() {
	h.t.Helper()
	var before map[string]int
	same := 0
	h.eventually("furrow is idle", func() (bool, string) {
		now := h.server.Requests()
		if same++; !maps.Equal(before, now) {
			before, same = now, 0
		}
		return same == 10, fmt.Sprint(now)
	})
}

// awaitPull waits for the open pull request of a tier, which is the only one.
func (h *hub) awaitPull(tier string) int {
	h.t.Helper()
	number := 0
	h.eventually("there is one open pull request, for "+tier, func() (bool, string) {
		open, _, err := h.asAnn.PullRequests.List(h.t.Context(), "acme", "gitops", nil)
		h.must(err)
		var heads []string
		for _, p := range open {
			heads, number = append(heads, p.GetHead().GetRef()), p.GetNumber()
		}
		return slices.Equal(heads, []string{tierPrefix + tier}), strings.Join(heads, ", ")
	})
	return number
}

// merge merges a pull request as a person, and waits until its events were answered with a status.
func (h *hub) merge(number, status int) []github.Delivery {
	h.t.Helper()
	before := len(h.server.Deliveries())
	h.must(h.server.As("ann").Merge(hubFleet, number, "squash"))
	return h.delivered(before, status)
}

// delivered waits until a push to the base branch and a closed pull request were sent since, and were answered with a status.
func (h *hub) delivered(before, status int) []github.Delivery {
	h.t.Helper()
	var sent []github.Delivery
	h.eventually("the events of the merge are sent", func() (bool, string) {
		sent = h.server.Deliveries()[before:]
		closed := slices.ContainsFunc(sent, func(d github.Delivery) bool { return d.Action == "closed" })
		return closed && slices.ContainsFunc(sent, func(d github.Delivery) bool { return d.Event == "push" }), fmt.Sprint(len(sent))
	})
	for _, d := range sent {
		if d.Status != status {
			h.t.Errorf("%s %s was answered with %d, want %d", d.Event, d.Action, d.Status, status)
		}
	}
	return sent
}

// fetch has Flux fetch the repository.
func (h *hub) fetch() {
	h.t.Helper()
	mgmt := h.world.mgmt.Client()
	var source sourcev1.GitRepository
	h.must(mgmt.Get(h.t.Context(), client.ObjectKey{Namespace: h.namespace, Name: rootName}, &source))
	before := source.DeepCopy()
	source.Annotations = map[string]string{"reconcile.fluxcd.io/requestedAt": time.Now().String()}
	h.must(mgmt.Patch(h.t.Context(), &source, client.MergeFrom(before)))
}

// releaseBoth is the story: a person merges one tier after the other. Of the first merge furrow gets only events with a signature
// that is not GitHub's, which do nothing. midway is called between the tiers.
func (h *hub) releaseBoth(webhooks string, midway func()) {
	h.t.Helper()
	const first, second = "shop/mgmt/00", "shop/mgmt/01"
	number := h.awaitPull(first)
	h.awaitState(first, "Proposed")
	h.awaitIdle()
	h.server.AddHook(hubFleet, webhooks, "a secret that somebody guessed")
	forged := h.merge(number, http.StatusUnauthorized)
	h.awaitIdle()
	if is := h.status(); is.tier(first).State != "Proposed" {
		h.t.Errorf("%s is %s without a valid event", first, is.tier(first).State)
	}
	h.server.SetSecrets(hubFleet, hookSecret)
	before := len(h.server.Deliveries())
	for _, d := range forged {
		h.server.Redeliver(d)
	}
	h.delivered(before, http.StatusAccepted)
	h.awaitState(first, "Merged")
	h.fetch()
	number = h.awaitPull(second)
	h.awaitState(first, "Released")
	midway()
	h.merge(number, http.StatusAccepted)
	h.awaitState(second, "Merged")
	h.fetch()
	h.awaitState(second, "Released")
	if r := h.status(); r.seed("shop").State != "Released" || len(r.Problems) > 0 {
		h.t.Errorf("the seed is %s: %v", r.seed("shop").State, r.Problems)
	}
}

func TestOnGitHubAWebhookIsEnoughForFurrowRun(t *testing.T) {
	t.Parallel()
	h := newHub(t, "hub-run")
	h.releaseBoth(h.start("run", "--listen", "127.0.0.1:0"), func() {})
}

// TestOnGitHubTheControllerIsAnApp has the controller use a GitHub App, whose token ends between two tiers.
func TestOnGitHubTheControllerIsAnApp(t *testing.T) {
	t.Parallel()
	h := newHub(t, "hub-controller")
	app := h.server.AddApp("furrow-app", map[string]string{"contents": "write", "pull_requests": "write", "statuses": "write"})
	installation := h.server.Install(app, "acme", hubSeeds, hubFleet)
	var documents strings.Builder
	for set, repo := range map[string]string{"control-plane": hubSeeds, "gitops": hubFleet} {
		secret, err := yaml.Marshal(map[string]any{
			"apiVersion": "v1", "kind": "Secret", "metadata": map[string]string{"name": set, "namespace": h.namespace},
			"stringData": map[string]string{
				"url": h.server.GitURL(repo), "githubAppID": strconv.FormatInt(app.ID, 10),
				"githubAppInstallationID": strconv.FormatInt(installation, 10), "githubAppPrivateKey": string(app.PrivateKey),
			},
		})
		h.must(err)
		fmt.Fprintf(&documents, "---\n%s", secret)
	}
	fmt.Fprintf(&documents, "---\napiVersion: furrow.dev/v1alpha1\nkind: Seed\nmetadata: {name: shop, namespace: %s}\nspec: {source: {url: %q, credentials: control-plane}}\n", h.namespace, h.server.GitURL(hubSeeds))
	h.must(h.world.mgmt.Apply(t.Context(), []byte(documents.String())))
	kubeconfig, err := h.world.as(t.Context(), controllerNamespace, controllerAccount)
	h.must(err)
	h.must(writeFile(filepath.Join(h.dir, "controller.kubeconfig"), string(kubeconfig)))
	webhooks := h.start("controller", "--kubeconfig", filepath.Join(h.dir, "controller.kubeconfig"), "--cluster", "mgmt", "--namespace", h.namespace, "--leader-elect=false",
		"--metrics-bind-address", "0", "--health-probe-bind-address", "0", "--log-format", "text", "--webhook-bind-address", "127.0.0.1:0")
	tokens := func() int { return h.server.Requests()["POST /app/installations/{installation_id}/access_tokens"] }
	h.releaseBoth(webhooks, func() {
		if n := tokens(); n != 2 { // of two repositories
			t.Errorf("%d tokens were made, want 2", n)
		}
		h.server.Advance(2 * time.Hour)
	})
	if n := tokens(); n < 4 {
		t.Errorf("%d tokens were made, and those of the beginning have expired", n)
	}
	if strings.Contains(h.running.output(), "ghs_") || strings.Contains(h.running.output(), "PRIVATE KEY") {
		t.Error("the log has a secret")
	}
}

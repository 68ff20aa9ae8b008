package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdk "code.gitea.io/sdk/gitea"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/furrow-dev/furrow/test/servers"
)

// The clusters with a Flux of their own: an existing one, and one that a seed creates.
const site, outpost = "site", "outpost"

// The tiers of the seeds on them.
const (
	survey0, survey1, survey2 = "survey/site/00", "survey/site/01", "survey/site/02"
	relayMgmt0, relayMgmt1    = "relay/mgmt/00", "relay/mgmt/01"
	relay0, relay1            = "relay/outpost/00", "relay/outpost/01"
)

const siteCluster = `apiVersion: furrow.dev/v1alpha1
kind: Cluster
metadata: {name: site}
`

// surveySeed has three tiers on the site: a namespace, a ConfigMap in it, and another that depends on that.
const surveySeed = `apiVersion: v1
kind: Namespace
metadata:
  name: survey
  annotations: {furrow.dev/cluster: site}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: map
  namespace: survey
  annotations: {furrow.dev/cluster: site}
data: {scale: "1000"}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: report
  namespace: survey
  annotations:
    furrow.dev/cluster: site
    furrow.dev/depends-on: core/ConfigMap/survey/map
data: {text: %s}
`

// relaySeed creates a cluster that runs its own Flux.
const relaySeed = `apiVersion: v1
kind: Namespace
metadata:
  name: %[1]s
  annotations: {furrow.dev/cluster: mgmt}
---
apiVersion: furrow.dev/v1alpha1
kind: Cluster
metadata: {name: outpost}
spec: {reconciledBy: outpost}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata:
  name: outpost
  namespace: %[1]s
spec:
  controlPlaneEndpoint: {host: 127.0.0.1, port: 6443}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevCluster, name: outpost}
---
apiVersion: v1
kind: Namespace
metadata:
  name: relay
  annotations: {furrow.dev/cluster: outpost}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: route
  namespace: relay
  annotations: {furrow.dev/cluster: outpost}
data: {via: satellite}
`

// hublessStory is a story of clusters that reconcile themselves, without a hub.
type hublessStory struct {
	*story
	// whole is the test.
	whole *testing.T
	site  *servers.Cluster
	// flux is the site's Flux.
	flux *servers.Flux
}

func newHublessStory(t *testing.T, name string, options ...storyOption) *hublessStory {
	t.Helper()
	s := &hublessStory{story: newStory(t, name, options...), whole: t}
	s.provideClusters(client.ObjectKey{})
	return s
}

func TestAnEdgeHasItsOwnFlux(t *testing.T) {
	through(t, "run", "hubless", runOwnFluxStory)
}

func runOwnFluxStory(t *testing.T, name string, options ...storyOption) {
	s := newHublessStory(t, name, options...)
	s.startSite()
	s.step("a tier is released when the edge's own Flux reports it Ready", s.ownFluxReleases)
	s.step("an edge that becomes unreachable during a rollout passes no gate", s.unreachablePassesNoGate)
	s.step("other clusters continue meanwhile", s.othersContinue)
	s.step("the rollout continues when the edge is back", s.continuesWhenBack)
	s.step("an edge that hangs passes no gate either", s.hangingPassesNoGate)
}

func TestASeedCreatesAnEdgeWithItsOwnFlux(t *testing.T) {
	t.Parallel()
	s := newHublessStory(t, "outpost")
	s.records = filepath.Join(s.dir, "records")
	s.step("the edge waits for a Flux of its own", s.waitsForItsFlux)
	s.step("it is planted by its own Flux", s.isPlantedByItsFlux)
	s.step("the seed is removed, the cluster after its contents", s.isRemoved)
	s.step("every recorded pass is decided the same again", s.mustReplay)
}

// startSite starts the declared edge, which exists independently of seeds.
func (s *hublessStory) startSite() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), startLimit)
	defer cancel()
	cluster, err := servers.StartCluster(ctx, servers.ClusterOptions{Name: site, Dir: filepath.Join(s.dir, "clusters", site), Audit: true})
	if err != nil {
		s.t.Fatal(err)
	}
	s.site = cluster
	s.provider.mu.Lock()
	s.provider.edges[client.ObjectKey{Name: site}] = &edge{cluster: cluster, initialized: true}
	s.provider.mu.Unlock()
	s.giveKubeConfig(cluster)
	s.makeRoot(site)
	s.flux = s.bootstrap(ctx, cluster)
}

// giveKubeConfig gives furrow access to a cluster.
func (s *hublessStory) giveKubeConfig(cluster *servers.Cluster) {
	s.t.Helper()
	if s.controller == nil {
		if err := writeFile(filepath.Join(s.dir, "kubeconfigs", cluster.Name+".yaml"), string(cluster.KubeConfig)); err != nil {
			s.t.Fatal(err)
		}
		return
	}
	s.story.giveKubeConfig(cluster)
}

// makeRoot commits the directory that a cluster's root syncs.
func (s *hublessStory) makeRoot(cluster string) {
	s.t.Helper()
	s.commitToBase("Make the directory of the root of "+cluster, files{
		"clusters/" + cluster + "/README.md": "The root of cluster " + cluster + " syncs this.\n",
	})
}

// bootstrap installs a Flux and a root on a cluster, and adds them to the observer.
func (s *hublessStory) bootstrap(ctx context.Context, cluster *servers.Cluster) *servers.Flux {
	s.t.Helper()
	flux, err := cluster.StartFlux(ctx, servers.FluxOptions{SourceArgs: impatient, KustomizeArgs: impatient})
	if err != nil {
		s.t.Fatal(err)
	}
	if err := cluster.Bootstrap(ctx, servers.RootOptions{
		URL: s.gitops.url, Path: "./clusters/" + cluster.Name, Username: s.story.flux.name, Password: s.story.flux.token,
	}); err != nil {
		s.t.Fatal(err)
	}
	s.observe(cluster)
	return flux
}

// observe adds the Kustomizations of a cluster with its own Flux to the observer.
func (s *hublessStory) observe(cluster *servers.Cluster) {
	s.t.Helper()
	reader, err := client.NewWithWatch(cluster.Config, client.Options{Scheme: cluster.Client().Scheme()})
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ; ctx.Err() == nil; pause(ctx, tick) {
			events, err := reader.Watch(ctx, &kustomizev1.KustomizationList{})
			if err != nil {
				continue
			}
			for event := range events.ResultChan() {
				if k, ok := event.Object.(*kustomizev1.Kustomization); ok {
					s.observer.note(event.Type, k)
				}
			}
			events.Stop()
		}
	}()
	s.whole.Cleanup(func() { cancel(); <-ended })
}

func (s *hublessStory) ownFluxReleases() {
	s.commit("Survey the site, and leave a note", s.fleet(), files{
		"fleet/site.yaml":   siteCluster,
		"seeds/survey.yaml": fmt.Sprintf(surveySeed, "short"),
		"seeds/note.yaml":   fmt.Sprintf(note, s.namespace),
	})
	s.run()
	pull := s.awaitPull(survey0)
	if err := s.flux.Stop(); err != nil {
		s.t.Fatal(err)
	}
	s.merge(pull, sdk.MergeStyleSquash)
	s.awaitState(survey0, "Merged")
	s.passes(2)
	s.mustNotOpen(survey1, survey2)
	if err := s.flux.Restart(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	s.awaitState(survey0, "Released")
	for _, k := range s.kustomizations(s.t.Context()) {
		if strings.HasPrefix(k.Name, "survey.") {
			s.t.Errorf("the management cluster has Kustomization %s", k.Name)
		}
	}
}

// created is the namespace of the seed's Cluster.
func (s *hublessStory) created() string { return s.namespace + "-clusters" }

// awaitUnknown waits until furrow reports that it cannot observe these tiers of the site.
func (s *hublessStory) awaitUnknown(tiers ...string) {
	s.t.Helper()
	for _, tier := range tiers {
		s.eventually(limit, "furrow reports that the cluster of "+tier+" is unreachable", func() (bool, string) {
			r := s.status()
			is := r.tier(tier)
			return is.State == "Merged" && strings.Contains(is.Message, "cannot be asked"), is.State + ": " + is.Message
		})
	}
}

func (s *hublessStory) unreachablePassesNoGate() {
	pull := s.awaitPull(survey1)
	s.observer.await(s.story, pull)
	if err := s.site.StopAPIServer(); err != nil {
		s.t.Fatal(err)
	}
	s.awaitUnknown(survey0)
	s.eventually(limit, "the open pull request has a failing status", func() (bool, string) {
		said, _, err := s.asPerson.ListStatuses(s.gitops.owner, s.gitops.name, pull.Head.Sha, sdk.ListStatusesOption{})
		failing := slices.ContainsFunc(said, func(status *sdk.Status) bool {
			return status.Context == "furrow/gate" && status.State == sdk.StatusFailure
		})
		return failing, fmt.Sprint(len(said), " statuses ", err)
	})
	s.merge(pull, sdk.MergeStyleMerge)
	s.awaitUnknown(survey0, survey1)
	s.shows("planting survey.site survey site False 0/3 … Merged site tier 0 … cannot be asked")
	s.passes(3)
	s.mustNotOpen(survey2)
	if is := s.state(survey2); is != "Blocked" {
		s.t.Errorf("%s is %s", survey2, is)
	}
}

func (s *hublessStory) othersContinue() {
	s.release(note0, sdk.MergeStyleSquash)
	s.mustNotOpen(survey2)
}

func (s *hublessStory) continuesWhenBack() {
	if err := s.site.StartAPIServer(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	// Flux restarts too, as after a power failure. A Flux that was running all the time would take up to a minute to notice.
	if err := s.flux.Restart(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	s.awaitState(survey1, "Released")
	s.release(survey2, sdk.MergeStyleSquash)
	s.mustReport("short")
}

// mustReport fails unless the last object of the survey has the text.
func (s *hublessStory) mustReport(text string) {
	s.t.Helper()
	var report corev1.ConfigMap
	if err := s.site.Client().Get(s.t.Context(), client.ObjectKey{Namespace: "survey", Name: "report"}, &report); err != nil {
		s.t.Fatal(err)
	}
	if report.Data["text"] != text {
		s.t.Errorf("the report on the site says %v, not %q", report.Data, text)
	}
}

func (s *hublessStory) hangingPassesNoGate() {
	if err := s.site.Pause(); err != nil {
		s.t.Fatal(err)
	}
	s.awaitUnknown(survey0, survey1, survey2)
	s.commit("A longer report", files{"seeds/survey.yaml": fmt.Sprintf(surveySeed, "long")})
	s.awaitState(survey2, "Blocked")
	s.passes(3)
	s.mustNotOpen(survey2)
	if err := s.site.Resume(); err != nil {
		s.t.Fatal(err)
	}
	s.release(survey2, sdk.MergeStyleMerge)
	s.mustReport("long")
}

func (s *hublessStory) waitsForItsFlux() {
	s.commit("Relay from an outpost", s.fleet(), files{"seeds/relay.yaml": fmt.Sprintf(relaySeed, s.created())})
	s.run()
	s.release(relayMgmt0, sdk.MergeStyleSquash)
	s.release(relayMgmt1, sdk.MergeStyleRebase)
	if tier := s.awaitState(relay0, "Held"); !strings.Contains(tier.Message, "clusters/"+outpost) {
		s.t.Errorf("the message does not say that the root's directory is missing: %q", tier.Message)
	}
	s.makeRoot(outpost)
	if tier := s.awaitState(relay0, "Queued"); !strings.Contains(tier.Message, "kustomizations.kustomize.toolkit.fluxcd.io") {
		s.t.Errorf("the message does not say that Flux is missing: %q", tier.Message)
	}
	s.passes(2)
	s.mustNotOpen(relay0, relay1)
}

func (s *hublessStory) isPlantedByItsFlux() {
	ctx, cancel := context.WithTimeout(s.t.Context(), startLimit)
	defer cancel()
	s.bootstrap(ctx, s.provider.cluster(outpost))
	s.release(relay0, sdk.MergeStyleMerge)
	s.release(relay1, sdk.MergeStyleSquash)
	s.awaitReleased()
	if err := s.provider.client(outpost).Get(ctx, client.ObjectKey{Namespace: "relay", Name: "route"}, &corev1.ConfigMap{}); err != nil {
		s.t.Error(err)
	}
	for _, k := range s.kustomizations(ctx) {
		if k.Spec.KubeConfig != nil {
			s.t.Errorf("the management cluster reconciles another cluster with Kustomization %s", k.Name)
		}
	}
}

func (s *hublessStory) isRemoved() {
	s.commit("Remove the relay", files{"seeds/relay.yaml": ""})
	s.confirmRemoval("relay")
	tiers := []string{relay1, relay0, relayMgmt1, relayMgmt0}
	for i, tier := range tiers {
		pull := s.awaitPull(tier)
		s.mustNotOpen(tiers[i+1:]...)
		s.merge(pull, sdk.MergeStyleSquash)
	}
	s.eventually(limit, "the namespace of the Cluster is gone", func() (bool, string) {
		err := s.world.mgmt.Client().Get(s.t.Context(), client.ObjectKey{Name: s.created()}, &corev1.Namespace{})
		return apierrors.IsNotFound(err), fmt.Sprint(err)
	})
	s.eventually(limit, "the seed is forgotten", func() (bool, string) {
		r := s.status()
		is := r.seed("relay")
		return len(r.Seeds) == 0, is.State + ": " + is.Message
	})
	s.awaitEmpty()
}

// mustReplay replays all recorded passes.
func (s *hublessStory) mustReplay() {
	s.t.Helper()
	records, err := filepath.Glob(filepath.Join(s.records, "pass-*.json.gz"))
	if err != nil || len(records) < 10 {
		s.t.Fatalf("%d passes were recorded (%v)", len(records), err)
	}
	for _, record := range records {
		if out := s.furrow("replay", record); !strings.Contains(out, "The decision is the one that was recorded.") {
			s.t.Errorf("%s:\n%s", filepath.Base(record), out)
		}
	}
}

package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	sdk "code.gitea.io/sdk/gitea"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/furrow-dev/furrow/api/v1alpha1"
)

// The tiers of the seed that Kustomize builds, and its groups.
const (
	kioskEast0, kioskWest0 = "kiosk/east/00", "kiosk/west/00"
	kioskEast1, kioskWest1 = "kiosk/east/01", "kiosk/west/01"
	kiosk0, kiosk1         = "kiosk/level-00", "kiosk/level-01"
)

// prodOverlay is the kustomization of the overlay that clusters select by label.
const prodOverlay = "seeds/kiosk/overlays/prod/kustomization.yaml"

// kiosk is a package of a base and two overlays: the site east selects one by name, west the other by label.
func (s overlayStory) kiosk() files {
	base := strings.ReplaceAll(`apiVersion: v1
kind: Namespace
metadata: {name: NAMESPACE-kiosk}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: counter, namespace: NAMESPACE-kiosk}
data: {size: small, paper: daily}
`, "NAMESPACE", s.namespace)
	return files{
		"seeds/kiosk/seed.yaml": `apiVersion: furrow.dev/v1alpha1
kind: Seed
metadata: {name: kiosk}
spec:
  render:
    kustomize:
      variants:
      - {overlay: overlays/east, clusters: [east]}
      - {overlay: overlays/prod, clusterSelector: {matchLabels: {env: prod}}}
  rollout: {groupBy: Level}
`,
		"seeds/kiosk/base/kustomization.yaml":          "resources: [counter.yaml]\n",
		"seeds/kiosk/base/counter.yaml":                base,
		"seeds/kiosk/overlays/east/kustomization.yaml": "resources: [../../base]\n",
		prodOverlay: "resources: [../../base, alarm.yaml]\npatches:\n- target: {kind: ConfigMap, name: counter}\n" +
			"  patch: |\n    - {op: replace, path: /data/size, value: large}\n",
		"seeds/kiosk/overlays/prod/alarm.yaml": fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: alarm, namespace: %s}\ndata: {rings: loud}\n", s.ours()),
	}
}

// overlayStory is a story of a seed whose clusters select overlays, through a front end.
type overlayStory struct {
	*story
	// released has the seed's files on the base branch when all was last released.
	released files
}

func TestClustersGetTheOverlaysThatTheySelect(t *testing.T) {
	for _, front := range fronts {
		t.Run(front.name, func(t *testing.T) {
			t.Parallel()
			s := &overlayStory{story: newStory(t, "overlay-"+front.name, front.options...)}
			s.attachSites(t)
			s.step("each cluster gets the overlay that it selects", s.eachGetsItsOverlay)
			s.step("a change of the base reaches both", s.baseReachesBoth)
			s.step("an error in a kustomization is reported with its position, and nothing is removed", s.errorLosesNothing)
			s.step("a build that exceeds its memory budget fails alone", s.tooMuchEndsAlone)
			s.step("both clusters continue when it is corrected", s.continuesWhenCorrected)
		})
	}
}

func (s overlayStory) ours() string { return s.namespace + "-kiosk" }

// planted returns the seed's files on the base branch.
func (s *overlayStory) planted() files {
	s.t.Helper()
	if err := s.gitops.fetch(); err != nil {
		s.t.Fatal(err)
	}
	all, err := s.readBase()
	if err != nil {
		s.t.Fatal(err)
	}
	maps.DeleteFunc(all, func(path, _ string) bool { return !strings.Contains(path, "/kiosk/") })
	return all
}

// mustBeReleased waits until all is released, and fails unless the sites have the expected contents.
func (s *overlayStory) mustBeReleased(paper string) {
	s.t.Helper()
	s.awaitReleased()
	s.shows("seed kiosk True Released 4/4", "planting kiosk.east kiosk east True 2/2", "planting kiosk.west kiosk west True 2/2")
	s.mustHold(s.ours(), "counter", "size", "small", "large")
	s.mustHold(s.ours(), "counter", "paper", paper, paper)
	s.mustHold(s.ours(), "alarm", "rings", "-", "loud")
	s.released = s.planted()
}

func (s *overlayStory) eachGetsItsOverlay() {
	for _, site := range siteNames {
		s.giveKubeConfig(s.provider.cluster(site))
	}
	s.commit("Open the kiosk", s.fleet(), files{"fleet/sites.yaml": siteClusters}, s.kiosk())
	s.run()
	s.merge(s.awaitTiers(kiosk0, kioskEast0, kioskWest0), sdk.MergeStyleSquash)
	pull := s.awaitTiers(kiosk1, kioskEast1, kioskWest1)
	mustHave(s.t, pull.Body, "`core/ConfigMap/"+s.ours()+"/counter`") // which differs by cluster
	s.merge(pull, sdk.MergeStyleSquash)
	s.mustBeReleased("daily")
}

// base returns the package's base with this paper.
func (s *overlayStory) base(paper string) files {
	const counter = "seeds/kiosk/base/counter.yaml"
	return files{counter: strings.Replace(s.kiosk()[counter], "daily", paper, 1)}
}

func (s *overlayStory) baseReachesBoth() {
	s.commit("Sell another paper", s.base("weekly"))
	s.merge(s.awaitTiers(kiosk1, kioskEast1, kioskWest1), sdk.MergeStyleRebase)
	s.mustBeReleased("weekly")
}

func (s *overlayStory) errorLosesNothing() {
	s.commit("Change the base, and break an overlay", s.base("monthly"), files{prodOverlay: "resources: [../../basis]\n"})
	s.mustBeStalled(v1alpha1.ReasonRenderFailed, prodOverlay+":1", "../../basis")
}

// tooMuchEndsAlone adds an overlay whose lines each double a value. Its build exceeds the memory budget, which applies
// only to builds in a process of their own.
func (s *overlayStory) tooMuchEndsAlone() {
	doubling := "resources: [../../base]\nreplacements:\n" + strings.Repeat(
		"- source: {kind: ConfigMap, name: counter, fieldPath: data.paper}\n"+
			"  targets: [{select: {kind: ConfigMap, name: counter}, fieldPaths: [data.paper], options: {delimiter: ',', index: 1000000}}]\n", 40)
	s.commit("Let an overlay grow", files{prodOverlay: doubling})
	s.mustBeStalled(v1alpha1.ReasonRenderBudget, "seeds/kiosk")
}

// mustBeStalled waits until the seed is reported as Stalled for this reason with these texts, by any front end, and fails
// if anything planted changes meanwhile.
func (s *overlayStory) mustBeStalled(reason v1alpha1.Reason, texts ...string) {
	s.t.Helper()
	says := func(is string) bool {
		return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(is, text) })
	}
	s.eventually(limit, "the seed is Stalled: "+string(reason), func() (bool, string) {
		r := s.status()
		is := r.seed("kiosk")
		return is.State == "Stalled" && is.Reason == reason && says(is.Message), is.State + " " + string(is.Reason) + ": " + is.Message
	})
	if s.controller != nil {
		s.eventually(limit, "the Seed's conditions have it", func() (bool, string) {
			seed, err := s.seedResource("kiosk")
			if err != nil {
				return false, err.Error()
			}
			for condition, want := range map[string]string{v1alpha1.ConditionReady: "False", v1alpha1.ConditionPlanned: "False", v1alpha1.ConditionStalled: "True"} {
				c := meta.FindStatusCondition(seed.Status.Conditions, condition)
				if c == nil || string(c.Status) != want || c.Reason != string(reason) || !says(c.Message) {
					return false, fmt.Sprintf("%s is %+v", condition, c)
				}
			}
			return true, ""
		})
		s.shows("seed kiosk False Stalled")
	}
	s.passes(3)
	if open := s.openTiers(); len(open) > 0 {
		s.t.Errorf("open are %v", open)
	}
	if is := s.planted(); !maps.Equal(is, s.released) {
		s.t.Errorf("the base branch has changed:\n%v\nwas\n%v", is, s.released)
	}
	s.mustHold(s.ours(), "counter", "size", "small", "large")
	s.mustHold(s.ours(), "counter", "paper", "weekly", "weekly")
	s.mustHold(s.ours(), "alarm", "rings", "-", "loud")
}

func (s *overlayStory) continuesWhenCorrected() {
	s.commit("Correct the overlay", files{prodOverlay: s.kiosk()[prodOverlay]})
	s.merge(s.awaitTiers(kiosk1, kioskEast1, kioskWest1), sdk.MergeStyleMerge)
	s.mustBeReleased("monthly")
}

package e2e

import (
	"strings"
	"testing"

	sdk "code.gitea.io/sdk/gitea"
)

// The tiers of the seed that goes out in waves.
const waveEast, waveWest = "wave/east/00", "wave/west/00"

// waveSeed is one namespace on each site; east is the canary.
const waveSeed = `apiVersion: furrow.dev/v1alpha1
kind: Seed
metadata: {name: wave}
spec: {rollout: {waves: [{name: canary, clusterSelector: {matchLabels: {env: test}}, soak: SOAK}, {name: main}], autoMerge: MERGE}}
---
apiVersion: v1
kind: Namespace
metadata: {name: NAMESPACE-wave, annotations: {goods: GOODS}}
`

// waveStory is a story of a seed that goes out in waves, on two sites.
type waveStory struct{ *story }

func TestASeedGoesOutInWaves(t *testing.T) {
	t.Parallel()
	s := waveStory{newStory(t, "waves")}
	s.attachSites(t)
	for _, site := range siteNames {
		s.giveKubeConfig(s.provider.cluster(site))
	}
	s.step("the canary goes first", s.canaryGoesFirst)
	s.step("a person pauses the rollout, and resumes it", s.isPaused)
	s.step("the next wave opens once the canary has soaked", s.nextWaveOpens)
	s.step("Furrow merges what has passed its checks, and a person does not wait for the soak", s.mergesItself)
	s.step("the seed is removed in reverse", s.isRemoved)
}

func (s waveStory) seed(goods, soak, merge string) files {
	return files{"seeds/wave.yaml": strings.NewReplacer("NAMESPACE", s.namespace, "GOODS", goods, "SOAK", soak, "MERGE", merge).Replace(waveSeed)}
}

func (s waveStory) canaryGoesFirst() {
	s.commit("Go out in waves", s.fleet(), files{"fleet/sites.yaml": siteClusters}, s.seed("bread", "3s", "Never"))
	s.run()
	pull := s.awaitPull(waveEast)
	if want := "- wave canary: 0 of 1 cluster done (Progressing)"; !strings.Contains(pull.Body, want) {
		s.t.Errorf("the pull request does not say %q:\n%s", want, pull.Body)
	}
	if is := s.awaitState(waveWest, "Queued"); is.Reason != "WaitingForWave" {
		s.t.Errorf("%s is %s: %s", waveWest, is.Reason, is.Message)
	}
	s.mustNotOpen(waveWest)
}

// awaitReason waits until a tier has a reason for its state.
func (s waveStory) awaitReason(tier, reason string) {
	s.t.Helper()
	s.eventually(limit, tier+" says "+reason, func() (bool, string) {
		r := s.status()
		is := r.tier(tier)
		return is.Reason == reason, is.Reason + ": " + is.Message
	})
}

func (s waveStory) isPaused() {
	s.furrow("rollout", "pause", "wave", "--by", "Ada", "--reason", "inventory")
	s.awaitReason(waveEast, "RolloutPaused")
	s.furrow("rollout", "resume", "wave")
	s.awaitReason(waveEast, "ProposalOpen")
}

func (s waveStory) nextWaveOpens() {
	s.merge(s.awaitPull(waveEast), sdk.MergeStyleSquash)
	s.awaitState(waveEast, "Released")
	pull := s.awaitPull(waveWest)
	if want := "- wave canary: 1 of 1 cluster done (Complete)"; !strings.Contains(pull.Body, want) {
		s.t.Errorf("the pull request does not say %q:\n%s", want, pull.Body)
	}
	s.merge(pull, sdk.MergeStyleSquash)
	s.awaitReleased()
}

// pass gives a pull request a check that has passed.
func (s waveStory) pass(pull *sdk.PullRequest) {
	s.t.Helper()
	if _, _, err := s.asPerson.CreateStatus(s.gitops.owner, s.gitops.name, pull.Head.Sha, sdk.CreateStatusOption{State: sdk.StatusSuccess, Context: "ci"}); err != nil {
		s.t.Fatal(err)
	}
}

func (s waveStory) mergesItself() {
	s.commit("Sell milk", s.seed("milk", "1h", "WhenGreen"))
	pull := s.awaitPull(waveEast)
	s.awaitReason(waveEast, "WaitingForChecks")
	s.pass(pull)
	s.awaitState(waveEast, "Released")
	s.awaitReason(waveWest, "WaveSoaking")
	s.mustNotOpen(waveWest)
	s.furrow("rollout", "skip", "wave", "--now", "--by", "Ada", "--reason", "the shop opens")
	s.pass(s.awaitPull(waveWest))
	s.awaitReleased()
}

func (s waveStory) isRemoved() {
	s.commit("Close the shop", files{"seeds/wave.yaml": ""})
	s.confirmRemoval("wave")
	pull := s.awaitPull(waveWest)
	s.mustNotOpen(waveEast)
	s.merge(pull, sdk.MergeStyleMerge)
	s.merge(s.awaitPull(waveEast), sdk.MergeStyleSquash)
	s.awaitEmpty()
}

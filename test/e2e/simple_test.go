package e2e

import (
	"fmt"
	"strings"
	"testing"

	sdk "code.gitea.io/sdk/gitea"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// oneTier is a seed of one object on the management cluster, in the namespace of the story's root.
const oneTier = `apiVersion: v1
kind: ConfigMap
metadata:
  name: motd
  namespace: %s
  annotations: {furrow.dev/cluster: mgmt}
data: {text: hello}
`

// motd has the tier of that seed, and its file on the base branch.
const (
	motd     = "motd/mgmt/00"
	motdFile = "planted/mgmt/motd/tier-00/configmap.motd.yaml"
)

// plantMOTD commits the seed and the fleet.
func (s *story) plantMOTD() {
	s.t.Helper()
	s.commit("Say hello", s.fleet(), files{"seeds/motd.yaml": fmt.Sprintf(oneTier, s.namespace)})
}

func TestASeedOfOneTierIsReleasedWhenItIsMerged(t *testing.T) {
	t.Parallel()
	s := newStory(t, "simple")
	s.plantMOTD()
	s.run()
	s.release(motd, sdk.MergeStyleMerge)
	s.awaitReleased()
	s.mustSay("hello")
}

func TestSeedsMayBeInTheRepositoryThatReconcilersRead(t *testing.T) {
	t.Parallel()
	s := newStory(t, "one-repository", inOneRepository)
	s.plantMOTD()
	s.run()
	s.release(motd, sdk.MergeStyleRebase)
	s.awaitReleased()
	s.mustSay("hello")
}

func TestAKilledFurrowResumes(t *testing.T) {
	t.Parallel()
	s := newStory(t, "killed")
	s.plantMOTD()
	s.run()
	pull := s.awaitPull(motd)
	s.observer.await(s, pull)
	s.kill()
	s.merge(pull, sdk.MergeStyleSquash)
	s.run()
	s.awaitReleased()
	s.passes(2)
	if all := s.pulls(sdk.StateAll); len(all) != 1 {
		t.Errorf("there are several pull requests: %v", pullNames(all))
	}
}

// mustSay fails unless the ConfigMap of the seed has the text.
func (s *story) mustSay(text string) {
	s.t.Helper()
	var motd corev1.ConfigMap
	if err := s.world.mgmt.Client().Get(s.t.Context(), client.ObjectKey{Namespace: s.namespace, Name: "motd"}, &motd); err != nil {
		s.t.Fatal(err)
	}
	if motd.Data["text"] != text {
		s.t.Errorf("motd says %v, not %q", motd.Data, text)
	}
}

func TestRetryProposesThePlanOverWhatAPersonAmended(t *testing.T) {
	t.Parallel()
	s := newStory(t, "amended")
	s.plantMOTD()
	s.run()
	pull := s.awaitPull(motd)
	s.edit(pull, motdFile, func(old string) string { return strings.Replace(old, "hello", "goodbye", 1) })
	s.merge(pull, sdk.MergeStyleSquash)
	if is := s.awaitState(motd, "Released"); is.Amended == "" {
		t.Error("the tier is not shown as amended")
	}
	s.mustSay("goodbye")
	s.furrow("retry", "motd", "--yes") // it replaces the person's change
	again := s.awaitPull(motd)
	s.passes(3)
	if open := s.pulls(sdk.StateOpen); len(open) != 1 || open[0].Index != again.Index {
		t.Fatalf("open are %v, want the requested #%d\n%s", pullNames(open), again.Index, s.scene())
	}
	s.merge(again, sdk.MergeStyleSquash)
	s.eventually(limit, "the plan's own content is released", func() (bool, string) {
		r := s.status()
		is := r.tier(motd)
		return is.State == "Released" && is.Amended == "", is.State + ": " + is.Message + is.Amended
	})
	s.mustSay("hello")
}

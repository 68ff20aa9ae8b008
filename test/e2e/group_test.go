package e2e

import (
	"strings"
	"testing"

	sdk "code.gitea.io/sdk/gitea"
)

// The tiers of the seed that is proposed level by level, and its groups.
const (
	shopEast0, shopWest0 = "shop/east/00", "shop/west/00"
	shopEast1, shopWest1 = "shop/east/01", "shop/west/01"
	shop0, shop1         = "shop/level-00", "shop/level-01"
)

// shopSeed has two tiers on each site: a namespace, and its contents.
const shopSeed = `apiVersion: furrow.dev/v1alpha1
kind: Seed
metadata: {name: shop}
spec: {rollout: {groupBy: Level}}
---
apiVersion: v1
kind: Namespace
metadata: {name: NAMESPACE-shop}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: shelf, namespace: NAMESPACE-shop}
data: {goods: GOODS}
`

// groupStory is a story of a seed that is proposed level by level, on two sites.
type groupStory struct{ *story }

func TestALevelOfAllClustersIsProposedTogether(t *testing.T) {
	through(t, "run", "group", func(t *testing.T, name string, options ...storyOption) {
		s := groupStory{newStory(t, name, options...)}
		s.attachSites(t)
		s.step("one pull request releases a level of both clusters", s.levelIsReleased)
		s.step("a cluster that is ready later joins the open pull request", s.laterOneJoins)
		s.step("the open pull request is updated with the seed", s.openOneIsUpdated)
		s.step("a rejected group stays closed until a retry", s.rejectedGroupStaysClosed)
		s.step("the seed is removed level by level", s.isRemoved)
	})
}

func (s groupStory) shop() string { return s.namespace + "-shop" }

func (s groupStory) seed(goods string) files {
	return files{"seeds/shop.yaml": strings.NewReplacer("NAMESPACE", s.namespace, "GOODS", goods).Replace(shopSeed)}
}

// mustHavePulls fails unless Furrow has opened n pull requests.
func (s groupStory) mustHavePulls(n int) {
	s.t.Helper()
	if all := s.pulls(sdk.StateAll); len(all) != n {
		s.t.Errorf("there are %d pull requests, not %d: %v", len(all), n, pullNames(all))
	}
}

// levelIsReleased merges the first level while the management cluster cannot reach the site west.
func (s groupStory) levelIsReleased() {
	s.giveKubeConfig(s.provider.cluster("east"))
	s.commit("Open the shop", s.fleet(), files{"fleet/sites.yaml": siteClusters}, s.seed("bread"))
	s.run()
	pull := s.awaitTiers(shop0, shopEast0, shopWest0)
	s.shows("seed shop False Proposed 0/4 1 review of http://")
	s.merge(pull, sdk.MergeStyleSquash)
	s.awaitState(shopEast0, "Released")
	s.awaitTiers(shop1, shopEast1)
	if is := s.state(shopWest0); is == "Released" {
		s.t.Errorf("%s is %s, although its cluster is unreachable", shopWest0, is)
	}
	s.mustHavePulls(2)
}

func (s groupStory) laterOneJoins() {
	open := s.awaitTiers(shop1, shopEast1)
	s.observer.await(s.story, open)
	s.giveKubeConfig(s.provider.cluster("west"))
	s.awaitState(shopWest0, "Released")
	if joined := s.awaitTiers(shop1, shopEast1, shopWest1); joined.Index != open.Index {
		s.t.Errorf("%s did not join #%d, but has #%d", shopWest1, open.Index, joined.Index)
	}
	s.mustHavePulls(2)
}

func (s groupStory) openOneIsUpdated() {
	open := s.awaitTiers(shop1, shopEast1, shopWest1)
	s.observer.await(s.story, open)
	s.commit("Sell milk", s.seed("milk"))
	var updated *sdk.PullRequest
	s.eventually(limit, "the open pull request is updated", func() (bool, string) {
		updated = s.awaitTiers(shop1, shopEast1, shopWest1)
		return digestLine.FindString(updated.Body) != digestLine.FindString(open.Body), updated.Body
	})
	if updated.Index != open.Index {
		s.t.Errorf("#%d is open, not #%d", updated.Index, open.Index)
	}
	if err := s.gitops.fetch(); err != nil {
		s.t.Fatal(err)
	}
	for _, site := range siteNames {
		mustHave(s.t, s.gitops.read(open.Head.Name, "planted/"+site+"/shop/tier-01/configmap.shelf.yaml"), "goods: milk")
	}
	s.merge(updated, sdk.MergeStyleRebase)
	s.awaitReleased()
	s.mustHold(s.shop(), "shelf", "goods", "milk", "milk")
	s.mustHavePulls(2)
}

func (s groupStory) rejectedGroupStaysClosed() {
	const why = "not before Monday"
	s.commit("Sell eggs", s.seed("eggs"))
	s.observer.await(s.story, s.awaitTiers(shop1, shopEast1, shopWest1))
	s.furrow("pr", "reject", shop1, "--reason", why)
	for _, tier := range []string{shopEast1, shopWest1} {
		if is := s.awaitState(tier, "Rejected"); !strings.Contains(is.Message, why) {
			s.t.Errorf("%s does not report why it is Rejected: %q", tier, is.Message)
		}
	}
	s.passes(3)
	if open := s.openTiers(); len(open) > 0 {
		s.t.Errorf("open are %v", open)
	}
	s.mustHold(s.shop(), "shelf", "goods", "milk", "milk")
	s.retry("shop")
	s.merge(s.awaitTiers(shop1, shopEast1, shopWest1), sdk.MergeStyleSquash)
	s.awaitReleased()
	s.mustHold(s.shop(), "shelf", "goods", "eggs", "eggs")
	s.mustHavePulls(3) // the rejected one is opened again
}

func (s groupStory) isRemoved() {
	s.commit("Close the shop", files{"seeds/shop.yaml": ""})
	s.confirmRemoval("shop")
	const last, first = "shop/remove-level-01", "shop/remove-level-00"
	pull := s.awaitTiers(last, shopEast1, shopWest1)
	s.mustNotOpen(first)
	s.merge(pull, sdk.MergeStyleMerge)
	pull = s.awaitTiers(first, shopEast0, shopWest0)
	s.mustHold(s.shop(), "shelf", "goods", "-", "-")
	s.merge(pull, sdk.MergeStyleSquash)
	s.awaitEmpty()
	s.mustHavePulls(5)
}

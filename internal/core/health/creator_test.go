package health_test

import (
	"testing"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/health"
	"github.com/furrow-dev/furrow/test/golden"
)

var (
	// live is what a kind of reconciler says of a tier that is on its cluster and healthy.
	live = health.Verdict{Phase: health.Ready}
	// present and deleting are reconciler objects.
	present  = health.Reconciler{Known: true, Found: true}
	deleting = health.Reconciler{Known: true, Found: true, Deleting: true}
)

func TestJudgeCreators(t *testing.T) {
	whole := health.Creator{Known: true, Found: true, Current: true, Answers: true}
	tests := map[string]struct {
		creators []health.Creator
		want     health.Phase
		reason   v1alpha1.Reason
	}{
		"current and answering is Ready": {[]health.Creator{whole}, health.Ready, v1alpha1.ReasonHealthy},
		"current and silent is Progressing: a status that is vacuously true is not enough": {
			[]health.Creator{{Known: true, Found: true, Current: true, Message: "no kubeconfig Secret"}}, health.Progressing, v1alpha1.ReasonAPIServerSilent,
		},
		"answering and not current is Progressing": {
			[]health.Creator{{Known: true, Found: true, Answers: true, Message: "no control plane"}}, health.Progressing, v1alpha1.ReasonClusterBeingCreated,
		},
		"not there is Progressing, though Flux finds an empty folder healthy": {[]health.Creator{{Known: true}}, health.Progressing, v1alpha1.ReasonCreatorNotThere},
		"a management cluster that is away is Unknown":                        {[]health.Creator{{}}, health.Unknown, v1alpha1.ReasonCreatorSilent},
		"a creator that may not be read is Unknown, and the message says why": {
			[]health.Creator{{Name: "Cluster fleet/edge", Message: "cluster mgmt cannot be asked: clusters is forbidden"}}, health.Unknown, v1alpha1.ReasonCreatorSilent,
		},
		"a creator that is not there is named":          {[]health.Creator{{Known: true, Message: "there is no Cluster fleet/edge"}}, health.Progressing, v1alpha1.ReasonCreatorNotThere},
		"one of two that is not current is Progressing": {[]health.Creator{whole, {Known: true, Found: true, Answers: true}}, health.Progressing, v1alpha1.ReasonClusterBeingCreated},
	}
	texts := golden.Of(t)
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := health.Judge(live, present, tc.creators, health.Want{})
			texts.Add(name, got.Message)
			if got.Phase != tc.want || got.Reason != tc.reason || tc.want != health.Ready && got.Object != tc.creators[len(tc.creators)-1].Name {
				t.Errorf("got %+v, want %s (%s)", got, tc.want, tc.reason)
			}
		})
	}
	if got := health.Judge(health.Say(health.Behind, v1alpha1.ReasonRevisionBehind, "behind"), present, []health.Creator{whole}, health.Want{}); got.Phase != health.Behind {
		t.Errorf("a cluster that is ready does not make up for its tier: got %s", got.Phase)
	}
}

func TestJudgeGone(t *testing.T) {
	gone, there := health.Creator{Known: true}, health.Creator{Known: true, Found: true}
	tests := map[string]struct {
		seen    health.Reconciler
		creator health.Creator
		want    health.Phase
		reason  v1alpha1.Reason
	}{
		"gone when the object and the creator are":        {health.Reconciler{Known: true}, gone, health.Absent, v1alpha1.ReasonGone},
		"not while the object is there, whatever it says": {present, gone, health.Behind, v1alpha1.ReasonStillPresent},
		"not while it is being deleted, whatever it says": {deleting, gone, health.Progressing, v1alpha1.ReasonPruning},
		"not while the creator is there":                  {health.Reconciler{Known: true}, there, health.Progressing, v1alpha1.ReasonCreatorDeleting},
		"not while the cluster is silent":                 {health.Reconciler{}, gone, health.Unknown, v1alpha1.ReasonClusterSilent},
		"not while nothing is known of the creator":       {health.Reconciler{Known: true}, health.Creator{}, health.Unknown, v1alpha1.ReasonCreatorSilent},
	}
	texts := golden.Of(t)
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := health.Judge(live, tc.seen, []health.Creator{tc.creator}, health.Want{Gone: true, RootFound: true})
			texts.Add(name, got.Message)
			if got.Phase != tc.want || got.Reason != tc.reason || got.AwaitsRoot != (tc.want == health.Behind) {
				t.Errorf("got %s (%s, awaits its root: %v), want %s (%s)", got.Phase, got.Reason, got.AwaitsRoot, tc.want, tc.reason)
			}
			rootless := health.Judge(live, tc.seen, []health.Creator{tc.creator}, health.Want{Gone: true})
			switch {
			case tc.want != health.Absent && rootless != got:
				t.Errorf("without the root: got %s (%s), want %s (%s)", rootless.Phase, rootless.Message, got.Phase, got.Message)
			case tc.want == health.Absent && (rootless.Phase != health.Unknown || !rootless.AwaitsRoot || rootless.Reason != v1alpha1.ReasonRootGone):
				t.Errorf("without the root: got %s (%s), want %s", rootless.Phase, rootless.Message, health.Unknown)
			}
		})
	}
}

func TestJudgeGoneOfAnAbandonedCluster(t *testing.T) {
	gone, there, silent := health.Creator{Known: true}, health.Creator{Known: true, Found: true}, health.Creator{}
	self := health.Want{Gone: true, RootFound: true, Reconciler: health.Cluster{Cluster: "edge", Abandoned: true}, Creators: health.Cluster{Cluster: "edge", Abandoned: true}}
	behindHub := health.Want{Gone: true, RootFound: true, Reconciler: health.Cluster{Cluster: "hub"}, Creators: health.Cluster{Cluster: "edge", Abandoned: true}}
	ofHub := health.Want{Gone: true, RootFound: true, Reconciler: health.Cluster{Cluster: "hub", Abandoned: true}, Creators: health.Cluster{Cluster: "edge"}}
	rootless := func(w health.Want) health.Want { w.RootFound = false; return w }
	tests := map[string]struct {
		seen     health.Reconciler
		creators []health.Creator
		want     health.Want
		phase    health.Phase
		reason   v1alpha1.Reason
		on       string
	}{
		"silent, it is given up":                                   {health.Reconciler{}, []health.Creator{silent}, rootless(self), health.Absent, v1alpha1.ReasonGivenUp, "edge"},
		"with the object still there, it is not":                   {present, nil, self, health.Behind, v1alpha1.ReasonStillPresent, "edge"},
		"with the object being deleted, it is not":                 {deleting, nil, self, health.Progressing, v1alpha1.ReasonPruning, "edge"},
		"with the object gone and the creator there, it is not":    {health.Reconciler{Known: true}, []health.Creator{there}, self, health.Progressing, v1alpha1.ReasonCreatorDeleting, "edge"},
		"with all seen to be gone, it is gone":                     {health.Reconciler{Known: true}, []health.Creator{gone}, self, health.Absent, v1alpha1.ReasonGone, "edge"},
		"with another root, it is given up":                        {health.Reconciler{Known: true}, nil, rootless(self), health.Absent, v1alpha1.ReasonGivenUp, "edge"},
		"its hub's silence is waited for":                          {health.Reconciler{}, []health.Creator{silent}, behindHub, health.Unknown, v1alpha1.ReasonClusterSilent, "hub"},
		"its hub without the root is waited for":                   {health.Reconciler{Known: true}, nil, rootless(behindHub), health.Unknown, v1alpha1.ReasonRootGone, "hub"},
		"its creators are given up":                                {health.Reconciler{Known: true}, []health.Creator{gone, silent}, behindHub, health.Absent, v1alpha1.ReasonGivenUp, "edge"},
		"one creator that is seen there counts":                    {health.Reconciler{Known: true}, []health.Creator{silent, there}, behindHub, health.Progressing, v1alpha1.ReasonCreatorDeleting, "edge"},
		"as a hub, it is given up for the cluster behind it":       {health.Reconciler{}, []health.Creator{gone}, ofHub, health.Absent, v1alpha1.ReasonGivenUp, "hub"},
		"as a hub, it does not excuse the creators of another one": {health.Reconciler{}, []health.Creator{silent}, ofHub, health.Unknown, v1alpha1.ReasonCreatorSilent, "edge"},
	}
	texts := golden.Of(t)
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := health.Judge(live, tc.seen, tc.creators, tc.want)
			texts.Add(name, got.Message)
			if got.Phase != tc.phase || got.Reason != tc.reason || got.On != tc.on {
				t.Errorf("got %s (%s, on %s), want %s (%s, on %s)", got.Phase, got.Reason, got.On, tc.phase, tc.reason, tc.on)
			}
		})
	}
}

func TestJudgeOfAnAbandonedClusterWhatIsToStay(t *testing.T) {
	abandoned := health.Want{Reconciler: health.Cluster{Cluster: "edge", Abandoned: true}, Creators: health.Cluster{Cluster: "edge", Abandoned: true}}
	texts := golden.Of(t)
	for name, got := range map[string]health.Verdict{
		"the reconciler object": health.Judge(live, health.Reconciler{}, nil, abandoned),
		"the creator":           health.Judge(live, present, []health.Creator{{}}, abandoned),
	} {
		texts.Add(name, got.Message)
		if got.Phase != health.Unknown || got.Reason != v1alpha1.ReasonClusterAbandoned || got.On != "edge" {
			t.Errorf("%s: got %+v, want %s", name, got, health.Unknown)
		}
	}
	if got := health.Judge(live, present, nil, abandoned); got.Phase != health.Ready {
		t.Errorf("a cluster that answers: got %s (%s)", got.Phase, got.Message)
	}
}

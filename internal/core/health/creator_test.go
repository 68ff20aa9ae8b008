package health_test

import (
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/internal/core/health"
)

func TestJudgeCreators(t *testing.T) {
	whole := health.Creator{Known: true, Found: true, Current: true, Answers: true}
	tests := map[string]struct {
		creators []health.Creator
		want     health.Phase
		says     string
	}{
		"current and answering is Ready": {[]health.Creator{whole}, health.Ready, "healthy"},
		"current and silent is Progressing: a status that is vacuously true is not enough": {
			[]health.Creator{{Known: true, Found: true, Current: true, Message: "no kubeconfig Secret"}}, health.Progressing, "does not answer yet: no kubeconfig Secret",
		},
		"answering and not current is Progressing": {
			[]health.Creator{{Known: true, Found: true, Answers: true, Message: "no control plane"}}, health.Progressing, "being created: no control plane",
		},
		"not there is Progressing, though Flux finds an empty folder healthy": {[]health.Creator{{Known: true}}, health.Progressing, "not there yet"},
		"a management cluster that is away is Unknown":                        {[]health.Creator{{}}, health.Unknown, "could not be asked"},
		"a creator that may not be read is Unknown, and why is told": {
			[]health.Creator{{Name: "Cluster fleet/edge", Message: "clusters is forbidden"}}, health.Unknown, "asked for the creator Cluster fleet/edge: clusters is forbidden",
		},
		"a creator that is not there is named":          {[]health.Creator{{Known: true, Message: "there is no Cluster fleet/edge"}}, health.Progressing, "not there yet: there is no Cluster fleet/edge"},
		"one of two that is not current is Progressing": {[]health.Creator{whole, {Known: true, Found: true, Answers: true}}, health.Progressing, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := health.Judge(ready(), tc.creators, want)
			if got.Phase != tc.want || !strings.Contains(got.Message, tc.says) {
				t.Errorf("got %s (%s), want %s", got.Phase, got.Message, tc.want)
			}
		})
	}
	if got := health.Judge(ready(at(before, before)), []health.Creator{whole}, want); got.Phase != health.Behind {
		t.Errorf("a cluster that is ready does not make up for its tier: got %s", got.Phase)
	}
}

func TestJudgeGone(t *testing.T) {
	gone, there := health.Creator{Known: true}, health.Creator{Known: true, Found: true}
	tests := map[string]struct {
		seen    health.Reconciler
		creator health.Creator
		want    health.Phase
	}{
		"gone when the object and the creator are":                       {health.Reconciler{Known: true}, gone, health.Absent},
		"not while the object is there, failed or not":                   {ready(saying("False", "BuildFailed", "")), gone, health.Behind},
		"not while it is Ready at an emptied folder":                     {ready(at(before, before)), gone, health.Behind},
		"not while it is being deleted, perfect a success as it reports": {ready(func(r *health.Reconciler) { r.Deleting = true }), gone, health.Progressing},
		"not while its cluster is away and the finalizer hangs":          {ready(func(r *health.Reconciler) { r.Deleting = true }, saying("False", "ReconciliationFailed", "connection refused")), gone, health.Progressing},
		"not while the creator is there":                                 {health.Reconciler{Known: true}, there, health.Progressing},
		"not while the cluster is silent":                                {health.Reconciler{}, gone, health.Unknown},
		"not while nothing is known of the creator":                      {health.Reconciler{Known: true}, health.Creator{}, health.Unknown},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := health.Judge(tc.seen, []health.Creator{tc.creator}, health.Want{Gone: true, RootFound: true})
			if got.Phase != tc.want || got.AwaitsRoot != (tc.want == health.Behind) {
				t.Errorf("got %s (%s, awaits its root: %v), want %s", got.Phase, got.Message, got.AwaitsRoot, tc.want)
			}
			rootless := health.Judge(tc.seen, []health.Creator{tc.creator}, health.Want{Gone: true})
			switch {
			case tc.want != health.Absent && rootless != got:
				t.Errorf("without the root: got %s (%s), want %s (%s)", rootless.Phase, rootless.Message, got.Phase, got.Message)
			case tc.want == health.Absent && (rootless.Phase != health.Unknown || !rootless.AwaitsRoot || !strings.Contains(rootless.Message, "another or a new one")):
				t.Errorf("without the root: got %s (%s), want %s", rootless.Phase, rootless.Message, health.Unknown)
			}
		})
	}
}

func TestJudgeGoneOfAnAbandonedCluster(t *testing.T) {
	gone, there, silent := health.Creator{Known: true}, health.Creator{Known: true, Found: true}, health.Creator{}
	self := health.Want{Gone: true, RootFound: true, Reconciler: health.Place{Cluster: "edge", Abandoned: true}, Creators: health.Place{Cluster: "edge", Abandoned: true}}
	behindHub := health.Want{Gone: true, RootFound: true, Reconciler: health.Place{Cluster: "hub"}, Creators: health.Place{Cluster: "edge", Abandoned: true}}
	ofHub := health.Want{Gone: true, RootFound: true, Reconciler: health.Place{Cluster: "hub", Abandoned: true}, Creators: health.Place{Cluster: "edge"}}
	rootless := func(w health.Want) health.Want { w.RootFound = false; return w }
	tests := map[string]struct {
		seen     health.Reconciler
		creators []health.Creator
		want     health.Want
		phase    health.Phase
		says     string
	}{
		"silent, it is given up":                                    {health.Reconciler{}, []health.Creator{silent}, rootless(self), health.Absent, "given up: cluster edge was abandoned"},
		"with the object still there, it is not":                    {ready(), nil, self, health.Behind, "still there"},
		"with the object being deleted, it is not":                  {ready(func(r *health.Reconciler) { r.Deleting = true }), nil, self, health.Progressing, "is deleting"},
		"with the object gone and the creator there, it is not":     {health.Reconciler{Known: true}, []health.Creator{there}, self, health.Progressing, "still being deleted"},
		"with all seen to be gone, it is gone":                      {health.Reconciler{Known: true}, []health.Creator{gone}, self, health.Absent, "gone"},
		"with another root, it is given up":                         {health.Reconciler{Known: true}, nil, rootless(self), health.Absent, "given up: cluster edge was abandoned"},
		"its hub's silence is waited for":                           {health.Reconciler{}, []health.Creator{silent}, behindHub, health.Unknown, "could not be asked (if it is gone for good, run 'furrow abandon hub')"},
		"its hub without the root is waited for":                    {health.Reconciler{Known: true}, nil, rootless(behindHub), health.Unknown, "another or a new one"},
		"its creators are given up":                                 {health.Reconciler{Known: true}, []health.Creator{gone, silent}, behindHub, health.Absent, "given up: cluster edge was abandoned"},
		"one creator that is seen there counts":                     {health.Reconciler{Known: true}, []health.Creator{silent, there}, behindHub, health.Progressing, "still being deleted"},
		"as a hub, it is given up for the cluster behind it":        {health.Reconciler{}, []health.Creator{gone}, ofHub, health.Absent, "given up: cluster hub was abandoned"},
		"as a hub, it is no excuse for the creators of another one": {health.Reconciler{}, []health.Creator{silent}, ofHub, health.Unknown, "asked for the creator (if it is gone for good, run 'furrow abandon edge')"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := health.Judge(tc.seen, tc.creators, tc.want)
			if got.Phase != tc.phase || !strings.Contains(got.Message, tc.says) {
				t.Errorf("got %s (%s), want %s (%s)", got.Phase, got.Message, tc.phase, tc.says)
			}
		})
	}
}

func TestJudgeOfAnAbandonedClusterWhatIsToStay(t *testing.T) {
	abandoned := want
	abandoned.Reconciler, abandoned.Creators = health.Place{Cluster: "edge", Abandoned: true}, health.Place{Cluster: "edge", Abandoned: true}
	const says = "cluster edge was abandoned, but this is to stay: "
	for name, got := range map[string]health.Verdict{
		"the reconciler object": health.Judge(health.Reconciler{}, nil, abandoned),
		"the creator":           health.Judge(ready(), []health.Creator{{}}, abandoned),
	} {
		if got.Phase != health.Unknown || !strings.HasPrefix(got.Message, says) {
			t.Errorf("%s: got %s (%s), want %s (%s…)", name, got.Phase, got.Message, health.Unknown, says)
		}
	}
	if got := health.Judge(ready(), nil, abandoned); got.Phase != health.Ready {
		t.Errorf("a cluster that answers: got %s (%s)", got.Phase, got.Message)
	}
}

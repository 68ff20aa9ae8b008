package inventory

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/controllers/condition"
	"github.com/furrow-dev/furrow/controllers/fleet"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/state"
)

func TestAStatusHasTheFindingsOfThePasses(t *testing.T) {
	at := manifest.Source{File: "GitOpsRepo resource fleet/gitops"}
	wrong := manifest.Problems{{Reason: v1alpha1.ReasonMissingField, Source: at, Message: "spec.url is missing"}}
	snapshots := func(change func(*fleet.Snapshot)) []fleet.Snapshot {
		p := fleet.Snapshot{Catalog: &catalog.Catalog{}, Repos: map[string]engine.RepoReport{"gitops": {Proposals: 2}}}
		change(&p)
		return []fleet.Snapshot{p}
	}
	tests := map[string]struct {
		facts facts
		want  map[string]string // status and reason of each condition
	}{
		"in force": {
			facts{snapshots: snapshots(func(*fleet.Snapshot) {})},
			map[string]string{"Accepted": "True Succeeded", "Reachable": "True Succeeded", "Ready": "True Succeeded"},
		},
		"valid, not read by any pass": {
			facts{alone: &catalog.Catalog{}},
			map[string]string{"Accepted": "True Unused", "Ready": "True Unused"},
		},
		"invalid, not read by any pass": {
			facts{alone: &catalog.Catalog{Problems: wrong}},
			map[string]string{"Accepted": "False MissingField", "Ready": "False MissingField", "Stalled": "True MissingField"},
		},
		"invalid in a pass": {
			facts{snapshots: snapshots(func(p *fleet.Snapshot) { p.Catalog.Problems = wrong })},
			map[string]string{"Accepted": "False MissingField", "Ready": "False MissingField", "Stalled": "True MissingField"},
		},
		"overridden by the tree": {
			facts{snapshots: snapshots(func(p *fleet.Snapshot) {
				p.Catalog.Overridden = map[manifest.Source]manifest.Source{at: {File: "fleet.yaml", Line: 3}}
			})},
			map[string]string{"Accepted": "False Overridden", "Ready": "False Overridden", "Stalled": "True Overridden"},
		},
		"no more requests for a while": {
			facts{snapshots: snapshots(func(p *fleet.Snapshot) {
				p.Repos["gitops"] = engine.RepoReport{Limit: &state.Limit{Reason: v1alpha1.ReasonRateLimited, Message: "until noon"}}
			})},
			map[string]string{"Accepted": "True Succeeded", "Reachable": "True RateLimited", "Ready": "True Succeeded"},
		},
		"proposals that lack something": {
			facts{snapshots: snapshots(func(p *fleet.Snapshot) {
				p.Repos["gitops"] = engine.RepoReport{Warnings: manifest.Problems{{Message: "proposals lack the milestone", Next: "Open it"}}}
			})},
			map[string]string{"Accepted": "True Succeeded", "Reachable": "True Succeeded", "Ready": "True ProposalIncomplete"},
		},
		"unreachable server": {
			facts{snapshots: snapshots(func(p *fleet.Snapshot) { p.Repos["gitops"] = engine.RepoReport{Err: errors.New("no answer")} })},
			map[string]string{"Accepted": "True Succeeded", "Reachable": "False Unreachable", "Ready": "False Unreachable", "Reconciling": "True Unreachable"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := &v1alpha1.GitOpsRepo{ObjectMeta: metav1.ObjectMeta{Namespace: "fleet", Name: "gitops", Generation: 4}}
			showGitOpsRepo(r, tc.facts, condition.Of(&r.Status.CommonStatus, r.Generation, time.Unix(0, 0)))
			got := map[string]string{}
			for _, c := range r.Status.Conditions {
				got[c.Type] = string(c.Status) + " " + c.Reason
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if r.Status.ObservedGeneration != 4 {
				t.Errorf("the generation is %d", r.Status.ObservedGeneration)
			}
		})
	}
}

func TestAResourceIsInForceWhenAPassHasReadIt(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	key := types.NamespacedName{Namespace: "fleet", Name: "gitops"}
	made := &v1alpha1.GitOpsRepo{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Generation: 2}}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(made).WithStatusSubresource(made).Build()
	snapshots := &fleet.Snapshots{}
	r := &Reconciler{client: c, snapshots: snapshots, clock: clock.RealClock{}, kind: kinds[slices.IndexFunc(kinds, func(k kind) bool { return k.name == "GitOpsRepo" })]}
	for _, read := range []int64{1, 0, 2} {
		var docs []fleet.Document // none if the control plane could not be read
		if read > 0 {
			of := made.DeepCopy()
			of.Generation = read
			docs = []fleet.Document{{Kind: "GitOpsRepo", Name: key.Name, Version: fleet.VersionOf(of)}}
		}
		snapshots.Publish(fleet.ControlPlane{Namespace: key.Namespace}, docs, &engine.Report{Catalog: &catalog.Catalog{}})
		if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: key}); err != nil {
			t.Fatal(err)
		}
		is := &v1alpha1.GitOpsRepo{}
		if err := c.Get(t.Context(), key, is); err != nil {
			t.Fatal(err)
		}
		if ready := meta.IsStatusConditionTrue(is.Status.Conditions, v1alpha1.ConditionReady); ready != (read == 2) {
			t.Errorf("ready is %t after generation %d of 2 was read", ready, read)
		}
	}
}

func TestClustersAreReconciledWhenTheirHubIsCreated(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	cluster := func(namespace, name, hub string) *v1alpha1.Cluster {
		return &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: v1alpha1.ClusterSpec{ReconciledBy: hub}}
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		cluster("fleet", "edge-1", "mgmt"), cluster("fleet", "edge-2", "other"), cluster("fleet", "edge-3", ""), cluster("another", "edge-4", "mgmt"),
	).Build()
	snapshots := &fleet.Snapshots{}
	r := &Reconciler{client: c, snapshots: snapshots}
	hub := cluster("fleet", "mgmt", "")
	want := []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: "fleet", Name: "edge-1"}}}
	if diff := cmp.Diff(want, r.unreadOfHub(t.Context(), hub)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	snapshots.Publish(fleet.ControlPlane{Namespace: "fleet"}, nil, &engine.Report{Catalog: &catalog.Catalog{}})
	if got := r.unreadOfHub(t.Context(), hub); len(got) > 0 {
		t.Errorf("a pass reads them, but got %v", got)
	}
}

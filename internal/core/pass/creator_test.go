package pass_test

import (
	"testing"

	"github.com/furrow-dev/furrow/internal/core/health"
)

// creating is a fleet on which a seed creates the cluster new, and plants something there.
// One that is declared reconciles itself.
func creating(t testing.TB, declared ...string) *fleet {
	f := newFleet(t, map[string][]string{"a": append(declared, "mgmt")})
	f.put("clusters/mgmt.yaml", document("Cluster", "mgmt", "gitOpsRepo: a, role: Management, provides: {customResourceDefinitions: [clusters.cluster.x-k8s.io]}"))
	f.creators["new"] = health.Creator{Found: true, Current: true, Answers: true}
	return planted(f, web("apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: new, namespace: default}\nspec: {}\n", configMap("c", 1, on("new"))))
}

// leaving is that fleet while the seed goes, and its tier on the new cluster has gone from base.
func leaving(t testing.TB, declared ...string) *fleet {
	f := creating(t, declared...)
	f.remove("web")
	f.confirm()
	f.step()
	f.mergeAll()
	return f
}

// confirm lets a person confirm the removal of the seed web.
func (f *fleet) confirm() {
	r := f.repos["a"]
	r.refs["furrow/main/confirm/web"] = r.refs["furrow/main/plan/web"]
}

func TestCreatedClusters(t *testing.T) {
	cases{
		"a cluster is released when it answers": {
			fleet: creating(t), arrange: func(*fleet) {},
			wantStates:  []string{"web/mgmt/00 Released Healthy", "web/new/00 Released Healthy"},
			wantActions: []string{},
		},
		"a cluster that does not answer is not released, nor does it revert what is on it": {
			fleet: creating(t), arrange: func(f *fleet) { f.creators["new"] = health.Creator{Found: true, Current: true} },
			wantStates:  []string{"web/mgmt/00 Progressing APIServerSilent", "web/new/00 Released Healthy"},
			wantActions: []string{},
		},
		"what is on a cluster that is to go goes first": {
			fleet: creating(t),
			arrange: func(f *fleet) {
				f.remove("web")
				f.confirm()
			},
			wantStates:  []string{"web/mgmt/00 Blocked WaitingForRemoval", "web/new/00 Queued Proposing"},
			wantActions: []string{"a: PushPlan plan/web removal 2", "a: Propose tier/web/new/00 Remove", "a: MoveToPlan confirm/web"},
		},
		"what was on a cluster is not gone while its reconciler is there": {
			fleet: leaving(t), arrange: func(*fleet) {},
			wantStates:  []string{"web/mgmt/00 Blocked WaitingForRemoval", "web/new/00 Progressing StillPresent"},
			wantActions: []string{"a: Drop tier/web/new/00"},
		},
		"what was on a cluster is gone with its creator, though that cluster cannot be asked": {
			fleet: leaving(t, "new"),
			arrange: func(f *fleet) {
				f.creators["new"] = health.Creator{}
				f.silent["new"] = true
			},
			wantStates:  []string{"web/mgmt/00 Queued Proposing", "web/new/00 Gone Gone"},
			wantActions: []string{"a: Propose tier/web/mgmt/00 Remove", "a: Drop tier/web/new/00"},
		},
		"what was on a cluster may be there while the root of its creator is not found": {
			fleet: leaving(t, "new"),
			arrange: func(f *fleet) {
				f.creators["new"] = health.Creator{}
				f.silent["new"] = true
				f.onRoot = func(r *health.Root) { r.Found = false }
			},
			wantStates:  []string{"web/mgmt/00 Blocked WaitingForRemoval", "web/new/00 Progressing ClusterSilent"},
			wantActions: []string{"a: Drop tier/web/new/00"},
		},
		"what was on a cluster may be there while its creator is": {
			fleet: leaving(t, "new"), arrange: func(f *fleet) { f.silent["new"] = true },
			wantStates:  []string{"web/mgmt/00 Blocked WaitingForRemoval", "web/new/00 Progressing ClusterSilent"},
			wantActions: []string{"a: Drop tier/web/new/00"},
		},
		"what was on a cluster may be there while its creator cannot be asked": {
			fleet: leaving(t, "new"), arrange: func(f *fleet) { f.silent["new"], f.silent["mgmt"] = true, true },
			wantStates:  []string{"web/mgmt/00 Blocked WaitingForRemoval", "web/new/00 Progressing ClusterSilent"},
			wantActions: []string{"a: Drop tier/web/new/00"},
		},
		"what is gone is not known while its root is not found": {
			fleet: leaving(t),
			arrange: func(f *fleet) {
				f.sync()
				f.onRoot = func(r *health.Root) { r.Found = false }
			},
			wantStates:  []string{"web/mgmt/00 Blocked WaitingForRemoval", "web/new/00 Progressing RootGone"},
			wantActions: []string{"a: Drop tier/web/new/00"},
		},
		"a cluster that a seed creates needs no document for the seed to go": {
			fleet: creating(t),
			arrange: func(f *fleet) {
				f.remove("web")
				f.confirm()
				f.put("clusters/lost.yaml", "apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmeta")
			},
			wantStates:  []string{"web/mgmt/00 Blocked WaitingForRemoval", "web/new/00 Queued Proposing"},
			wantActions: []string{"a: PushPlan plan/web removal 2", "a: Propose tier/web/new/00 Remove", "a: MoveToPlan confirm/web"},
		},
	}.run(t)
}

package plan_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/plan"
)

// health is what a tier's Kustomization says of health.
type health struct {
	Wait   bool
	Checks []string // kind/name
	Exprs  map[string]string
}

// healthOf returns what the Kustomization of a tier says of health; expressions by kind, with what they have before
// the first bracket.
func healthOf(t *testing.T, o *plan.Outcome, tier layout.Tier) health {
	t.Helper()
	if o == nil || o.Err != nil {
		t.Fatalf("no plan: %+v", o)
	}
	planned, ok := o.Plan.Find(tier.Cluster, tier.Ordinal)
	if !ok {
		t.Fatalf("there is no %v", tier)
	}
	var k struct {
		Spec struct {
			Wait         bool
			HealthChecks []struct{ Kind, Name string }
			Exprs        []map[string]string `json:"healthCheckExprs"`
		}
	}
	if err := yaml.Unmarshal(o.Files[planned.Repo].Flat()[planned.ReconcilerFile()].Data, &k); err != nil {
		t.Fatal(err)
	}
	h := health{Wait: k.Spec.Wait}
	for _, c := range k.Spec.HealthChecks {
		h.Checks = append(h.Checks, c.Kind+"/"+c.Name)
	}
	for _, e := range k.Spec.Exprs {
		if h.Exprs == nil {
			h.Exprs = map[string]string{}
		}
		h.Exprs[e["kind"]] = e["current"]
	}
	return h
}

const (
	readinessCluster = "apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: edge}\nspec:\n  provides: {customResourceDefinitions: [backups.velero.io, tenants.minio.min.io, databases.k8s.mariadb.com, slices.ran.example.com]}\n"
	backup           = "apiVersion: velero.io/v1\nkind: Backup\nmetadata: {name: b, namespace: default}\n---\n"
	backupCurrent    = "has(status.phase) && status.phase == 'Completed'"
)

// after is a ConfigMap that waits for another object.
func after(id string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: after, namespace: default, annotations: {furrow.dev/depends-on: %s}}\n---\n", id)
}

func seedWith(spec string) string {
	return "apiVersion: furrow.dev/v1alpha1\nkind: Seed\nmetadata: {name: web}\nspec:\n  " + spec + "\n---\n"
}

// ignored adds the annotation to the first object of a text.
func ignored(text string) string {
	return strings.Replace(text, "metadata: {", "metadata: {annotations: {furrow.dev/readiness: ignore}, ", 1)
}

func TestHealthOfTiers(t *testing.T) {
	rule := func(current string) string {
		return "readiness: [{group: velero.io, kind: Backup, current: \"" + current + "\"}]"
	}
	controlPlane := func(spec string) string {
		return "---\napiVersion: furrow.dev/v1alpha1\nkind: ControlPlane\nmetadata: {name: acme}\nspec:\n  " + spec + "\n"
	}
	ofType := func(spec string) string {
		return "---\napiVersion: furrow.dev/v1alpha1\nkind: ClusterType\nmetadata: {name: small}\nspec:\n  " + spec + "\n"
	}
	typed := strings.Replace(readinessCluster, "spec:\n", "spec:\n  type: small\n", 1)
	config := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: default}\n---\n"
	onBackup := after("velero.io/Backup/default/b")
	// The controller of backups, and what may write their status.
	controller := `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: velero}
rules: [{apiGroups: [velero.io], resources: [backups/status], verbs: [update]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: velero}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: velero}
subjects: [{kind: ServiceAccount, name: velero, namespace: default}]
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: velero, namespace: default}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: velero, namespace: default%s}
spec: {selector: {matchLabels: {a: v}}, template: {metadata: {labels: {a: v}}, spec: {serviceAccountName: velero, containers: [{name: v, image: v}]}}}
---
`
	for name, tc := range map[string]struct {
		clusters string
		seed     string
		want     health
	}{
		"an object that a later tier depends on is judged by the rule for its kind": {
			seed: backup + onBackup, want: health{Wait: true, Exprs: map[string]string{"Backup": backupCurrent}},
		},
		"an object that nothing depends on is not": {
			seed: backup, want: health{Wait: true},
		},
		"with Full, every object of a tier is": {
			seed: seedWith("health: Full") + backup, want: health{Wait: true, Exprs: map[string]string{"Backup": backupCurrent}},
		},
		"a kind that nobody knows is left to Flux": {
			seed: "apiVersion: ran.example.com/v1\nkind: Slice\nmetadata: {name: s, namespace: default}\n---\n" + after("ran.example.com/Slice/default/s"), want: health{Wait: true},
		},
		"the seed's rule comes first": {
			clusters: typed + ofType(rule("kind == 'type'")) + controlPlane(rule("kind == 'plane'")),
			seed:     seedWith(rule("kind == 'seed'")) + backup + onBackup, want: health{Wait: true, Exprs: map[string]string{"Backup": "kind == 'seed'"}},
		},
		"then that of the cluster's type": {
			clusters: typed + ofType(rule("kind == 'type'")) + controlPlane(rule("kind == 'plane'")),
			seed:     backup + onBackup, want: health{Wait: true, Exprs: map[string]string{"Backup": "kind == 'type'"}},
		},
		"then that of the control plane": {
			clusters: readinessCluster + controlPlane(rule("kind == 'plane'")),
			seed:     backup + onBackup, want: health{Wait: true, Exprs: map[string]string{"Backup": "kind == 'plane'"}},
		},
		"an object that is ignored does not count, and all others do": {
			seed: ignored(backup) + config + onBackup, want: health{Checks: []string{"ConfigMap/c"}},
		},
		"in a tier of nothing else it is enough that it is applied": {
			seed: ignored(backup) + onBackup, want: health{},
		},
		"the rule stays for others of its kind": {
			seed: ignored(backup) + strings.Replace(backup, "name: b", "name: d", 1) + after("velero.io/Backup/default/d"),
			want: health{Checks: []string{"Backup/d"}, Exprs: map[string]string{"Backup": backupCurrent}},
		},
		"an object whose controller is in the same tier is judged": {
			seed: backup + onBackup + fmt.Sprintf(controller, ""), want: health{Wait: true, Exprs: map[string]string{"Backup": backupCurrent}},
		},
		"an object whose controller comes later is not: the tier would wait for itself": {
			seed: backup + onBackup + fmt.Sprintf(controller, ", annotations: {furrow.dev/depends-on: core/ConfigMap/default/after}"), want: health{Wait: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			clusters := tc.clusters
			if clusters == "" {
				clusters = readinessCluster
			}
			tree := fstest.MapFS{"clusters.yaml": {Data: []byte(clusters)}, "seeds/web.yaml": {Data: []byte(tc.seed)}}
			got := healthOf(t, compute(t, tree)["web"], layout.Tier{Seed: "web", Cluster: "edge", Ordinal: 0})
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("health (-want +got):\n%s", diff)
			}
		})
	}
}

// TestWhatIsRememberedKnowsReadiness plans the same tree again after one thing of readiness has changed.
func TestWhatIsRememberedKnowsReadiness(t *testing.T) {
	base := map[string]string{
		"clusters.yaml":    readinessCluster,
		"seeds/web.yaml":   backup,
		"seeds/other.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: o, namespace: default}\n",
	}
	for name, change := range map[string]map[string]string{
		"the seed asks for Full":             {"seeds/web.yaml": seedWith("health: Full") + backup},
		"the seed has a rule":                {"seeds/web.yaml": seedWith("{health: Full, readiness: [{group: velero.io, kind: Backup, current: \"true\"}]}") + backup},
		"another seed comes to depend on it": {"seeds/other.yaml": after("velero.io/Backup/default/b")},
		"the object is ignored":              {"seeds/web.yaml": ignored(backup)},
	} {
		t.Run(name, func(t *testing.T) {
			tree := fstest.MapFS{}
			for file, text := range base {
				tree[file] = &fstest.MapFile{Data: []byte(text)}
			}
			in := plan.Input{Owner: owner, Revision: revision, Memo: &plan.Memo{}, Previous: map[string]*plan.Previous{}, Catalog: load(t, tree)}
			for name, o := range plan.Compute(in) {
				in.Previous[name] = &plan.Previous{Plan: o.Plan, Released: true}
			}
			plan.Compute(in)
			for file, text := range change {
				tree[file] = &fstest.MapFile{Data: []byte(text)}
			}
			in.Catalog = load(t, tree)
			if o := plan.Compute(in)["web"]; o.Err != nil || o.Kept {
				t.Errorf("the plan stays as it was, or fails: %v", o.Err)
			}
		})
	}
}

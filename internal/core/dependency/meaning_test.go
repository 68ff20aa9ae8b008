package dependency

import (
	"fmt"
	"strings"
	"testing"
)

// TestWhichEdgeIsGivenUpDoesNotFollowNames has a circle of two Deployments, each with a ConfigMap that waits for it and
// that the other one names, by all names of objects and seeds.
func TestWhichEdgeIsGivenUpDoesNotFollowNames(t *testing.T) {
	// Each Deployment names the ConfigMap that waits for the other one.
	tree := func(first, second, seed, other string) string {
		workload := func(name, needs string) string {
			return fmt.Sprintf("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: %s, namespace: default}\nspec: {template: {spec: {containers: [{name: c, image: c, envFrom: [{configMapRef: {name: %s}}]}]}}}\n", name, needs)
		}
		configMap := func(name, after string) string {
			return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: default, annotations: {furrow.dev/depends-on: apps/Deployment/default/%s}}\n", name, after)
		}
		return oneCluster + seedOf(seed, workload(first, second), configMap(first, first)) +
			seedOf(other, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: before, namespace: default}\n", workload(second, first), configMap(second, second))
	}
	for _, names := range [][4]string{{"a", "b", "s", "t"}, {"b", "a", "s", "t"}, {"a", "b", "t", "s"}, {"b", "a", "t", "s"}} {
		_, deadlocks := levelsOf(t, tree(names[0], names[1], names[2], names[3]))
		if len(deadlocks) != 1 || !strings.HasPrefix(deadlocks[0], "apps/Deployment/default/"+names[0]+": ") {
			t.Errorf("with the names %v, it gives up an edge of another object: %q", names, deadlocks)
		}
	}
}

// TestAGuessIsGivenUpFirst: a name in a field of a custom resource says less than a Secret that pods mount.
func TestAGuessIsGivenUpFirst(t *testing.T) {
	b := makeGraph().needs("s a@x", "s b@x").wait("s b@x", "s c@x").needs("s c@x", "s d@x").wait("s d@x", "s a@x")
	g := b.graph()
	for _, c := range []struct{ first, second, want string }{{ruleMounts, ruleReferences, "c"}, {ruleReferences, ruleMounts, "a"}, {"conversion", ruleMounts, "c"}} {
		for i := range g.Edges {
			r := g.reasons[g.Edges[i].Reason]
			if r.Kind != Weak {
				continue
			}
			r.Rule = c.first
			if g.Object(g.Edges[i].From).Name == "c" {
				r.Rule = c.second
			}
			g.Edges[i].Reason = int32(len(g.reasons))
			g.reasons = append(g.reasons, r)
		}
		tiering, conflict := g.Tiers(nil)
		if conflict != nil || len(tiering.Deadlocks) != 1 || g.Object(tiering.Deadlocks[0].Edges[0].From).Name != c.want {
			t.Errorf("of %s and %s, it gives up %v (%v)", c.first, c.second, tiering.Deadlocks, conflict)
		}
	}
}

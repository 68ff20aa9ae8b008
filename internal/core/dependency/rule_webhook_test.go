package dependency

import (
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// oneCluster is a fleet of one workload cluster.
const oneCluster = `
-- clusters.yaml --
apiVersion: furrow.dev/v1alpha1
kind: Cluster
metadata: {name: edge}
spec: {provides: {namespaces: [shop], customResourceDefinitions: [certificates.cert-manager.io, issuers.cert-manager.io, widgets.example.org]}}
`

// read returns a file of testdata.
func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(path.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// seedOf is a seed of an archive; its parts are documents.
func seedOf(name string, documents ...string) string {
	return "-- seeds/" + name + ".yaml --\n" + strings.Join(documents, "---\n")
}

const (
	shopDeployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop, labels: {app: web}}\nspec: {replicas: 2, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: web}]}}}\n"
	aWidget        = "apiVersion: example.org/v1\nkind: Widget\nmetadata: {name: w, namespace: shop}\nspec: {size: 3}\n"
)

// pairs are the edges of some rules without their whys: "A waits for B", with the word for the kind
// and name only.
func pairs(g *Graph, rules ...string) []string {
	short := func(id manifest.ID) string { return id.Kind + " " + id.Name }
	var out []string
	for _, e := range g.Edges {
		r := g.Reason(e)
		if !slices.Contains(rules, r.Rule) {
			continue
		}
		verb := map[Kind]string{Hard: " waits for ", Weak: " needs ", Soft: " waits softly for "}[r.Kind]
		line := short(g.Object(e.From)) + verb + short(g.Object(e.To))
		if !slices.Contains(out, line) {
			out = append(out, line)
		}
	}
	slices.Sort(out)
	return out
}

func TestRuleWebhook(t *testing.T) {
	guard, widgets := read(t, "webhook/guard.yaml"), read(t, "webhook/widgets.yaml")
	with := func(text, old, replacement string) string { // the configuration is the last document
		at := strings.LastIndex(text, old)
		if at < 0 {
			t.Fatalf("%q is not in the manifest", old)
		}
		return text[:at] + replacement + text[at+len(old):]
	}
	waits := []string{"Deployment web waits for Deployment guard", "Deployment web waits for Service guard-webhook", "Deployment web waits for ValidatingWebhookConfiguration guard"}
	turned := "ValidatingWebhookConfiguration guard waits for Deployment guard"
	cases := map[string]struct {
		tree string
		want []string
	}{
		"what a webhook matches waits for it, and the workload behind it turns the edge round": {
			tree: seedOf("guard", guard) + seedOf("shop", shopDeployment), want: append(waits, turned),
		},
		"another kind does not wait": {
			tree: seedOf("guard", guard) + seedOf("shop", shopContent), want: []string{turned},
		},
		"a webhook that may be skipped holds nothing": {
			tree: seedOf("guard", with(guard, "failurePolicy: Fail", "failurePolicy: Ignore")) + seedOf("shop", shopDeployment),
		},
		"no policy means Fail": {
			tree: seedOf("guard", with(guard, "  failurePolicy: Fail\n", "")) + seedOf("shop", shopDeployment), want: append(waits, turned),
		},
		"a subresource is not the resource": {
			tree: seedOf("guard", with(guard, "resources: [deployments]", "resources: [deployments/scale]")) + seedOf("shop", shopDeployment),
			want: nil,
		},
		"an asterisk matches every resource": {
			tree: seedOf("guard", with(with(guard, "apiGroups: [apps]", "apiGroups: ['*']"), "resources: [deployments]", "resources: ['*']")) + seedOf("shop", shopContent),
			want: []string{
				"ConfigMap c waits for Deployment guard", "ConfigMap c waits for Service guard-webhook", "ConfigMap c waits for ValidatingWebhookConfiguration guard",
				"ValidatingWebhookConfiguration guard waits for ClusterRole guard", "ValidatingWebhookConfiguration guard waits for ClusterRoleBinding guard",
				"ValidatingWebhookConfiguration guard waits for Deployment guard", "ValidatingWebhookConfiguration guard waits for Namespace guard-system",
				"ValidatingWebhookConfiguration guard waits for Service guard-webhook", "ValidatingWebhookConfiguration guard waits for ServiceAccount guard",
			},
		},
		"a webhook on pods waits for the workload behind it, whose pods it would refuse": {
			tree: seedOf("guard", with(with(guard, "apiGroups: [apps]", "apiGroups: ['']"), "resources: [deployments]", "resources: [pods]")) + seedOf("shop", shopDeployment),
			want: []string{turned},
		},
		"only deletions and connections": {
			tree: seedOf("guard", with(guard, "operations: [CREATE, UPDATE]", "operations: [DELETE, CONNECT]")) + seedOf("shop", shopDeployment),
		},
		"another scope": {
			tree: seedOf("guard", with(guard, "resources: [deployments]", "resources: [deployments]\n    scope: Cluster")) + seedOf("shop", shopDeployment),
		},
		"another version counts, as the API server converts": {
			tree: seedOf("guard", with(guard, "apiVersions: [v1]", "apiVersions: [v1beta2]")) + seedOf("shop", shopDeployment), want: append(waits, turned),
		},
		"but not where the policy is Exact": {
			tree: seedOf("guard", with(with(guard, "apiVersions: [v1]", "apiVersions: [v1beta2]"), "  failurePolicy", "  matchPolicy: Exact\n  failurePolicy")) + seedOf("shop", shopDeployment),
		},
		"the rule is switched off in the seed that would wait": {
			tree: seedOf("guard", guard) + "-- seeds/shop/seed.yaml --\napiVersion: furrow.dev/v1alpha1\nkind: Seed\nmetadata: {name: shop}\nspec: {disabledRules: [webhook]}\n-- seeds/shop/web.yaml --\n" + shopDeployment,
			want: []string{turned},
		},
		"a custom resource waits for the webhook of its operator, which shares its tier": {
			tree: seedOf("widgets", widgets) + seedOf("shop", aWidget),
			want: []string{"Widget w waits for Deployment controller-manager", "Widget w waits for MutatingWebhookConfiguration widgets", "Widget w waits for Service widgets-webhook"},
		},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			result := graphOf(t, oneCluster+c.tree)
			if len(result.Errors) > 0 {
				t.Error(said(result.Errors))
			}
			slices.Sort(c.want)
			if diff := cmp.Diff(c.want, pairs(result.Graph, "webhook"), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("the edges differ (-want +got):\n%s", diff)
			}
			if _, conflict := result.Graph.Tiers(nil); conflict != nil {
				t.Error(conflict)
			}
		})
	}
}

func TestSelectorsOfWebhooks(t *testing.T) {
	guard := read(t, "webhook/guard.yaml")
	namespace := func(labels string) string {
		return "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {" + labels + "}}\n"
	}
	const matches, mayMatch = "webhook deployments.guard.example.com matches Deployment.apps", "webhook deployments.guard.example.com may match Deployment.apps: "
	cases := map[string]struct {
		selector, namespace, want string
	}{
		"the labels of a Namespace of a seed":       {"namespaceSelector: {matchLabels: {guard: 'on'}}", namespace("guard: 'on'"), matches},
		"that do not match":                         {"namespaceSelector: {matchLabels: {guard: 'on'}}", namespace("guard: 'off'"), ""},
		"that are not there":                        {"namespaceSelector: {matchLabels: {guard: 'on'}}", namespace(""), ""},
		"the labels of a Namespace that no one has": {"namespaceSelector: {matchLabels: {guard: 'on'}}", "", mayMatch + "the labels of its Namespace are not known"},
		"its name is known":                         {"namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [shop]}]}", "", ""},
		"In":                                        {"namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: In, values: [shop]}]}", "", matches},
		"Exists":                                    {"namespaceSelector: {matchExpressions: [{key: guard, operator: Exists}]}", namespace("guard: ''"), matches},
		"DoesNotExist":                              {"namespaceSelector: {matchExpressions: [{key: guard, operator: DoesNotExist}]}", namespace("guard: ''"), ""},
		"the labels of the object":                  {"objectSelector: {matchLabels: {app: web}}", "", matches},
		"other labels of the object":                {"objectSelector: {matchLabels: {app: guard}}", "", ""},
		"a condition that holds":                    {"matchConditions: [{name: many, expression: 'object.spec.replicas > 1'}]", "", matches},
		"a condition that does not":                 {"matchConditions: [{name: few, expression: 'object.spec.replicas < 2'}]", "", ""},
		"a condition about the request":             {"matchConditions: [{name: create, expression: 'request.operation == \"UPDATE\"'}]", "", ""},
		"a condition about who asks":                {"matchConditions: [{name: nodes, expression: '!(\"system:nodes\" in request.userInfo.groups)'}]", "", mayMatch + "its matchConditions depend on the request"},
		"one of two conditions is enough":           {"matchConditions: [{name: nodes, expression: '!(\"system:nodes\" in request.userInfo.groups)'}, {name: few, expression: 'object.spec.replicas < 2'}]", "", ""},
		"a condition that cannot be evaluated":      {"matchConditions: [{name: wrong, expression: 'object.spec.nothing.at.all'}]", "", mayMatch + "its matchConditions depend on the request"},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			tree := oneCluster + seedOf("guard", strings.Replace(guard, "  failurePolicy", "  "+c.selector+"\n  failurePolicy", 1)) + seedOf("shop", shopDeployment)
			if c.namespace != "" {
				tree += seedOf("space", c.namespace)
			}
			g := graphOf(t, tree).Graph
			got := ""
			for _, e := range g.Edges {
				if r := g.Reason(e); r.Rule == "webhook" && g.Object(e.From).Name == "web" && g.Object(e.To).Kind == "ValidatingWebhookConfiguration" {
					got = strings.TrimSuffix(r.Why, " (of seed guard)")
				}
			}
			if got != c.want {
				t.Errorf("the edge says %q, want %q", got, c.want)
			}
		})
	}
}

// rejected counts what an API server would reject if each tier is applied in the worst order, by a
// webhook on Deployments: those that come with the configuration or after it, and not after
// the workload that answers.
func rejected(g *Graph, level []int) int {
	configuration, backend := 0, 0
	for i := range g.Len() {
		switch id := g.Object(i); {
		case id.Kind == "ValidatingWebhookConfiguration":
			configuration = level[i]
		case id.Kind == "Deployment" && id.Name == "guard":
			backend = level[i]
		}
	}
	n := 0
	for i := range g.Len() {
		if g.Object(i).Kind == "Deployment" && level[i] >= configuration && level[i] <= backend {
			n++
		}
	}
	return n
}

// TestAWebhookOnTheKindOfItsOwnBackend compares three plans: without the rules, with the edge of the
// backend left out, and with that edge turned round.
func TestAWebhookOnTheKindOfItsOwnBackend(t *testing.T) {
	g := graphOf(t, oneCluster+seedOf("guard", read(t, "webhook/guard.yaml"))+seedOf("shop", shopNamespace, shopDeployment)).Graph
	without := func(leaveOut func(e Edge) bool) *Graph {
		b := makeGraph()
		b.vertices = verticesOf(g)
		for _, e := range g.Edges {
			if !leaveOut(e) && g.Reason(e).Kind == Hard {
				b.waits = append(b.waits, [2]Vertex{g.Vertex(e.From), g.Vertex(e.To)})
			}
		}
		return b.graph()
	}
	ofWebhooks := func(e Edge) bool { return g.Reason(e).Rule == "webhook" || g.Reason(e).Rule == "backend" }
	turned := func(e Edge) bool { return ofWebhooks(e) && g.Object(e.From).Kind == "ValidatingWebhookConfiguration" }
	for sentence, c := range map[string]struct {
		graph        *Graph
		levels, want int
	}{
		"without the rules":      {without(ofWebhooks), 2, 2},
		"with the edge left out": {without(turned), 3, 1},
		"with the edge as it is": {g, 4, 0},
	} {
		tiering, conflict := c.graph.Tiers(nil)
		if conflict != nil {
			t.Fatal(conflict)
		}
		if got := rejected(c.graph, tiering.Level); got != c.want || slices.Max(tiering.Level)+1 != c.levels {
			t.Errorf("%s, %d objects are rejected and there are %d levels, want %d and %d", sentence, got, slices.Max(tiering.Level)+1, c.want, c.levels)
		}
	}
}

// FuzzMatchConditions evaluates any condition: it does not panic, and ends.
func FuzzMatchConditions(f *testing.F) {
	for _, condition := range []string{
		"object.spec.replicas > 1", "!('system:nodes' in request.userInfo.groups)", "object.?metadata.?labels['a'].orValue('b') == 'b'", "variables.a || authorizer.check('a')",
		"'a'.replace('', 'aaaa').replace('', 'aaaa') == ''", "lists.range(1000000000).size() > 0", "optional.of([1]).optMap(a, [a, a]) == optional.none()", "namespaceObject == object",
	} {
		f.Add(condition)
	}
	r := &request{
		kind: manifest.GroupKind{Group: "apps", Kind: "Deployment"}, version: "v1", plurals: []string{"deployments"}, id: manifest.ID{Group: "apps", Kind: "Deployment", Namespace: "a", Name: "a"},
		body: map[string]any{"metadata": map[string]any{"name": "a", "namespace": "a"}, "spec": map[string]any{"replicas": int64(3), "list": []any{"a", "b", int64(1), nil}}},
	}
	f.Fuzz(func(_ *testing.T, condition string) {
		if len(condition) < 4096 {
			holds(condition, r)
		}
	})
}

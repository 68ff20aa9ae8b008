package override_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/override"
)

// seedWith is a seed whose document has overrides, the first in line 6.
func seedWith(tb testing.TB, overrides string) *catalog.Seed {
	tb.Helper()
	text := "apiVersion: furrow.dev/v1alpha1\nkind: Seed\nmetadata: {name: web}\nspec:\n  overrides:\n" + overrides
	cat, err := catalog.Load(fstest.MapFS{"seeds/web/seed.yaml": {Data: []byte(text)}, "seeds/web/web.yaml": {Data: []byte("apiVersion: v1\nkind: Namespace\nmetadata: {name: web}\n")}})
	if err != nil {
		tb.Fatal(err)
	}
	if cat.Seeds[0].Err != nil {
		tb.Fatal(cat.Seeds[0].Err)
	}
	return &cat.Seeds[0]
}

func objectOf(tb testing.TB, text string) *manifest.Object {
	tb.Helper()
	objects, err := manifest.Parse("web.yaml", []byte(text))
	if err != nil || len(objects) != 1 {
		tb.Fatal(err, len(objects))
	}
	return &objects[0]
}

const (
	deployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: web, labels: {app: web}}
spec:
  replicas: 3
  template:
    spec:
      containers:
      - {name: web, image: "web:1", args: [a, b]}
      - {name: proxy, image: "proxy:1"}
`
	gateway = "apiVersion: example.com/v1\nkind: Gateway\nmetadata: {name: web, namespace: web}\nspec: {listeners: [{name: a, port: 80}, {name: b, port: 81}], size: 9007199254740993}\n"
	secret  = "apiVersion: v1\nkind: Secret\nmetadata: {name: key, namespace: web}\n"
	sops    = `apiVersion: v1
kind: Secret
metadata:
    name: key
    namespace: web
stringData:
    k: ENC[AES256_GCM,data:YQ==,iv:YQ==,tag:YQ==,type:str]
sops:
    mac: ENC[AES256_GCM,data:YQ==,iv:YQ==,tag:YQ==,type:str]
    version: 3.9.0
`
)

func TestPatchesAreApplied(t *testing.T) {
	cases := map[string]struct{ object, patch, want string }{
		"items of a list of Kubernetes are merged by their key": {
			deployment, `strategicMerge: {spec: {replicas: 5, template: {spec: {containers: [{name: proxy, image: "proxy:2"}]}}}}`,
			`{replicas: 5, template: {spec: {containers: [{name: web, image: "web:1", args: [a, b]}, {name: proxy, image: "proxy:2"}]}}}`,
		},
		"an item of a list is removed by a directive": {
			deployment, `strategicMerge: {spec: {template: {spec: {containers: [{name: proxy, $patch: delete}]}}}}`,
			`{replicas: 3, template: {spec: {containers: [{name: web, image: "web:1", args: [a, b]}]}}}`,
		},
		"null removes a field": {
			deployment, `strategicMerge: {spec: {replicas: null}}`,
			`{template: {spec: {containers: [{name: web, image: "web:1", args: [a, b]}, {name: proxy, image: "proxy:1"}]}}}`,
		},
		"a version without types is merged as another one of its kind": {
			strings.Replace(deployment, "apps/v1", "apps/v1beta2", 1), `strategicMerge: {spec: {template: {spec: {containers: [{name: proxy, image: "proxy:2"}]}}}}`,
			`{replicas: 3, template: {spec: {containers: [{name: web, image: "web:1", args: [a, b]}, {name: proxy, image: "proxy:2"}]}}}`,
		},
		"lists of other kinds are replaced, and large integers stay exact": {
			gateway, `strategicMerge: {spec: {listeners: [{name: c, port: 82}]}}`,
			`{listeners: [{name: c, port: 82}], size: 9007199254740993}`,
		},
		"a JSON patch": {
			gateway, `jsonPatch: [{op: test, path: /spec/listeners/0/name, value: a}, {op: replace, path: /spec/listeners/0/port, value: 8080}, {op: add, path: /spec/listeners/-, value: {name: c}}, {op: remove, path: /spec/size}]`,
			`{listeners: [{name: a, port: 8080}, {name: b, port: 81}, {name: c}]}`,
		},
		"move and copy": {
			gateway, `jsonPatch: [{op: move, from: /spec/size, path: /spec/limit}, {op: copy, from: /spec/listeners/1, path: /spec/default}]`,
			`{listeners: [{name: a, port: 80}, {name: b, port: 81}], limit: 9007199254740993, default: {name: b, port: 81}}`,
		},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			object := objectOf(t, c.object)
			before, _ := object.Bytes()
			overrides, err := override.New(seedWith(t, "  - name: one\n    target: {name: web}\n    "+c.patch+"\n"))
			if err != nil {
				t.Fatal(err)
			}
			after, err := overrides[0].Apply(object)
			if err != nil {
				t.Fatal(err)
			}
			want := objectOf(t, "apiVersion: v1\nkind: A\nmetadata: {name: a}\nspec: "+c.want+"\n")
			if diff := cmp.Diff(want.Body["spec"], after.Body["spec"]); diff != "" {
				t.Errorf("spec is (-want +got):\n%s", diff)
			}
			if after.ID != object.ID || after.Source != object.Source {
				t.Errorf("it is %s of %s", after.ID, after.Source)
			}
			if now, _ := object.Bytes(); string(now) != string(before) {
				t.Error("the object before has changed")
			}
		})
	}
}

func TestWhatChangesNothingIsTheObjectItself(t *testing.T) {
	object := objectOf(t, deployment)
	overrides, err := override.New(seedWith(t, "  - name: one\n    target: {name: web}\n    strategicMerge: {spec: {replicas: 3}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if after, err := overrides[0].Apply(object); err != nil || after != object {
		t.Errorf("it is %v, %v", after, err)
	}
}

func TestPatchesThatAreRefused(t *testing.T) {
	cases := map[string]struct{ object, patch, want string }{
		"another name":                 {deployment, `strategicMerge: {metadata: {name: other}}`, "it would become apps/Deployment/web/other"},
		"another namespace":            {deployment, `jsonPatch: [{op: replace, path: /metadata/namespace, value: other}]`, "it would become apps/Deployment/other/web"},
		"another kind":                 {deployment, `strategicMerge: {kind: StatefulSet}`, "it would become apps/StatefulSet/web/web"},
		"another version":              {deployment, `strategicMerge: {apiVersion: apps/v1beta1}`, "it would become apps/Deployment/web/web, of version apps/v1beta1"},
		"the object goes":              {deployment, `strategicMerge: {$patch: delete}`, "spec.placement says where an object goes"},
		"nothing is left":              {deployment, `strategicMerge: {$patch: replace}`, ""},
		"a list of objects":            {deployment, `strategicMerge: {apiVersion: v1, kind: List, items: []}`, "nothing is left"},
		"a field that is not there":    {deployment, `jsonPatch: [{op: test, path: /spec/replicas, value: 3}, {op: remove, path: /spec/size}]`, "unable to remove nonexistent key: size"},
		"a test that fails":            {deployment, `jsonPatch: [{op: test, path: /spec/replicas, value: 4711}]`, "testing value /spec/replicas failed"},
		"an index before the list":     {gateway, `jsonPatch: [{op: remove, path: /spec/listeners/-1}]`, "invalid index"},
		"an item without its key":      {deployment, `strategicMerge: {spec: {template: {spec: {containers: [{image: password}]}}}}`, "an item of a list has no name"},
		"a directive for another kind": {gateway, `strategicMerge: {spec: {listeners: [{name: a, $patch: delete}]}}`, "$patch has a meaning only for the kinds of Kubernetes itself"},
		"a scalar instead of fields":   {deployment, `strategicMerge: {metadata: 4711}`, "metadata"},
		"where it goes":                {deployment, `strategicMerge: {metadata: {annotations: {furrow.dev/cluster: edge}}}`, "furrow.dev/cluster, which is read before overrides"},
		"an unknown annotation":        {deployment, `strategicMerge: {metadata: {annotations: {furrow.dev/clutser: edge}}}`, "is unknown"},
		"a label that is a number":     {deployment, `strategicMerge: {metadata: {labels: {a: 4711}}}`, "a"},
		"a document of SOPS":           {sops, `strategicMerge: {metadata: {labels: {a: b}}}`, "it is encrypted by SOPS"},
		"something that is not SOPS's": {deployment, `strategicMerge: {sops: {mac: a}}`, "document of SOPS"},
		"a Secret that can be read":    {secret, `strategicMerge: {stringData: {k: password}}`, "k is not encrypted"},
		"copies without end": {gateway, "jsonPatch:\n    - {op: add, path: /spec/a, value: " + strings.Repeat("a", 1000) + "}\n" +
			strings.Repeat("    - {op: copy, from: /spec, path: /spec/b}\n    - {op: copy, from: /spec, path: /spec/c}\n", 20), "its copies are larger"},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			overrides, err := override.New(seedWith(t, "  - name: one\n    target: {namespace: web}\n    "+c.patch+"\n"))
			if err != nil {
				t.Fatal(err)
			}
			after, err := overrides[0].Apply(objectOf(t, c.object))
			if err == nil {
				t.Fatalf("it is accepted: %v", after.Body)
			}
			if manifest.ReasonOf(err) != v1alpha1.ReasonInvalidOverride || !strings.HasPrefix(err.Error(), "seeds/web/seed.yaml:") || !strings.Contains(err.Error(), ": Seed \"web\", override \"one\": it cannot be applied to ") {
				t.Errorf("%s: %v", manifest.ReasonOf(err), err)
			}
			for _, value := range []string{"password", "4711"} {
				if strings.Contains(err.Error(), value) {
					t.Errorf("it has a value: %v", err)
				}
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("it does not say %q: %v", c.want, err)
			}
		})
	}
}

func TestTheOperationThatFailsHasAPosition(t *testing.T) {
	overrides, err := override.New(seedWith(t, `  - name: one
    target: {kind: Deployment}
    jsonPatch:
    - {op: test, path: /spec/replicas, value: 3}
    - op: remove
      path: /spec/size
`))
	if err != nil {
		t.Fatal(err)
	}
	_, err = overrides[0].Apply(objectOf(t, deployment))
	if err == nil || !strings.HasPrefix(err.Error(), "seeds/web/seed.yaml:10: ") {
		t.Errorf("%v", err)
	}
}

func TestOverridesThatAreNotValid(t *testing.T) {
	const patch = "strategicMerge: {spec: {}}"
	cases := map[string]struct{ overrides, want string }{
		"a name that is not a label": {"  - {name: A b, target: {kind: A}, " + patch + "}\n", `the name "A b" of an override is not a valid DNS label`},
		"two of one name":            {"  - {name: a, target: {kind: A}, " + patch + "}\n  - {name: a, target: {kind: A}, " + patch + "}\n", `seed.yaml:7: Seed "web", override "a": another override has the name "a"`},
		"no target":                  {"  - {name: a, target: {}, " + patch + "}\n", "its target has no field"},
		"no patch":                   {"  - {name: a, target: {kind: A}}\n", "either strategicMerge or jsonPatch"},
		"both patches":               {"  - {name: a, target: {kind: A}, " + patch + ", jsonPatch: [{op: remove, path: /a}]}\n", "either strategicMerge or jsonPatch"},
		"a patch that is a list":     {"  - {name: a, target: {kind: A}, strategicMerge: [a]}\n", "strategicMerge is not a mapping"},
		"no operation":               {"  - {name: a, target: {kind: A}, jsonPatch: [{op: set, path: /a}]}\n", `"set" is not an operation`},
		"no pointer":                 {"  - {name: a, target: {kind: A}, jsonPatch: [{op: remove, path: a}]}\n", "needs JSON pointers"},
		"no source of a copy":        {"  - {name: a, target: {kind: A}, jsonPatch: [{op: copy, path: /a}]}\n", "needs JSON pointers"},
		"no value":                   {"  - {name: a, target: {kind: A}, jsonPatch: [{op: add, path: /a, value: null}]}\n", "has no value"},
		"a selector of clusters":     {"  - {name: a, clusterSelector: {matchExpressions: [{key: a, operator: Near}]}, target: {kind: A}, " + patch + "}\n", "its clusterSelector is not valid"},
		"a selector of objects":      {"  - {name: a, target: {labelSelector: {matchLabels: {a: b b}}}, " + patch + "}\n", "its labelSelector is not valid"},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			_, err := override.New(seedWith(t, c.overrides))
			if err == nil || manifest.ReasonOf(err) != v1alpha1.ReasonInvalidOverride || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "seeds/web/seed.yaml:") {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestTargetsAndClusters(t *testing.T) {
	const patch = "strategicMerge: {spec: {}}"
	object := objectOf(t, deployment)
	for target, want := range map[string]bool{
		"{group: apps, version: v1, kind: Deployment, namespace: web, name: web, labelSelector: {matchLabels: {app: web}}}": true,
		"{group: core}":      false,
		"{version: v1}":      true,
		"{version: v1beta1}": false,
		"{kind: Service}":    false,
		"{namespace: other}": false,
		"{name: other}":      false,
		"{labelSelector: {matchExpressions: [{key: app, operator: Exists}]}}": true,
		"{labelSelector: {matchLabels: {app: other}}}":                        false,
	} {
		overrides, err := override.New(seedWith(t, "  - {name: a, target: "+target+", "+patch+"}\n"))
		if err != nil {
			t.Fatal(err)
		}
		if got := overrides[0].Targets(object); got != want {
			t.Errorf("%s: %t", target, got)
		}
	}
	if overrides, _ := override.New(seedWith(t, "  - {name: a, target: {group: core}, "+patch+"}\n")); !overrides[0].Targets(objectOf(t, secret)) {
		t.Error("core is not the group of Secrets")
	}
	edge := catalog.Cluster{Name: "edge", Labels: map[string]string{"env": "prod"}}
	for clusters, want := range map[string]bool{
		"":                   true,
		"clusters: [edge], ": true,
		"clusters: [east], ": false,
		"clusterSelector: {matchLabels: {env: prod}}, ":                   true,
		"clusterSelector: {matchLabels: {env: test}}, ":                   false,
		"clusters: [edge], clusterSelector: {matchLabels: {env: test}}, ": true,
	} {
		overrides, err := override.New(seedWith(t, "  - {name: a, "+clusters+"target: {kind: A}, "+patch+"}\n"))
		if err != nil {
			t.Fatal(err)
		}
		if got := overrides[0].Selects(edge); got != want {
			t.Errorf("%q: %t", clusters, got)
		}
	}
}

// FuzzOverrides applies any patch to any object: it never panics, changes neither the object nor its
// identity, and what it returns is sound.
func FuzzOverrides(f *testing.F) {
	for _, object := range []string{deployment, gateway, secret, sops} {
		for _, patch := range []string{
			`{"strategicMerge": {"spec": {"replicas": 5, "template": {"spec": {"containers": [{"name": "a", "$patch": "delete"}]}}}}}`,
			`{"strategicMerge": {"$patch": "replace", "$retainKeys": ["a"], "spec": {"$setElementOrder/containers": [{"name": "a"}], "$deleteFromPrimitiveList/args": ["a"]}}}`,
			`{"strategicMerge": {"apiVersion": "v1", "kind": "List", "items": [null]}}`,
			`{"jsonPatch": [{"op": "copy", "from": "/spec", "path": "/spec/a"}, {"op": "move", "from": "/spec", "path": "/metadata/labels"}]}`,
			`{"jsonPatch": [{"op": "add", "path": "/spec/listeners/-", "value": {}}, {"op": "test", "path": "/a~1b~0", "value": 1e9}, {"op": "remove", "path": "/metadata/name"}]}`,
		} {
			f.Add(object, patch)
		}
	}
	f.Fuzz(func(t *testing.T, text, patch string) {
		objects, err := manifest.Parse("web.yaml", []byte(text))
		if err != nil || len(objects) == 0 {
			return
		}
		spec := v1alpha1.Override{}
		if yaml.UnmarshalStrict([]byte(patch), &spec) != nil {
			return
		}
		spec.Name, spec.Target = "a", v1alpha1.OverrideTarget{Namespace: "a"}
		overrides, err := override.New(&catalog.Seed{Name: "web", Spec: v1alpha1.SeedSpec{Overrides: []v1alpha1.Override{spec}}})
		if err != nil {
			return
		}
		object := &objects[0]
		before, _ := object.Bytes()
		after, err := overrides[0].Apply(object)
		if now, _ := object.Bytes(); string(now) != string(before) {
			t.Error("the object before has changed")
		}
		if err != nil {
			return
		}
		if after.ID != object.ID || after.Version != object.Version {
			t.Errorf("%s has become %s", object.ID, after.ID)
		}
		data, err := after.Bytes()
		if err != nil {
			t.Fatalf("what it returns is not sound: %v", err)
		}
		if again, err := manifest.Parse("", data); err != nil || len(again) != 1 || again[0].ID != after.ID {
			t.Errorf("what it returns cannot be read: %v\n%s", err, data)
		}
	})
}

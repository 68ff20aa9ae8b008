package change_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/core/change"
	"github.com/furrow-dev/furrow/internal/core/githash"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// side is a directory of one file for each text, named a.yaml, b.yaml and so on; an empty text adds
// none.
func side(texts ...string) map[string]change.Object {
	out := map[string]change.Object{}
	for i, text := range texts {
		if text == "" {
			continue
		}
		o := change.Object{Hash: githash.Blob([]byte(text)), Content: []byte(text)}
		out[string(rune('a'+i))+".yaml"] = o
	}
	return out
}

func object(kind, name, rest string) string {
	version := "v1"
	if group, k, ok := strings.Cut(kind, "/"); ok {
		version, kind = group+"/v1", k
	}
	return fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata:\n  name: %s\n  namespace: x\n%s", version, kind, name, rest)
}

func deployment(rest string) string { return object("apps/Deployment", "web", "spec:\n"+rest) }

func TestFieldsOfAChangedObject(t *testing.T) {
	containers := func(image string) string {
		return "  template:\n    spec:\n      containers:\n      - name: web\n        image: " + image + "\n      - name: log\n        image: log:1\n"
	}
	for sentence, tc := range map[string]struct {
		was, is string
		want    []string
		hidden  bool
	}{
		"a number":                            {deployment("  replicas: 3\n"), deployment("  replicas: 5\n"), []string{"replicas: 3 -> 5"}, false},
		"an image, by the container's name":   {deployment(containers("web:1.0.0")), deployment(containers("web:1.1.0")), []string{"containers[web].image: web:1.0.0 -> web:1.1.0"}, false},
		"a field that is new":                 {deployment("  paused: true\n"), deployment("  paused: true\n  replicas: 5\n"), []string{"replicas:  -> 5"}, false},
		"a field that goes":                   {deployment("  paused: true\n  replicas: 5\n"), deployment("  paused: true\n"), []string{"replicas: 5 -> "}, false},
		"a text of several lines, by a count": {object("ConfigMap", "c", "data:\n  a.conf: |\n    1\n    2\n"), object("ConfigMap", "c", "data:\n  a.conf: |\n    1\n    2\n    3\n"), []string{"data[a.conf]: 2 lines -> 3 lines"}, false},
		"as many lines, and other ones":       {object("ConfigMap", "c", "data:\n  a.conf: |\n    1\n    2\n"), object("ConfigMap", "c", "data:\n  a.conf: |\n    1\n    3\n"), []string{"data[a.conf]:  -> another text"}, false},
		"a list without names, item by item":  {deployment("  l: [1, 2]\n"), deployment("  l: [1, 3]\n"), []string{"l[1]: 2 -> 3"}, false},
		"a list of another length, whole":     {deployment("  l: [1, 2]\n"), deployment("  l: [1]\n"), []string{"l: [1,2] -> [1]"}, false},
		"an empty text is not nothing":        {deployment("  a: \"\"\n  b: x\n"), deployment("  a: z\n  b: x\n"), []string{`a: "" -> z`}, false},
		"a label with dots and slashes":       {object("ConfigMap", "c", "  labels: {app.x/y: a}\n"), object("ConfigMap", "c", "  labels: {app.x/y: b}\n"), []string{"metadata.labels[app.x/y]: a -> b"}, false},
		"nothing of a Secret":                 {object("Secret", "s", "type: Opaque\n"), object("Secret", "s", "type: other\n"), nil, true},
		"nothing of what SOPS encrypted":      {object("ConfigMap", "c", "data: {a: x}\nsops: {mac: a}\n"), object("ConfigMap", "c", "data: {a: y}\nsops: {mac: b}\n"), nil, true},
		"nothing of what cannot be read":      {object("ConfigMap", "c", ""), "a: [", nil, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			changes := new(change.Comparer).Between(side(tc.was), side(tc.is))
			if len(changes) != 1 || changes[0].Kind != change.Changed || changes[0].Hidden != tc.hidden {
				t.Fatalf("got %+v", changes)
			}
			var got []string
			for _, f := range changes[0].Fields {
				got = append(got, fmt.Sprintf("%s: %s -> %s", f.Path, f.Was, f.Is))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("the fields differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatDestroysDataComesFirst(t *testing.T) {
	config, namespace, cluster := object("ConfigMap", "a", ""), object("Namespace", "z", ""), object("cluster.x-k8s.io/Cluster", "edge", "")
	changes := new(change.Comparer).Between(side(config, namespace, cluster, "", config), side("", "", "", config, config+"data: {a: b}\n"))
	var got []string
	for _, c := range changes {
		got = append(got, fmt.Sprintf("%s %s %s", c.Kind, c.Object.Kind, c.Destroys))
	}
	want := []string{"removed Namespace everything in the namespace", "removed Cluster the cluster that it creates", "removed ConfigMap ", "changed ConfigMap ", "added ConfigMap "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the changes differ (-want +got):\n%s", diff)
	}
}

func TestManyFieldsAreCounted(t *testing.T) {
	var was, is strings.Builder
	for i := range 20 {
		fmt.Fprintf(&was, "  f%02d: 1\n", i)
		fmt.Fprintf(&is, "  f%02d: 2\n", i)
	}
	c := new(change.Comparer).Between(side(deployment(was.String())), side(deployment(is.String())))[0]
	if len(c.Fields) != 12 || c.More != 8 {
		t.Errorf("of 20 fields it has %d and %d more", len(c.Fields), c.More)
	}
}

func TestWhatWasNotReadHasChangedAllTheSame(t *testing.T) {
	before, after := side(deployment("  replicas: 1\n")), side(deployment("  replicas: 2\n"))
	one := after["a.yaml"]
	one.Content, one.ID = nil, manifest.ID{Group: "apps", Kind: "Deployment", Namespace: "x", Name: "web"}
	var comparer change.Comparer
	c := comparer.Between(before, map[string]change.Object{"a.yaml": one})[0]
	if !c.Unread || c.Name() != "apps/Deployment/x/web" || len(c.Fields) > 0 {
		t.Errorf("got %+v", c)
	}
	if comparer.Knows(before["a.yaml"], one) {
		t.Error("it is known without having been read")
	}
	comparer.Between(before, after)
	if c = comparer.Between(before, map[string]change.Object{"a.yaml": one})[0]; c.Unread || len(c.Fields) != 1 {
		t.Errorf("a pair that was compared once has to be read again: %+v", c)
	}
}

// TestFieldsThatCannotBeChangedAreNamed: the text of a proposal says so before anybody merges it, and
// simulated clusters refuse the update.
func TestFieldsThatCannotBeChangedAreNamed(t *testing.T) {
	const refused = " (immutable: an API server refuses the change)"
	object := func(version, kind, rest string) string {
		return "apiVersion: " + version + "\nkind: " + kind + "\nmetadata: {name: a, namespace: b}\n" + rest + "\n"
	}
	cases := map[string]struct {
		version, kind, was, is string
		want                   string // the path of the first field
		refused                string
	}{
		"the image of a Job":                {"batch/v1", "Job", `spec: {template: {spec: {containers: [{name: a, image: "x:1"}]}}}`, `spec: {template: {spec: {containers: [{name: a, image: "x:2"}]}}}`, "containers[a].image" + refused, "spec.template.spec.containers[a].image"},
		"the image of a Deployment":         {"apps/v1", "Deployment", `spec: {template: {spec: {containers: [{name: a, image: "x:1"}]}}}`, `spec: {template: {spec: {containers: [{name: a, image: "x:2"}]}}}`, "containers[a].image", ""},
		"a selector, before the replicas":   {"apps/v1", "Deployment", `spec: {replicas: 1, selector: {matchLabels: {a: b}}}`, `spec: {replicas: 2, selector: {matchLabels: {a: c}}}`, "selector.matchLabels.a" + refused, "spec.selector.matchLabels.a"},
		"a smaller claim":                   {"v1", "PersistentVolumeClaim", `spec: {resources: {requests: {storage: 10Gi}}}`, `spec: {resources: {requests: {storage: 9Gi}}}`, "resources.requests.storage" + refused, "spec.resources.requests.storage"},
		"a larger claim":                    {"v1", "PersistentVolumeClaim", `spec: {resources: {requests: {storage: 900Mi}}}`, `spec: {resources: {requests: {storage: 1Gi}}}`, "resources.requests.storage", ""},
		"the class of a claim":              {"v1", "PersistentVolumeClaim", `spec: {storageClassName: a}`, `spec: {storageClassName: b}`, "storageClassName" + refused, "spec.storageClassName"},
		"the address of a Service":          {"v1", "Service", `spec: {ports: [{port: 80}]}`, `spec: {clusterIP: None, ports: [{port: 80}]}`, "clusterIP" + refused, "spec.clusterIP"},
		"a ConfigMap that is immutable":     {"v1", "ConfigMap", "immutable: true\ndata: {a: b}", "immutable: true\ndata: {a: c}", "data.a" + refused, "data.a"},
		"an object that Flux creates again": {"batch/v1", "Job", `spec: {template: {a: b}}`, `spec: {template: {a: c}}`, "template.a", "spec.template.a"},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			was, is := object(c.version, c.kind, c.was), object(c.version, c.kind, c.is)
			if strings.HasPrefix(sentence, "an object that Flux") {
				is = strings.Replace(is, "namespace: b", "namespace: b, annotations: {kustomize.toolkit.fluxcd.io/force: enabled}", 1)
			}
			var comparer change.Comparer
			changes := comparer.Between(side(was), side(is))
			if len(changes) != 1 {
				t.Fatal(changes)
			}
			var paths []string
			for _, f := range changes[0].Fields {
				if !strings.HasPrefix(f.Path, "metadata.") {
					paths = append(paths, f.Path)
				}
			}
			if paths[0] != c.want || strings.Contains(strings.Join(paths, " "), refused) != strings.HasSuffix(c.want, refused) {
				t.Errorf("the fields are %q", paths)
			}
			if got := strings.Join(changes[0].Refused, " "); got != c.refused && !strings.HasPrefix(got, c.refused+" (") {
				t.Errorf("%q is refused", got)
			}
			if recreated := strings.HasPrefix(sentence, "an object that Flux"); changes[0].Recreated != recreated {
				t.Errorf("recreated: %v", !recreated)
			}
		})
	}
}

// TestRulesOfADefinitionRefuseAChange: the definition is that of the side after the change, and one that nobody has taken
// in refuses nothing.
func TestRulesOfADefinitionRefuseAChange(t *testing.T) {
	const immutable = " (immutable: an API server refuses the change)"
	definition := func(kind, rules string) string {
		return "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: disks.example.com}\nspec:\n  group: example.com\n  scope: Namespaced\n  names: {plural: disks, kind: " + kind + "}\n" +
			"  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, " + rules + "}}}}}]\n"
	}
	const (
		fixed  = `properties: {class: {type: string, x-kubernetes-validations: [{rule: "self == oldSelf", message: class is immutable}]}, size: {type: integer}}`
		parts  = `properties: {class: {type: string}, size: {type: integer}}, x-kubernetes-validations: [{rule: "self.class == oldSelf.class", message: class is immutable}]`
		static = `properties: {class: {type: string, x-kubernetes-validations: [{rule: "self != 'none'"}]}, size: {type: integer}}`
	)
	for sentence, tc := range map[string]struct {
		definition      string
		was, is         string // the spec of the disk
		rest            string // of its metadata, after the change
		fields, refused []string
		recreated       bool
	}{
		"a field that a rule refuses comes first, with the message":  {definition("Disk", fixed), "class: a, size: 1", "class: b, size: 2", "", []string{"class" + immutable, "size"}, []string{"spec.class (class is immutable)"}, false},
		"of a field with parts, no part is said to be refused":       {definition("Disk", parts), "class: a, size: 1", "class: b, size: 2", "", []string{"class", "size"}, []string{"spec (class is immutable)"}, false},
		"a field that the rule lets change":                          {definition("Disk", fixed), "class: a, size: 1", "class: a, size: 2", "", []string{"size"}, nil, false},
		"a rule that does not compare":                               {definition("Disk", static), "class: a", "class: b", "", []string{"class"}, nil, false},
		"a definition of another kind":                               {definition("Tape", fixed), "class: a", "class: b", "", []string{"class"}, nil, false},
		"no definition":                                              {"", "class: a", "class: b", "", []string{"class"}, nil, false},
		"a definition that cannot be read":                           {"a: [", "class: a", "class: b", "", []string{"class"}, nil, false},
		"an object that the reconciler deletes and creates again":    {definition("Disk", fixed), "class: a", "class: b", ", annotations: {kustomize.toolkit.fluxcd.io/force: enabled}", []string{"metadata.annotations", "class"}, []string{"spec.class (class is immutable)"}, true},
		"a message is cut where it is long, and is on a single line": {definition("Disk", strings.Replace(fixed, "class is immutable", `"`+strings.Repeat(`a\n`, 300)+`"`, 1)), "class: a", "class: b", "", []string{"class" + immutable}, []string{"spec.class (" + strings.Repeat("a ", 192) + "a…"}, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			disk := func(rest, spec string) string {
				return "apiVersion: example.com/v1\nkind: Disk\nmetadata: {name: a, namespace: b" + rest + "}\nspec: {" + spec + "}\n"
			}
			before, after := side(disk("", tc.was)), side(disk(tc.rest, tc.is))
			var comparer change.Comparer
			if one := after["a.yaml"]; tc.definition != "" {
				one.Definition = githash.Blob([]byte(tc.definition))
				after["a.yaml"] = one
				comparer.Define(one.Definition, []byte(tc.definition))
			}
			c := comparer.Between(before, after)[0]
			var fields []string
			for _, f := range c.Fields {
				fields = append(fields, f.Path)
			}
			if diff := cmp.Diff(tc.fields, fields); diff != "" {
				t.Errorf("the fields differ (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.refused, c.Refused); diff != "" || c.Recreated != tc.recreated {
				t.Errorf("recreated: %v, and what is refused differs (-want +got):\n%s", c.Recreated, diff)
			}
		})
	}
}

// TestAPairIsComparedOnceForEachDefinition: what is known of a pair of contents is known for one definition only.
func TestAPairIsComparedOnceForEachDefinition(t *testing.T) {
	before, after := side(deployment("  replicas: 1\n")), side(deployment("  replicas: 2\n"))
	var comparer change.Comparer
	comparer.Between(before, after)
	was, is := before["a.yaml"], after["a.yaml"]
	if !comparer.Knows(was, is) {
		t.Error("the pair is not known")
	}
	if is.Definition = githash.Blob([]byte("a")); comparer.Knows(was, is) {
		t.Error("the pair is known for a definition by which it was not compared")
	}
	comparer.Define(is.Definition, nil)
	if !comparer.Defined(is.Definition) {
		t.Error("the definition is not known, although it was taken in")
	}
	for range 2 {
		comparer.Turn()
	}
	if comparer.Defined(is.Definition) || comparer.Knows(was, after["a.yaml"]) {
		t.Error("what two passes did not need is still known")
	}
}

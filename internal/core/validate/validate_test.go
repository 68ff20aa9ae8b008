package validate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

func bodyOf(t testing.TB, text string) map[string]any {
	t.Helper()
	objects, err := manifest.Parse("a.yaml", []byte(text))
	if err != nil || len(objects) != 1 {
		t.Fatalf("%v: %v", objects, err)
	}
	return objects[0].Body
}

func lines(findings []Finding) []string {
	var out []string
	for _, f := range findings {
		out = append(out, f.Field+" "+f.Message)
	}
	return out
}

func TestObjectsOfKubernetes(t *testing.T) {
	deployment := "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, namespace: a}\nspec: {selector: {matchLabels: {a: a}}, template: {metadata: {labels: {a: a}}, spec: {containers: [%s]}}}\n"
	const policy = "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: a, namespace: a}\nspec: {policyTypes: [Ingress]}\n"
	for name, tc := range map[string]struct {
		minor int
		text  string
		want  []string
	}{
		"a good one":                     {36, strings.Replace(deployment, "%s", "{name: a, image: a, ports: [{containerPort: 80}], resources: {limits: {cpu: 0.5, memory: 1Gi}}}", 1), nil},
		"a required field is missing":    {36, strings.Replace(deployment, "%s", "{image: a, ports: [{name: web}]}", 1), []string{"spec.template.spec.containers[0].name is required", "spec.template.spec.containers[0].ports[0].containerPort is required"}},
		"a field of a newer release":     {28, strings.Replace(deployment, "%s", "{name: a, image: a, restartPolicyRules: [{action: Restart}]}", 1), []string{"spec.template.spec.containers[0].restartPolicyRules is unknown in the schema of the kind"}},
		"the same where it is known":     {36, strings.Replace(deployment, "%s", "{name: a, image: a, restartPolicyRules: [{action: Restart}]}", 1), nil},
		"required in an older release":   {30, policy, []string{"spec.podSelector is required"}},
		"and no longer":                  {36, policy, nil},
		"a variable of Flux":             {36, strings.Replace(deployment, "%s", "{name: a, image: a, ports: [{containerPort: \"${port}\"}]}", 1), nil},
		"nothing is nothing":             {36, strings.Replace(deployment, "%s", "{name: a, image: a, env: null, securityContext: {runAsUser: null}}", 1), nil},
		"the status is not for people":   {36, policy + "status: {bad: true}\n", nil},
		"a definition, which is nested":  {36, widget, nil},
		"a number or text, as it is":     {36, "apiVersion: v1\nkind: Service\nmetadata: {name: a, namespace: a}\nspec: {ports: [{port: 80, targetPort: http}, {port: 81, targetPort: 81, name: b}]}\n", nil},
		"an object in an object":         {36, "apiVersion: apps/v1\nkind: ControllerRevision\nmetadata: {name: a, namespace: a}\nrevision: 1\ndata: {any: [thing]}\n", nil},
		"a Secret, whose data is hidden": {36, "apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: a}\ndata: {a: aGk=}\nmore: hidden\n", []string{"more is unknown in the schema of the kind"}},
	} {
		t.Run(name, func(t *testing.T) {
			body := bodyOf(t, tc.text)
			api, _ := body["apiVersion"].(string)
			group, version, ok := strings.Cut(api, "/")
			if !ok {
				group, version = "", api
			}
			kind, _ := body["kind"].(string)
			s := BuiltIn(tc.minor, group, version, kind)
			if s == nil {
				t.Fatal("no schema")
			}
			if fits := s.Fits(body); fits && len(tc.want) > 0 {
				t.Error("it seems to fit")
			}
			if diff := cmp.Diff(tc.want, lines(s.Check(body))); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

const widget = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            required: [size]
            properties:
              size: {type: integer, minimum: 1}
              color: {type: string, enum: [red, green]}
              mode: {type: string, default: Auto}
              count: {type: integer, nullable: true}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true}
              parts:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items: {type: object, required: [name], properties: {name: {type: string, maxLength: 5}}}
            x-kubernetes-validations:
            - rule: "self.mode == 'Auto' || has(self.color)"
              message: color is required unless mode is Auto
            - rule: "self.size < 100"
  - name: v2
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

func TestCustomResources(t *testing.T) {
	definition := bodyOf(t, widget)
	resource := func(version, spec string) string {
		return "apiVersion: example.com/" + version + "\nkind: Widget\nmetadata: {name: a, namespace: a, labels: {a: b}}\nspec: " + spec + "\n"
	}
	for name, tc := range map[string]struct {
		text string
		want []string
	}{
		"a good one":                       {resource("v1", "{size: 2, color: red, free: {a: 1}, count: null}"), nil},
		"a rule of CEL, after defaults":    {resource("v1", "{size: 2}"), nil},
		"a rule that does not hold":        {resource("v1", "{size: 2, mode: Manual}"), []string{"spec color is required unless mode is Auto"}},
		"a rule without a message":         {resource("v1", "{size: 200}"), []string{"spec failed rule: self.size < 100"}},
		"a required field":                 {resource("v1", "{}"), []string{"spec.size is required"}},
		"another type":                     {resource("v1", "{size: big}"), []string{"spec.size must be of type integer"}},
		"a bound":                          {resource("v1", "{size: 0}"), []string{"spec.size should be greater than or equal to 1"}},
		"an enumeration":                   {resource("v1", "{size: 2, color: blue}"), []string{`spec.color has a value that is not supported; supported values: "red", "green"`}},
		"a field that the kind lacks":      {resource("v1", "{size: 2, colour: red}"), []string{"spec.colour is unknown in the schema of the kind"}},
		"two of a key":                     {resource("v1", "{size: 2, parts: [{name: a}, {name: a}]}"), []string{"spec.parts[1] is there twice"}},
		"a text that is too long":          {resource("v1", "{size: 2, parts: [{name: abcdef}]}"), []string{"spec.parts[0].name may not be more than 5 bytes"}},
		"a variable of Flux":               {resource("v1", "{size: \"${size}\"}"), nil},
		"a version that takes everything":  {resource("v2", "{colour: red}"), nil},
		"a version that it does not serve": {resource("v3", "{colour: red}"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			body := bodyOf(t, tc.text)
			api, _ := body["apiVersion"].(string)
			s, err := Custom(definition, strings.TrimPrefix(api, "example.com/"))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			if s != nil {
				got = lines(s.Check(body))
				if s.Fits(body) && len(tc.want) > 0 {
					t.Error("it seems to fit")
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestADefinitionThatCannotBeUsed(t *testing.T) {
	for name, schema := range map[string]string{
		"no type":               "{properties: {spec: {properties: {a: {items: {}}}}}}",
		"a text for a schema":   "{type: object, properties: {spec: no}}",
		"a number for required": "{type: object, required: 1}",
	} {
		t.Run(name, func(t *testing.T) {
			var props map[string]any
			if err := yaml.Unmarshal([]byte(schema), &props); err != nil {
				t.Fatal(err)
			}
			definition := map[string]any{"spec": map[string]any{"versions": []any{map[string]any{"name": "v1", "schema": map[string]any{"openAPIV3Schema": props}}}}}
			s, err := Custom(definition, "v1")
			if err == nil && s != nil {
				s.Check(map[string]any{"apiVersion": "a/v1", "kind": "A", "spec": map[string]any{"a": []any{"b"}}})
			}
			if err == nil && name != "no type" {
				t.Error("no error")
			}
		})
	}
}

// TestEveryKindHasASchema builds the schemas of all kinds of all releases that clusters may run.
func TestEveryKindHasASchema(t *testing.T) {
	releases := manifest.SupportedReleases()
	made := 0
	for kind := range definitions().byKind {
		for minor := releases.First; minor <= releases.Last; minor++ {
			if testing.Short() && minor != releases.Last {
				continue
			}
			if at(definitions().byKind[kind], minor) == nil || definitions().byKind[kind][0].Schema["properties"] == nil {
				continue
			}
			s := BuiltIn(minor, kind.Group, kind.Version, kind.Kind)
			if s == nil {
				t.Errorf("1.%d has no schema of %v", minor, kind)
				continue
			}
			if _, err := s.checks(); err != nil {
				t.Errorf("1.%d: the schema of %v: %v", minor, kind, err)
			}
			made++
		}
	}
	if made < 100 {
		t.Errorf("only %d schemas", made)
	}
}

// TestWhatFitsHasNothingToFind changes one value of an object after the other, in every way: where Fits is true, Check
// finds nothing.
func TestWhatFitsHasNothingToFind(t *testing.T) {
	const deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, namespace: a}\nspec: {replicas: 2, selector: {matchLabels: {a: a}}, strategy: {rollingUpdate: {maxSurge: 1}}, template: {metadata: {labels: {a: a}}, spec: {nodeSelector: {a: b}, containers: [{name: a, image: a, tty: true, ports: [{containerPort: 80}], env: [{name: a, value: b}], resources: {limits: {cpu: 1}}}]}}}\n"
	custom, err := Custom(bodyOf(t, widget), "v1")
	if err != nil {
		t.Fatal(err)
	}
	fit, found := 0, 0
	for text, s := range map[string]*Schema{
		deployment: BuiltIn(36, "apps", "v1", "Deployment"),
		widget:     BuiltIn(36, "apiextensions.k8s.io", "v1", "CustomResourceDefinition"),
		"apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a, namespace: a}\nspec: {size: 2, color: red, parts: [{name: a}]}\n": custom,
	} {
		body := bodyOf(t, text)
		if !s.Fits(body) && s != custom {
			t.Errorf("it does not fit: %v", s.Check(body))
		}
		try := func() {
			fits, findings := s.Fits(body), s.Check(body)
			if fits && len(findings) > 0 {
				t.Errorf("%v seems to fit, and has %v", body, findings)
			}
			if fits {
				fit++
			} else if len(findings) > 0 {
				found++
			}
		}
		var change func(value any)
		change = func(value any) {
			switch v := value.(type) {
			case map[string]any:
				for key, was := range v {
					change(was)
					for _, other := range []any{nil, "text", int64(-3), 1.5, true, map[string]any{"more": "x"}, []any{"x"}, []any{was, was}} {
						v[key] = other
						try()
					}
					delete(v, key)
					try()
					v[key+"x"] = was
					try()
					delete(v, key+"x")
					v[key] = was
				}
			case []any:
				for i, was := range v {
					change(was)
					for _, other := range []any{nil, "text", map[string]any{}} {
						v[i] = other
						try()
					}
					v[i] = was
				}
			}
		}
		change(body["spec"])
	}
	if fit < 20 || found < 100 {
		t.Errorf("%d fit and %d do not: the test changes too little", fit, found)
	}
}

func BenchmarkCheck(b *testing.B) {
	body := bodyOf(b, "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, namespace: a}\nspec: {selector: {matchLabels: {a: a}}, template: {metadata: {labels: {a: a}}, spec: {containers: [{name: a, image: a, ports: [{containerPort: 80}], env: [{name: a, value: b}]}]}}}\n")
	s := BuiltIn(36, "apps", "v1", "Deployment")
	b.Run("fits", func(b *testing.B) {
		for b.Loop() {
			if !s.Fits(body) {
				b.Fatal("it does not fit")
			}
		}
	})
	b.Run("check", func(b *testing.B) {
		for b.Loop() {
			s.Check(body)
		}
	})
}

// TestAnUpdateHasToFollowTheRulesAboutTheObjectBefore: rules with oldSelf are of the whole object, of a field, of the
// items of a list by their key, and of a map.
func TestAnUpdateHasToFollowTheRulesAboutTheObjectBefore(t *testing.T) {
	const definition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: disks.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: disks, kind: Disk}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        x-kubernetes-validations:
        - {rule: "has(self.spec.pool) || !has(oldSelf.spec.pool)", message: pool is required once it is set}
        properties:
          spec:
            type: object
            properties:
              pool: {type: string}
              size: {type: integer, x-kubernetes-validations: [{rule: "self >= oldSelf", messageExpression: "'a disk of ' + string(oldSelf) + ' does not shrink'"}]}
              class: {type: string, default: fast, x-kubernetes-validations: [{rule: "self == oldSelf", message: class is immutable}]}
              mode: {type: string, x-kubernetes-validations: [{rule: "self != 'none'", message: none is none}]}
              parts:
                type: array
                maxItems: 5
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items:
                  type: object
                  required: [name]
                  properties: {name: {type: string}, type: {type: string, x-kubernetes-validations: [{rule: "self == oldSelf", message: type is immutable}]}}
`
	schema, err := CustomUpdates(bodyOf(t, definition), "v1")
	if err != nil || schema == nil {
		t.Fatal(err)
	}
	disk := func(spec string) map[string]any {
		return bodyOf(t, "apiVersion: example.com/v1\nkind: Disk\nmetadata: {name: d, namespace: a}\nspec: {"+spec+"}\n")
	}
	for sentence, c := range map[string]struct {
		was, is string
		want    []Finding
	}{
		"nothing changes":                       {"size: 2, class: slow", "size: 2, class: slow", nil},
		"a field may grow":                      {"size: 2", "size: 3", nil},
		"and not shrink":                        {"size: 2", "size: 1", []Finding{{Field: "spec.size", Message: "a disk of 2 does not shrink"}}},
		"a field keeps its value":               {"class: slow", "class: fast", []Finding{{Field: "spec.class", Message: "class is immutable"}}},
		"its default is one":                    {"class: fast", "size: 1", nil},
		"and another value is none":             {"size: 1", "size: 1, class: slow", []Finding{{Field: "spec.class", Message: "class is immutable"}}},
		"a rule of the whole object":            {"pool: a", "size: 1", []Finding{{Message: "pool is required once it is set"}}},
		"items are compared by their key":       {"parts: [{name: a, type: x}, {name: b, type: z}]", "parts: [{name: b, type: z}, {name: a, type: x}]", nil},
		"an item keeps its value":               {"parts: [{name: a, type: x}]", "parts: [{name: b, type: x}, {name: a, type: z}]", []Finding{{Field: "spec.parts[1].type", Message: "type is immutable"}}},
		"what any object has to be is left out": {"mode: a", "mode: none", nil},
		"a variable may be any value":           {"class: slow", "class: '${class}'", nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(c.want, schema.CheckUpdate(disk(c.was), disk(c.is))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestOnlyRulesThatCompareAreCompiledForUpdates: compiling the schema of a large kind takes far longer than a search for
// such rules.
func TestOnlyRulesThatCompareAreCompiledForUpdates(t *testing.T) {
	for sentence, c := range map[string]struct {
		schema string
		want   bool
	}{
		"a rule of the whole":         {`{type: object, x-kubernetes-validations: [{rule: "has(self.a) || !has(oldSelf.a)"}]}`, true},
		"a rule of an item":           {`{type: object, properties: {a: {type: array, x-kubernetes-list-type: set, items: {type: string, x-kubernetes-validations: [{rule: "oldSelf == self"}]}}}}`, true},
		"a rule about values":         {`{type: object, properties: {a: {type: string, x-kubernetes-validations: [{rule: "self != 'a'"}]}}}`, false},
		"a description that names it": {`{type: object, properties: {a: {type: string, description: compared with oldSelf}}}`, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			definition := bodyOf(t, "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: disks.example.com}\nspec: {versions: [{name: v1, schema: {openAPIV3Schema: "+c.schema+"}}]}\n")
			schema, err := CustomUpdates(definition, "v1")
			if err != nil || (schema != nil) != c.want {
				t.Errorf("it is compiled: %v (%v)", schema != nil, err)
			}
			if schema, err = CustomUpdates(definition, "v2"); schema != nil || err != nil {
				t.Errorf("a version that it does not have: %v, %v", schema, err)
			}
		})
	}
}

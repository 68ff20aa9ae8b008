package schema_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	kjson "sigs.k8s.io/json"

	"github.com/furrow-dev/furrow/internal/core/schema"
)

// faults lists those of an object as "path: what belongs there".
func faults(t *testing.T, text string) (lines []string) {
	t.Helper()
	var body map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts([]byte(text), &body); err != nil {
		t.Fatal(err)
	}
	group, version := "", fmt.Sprint(body["apiVersion"])
	if _, err := fmt.Sscanf(version, "apps/%s", &version); err == nil {
		group = "apps"
	}
	typed := schema.Typed(group, version, fmt.Sprint(body["kind"]))
	if typed == nil {
		t.Fatalf("%s is not known", body["kind"])
	}
	for _, f := range schema.Check(body, typed) {
		path, err := json.Marshal(f.Path)
		if err != nil {
			t.Fatal(err)
		}
		want := f.Want
		if f.Unknown() {
			want = "unknown"
		}
		lines = append(lines, string(path)+": "+want)
	}
	return lines
}

func TestValuesAreComparedWithTheTypesOfTheirFields(t *testing.T) {
	pod := func(container string) string {
		return `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": [{"name": "a", ` + container + `}]}}`
	}
	const at = `["spec","containers",0,`
	cases := map[string]struct {
		object string
		want   []string
	}{
		"data of a ConfigMap that is not text": {
			`{"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": 1, "b": true, "c": null, "d": [], "e": "f"}, "binaryData": {"a": "!", "b": "AA=="}}`,
			[]string{`["binaryData","a"]: base64`, `["data","a"]: text`, `["data","b"]: text`, `["data","d"]: text`},
		},
		"data of a Secret that is not text":      {`{"apiVersion": "v1", "kind": "Secret", "stringData": {"a": 1}, "data": {"a": 1, "b": "ENC[x]"}}`, []string{`["data","a"]: text`, `["stringData","a"]: text`}},
		"the value of a variable":                {pod(`"env": [{"name": "A", "value": 8080}, {"name": "B", "value": null}]`), []string{at + `"env",0,"value"]: text`}},
		"text where a number belongs":            {pod(`"ports": [{"containerPort": "80"}]`), []string{at + `"ports",0,"containerPort"]: an integer`}},
		"a number with a fraction":               {pod(`"ports": [{"containerPort": 80.5}]`), []string{at + `"ports",0,"containerPort"]: an integer`}},
		"a number that is too large":             {pod(`"ports": [{"containerPort": 8000000000}]`), []string{at + `"ports",0,"containerPort"]: an integer of that size`}},
		"text where a boolean belongs":           {pod(`"tty": "yes"`), []string{at + `"tty"]: a boolean`}},
		"a quantity":                             {pod(`"resources": {"limits": {"cpu": "1.5.Gi", "memory": 5, "a/b": "1Gi"}}`), []string{at + `"resources","limits","cpu"]: a quantity, such as 100m or 1Gi`}},
		"a port by name or number":               {pod(`"livenessProbe": {"httpGet": {"port": true}}, "readinessProbe": {"httpGet": {"port": "web"}}, "startupProbe": {"httpGet": {"port": 80}}`), []string{at + `"livenessProbe","httpGet","port"]: an integer or text`}},
		"a list, a mapping and text for another": {pod(`"args": {"a": "b"}, "resources": [], "command": "sh"`), []string{at + `"args"]: a list`, at + `"command"]: a list`, at + `"resources"]: a mapping`}},
		"a field that is unknown":                {pod(`"imge": "x", "Image": "y"`), []string{at + `"Image"]: unknown`, at + `"imge"]: unknown`}},
		"a field of a structure within":          {`{"apiVersion": "v1", "kind": "Pod", "spec": {"volumes": [{"name": "a", "emptyDir": {}, "configmap": {}}]}}`, []string{`["spec","volumes",0,"configmap"]: unknown`}},
		"a time":                                 {`{"apiVersion": "v1", "kind": "Pod", "metadata": {"creationTimestamp": "yesterday"}}`, []string{`["metadata","creationTimestamp"]: a time, such as 2006-01-02T15:04:05Z`}},
		"nothing, where something belongs":       {`{"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": null, "template": null, "selector": {"matchLabels": {"a": null}}}}`, nil},
		"variables that Flux replaces":           {`{"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": "${REPLICAS}", "paused": "${PAUSED:=false}", "template": {"spec": {"containers": [{"resources": {"limits": {"cpu": "${CPU}"}}}]}}}}`, nil},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(c.want, faults(t, c.object)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOnlyExactVersionsAreKnown(t *testing.T) {
	if schema.Typed("apps", "v1beta1", "Deployment") != nil || schema.Typed("example.com", "v1", "Deployment") != nil {
		t.Error("the type of another version or group is taken")
	}
	if schema.Object("apps", "v1beta1", "Deployment") == nil {
		t.Error("lists of another version are not merged")
	}
}

package manifest

import (
	"strings"
	"testing"
)

// enc is a value as SOPS writes it.
const enc = "ENC[AES256_GCM,data:Tr7o=,iv:1vSV0Y6aV8Wz+zyFAd7sOr8A=,tag:WFmIVZU0hbSQfoKBzgaU5A==,type:str]"

func TestExposedSecrets(t *testing.T) {
	const (
		secret  = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n"
		sops    = "sops: {mac: '" + enc + "', version: 3.10.2}\n"
		applied = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, annotations: {kubectl.kubernetes.io/last-applied-configuration: '"
	)
	tests := map[string]struct{ text, want string }{
		"another kind":                  {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: s}\ndata: {a: hunter2}\n", ""},
		"another built-in group":        {"apiVersion: apps/v1\nkind: Secret\nmetadata: {name: s}\ndata: {a: aHVudGVyMg==}\n", "data.a is not encrypted"},
		"by another name":               {"apiVersion: apps/v1\nkind: secrets\nmetadata: {name: s}\ndata: {a: aHVudGVyMg==}\n", "data.a is not encrypted"},
		"a custom resource":             {"apiVersion: x.io/v1\nkind: Secret\nmetadata: {name: s}\ndata: {a: hunter2}\n", ""},
		"no data":                       {secret + "type: Opaque\nimmutable: true\n", ""},
		"empty values":                  {secret + "data: {a: '', b: null}\nstringData: {}\n", ""},
		"plain data":                    {secret + "data: {b: aHVudGVyMg==, a: aHVudGVyMg==}\n", "data.a is not encrypted"},
		"plain stringData":              {secret + "stringData: {user.name: hunter2}\n", `stringData."user.name" is not encrypted`},
		"a value that is a number":      {secret + "stringData: {pin: 1234}\n", "stringData.pin is not encrypted"},
		"data that is text":             {secret + "data: aHVudGVyMg==\n", "data is not encrypted"},
		"data that is a list":           {secret + "data: [{a: aHVudGVyMg==}]\n", "data[0].a is not encrypted"},
		"a misspelled field":            {secret + "stringdata: {a: hunter2}\n", "stringdata.a is not encrypted"},
		"any sops key, plain data":      {secret + "data: {a: aHVudGVyMg==}\nsops: {}\n", "data.a is not encrypted"},
		"sops: null, plain stringData":  {secret + "stringData: {a: hunter2}\nsops: null\n", "stringData.a is not encrypted"},
		"partly encrypted":              {secret + "stringData: {password: hunter2, user: '" + enc + "'}\n" + sops, "stringData.password is not encrypted"},
		"an unencrypted suffix":         {secret + "stringData: {a: '" + enc + "', b_unencrypted: hunter2}\n" + sops, "stringData.b_unencrypted is not encrypted"},
		"a number in an encrypted one":  {secret + "stringData: {a: '" + enc + "', pin: 1234}\n" + sops, "stringData.pin is not encrypted"},
		"a value that only looks so":    {secret + "stringData: {a: 'ENC[hunter2]'}\n" + sops, "stringData.a is not encrypted"},
		"plain text in the form's data": {secret + "stringData: {a: '" + strings.Replace(enc, "Tr7o=", "hunter 2", 1) + "'}\n" + sops, "stringData.a is not encrypted"},
		"text after the form":           {secret + "stringData: {a: '" + enc + " hunter2'}\n" + sops, "stringData.a is not encrypted"},
		"another cipher":                {secret + "stringData: {a: '" + strings.Replace(enc, "AES256_GCM", "ROT13", 1) + "'}\n" + sops, "stringData.a is not encrypted"},
		"encrypted":                     {secret + "data: {a: '" + enc + "', b: ''}\nstringData: {c: '" + strings.Replace(enc, "type:str", "type:int", 1) + "'}\n" + sops, ""},
		"encrypted, as JSON":            {`{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"a": "` + enc + `"}, "sops": {"mac": "` + enc + `"}}`, ""},
		"no mac":                        {secret + "data: {a: '" + enc + "'}\nsops: {version: 3.10.2}\n", "it has a sops key, but sops.mac is not what SOPS writes"},
		"a mac of another form":         {secret + "data: {a: '" + enc + "'}\nsops: {mac: 'ENC[x]'}\n", "it has a sops key, but sops.mac is not what SOPS writes"},
		"a sops key that is text":       {secret + "data: {a: '" + enc + "'}\nsops: yes, please\n", "it has a sops key, but sops.mac is not what SOPS writes"},
		"values without a sops key":     {secret + "data: {a: '" + enc + "'}\n", "data.a is encrypted, but the document has no sops key, so Flux would not decrypt it"},
		"a plain value in an anchor": {
			secret + "x: &x hunter2\nstringData: {a: '" + enc + "'}\n" + sops, "x is not encrypted",
		},
		"a plain value that a merge hides": {
			secret + "stringData: {<<: {a: hunter2}, a: '" + enc + "'}\n" + sops, "it has YAML anchors or merges, which SOPS does not write",
		},
		"a plain comment in the values": {
			secret + "stringData:\n  # was hunter2\n  a: '" + enc + "'\n" + sops, "a comment in stringData is not encrypted",
		},
		"a plain comment beside a value": {
			secret + "stringData:\n  a: '" + enc + "' # hunter2\n" + sops, "a comment in stringData is not encrypted",
		},
		"an encrypted comment, and others elsewhere": {
			"# ours\n" + secret + "# the values\nstringData:\n  #" + strings.Replace(enc, "type:str", "type:comment", 1) + "\n  a: '" + enc + "'\n# by sops\n" + sops + "# end\n", "",
		},
		"a copy by kubectl": {
			applied + `{"apiVersion":"v1","data":{"a":"aHVudGVyMg=="},"kind":"Secret","metadata":{"name":"s"}}` + "'}}\ndata: {a: '" + enc + "'}\n" + sops,
			"annotation kubectl.kubernetes.io/last-applied-configuration has a copy of the object that is not encrypted",
		},
		"a copy by kubectl that is cut off": {
			applied + `{"stringData":{"a":"hunter2"` + "'}}\n", "annotation kubectl.kubernetes.io/last-applied-configuration has a copy of the object that is not encrypted",
		},
		"a copy of what is encrypted": {applied + `{"data":{"a":"` + enc + `"},"kind":"Secret"}` + "'}}\n", ""},
		"an encrypted copy":           {applied + enc + "'}}\ndata: {a: '" + enc + "'}\n" + sops, ""},
		"an item of a List":           {"apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Secret, metadata: {name: s}, data: {a: aHVudGVyMg==}}\n", "data.a is not encrypted"},
		"an item of a named List":     {"apiVersion: v1\nkind: SecretList\nmetadata: {name: l}\nitems:\n- {metadata: {name: s}, data: {a: aHVudGVyMg==}}\n", "data.a is not encrypted"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			objects, err := Parse("f", []byte(tc.text))
			if err != nil || len(objects) != 1 {
				t.Fatalf("%d objects, %v", len(objects), err)
			}
			got, _ := Exposed(objects[0])
			if !strings.HasPrefix(got, tc.want) || (got == "") != (tc.want == "") {
				t.Errorf("%q, want %q", got, tc.want)
			}
			if strings.Contains(got, "hunter2") || strings.Contains(got, "aHVud") {
				t.Errorf("%q has the secret in it", got)
			}
		})
	}
}

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
		comment = "a comment after the first key is not encrypted"
		sealed  = "apiVersion: bitnami.com/v1alpha1\nkind: SealedSecret\nmetadata: {name: s}\nspec: {encryptedData: {a: AgBy}, template: "
		applied = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, annotations: {kubectl.kubernetes.io/last-applied-configuration: '"
	)
	tests := map[string]struct{ text, want string }{
		"another kind":                    {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: s}\ndata: {a: hunter2}\n", ""},
		"another built-in group":          {"apiVersion: apps/v1\nkind: Secret\nmetadata: {name: s}\ndata: {a: aHVudGVyMg==}\n", "data.a is not encrypted"},
		"by another name":                 {"apiVersion: apps/v1\nkind: secrets\nmetadata: {name: s}\ndata: {a: aHVudGVyMg==}\n", "data.a is not encrypted"},
		"a custom resource":               {"apiVersion: x.io/v1\nkind: Secret\nmetadata: {name: s}\ndata: {a: hunter2}\n", ""},
		"no data":                         {secret + "type: Opaque\nimmutable: true\n", ""},
		"empty values":                    {secret + "data: {a: '', b: null}\nstringData: {}\n", ""},
		"plain data":                      {secret + "data: {b: aHVudGVyMg==, a: aHVudGVyMg==}\n", "data.a is not encrypted"},
		"plain stringData":                {secret + "stringData: {user.name: hunter2}\n", `stringData."user.name" is not encrypted`},
		"a value that is a number":        {secret + "stringData: {pin: 1234}\n", "stringData.pin is not encrypted"},
		"data that is text":               {secret + "data: aHVudGVyMg==\n", "data is not encrypted"},
		"data that is a list":             {secret + "data: [{a: aHVudGVyMg==}]\n", "data[0].a is not encrypted"},
		"a misspelled field":              {secret + "stringdata: {a: hunter2}\n", "stringdata.a is not encrypted"},
		"any sops key, plain data":        {secret + "data: {a: aHVudGVyMg==}\nsops: {}\n", "data.a is not encrypted"},
		"sops: null, plain stringData":    {secret + "stringData: {a: hunter2}\nsops: null\n", "stringData.a is not encrypted"},
		"partly encrypted":                {secret + "stringData: {password: hunter2, user: '" + enc + "'}\n" + sops, "stringData.password is not encrypted"},
		"an unencrypted suffix":           {secret + "stringData: {a: '" + enc + "', b_unencrypted: hunter2}\n" + sops, "stringData.b_unencrypted is not encrypted"},
		"a number in an encrypted one":    {secret + "stringData: {a: '" + enc + "', pin: 1234}\n" + sops, "stringData.pin is not encrypted"},
		"a value that only resembles one": {secret + "stringData: {a: 'ENC[hunter2]'}\n" + sops, "stringData.a is not encrypted"},
		"plain text in the form's data":   {secret + "stringData: {a: '" + strings.Replace(enc, "Tr7o=", "hunter 2", 1) + "'}\n" + sops, "stringData.a is not encrypted"},
		"text after the form":             {secret + "stringData: {a: '" + enc + " hunter2'}\n" + sops, "stringData.a is not encrypted"},
		"another cipher":                  {secret + "stringData: {a: '" + strings.Replace(enc, "AES256_GCM", "ROT13", 1) + "'}\n" + sops, "stringData.a is not encrypted"},
		"encrypted":                       {secret + "data: {a: '" + enc + "', b: ''}\nstringData: {c: '" + strings.Replace(enc, "type:str", "type:int", 1) + "'}\n" + sops, ""},
		"encrypted, as JSON":              {`{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"a": "` + enc + `"}, "sops": {"mac": "` + enc + `"}}`, ""},
		"no mac":                          {secret + "data: {a: '" + enc + "'}\nsops: {version: 3.10.2}\n", "it has a sops key, but sops.mac is not what SOPS writes"},
		"a mac of another form":           {secret + "data: {a: '" + enc + "'}\nsops: {mac: 'ENC[x]'}\n", "it has a sops key, but sops.mac is not what SOPS writes"},
		"a sops key that is text":         {secret + "data: {a: '" + enc + "'}\nsops: yes, please\n", "it has a sops key, but sops.mac is not what SOPS writes"},
		"values without a sops key":       {secret + "data: {a: '" + enc + "'}\n", "data.a is encrypted, but the document has no sops key, so Flux would not decrypt it"},
		"a plain value in an anchor": {
			secret + "x: &x hunter2\nstringData: {a: '" + enc + "'}\n" + sops, "x is not encrypted",
		},
		"a plain value that a merge hides": {
			secret + "stringData: {<<: {a: hunter2}, a: '" + enc + "'}\n" + sops, "it has YAML anchors or merges, which SOPS does not write",
		},
		"a plain comment in the values": {
			secret + "stringData:\n  # was hunter2\n  a: '" + enc + "'\n" + sops, comment,
		},
		"a plain comment beside a value": {
			secret + "stringData:\n  a: '" + enc + "' # hunter2\n" + sops, comment,
		},
		"an encrypted comment, and others elsewhere": {
			"# Copyright: ours\n\n# as well\n" + secret + "stringData:\n  #" + strings.Replace(enc, "type:str", "type:comment", 1) + "\n  #\n  a: '" + enc + "'\n" + sops, "",
		},
		"a plain comment above data":        {secret + "# password: hunter2\ndata:\n  a: '" + enc + "'\n" + sops, comment},
		"a plain comment beside data":       {secret + "data: # hunter2\n  a: '" + enc + "'\n" + sops, comment},
		"a field as a plain comment":        {secret + "data:\n  a: '" + enc + "'\n# stringData:\n#   password: hunter2\n" + sops, comment},
		"a plain comment at the end":        {secret + "data: {a: '" + enc + "'}\n" + sops + "\n# hunter2\n", comment},
		"a plain comment in metadata":       {"apiVersion: v1\nkind: Secret\nmetadata:\n  # hunter2\n  name: s\ndata: {a: '" + enc + "'}\n" + sops, comment},
		"a plain comment at a block":        {secret + "data:\n  a: |- # hunter2\n    " + enc + "\n" + sops, comment},
		"a plain comment between brackets":  {secret + "data: {\n  # hunter2\n  a: '" + enc + "'}\n" + sops, comment},
		"a plain comment beside the marker": {"--- # hunter2\n" + secret + "data: {a: '" + enc + "'}\n" + sops, ""},
		"a plain comment and a colour":      {secret[:len(secret)-2] + ", annotations: {a: '#fff', b: x#y, c: \"#z\"}}\ndata: {a: '" + enc + "'} # hunter2\n" + sops, comment},
		"text that resembles comments":      {"apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\n  annotations:\n    a: 'see #1, # 2'\n    b: \"see #3\"\n    c: |\n      # d\n      e # f\n    g: >-\n      # h\ndata: {a: '" + enc + "'}\n" + sops, ""},
		"a tag of a value":                  {secret + "data: {a: !hunter2 '" + enc + "'}\n" + sops, "it has YAML tags"},
		"a tag of a key":                    {secret + "data: {!!str a: '" + enc + "'}\n" + sops, "it has YAML tags"},
		"a tag without a name":              {secret + "data: {a: ! '" + enc + "'}\n" + sops, ""},
		"a tag of a directive":              {"%TAG !x! tag:hunter2\n---\n" + secret + "data: {a: !x!y '" + enc + "'}\n" + sops, "it has YAML tags"},
		"a directive that is not used":      {"%TAG !x! tag:hunter2\n---\n" + secret + "data: {a: '" + enc + "'}\n" + sops, "it has YAML tags"},
		"a directive of the version":        {"%YAML 1.2\n---\n" + secret + "data: {a: '" + enc + "'}\n" + sops, ""},
		"a tag of a mapping":                {secret + "data: !hunter2\n  a: '" + enc + "'\n" + sops, "it has YAML tags"},
		"a value in the sops key":           {secret + "data: {a: '" + enc + "'}\nsops: {mac: '" + enc + "', password: hunter2}\n", "sops.password is not a field that SOPS writes"},
		"a value deep in the sops key":      {secret + "data: {a: '" + enc + "'}\nsops: {mac: '" + enc + "', age: [{recipient: x, enc: y, stringData: {a: hunter2}}]}\n", "sops.age[0].stringData is not a field that SOPS writes"},
		"the fields of sops": {
			secret + "data: {a: '" + enc + "'}\nsops: {mac: '" + enc + "', kms: [{arn: a, context: {team: b}, created_at: c, enc: d}], key_groups: [{pgp: [{fp: a, enc: b, created_at: c}]}], shamir_threshold: 1, azure_kv: [], lastmodified: d, mac_only_encrypted: true, encrypted_regex: e, version: 3.10.2}\n", "",
		},
		"a copy with a key twice": {
			applied + `{"data":{"a":"aHVudGVyMg=="},"data":{}}` + "'}}\n", "annotation kubectl.kubernetes.io/last-applied-configuration has a copy",
		},
		"a copy of a copy": {
			applied + `{"metadata":{"annotations":{"kapp.k14s.io/original":"{\\"data\\":{\\"a\\":\\"aHVudGVyMg==\\"}}"}}}` + "'}}\n", "annotation kubectl.kubernetes.io/last-applied-configuration has a copy",
		},
		"a sealed secret":                    {sealed + "{data: {dsn: 'host={{ .host }}'}, metadata: {name: s}}}\n", ""},
		"a sealed secret with a plain field": {sealed + "{stringData: {a: hunter2}}}\n", "spec.template.stringData.a is not sealed"},
		"a sealed secret with a copy": {
			sealed + `{metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: '{"data":{"a":"aHVudGVyMg=="}}'}}}}`, "annotation kubectl.kubernetes.io/last-applied-configuration of spec.template has a copy",
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
			got := ""
			if p := Exposed(objects[0]); p != nil {
				got = p.Message
			}
			if !strings.HasPrefix(got, tc.want) || (got == "") != (tc.want == "") {
				t.Errorf("%q, want %q", got, tc.want)
			}
			if strings.Contains(got, "hunter2") || strings.Contains(got, "aHVud") {
				t.Errorf("%q has the secret in it", got)
			}
		})
	}
}

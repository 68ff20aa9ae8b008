package manifest

import (
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/test/golden"
)

// enc is a value as SOPS writes it.
const enc = "ENC[AES256_GCM,data:Tr7o=,iv:1vSV0Y6aV8Wz+zyFAd7sOr8A=,tag:WFmIVZU0hbSQfoKBzgaU5A==,type:str]"

func TestExposedSecrets(t *testing.T) {
	const (
		secret  = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n"
		sops    = "sops: {mac: '" + enc + "', version: 3.10.2}\n"
		comment = "PlainSecret"
		sealed  = "apiVersion: bitnami.com/v1alpha1\nkind: SealedSecret\nmetadata: {name: s}\nspec: {encryptedData: {a: AgBy}, template: "
		applied = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, annotations: {kubectl.kubernetes.io/last-applied-configuration: '"
	)
	tests := map[string]struct{ text, want string }{
		"another kind":                    {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: s}\ndata: {a: hunter2}\n", ""},
		"another built-in group":          {"apiVersion: apps/v1\nkind: Secret\nmetadata: {name: s}\ndata: {a: aHVudGVyMg==}\n", "PlainSecret field=data.a"},
		"by another name":                 {"apiVersion: apps/v1\nkind: secrets\nmetadata: {name: s}\ndata: {a: aHVudGVyMg==}\n", "PlainSecret field=data.a"},
		"a custom resource":               {"apiVersion: x.io/v1\nkind: Secret\nmetadata: {name: s}\ndata: {a: hunter2}\n", ""},
		"no data":                         {secret + "type: Opaque\nimmutable: true\n", ""},
		"empty values":                    {secret + "data: {a: '', b: null}\nstringData: {}\n", ""},
		"plain data":                      {secret + "data: {b: aHVudGVyMg==, a: aHVudGVyMg==}\n", "PlainSecret field=data.a"},
		"plain stringData":                {secret + "stringData: {user.name: hunter2}\n", `PlainSecret field=stringData."user.name"`},
		"a value that is a number":        {secret + "stringData: {pin: 1234}\n", "PlainSecret field=stringData.pin"},
		"data that is text":               {secret + "data: aHVudGVyMg==\n", "PlainSecret field=data"},
		"data that is a list":             {secret + "data: [{a: aHVudGVyMg==}]\n", "PlainSecret field=data[0].a"},
		"a misspelled field":              {secret + "stringdata: {a: hunter2}\n", "PlainSecret field=stringdata.a"},
		"any sops key, plain data":        {secret + "data: {a: aHVudGVyMg==}\nsops: {}\n", "PlainSecret field=data.a"},
		"sops: null, plain stringData":    {secret + "stringData: {a: hunter2}\nsops: null\n", "PlainSecret field=stringData.a"},
		"partly encrypted":                {secret + "stringData: {password: hunter2, user: '" + enc + "'}\n" + sops, "PlainSecret field=stringData.password"},
		"an unencrypted suffix":           {secret + "stringData: {a: '" + enc + "', b_unencrypted: hunter2}\n" + sops, "PlainSecret field=stringData.b_unencrypted"},
		"a number in an encrypted one":    {secret + "stringData: {a: '" + enc + "', pin: 1234}\n" + sops, "PlainSecret field=stringData.pin"},
		"a value that only resembles one": {secret + "stringData: {a: 'ENC[hunter2]'}\n" + sops, "PlainSecret field=stringData.a"},
		"plain text in the form's data":   {secret + "stringData: {a: '" + strings.Replace(enc, "Tr7o=", "hunter 2", 1) + "'}\n" + sops, "PlainSecret field=stringData.a"},
		"text after the form":             {secret + "stringData: {a: '" + enc + " hunter2'}\n" + sops, "PlainSecret field=stringData.a"},
		"another cipher":                  {secret + "stringData: {a: '" + strings.Replace(enc, "AES256_GCM", "ROT13", 1) + "'}\n" + sops, "PlainSecret field=stringData.a"},
		"encrypted":                       {secret + "data: {a: '" + enc + "', b: ''}\nstringData: {c: '" + strings.Replace(enc, "type:str", "type:int", 1) + "'}\n" + sops, ""},
		"encrypted, as JSON":              {`{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"a": "` + enc + `"}, "sops": {"mac": "` + enc + `"}}`, ""},
		"no mac":                          {secret + "data: {a: '" + enc + "'}\nsops: {version: 3.10.2}\n", "InvalidEncryption field=sops.mac"},
		"a mac of another form":           {secret + "data: {a: '" + enc + "'}\nsops: {mac: 'ENC[x]'}\n", "InvalidEncryption field=sops.mac"},
		"a sops key that is text":         {secret + "data: {a: '" + enc + "'}\nsops: yes, please\n", "InvalidEncryption field=sops.mac"},
		"values without a sops key":       {secret + "data: {a: '" + enc + "'}\n", "InvalidEncryption field=data.a"},
		"a plain value in an anchor": {
			secret + "x: &x hunter2\nstringData: {a: '" + enc + "'}\n" + sops, "PlainSecret field=x",
		},
		"a plain value that a merge hides": {
			secret + "stringData: {<<: {a: hunter2}, a: '" + enc + "'}\n" + sops, "InvalidEncryption",
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
		"a tag of a value":                  {secret + "data: {a: !hunter2 '" + enc + "'}\n" + sops, "InvalidEncryption"},
		"a tag of a key":                    {secret + "data: {!!str a: '" + enc + "'}\n" + sops, "InvalidEncryption"},
		"a tag without a name":              {secret + "data: {a: ! '" + enc + "'}\n" + sops, ""},
		"a tag of a directive":              {"%TAG !x! tag:hunter2\n---\n" + secret + "data: {a: !x!y '" + enc + "'}\n" + sops, "InvalidEncryption"},
		"a directive that is not used":      {"%TAG !x! tag:hunter2\n---\n" + secret + "data: {a: '" + enc + "'}\n" + sops, "InvalidEncryption"},
		"a directive of the version":        {"%YAML 1.2\n---\n" + secret + "data: {a: '" + enc + "'}\n" + sops, ""},
		"a tag of a mapping":                {secret + "data: !hunter2\n  a: '" + enc + "'\n" + sops, "InvalidEncryption"},
		"a value in the sops key":           {secret + "data: {a: '" + enc + "'}\nsops: {mac: '" + enc + "', password: hunter2}\n", "InvalidEncryption field=sops.password"},
		"a value deep in the sops key":      {secret + "data: {a: '" + enc + "'}\nsops: {mac: '" + enc + "', age: [{recipient: x, enc: y, stringData: {a: hunter2}}]}\n", "InvalidEncryption field=sops.age[0].stringData"},
		"the fields of sops": {
			secret + "data: {a: '" + enc + "'}\nsops: {mac: '" + enc + "', kms: [{arn: a, context: {team: b}, created_at: c, enc: d}], key_groups: [{pgp: [{fp: a, enc: b, created_at: c}]}], shamir_threshold: 1, azure_kv: [], lastmodified: d, mac_only_encrypted: true, encrypted_regex: e, version: 3.10.2}\n", "",
		},
		"a copy with a key twice": {
			applied + `{"data":{"a":"aHVudGVyMg=="},"data":{}}` + "'}}\n", "PlainSecret field=kubectl.kubernetes.io/last-applied-configuration",
		},
		"a copy of a copy": {
			applied + `{"metadata":{"annotations":{"kapp.k14s.io/original":"{\\"data\\":{\\"a\\":\\"aHVudGVyMg==\\"}}"}}}` + "'}}\n", "PlainSecret field=kubectl.kubernetes.io/last-applied-configuration",
		},
		"a sealed secret":                    {sealed + "{data: {dsn: 'host={{ .host }}'}, metadata: {name: s}}}\n", ""},
		"a sealed secret with a plain field": {sealed + "{stringData: {a: hunter2}}}\n", "PlainSecret field=spec.template.stringData.a"},
		"a sealed secret with a copy": {
			sealed + `{metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: '{"data":{"a":"aHVudGVyMg=="}}'}}}}`, "PlainSecret field=kubectl.kubernetes.io/last-applied-configuration",
		},
		"a copy by kubectl": {
			applied + `{"apiVersion":"v1","data":{"a":"aHVudGVyMg=="},"kind":"Secret","metadata":{"name":"s"}}` + "'}}\ndata: {a: '" + enc + "'}\n" + sops,
			"PlainSecret field=kubectl.kubernetes.io/last-applied-configuration",
		},
		"a copy by kubectl that is cut off": {
			applied + `{"stringData":{"a":"hunter2"` + "'}}\n", "PlainSecret field=kubectl.kubernetes.io/last-applied-configuration",
		},
		"a copy of what is encrypted": {applied + `{"data":{"a":"` + enc + `"},"kind":"Secret"}` + "'}}\n", ""},
		"an encrypted copy":           {applied + enc + "'}}\ndata: {a: '" + enc + "'}\n" + sops, ""},
		"an item of a List":           {"apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Secret, metadata: {name: s}, data: {a: aHVudGVyMg==}}\n", "PlainSecret field=data.a"},
		"an item of a named List":     {"apiVersion: v1\nkind: SecretList\nmetadata: {name: l}\nitems:\n- {metadata: {name: s}, data: {a: aHVudGVyMg==}}\n", "PlainSecret field=data.a"},
	}
	texts := golden.Of(t)
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			objects, err := Parse("f", []byte(tc.text))
			if err != nil || len(objects) != 1 {
				t.Fatalf("%d objects, %v", len(objects), err)
			}
			got, text := "", ""
			if p := Exposed(objects[0]); p != nil {
				got, text = golden.Fields(Problem{Reason: p.Reason, Field: p.Field}), p.Error()
			}
			if got != tc.want {
				t.Errorf("%s, want %s: %s", got, tc.want, text)
			}
			texts.Add(name, text)
			if strings.Contains(text, "hunter2") || strings.Contains(text, "aHVud") {
				t.Errorf("%q has the secret in it", text)
			}
		})
	}
}

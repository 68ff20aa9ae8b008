package catalog_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/test/golden"
)

const eastDocument = "apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: east}\n"

// TestANearMissOfADocumentIsAnError: a Cluster document that is read as somebody else's is lost without a word,
// and what is planted on its cluster would leave.
func TestANearMissOfADocumentIsAnError(t *testing.T) {
	swap := func(old, with string) string { return strings.Replace(eastDocument, old, with, 1) }
	const unknown = `c/east.yaml:1: Cluster "east": UnknownKind field=apiVersion`
	cases := map[string]struct{ text, want string }{
		"another top-level domain":          {swap("furrow.dev", "furrow.io"), unknown},
		"a letter too few":                  {swap("furrow.dev", "furow.dev"), unknown},
		"two letters swapped":               {swap("furrow.dev", "furrwo.dev"), unknown},
		"another domain":                    {swap("furrow.dev", "furrow.example.com"), unknown},
		"a part too many":                   {swap("furrow.dev", "api.furrow.dev"), unknown},
		"the parts turned round":            {swap("furrow.dev", "dev.furrow"), unknown},
		"capitals":                          {swap("furrow.dev", "Furrow.Dev"), `c/east.yaml:1: Cluster "east": InvalidField field=apiVersion`},
		"no domain":                         {swap("furrow.dev", "furrow"), unknown},
		"no group":                          {swap("furrow.dev/", ""), unknown},
		"no slash":                          {swap("furrow.dev/", "furrow.dev."), `c/east.yaml:1: Cluster "east": InvalidField field=apiVersion`},
		"no version":                        {swap("/v1alpha1", ""), `c/east.yaml:1: Cluster "east": InvalidField field=apiVersion`},
		"JSON":                              {`{"apiVersion": "furrow.io/v1alpha1", "kind": "Cluster", "metadata": {"name": "east"}}`, unknown},
		"a flow mapping":                    {"{apiVersion: furrow.io/v1alpha1, kind: Cluster, metadata: {name: east}}", unknown},
		"quotes":                            {swap("furrow.dev/v1alpha1", `"furrow.io/v1alpha1"`), unknown},
		"the kind first":                    {"kind: Cluster\nmetadata: {name: east}\napiVersion: furrow.io/v1alpha1\n", unknown},
		"a second document":                 {"apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n---\n" + swap("furrow.dev", "furrow.io"), `c/east.yaml:5: Cluster "east": UnknownKind field=apiVersion`},
		"a wrong group and a kind in lower": {strings.Replace(swap("furrow.dev", "furrow.io"), "Cluster", "cluster", 1), `c/east.yaml:1: cluster "east": UnknownKind field=apiVersion`},
		"an item of a List":                 {"apiVersion: v1\nkind: List\nitems:\n- {apiVersion: furrow.io/v1alpha1, kind: Cluster, metadata: {name: east}}\n", `c/east.yaml:4: Cluster "east": UnknownKind field=apiVersion`},
		"a wrong version":                   {swap("v1alpha1", "v1aplha1"), `c/east.yaml:1: Cluster "east": UnknownKind`},
		"a kind in lower case":              {swap("Cluster", "cluster"), `c/east.yaml:1: cluster "east": UnknownKind`},
		"a kind in upper case":              {swap("Cluster", "CLUSTER"), `c/east.yaml:1: CLUSTER "east": UnknownKind`},
		"a kind in plural":                  {swap("Cluster", "Clusters"), `c/east.yaml:1: Clusters "east": UnknownKind`},
		"no apiVersion":                     {"kind: Cluster\nmetadata: {name: east}\n", `c/east.yaml:1: Cluster "east": MissingField field=apiVersion`},
		"an apiVersion in lower case":       {swap("apiVersion", "apiversion"), `c/east.yaml:1: Cluster "east": MissingField field=apiVersion`},

		"a Cluster of Cluster API":         {swap("furrow.dev/v1alpha1", "cluster.x-k8s.io/v1beta2"), ""},
		"a Cluster of a database":          {swap("furrow.dev/v1alpha1", "postgresql.cnpg.io/v1"), ""},
		"a Cluster of kind":                {swap("furrow.dev/v1alpha1", "kind.x-k8s.io/v1alpha4"), ""},
		"a kind that Furrow does not have": {strings.Replace(swap("furrow.dev", "furrow.io"), "Cluster", "Plough", 1), ""},
		"a Template of OpenShift":          {strings.Replace(swap("furrow.dev/v1alpha1", "template.openshift.io/v1"), "Cluster", "Template", 1), ""},
		"values that name a kind":          {"cluster:\n  kind: Cluster\n  size: 3\n", ""},
		"a mention outside of a document":  {"image: registry.example.com/furrow.io\n", ""},
	}
	texts := golden.Of(t)
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			cat := load(t, "-- c/east.yaml --\n"+c.text+"\n")
			texts.Add(sentence, cat.Problems.Error())
			if diff := cmp.Diff(c.want, fields(cat.Problems)); diff != "" {
				t.Errorf("the problems differ (-want +got):\n%s", diff)
			}
			if kept := cat.Inventory.Broken("east") != ""; kept != (c.want != "") {
				t.Errorf("what is planted on the cluster is kept: %t", kept)
			}
		})
	}
}

func TestANearMissInASeedIsAnError(t *testing.T) {
	const object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: default}\n---\n"
	for text, want := range map[string]string{
		strings.Replace(eastDocument, "furrow.dev", "furrow.io", 1):                                        `seeds/web.yaml:5: Cluster "east": UnknownKind field=apiVersion`,
		"apiVersion: furow.dev/v1alpha1\nkind: Seed\nmetadata: {name: web}\nspec: {suspend: true}\n":       `seeds/web.yaml:5: Seed "web": UnknownKind field=apiVersion`,
		strings.Replace(eastDocument, "furrow.dev/v1alpha1", "cluster.x-k8s.io/v1beta2", 1) + "spec: {}\n": "",
	} {
		seed, ok := load(t, "-- seeds/web.yaml --\n"+object+text).Seed("web")
		if !ok {
			t.Fatal("there is no seed")
		}
		if got := fields(seed.Err); !strings.Contains(got, want) || want == "" && strings.Contains(got, "UnknownKind") {
			t.Errorf("%s: %s; want %s", text, got, want)
		}
	}
}

// TestDocumentsThatAreNotReadAreNamed: in a file of another name, or commented out.
func TestDocumentsThatAreNotReadAreNamed(t *testing.T) {
	commented := "# " + strings.ReplaceAll(strings.TrimSuffix(eastDocument, "\n"), "\n", "\n# ") + "\n"
	cases := map[string]struct{ file, text, want string }{
		"text":                             {"c/east.txt", eastDocument, "c/east.txt: FileSkipped"},
		"text with a comment before":       {"c/east.txt", "# the east\n---\n" + eastDocument, "c/east.txt: FileSkipped"},
		"text in capitals":                 {"c/east.TXT", eastDocument, "c/east.TXT: FileSkipped"},
		"a near miss in text":              {"c/east.txt", strings.Replace(eastDocument, "furrow.dev", "furrow.io", 1), "c/east.txt: FileSkipped"},
		"no ending":                        {"c/east", eastDocument, "c/east: FileSkipped"},
		"a backup":                         {"c/east.yaml.bak", eastDocument, "c/east.yaml.bak: FileSkipped"},
		"a template":                       {"c/east.yaml.tmpl", eastDocument, "c/east.yaml.tmpl: FileSkipped"},
		"commented out":                    {"c/east.yaml", commented, "c/east.yaml:1: FileSkipped"},
		"commented out without spaces":     {"c/east.yaml", strings.ReplaceAll(commented, "# ", "#"), "c/east.yaml:1: FileSkipped"},
		"commented out twice":              {"c/east.yaml", strings.ReplaceAll(commented, "# ", "## "), "c/east.yaml:1: FileSkipped"},
		"commented out with a text before": {"c/east.yaml", "# The east is closed.\n" + commented, "c/east.yaml:1: FileSkipped"},
		"one of two":                       {"c/east.yaml", strings.Replace(eastDocument, "east", "west", 1) + "---\n" + commented, "c/east.yaml:5: FileSkipped"},
		"a near miss commented out":        {"c/east.yaml", strings.Replace(commented, "furrow.dev", "furrow.io", 1), "c/east.yaml:1: FileSkipped"},
		"a seed in text":                   {"seeds/web.txt", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n", "seeds/web.txt: FileSkipped"},

		"notes that quote a document":        {"c/notes.txt", "Write it like this:\n\n    " + strings.ReplaceAll(eastDocument, "\n", "\n    "), ""},
		"a page that quotes a document":      {"c/README.md", eastDocument, ""},
		"a document with a comment in it":    {"c/east.yaml", "# apiVersion: furrow.dev/v1alpha1\n# kind: Cluster\n" + eastDocument, ""},
		"a manifest of others commented out": {"c/ns.yaml", "# apiVersion: v1\n# kind: Namespace\n", ""},
	}
	texts := golden.Of(t)
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			cat := load(t, "-- "+c.file+" --\n"+c.text)
			texts.Add(sentence, cat.Skipped.Error())
			if diff := cmp.Diff(c.want, fields(cat.Skipped)); diff != "" || len(cat.Problems) > 0 {
				t.Errorf("the warnings differ (-want +got):\n%s%v", diff, cat.Problems)
			}
		})
	}
}

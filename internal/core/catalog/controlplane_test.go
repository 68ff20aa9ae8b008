package catalog_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/test/golden"
)

const controlPlane = "apiVersion: furrow.dev/v1alpha1\nkind: ControlPlane\nmetadata: {name: acme}\nspec: {deletionGuard: 5, strict: true}\n"

func TestTheControlPlaneDocumentNamesTheOwner(t *testing.T) {
	broken := strings.Replace(controlPlane, "strict: true", "strikt: true", 1)
	tests := map[string]struct {
		files map[string]string
		id    string
		want  string // the owner, or what is wrong
	}{
		"the document": {map[string]string{"a.yaml": controlPlane}, "fleet", "acme/prod"},
		"the document, in a directory of any name":   {map[string]string{"a.yaml": controlPlane}, "my own clone", "acme/prod"},
		"none, so what is given":                     {map[string]string{}, "fleet", "fleet/prod"},
		"none, and the name of the directory is bad": {map[string]string{}, "my own clone", "InvalidOwner field=control-plane id"},
		"a name that ends as a lock of Git":          {map[string]string{}, "fleet.lock", "InvalidOwner field=control-plane id"},
		"two documents":                              {map[string]string{"a.yaml": controlPlane, "b.yaml": strings.Replace(controlPlane, "acme", "other", 1)}, "fleet", `b.yaml:1: ControlPlane "other": DuplicateDocument`},
		"one twice, so the name is known":            {map[string]string{"a.yaml": controlPlane, "b.yaml": controlPlane}, "fleet", "acme/prod"},
		"a field that does not exist":                {map[string]string{"a.yaml": broken}, "fleet", `a.yaml:4: ControlPlane "acme": InvalidField field=spec.strikt`},
		"a name that is not a label":                 {map[string]string{"a.yaml": strings.Replace(controlPlane, "acme", "acme.1", 1)}, "fleet", `a.yaml:1: ControlPlane "acme.1": InvalidName field=metadata.name`},
		"a guard that is not a percentage":           {map[string]string{"a.yaml": strings.Replace(controlPlane, "5", "500", 1)}, "fleet", `a.yaml:1: ControlPlane "acme": InvalidField field=spec.deletionGuard`},
		"a kind that is misspelled":                  {map[string]string{"a.yaml": strings.Replace(controlPlane, "ControlPlane", "Controlplane", 1)}, "fleet", `a.yaml:1: Controlplane "acme": UnknownKind`},
		"a kind that lacks a letter":                 {map[string]string{"a.yaml": strings.Replace(controlPlane, "ControlPlane", "ContrlPlane", 1)}, "fleet", `a.yaml:1: ContrlPlane "acme": UnknownKind`},
		"a kind that is abbreviated":                 {map[string]string{"a.yaml": strings.Replace(controlPlane, "ControlPlane", "CtrlPlane", 1)}, "fleet", `a.yaml:1: CtrlPlane "acme": UnknownKind`},
		"an API group that is misspelled":            {map[string]string{"a.yaml": strings.Replace(controlPlane, "furrow.dev", "furow.dev", 1)}, "fleet", `a.yaml:1: ControlPlane "acme": UnknownKind field=apiVersion`},
		"both misspelled":                            {map[string]string{"a.yaml": strings.Replace(strings.Replace(controlPlane, "furrow.dev", "furow.dev", 1), "ControlPlane", "ContrlPlane", 1)}, "fleet", `a.yaml:1: ContrlPlane "acme": UnknownKind field=apiVersion`},
		"an unknown version":                         {map[string]string{"a.yaml": strings.Replace(controlPlane, "v1alpha1", "v2", 1)}, "fleet", `a.yaml:1: ControlPlane "acme": UnknownKind`},
		"a misspelled kind that cannot be parsed":    {map[string]string{"a.yaml": strings.Replace(controlPlane, "ControlPlane", "ContrlPlane", 1) + "\tx"}, "fleet", "a.yaml:5: InvalidYAML"},
		"in an encoding that is not read":            {map[string]string{"a.yaml": strings.Join(strings.Split(controlPlane, ""), "\x00")}, "fleet", "a.yaml:1: InvalidYAML"},
		"a misspelled one beside the document":       {map[string]string{"a.yaml": controlPlane, "b.yaml": strings.Replace(controlPlane, "ControlPlane", "ContrlPlane", 1)}, "fleet", "acme/prod"},
		"a Cluster that cannot be parsed":            {map[string]string{"a.yaml": "apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: a\n"}, "fleet", "fleet/prod"},
		"a kind of something else":                   {map[string]string{"a.yaml": strings.Replace(controlPlane, "ControlPlane", "Fleet", 1)}, "fleet", "fleet/prod"},
		"a file that may hold it cannot be parsed":   {map[string]string{"a.yaml": controlPlane + "\tx"}, "fleet", "a.yaml:5: InvalidYAML"},
	}
	texts := golden.Of(t)
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			tree := fstest.MapFS{}
			for file, text := range tc.files {
				tree[file] = &fstest.MapFile{Data: []byte(text)}
			}
			c, err := catalog.Load(tree)
			if err != nil {
				t.Fatal(err)
			}
			got, err := c.Owner(tc.id, "prod")
			if err != nil {
				got = golden.Fields(manifest.ProblemOf(err))
				texts.Add(name, err.Error())
			}
			if got != tc.want {
				t.Errorf("got %s, want %s: %v", got, tc.want, err)
			}
		})
	}
}

func TestTheControlPlaneDocumentHasTheSettingsOfItsRepository(t *testing.T) {
	with, without := load(t, "-- a.yaml --\n"+controlPlane), load(t, "-- a.yaml --\n"+strings.Replace(controlPlane, "spec: {deletionGuard: 5, strict: true}\n", "", 1))
	if with.DeletionGuard(20) != 5 || !with.Strict(false) || without.DeletionGuard(20) != 20 || without.Strict(false) || !without.Strict(true) {
		t.Error("the settings of the document do not count")
	}
}

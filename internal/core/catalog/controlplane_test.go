package catalog_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/furrow-dev/furrow/internal/core/catalog"
)

const controlPlane = "apiVersion: furrow.dev/v1alpha1\nkind: ControlPlane\nmetadata: {name: acme}\nspec: {deletionGuard: 5, strict: true}\n"

func TestTheControlPlaneDocumentNamesTheOwner(t *testing.T) {
	broken := strings.Replace(controlPlane, "strict: true", "strikt: true", 1)
	tests := map[string]struct {
		files map[string]string
		id    string
		want  string // the owner, or part of the error
	}{
		"the document": {map[string]string{"a.yaml": controlPlane}, "fleet", "acme/prod"},
		"the document, in a directory of any name":   {map[string]string{"a.yaml": controlPlane}, "my own clone", "acme/prod"},
		"none, so what is given":                     {map[string]string{}, "fleet", "fleet/prod"},
		"none, and the name of the directory is bad": {map[string]string{}, "my own clone", `"my own clone" is not a valid control-plane id`},
		"a name that ends as a lock of Git":          {map[string]string{}, "fleet.lock", "not a valid control-plane id"},
		"two documents":                              {map[string]string{"a.yaml": controlPlane, "b.yaml": strings.Replace(controlPlane, "acme", "other", 1)}, "fleet", `ControlPlane "acme" is declared at a.yaml:1`},
		"one twice, so that the name is known":       {map[string]string{"a.yaml": controlPlane, "b.yaml": controlPlane}, "fleet", "acme/prod"},
		"a field that does not exist":                {map[string]string{"a.yaml": broken}, "fleet", "strikt"},
		"a name that is no label":                    {map[string]string{"a.yaml": strings.Replace(controlPlane, "acme", "acme.1", 1)}, "fleet", "not a valid DNS label"},
		"a guard that is no percentage":              {map[string]string{"a.yaml": strings.Replace(controlPlane, "5", "500", 1)}, "fleet", "from 0 to 100"},
		"a kind that is misspelled":                  {map[string]string{"a.yaml": strings.Replace(controlPlane, "ControlPlane", "Controlplane", 1)}, "fleet", "no kind Controlplane"},
		"a kind that lacks a letter":                 {map[string]string{"a.yaml": strings.Replace(controlPlane, "ControlPlane", "ContrlPlane", 1)}, "fleet", "no kind ContrlPlane"},
		"a kind that is abbreviated":                 {map[string]string{"a.yaml": strings.Replace(controlPlane, "ControlPlane", "CtrlPlane", 1)}, "fleet", "no kind CtrlPlane"},
		"an API group that is misspelled":            {map[string]string{"a.yaml": strings.Replace(controlPlane, "furrow.dev", "furow.dev", 1)}, "fleet", "apiVersion furow.dev/v1alpha1 is unknown"},
		"both misspelled":                            {map[string]string{"a.yaml": strings.Replace(strings.Replace(controlPlane, "furrow.dev", "furow.dev", 1), "ControlPlane", "ContrlPlane", 1)}, "fleet", "apiVersion furow.dev/v1alpha1 is unknown"},
		"an unknown version":                         {map[string]string{"a.yaml": strings.Replace(controlPlane, "v1alpha1", "v2", 1)}, "fleet", "apiVersion furrow.dev/v2 is unknown"},
		"a misspelled kind that cannot be parsed":    {map[string]string{"a.yaml": strings.Replace(controlPlane, "ControlPlane", "ContrlPlane", 1) + "\tx"}, "fleet", "a.yaml"},
		"in an encoding that is not read":            {map[string]string{"a.yaml": strings.Join(strings.Split(controlPlane, ""), "\x00")}, "fleet", "a.yaml"},
		"a misspelled one beside the document":       {map[string]string{"a.yaml": controlPlane, "b.yaml": strings.Replace(controlPlane, "ControlPlane", "ContrlPlane", 1)}, "fleet", "acme/prod"},
		"a Cluster that cannot be parsed":            {map[string]string{"a.yaml": "apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: a\n"}, "fleet", "fleet/prod"},
		"a kind of something else":                   {map[string]string{"a.yaml": strings.Replace(controlPlane, "ControlPlane", "Fleet", 1)}, "fleet", "fleet/prod"},
		"a file that may hold it cannot be parsed":   {map[string]string{"a.yaml": controlPlane + "\tx"}, "fleet", "a.yaml"},
	}
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
			owner, err := c.Owner(tc.id, "prod")
			if err == nil && owner != tc.want || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %q, %v, want %s", owner, err, tc.want)
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

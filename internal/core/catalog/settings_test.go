package catalog_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/furrow-dev/furrow/internal/core/catalog"
)

func TestSettingsThatCannotBeReadAreAProblemOfTheInventory(t *testing.T) {
	tree := fstest.MapFS{
		"seeds/web.yaml":      {Data: []byte("apiVersion: v1\nkind: Namespace\nmetadata: {name: web}\n")},
		"seeds/settings.yaml": {Data: []byte("apiVersion: furrow.dev/v1alpha1\nkind: Seed\nmetadata: {name: web}\nspec: {clusterSelector: [\n")},
	}
	c, err := catalog.Load(tree)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Problems) != 1 || !strings.Contains(c.Problems[0].Error(), "seeds/settings.yaml") {
		t.Errorf("problems: %v", c.Problems)
	}
	if len(c.Seeds) != 1 || c.Seeds[0].Name != "web" {
		t.Errorf("seeds: %v", c.Seeds)
	}
}

func TestAnUnsafeNameOfCredentialsIsRefused(t *testing.T) {
	for _, name := range []string{"../../serviceaccount", "a/b", "..", "A", "a_b"} {
		c := load(t, "-- repo.yaml --\napiVersion: furrow.dev/v1alpha1\nkind: GitOpsRepo\nmetadata: {name: gitops}\nspec: {url: 'https://git.example.com/a', credentials: "+name+"}\n")
		if len(c.Problems) != 1 || !strings.Contains(c.Problems[0].Error(), "is not a valid name of credentials") {
			t.Errorf("%s: %v", name, c.Problems)
		}
	}
}

package catalog_test

import (
	"fmt"
	"testing"
	"testing/fstest"

	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/test/golden"
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
	if got := fields(c.Problems); got != "seeds/settings.yaml:5: InvalidYAML" {
		t.Errorf("problems: %s: %v", got, c.Problems)
	}
	if len(c.Seeds) != 1 || c.Seeds[0].Name != "web" {
		t.Errorf("seeds: %v", c.Seeds)
	}
}

func TestAnUnsafeNameOfCredentialsIsRefused(t *testing.T) {
	texts := golden.Of(t)
	for _, name := range []string{"../../serviceaccount", "a/b", "..", "A", "a_b"} {
		c := load(t, "-- repo.yaml --\napiVersion: furrow.dev/v1alpha1\nkind: GitOpsRepo\nmetadata: {name: gitops}\nspec: {url: 'https://git.example.com/a', credentials: "+name+"}\n")
		if got := fields(c.Problems); got != `repo.yaml:4: GitOpsRepo "gitops": InvalidField field=spec.credentials` {
			t.Errorf("%s: %s: %v", name, got, c.Problems)
		}
		texts.Add(name, fmt.Sprint(c.Problems))
	}
}

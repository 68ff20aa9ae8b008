package catalog_test

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/furrow-dev/furrow/internal/core/catalog"
)

// withoutSeeds is a tree whose seeds must not be read.
type withoutSeeds struct{ fstest.MapFS }

func (t withoutSeeds) Open(name string) (fs.File, error) {
	if strings.HasPrefix(name, catalog.SeedsDir+"/") {
		return nil, errors.New("a seed is read")
	}
	return t.MapFS.Open(name)
}

func TestTheInventoryIsReadWithoutTheSeeds(t *testing.T) {
	c, err := catalog.Limits{}.LoadInventory(withoutSeeds{fstest.MapFS{
		"repo.yaml":         {Data: []byte("apiVersion: furrow.dev/v1alpha1\nkind: GitOpsRepo\nmetadata: {name: fleet}\nspec: {url: ../fleet.git}\n")},
		"clusters/a.yaml":   {Data: []byte("apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: east}\n")},
		"seeds/web/a.yaml":  {Data: []byte("kind: [")},
		"seeds/shop.yaml":   {Data: []byte("kind: [")},
		"seeds/settings.md": {Data: []byte("no manifest")},
	}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.Repos["fleet"].Spec.URL != "../fleet.git" || len(c.Inventory.Names()) != 1 || len(c.Seeds) != 0 || len(c.Problems) != 0 {
		t.Errorf("repositories %v, clusters %v, seeds %v, problems %v", c.Repos, c.Inventory.Names(), c.Seeds, c.Problems)
	}
}

package catalog_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/core/catalog"
)

// TestAPackageWithAMarkerIsReadWhole: all files of it, by the paths that it has them by.
func TestAPackageWithAMarkerIsReadWhole(t *testing.T) {
	cases := map[string]struct {
		files map[string]string
		// root and want are the package's directory and files, and warnings what is not read.
		root           string
		want, warnings []string
	}{
		"files of any name, hidden ones too": {
			map[string]string{"seeds/web/marker": "", "seeds/web/README": "x", "seeds/web/deep/index.html": "x", "seeds/web/.env": "x", "seeds/web/.git-like/x": "x"},
			"seeds/web", []string{"seeds/web/.env", "seeds/web/README", "seeds/web/deep/index.html", "seeds/web/marker"}, nil,
		},
		"a marker below": {
			map[string]string{"seeds/web/deep/marker": "", "seeds/web/a.txt": "x"},
			"seeds/web", []string{"seeds/web/a.txt", "seeds/web/deep/marker"}, nil,
		},
		"links to files, by their own paths": {
			map[string]string{"seeds/web/marker": "", "shared/a.yaml": "x", "seeds/web/a.yaml": "-> ../../shared/a.yaml", "seeds/web/b.yaml": "-> a.yaml"},
			"seeds/web", []string{"seeds/web/a.yaml", "seeds/web/b.yaml", "seeds/web/marker"}, nil,
		},
		"links to directories are named": {
			map[string]string{"seeds/web/marker": "", "shared/a.yaml": "x", "seeds/web/base": "-> ../../shared"},
			"seeds/web", []string{"seeds/web/marker"},
			[]string{"seeds/web/base: seed \"web\": it is a link to a directory, and those are not followed in a package that is rendered. Name that directory where the link is used."},
		},
		"a package that is a link": {
			map[string]string{"shared/marker": "", "shared/a.txt": "x", "seeds/web": "-> ../shared"},
			"shared", []string{"shared/a.txt", "shared/marker"}, nil,
		},
		"without a marker manifests only": {
			map[string]string{"seeds/web/a.yaml": "x", "seeds/web/index.html": "x"},
			"seeds/web", []string{"seeds/web/a.yaml"}, nil,
		},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			packages, err := catalog.Reading{Markers: []string{"marker"}}.Packages(treeOf(c.files))
			if err != nil {
				t.Fatal(err)
			}
			p := packages.Seeds()[0]
			if diff := cmp.Diff(c.want, slices.Sorted(maps.Keys(p.Files))); diff != "" || p.Root != c.root {
				t.Errorf("root %s, files (-want +got):\n%s", p.Root, diff)
			}
			seed, _ := catalog.Assemble(packages, nil).Seed("web")
			var warnings []string
			for _, w := range seed.Skipped {
				warnings = append(warnings, w.Error())
			}
			if diff := cmp.Diff(c.warnings, warnings); diff != "" || len(seed.Lost) != len(c.warnings) {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

// TestASeedDocumentIsFoundBeforeRendering: a renderer is chosen by it, wherever it is.
func TestASeedDocumentIsFoundBeforeRendering(t *testing.T) {
	const text = "apiVersion: furrow.dev/v1alpha1\nkind: Seed\nmetadata: {name: web}\nspec: {render: {kustomize: {variants: [{overlay: east}]}}}\n"
	for at, files := range map[string]map[string]string{
		"seeds/web/seed.yaml:1":    {"seeds/web/a.yaml": configMapOf("a"), "seeds/web/seed.yaml": text},
		"seeds/web/a.yaml:5":       {"seeds/web/a.yaml": configMapOf("a") + "---\n" + text},
		"seeds/settings.yaml:1":    {"seeds/web/a.yaml": configMapOf("a"), "seeds/settings.yaml": text},
		"seeds/web/deep/x/s.yml:1": {"seeds/web/a.yaml": configMapOf("a"), "seeds/web/deep/x/s.yml": text},
	} {
		packages, err := catalog.Reading{}.Packages(treeOf(files))
		if err != nil {
			t.Fatal(err)
		}
		p := packages.Seeds()[0]
		if r := p.Render(); r == nil || r.Kustomize.Variants[0].Overlay != "east" || p.RenderAt().String() != at {
			t.Errorf("%s: found %v at %s", at, r, p.RenderAt())
		}
	}
}

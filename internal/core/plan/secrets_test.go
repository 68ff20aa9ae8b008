package plan_test

import (
	"errors"
	"testing"
	"testing/fstest"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

func TestOnlySecretsAreFoldedAsSecrets(t *testing.T) {
	secret := func(name string) string {
		return "---\napiVersion: v1\nkind: Secret\nmetadata: {name: " + name + ", namespace: default}\nstringData: {a: b}\n"
	}
	sealed := func(name string) string {
		return "---\napiVersion: bitnami.com/v1alpha1\nkind: SealedSecret\nmetadata: {name: " + name + ", namespace: default}\nspec: {template: {stringData: {a: b}}}\n"
	}
	const cluster = "apiVersion: furrow.dev/v1alpha1\nkind: Cluster\nmetadata: {name: edge}\n"
	for sentence, c := range map[string]struct {
		seed     string
		problems int
	}{
		"Secrets are one problem":                     {secret("a") + secret("b") + secret("c"), 1},
		"each SealedSecret with a plain value is one": {sealed("a") + sealed("b"), 2},
		"beside the Secrets":                          {secret("a") + secret("b") + sealed("c"), 2},
	} {
		t.Run(sentence, func(t *testing.T) {
			o := compute(t, fstest.MapFS{"cluster.yaml": {Data: []byte(cluster)}, "seeds/web.yaml": {Data: []byte(c.seed)}})["web"]
			var problems manifest.Problems
			if !errors.As(o.Err, &problems) || len(problems) != c.problems {
				t.Errorf("got %v, want %d problems", o.Err, c.problems)
			}
		})
	}
}

package manifest_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

func TestAWrappedProblemKeepsItsFields(t *testing.T) {
	inner := manifest.Problem{Reason: v1alpha1.ReasonRepositoryNotFound, Source: manifest.Source{File: "repos/a.yaml", Line: 3}, Object: `GitOpsRepo "a"`, Field: "spec.url", Message: "there is no directory /srv/a", Next: "Correct spec.url"}
	in := func(err error) error { return manifest.About(manifest.Problem{Repo: "a"}, err) }
	for sentence, tc := range map[string]struct {
		err     error
		message string
	}{
		"as it is":             {in(inner), inner.Message},
		"with text before it":  {fmt.Errorf("opening: %w", in(inner)), `opening: repos/a.yaml:3: GitOpsRepo "a": there is no directory /srv/a`},
		"with text around it":  {fmt.Errorf("opening: %w; the rest goes on", in(inner)), `opening: repos/a.yaml:3: GitOpsRepo "a": there is no directory /srv/a. Correct spec.url; the rest goes on`},
		"known after the text": {manifest.About(manifest.Problem{Repo: "a"}, fmt.Errorf("opening: %w", inner)), `opening: repos/a.yaml:3: GitOpsRepo "a": there is no directory /srv/a`},
	} {
		want := inner
		want.Repo, want.Message = "a", tc.message
		got := manifest.AsProblem(tc.err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", sentence, diff)
		}
		if got.Error() != tc.err.Error() {
			t.Errorf("%s: the text is %q, want %q", sentence, got.Error(), tc.err)
		}
	}
}

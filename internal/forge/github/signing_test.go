package github_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/core/merging"
	servers "github.com/furrow-dev/furrow/test/servers/github"
)

func TestARepositorySaysHowPeopleMayMerge(t *testing.T) {
	t.Parallel()
	commit, squash := merging.Way{Name: "merge", Signer: merging.ByForge}, merging.Way{Name: "squash", Signer: merging.ByForge, Squashes: true}
	rebase := merging.Way{Name: "rebase", Signer: merging.ByNobody}
	for name, c := range map[string]struct {
		allow func(*servers.Settings)
		want  []merging.Way
	}{
		"in all ways":    {func(*servers.Settings) {}, []merging.Way{commit, squash, rebase}},
		"by squash only": {func(o *servers.Settings) { o.MergeCommit, o.Rebase = false, false }, []merging.Way{squash}},
		"by rebase only": {func(o *servers.Settings) { o.MergeCommit, o.Squash = false, false }, []merging.Way{rebase}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t)
			f.Configure(fleet, c.allow)
			got, err := f.forge.Merging(t.Context())
			must(t, err)
			if diff := cmp.Diff(merging.Repository{Ways: c.want}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

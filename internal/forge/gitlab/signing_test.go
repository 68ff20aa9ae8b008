package gitlab_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/core/merging"
	"github.com/furrow-dev/furrow/internal/git/signature"
	servers "github.com/furrow-dev/furrow/test/servers/gitlab"
)

func TestAProjectSaysHowPeopleMayMerge(t *testing.T) {
	t.Parallel()
	commit, forward := merging.Way{Name: "merge", Signer: merging.ByForge}, merging.Way{Name: "fast-forward", Signer: merging.ByFurrow, Current: true}
	linear, squash := merging.Way{Name: "rebase-merge", Signer: merging.ByForge}, merging.Way{Name: "squash", Signer: merging.ByForge, Squashes: true}
	for name, c := range map[string]struct {
		method, squash string
		want           []merging.Way
	}{
		"merge commits, and squashes":       {"merge", "default_off", []merging.Way{commit, squash}},
		"merge commits of a linear history": {"rebase_merge", "never", []merging.Way{linear}},
		"fast-forward":                      {"ff", "never", []merging.Way{forward}},
		"fast-forward of squashes":          {"ff", "always", []merging.Way{squash}},
		"fast-forward, better of squashes":  {"ff", "default_on", []merging.Way{squash, forward}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t)
			f.Configure(fleet, func(o *servers.Settings) { o.MergeMethod, o.SquashOption = c.method, c.squash })
			got, err := f.forge.Merging(t.Context())
			must(t, err)
			if diff := cmp.Diff(merging.Repository{Ways: c.want, Keeping: "fast-forward merges"}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAGitLabThatSignsNamesItsKey(t *testing.T) {
	t.Parallel()
	const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJpzzcMA+lO3ZlYMYDhtcqYnPxD5J3WP5NvN0tmDBkLY"
	want, err := signature.Parse(key)
	must(t, err)
	f := newFleet(t)
	f.SignWith(key)
	got, err := f.forge.Merging(t.Context())
	must(t, err)
	if diff := cmp.Diff(want.IDs(), got.Keys); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

package health_test

import (
	"testing"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/health"
	"github.com/furrow-dev/furrow/internal/core/merging"
)

func TestASourceThatVerifiesSignaturesHasToAcceptWhatIsMerged(t *testing.T) {
	const ours, former, theirs = "SHA256:ours", "SHA256:former", "B5690EEEBB952194"
	root := health.Root{
		Known: true, Found: true, Path: "clusters/east", Prune: true, Source: "flux-system/fleet", SourceKind: "GitRepository", SourceFound: true,
		URL: "https://git.example.com/a", Branch: "main", Ready: "True", SourceReady: "True",
	}
	want := health.WantRoot{Cluster: "east", Path: "clusters/east", URL: "https://git.example.com/a", Branch: "main", OwnKeys: []string{ours, former}}
	way := func(name string, by merging.Signer) merging.Way { return merging.Way{Name: name, Signer: by} }
	commit, squash, rebase, forward := way("merge", merging.ByForge), way("squash", merging.ByForge), way("rebase", merging.ByFurrow), way("fast-forward", merging.ByFurrow)
	var plain merging.Repository
	gitHub := merging.Repository{Ways: []merging.Way{commit, squash, way("rebase", merging.ByNobody)}}
	gitea := merging.Repository{Ways: []merging.Way{commit, rebase, squash}, Keeping: "fast-forward-only merges"}
	gitLab := merging.Repository{Ways: []merging.Way{commit, squash}, Keeping: "fast-forward merges"}
	only := func(r merging.Repository, ways ...merging.Way) merging.Repository { r.Ways = ways; return r }
	unsigned := func(r merging.Repository) merging.Repository { r.Unsigned = true; return r }
	signedBy := func(r merging.Repository, key string) merging.Repository { r.Keys = []string{key}; return r }
	cases := map[string]struct {
		forge       merging.Repository
		key         string
		verify      health.Verify
		source      string
		wantUnfit   v1alpha1.Reason
		wantUnknown v1alpha1.Reason
	}{
		"no verification":                                    {forge: plain},
		"plain Git, with our key":                            {plain, ours, health.Verify{Mode: "HEAD", Keys: ours}, "", "", ""},
		"the mode of old":                                    {plain, ours, health.Verify{Mode: "head", Keys: ours}, "", "", ""},
		"plain Git, without our key":                         {plain, ours, health.Verify{Mode: "HEAD", Keys: theirs}, "", v1alpha1.ReasonRootVerification, ""},
		"plain Git, with our former key only":                {plain, ours, health.Verify{Mode: "HEAD", Keys: former}, "", v1alpha1.ReasonRootVerification, ""},
		"plain Git, and nothing is signed":                   {plain, "", health.Verify{Mode: "HEAD", Keys: theirs}, "", v1alpha1.ReasonRootVerification, ""},
		"no keys at all":                                     {gitea, "", health.Verify{Mode: "HEAD"}, "", v1alpha1.ReasonRootVerification, ""},
		"Gitea, with our key":                                {gitea, ours, health.Verify{Mode: "HEAD", Keys: ours}, "", "", ""},
		"Gitea, with the server's key":                       {gitea, "", health.Verify{Mode: "HEAD", Keys: theirs}, "", "", ""},
		"GitLab, by merge commit, with our key only":         {gitLab, ours, health.Verify{Mode: "HEAD", Keys: ours}, "", v1alpha1.ReasonRootVerification, ""},
		"GitLab, by fast-forward, with our key only":         {only(gitLab, forward), ours, health.Verify{Mode: "HEAD", Keys: ours}, "", "", ""},
		"GitLab, by fast-forward of squashes":                {only(gitLab, squash), ours, health.Verify{Mode: "HEAD", Keys: ours}, "", v1alpha1.ReasonRootVerification, ""},
		"Gitea, by squash, with our key only":                {only(gitea, squash), ours, health.Verify{Mode: "HEAD", Keys: ours}, "", v1alpha1.ReasonRootVerification, ""},
		"Gitea that signs nothing, by squash":                {unsigned(only(gitea, squash)), ours, health.Verify{Mode: "HEAD", Keys: ours + " " + theirs}, "", v1alpha1.ReasonRootVerification, ""},
		"Gitea that signs nothing, by any way":               {unsigned(gitea), ours, health.Verify{Mode: "HEAD", Keys: ours}, "", "", ""},
		"Gitea that signs with another key, by squash":       {signedBy(only(gitea, squash), "SHA256:gitea"), ours, health.Verify{Mode: "HEAD", Keys: ours + " " + theirs}, "", v1alpha1.ReasonRootVerification, ""},
		"Gitea that signs with a known key, by squash":       {signedBy(only(gitea, squash), theirs), ours, health.Verify{Mode: "HEAD", Keys: theirs}, "", "", ""},
		"Gitea, by rebase, without our key":                  {only(gitea, rebase), ours, health.Verify{Mode: "HEAD", Keys: theirs}, "", v1alpha1.ReasonRootVerification, ""},
		"GitHub, by rebase":                                  {only(gitHub, gitHub.Ways[2]), ours, health.Verify{Mode: "HEAD", Keys: ours + " " + theirs}, "", v1alpha1.ReasonRootVerification, ""},
		"GitHub, with our key only":                          {gitHub, ours, health.Verify{Mode: "HEAD", Keys: ours + " " + former}, "", v1alpha1.ReasonRootVerification, ""},
		"GitHub, with GitHub's key too":                      {gitHub, ours, health.Verify{Mode: "HEAD", Keys: ours + " " + theirs}, "", "", ""},
		"tags":                                               {plain, ours, health.Verify{Mode: "Tag", Keys: ours}, "", v1alpha1.ReasonRootVerification, ""},
		"tags and commits":                                   {gitLab, ours, health.Verify{Mode: "TagAndHEAD", Keys: ours}, "", v1alpha1.ReasonRootVerification, ""},
		"keys that may not be read":                          {plain, ours, health.Verify{Mode: "HEAD", Unknown: "forbidden"}, "", "", v1alpha1.ReasonRootUnknown},
		"tags, whatever the keys are":                        {plain, ours, health.Verify{Mode: "Tag", Unknown: "forbidden"}, "", v1alpha1.ReasonRootVerification, v1alpha1.ReasonRootUnknown},
		"a person's commit that it refuses until ours comes": {plain, ours, health.Verify{Mode: "HEAD", Keys: ours, Failed: true}, "False", "", ""},
		"another failure":                                    {plain, ours, health.Verify{Mode: "HEAD", Keys: ours}, "False", v1alpha1.ReasonRootSourceFailed, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r, w := root, want
			r.Verify, w.Merging, w.SigningKey = c.verify, c.forge, c.key
			if c.source != "" {
				r.SourceReady, r.Ready, r.Reason = c.source, "False", "ArtifactFailed"
			}
			if got := health.RootUnfit(r, w).Reason; got != c.wantUnfit {
				t.Errorf("unfit: %q, want %q", got, c.wantUnfit)
			}
			if got := health.RootUnknown(r, w).Reason; got != c.wantUnknown {
				t.Errorf("unknown: %q, want %q", got, c.wantUnknown)
			}
		})
	}
}

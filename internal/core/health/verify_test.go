package health_test

import (
	"testing"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/health"
)

func TestASourceThatVerifiesSignaturesHasToAcceptWhatIsMerged(t *testing.T) {
	const ours, former, theirs = "SHA256:ours", "SHA256:former", "B5690EEEBB952194"
	root := health.Root{
		Known: true, Found: true, Path: "clusters/east", Prune: true, Source: "flux-system/fleet", SourceKind: "GitRepository", SourceFound: true,
		URL: "https://git.example.com/a", Branch: "main", Ready: "True", SourceReady: "True",
	}
	want := health.WantRoot{Cluster: "east", Path: "clusters/east", URL: "https://git.example.com/a", Branch: "main", OwnKeys: []string{ours, former}}
	cases := map[string]struct {
		forge       v1alpha1.ForgeType
		key         string
		verify      health.Verify
		source      string
		wantUnfit   v1alpha1.Reason
		wantUnknown v1alpha1.Reason
	}{
		"no verification":                                    {forge: v1alpha1.ForgePlain},
		"plain Git, with our key":                            {v1alpha1.ForgePlain, ours, health.Verify{Mode: "HEAD", Keys: ours}, "", "", ""},
		"the mode of old":                                    {v1alpha1.ForgePlain, ours, health.Verify{Mode: "head", Keys: ours}, "", "", ""},
		"plain Git, without our key":                         {v1alpha1.ForgePlain, ours, health.Verify{Mode: "HEAD", Keys: theirs}, "", v1alpha1.ReasonRootVerification, ""},
		"plain Git, with our former key only":                {v1alpha1.ForgePlain, ours, health.Verify{Mode: "HEAD", Keys: former}, "", v1alpha1.ReasonRootVerification, ""},
		"plain Git, and nothing is signed":                   {v1alpha1.ForgePlain, "", health.Verify{Mode: "HEAD", Keys: theirs}, "", v1alpha1.ReasonRootVerification, ""},
		"no keys at all":                                     {v1alpha1.ForgeGitea, "", health.Verify{Mode: "HEAD"}, "", v1alpha1.ReasonRootVerification, ""},
		"Gitea, with our key":                                {v1alpha1.ForgeGitea, ours, health.Verify{Mode: "HEAD", Keys: ours}, "", "", ""},
		"Gitea, with the server's key":                       {v1alpha1.ForgeGitea, "", health.Verify{Mode: "HEAD", Keys: theirs}, "", "", ""},
		"GitLab, with our key":                               {v1alpha1.ForgeGitLab, ours, health.Verify{Mode: "HEAD", Keys: ours}, "", "", ""},
		"GitHub, with our key only":                          {v1alpha1.ForgeGitHub, ours, health.Verify{Mode: "HEAD", Keys: ours + " " + former}, "", v1alpha1.ReasonRootVerification, ""},
		"GitHub, with GitHub's key too":                      {v1alpha1.ForgeGitHub, ours, health.Verify{Mode: "HEAD", Keys: ours + " " + theirs}, "", "", ""},
		"tags":                                               {v1alpha1.ForgePlain, ours, health.Verify{Mode: "Tag", Keys: ours}, "", v1alpha1.ReasonRootVerification, ""},
		"tags and commits":                                   {v1alpha1.ForgeGitLab, ours, health.Verify{Mode: "TagAndHEAD", Keys: ours}, "", v1alpha1.ReasonRootVerification, ""},
		"keys that may not be read":                          {v1alpha1.ForgePlain, ours, health.Verify{Mode: "HEAD", Unknown: "forbidden"}, "", "", v1alpha1.ReasonRootUnknown},
		"tags, whatever the keys are":                        {v1alpha1.ForgePlain, ours, health.Verify{Mode: "Tag", Unknown: "forbidden"}, "", v1alpha1.ReasonRootVerification, v1alpha1.ReasonRootUnknown},
		"a person's commit that it refuses until ours comes": {v1alpha1.ForgePlain, ours, health.Verify{Mode: "HEAD", Keys: ours, Failed: true}, "False", "", ""},
		"another failure":                                    {v1alpha1.ForgePlain, ours, health.Verify{Mode: "HEAD", Keys: ours}, "False", v1alpha1.ReasonRootSourceFailed, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r, w := root, want
			r.Verify, w.Forge, w.SigningKey = c.verify, c.forge, c.key
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

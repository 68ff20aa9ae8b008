package flux_test

import (
	"testing"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/health"
	"github.com/furrow-dev/furrow/internal/core/manifest"
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
			if got := kind.RootUnfit(r, w).Reason; got != c.wantUnfit {
				t.Errorf("unfit: %q, want %q", got, c.wantUnfit)
			}
			if got := kind.RootUnknown(r, w).Reason; got != c.wantUnknown {
				t.Errorf("unknown: %q, want %q", got, c.wantUnknown)
			}
		})
	}
}

func TestWhatIsReportedOfKeysAndVerification(t *testing.T) {
	const ours, theirs = "SHA256:ours", "B5690EEEBB952194"
	ways := []merging.Way{{Name: "merge", Signer: merging.ByForge}, {Name: "rebase", Signer: merging.ByFurrow}}
	signs, unsigned := merging.Repository{Ways: ways, Keys: []string{theirs}}, merging.Repository{Ways: ways, Unsigned: true}
	nothing := manifest.Problem{}
	refuses := func(next string) manifest.Problem {
		return manifest.Problem{Reason: v1alpha1.ReasonRootRefusesMethod, Next: next}
	}
	unfit := func(next string) manifest.Problem {
		return manifest.Problem{Reason: v1alpha1.ReasonRootVerification, Next: next}
	}
	cases := map[string]struct {
		key   string
		forge merging.Repository
		keys  string // of the Secret; empty where the root verifies nothing
		want  manifest.Problem
	}{
		"no key, the root verifies nothing, the forge signs":                                    {"", signs, "", nothing},
		"no key, the root verifies nothing, the forge signs nothing":                            {"", unsigned, "", nothing},
		"a key, the root verifies nothing, the forge signs":                                     {ours, signs, "", nothing},
		"a key, the root verifies nothing, the forge signs nothing":                             {ours, unsigned, "", nothing},
		"no key, the root verifies by the forge's key, the forge signs":                         {"", signs, theirs, refuses("Do not allow rebase there")},
		"no key, the root verifies by another key, the forge signs":                             {"", signs, "other", unfit("Set spec.signing of the GitOpsRepo, and add its public key to the Secret a/keys; or add the public key that the forge signs with (" + theirs + ") to the Secret a/keys, for merge commit")},
		"no key, the root verifies, the forge signs nothing":                                    {"", unsigned, theirs, unfit("Set spec.signing of the GitOpsRepo, and add its public key to the Secret a/keys; or give the forge a key to sign with, and add its public key to that Secret")},
		"a key, the root verifies by it, the forge signs":                                       {ours, signs, ours, refuses("Do not allow merge commit there")},
		"a key, the root verifies by both, the forge signs":                                     {ours, signs, ours + " " + theirs, nothing},
		"a key, the root verifies by the forge's only, the forge signs":                         {ours, signs, theirs, refuses("Do not allow rebase there")},
		"a key, the root verifies by it, the forge signs nothing":                               {ours, unsigned, ours, refuses("Do not allow merge commit there")},
		"a key, the root verifies by a key that the forge has no more, the forge signs nothing": {ours, unsigned, theirs, unfit("Add Furrow's public key " + ours + " to the Secret a/keys; or give the forge a key to sign with, and add its public key to that Secret")},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := health.Root{Known: true, Found: true, Path: "clusters/east", Prune: true, Source: "flux-system/fleet", SourceKind: "GitRepository", SourceFound: true, Ready: "True", SourceReady: "True"}
			w := health.WantRoot{Cluster: "east", Path: "clusters/east", Repo: "fleet", SigningKey: c.key, OwnKeys: []string{ours}, Merging: c.forge}
			if c.keys != "" {
				r.Verify = health.Verify{Mode: "HEAD", Keys: c.keys, Secret: "a/keys"}
			}
			got := kind.RootUnfit(r, w)
			if accepted, problem := kind.MergeBy(r, w); got.Reason == "" {
				got = problem
			} else if len(accepted) > 0 || problem.Reason != got.Reason {
				t.Errorf("the root is unfit, and merged by %v (%s)", accepted, problem.Reason)
			}
			if got.Reason != c.want.Reason || got.Next != c.want.Next {
				t.Errorf("reported is %s: %s\nwant %s: %s", got.Reason, got.Next, c.want.Reason, c.want.Next)
			}
		})
	}
}

package gitea_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/merging"
	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/internal/git/signature"
	"github.com/furrow-dev/furrow/test/signingkey"
)

// docs/signing.md has a table of this. Gitea signs with a key of its own what somebody merges who has a
// public key there.
func TestWhatMergingDoesToASignature(t *testing.T) {
	t.Parallel()
	ours := signingkey.New(t).Signer
	const byUs, byGitea, byNobody = "Furrow", "Gitea", ""
	cases := map[string]struct {
		method string
		behind bool
		// signed is whose signature the base branch ends with if Gitea signs, and unsigned if it does not.
		signed, unsigned string
	}{
		"a merge commit": {"merge", false, byGitea, byNobody},
		"a squash":       {"squash", false, byGitea, byNobody},
		"a rebase of a branch that is up to date": {"rebase", false, byUs, byUs},
		"a rebase of a branch that is behind":     {"rebase", true, byGitea, byNobody},
		"a merge commit after a rebase":           {"rebase-merge", false, byGitea, byNobody},
		"a fast-forward":                          {"fast-forward-only", false, byUs, byUs},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			public, err := server.SigningKey()
			s.must(err)
			gitea, err := signature.Parse(public)
			s.must(err)
			s.mirror.SetKeys(git.Keys{Signer: ours, Own: signature.Keyring{ours.Key()}, Requesters: gitea})
			names := map[string]string{ours.Key().ID(): byUs, gitea[0].ID(): byGitea}
			for i, person := range []struct {
				token, want string
			}{{s.personWith(""), c.unsigned}, {s.personWith(signingkey.New(t).Public), c.signed}} {
				tier := layout.Tier{Seed: "a", Cluster: "edge-1", Ordinal: i}
				p := s.propose(tier, "w1")
				if c.behind {
					s.commit("main", map[string]string{"notes.md": tier.String()})
				}
				s.await("Gitea merges it", func() bool {
					status, _ := s.askAs(person.token, http.MethodPost, s.pull(p)+"/merge", map[string]any{"Do": c.method}, nil)
					return status/100 == 2
				})
				head := s.refs()["main"]
				who, err := s.mirror.Identify(head)
				s.must(err)
				if got := names[who.Key]; got != person.want || got != byNobody && who.State != signature.Good {
					s.Errorf("Gitea signs: %t; base ends with a signature of %q (%s), want %q", i == 1, got, who.State, person.want)
				}
			}
		})
	}
}

// Gitea signs with the key that it names, and only squashes where it is set so.
func TestARepositorySaysHowPeopleMayMerge(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.do(http.MethodPatch, s.repo(""), map[string]any{
		"has_pull_requests": true, "allow_merge_commits": false, "allow_rebase": true, "allow_rebase_explicit": false, "allow_squash_merge": true,
		"allow_fast_forward_only_merge": true, "default_merge_style": "fast-forward-only",
	}, nil)
	public, err := server.SigningKey()
	s.must(err)
	key, err := signature.Parse(public)
	s.must(err)
	got, err := s.forge.Merging(s.Context())
	s.must(err)
	want := merging.Repository{
		Ways: []merging.Way{
			{Name: "fast-forward", Signer: merging.ByFurrow, Current: true}, {Name: "squash", Signer: merging.ByForge, Squashes: true},
			{Name: "rebase", Signer: merging.ByFurrow, Current: true},
		},
		Keys: key.IDs(), Keeping: "fast-forward-only merges",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		s.Errorf("(-want +got):\n%s", diff)
	}
}

// personWith makes a user who may merge, with a public key if one is given, and returns the user's token.
func (s *site) personWith(key string) (token string) {
	s.Helper()
	name := strings.ToLower(s.name) + "-with-key"
	if key == "" {
		name = strings.ToLower(s.name) + "-without-key"
	}
	token, err := server.CreateUser(s.Context(), name)
	s.must(err)
	s.do(http.MethodPut, s.repo("/collaborators/"+name), map[string]any{"permission": "write"}, nil)
	if key != "" {
		s.must(server.AddPublicKey(s.Context(), name, key))
	}
	return token
}

package cli

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/test/servers/github"
)

// TestWhyARepositoryCannotBeUsedIsShown: by a run, by each command that needs the repository, and by a
// status, which shows what was reported last. Git follows a repository that was renamed, so only the
// forge says so. No message has the token.
func TestWhyARepositoryCannotBeUsedIsShown(t *testing.T) {
	t.Parallel()
	for sentence, tt := range map[string]struct {
		happens func(s *github.Server, token string)
		want    []string
	}{
		"its token was revoked":      {func(s *github.Server, token string) { s.Revoke(token) }, []string{"the server wants valid credentials: check the token"}},
		"the repository was renamed": {func(s *github.Server, _ string) { s.Rename(onGitHub, "ships") }, []string{"was renamed or moved; correct spec.url to ", "/acme/ships"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			s, p := newGitHub(t)
			token := s.Token("furrow", "repo")
			p.write("credentials/acme", map[string]string{"token": token})
			with := func(args string) result {
				return p.furrow(append(strings.Fields(args), "--credentials", p.at("credentials"))...)
			}
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan result, 1)
			go func() {
				ended <- call(ctx, "", "run", "--interval=50ms", "--control-plane", p.at("control-plane"), "--cache", p.at("run"), "--credentials", p.at("credentials"))
			}()
			eventually(t, "it proposes", func() (bool, string) {
				seen := with("status").all()
				return strings.Contains(seen, "Waiting for you: 2 proposals"), seen
			})
			stop()
			<-ended
			makeOld(t, p, strings.Replace(s.GitURL(onGitHub), "://", "://furrow:"+token+"@", 1))

			tt.happens(s, token)
			want := append([]string{`GitOpsRepo "fleet"`}, tt.want...)
			for _, command := range []string{"pr list", "pr show web/east/00", "run --once"} {
				r := with(command)
				mustContain(t, r.all(), want...)
				mustNotContain(t, r.all(), token)
				if r.code == exitOK {
					t.Errorf("%s succeeds", command)
				}
			}
			seen := with("status").all()
			mustContain(t, seen, append(want, `! GitOpsRepo "fleet", which has the status, `, "What follows was reported at ", "Plant web on east, tier 00: ")...)
			mustNotContain(t, seen, token)
		})
	}
}

// makeOld dates the status in a repository back, to before any test.
func makeOld(t *testing.T, p *workspace, url string) {
	t.Helper()
	const status = "furrow/main/status/control-plane/default"
	p.git(".", "clone", "--quiet", "--branch", status, url, "status")
	amend := exec.CommandContext(t.Context(), "git", "commit", "--quiet", "--amend", "--no-edit")
	amend.Dir, amend.Env = p.at("status"), append(os.Environ(), "GIT_COMMITTER_DATE=2025-03-01T12:00:00Z")
	if out, err := amend.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	p.git("status", "push", "--quiet", "--force")
}

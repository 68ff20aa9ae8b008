package cli

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/core/layout"
	forge "github.com/furrow-dev/furrow/internal/forge/github"
	"github.com/furrow-dev/furrow/internal/forge/pull"
	"github.com/furrow-dev/furrow/internal/forge/rest"
	"github.com/furrow-dev/furrow/internal/state"
	"github.com/furrow-dev/furrow/test/servers/github"
)

const onGitHub = "acme/fleet"

// newGitHub makes a workspace whose fleet is on a server that checks every request against GitHub's
// description.
func newGitHub(t *testing.T) (*github.Server, *workspace) {
	t.Helper()
	s := github.Start(t)
	s.AddOrganization("acme")
	for _, login := range []string{"furrow", "other", "ann"} {
		s.AddUser(login)
	}
	s.AddRepo(onGitHub, github.RepoOptions{
		Private: true, Files: map[string]string{"clusters/east/README.md": "the root of east\n", "clusters/west/README.md": "the root of west\n"},
		Roles: map[string]string{"furrow": "push", "other": "push", "ann": "push"},
	})
	s.Protect(onGitHub, "main", &github.Protection{Checks: []string{"furrow/gate"}})
	return s, newWorkspace(t, map[string]string{
		"seeds/web.yaml":   webSeed,
		"gitops-repo.yaml": document("GitOpsRepo", "fleet", "spec: {url: "+s.GitURL(onGitHub)+", forge: GitHub, credentials: acme}"),
	})
}

func TestPeopleDecideOnGitHub(t *testing.T) {
	t.Parallel()
	s, p := newGitHub(t)
	use := func(login, cache string) {
		p.write("credentials/acme", map[string]string{"token": s.Token(login, "repo")})
		p.cache = p.at(cache)
	}
	furrow := func(args ...string) string {
		t.Helper()
		return p.must(append(args, "--credentials", p.at("credentials"))...)
	}
	use("furrow", "cache")

	mustContain(t, furrow("run", "--once"), "web        east tier 00     Proposed", "web        west tier 00     Proposed")
	reader := githubReader(t, s, onGitHub)
	open := reader.open()
	if len(open) != 2 {
		t.Fatalf("open are %+v", open)
	}
	for _, r := range open {
		if state, _ := s.Status(onGitHub, r.Head.String(), "furrow/gate"); state != "success" {
			t.Errorf("the gate of #%d is %q", r.Number, state)
		}
		cluster, _, _ := strings.Cut(strings.TrimPrefix(r.Title, "Plant web on "), ",")
		want := []string{pull.Label, "furrow/cluster/" + cluster, "furrow/plant", "furrow/seed/web"}
		if diff := cmp.Diff(want, r.Labels); diff != "" {
			t.Errorf("labels of #%d %q (-want +got):\n%s", r.Number, r.Title, diff)
		}
	}
	mustContain(t, furrow("pr", "show", "web/east/00"), "To merge    checks: furrow/gate, what these credentials may not see")
	first := open[0]
	mustContain(t, furrow("pr", "list"), "web/east/00  Open", "web/west/00  Open")

	ann := s.As("ann")
	if err := ann.Comment(onGitHub, int(first.Number), "not on Fridays"); err != nil {
		t.Fatal(err)
	}
	if err := ann.Close(onGitHub, int(first.Number)); err != nil {
		t.Fatal(err)
	}
	if err := ann.Merge(onGitHub, int(open[1].Number), "squash"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		mustContain(t, furrow("run", "--once"), "Rejected", "not on Fridays", "Merged")
	}
	use("other", "other-cache")
	mustContain(t, furrow("run", "--once"), "Rejected", "not on Fridays", "Merged")
	if open := reader.open(); len(open) > 0 {
		t.Errorf("open are %+v", open)
	}

	furrow("retry", "web")
	mustContain(t, furrow("run", "--once"), "Proposed", "Merged")
	again := reader.open()
	if len(again) != 1 || again[0].Branch != first.Branch {
		t.Fatalf("open are %+v", again)
	}
	furrow("pr", "merge", "--all")
	mustNotContain(t, furrow("run", "--once"), "Proposed", "Rejected")
	if now := reader.get(again[0].Number); now.State != pull.Merged || now.Merge.String() != s.Branch(onGitHub, "main") {
		t.Errorf("it is %+v", now)
	}
}

// Whoever may push the branch may copy Furrow's message. What a person merges then is shown as what it is.
func TestAForgedProposalThatAPersonMergesIsShown(t *testing.T) {
	t.Parallel()
	s, p := newGitHub(t)
	s.Protect(onGitHub, "main", &github.Protection{})
	p.write("credentials/acme", map[string]string{"token": s.Token("furrow", "repo")})
	furrow := func(args ...string) string {
		t.Helper()
		return p.must(append(args, "--credentials", p.at("credentials"))...)
	}
	furrow("run", "--once")
	open := githubReader(t, s, onGitHub).open()[0]
	url := strings.Replace(s.GitURL(onGitHub), "://", "://ann:"+s.Token("ann", "repo")+"@", 1)
	p.git(".", "clone", "--quiet", "--branch", open.Branch, url, "forged")
	planted := p.git("forged", "ls-files", "planted")
	p.write("forged", map[string]string{planted: "apiVersion: v1\nkind: Namespace\nmetadata: {name: web, labels: {mine: too}}\n"})
	p.git("forged", "commit", "--quiet", "--all", "--amend", "--no-edit", "--reset-author")
	p.git("forged", "push", "--quiet", "--force")
	furrow("run", "--once")
	if err := s.As("ann").Merge(onGitHub, int(open.Number), "squash"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		furrow("run", "--once")
	}
	mustContain(t, furrow("status", "-o", "yaml"), "amended: commit "+p.git("forged", "rev-parse", "--short=7", "HEAD")+" by ", "says that it is Furrow's, and holds something else than planned")
}

func TestADeletedBranchIsListedAsRejected(t *testing.T) {
	t.Parallel()
	s, p := newGitHub(t)
	p.write("credentials/acme", map[string]string{"token": s.Token("furrow", "repo")})
	furrow := func(args ...string) string {
		t.Helper()
		return p.must(append(args, "--credentials", p.at("credentials"))...)
	}
	furrow("run", "--once")
	branch := githubReader(t, s, onGitHub).open()[0].Branch
	url := strings.Replace(s.GitURL(onGitHub), "://", "://ann:"+s.Token("ann", "repo")+"@", 1)
	p.git("work", "push", "--quiet", url, ":"+branch)
	for range 2 {
		mustContain(t, furrow("run", "--once"), "a person rejected it: its branch was deleted")
	}
	name := strings.TrimPrefix(branch, "furrow/main/tier/")
	mustContain(t, furrow("pr", "list"), name+"  Rejected", "its branch was deleted")
	furrow("retry", "web")
	furrow("run", "--once")
	mustNotContain(t, furrow("pr", "list"), "Rejected")
}

func TestAnAppProposesOnGitHub(t *testing.T) {
	t.Parallel()
	s, p := newGitHub(t)
	use := func(slug string, permissions map[string]string) {
		app := s.AddApp(slug, permissions)
		p.write("credentials/acme", map[string]string{
			"githubAppID": fmt.Sprint(app.ID), "githubAppInstallationID": fmt.Sprint(s.Install(app, "acme", onGitHub)),
			"githubAppPrivateKey": string(app.PrivateKey), "githubAppBaseURL": s.URL + "/api/v3",
		})
	}
	use("small", map[string]string{"contents": "write"})
	r := p.furrow("run", "--once", "--credentials", p.at("credentials"))
	if r.code == exitOK {
		t.Error("it ends well without a permission")
	}
	mustContain(t, r.all(), "the token needs the permission pull_requests=read")
	use("furrow", map[string]string{"contents": "write", "pull_requests": "write", "statuses": "write"})
	mustContain(t, p.must("run", "--once", "--credentials", p.at("credentials")), "web        east tier 00     Proposed")
	if open := githubReader(t, s, onGitHub).open(); len(open) != 2 {
		t.Errorf("open are %+v", open)
	}
}

func TestWhatIsGreenOnGitHubIsMerged(t *testing.T) {
	t.Parallel()
	s, p := newGitHub(t)
	s.Protect(onGitHub, "furrow/**", &github.Protection{Ruleset: true, Restricted: true})
	p.commit(map[string]string{"seeds/settings.yaml": document("Seed", "web", "spec: {rollout: {autoMerge: WhenGreen}}")})
	p.write("credentials/acme", map[string]string{"token": s.Token("furrow", "repo")})
	run := func() string { return p.must("run", "--once", "--credentials", p.at("credentials")) }
	run()
	reader := githubReader(t, s, onGitHub)
	open := reader.open()
	if len(open) != 2 {
		t.Fatalf("open are %+v", open)
	}
	for i, conclusion := range []string{"success", "failure"} {
		s.SetCheck(onGitHub, open[i].Head.String(), "ci", conclusion)
	}
	run()
	for i, want := range []pull.State{pull.Merged, pull.Open} {
		if now := reader.get(open[i].Number); now.State != want {
			t.Errorf("#%d is %s, want %s", now.Number, now.State, want)
		}
	}
}

func TestProposalsAreQueuedToMergeOnGitHub(t *testing.T) {
	t.Parallel()
	s, p := newGitHub(t)
	s.Protect(onGitHub, "main", &github.Protection{Ruleset: true, Queue: true})
	p.write("credentials/acme", map[string]string{"token": s.Token("furrow", "repo")})
	furrow := func(args ...string) string {
		t.Helper()
		return p.must(append(args, "--credentials", p.at("credentials"))...)
	}
	furrow("run", "--once")
	mustContain(t, furrow("pr", "show", "web/east/00"), "To merge    the merge queue")
	mustContain(t, furrow("pr", "merge", "--all"), "Queued to merge furrow/main/tier/web/east/00 into main of fleet.")
	mustContain(t, furrow("run", "--once"), "Proposed")
	s.RunQueue(onGitHub)
	s.RunQueue(onGitHub)
	mustNotContain(t, furrow("run", "--once"), "Proposed")
}

func TestNothingIsPushedToGitHubWithoutAccess(t *testing.T) {
	t.Parallel()
	s, p := newGitHub(t)
	s.AddRole(onGitHub, "other", "pull")
	refused := func(token, says string) {
		t.Helper()
		p.write("credentials/acme", map[string]string{"token": token})
		r := p.furrow("run", "--once", "--credentials", p.at("credentials"))
		if r.code == exitOK {
			t.Error("it ends well")
		}
		mustContain(t, r.all(), `GitOpsRepo "fleet": push branches in `, says)
		if pushes := s.Requests()["git git-receive-pack"] + s.Requests()["git receive-pack"]; pushes > 0 {
			t.Errorf("%v", s.Requests())
		}
	}
	refused(s.Token("other", "repo"), "the credentials lack the role Write; give it to the user")
	s.Configure(onGitHub, func(o *github.Settings) { o.Archived = true })
	refused(s.Token("furrow", "repo"), "the repository is archived; unarchive it, or remove its GitOpsRepo")
	s.Configure(onGitHub, func(o *github.Settings) { o.Archived = false })
	mustContain(t, p.must("run", "--once", "--credentials", p.at("credentials")), "web        east tier 00     Proposed")
}

type reader struct {
	*testing.T
	server *forge.Server
}

func githubReader(t *testing.T, s *github.Server, repo string) reader {
	t.Helper()
	source, err := rest.NewSource(rest.Login{Token: s.Token("ann", "repo")}, rest.Bearer, s.GitURL(repo))
	if err != nil {
		t.Fatal(err)
	}
	server, err := forge.New("main", rest.Access{URL: s.GitURL(repo), Source: source})
	if err != nil {
		t.Fatal(err)
	}
	return reader{t, server}
}

func (r reader) open() []pull.Request {
	r.Helper()
	open, err := r.server.Open(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	return open
}

func (r reader) get(number int64) pull.Request {
	r.Helper()
	got, err := r.server.Get(r.Context(), number)
	if err != nil {
		r.Fatal(err)
	}
	return got
}

// A run reports which ways to merge leave a signature that reconcilers accept.
func TestPeopleMergeByTheWayThatReconcilersAccept(t *testing.T) {
	t.Parallel()
	s, p := newGitHub(t)
	p.write("credentials/acme", map[string]string{"token": s.Token("furrow", "repo")})
	furrow := func(args ...string) string {
		t.Helper()
		return p.must(append(args, "--credentials", p.at("credentials"))...)
	}
	furrow("run", "--once")
	url := strings.Replace(s.GitURL(onGitHub), "://", "://furrow:"+s.Token("furrow", "repo")+"@", 1)
	_, branch, _ := strings.Cut(p.git(".", "ls-remote", url, "refs/heads/"+layout.StatusBranch("main", "*")), "refs/heads/")
	p.git(".", "clone", "--quiet", "--branch", branch, url, "status")
	reported, err := os.ReadFile(p.at("status/" + state.File))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		way     string
		parents int
	}{{"squash", 1}, {"merge", 2}} {
		p.write("status", map[string]string{state.File: strings.Replace(string(reported), "repositories:\n- ", "repositories:\n- mergeBy: ["+c.way+"]\n  ", 1)})
		p.git("status", "commit", "--quiet", "--all", "--message=Ways to merge")
		p.git("status", "push", "--quiet")
		open := githubReader(t, s, onGitHub).open()[0]
		furrow("pr", "merge", open.Branch)
		p.git("status", "fetch", "--quiet", "origin", "main")
		if parents := strings.Fields(p.git("status", "show", "-s", "--format=%P", "FETCH_HEAD")); len(parents) != c.parents {
			t.Errorf("%s is merged with the parents %v, want %d as by %s", open.Branch, parents, c.parents, c.way)
		}
	}
}

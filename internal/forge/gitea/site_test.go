package gitea_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/furrow-dev/furrow/internal/backoff"
	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/forge/gitea"
	"github.com/furrow-dev/furrow/internal/forge/pull"
	"github.com/furrow-dev/furrow/internal/forge/rest"
	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/test/gitcmd"
	"github.com/furrow-dev/furrow/test/servers"
)

// One Gitea serves the package's tests; each has a repository of its own.
var (
	server     *servers.Gitea
	serverErr  error
	starting   sync.Once
	serverDir  string
	botToken   string
	repository atomic.Int64
)

// bot is Furrow's user; people act as the administrator.
const bot = "furrow"

func TestMain(m *testing.M) {
	gitcmd.Isolate()
	code := m.Run()
	if server != nil {
		_ = server.Stop()
	}
	if serverDir != "" {
		_ = os.RemoveAll(serverDir)
	}
	os.Exit(code)
}

func start(ctx context.Context) error {
	var err error
	if serverDir, err = os.MkdirTemp("", "furrow-gitea-"); err != nil {
		return err
	}
	if server, err = servers.StartGitea(ctx, servers.GiteaOptions{Dir: serverDir}); err != nil {
		return err
	}
	botToken, err = server.CreateUser(ctx, bot)
	return err
}

// site is a repository on Gitea with a forge on a mirror of it.
type site struct {
	*testing.T
	// name is the repository's, url its URL for Git.
	name, url string
	mirror    *git.Mirror
	forge     forge.Forge
	requests  *counter
	clone     string
	// made is when the engine's next commits are made.
	made time.Time
}

func newSite(t *testing.T) *site {
	t.Helper()
	return newSiteOf(t, true)
}

func newSiteOf(t *testing.T, autoInit bool) *site {
	t.Helper()
	servers.Need(t, servers.GiteaServer)
	starting.Do(func() { serverErr = start(context.Background()) })
	if serverErr != nil {
		t.Fatal(serverErr)
	}
	s := &site{T: t, name: fmt.Sprintf("fleet-%d", repository.Add(1)), requests: &counter{next: http.DefaultTransport}, made: epoch}
	var err error
	s.url, err = server.CreateRepo(t.Context(), bot, s.name, autoInit)
	s.must(err)
	s.mirror = s.newMirror()
	s.forge = s.newForge(s.mirror, botToken)
	return s
}

func (s *site) newMirror() *git.Mirror {
	s.Helper()
	m, err := git.Open(s.Context(), filepath.Join(s.TempDir(), "mirror"), git.Remote{URL: s.url, Token: botToken})
	s.must(err)
	s.Cleanup(func() { _ = m.Close() })
	return m
}

func tokenOf(token string) rest.Source { return sourceOf(rest.Login{Token: token}) }

func sourceOf(l rest.Login) rest.Source {
	source, err := rest.NewSource(l, rest.Token, "the repository")
	if err != nil {
		panic(err)
	}
	return source
}

func (s *site) newForge(m *git.Mirror, token string) forge.Forge {
	s.Helper()
	server, err := gitea.New("main", rest.Access{URL: s.url, Source: tokenOf(token), Transport: s.requests})
	s.must(err)
	return pull.New(server, m, pull.Options{Base: "main"})
}

// newForgeAt is the forge at a time.
func (s *site) newForgeAt(clock backoff.Clock) forge.Forge {
	s.Helper()
	server, err := gitea.New("main", rest.Access{URL: s.url, Source: tokenOf(botToken), Transport: s.requests})
	s.must(err)
	return pull.New(server, s.mirror, pull.Options{Base: "main", Clock: clock})
}

func (s *site) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// counter counts requests, as "METHOD path".
type counter struct {
	next http.RoundTripper
	mu   sync.Mutex
	made []string
	// limit is the page size that the server allows; zero for its own.
	limit int
	// instead can answer instead of the server.
	instead func(*http.Request) *http.Response
	// after can lose or change an answer.
	after func(*http.Request, *http.Response) (*http.Response, error)
}

func (c *counter) RoundTrip(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	c.made = append(c.made, r.Method+" "+r.URL.Path)
	after, instead := c.after, c.instead
	c.mu.Unlock()
	if instead != nil {
		if response := instead(r); response != nil {
			return response, nil
		}
	}
	if query := r.URL.Query(); c.limit > 0 && query.Has("limit") {
		asked, _ := strconv.Atoi(query.Get("limit"))
		query.Set("limit", strconv.Itoa(min(asked, c.limit)))
		r = r.Clone(r.Context())
		r.URL.RawQuery = query.Encode()
	}
	response, err := c.next.RoundTrip(r)
	if err == nil && after != nil {
		return after(r, response)
	}
	return response, err
}

// take gives the requests since the last time.
func (c *counter) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	made := c.made
	c.made = nil
	return made
}

// ask asks Gitea's API as a person, and reads the answer into out, if that is not nil.
func (s *site) ask(method, path string, body, out any) (status int, said string) {
	s.Helper()
	return s.askAs(server.AdminToken, method, path, body, out)
}

func (s *site) askAs(token, method, path string, body, out any) (status int, said string) {
	s.Helper()
	content, err := json.Marshal(body)
	s.must(err)
	request, err := http.NewRequestWithContext(s.Context(), method, server.URL+"/api/v1"+path, bytes.NewReader(content))
	s.must(err)
	request.Header.Set("Authorization", "token "+token)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	s.must(err)
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	s.must(err)
	if out != nil && response.StatusCode/100 == 2 {
		s.must(json.Unmarshal(answer, out))
	}
	return response.StatusCode, string(answer)
}

// do is ask of what must work.
func (s *site) do(method, path string, body, out any) {
	s.Helper()
	if status, said := s.ask(method, path, body, out); status/100 != 2 {
		s.Fatalf("%s %s: %d %s", method, path, status, said)
	}
}

func (s *site) repo(path string) string { return "/repos/" + bot + "/" + s.name + path }

func (s *site) pull(p forge.Proposal) string {
	return s.repo("/pulls/" + p.URL[strings.LastIndexByte(p.URL, '/')+1:])
}

func (s *site) issue(p forge.Proposal) string {
	return strings.Replace(s.pull(p), "/pulls/", "/issues/", 1)
}

// pullRequest has the fields that tests check.
type pullRequest struct {
	Number int64
	State  string
	Title  string
	Body   string
	Merged bool
	Labels []struct{ Name string }
	Base   struct{ Ref string }
}

func (s *site) fetch(p forge.Proposal) pullRequest {
	s.Helper()
	var pr pullRequest
	s.do(http.MethodGet, s.pull(p), nil, &pr)
	return pr
}

func (s *site) all(state string) []pullRequest {
	s.Helper()
	var prs []pullRequest
	s.do(http.MethodGet, s.repo("/pulls?limit=50&state="+state), nil, &prs)
	return prs
}

// await asks again until it is so.
func (s *site) await(what string, so func() bool) {
	s.Helper()
	deadline, cancel := context.WithTimeout(s.Context(), time.Minute)
	defer cancel()
	for !so() {
		step, done := context.WithTimeout(deadline, 50*time.Millisecond)
		<-step.Done()
		done()
		if deadline.Err() != nil {
			s.Fatalf("it never came to be that %s", what)
		}
	}
}

// The engine's part.

var (
	epoch  = time.Unix(1_800_000_000, 0).UTC()
	furrow = git.Person{Name: "Furrow", Email: "furrow@example.com", When: epoch}
	bob    = git.Person{Name: "Bob", Email: "bob@example.com", When: epoch.Add(time.Hour)}
	edge   = layout.Tier{Seed: "a", Cluster: "edge-1"}
	branch = layout.TierBranch("main", edge)
)

func (s *site) refs() git.Refs {
	s.Helper()
	refs, err := s.mirror.Fetch(s.Context(), "main")
	s.must(err)
	return refs
}

func (s *site) push(tier layout.Tier, digest string) forge.Request {
	s.Helper()
	refs, name := s.refs(), layout.TierBranch("main", tier)
	tree, err := s.mirror.WriteTree(map[string][]byte{"object.yaml": []byte(digest)})
	s.must(err)
	r := forge.Request{Branch: name, Carried: forge.Alone(tier, digest), Title: "Plant " + tier.String(), Body: "What " + digest + " brings.\n"}
	message := forge.AddTrailers(r.Title+"\n\n"+r.Body, r.Trailers())
	by := furrow
	by.When = s.made
	g, err := s.mirror.Graft(refs["main"], []git.Edit{{Path: tier.Dir(""), Hash: tree.Hash, Mode: git.ModeDir}}, git.CommitMeta{Author: by, Message: message})
	s.must(err)
	r.Head = g.Commit
	updates := []git.Update{{Ref: name, Old: refs[name], New: g.Commit, Objects: append(g.Objects, tree.Objects...)}}
	records, news, err := s.forge.Record(refs, "furrow", []forge.Request{r}, by)
	s.must(err)
	if news {
		updates = append(updates, records)
	}
	s.must(s.mirror.Push(s.Context(), updates))
	return r
}

func (s *site) propose(tier layout.Tier, digest string) forge.Proposal {
	s.Helper()
	_, err := s.forge.Propose(s.Context(), s.push(tier, digest))
	s.must(err)
	return s.find(tier)
}

func (s *site) list() []forge.Proposal {
	s.Helper()
	list, err := s.forge.List(s.Context(), s.refs())
	s.must(err)
	return list
}

func (s *site) find(tier layout.Tier) forge.Proposal {
	s.Helper()
	list := s.list()
	for _, p := range list {
		if p.Has(tier) {
			return p
		}
	}
	s.Fatalf("the proposal of %s is not listed: %+v", tier, list)
	return forge.Proposal{}
}

func (s *site) wantOutcome(f forge.Forge, digest string, want forge.Outcome) {
	s.Helper()
	c, err := f.Closed(s.Context(), s.refs(), edge, digest)
	s.must(err)
	if c.Outcome != want {
		s.Errorf("the outcome of %s is %s, want %s", digest, c.Outcome, want)
	}
}

// A person's part, in a clone.

func (s *site) git(args ...string) string {
	s.Helper()
	if s.clone == "" {
		s.clone = filepath.Join(s.TempDir(), "clone")
		from := strings.Replace(s.url, "://", "://x:"+server.AdminToken+"@", 1)
		if out, err := exec.Command("git", "clone", "--quiet", from, s.clone).CombinedOutput(); err != nil { // the arguments have a token
			s.Fatalf("git clone: %v\n%s", err, out)
		}
	}
	return gitcmd.Run(s, s.clone, args...)
}

// checkOut makes the clone be at a branch; a new one starts at main.
func (s *site) checkOut(name string) {
	s.Helper()
	s.git("fetch", "--quiet", "--prune")
	from := "origin/" + name
	if s.git("branch", "--remotes", "--list", from) == "" {
		from = "origin/main"
	}
	s.git("checkout", "--quiet", "--force", "--no-track", "-B", "work", from)
}

func (s *site) save(files map[string]string) {
	s.Helper()
	for name, content := range files {
		at := filepath.Join(s.clone, filepath.FromSlash(name))
		if content == "" {
			s.git("rm", "--quiet", name)
			continue
		}
		s.must(os.MkdirAll(filepath.Dir(at), 0o755))
		s.must(os.WriteFile(at, []byte(content), 0o600))
		s.git("add", name)
	}
}

func (s *site) send(name string) {
	s.Helper()
	s.git("push", "--quiet", "--force", "origin", "HEAD:refs/heads/"+name)
}

func (s *site) commit(name string, files map[string]string) {
	s.Helper()
	s.checkOut(name)
	s.save(files)
	s.git("commit", "--quiet", "-m", "Work by hand")
	s.send(name)
}

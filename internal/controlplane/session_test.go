package controlplane

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/forge/rest"
	"github.com/furrow-dev/furrow/test/servers/github"
)

// TestCredentialsGoNowhereElse: the author of a GitOpsRepo chooses its URL, but
// not which secrets are sent there.
func TestCredentialsGoNowhereElse(t *testing.T) {
	const token = "token-of-a-test"
	dir := t.TempDir()
	for name, text := range map[string]string{
		"control-plane/token": token, "team/token": token + "\n", "bound/token": token, "bound/url": "https://git.example.com/team\n",
		"careless/token": token, "careless/url": "https://me:" + token + "@git.example.com/team\n",
	} {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const control = "https://git.example.com/platform/control-plane"
	tests := map[string]struct {
		url, credentials string
		want             string // part of the error; empty when the token goes along
	}{
		"a set without a URL goes nowhere":                            {"https://git.example.com/a", "team", "do not say where they may be sent"},
		"the control plane's set goes to the control plane":           {control, "control-plane", ""},
		"the control plane's set goes nowhere else":                   {"https://evil.example.com/a", "control-plane", "are for the control plane only"},
		"a bound set goes to its own repository, written another way": {"https://Git.Example.com:443/team.git", "bound", ""},
		"a bound set does not go there in plain text":                 {"http://git.example.com/team/a", "bound", "in plain text"},
		"an error says which repository was asked for":                {"https://git.example.com/other", "bound", "and not for https://git.example.com/other"},
		"a bound set goes to what begins with its URL":                {"https://git.example.com/team/a", "bound", ""},
		"a bound set goes nowhere else":                               {"https://evil.example.com/team/a", "bound", "are for https://git.example.com/team only"},
		"a bound set does not go to a name that begins likewise":      {"https://git.example.com/teamster/a", "bound", "only"},
		"a bound set does not go up from there":                       {"https://git.example.com/team/../other/a", "bound", "in different ways"},
		"a bound set does not go up by escapes":                       {"https://git.example.com/team/%252E%252e/other/a", "bound", "in different ways"},
		"a query is refused, and not shown":                           {"https://git.example.com/team/a?private_token=" + token, "bound", "the URL has a query"},
		"the name of a set is not a path":                             {"https://evil.example.com/a", "./control-plane", "is not a valid name of credentials"},
		"the name of a set does not go up":                            {"https://git.example.com/team/a", "../credentials/bound", "is not a valid name of credentials"},
		"a password in a set's URL is not shown":                      {"https://evil.example.com/a", "careless", "only"},
		"a password in a repository's URL is not shown":               {"https://me:" + token + "@git.example.com/a", "control-plane", "the URL has credentials in it"},
		"a set that is not there is named":                            {"https://git.example.com/a", "none", `there are no credentials "none"`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := &Session{options: Options{ControlPlane: control, Credentials: Directory(dir)}}
			remote, err := s.remote(tc.url, tc.credentials)
			switch {
			case tc.want == "" && (err != nil || remote.Token != token):
				t.Errorf("got %v, %v, want the token", remote, err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want) || remote.Token != ""):
				t.Errorf("got %v, want an error with %q and no token", err, tc.want)
			}
			if err != nil && strings.Contains(err.Error(), token) {
				t.Error("the error shows the token")
			}
		})
	}
}

// TestAGitHubAppIsASetOfCredentials: its keys are those of Flux's Secrets.
func TestAGitHubAppIsASetOfCredentials(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	private := string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
	whole := map[string]string{"githubAppID": "12\n", "githubAppInstallationID": "34", "githubAppPrivateKey": private, "token": "unused"}
	with := func(key, value string) map[string]string {
		out := maps.Clone(whole)
		out[key] = value
		return out
	}
	tests := map[string]struct {
		files map[string]string
		want  string // the error; empty where the App is used
	}{
		"an App":                             {whole, ""},
		"an App on a server of one's own":    {with("githubAppBaseURL", "https://git.example.com/api/v3"), ""},
		"an App whose API is in plain text":  {with("githubAppBaseURL", "http://git.example.com/api/v3"), `the credentials "app": githubAppBaseURL sends credentials in plain text: use https, or allow it with --allow-http`},
		"an App with a password in its API":  {with("githubAppBaseURL", "https://me:hunter2@git.example.com"), `the credentials "app": the URL of the API for https://git.example.com/a is not valid: write it as https://host/path`},
		"an App without an installation":     {with("githubAppInstallationID", ""), `the credentials "app": githubAppInstallationID is not a number. Copy the number from the settings of the App or of its installation`},
		"an App without an ID":               {with("githubAppID", ""), `the credentials "app": githubAppID is missing. Copy the number from the settings of the App or of its installation`},
		"an App whose key is something else": {with("githubAppPrivateKey", "hunter2"), `the credentials "app": githubAppPrivateKey is not an RSA key in PEM. Generate a private key in the settings of the App, and use the file as it is`},
	}
	for name, tc := range tests {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "app"), 0o700); err != nil {
			t.Fatal(err)
		}
		for file, text := range tc.files {
			if err := os.WriteFile(filepath.Join(dir, "app", file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s := &Session{options: Options{ControlPlane: "/srv/control-plane", Credentials: Directory(dir)}}
		remote, err := s.remote("https://git.example.com/a", "app")
		_, isApp := remote.Source.(*rest.App)
		switch {
		case tc.want == "" && (err != nil || !isApp || remote.Token != ""):
			t.Errorf("%s: got %v, %v", name, remote.Source, err)
		case tc.want != "" && (err == nil || err.Error() != tc.want || remote.Source != nil):
			t.Errorf("%s: got %v, want %q", name, err, tc.want)
		case tc.want != "" && manifest.ReasonOf(err) == "":
			t.Errorf("%s: the error has no reason", name)
		}
	}
}

// TestAGitHubAppIsUsedForGitAndTheAPI: both use one token.
func TestAGitHubAppIsUsedForGitAndTheAPI(t *testing.T) {
	server := github.Start(t)
	server.AddOrganization("acme")
	server.AddRepo("acme/fleet", github.RepoOptions{Private: true, Files: map[string]string{"README.md": "hi\n"}})
	app := server.AddApp("furrow", map[string]string{"contents": "write", "pull_requests": "write", "statuses": "write"})
	installation := server.Install(app, "acme", "acme/fleet")
	dir := filepath.Join(t.TempDir(), "app")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{"githubAppID": strconv.FormatInt(app.ID, 10), "githubAppInstallationID": strconv.FormatInt(installation, 10), "githubAppPrivateKey": string(app.PrivateKey)} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := &Session{options: Options{Cache: t.TempDir(), ControlPlane: t.TempDir(), Credentials: Directory(filepath.Dir(dir))}, repos: map[string]*Repo{}}
	repo, err := s.openRepo(t.Context(), "fleet", v1alpha1.GitOpsRepoSpec{URL: server.GitURL("acme/fleet"), Forge: v1alpha1.ForgeGitHub, Credentials: "app"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	refs, err := repo.Mirror.Fetch(t.Context(), "main")
	if err != nil || refs["main"].String() != server.Branch("acme/fleet", "main") {
		t.Fatalf("Git: %v, %v", refs, err)
	}
	if list, err := repo.Forge.List(t.Context(), refs); err != nil || len(list) > 0 {
		t.Errorf("the API: %v, %v", list, err)
	}
	if got := server.Requests()["POST /app/installations/{installation_id}/access_tokens"]; got != 1 {
		t.Errorf("there are %d tokens: %v", got, server.Requests())
	}
}

// TestSSHHasTheKeyAndTheAPITheToken: a set for SSH may have a token for the API. The password is the
// passphrase of the key, which goes nowhere.
func TestSSHHasTheKeyAndTheAPITheToken(t *testing.T) {
	const token, passphrase = "token-of-a-test", "open sesame"
	dir := t.TempDir()
	for name, text := range map[string]string{
		"ssh/identity": "a key\n", "ssh/known_hosts": "git.example.com ssh-ed25519 AAAA\n", "ssh/password": passphrase, "ssh/token": token, "ssh/url": "ssh://git.example.com/team",
		"web/identity": "a key", "web/known_hosts": "x", "web/password": passphrase, "web/url": "https://git.example.com/team",
		"half/identity": "a key", "half/url": "ssh://git.example.com/team", "token/token": token, "token/url": "ssh://git.example.com/team",
	} {
		at := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	s := &Session{options: Options{ControlPlane: "https://git.example.com/control-plane", Credentials: Directory(dir)}}
	short, err := s.remote("git@git.example.com:team/a.git", "ssh")
	remote, longErr := s.remote("ssh://git@git.example.com/team/a.git", "ssh")
	if !reflect.DeepEqual(short, remote) || longErr != nil {
		t.Errorf("the short form is %v, and the long one %v, %v", short, remote, longErr)
	}
	if err != nil || string(remote.Identity) != "a key" || string(remote.KnownHosts) != "git.example.com ssh-ed25519 AAAA" || remote.Password != passphrase {
		t.Errorf("for Git: %v, %v", remote, err)
	}
	if api := forAPI(remote); api.URL != "https://git.example.com/team/a" || api.Token != token || api.Password != "" {
		t.Errorf("for the API: %v", api)
	}
	if remote, err = s.remote("https://git.example.com/team/a", "web"); err != nil || remote.Password != "" {
		t.Errorf("by https: %v, %v", remote, err)
	}
	for name, want := range map[string]string{
		"half": `the credentials "half": SSH needs a set of credentials with the files identity and known_hosts`, "token": `the credentials "token": SSH needs`,
		"web": "are for https://git.example.com/team only",
	} {
		if remote, err := s.remote("ssh://git@git.example.com/team/a", name); err == nil || !strings.Contains(err.Error(), want) || remote.Token != "" || manifest.ReasonOf(err) == "" {
			t.Errorf("%s: got %v", name, err)
		}
	}
	for _, url := range []string{"ssh://git@git.example.com/other/a", "git@git.example.com:other/a"} {
		if _, err := s.remote(url, "ssh"); err == nil || !strings.Contains(err.Error(), "are for ssh://git.example.com/team only") {
			t.Errorf("%s is outside the URL of the set: %v", url, err)
		}
	}
}

func TestWhatCannotBeOpenedIsRefusedBeforeAnythingIsSent(t *testing.T) {
	const server = "https://git.example.com/control-plane"
	tests := map[string]struct {
		control string
		spec    v1alpha1.GitOpsRepoSpec
		want    string
	}{
		"credentials without a directory of them":              {server, v1alpha1.GitOpsRepoSpec{URL: "https://git.example.com/a", Credentials: "team"}, "use --credentials"},
		"SSH in its short form without credentials":            {server, v1alpha1.GitOpsRepoSpec{URL: "git@git.example.com:team/a"}, "SSH needs a set of credentials with the files identity and known_hosts"},
		"SSH in its short form with an ambiguous path":         {server, v1alpha1.GitOpsRepoSpec{URL: "git@git.example.com:team/../a"}, "has a path that servers may read in different ways"},
		"a password in the short form of SSH":                  {server, v1alpha1.GitOpsRepoSpec{URL: "git:hunter2@git.example.com:a"}, "servers may read in different ways"},
		"SSH without credentials":                              {server, v1alpha1.GitOpsRepoSpec{URL: "ssh://git@git.example.com/a"}, "SSH needs a set of credentials with the files identity and known_hosts"},
		"a password in a URL of SSH":                           {server, v1alpha1.GitOpsRepoSpec{URL: "ssh://git:hunter2@git.example.com/a"}, "has credentials in it"},
		"a directory for a control plane by SSH":               {"ssh://git@git.example.com/control-plane", v1alpha1.GitOpsRepoSpec{URL: "/srv/git/other.git"}, "/srv/git/other.git is a directory of the machine"},
		"SSH for a control plane on disk":                      {"/srv/control-plane", v1alpha1.GitOpsRepoSpec{URL: "ssh://git@git.example.com/a"}, "SSH needs a set of credentials"},
		"a directory for a control plane on a server":          {server, v1alpha1.GitOpsRepoSpec{URL: "/srv/git/other.git"}, "/srv/git/other.git is a directory of the machine"},
		"a relative directory for a control plane on a server": {server, v1alpha1.GitOpsRepoSpec{URL: "../other.git"}, "../other.git is a directory of the machine"},
		"a file URL for a control plane on a server":           {server, v1alpha1.GitOpsRepoSpec{URL: "file:///srv/git/other.git"}, "is a directory of the machine"},
		"plain HTTP to another machine":                        {server, v1alpha1.GitOpsRepoSpec{URL: "http://git.example.com/a"}, "--allow-http"},
		"plain HTTP for a control plane on disk":               {"/srv/control-plane", v1alpha1.GitOpsRepoSpec{URL: "http://git.example.com/a"}, "--allow-http"},
		"a user in the URL":                                    {"/srv/control-plane", v1alpha1.GitOpsRepoSpec{URL: "https://bot@git.example.com/a"}, "has credentials in it"},
		"a password in the URL":                                {server, v1alpha1.GitOpsRepoSpec{URL: "https://bot:hunter2@git.example.com/a"}, "has credentials in it"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := &Session{options: Options{Cache: t.TempDir(), ControlPlane: tc.control}, repos: map[string]*Repo{}}
			if _, err := s.openRepo(t.Context(), "gitops", tc.spec); err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestEachControlPlaneIsAnOwnerOfItsOwn(t *testing.T) {
	tests := map[string]struct {
		options Options
		want    string
	}{
		"by the repository's name":         {Options{ControlPlane: "https://git.example.com/platform/fleet.git", PlansOf: "main", Environment: "default"}, "fleet/default"},
		"by the directory":                 {Options{ControlPlane: "/srv/fleet", PlansOf: "main", Environment: "default"}, "fleet/default"},
		"with a branch that is not main":   {Options{ControlPlane: "/srv/fleet", PlansOf: "release/1", Environment: "default"}, "fleet-release-1/default"},
		"with the path of the tree":        {Options{ControlPlane: "/srv/fleet", PlansOf: "main", Environment: "default", Path: "./eu/north/"}, "fleet-eu-north/default"},
		"as the user says, whatever it is": {Options{ControlPlane: "/srv/fleet", PlansOf: "dev", Path: "a", ID: "acme", Environment: "prod"}, "acme/prod"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := (&Session{options: tc.options}).givenOwner(); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

// secret is a Secret that somebody named, and that is not there.
type secret struct{}

func (secret) Set(string) (Set, error) {
	return Set{}, fmt.Errorf("there is no Secret: %w", fs.ErrNotExist)
}

func TestAControlPlaneIsPublicOnlyWhereNoCredentialsAreNamed(t *testing.T) {
	for what, tc := range map[string]struct {
		credentials Credentials
		opens       bool
	}{"a directory without the set": {Directory(t.TempDir()), true}, "a Secret that is missing": {secret{}, false}} {
		s, err := Open(t.Context(), Options{ControlPlane: "https://git.example.com/a", Cache: t.TempDir(), Credentials: tc.credentials, RemoteOnly: true})
		if opens := err == nil; opens != tc.opens || !opens && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: got %v", what, err)
		}
		if err == nil {
			if err := s.Close(); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
}

// run runs git in a directory.
func run(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=Ann", "-c", "user.email=ann@example.com"}, args...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func TestEveryCloneOfAControlPlaneHasItsOrigin(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("SKIPPED: git is not installed")
	}
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	files := map[string]string{"gitops-repo.yaml": "apiVersion: furrow.dev/v1alpha1\nkind: GitOpsRepo\nmetadata: {name: fleet}\nspec: {url: ../fleet.git}\n"}
	for _, team := range []string{"one", "two"} {
		if err := os.MkdirAll(at(team), 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(at(team), name), []byte(text+"# of "+team+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		run(t, at(team), "init", "--quiet", "--initial-branch=main")
		run(t, at(team), "add", ".")
		run(t, at(team), "commit", "--quiet", "--message=Declare the fleet")
	}
	run(t, dir, "clone", "--quiet", "one", "a clone")
	run(t, dir, "clone", "--quiet", "--bare", "a clone", "bare.git")
	run(t, dir, "clone", "--quiet", "one", "behind")
	run(t, at("one"), "commit", "--quiet", "--allow-empty", "--message=More")
	run(t, dir, "clone", "--quiet", "one", "of a server")
	run(t, at("of a server"), "remote", "set-url", "origin", "git@git.example.com:acme/platform.git")
	run(t, dir, "clone", "--quiet", "of a server", "of its clone")
	run(t, dir, "clone", "--quiet", "one", "by https")
	run(t, at("by https"), "remote", "set-url", "origin", "https://me@git.example.com/acme/platform")

	if err := os.CopyFS(at("copy/one"), os.DirFS(at("one"))); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(at("copy.git"), os.DirFS(at("one/.git"))); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(at("copy"), os.DirFS(at("one"))); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("one", at("link")); err != nil {
		t.Fatal(err)
	}
	run(t, at("one"), "worktree", "add", "--quiet", at("a work tree"), "--detach")
	run(t, dir, "clone", "--quiet", "one", "moved")
	run(t, at("moved"), "remote", "set-url", "origin", "../link/.git")

	origin := func(name string) string {
		s, err := Open(t.Context(), Options{ControlPlane: at(name), Cache: at("cache"), ID: "acme"})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		is, _, err := s.identity(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return is.Origin
	}
	for _, same := range [][]string{{"one", "a clone", "bare.git", "behind", "link", "a work tree", "moved"}, {"of a server", "of its clone", "by https"}} {
		for _, name := range same[1:] {
			if origin(name) != origin(same[0]) {
				t.Errorf("%q has another origin than %q", name, same[0])
			}
		}
	}
	for name, want := range map[string]string{
		"one": "one/default", "a clone": "one/default", "bare.git": "one/default", "of a server": "platform/default", "of its clone": "platform/default", "by https": "platform/default",
	} {
		s, err := Open(t.Context(), Options{ControlPlane: at(name), Cache: at("cache")})
		if err != nil {
			t.Fatal(err)
		}
		if is, _, err := s.identity(t.Context()); err != nil || is.Owner != want {
			t.Errorf("%q has the owner %s, want %s (%v)", name, is.Owner, want, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]string{}
	for _, name := range []string{"one", "two", "of a server", "copy/one", "copy", "copy.git"} {
		if other, ok := seen[origin(name)]; ok {
			t.Errorf("%q and %q have the same origin", other, name)
		}
		seen[origin(name)] = name
	}
	if got, want := origin("by https"), catalog.Origin("https://git.example.com/acme/platform.git", "main", ""); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestAnOwnerThatIsNotValidIsRefusedAtTheStart(t *testing.T) {
	for _, o := range []Options{{ID: "a b"}, {ID: "../a"}, {ID: "a/b"}, {Environment: "a b/c"}, {Environment: "prod.lock"}} {
		o.ControlPlane, o.Cache = "https://git.example.com/a", t.TempDir()
		if _, err := Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), "is not a valid") {
			t.Errorf("%q, %q: %v", o.ID, o.Environment, err)
		}
	}
}

func TestASimulationWritesOnlyToWhatIsKnownToBeMadeForIt(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("SKIPPED: git is not installed")
	}
	dir := t.TempDir()
	run(t, dir, "init", "--quiet", "--bare", "real.git")
	run(t, dir, "init", "--quiet", "--bare", "broken.git")
	if err := os.WriteFile(filepath.Join(dir, "broken.git", "config"), []byte("[core\n[furrow]\nsimulation = true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := MakeSimulated(t.Context(), filepath.Join(dir, "made.git"), "main", nil); err != nil {
		t.Fatal(err)
	}
	// With this setting, git itself refuses bare repositories.
	t.Setenv("GIT_CONFIG_COUNT", "1")
	t.Setenv("GIT_CONFIG_KEY_0", "safe.bareRepository")
	t.Setenv("GIT_CONFIG_VALUE_0", "explicit")
	s := &Session{options: Options{Simulation: &Simulation{}}}
	for name, want := range map[string]string{"real.git": "was not made for a simulation", "broken.git": "unknown whether", "none.git": "unknown whether", "made.git": ""} {
		err := s.checkSimulation(filepath.Join(dir, name))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
	}
}

func TestARepositoryMayBeNamedByAFileURL(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "my fleet.git")
	if err := exec.Command("git", "init", "--quiet", "--bare", dir).Run(); err != nil {
		t.Skipf("SKIPPED: git is not installed: %v", err)
	}
	for _, scheme := range []string{"file://", "FILE://"} {
		spec := v1alpha1.GitOpsRepoSpec{URL: scheme + strings.ReplaceAll(dir, " ", "%20")}
		if faults, err := CheckRepo(Options{ControlPlane: "/srv/control-plane"}, spec); err != nil || len(faults) > 0 {
			t.Errorf("%s: %v, %v", spec.URL, faults, err)
		}
	}
}

func TestADirectoryThatMayNotBeReadIsNotSaidToBeNoRepository(t *testing.T) {
	for sentence, tc := range map[string]struct {
		dir, inside error
		want        v1alpha1.Reason
	}{
		"a repository":                   {nil, nil, ""},
		"an empty directory":             {nil, fs.ErrNotExist, v1alpha1.ReasonRepositoryNotFound},
		"no directory":                   {fs.ErrNotExist, fs.ErrNotExist, v1alpha1.ReasonRepositoryNotFound},
		"a directory of another user":    {nil, fs.ErrPermission, v1alpha1.ReasonCredentialsRefused},
		"below one of another user":      {fs.ErrPermission, fs.ErrPermission, v1alpha1.ReasonCredentialsRefused},
		"a disk that fails":              {syscall.EIO, syscall.EIO, v1alpha1.ReasonRepositoryFailed},
		"a disk that fails when entered": {nil, syscall.EIO, v1alpha1.ReasonRepositoryFailed},
	} {
		err := directoryFault("/srv/fleet", "spec.url", "git init --bare", func(name string) error {
			if name == "/srv/fleet" {
				return tc.dir
			}
			return tc.inside
		})
		if got := manifest.ReasonOf(err); got != tc.want || err != nil && manifest.ProblemOf(err).Next == "" {
			t.Errorf("%s: %s: %v", sentence, got, err)
		}
	}
}

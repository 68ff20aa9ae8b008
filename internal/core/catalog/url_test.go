package catalog_test

import (
	"net/url"
	"path"
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/internal/core/catalog"
)

func TestOneRepositoryHasOneCanonicalURL(t *testing.T) {
	for want, urls := range map[string][]string{
		"https://git.example.com/org/repo": {
			"https://git.example.com/org/repo", "https://git.example.com/org/repo.git", "https://git.example.com/org/repo/", "HTTPS://Git.Example.com/org/repo.git/", "https://git.example.com//org///repo.git//",
			"https://somebody@git.example.com/org/repo", "https://a:b@git.example.com:443/org/repo?x=y#z",
		},
		"https://git.example.com:8443/org/repo": {"https://git.example.com:8443/org/repo.git"},
		"https://git.example.com/org/Repo":      {"https://git.example.com/org/Repo"},
		"http://git.example.com/org/repo":       {"http://git.example.com:80/org/repo.git"},
		"http://[::1]:3000/org/repo":            {"http://[::1]:3000/org/repo.git"},
		"ssh://git.example.com/org/repo":        {"git@git.example.com:org/repo.git", "git@git.example.com:/org/repo", "ssh://git@git.example.com/org/repo.git", "ssh://git@git.example.com:22/org/repo"},
		"/srv/git/fleet":                        {"/srv/git/fleet", "/srv/git/fleet.git", "/srv/git/../git/fleet.git/", "file:///srv/git/fleet.git"},
		"../fleet":                              {"../fleet.git", "../fleet"},
		"":                                      {""},
	} {
		for _, url := range urls {
			if got := catalog.CanonicalURL(url); got != want {
				t.Errorf("%s: got %s, want %s", url, got, want)
			}
		}
	}
}

func TestAllClonesOfARepositoryHaveOneOrigin(t *testing.T) {
	want := catalog.Origin("https://git.example.com/org/control-plane", "main", "")
	for _, url := range []string{
		"https://git.example.com/org/control-plane.git", "http://git.example.com/org/control-plane", "git@git.example.com:org/control-plane.git",
		"ssh://git@git.example.com:2222/org/control-plane.git", "https://me:secret@git.example.com/org/control-plane/",
	} {
		if got := catalog.Origin(url, "main", "./"); got != want {
			t.Errorf("%s has another origin", url)
		}
	}
	for what, got := range map[string]string{
		"another team's repository": catalog.Origin("https://git.example.com/other/control-plane", "main", ""),
		"another server":            catalog.Origin("https://git.example.org/org/control-plane", "main", ""),
		"another port":              catalog.Origin("https://git.example.com:3000/org/control-plane", "main", ""),
		"another branch":            catalog.Origin("https://git.example.com/org/control-plane", "next", ""),
		"another directory":         catalog.Origin("https://git.example.com/org/control-plane", "main", "eu"),
	} {
		if got == want {
			t.Errorf("%s has the same origin", what)
		}
	}
}

func TestPlainHTTPIsAnotherMachine(t *testing.T) {
	for url, want := range map[string]bool{
		"http://git.example.com/a": true, "HTTP://git.example.com/a": true, "http://10.0.0.1/a": true, "http://localhost.example.com/a": true, "http://127.0.0.1.example.com/a": true,
		"http://localhost:3000/a": false, "http://127.0.0.1:3000/a": false, "http://127.8.8.8/a": false, "http://[::1]:3000/a": false, "https://git.example.com/a": false, "/srv/git/a": false,
	} {
		if got := catalog.IsPlainHTTP(url); got != want {
			t.Errorf("%s: got %v", url, got)
		}
	}
}

func TestTheShortFormOfSSHHasALongOne(t *testing.T) {
	for short, want := range map[string]string{
		"git@git.example.com:team/fleet.git":  "ssh://git@git.example.com/team/fleet.git",
		"git@git.example.com:/team/fleet":     "ssh://git@git.example.com/team/fleet",
		"git.example.com:team/fleet":          "ssh://git.example.com/team/fleet",
		"git@git.example.com:2222/team/fleet": "ssh://git@git.example.com/2222/team/fleet",
		"ssh://git@git.example.com/team/a":    "ssh://git@git.example.com/team/a",
		"https://git.example.com/team/a":      "https://git.example.com/team/a",
		"/srv/git/fleet.git":                  "/srv/git/fleet.git",
		`C:\fleet.git`:                        `C:\fleet.git`,
		"./a:b":                               "./a:b",
		"":                                    "",
	} {
		if got := catalog.LongURL(short); got != want {
			t.Errorf("%q: got %q, want %q", short, got, want)
		}
	}
}

func TestFormsOfURLs(t *testing.T) {
	for url, want := range map[string]string{
		"https://git.example.com/a/b.git":  "",
		"http://127.0.0.1:3000/a":          "",
		"HTTPS://git.example.com:8443/a/b": "",
		"ssh://git@git.example.com/a":      "",
		"git@git.example.com:a/b":          "",
		"https://git.example.com/a//b":     "has a path that servers may read in different ways, with something else than letters, digits, '.', '_', '~', '+', '-' and '%20', or with nothing, '.' or '..' between slashes",
		"git@git.example.com:a/../b":       "has a path that servers may read in different ways, with something else than letters, digits, '.', '_', '~', '+', '-' and '%20', or with nothing, '.' or '..' between slashes",
		"git@git.example.com:a b":          "has a space or a control character in it",
		"git@git.example.com:a?b":          "has a query or a fragment",
		"ssh://git.example.com:2222/a/b":   "",
		"ssh://git@git.example.com":        "has no path",
		"ssh:///a":                         "has no host",
		"ssh://git@git.example.com/a?b":    "has a query or a fragment",
		"file:///srv/fleet.git":            "",
		"file://":                          "has no host and no path",
		"../a directory/fleet.git":         "",
		`C:\fleet.git`:                     "",
		"https:///x":                       "has no host",
		"https://:8443/x":                  "has no host",
		"https://":                         "has no host and no path",
		"https://git.example.com":          "has no path",
		"https://git.example.com//":        "has no path",
		"https://git.example.com/a b.git":  "has a space or a control character in it",
		"https://git.example.com/a\n":      "has a space or a control character in it",
		"https://git.example.com:port/a":   "is not a valid URL",
		"https://git.example.com/%zz":      "is not a valid URL",
		"https://[::1/a":                   "is not a valid URL",
		"https:/git.example.com/a":         "needs two slashes after the scheme",
		"ftp://git.example.com/a":          "has a scheme that is not supported",
		"git://git.example.com/a":          "has a scheme that is not supported",
		"://git.example.com/a":             "is not a valid URL",
	} {
		if got := catalog.URLFault(url); got != want {
			t.Errorf("%q: got %q, want %q", url, got, want)
		}
	}
}

// hostilePaths are what may be read otherwise by a proxy, or by the server behind it, than by Furrow.
var hostilePaths = []string{
	"../team-b/repo", "./repo", "..", "%2e%2e/team-b", "%252e%252e/team-b", ".%252e/team-b", "%25252e%25252e/team-b", "%252e%252e%252fteam-b", "..;/team-b", "..;a=b/team-b",
	"..%23/team-b", "%5c..%5cteam-b", `\..\team-b`, "x%2f..%2f..%2fteam-b", "..%00/team-b", "..%20/team-b", "...", ".%20./team-b", "%", "%zz", "\u2025/team-b", "%e2%80%a5/team-b",
	"%c0%ae%c0%ae/team-b", "%u002e%u002e/team-b", "repo?a=../../team-b", "repo?", "repo#", "repo#/../../team-b", "a\nb", "a b", "..\t/team-b",
}

func TestAURLThatServersReadInDifferentWaysIsRefused(t *testing.T) {
	for _, path := range hostilePaths {
		for _, url := range []string{"https://git.example.com/team-a/" + path, "HTTP://git.example.com/team-a/repo/" + path, "ssh://git@git.example.com/team-a/" + path, "git@git.example.com:team-a/" + path} {
			if catalog.URLFault(url) == "" {
				t.Errorf("%q passes", url)
			}
		}
	}
	for _, url := range []string{"https://git.example.com:8443/a/b.git/", "https://[::1]:3000/~ann/c++/_git/a-b.c", "https://git.example.com/acme/Our%20Fleet/_git/fleet"} {
		if fault := catalog.URLFault(url); fault != "" {
			t.Errorf("%s %s", url, fault)
		}
	}
}

func TestNoURLLeadsOutOfItsBound(t *testing.T) {
	const bound = "https://git.example.com/team-a"
	for _, path := range hostilePaths {
		if catalog.WithinURL(bound+"/"+path, bound) {
			t.Errorf("%q is within", path)
		}
	}
	for url, want := range map[string]bool{
		bound: true, bound + ".git": true, bound + "/repo": true, "https://Git.Example.com:443/team-a/repo.git": true, bound + "/our%20repo": true,
		"https://git.example.com/team-ab": false, "http://git.example.com/team-a/repo": false, "https://git.example.com:8443/team-a/repo": false,
		`https://git.example.com\@evil.example.com/team-a/repo`: false, "https://git.example.com@evil.example.com/team-a": false,
	} {
		if got := catalog.WithinURL(url, bound); got != want {
			t.Errorf("%s: got %v", url, got)
		}
	}
}

// FuzzNoURLLeadsOutOfItsBound: whatever is decoded, and how often, leads nowhere else.
func FuzzNoURLLeadsOutOfItsBound(f *testing.F) {
	for _, path := range hostilePaths {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, rest string) {
		if !catalog.WithinURL("https://git.example.com/team-a/"+rest, "https://git.example.com/team-a") {
			return
		}
		for range 8 {
			if at := path.Clean("/team-a/" + strings.NewReplacer(`\`, "/", ";", "/", "?", "/", "#", "/").Replace(rest)); at != "/team-a" && !strings.HasPrefix(at, "/team-a/") {
				t.Fatalf("%q leads to %s", rest, at)
			}
			decoded, err := url.PathUnescape(rest)
			if err != nil {
				t.Fatalf("%q cannot be decoded: %v", rest, err)
			}
			rest = decoded
		}
	})
}

func TestLocalDir(t *testing.T) {
	for url, want := range map[string]string{
		"/srv/fleet.git": "/srv/fleet.git", "../fleet.git": "../fleet.git",
		"file:///srv/my%20fleet.git": "/srv/my fleet.git", "FILE:///srv/fleet.git": "/srv/fleet.git",
		"https://git.example.com/fleet": "", "git@git.example.com:team/fleet": "",
		"file://": "", "file://other/fleet": "", "file:///fleet?a=b": "",
	} {
		if got, local := catalog.LocalDir(url); got != want || local != (want != "") {
			t.Errorf("%s: %q, %t; want %q", url, got, local, want)
		}
	}
}

func TestSameRepository(t *testing.T) {
	tests := map[string]struct {
		a, b string
		want bool
	}{
		"equal":                             {"https://git.example/org/fleet", "https://git.example/org/fleet", true},
		"with and without .git":             {"https://git.example/org/fleet.git", "https://git.example/org/fleet", true},
		"with a slash at the end":           {"https://git.example/org/fleet.git/", "https://git.example/org/fleet", true},
		"https and ssh":                     {"https://git.example/org/fleet", "ssh://git@git.example/org/fleet", true},
		"https and the form of scp":         {"https://git.example/org/fleet", "git@git.example:org/fleet.git", true},
		"a port":                            {"ssh://git@git.example:2222/org/fleet", "https://git.example:8443/org/fleet", true},
		"a user and a token":                {"https://robot:token@git.example/org/fleet", "https://git.example/org/fleet", true},
		"capitals":                          {"https://git.example/Org/Fleet", "https://git.example/org/fleet", true},
		"another name of the host":          {"http://gitea.svc:3000/org/fleet", "https://git.example/org/fleet", true},
		"groups in groups":                  {"https://git.example/a/b/fleet", "git@git.example:a/b/fleet.git", true},
		"groups in groups, another host":    {"https://git.example/a/b/fleet", "http://gitlab.svc/a/b/fleet.git", true},
		"a directory and a URL":             {"/srv/git/fleet.git", "https://git.example/org/fleet", true},
		"a directory and a relative one":    {"/srv/git/fleet", "../remotes/fleet.git", true},
		"one directory":                     {"file:///srv/git/fleet.git", "/srv/git/fleet", true},
		"two directories":                   {"file:///srv/git/fleet.git", "/home/me/fleet", false},
		"another repository":                {"https://git.example/org/fleet", "https://git.example/org/seeds", false},
		"another owner":                     {"https://git.example/org/fleet", "https://git.example/team/fleet", false},
		"another owner in the form of scp":  {"https://git.example/org/fleet", "git@git.example:team/fleet", false},
		"another group above the owner":     {"https://git.example/a/infra/fleet", "https://git.example/b/infra/fleet", false},
		"the same by another protocol":      {"https://git.example/a/infra/fleet", "git@git.example:b/infra/fleet.git", false},
		"the same by another host":          {"https://git.example/a/infra/fleet", "http://gitlab.svc/b/infra/fleet", false},
		"a group more":                      {"https://git.example/a/infra/fleet", "https://git.example/infra/fleet", false},
		"a group more, by another host":     {"https://git.example/a/infra/fleet", "http://gitlab.svc/infra/fleet", false},
		"a server below a path":             {"https://example.com/git/org/fleet", "ssh://git@example.com/org/fleet", false},
		"a repository that only ends alike": {"https://git.example/org/my-fleet", "https://git.example/org/fleet", false},
		"another directory":                 {"/srv/git/fleet", "/srv/git/seeds", false},
		"nothing":                           {"", "https://git.example/org/fleet", false},
		"nothing twice":                     {"", "", false},
		"a host alone":                      {"https://git.example", "https://git.example/org/fleet", false},
		"two hosts alone":                   {"https://git.example", "https://git.example", false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := catalog.SameRepository(tc.a, tc.b); got != tc.want {
				t.Errorf("got %v", got)
			}
			if got := catalog.SameRepository(tc.b, tc.a); got != tc.want {
				t.Errorf("in reverse: got %v", got)
			}
		})
	}
}

func TestTheAPIOfARepositoryBySSHIsOnTheSameHost(t *testing.T) {
	for url, want := range map[string]string{
		"ssh://git@ssh.github.com:443/acme/fleet.git":    "https://github.com/acme/fleet",
		"ssh://git@altssh.gitlab.com:443/acme/fleet.git": "https://gitlab.com/acme/fleet",
		"ssh://git@git.example.com/acme/fleet.git":       "https://git.example.com/acme/fleet",
		"ssh://Git.Example.com:2222/acme/fleet":          "https://git.example.com/acme/fleet",
		"git@git.example.com:acme/fleet.git":             "https://git.example.com/acme/fleet",
		"https://git.example.com:8443/acme/fleet.git":    "https://git.example.com:8443/acme/fleet.git",
		"/srv/fleet.git": "/srv/fleet.git",
	} {
		if got := catalog.WebURL(url); got != want {
			t.Errorf("%s: got %s, want %s", url, got, want)
		}
	}
}

func TestCredentialsInURLs(t *testing.T) {
	for url, want := range map[string]bool{
		"https://git.example.com/a": false, "https://bot@git.example.com/a": true, "https://bot:p@git.example.com/a": true, "https://git.example.com/a@b": false,
		"ssh://git.example.com/a": false, "ssh://git@git.example.com/a": false, "ssh://git:p@git.example.com/a": true, "ssh://git%3ap@git.example.com/a": true,
	} {
		if got := catalog.HasCredentials(url); got != want {
			t.Errorf("%s: got %v", url, got)
		}
	}
}

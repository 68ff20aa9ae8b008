package health

import (
	"strings"
	"testing"
)

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
		"a server below a path":             {"https://example.com/git/org/fleet", "ssh://git@example.com/org/fleet", true},
		"groups in groups":                  {"https://git.example/a/b/fleet", "git@git.example:a/b/fleet.git", true},
		"a directory and a URL":             {"/srv/git/fleet.git", "https://git.example/org/fleet", true},
		"two directories":                   {"/srv/git/fleet", "../remotes/fleet.git", true},
		"a directory written as a URL":      {"file:///srv/git/fleet.git", "/home/me/fleet", true},
		"another repository":                {"https://git.example/org/fleet", "https://git.example/org/seeds", false},
		"another owner":                     {"https://git.example/org/fleet", "https://git.example/team/fleet", false},
		"another owner in the form of scp":  {"https://git.example/org/fleet", "git@git.example:team/fleet", false},
		"a repository that only ends alike": {"https://git.example/org/my-fleet", "https://git.example/org/fleet", false},
		"another directory":                 {"/srv/git/fleet", "/srv/git/seeds", false},
		"nothing":                           {"", "https://git.example/org/fleet", false},
		"a host alone":                      {"https://git.example", "https://git.example/org/fleet", false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := sameRepository(tc.a, tc.b); got != tc.want {
				t.Errorf("got %v", got)
			}
			if got := sameRepository(tc.b, tc.a); got != tc.want {
				t.Errorf("the other way round: got %v", got)
			}
		})
	}
}

func TestWithoutUser(t *testing.T) {
	tests := map[string]struct{ url, want string }{
		"none":                          {"https://git.example/org/fleet.git", "https://git.example/org/fleet.git"},
		"a user":                        {"ssh://git@git.example:22/org/fleet", "ssh://git.example:22/org/fleet"},
		"a token":                       {"https://s3cret@git.example/org/fleet", "https://git.example/org/fleet"},
		"a user and a token":            {"https://robot:s3cret@git.example:8443/org/fleet", "https://git.example:8443/org/fleet"},
		"a token with an at sign":       {"https://robot:s3@cret@git.example/org", "https://git.example/org"},
		"a token with a slash":          {"https://robot:s3cret/more@git.example/org", "https://…"},
		"a token that is escaped wrong": {"https://robot:s3cret%zz@git.example/org", "https://…"},
		"a token in the query":          {"https://git.example/org/fleet?access_token=s3cret", "https://git.example/org/fleet"},
		"a host alone":                  {"https://s3cret@git.example", "https://git.example"},
		"the form of scp":               {"git@git.example:org/fleet", "git.example:org/fleet"},
		"the form of scp with a token":  {"robot:s3cret@git.example:org/fleet", "git.example:org/fleet"},
		"a directory":                   {"/srv/git/a@b/fleet", "/srv/git/a@b/fleet"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := withoutUser(tc.url)
			if got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
			if strings.Contains(got, "s3") || strings.Contains(got, "cret") {
				t.Errorf("a secret is shown: %s", got)
			}
		})
	}
}

package redact_test

import (
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/internal/core/redact"
)

func TestURLsAreShownWithoutSecrets(t *testing.T) {
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
		"another scheme":                {"oci://registry/x", "oci://registry/x"},
		"a directory":                   {"/srv/git/a@b/fleet", "/srv/git/a@b/fleet"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := redact.URL(tc.url)
			if got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
			if strings.Contains(got, "s3") || strings.Contains(got, "cret") {
				t.Errorf("a secret is shown: %s", got)
			}
		})
	}
}

func TestTextsAreShownWithoutSecrets(t *testing.T) {
	secrets := redact.Password("robot", "s3cret/ with space")
	for name, tc := range map[string]struct{ text, want string }{
		"nothing":             {"no such host", "no such host"},
		"as it is":            {"bad token s3cret/ with space!", "bad token REDACTED!"},
		"escaped in a path":   {"GET /s3cret%2F%20with%20space", "GET /REDACTED"},
		"escaped in a query":  {"GET /?t=s3cret%2F+with+space", "GET /?t=REDACTED"},
		"as a header has it":  {"Authorization: Basic cm9ib3Q6czNjcmV0LyB3aXRoIHNwYWNl", "Authorization: Basic REDACTED"},
		"as a URL has a user": {"https://robot:s3cret%2F%20with%20space@host/x", "https://REDACTED@host/x"},
	} {
		if got := secrets.In(tc.text); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
	if got := redact.Password("robot", "").In("robot"); got != "robot" {
		t.Errorf("without a password: got %q", got)
	}
	if got := redact.URLsIn("cannot clone https://user:secret@forge/x.git"); got != "cannot clone https://forge/x.git" {
		t.Errorf("got %q", got)
	}
}

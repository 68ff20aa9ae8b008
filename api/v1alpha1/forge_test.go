package v1alpha1

import "testing"

func TestTheForgeIsThatOfTheHost(t *testing.T) {
	cases := []struct {
		url   string
		given ForgeType
		want  ForgeType
	}{
		{"https://github.com/acme/fleet", "", ForgeGitHub},
		{"https://x:y@GitHub.com:443/acme/fleet.git", "", ForgeGitHub},
		{"ssh://git@github.com/acme/fleet", "", ForgeGitHub},
		{"https://gitlab.com/acme/group/fleet.git", "", ForgeGitLab},
		{"ssh://git@ssh.github.com:443/acme/fleet.git", "", ForgeGitHub},
		{"ssh://git@altssh.gitlab.com:443/acme/fleet.git", "", ForgeGitLab},
		{"git@github.com:acme/fleet.git", "", ForgeGitHub},
		{"https://github.com/acme/fleet", ForgePlain, ForgePlain},
		{"https://github.com.example.com/acme/fleet", "", ForgePlain},
		{"https://git.example.com/github.com/fleet", "", ForgePlain},
		{"https://git.example.com/acme/fleet", ForgeGitHub, ForgeGitHub},
		{"/srv/github.com/fleet.git", "", ForgePlain},
		{"", "", ForgePlain},
	}
	for _, c := range cases {
		if got := (GitOpsRepoSpec{URL: c.url, Forge: c.given}).ForgeOrDefault(); got != c.want {
			t.Errorf("the forge of %q, given %q, is %s, want %s", c.url, c.given, got, c.want)
		}
	}
}

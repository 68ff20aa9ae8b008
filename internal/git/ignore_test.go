package git_test

import (
	"testing"

	"github.com/furrow-dev/furrow/internal/git"
)

func TestIgnore(t *testing.T) {
	const file = "planted/edge/web/tier-00/secret.db.yaml"
	tests := map[string]struct {
		lines string
		want  bool
	}{
		"nothing":                      {"", false},
		"comments and empty lines":     {"# planted\n\n", false},
		"other files":                  {"*.md\n/docs/\n", false},
		"a directory above":            {"/planted/\n", true},
		"a pattern of names":           {"*.md\nsecret.*.yaml", true},
		"everything but what is named": {"/*\n!/clusters\n", true},
		"and it is named":              {"/*\n!/clusters\n!/planted\n", false},
		"the same name elsewhere":      {"/clusters/**/secret.db.yaml\n", false},
		"lines that end with \\r\\n":   {"/planted/\r\n", true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := git.ParseIgnore(tc.lines).LeavesOut(file); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
	if git.ParseIgnore("/planted/", "!/planted/edge").LeavesOut(file) {
		t.Error("what comes later does not count more")
	}
}

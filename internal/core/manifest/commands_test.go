package manifest_test

import (
	"testing"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

func TestCommandsOfThePlugin(t *testing.T) {
	for text, want := range map[string]string{
		"run 'furrow retry web' or `furrow confirm web`": "run 'kubectl furrow retry web' or `kubectl furrow confirm web`",
		"run 'kubectl furrow retry web'":                 "run 'kubectl furrow retry web'",
		"a furrow is not a command, nor is 'furrow'":     "a furrow is not a command, nor is 'furrow'",
	} {
		if got := manifest.PluginCommands(text); got != want {
			t.Errorf("PluginCommands(%q) = %q, want %q", text, got, want)
		}
	}
}

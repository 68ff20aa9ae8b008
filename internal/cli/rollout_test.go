package cli

import (
	"strings"
	"testing"
)

func TestARolloutIsPausedResumedAndSkipped(t *testing.T) {
	t.Parallel()
	seed := strings.TrimSuffix(webSeed, "\n") + "\n---\n" + document("Seed", "web", "spec: {rollout: {waves: [{name: canary, clusterSelector: {matchLabels: {stage: canary}}}, {name: fleet}]}}")
	p := newWorkspace(t, map[string]string{
		"seeds/web.yaml": seed,
		"clusters.yaml":  strings.Replace(document("Cluster", "east", "spec: {}"), "name: east", "name: east, labels: {stage: canary}", 1) + "---\n" + document("Cluster", "west", "spec: {}"),
	})
	p.pass()
	mustContain(t, p.must("status"), "wave canary: Progressing, 0 of 1 cluster done", "wave fleet: Waiting, 0 of 1 cluster done", "waits for wave \"canary\"")
	mustContain(t, p.must("rollout", "pause", "web", "--by", "Ada", "--reason", "inventory"), "the rollout of seed web is paused.")
	mustContain(t, p.must("rollout", "pause", "web"), "Nothing to do")
	p.pass()
	mustContain(t, p.must("status"), "! the rollout is paused by Ada at ", "because: inventory", "do not merge yet: the rollout is paused")
	mustContain(t, p.must("rollout", "resume", "web"), "goes on")
	mustContain(t, p.must("rollout", "skip", "web", "canary", "--by", "Ada"), "goes on without wave canary, as long as its plan stays")
	p.pass()
	mustContain(t, p.must("pr", "list"), "web/east/00", "web/west/00")
	mustContain(t, p.must("status"), "wave canary: Skipped")
	mustContain(t, p.must("rollout", "skip", "web", "--now", "--reason", "roll back"), "goes to all clusters at once")
	mustContain(t, p.git("fleet.git", "show", "furrow/main/rollout/web:rollout.yaml"), "kind: RolloutRecord", "why: roll back", "wave: canary")
	for _, args := range [][]string{{"rollout", "skip", "web"}, {"rollout", "skip", "web", "canary", "--now"}} {
		if r := p.furrow(args...); r.code != 2 {
			t.Errorf("%q exits with %d: %s", args, r.code, r.stderr)
		}
	}
}

func TestWhoAsksIsWhomGitNames(t *testing.T) {
	t.Setenv("GIT_CONFIG_COUNT", "1")
	t.Setenv("GIT_CONFIG_KEY_0", "user.name")
	for name, same := range map[string]bool{"Ada L.": true, "": false} {
		t.Setenv("GIT_CONFIG_VALUE_0", name)
		if got := (&whoFlags{}).who(t.Context()); got == "" || same != (got == name) {
			t.Errorf("git names %q, and who asks is %q", name, got)
		}
	}
	if got := (&whoFlags{by: "Bob"}).who(t.Context()); got != "Bob" {
		t.Errorf("who asks is %q", got)
	}
}

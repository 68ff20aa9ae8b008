package engine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/forge"
	"github.com/furrow-dev/furrow/internal/git"
)

// steps notes in which order an engine merges and pushes.
type steps struct {
	engine.Mirror
	made *[]string
}

func (s steps) Push(ctx context.Context, updates []git.Update) error {
	if !strings.HasPrefix(updates[0].Ref, "furrow/main/status/") { // which says who acts, before anything
		*s.made = append(*s.made, "push")
	}
	return s.Mirror.Push(ctx, updates)
}

// mergeStep notes merges among them.
type mergeStep struct {
	checked
	made *[]string
}

func (m mergeStep) Merge(ctx context.Context, p forge.Proposal, by git.Person) error {
	*m.made = append(*m.made, "merge")
	return m.Forge.Merge(ctx, p, by)
}

// A push may take a minute, after which the facts that a merge counts on are old.
func TestMergesComeBeforePushes(t *testing.T) {
	w := newRollout(t, "{groupBy: Tier, autoMerge: WhenGreen}")
	var made []string
	checks := &forge.Checks{State: forge.ChecksPending}
	w.onForge = func(f forge.Forge) forge.Forge { return mergeStep{checked{f, checks}, &made} }
	w.wrap = func(m faultyMirror) engine.Mirror { return steps{m, &made} }
	w.restart()
	w.rounds(3)
	w.mustBe("east/tier-00", "Proposed (WaitingForChecks)")
	checks.State, made = forge.ChecksPassed, nil
	w.control.put("main", "plant more", map[string]string{"seeds/more.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more, namespace: default}\ndata: {a: b}\n"})
	w.pass()
	merged, pushed := 0, 0
	for _, step := range made {
		switch {
		case step == "push":
			pushed++
		case pushed > 0:
			t.Errorf("a merge comes after a push: %v", made)
		default:
			merged++
		}
	}
	if merged == 0 || pushed == 0 {
		t.Errorf("nothing to order: %v\n%s", made, w.describe())
	}
}

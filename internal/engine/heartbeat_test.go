package engine_test

import (
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/internal/git"
	"github.com/furrow-dev/furrow/internal/state"
)

// status is the commit of the status branch and the file in it.
func (w *world) status() (git.CommitInfo, string) {
	w.t.Helper()
	refs, _ := w.gitops.Fetch(w.t.Context(), "main")
	at := refs[layout.StatusBranch("main", "acme/test")]
	commit, err := w.gitops.Commit(at)
	if err != nil {
		w.t.Fatal(err)
	}
	tree, _ := w.gitops.FS(w.t.Context(), at)
	data, err := fs.ReadFile(tree, state.File)
	if err != nil {
		w.t.Fatal(err)
	}
	return commit, string(data)
}

// A server may let branches only go forward, as 'git init --shared' has it.
func TestAStatusIsReportedWhereBranchesOnlyGoForward(t *testing.T) {
	w := newWorld(t, fleet{workload: []string{"site-0"}, seed: 5})
	w.gitops.forwardOnly = true
	w.rounds(1)
	first, _ := w.status()
	w.control.put("main", "plant", map[string]string{"seeds/web.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, namespace: default}\ndata: {a: b}\n"})
	w.rounds(2)
	second, text := w.status()
	if second.Hash == first.Hash || len(second.Parents) != 1 || !strings.Contains(text, "web") {
		t.Errorf("the status stays at commit %s, with the parents %v:\n%s", second.Hash, second.Parents, text)
	}
}

func TestAStatusInWhichNothingChangedIsPublishedOnceAnInterval(t *testing.T) {
	cases := map[string]struct {
		interval, heartbeat time.Duration
		want                string
	}{
		"passes every few seconds": {10 * time.Second, time.Minute, "interval: 1m0s\n"},
		"passes every ten minutes": {10 * time.Minute, 10 * time.Minute, "interval: 10m0s\n"},
		"passes made by hand":      {0, time.Minute, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := planted(t)
			w.interval = tc.interval
			w.restart()
			w.rounds(2)
			first, text := w.status()
			if !strings.Contains(text, tc.want) || tc.want == "" && strings.Contains(text, "interval") || strings.Contains(text, "lastPass") {
				t.Errorf("the status has another interval than %q, or a time:\n%.300s", tc.want, text)
			}
			w.pass()
			if again, _ := w.status(); again.Hash != first.Hash {
				t.Error("it is published again at once")
			}
			w.restart()
			w.pass()
			if again, _ := w.status(); again.Hash != first.Hash {
				t.Error("an engine that starts publishes it again at once")
			}
			w.now = first.Committer.When.Add(tc.heartbeat)
			w.pass()
			later, same := w.status()
			if !later.Committer.When.After(first.Committer.When) || same != text {
				t.Errorf("the status of %s is that of %s, or differs:\n%.300s", w.now, later.Committer.When, same)
			}
			w.restart()
			w.now = later.Committer.When.Add(tc.heartbeat)
			w.pass()
			if last, _ := w.status(); !last.Committer.When.After(later.Committer.When) {
				t.Error("an engine that starts does not publish an old status again")
			}
		})
	}
}

func TestAStatusBesideCustomResourcesIsPublishedOnlyWhenItChanges(t *testing.T) {
	w := planted(t)
	w.settings = &engine.Settings{Scope: map[string]bool{"edge": true}, Version: "1"}
	w.restart()
	w.rounds(2)
	before, _ := w.status()
	w.now = before.Committer.When.Add(24 * time.Hour)
	w.pass()
	w.restart()
	w.pass()
	if after, _ := w.status(); after.Hash != before.Hash {
		t.Error("it is published again, although nothing has changed")
	}
}

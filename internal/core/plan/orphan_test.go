package plan_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/plan"
)

// orphaned is the removal of a fleet's plan of which the first tier is orphaned first.
func orphaned(t *testing.T) (last, removal *plan.Plan) {
	t.Helper()
	last = planOf(t, fleetOf(1, 2))
	removal = plan.Remove(last, "main@sha1:1")
	removal.Tiers[0].Orphan = &plan.Orphan{Tree: last.Tiers[0].Tree, Blob: last.Tiers[0].ReconcilerBlob, Rendered: "sha256:1"}
	return last, removal
}

func TestATierIsOrphanedWithEntriesOfItsOwn(t *testing.T) {
	last, removal := orphaned(t)
	gone := &removal.Tiers[0]
	before := gone.Orphaning()
	if !gone.Gone() || gone.Orphans() || before.Gone() || !before.Orphans() {
		t.Errorf("a tier that is to be gone orphans (%v), or one that orphans is to be gone (%v)", gone.Orphans(), before.Gone())
	}
	if diff := cmp.Diff(last.Tiers[0].Entries(), before.Entries()); diff != "" {
		t.Errorf("its entries (-want +got):\n%s", diff)
	}
	if before.Wants() == gone.Wants() || before.Object.Rendered != "sha256:1" {
		t.Errorf("it has the Wants of the removal, or is rendered as %q", before.Object.Rendered)
	}
	if again := plan.Remove(removal, "main@sha1:2"); again.Tiers[0].Orphan != nil || !again.Tiers[0].Gone() {
		t.Errorf("another plan keeps %+v", again.Tiers[0].Orphan)
	}
}

func TestAPlanThatOrphansIsReadAsItWasWritten(t *testing.T) {
	_, want := orphaned(t)
	read := func(p *plan.Plan) (*plan.Plan, error) {
		files, err := p.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return plan.Decode(from(files))
	}
	got, err := read(want)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the plan differs (-want +got):\n%s", diff)
	}
	for _, wrong := range []plan.Orphan{{Tree: "zz", Blob: want.Tiers[0].Orphan.Blob}, {Blob: "zz"}, {}} {
		want.Tiers[0].Orphan = &wrong
		if _, err := read(want); err == nil || !strings.Contains(err.Error(), "no Git object id") {
			t.Errorf("%+v is read: %v", wrong, err)
		}
	}
}

func TestTheFilesOfAPlanAreThoseThatLand(t *testing.T) {
	last, removal := orphaned(t)
	hash := func(repo, path string) layout.Hash { return layout.Hash(repo + ":" + path) }
	for _, files := range removal.Files(hash) {
		if len(files) != 0 {
			t.Errorf("a removal has the files %v", files)
		}
	}
	want := 0
	for i := range last.Tiers {
		want += 1 + len(last.Objects(&last.Tiers[i]))
	}
	got := 0
	for repo, files := range last.Files(hash) {
		got += len(files)
		for path, f := range files {
			if f.Hash != hash(repo, path) || f.Data != nil || f.Dir {
				t.Errorf("%s is %+v", path, f)
			}
		}
	}
	if got != want || got == 0 {
		t.Errorf("%d files, want %d", got, want)
	}
}

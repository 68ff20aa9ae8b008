package plan_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/core/githash"
	"github.com/furrow-dev/furrow/internal/core/plan"
	"github.com/furrow-dev/furrow/test/golden"
)

// orphaned is the removal of a fleet's plan whose first tier is orphaned first.
func orphaned(t *testing.T) (last, removal *plan.Plan) {
	t.Helper()
	last = planOf(t, fleetOf(1, 2))
	removal = plan.Remove(last, "main@sha1:1")
	removal.Tiers[0].Orphan = &plan.Orphan{Entries: last.Tiers[0].Entries, Rendered: "sha256:1"}
	return last, removal
}

func TestATierIsOrphanedWithEntriesOfItsOwn(t *testing.T) {
	last, removal := orphaned(t)
	gone := &removal.Tiers[0]
	before := gone.Orphaning()
	if !gone.Gone() || gone.Orphans() || before.Gone() || !before.Orphans() {
		t.Errorf("a tier that must go orphans (%v), or one that orphans must go (%v)", gone.Orphans(), before.Gone())
	}
	if diff := cmp.Diff(last.Tiers[0].Want(), before.Want()); diff != "" {
		t.Errorf("its entries (-want +got):\n%s", diff)
	}
	if before.Digest() == gone.Digest() || before.Object.Rendered != "sha256:1" {
		t.Errorf("it has the digest of the removal, or is rendered as %q", before.Object.Rendered)
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
	dir, file := want.Tiers[0].Orphan.Entries[0], want.Tiers[0].Orphan.Entries[1]
	with := func(e plan.Entry, change func(*plan.Entry)) plan.Entry { change(&e); return e }
	texts := golden.Of(t)
	for name, wrong := range map[string][]plan.Entry{
		"one of two entries":       {dir, with(file, func(e *plan.Entry) { e.Hash = githash.Hash{} })},
		"no entries":               nil,
		"a mode that is unknown":   {dir, with(file, func(e *plan.Entry) { e.Mode = "link" })},
		"the file before the tree": {file, dir},
		"another path":             {with(dir, func(e *plan.Entry) { e.Path = "else/" + e.Path }), file},
	} {
		want.Tiers[0].Orphan = &plan.Orphan{Entries: wrong}
		if _, err := read(want); err == nil {
			t.Errorf("%s: %+v is read", name, wrong)
		} else {
			texts.Add(name, err.Error())
		}
	}
}

func TestTheFilesOfAPlanAreThoseThatLand(t *testing.T) {
	last, removal := orphaned(t)
	for _, files := range removal.Files() {
		if len(files) != 0 {
			t.Errorf("a removal has the files %v", files)
		}
	}
	want := compute(t, fleetOf(1, 2))["web"].Files
	for repo, files := range want {
		want[repo] = files.Flat()
		for at, f := range want[repo] {
			want[repo][at] = plan.File{Hash: f.Hash}
		}
	}
	if diff := cmp.Diff(want, last.Files()); diff != "" {
		t.Errorf("the files differ (-want +got):\n%s", diff)
	}
}

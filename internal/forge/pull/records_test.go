package pull

import (
	"testing"
	"time"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/forge"
)

// A pass reads only the records that are unfinished, and nothing stays of a record that is dropped.
func TestRecordsRememberOnlyTheUnfinished(t *testing.T) {
	s := newRecords(nil, "main")
	tier := layout.Tier{Seed: "a", Cluster: "east"}
	branch, closed := layout.TierBranch("main", tier), time.Unix(1, 0)
	r := record{Number: 1, Tiers: []layout.Member{{Tier: tier, Digest: "w1"}}}
	for _, step := range []struct {
		sentence string
		do       func()
		pending  bool
	}{
		{"an open one", func() { s.put(branch, r) }, true},
		{"a merged one", func() { r.Outcome, r.Closed = forge.OutcomeMerged, &closed; s.put(branch, r) }, false},
		{"one that base has, and that is not closed yet", func() { r.Closed = nil; s.put(branch, r) }, true},
		{"one about which more may be said", func() { r.Closed, r.Undecided = &closed, true; s.put(branch, r) }, true},
		{"a rejected one", func() { r.Outcome, r.Undecided = forge.OutcomeRejected, false; s.put(branch, r) }, false},
	} {
		if step.do(); s.pending[branch] != step.pending {
			t.Errorf("%s is pending: %t, want %t", step.sentence, s.pending[branch], step.pending)
		}
	}
	if s.dropAll(branch); len(s.of)+len(s.tiers)+len(s.pending) > 0 {
		t.Errorf("it remembers %v, %v, %v", s.of, s.tiers, s.pending)
	}
}

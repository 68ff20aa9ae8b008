package engine_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/catalog"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/pass"
	"github.com/furrow-dev/furrow/internal/engine"
)

// replayer decides every pass again from what was written of it.
type replayer struct {
	t      *testing.T
	r      *rand.Rand
	passes int
}

// record is called from the goroutine of the pass, which goes on with other things after it.
func (p *replayer) record(record *engine.Record) {
	p.passes++
	data, err := json.Marshal(record)
	if err != nil {
		p.t.Fatal(err)
	}
	var back engine.Record
	if err := json.Unmarshal(data, &back); err != nil {
		p.t.Fatal(err)
	}
	again, err := json.Marshal(&back)
	if err != nil || !bytes.Equal(again, data) {
		p.t.Fatalf("what was written and read back is not the same (%v):\n%s\n%s", err, data, again)
	}
	p.r.Shuffle(len(back.Facts.Plans), func(i, j int) {
		back.Facts.Plans[i], back.Facts.Plans[j] = back.Facts.Plans[j], back.Facts.Plans[i]
	})
	decision, err := back.Decide(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	same, err := record.Same(decision)
	if err != nil || !same {
		is, _ := json.MarshalIndent(decision, "", " ")
		was, _ := json.MarshalIndent(record.Decision, "", " ")
		p.t.Fatalf("the decision of pass %d is another one when it is replayed (%v):\n%s\nwas\n%s", p.passes, err, is, was)
	}
}

// TestRandomHistoriesReplayed: a pass that is written to a file and read back decides the
// same, byte for byte, in whatever order its facts come.
func TestRandomHistoriesReplayed(t *testing.T) {
	eachHistory(t, func(t *testing.T, seed int64) {
		p := &replayer{t: t, r: rand.New(rand.NewPCG(uint64(seed), 3))}
		more := alone
		if seed%2 == 0 {
			more = inGroups
		}
		history(t, seed, func(c *engine.Config) { c.Record = p.record }, more)
		if p.passes < 20 {
			t.Errorf("only %d passes were recorded", p.passes)
		}
	})
}

// TestAPassWithCustomResourcesIsReplayed: what they declare, configure and have wrong counts again.
func TestAPassWithCustomResourcesIsReplayed(t *testing.T) {
	w := newWorld(t, fleet{workload: []string{"site-0"}, seed: 5})
	w.control.put("main", "plant", map[string]string{"seeds/edge.yaml": storySeed(1, true), "seeds/web.yaml": plainSeed("web", 1, "site-1"), "seeds/broken.yaml": plainSeed("broken", 1, "site-0")})
	w.gitops.put("main", "bootstrap", map[string]string{"clusters/site-1/README.md": "root"})
	resources, err := manifest.Parse("Cluster fleet/site-1", []byte(document("Cluster", "site-1", "spec: {path: clusters/site-1}")))
	if err != nil {
		t.Fatal(err)
	}
	scope := map[string]bool{"edge": true, "web": true, "broken": true}
	w.settings = &engine.Settings{Version: "1", Scope: scope, Resources: catalog.Resources{
		Documents: resources,
		Seeds:     map[string]v1alpha1.SeedSpec{"edge": {Suspend: true}, "web": {}, "broken": {}},
		Faults:    map[string]manifest.Problems{"broken": {manifest.OfSeed(v1alpha1.ReasonInvalidField, "broken", "spec.path is wrong", "Correct it.")}},
	}}
	p := &replayer{t: t, r: rand.New(rand.NewPCG(1, 3))}
	w.config = func(c *engine.Config) { c.Record = p.record }
	w.restart()
	w.rounds(2)
	states := map[string]string{}
	for _, s := range w.report.Seeds {
		states[s.Name] = string(s.State) + " " + string(s.Reason)
		for _, tier := range s.Tiers {
			states[s.Name] += " " + string(tier.Reason)
		}
	}
	if got := states["web"]; got != "Queued  RootUnknown" || states["broken"] != "Stalled InvalidField" || !strings.Contains(states["edge"], "Suspended") || p.passes != 2 {
		t.Errorf("%d passes, with %v", p.passes, states)
	}
}

// TestTheMemoChangesNoDecision: what is remembered from pass to pass saves work, and nothing else.
func TestTheMemoChangesNoDecision(t *testing.T) {
	w := newWorld(t, fleet{workload: []string{"site-0"}, seed: 5})
	w.control.put("main", "plant", map[string]string{"seeds/edge.yaml": storySeed(1, true)})
	var memo pass.Memo
	passes := 0
	w.config = func(c *engine.Config) {
		c.Record = func(r *engine.Record) {
			passes++
			memo.Turn()
			decision, questions := memo.Decide(r.Facts)
			if same, err := r.Same(decision); err != nil || !same || len(questions) > 0 {
				t.Errorf("pass %d decides otherwise with a memo (%v, %d questions)", passes, err, len(questions))
			}
		}
	}
	w.restart()
	if !w.converge(120) || passes < 5 {
		t.Errorf("after %d passes:\n%s", passes, w.describe())
	}
}

package engine_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/engine"
	"github.com/furrow-dev/furrow/test/golden"
)

// oneHub is a repository "a" with the cluster hub, which reconciles the cluster edge.
func oneHub() map[string][]string { return map[string][]string{"a": {"hub", "edge@hub"}} }

// moments are fleets with one seed, and what is done to them before the pass that is recorded.
var moments = map[string]struct {
	fleet   map[string][]string
	cluster string
	arrange func(*estate, *engine.Engine)
}{
	"a first plan": {oneSite(), "site-a", func(*estate, *engine.Engine) {}},
	"a merge is noticed": {oneSite(), "site-a", func(e *estate, furrow *engine.Engine) {
		e.pass(furrow)
		e.mergeAll()
	}},
	"an update is in flight": {oneSite(), "site-a", func(e *estate, furrow *engine.Engine) {
		e.converge(furrow)
		e.plant(seeds{"web": plainSeed("web", 2, "site-a")})
		e.pass(furrow)
		e.plant(seeds{"web": plainSeed("web", 3, "site-a")})
	}},
	"a cluster of a hub is abandoned": {oneHub(), "edge", func(e *estate, furrow *engine.Engine) {
		e.converge(furrow)
		e.plant(seeds{"web": ""})
		if err := furrow.Abandon(e.t.Context(), "edge"); err != nil {
			e.t.Fatal(err)
		}
	}},
	"base is moved back": {oneSite(), "site-a", func(e *estate, furrow *engine.Engine) {
		before := e.repos["a"].refs["main"]
		e.converge(furrow)
		e.repos["a"].refs["main"] = before
	}},
}

// recordOf plays a moment and returns the record of its last pass, as it was before the pass acted.
func recordOf(t *testing.T, name string) []byte {
	t.Helper()
	moment := moments[name]
	e := newEstate(t, moment.fleet)
	var last []byte
	furrow := e.engineWith(rival{}, func(c *engine.Config) { c.Record = func(r *engine.Record) { last = indented(t, r) } })
	e.plant(seeds{"web": plainSeed("web", 1, moment.cluster)})
	moment.arrange(e, furrow)
	e.pass(furrow)
	return last
}

// TestRecordedPasses decides passes again that were recorded at moments of interest. With
// -update they are recorded anew: only commit changes of decisions that you understand and want.
func TestRecordedPasses(t *testing.T) {
	for name := range moments {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join("testdata", "passes", strings.ReplaceAll(name, " ", "-")+".json")
			if golden.Update() {
				if err := os.WriteFile(file, append(recordOf(t, name), '\n'), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var record engine.Record
			if err := json.Unmarshal(data, &record); err != nil {
				t.Fatal(err)
			}
			got, err := record.Decide(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(lines(t, record.Decision), lines(t, got)); diff != "" {
				t.Errorf("another decision than was recorded; if it is better, run with -update (-want +got):\n%s", diff)
			}
		})
	}
}

func indented(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func lines(t *testing.T, v any) []string { return strings.Split(string(indented(t, v)), "\n") }

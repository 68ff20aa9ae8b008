package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/furrow-dev/furrow/internal/core/layout"
	"github.com/furrow-dev/furrow/internal/core/release"
)

// dependent is one object of a seed, on a cluster, that may depend on another.
func dependent(name, cluster, dependsOn, value string) string {
	annotations := "furrow.dev/cluster: " + cluster
	if dependsOn != "" {
		annotations += ", furrow.dev/depends-on: core/ConfigMap/default/" + dependsOn
	}
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: default, annotations: {%s}}\ndata: {value: %q}\n---\n", name, annotations, value)
}

// proposed are the tiers with an open proposal, as seed/cluster/NN, and why each must not
// be merged as the report has it.
func (w *world) proposed() map[string]string {
	w.t.Helper()
	out := map[string]string{}
	for _, p := range w.open() {
		out[p.Tier.Seed+"/"+p.Tier.Cluster+"/"+p.Tier.Number()] = ""
	}
	for _, s := range w.report.Seeds {
		for _, t := range s.Tiers {
			name := layout.Tier{Seed: s.Name, Cluster: t.Cluster, Ordinal: t.Ordinal}
			at := name.Seed + "/" + name.Cluster + "/" + name.Number()
			if _, open := out[at]; open && t.Proposal != nil {
				out[at] = t.Proposal.Gate
			}
		}
	}
	return out
}

// TestGateIsTransitiveAcrossSeeds: a tier is not proposed, and not merged, before what it
// waits for through unchanged tiers of other seeds on other clusters.
func TestGateIsTransitiveAcrossSeeds(t *testing.T) {
	commit := func(w *world, issuer, shop string) {
		w.control.put("main", "change", map[string]string{
			"seeds/certs.yaml": dependent("operator", "east", "", issuer) + dependent("issuer", "east", "operator", "1"),
			"seeds/shop.yaml":  dependent("web", "west", "issuer", "1") + dependent("page", "west", "web", shop),
		})
	}
	w := newWorld(t, fleet{workload: []string{"east", "west"}, seed: 3})
	w.unamended = true
	commit(w, "1", "1")
	if !w.settle(60) {
		t.Fatalf("not planted:\n%s", w.describe())
	}
	commit(w, "2", "2")
	w.rounds(3)
	if got := fmt.Sprint(w.proposed()); got != "map[certs/east/00:]" {
		t.Errorf("proposed: %s, want that of the tier which all others wait for", got)
	}
	for _, s := range w.report.Seeds {
		for _, tier := range s.Tiers {
			if s.Name == "shop" && tier.Ordinal == 1 && (tier.State != release.Blocked || !strings.HasPrefix(tier.Message, "waits for seed certs on east tier 00 (Proposed): ")) {
				t.Errorf("shop on west tier 01 is %s: %s", tier.State, tier.Message)
			}
		}
	}
	if !w.settle(60) {
		t.Fatalf("not updated:\n%s", w.describe())
	}

	// An open proposal's gate is shut by the same.
	commit(w, "2", "3")
	w.rounds(3)
	commit(w, "3", "3")
	w.rounds(1)
	got := w.proposed()
	if want := "waits for seed certs on east tier 00 (Proposed): "; !strings.HasPrefix(got["shop/west/01"], want) || got["certs/east/00"] != "" {
		t.Errorf("proposed: %v, want the gate of shop/west/01 shut by certs/east/00", got)
	}
	if !w.settle(60) {
		t.Fatalf("not updated:\n%s", w.describe())
	}
	w.check()
}

package law

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestTiersBeyondTheLongestChainAreNoticed(t *testing.T) {
	at := func(seed string, level int) *object {
		return &object{seed: seed, cluster: "one", id: seed, level: level, ordinal: level}
	}
	waits := func(objects ...*object) []wait {
		var all []wait
		for i := range objects[1:] {
			all = append(all, wait{from: objects[i+1], to: objects[i]})
		}
		return all
	}
	first, other, last := at("a", 0), at("b", 1), at("a", 2)
	for sentence, c := range map[string]struct {
		plan planned
		want []string
	}{
		"a chain through another seed counts": {
			planned{objects: []*object{first, other, last}, waits: waits(first, other, last)}, nil,
		},
		"an object that waits for nothing needs no tier of its own": {
			planned{objects: []*object{first, other, last}, waits: waits(first, other)}, []string{"seed a has 2 tiers on one, and 1 do"},
		},
		"objects that may share a tier count once": {
			planned{objects: []*object{first, last}, waits: []wait{{from: last, to: first, weak: true}}}, []string{"seed a has 2 tiers on one, and 1 do"},
		},
		"an object is on a higher level than what it waits for": {
			planned{objects: []*object{first, other}, waits: waits(other, first)}, []string{"a on one is on level 0, and what it waits for, b on one, on 1"},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(c.want, c.plan.minimal(), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("differs (-want +got):\n%s", diff)
			}
		})
	}
}

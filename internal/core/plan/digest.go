package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/furrow-dev/furrow/internal/core/layout"
)

// rulesVersion changes when the same inputs would be rendered to another plan. What
// other rules give, where objects go and what waits for what, is an input itself.
const rulesVersion = "5"

// EntriesDigest returns the digest of a set of entries: the same set, the same digest.
func EntriesDigest(entries map[string]layout.Hash) string {
	var text []byte // in one piece: every pass computes this for every tier
	for _, p := range slices.Sorted(maps.Keys(entries)) {
		text = append(append(append(append(text, p...), 0), entries[p].String()...), '\n')
	}
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// digestOf returns the digest of a value's JSON, which has its maps in order.
func digestOf(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("inputs are plain values: %v", err))
	}
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

package odb_test

import (
	"fmt"
	"testing"

	"github.com/furrow-dev/furrow/internal/git/odb"
)

// BenchmarkJournal commits changes of one of 2,000 manifests each, as a store does: in groups that are one batch each, with the
// necessary collections; and without batches.
func BenchmarkJournal(b *testing.B) {
	path := func(n int) string { return fmt.Sprintf("registry/ns-%02d/object-%04d.yaml", n%20, n) }
	for _, group := range []int{1, 10, 100} {
		for _, durable := range []bool{false, true} {
			b.Run(fmt.Sprintf("group=%d,durable=%v", group, durable), func(b *testing.B) {
				db, _ := newDB(b, odb.Options{Durable: durable})
				var head odb.Hash
				n := 0
				for b.Loop() {
					batch, err := db.Begin(b.Context())
					if err != nil {
						b.Fatal(err)
					}
					before := head
					for range group {
						n++
						head = commit(b, batch, head, path(n*7%2000), resource(n*7%2000, n))
					}
					if err := batch.Commit(b.Context(), odb.Move{Ref: "main", Old: before, New: head}); err != nil {
						b.Fatal(err)
					}
					if err := db.CollectIfDue(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "commits/s")
			})
		}
	}
	b.Run("loose", func(b *testing.B) {
		db, _ := newDB(b, odb.Options{})
		var head odb.Hash
		n := 0
		for b.Loop() {
			n++
			next := commit(b, db, head, path(n*7%2000), resource(n*7%2000, n))
			if err := db.Update(b.Context(), odb.Move{Ref: "main", Old: head, New: next}); err != nil {
				b.Fatal(err)
			}
			head = next
		}
		b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "commits/s")
	})
}

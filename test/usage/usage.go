// Package usage measures what work takes of the machine: processor time and memory.
package usage

import (
	"runtime"
	"runtime/metrics"
	"sync"
	"time"
)

// Heap returns the memory that is in use, in bytes, after a collection.
func Heap() uint64 {
	runtime.GC()
	runtime.GC() // what finalizers have let go of, too
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// Peak reads the memory in use until it is asked for the most that it was. It samples, without
// collecting: what is used for less than 20 ms may be missed, and what nobody uses any more counts
// until it is collected.
func Peak() (most func() uint64) {
	const heap = "/memory/classes/heap/objects:bytes"
	end := make(chan struct{})
	var all sync.WaitGroup
	var peak uint64
	all.Go(func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		sample := []metrics.Sample{{Name: heap}}
		for {
			metrics.Read(sample)
			peak = max(peak, sample[0].Value.Uint64())
			select {
			case <-end:
				return
			case <-tick.C:
			}
		}
	})
	return func() uint64 {
		close(end)
		all.Wait()
		return peak
	}
}

// MiB returns how much more one amount of memory is than another.
func MiB(is, was uint64) float64 { return (float64(is) - float64(was)) / (1 << 20) }

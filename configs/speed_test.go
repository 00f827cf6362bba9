package configs

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/durabench/durabench/bench/query"
)

// BenchmarkExpectedAnswers works out what every scan of bench.toml is to answer, without a cache: rows/s tells how fast, and peak-MB what the heap
// came to.
//
//	go test ./configs -run '^$' -bench ExpectedAnswers/1M -benchtime 1x
//	go test ./configs -run '^$' -bench ExpectedAnswers/10M -benchtime 1x
func BenchmarkExpectedAnswers(b *testing.B) {
	for _, size := range []struct {
		name string
		rows int
	}{{"1M", 1_000_000}, {"10M", 10_000_000}} {
		b.Run(size.name, func(b *testing.B) {
			dataset, scans := shippedScans(b, "bench", size.rows)
			runtime.GC()
			peak := watchHeap(b)
			for b.Loop() {
				if _, err := dataset.Expect(b.Context(), scans, query.Options{}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(size.rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
			b.ReportMetric(float64(peak())/1e6, "peak-MB")
		})
	}
}

// watchHeap looks at the heap now and then until the benchmark ends; the function returns the most bytes that it held.
func watchHeap(b *testing.B) func() uint64 {
	var most atomic.Uint64
	go func() {
		for b.Context().Err() == nil {
			var now runtime.MemStats
			runtime.ReadMemStats(&now)
			most.Store(max(most.Load(), now.HeapInuse))
			time.Sleep(20 * time.Millisecond)
		}
	}()
	return most.Load
}

//go:build !race

package load

import (
	"context"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"
)

// waiting is a worker whose operation waits as for a server, 1 to 60 ms, and uses a few kilobytes of stack as a driver would.
type waiting struct{ dry }

func (w *waiting) Do(ctx context.Context, slot int) error {
	var frame [2048]byte
	frame[slot] = 1
	time.Sleep(time.Duration(1e6 + rand.Int64N(59e6)))
	w.sum += uint64(frame[slot])
	return nil
}

// inFlightMemory runs a leg of 128 clients × 48 threads and returns the heap and the stacks it takes at most, in bytes, garbage
// included, beyond what was there before.
func inFlightMemory(tb testing.TB) (heap, stacks int64) {
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	leg := Leg{Clients: 128, Threads: 48, Window: 2500 * time.Millisecond, Keys: 1 << 20, OperationTimeout: time.Minute, Verify: VerifyNone}
	leg.Progress = func(Progress) {
		runtime.ReadMemStats(&now)
		heap = max(heap, int64(now.HeapInuse)-int64(before.HeapInuse))
		stacks = max(stacks, int64(now.StackInuse)-int64(before.StackInuse))
	}
	result, err := Run(context.Background(), leg, func(int, int) (Worker, error) { return &waiting{dry{slots: 1}}, nil })
	if err != nil {
		tb.Fatal(err)
	}
	if result.OK < 6144 {
		tb.Fatalf("%d operations", result.OK)
	}
	return heap, stacks
}

// The race detector would multiply what is measured. 6,144 operations in flight have 200 MB before the driver's buffers.
func TestMemoryOf6144OperationsInFlight(t *testing.T) {
	heap, stacks := inFlightMemory(t)
	t.Logf("heap %.1f MB, stacks %.1f MB, %.1f KB per operation in flight", float64(heap)/1e6, float64(stacks)/1e6, float64(heap+stacks)/6144/1e3)
	if heap+stacks > 200e6 {
		t.Errorf("heap of %d and stacks of %d bytes", heap, stacks)
	}
}

func BenchmarkMemoryOf6144OperationsInFlight(b *testing.B) {
	for range b.N {
		heap, stacks := inFlightMemory(b)
		b.ReportMetric(float64(heap)/1e6, "heap-MB")
		b.ReportMetric(float64(stacks)/1e6, "stack-MB")
		b.ReportMetric(float64(heap+stacks)/6144, "B/in-flight")
	}
}

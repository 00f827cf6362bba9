package load

import (
	"context"
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// dry is a worker that does nothing: what a leg of it costs is the loop's own cost. Keys are prepared as cheaply as can be.
type dry struct {
	keys  [maxBlock]uint64
	slots int
	sum   uint64
}

func (w *dry) Slots() int { return w.slots }

func (w *dry) Ready(slot int, index uint64) error {
	w.keys[slot&(maxBlock-1)] = index * 0x9E3779B97F4A7C15
	return nil
}

func (w *dry) Do(_ context.Context, slot int) error {
	w.sum ^= w.keys[slot&(maxBlock-1)]
	return nil
}

func (w *dry) Check(int) error { return nil }

func newDry(int, int) (Worker, error)    { return &dry{slots: maxBlock}, nil }
func newDryOne(int, int) (Worker, error) { return &dry{slots: 1}, nil }

func TestLoopAllocatesNothingPerOperation(t *testing.T) {
	for name, newWorker := range map[string]func(int, int) (Worker, error){"chunks": newDry, "single": newDryOne} {
		t.Run(name, func(t *testing.T) {
			allocs := func(samples int64) float64 {
				return testing.AllocsPerRun(1, func() {
					leg := Leg{Clients: 2, Threads: 2, Samples: samples, OperationTimeout: time.Minute, Verify: VerifyAll}
					if _, err := Run(context.Background(), leg, newWorker); err != nil {
						t.Fatal(err)
					}
				})
			}
			few, many := allocs(1000), allocs(101_000)
			if perOp := (many - few) / 100_000; perOp > 0.001 {
				t.Errorf("%v allocations per operation (%v for 1,000 and %v for 101,000)", perOp, few, many)
			}
		})
	}
}

// A leg's memory does not grow with its operations: ten times as many leave no more behind.
func TestMemoryDoesNotGrowWithOperations(t *testing.T) {
	after := func(samples int64) uint64 {
		result, err := Run(t.Context(), Leg{Clients: 2, Threads: 1, Samples: samples}, newDry)
		if err != nil {
			t.Fatal(err)
		}
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		runtime.KeepAlive(result)
		return m.HeapAlloc
	}
	after(1000)
	few, many := after(20_000), after(200_000)
	if many > few+200_000 {
		t.Errorf("%d bytes of heap after 20,000 operations, %d after 200,000", few, many)
	}
}

// cpuTime is the CPU time of this process, which a busy machine does not lengthen as it does the wall clock.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func benchmarkLoop(b *testing.B, leg Leg, newWorker func(int, int) (Worker, error)) {
	leg.Samples = int64(b.N)
	leg.OperationTimeout = time.Minute
	b.ReportAllocs()
	before := cpuTime()
	result, err := Run(context.Background(), leg, newWorker)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(cpuTime()-before)/float64(b.N), "cpu-ns/op")
	p50, _ := result.Service.Quantile(0.5)
	b.ReportMetric(float64(p50), "p50-ns")
	b.ReportMetric(0, "ns/op") // of all cores together: cpu-ns/op is the figure per core
	b.ReportMetric(float64(result.Wall)/float64(b.N), "wall-ns/op")
}

// The budget is 120 ns of a core per operation and no allocation; cpu-ns/op has it.
func BenchmarkDryLoop(b *testing.B) {
	for _, workers := range []int{1, 2, 32} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			benchmarkLoop(b, Leg{Clients: workers, Threads: 1}, newDry)
		})
	}
}

// The same with one operation per chunk, as drivers with one slot and slow operations have it.
func BenchmarkDryLoopChunk1(b *testing.B) { benchmarkLoop(b, Leg{Clients: 1, Threads: 1}, newDryOne) }

// The same with every answer attended to.
func BenchmarkDryLoopVerifyAll(b *testing.B) {
	benchmarkLoop(b, Leg{Clients: 1, Threads: 1, Verify: VerifyAll}, newDry)
}

func BenchmarkClock(b *testing.B) {
	base := time.Now()
	var sum time.Duration
	for b.Loop() {
		sum += time.Since(base)
	}
	_ = sum
}

package load

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// Whatever is recorded in whatever order, by whichever worker, is in the intervals, and nothing else is.
func TestIntervalsHoldWhatWasRecorded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const workers = 5
		store := newIntervals(3, 0)
		var recorders [workers]recorder
		for i := range recorders {
			recorders[i].shard = &store.shards[i%len(store.shards)]
		}
		want := make(map[second]*Histogram)
		total := new(Histogram)
		var now [workers]second
		for range rapid.IntRange(1, 400).Draw(t, "operations") {
			w := rapid.IntRange(0, workers-1).Draw(t, "worker")
			now[w] += second(rapid.SampledFrom([]int{0, 0, 0, 0, 1, 3}).Draw(t, "seconds on"))
			ns := durations().Draw(t, "ns")
			recorders[w].at(now[w])
			if recorders[w].add(ns) {
				recorders[w].flush()
			}
			if want[now[w]] == nil {
				want[now[w]] = new(Histogram)
			}
			want[now[w]].Record(max(ns, 1))
			total.Record(max(ns, 1))
			if rapid.Bool().Draw(t, "close") {
				passed := now[0]
				for _, n := range now {
					passed = min(passed, n)
				}
				store.close(passed)
			}
		}
		for i := range recorders {
			recorders[i].flush()
		}
		store.seal()
		recorders[0].add(1) // too late
		recorders[0].flush()
		if !same(&store.total, total) {
			t.Fatalf("total of %d, want %d", store.total.Count(), total.Count())
		}
		if got := store.totals(); got.ok != total.Count() {
			t.Fatalf("%d counted, want %d", got.ok, total.Count())
		}
		for _, interval := range store.closed {
			h := want[interval.Second]
			if h == nil {
				if interval.OK != 0 || interval.Service != nil {
					t.Fatalf("second %d: %+v, want nothing", interval.Second, interval)
				}
				continue
			}
			delete(want, interval.Second)
			if w := latencyOf(h); interval.OK != h.Count() || *interval.Service != *w {
				t.Fatalf("second %d: %d %+v, want %d %+v", interval.Second, interval.OK, *interval.Service, h.Count(), *w)
			}
		}
		if len(want) > 0 {
			t.Fatalf("%d seconds are missing", len(want))
		}
	})
}

// A long leg closes its seconds as it goes: what is left of them is four numbers each, and the histograms are used again.
func TestClosedSecondsLeaveNumbersOnly(t *testing.T) {
	store := newIntervals(1, 0)
	r := recorder{shard: &store.shards[0]}
	for s := second(0); s < 7_200; s++ {
		r.at(s)
		r.add(1e6)
		store.close(s)
	}
	r.flush()
	if open, free := len(store.shards[0].open), len(store.shards[0].free); open+free > 3 {
		t.Errorf("%d open and %d free histograms", open, free)
	}
	store.seal()
	if len(store.closed) != 7_200 || store.total.Count() != 7_200 {
		t.Errorf("%d seconds, %d operations", len(store.closed), store.total.Count())
	}
}

// BenchmarkRecord is what recording one operation costs, its share of the flush included. The budget is 5 ns and no allocation.
func BenchmarkRecord(b *testing.B) {
	values := make([]int64, 4096)
	for i := range values {
		values[i] = int64(1e5 + rand.ExpFloat64()*5e5)
	}
	store := newIntervals(4, 0)
	r := &recorder{shard: &store.shards[0]}
	b.ReportAllocs()
	before := cpuTime()
	for i := range b.N {
		if r.add(values[i&4095]) {
			r.flush()
		}
	}
	b.ReportMetric(float64(cpuTime()-before)/float64(b.N), "cpu-ns/op")
}

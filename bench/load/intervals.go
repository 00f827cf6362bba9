package load

import (
	"cmp"
	"math"
	"slices"
	"sync"
)

// second numbers the intervals of a leg: 0 and up since measuring began, and below 0 those of the warm-up.
type second = int64

const nanosPerSecond = int64(1e9)

// warmupSecond returns the interval of a moment in the warm-up, given in nanoseconds since the release.
func warmupSecond(now int64) second { return math.MinInt64/2 + now/nanosPerSecond }

// tally is what one shard knows of one second.
type tally struct {
	second     second
	ok, failed int64
	service    Histogram
	response   *Histogram // nil in the closed loop
}

// totals counts a leg's operations so far.
type totals struct {
	ok, failed           int64
	warmup, warmupFailed int64
	checked              int64
	followed             int64 // following operations that ended, in the warm-up too, failed ones included
	followFailed         int64
	whole                int64 // times that all operations following one succeeded, since measuring began
}

// shard is the part of the intervals that some of the workers write to, under its lock and off the clock. With twice as many shards as
// cores, two workers that run at the same time seldom meet, and a shard costs some 20 KB whatever the number of workers.
type shard struct {
	mu     sync.Mutex
	open   []*tally // few: those of the running second, and of earlier ones that some worker may still add to
	free   []*tally // empty ones with memory to use again
	totals totals
	kinds  []Histogram // service times by kind, since measuring began
	sealed bool        // the leg's result is made; who comes now comes too late

	lateness, wakes Histogram // since measuring began
	follow          Histogram // of following operations, since measuring began
	_               [64]byte
}

// intervals is a leg's record, one entry per second. A second stays open as histograms until every worker has passed it. Then it is
// closed: added to the total and kept as four numbers, so that the memory of a leg grows by some 60 bytes a second however many
// operations it does.
type intervals struct {
	shards []shard

	mu              sync.Mutex // before any shard's
	closed          []Interval // without gaps, from second 0
	warmup          Interval   // the last closed of the warm-up: it is watched while it runs, not kept
	total, response Histogram
	scratch         Histogram
}

func newIntervals(shards, kinds int) *intervals {
	v := &intervals{shards: make([]shard, shards)}
	for i := range v.shards {
		v.shards[i].kinds = make([]Histogram, kinds)
	}
	return v
}

// at returns the shard's tally of a second. The caller holds its lock.
func (s *shard) at(second second) *tally {
	for i := len(s.open) - 1; i >= 0; i-- {
		if s.open[i].second == second {
			return s.open[i]
		}
	}
	var t *tally
	if n := len(s.free); n > 0 {
		t, s.free = s.free[n-1], s.free[:n-1]
	} else {
		t = new(tally)
	}
	t.second = second
	s.open = append(s.open, t)
	return t
}

// recycle empties a tally for another second. The caller holds the shard's lock.
func (s *shard) recycle(t *tally) {
	t.ok, t.failed = 0, 0
	t.service.Reset()
	if t.response != nil {
		t.response.Reset()
	}
	s.free = append(s.free, t)
}

// entry is what a worker gives away: operations that ended in one second.
type entry struct {
	second            second
	service, response []int64 // durations of those that succeeded; response is empty in the closed loop
	kinds             []uint8 // of those in service; empty without kinds
	lateness, wakes   []int64
	failed, checked   int64
}

// add takes in operations.
func (s *shard) add(e entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sealed {
		return
	}
	t := s.at(e.second)
	t.service.recordAll(e.service)
	if len(e.response) > 0 {
		if t.response == nil {
			t.response = new(Histogram)
		}
		t.response.recordAll(e.response)
	}
	ok := int64(len(e.service))
	t.ok += ok
	t.failed += e.failed
	s.totals.checked += e.checked
	if e.second < 0 {
		s.totals.warmup += ok
		s.totals.warmupFailed += e.failed
		return
	}
	s.totals.ok += ok
	s.totals.failed += e.failed
	for i, kind := range e.kinds {
		s.kinds[kind].Record(e.service[i])
	}
	if len(e.lateness) > 0 {
		s.lateness.recordAll(e.lateness)
		s.wakes.recordAll(e.wakes)
	}
}

// addFollowing takes in one following operation. Those of the warm-up are counted for the error budget, and not timed.
func (s *shard) addFollowing(ns int64, failed, warming bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sealed {
		return
	}
	s.totals.followed++
	switch {
	case failed:
		s.totals.followFailed++
	case !warming:
		s.follow.Record(max(ns, 1))
	}
}

// addWhole counts an operation all of whose following ones succeeded.
func (s *shard) addWhole() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.sealed {
		s.totals.whole++
	}
}

// merged returns the histogram that pick finds in each shard, of all of them together; nil when it is empty.
func (v *intervals) merged(pick func(*shard) *Histogram) *Histogram {
	sum := new(Histogram)
	for i := range v.shards {
		s := &v.shards[i]
		s.mu.Lock()
		sum.Merge(pick(s))
		s.mu.Unlock()
	}
	if sum.Count() == 0 {
		return nil
	}
	return sum
}

// totals returns the operations counted so far.
func (v *intervals) totals() totals {
	var sum totals
	for i := range v.shards {
		s := &v.shards[i]
		s.mu.Lock()
		sum.ok += s.totals.ok
		sum.failed += s.totals.failed
		sum.warmup += s.totals.warmup
		sum.warmupFailed += s.totals.warmupFailed
		sum.checked += s.totals.checked
		sum.followed += s.totals.followed
		sum.followFailed += s.totals.followFailed
		sum.whole += s.totals.whole
		s.mu.Unlock()
	}
	return sum
}

// close ends the seconds before limit. No worker may add to one of them any more.
func (v *intervals) close(limit second) {
	v.mu.Lock()
	defer v.mu.Unlock()
	type part struct {
		of    *shard
		tally *tally
	}
	var parts []part
	for i := range v.shards {
		s := &v.shards[i]
		s.mu.Lock()
		s.open = slices.DeleteFunc(s.open, func(t *tally) bool {
			if t.second < limit {
				parts = append(parts, part{s, t})
			}
			return t.second < limit
		})
		s.mu.Unlock()
	}
	slices.SortFunc(parts, func(a, b part) int { return cmp.Compare(a.tally.second, b.tally.second) })
	for len(parts) > 0 {
		now := parts[0].tally.second
		interval := Interval{Second: now}
		v.scratch.Reset()
		for len(parts) > 0 && parts[0].tally.second == now {
			t := parts[0].tally
			interval.OK += t.ok
			interval.Failed += t.failed
			v.scratch.Merge(&t.service)
			if now >= 0 {
				v.response.Merge(t.response)
			}
			parts[0].of.mu.Lock()
			parts[0].of.recycle(t)
			parts[0].of.mu.Unlock()
			parts = parts[1:]
		}
		interval.Service = latencyOf(&v.scratch)
		if now < 0 {
			v.warmup = interval
			continue
		}
		v.total.Merge(&v.scratch)
		v.fill(now)
		v.closed = append(v.closed, interval)
	}
}

// fill adds the seconds before next in which nothing ended: a stall is part of the record.
func (v *intervals) fill(next second) {
	for second(len(v.closed)) < next {
		v.closed = append(v.closed, Interval{Second: second(len(v.closed))})
	}
}

// latencyOf sums up a second; nil when nothing succeeded in it.
func latencyOf(h *Histogram) *IntervalLatency {
	top, ok := h.Max()
	if !ok {
		return nil
	}
	p50, _ := h.Quantile(0.50)
	p99, _ := h.Quantile(0.99)
	return &IntervalLatency{P50: p50, P99: p99, Max: top}
}

// latency returns the service time in one second as far as it is known; nil when nothing succeeded in it.
func (v *intervals) latency(of second) *IntervalLatency {
	v.mu.Lock()
	defer v.mu.Unlock()
	if of >= 0 && of < second(len(v.closed)) {
		return v.closed[of].Service
	}
	if of == v.warmup.Second && of < 0 {
		return v.warmup.Service
	}
	v.scratch.Reset()
	for i := range v.shards {
		s := &v.shards[i]
		s.mu.Lock()
		for _, t := range s.open {
			if t.second == of {
				v.scratch.Merge(&t.service)
			}
		}
		s.mu.Unlock()
	}
	return latencyOf(&v.scratch)
}

// seal closes everything and refuses what comes later, from workers that were given up.
func (v *intervals) seal() {
	for i := range v.shards {
		v.shards[i].mu.Lock()
		v.shards[i].sealed = true
		v.shards[i].mu.Unlock()
	}
	v.close(math.MaxInt64)
}

package load

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"
)

func newSchedule(t testing.TB, perSecond float64, poisson bool) *Schedule {
	t.Helper()
	s, err := NewSchedule(perSecond, poisson, 42)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// open runs an open-loop leg in fake time.
func (s *script) open(t *testing.T, leg Leg, perSecond float64, poisson bool) (result *Result) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		leg.Pacing = newSchedule(t, perSecond, poisson)
		var err error
		if result, err = s.runIn(t.Context(), t, leg); err != nil {
			t.Fatal(err)
		}
	})
	return result
}

func TestConstantScheduleIsSmooth(t *testing.T) {
	s := newSchedule(t, 100, false)
	for n := range int64(10_000) {
		if at := s.at(n); at != n*10_000_000 {
			t.Fatalf("operation %d at %d ns", n, at)
		}
	}
	for before, want := range map[time.Duration]int64{-1: 0, 0: 0, 1: 1, 10 * time.Millisecond: 1, 10*time.Millisecond + 1: 2, time.Hour: 360_000} {
		if due := s.Due(before); due != want {
			t.Errorf("%d due before %v, want %d", due, before, want)
		}
	}
	// A rate whose period is no whole number of nanoseconds keeps its mean.
	if due := newSchedule(t, 3, false).Due(1000 * time.Second); due != 3000 {
		t.Errorf("%d operations at 3 a second in 1000 s", due)
	}
}

func TestPoissonSchedule(t *testing.T) {
	const n = 200_000
	s, same := newSchedule(t, 1000, true), newSchedule(t, 1000, true)
	same.at(n - 1) // asked in another order
	last, sum, squares := int64(0), 0.0, 0.0
	for i := range int64(n) {
		at := s.at(i)
		if at < last || at != same.at(i) {
			t.Fatalf("operation %d at %d ns after one at %d ns, or at %d ns", i, at, last, same.at(i))
		}
		gap := float64(at-last) / 1e6
		sum, squares, last = sum+gap, squares+gap*gap, at
		if i%997 == 0 {
			if due := s.Due(time.Duration(at) + 1); due < i+1 || s.at(due) <= at || s.at(due-1) > at {
				t.Fatalf("%d due just after operation %d", due, i)
			}
		}
	}
	mean := sum / n
	deviation := math.Sqrt(squares/n - mean*mean)
	if math.Abs(mean-1) > 0.01 || math.Abs(deviation-1) > 0.02 { // of an exponential both are its mean
		t.Errorf("gaps of %v ms, standard deviation %v ms, want 1 and 1", mean, deviation)
	}
	other, err := NewSchedule(1000, true, 43)
	if err != nil || other.at(100) == s.at(100) {
		t.Errorf("another seed gives the same schedule (%v)", err)
	}
}

func TestBadRates(t *testing.T) {
	for _, rate := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if _, err := NewSchedule(rate, false, 1); err == nil {
			t.Errorf("a rate of %v is taken", rate)
		}
	}
}

// The schedule is one for all: on many workers, every 100 ms have the same number of starts.
func TestOpenLoopIsSmoothOnManyWorkers(t *testing.T) {
	starts := map[int64]int{}
	s := &script{}
	var base time.Time
	s.do = func(ctx context.Context, _ op) error {
		s.mu.Lock()
		if base.IsZero() {
			base = time.Now()
		}
		starts[int64(time.Since(base)/(100*time.Millisecond))]++
		s.mu.Unlock()
		return sleep(ctx, 30*time.Millisecond)
	}
	result := s.open(t, Leg{Clients: 200, Window: 10 * time.Second, Keys: 10}, 100, false)
	if result.OK != 1000 || result.Open.Due != 1000 || result.Open.Dropped != 0 || len(starts) != 100 {
		t.Fatalf("%d operations in %d tenths of a second: %+v", result.OK, len(starts), *result.Open)
	}
	for tenth, n := range starts {
		if n != 10 {
			t.Errorf("%d starts in tenth %d", n, tenth)
		}
	}
	if top, _ := result.Lateness.Max(); top != 0 || result.Wakes.Count() != 1000 {
		t.Errorf("lateness %v, %d wakes", time.Duration(top), result.Wakes.Count())
	}
}

// A stall of 2 s with 1,000 operations a second due meanwhile (coordinated omission): about a fifth of all operations wait for it, and the
// response times say so. The service times do not.
func TestStallShowsInResponseTimes(t *testing.T) {
	s := &script{}
	s.do = func(ctx context.Context, _ op) error {
		at := time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)) // when a bubble's time begins
		if at >= 5*time.Second && at < 7*time.Second {
			return sleep(ctx, 7*time.Second-at)
		}
		return sleep(ctx, time.Millisecond)
	}
	result := s.open(t, Leg{Clients: 8, Window: 10 * time.Second, Keys: 10}, 1000, false)
	if result.OK != 10_000 || result.Open.Dropped != 0 {
		t.Fatalf("%d operations, %+v", result.OK, *result.Open)
	}
	for _, c := range []struct {
		h         *Histogram
		q         float64
		low, high time.Duration
		which     string
	}{
		{result.Response, 0.99, 1800 * time.Millisecond, 2010 * time.Millisecond, "response p99"},
		{result.Response, 0.50, time.Millisecond, 2 * time.Millisecond, "response p50"},
		{result.Service, 0.99, time.Millisecond, 2 * time.Millisecond, "service p99"},
		{result.Lateness, 0.99, 1800 * time.Millisecond, 2010 * time.Millisecond, "lateness p99"},
		{result.Wakes, 1, 0, 0, "longest wake"},
	} {
		ns, _ := c.h.Quantile(c.q)
		if got := time.Duration(ns); got < c.low || got > c.high {
			t.Errorf("%s is %v, want %v to %v", c.which, got, c.low, c.high)
		}
	}
	late := 0.0
	for b := range result.Response.Buckets() {
		if b.Low > int64(3*time.Millisecond) {
			late += float64(b.Count)
		}
	}
	if share := late / float64(result.OK); share < 0.19 || share > 0.30 {
		t.Errorf("%.3f of the operations waited", share)
	}
}

// Twice the capacity: the backlog grows by what is not done.
func TestOverloadShowsInTheBacklog(t *testing.T) {
	for _, warmup := range []time.Duration{0, 3 * time.Second} {
		s := &script{do: taking(10 * time.Millisecond)} // 5 workers do 500 a second
		result := s.open(t, Leg{Clients: 5, Warmup: warmup, Window: 10 * time.Second, Keys: 10}, 1000, false)
		open := result.Open
		if open.Due != 10_000 || open.Started != 5000 || open.Dropped != 5000 || result.OK != 5000 {
			t.Fatalf("%+v", *open)
		}
		if open.Growth < 480 || open.Growth > 520 {
			t.Errorf("the backlog grows by %v a second, want about 500", open.Growth)
		}
		if b := result.Intervals[4].Backlog; b < 2300 || b > 2700 {
			t.Errorf("a backlog of %d after 5 s, want about 2500", b)
		}
		if result.Wall < 10*time.Second || result.Wall > 10*time.Second+20*time.Millisecond {
			t.Errorf("wall %v", result.Wall)
		}
	}
}

func TestOpenLoopOfSamples(t *testing.T) {
	result := (&script{do: taking(time.Millisecond)}).open(t, Leg{Clients: 4, Samples: 500}, 100, true)
	if result.OK != 500 || result.Open.Due != 500 || result.Open.Dropped != 0 {
		t.Errorf("%d operations, %+v", result.OK, *result.Open)
	}
	if result.Wall < 4*time.Second || result.Wall > 6*time.Second {
		t.Errorf("500 operations at 100 a second took %v", result.Wall)
	}
}

// At one operation a second, ten clients wait most of the time, and that is neither service nor response (no back-filling).
func TestIdlingIsNoLatency(t *testing.T) {
	result := (&script{do: taking(time.Millisecond)}).open(t, Leg{Clients: 10, Window: 20 * time.Second, Keys: 10}, 1, false)
	service, _ := result.Service.Max()
	response, _ := result.Response.Max()
	if result.OK != 20 || service != 1e6 || response != 1e6 {
		t.Errorf("%d operations, service up to %d ns, response up to %d ns", result.OK, service, response)
	}
}

// A stall in the warm-up leaves nothing to the window.
func TestWarmupsBacklogIsLeftBehind(t *testing.T) {
	s := &script{}
	s.do = func(ctx context.Context, op op) error {
		if op.number == 0 {
			return sleep(ctx, 1900*time.Millisecond)
		}
		return sleep(ctx, time.Millisecond)
	}
	result := s.open(t, Leg{Clients: 2, Warmup: 2 * time.Second, Window: 5 * time.Second, Keys: 10}, 1000, false)
	top, _ := result.Response.Max()
	if result.Open.Dropped != 0 || result.OK != 5000 || top > 3e6 {
		t.Errorf("%d operations, %d dropped, response up to %v", result.OK, result.Open.Dropped, time.Duration(top))
	}
}

package load

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestWindowedLegRecordsTheWindowOnly(t *testing.T) {
	s := &script{slots: 8, do: taking(10 * time.Millisecond)}
	result := s.must(t, Leg{Clients: 3, Warmup: 2 * time.Second, Window: 5 * time.Second, Keys: 100, First: 1000})
	if result.OK != 3*500 || result.Warmup != 3*200 || result.Wall != 5*time.Second {
		t.Errorf("%d in the window, %d in the warm-up, wall %v", result.OK, result.Warmup, result.Wall)
	}
	if len(result.Intervals) != 6 { // the last operations end at 5.000 s
		t.Errorf("%d intervals", len(result.Intervals))
	}
	n, rows := s.total()
	if n != 2100 || len(rows) != 100 || rows[0] != 1000 || rows[99] != 1099 {
		t.Errorf("%d operations on %d rows", n, len(rows))
	}
	for row, times := range s.done {
		if times < 20 || times > 22 { // round and round, blocks apart
			t.Errorf("row %d was read %d times, want about 21", row, times)
		}
	}
}

func TestWindowWithoutWarmup(t *testing.T) {
	result := (&script{do: taking(100 * time.Millisecond)}).must(t, Leg{Clients: 2, Window: time.Second, Keys: 1})
	if result.OK != 20 || result.Warmup != 0 || result.Wall != time.Second {
		t.Errorf("%d in the window, %d in the warm-up, wall %v", result.OK, result.Warmup, result.Wall)
	}
}

// An operation that is running when the warm-up ends belongs to neither side, and the window is not shortened by it.
func TestWindowBeginsWithItsFirstOperation(t *testing.T) {
	result := (&script{do: taking(4 * time.Second)}).must(t, Leg{Warmup: 5 * time.Second, Window: 11 * time.Second, Keys: 1})
	// Operations at 0, 4 (warm-up); 8, 12, 16 (recorded). The window is 8 to 19 s; the last ends at 20 s.
	if result.Warmup != 2 || result.OK != 3 || result.Wall != 12*time.Second {
		t.Errorf("%d in the warm-up, %d in the window, wall %v", result.Warmup, result.OK, result.Wall)
	}
	if rate := float64(result.OK) / result.Wall.Seconds(); rate != 0.25 {
		t.Errorf("%v operations per second, want 0.25", rate)
	}
}

func TestSlowSettlingIsLeftOutOfTheWindow(t *testing.T) {
	s := &script{do: func(ctx context.Context, op op) error {
		return sleep(ctx, 10*time.Millisecond+time.Duration(90*time.Millisecond)>>min(op.number/5, 40))
	}}
	result := s.must(t, Leg{Clients: 4, Warmup: 10 * time.Second, Window: 10 * time.Second, Keys: 1000})
	if top, _ := result.Service.Max(); top > 10_100_000 {
		t.Errorf("the slowest operation of the window took %v: the warm-up is in it", time.Duration(top))
	}
}

func TestMinimumOfSamplesOutlastsTheWindow(t *testing.T) {
	for name, c := range map[string]struct {
		leg          Leg
		do           func(context.Context, op) error
		least, most  int64
		failed, wall int64
	}{
		"slow": {
			Leg{Clients: 2, Warmup: time.Second, Window: 5 * time.Second, Keys: 10, MinSamples: 10}, taking(3 * time.Second), 10, 11, 0, 18,
		},
		"reached in the window": {
			Leg{Clients: 2, Window: 5 * time.Second, Keys: 10, MinSamples: 8}, taking(time.Second), 10, 10, 0, 5,
		},
		"all failing": {
			Leg{Clients: 2, Window: 5 * time.Second, Keys: 10, MinSamples: 10, MaxErrorRate: 1},
			func(ctx context.Context, _ op) error { _ = sleep(ctx, 3*time.Second); return errRefused }, 10, 11, 10, 18,
		},
	} {
		t.Run(name, func(t *testing.T) {
			result := (&script{slots: 16, do: c.do}).must(t, c.leg)
			if n := result.OK + result.Failed; n < c.least || n > c.most || result.Failed < c.failed {
				t.Errorf("%d operations, %d failed", n, result.Failed)
			}
			if wall := int64(result.Wall.Seconds()); wall > c.wall {
				t.Errorf("wall %v, want at most %d s", result.Wall, c.wall)
			}
		})
	}
}

// Fast operations in large chunks end with the window all the same.
func TestChunksEndWithTheWindow(t *testing.T) {
	result := (&script{slots: 64, do: taking(5 * time.Microsecond)}).must(t, Leg{Window: 50 * time.Millisecond, Keys: 1 << 40})
	if result.Wall < 50*time.Millisecond || result.Wall > 50*time.Millisecond+5*time.Microsecond {
		t.Errorf("wall %v", result.Wall)
	}
}

func TestFailuresOfTheWarmupAreSeen(t *testing.T) {
	s := &script{do: func(ctx context.Context, op op) error {
		_ = sleep(ctx, 10*time.Millisecond)
		if op.number == 3 {
			return errRefused
		}
		return nil
	}}
	leg := Leg{Warmup: time.Second, Window: time.Second, Keys: 10}
	result := s.must(t, leg)
	if result.Failed != 1 || result.OK != 0 || result.Service != nil || result.Stopped != StoppedErrors || !result.OverBudget {
		t.Errorf("a failure in the warm-up of a leg that allows none: %+v", result)
	}
	leg.MaxErrorRate = 0.1
	s = &script{do: s.do}
	result = s.must(t, leg)
	if result.Failed != 1 || result.OK != 100 || result.Warmup != 99 || result.Stopped != "" || result.OverBudget {
		t.Errorf("a failure in the warm-up of a leg that allows some: %+v", result)
	}
}

func TestFirstRecordedAnswerIsChecked(t *testing.T) {
	s := &script{do: taking(100 * time.Millisecond)}
	result := s.must(t, Leg{Clients: 3, Warmup: time.Second, Window: time.Second, Keys: 10})
	if result.Checked != 6 { // of each worker, the first of the warm-up and the first of the window
		t.Errorf("%d answers checked", result.Checked)
	}
}

// A server that does one slow operation a second, whatever is asked of it: no more are started than fit, and the leg ends near the end
// of its window, not 500 s later.
func TestNoMoreAreStartedThanFit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turn := make(chan struct{}, 1)
		s := &script{do: func(ctx context.Context, _ op) error {
			turn <- struct{}{}
			defer func() { <-turn }()
			return sleep(ctx, time.Second)
		}}
		leg := Leg{Clients: 50, Threads: 10, Warmup: 15 * time.Second, Window: 30 * time.Second, Keys: 10, MinSamples: 10}
		result, err := s.runIn(t.Context(), t, leg)
		if err != nil {
			t.Fatal(err)
		}
		// 45 by the rate, besides the 10 that the warm-up leaves running.
		if result.OK < 30 || result.OK > 45 || result.Active > 45 {
			t.Errorf("%d operations by %d workers", result.OK, result.Active)
		}
		if result.Wall > 60*time.Second {
			t.Errorf("wall %v", result.Wall)
		}
	})
}

// Operations that become fast when more are in flight are not held to the rate of the warm-up.
func TestTheWindowsOwnRateCounts(t *testing.T) {
	s := &script{do: func(ctx context.Context, op op) error {
		if op.number < 3 {
			return sleep(ctx, time.Second)
		}
		return sleep(ctx, 10*time.Millisecond)
	}}
	result := s.must(t, Leg{Clients: 20, Warmup: 2 * time.Second, Window: 10 * time.Second, Keys: 10, MinSamples: 2})
	if result.Active != 20 {
		t.Errorf("%d workers were active", result.Active)
	}
	if result.OK < 10_000 || result.Wall < 10*time.Second {
		t.Errorf("%d operations in %v", result.OK, result.Wall)
	}
}

func TestMaximumOfSamples(t *testing.T) {
	for _, warmup := range []time.Duration{0, time.Second} {
		leg := Leg{Clients: 7, Warmup: warmup, Window: 10 * time.Second, Keys: 10, MinSamples: 5, MaxSamples: 100}
		result := (&script{slots: 8, do: taking(time.Millisecond)}).must(t, leg)
		if result.OK != 100 || result.Stopped != "" {
			t.Errorf("%d operations, stopped %q", result.OK, result.Stopped)
		}
	}
	if _, err := (&script{}).run(t, Leg{Window: time.Second, Keys: 1, MinSamples: 5, MaxSamples: 4}); err == nil {
		t.Error("a maximum below the minimum is taken")
	}
}

func TestHalves(t *testing.T) {
	seconds := func(ok ...int64) (intervals []Interval) {
		for i, n := range ok {
			intervals = append(intervals, Interval{Second: int64(i), OK: n})
		}
		return intervals
	}
	for name, c := range map[string]struct {
		intervals []Interval
		want      *Halves
	}{
		"too short":          {seconds(5, 5, 5, 5), nil},
		"none":               {nil, nil},
		"steady":             {seconds(1000, 1010, 990, 1005, 3), &Halves{1005, 997.5, true}},
		"getting faster":     {seconds(1000, 1010, 2000, 2000, 3), &Halves{1005, 2000, false}},
		"too few to tell":    {seconds(3, 2, 4, 4, 1), &Halves{2.5, 4, true}},
		"stands in the end":  {seconds(100, 100, 0, 0, 0), &Halves{100, 0, false}},
		"odd second dropped": {seconds(100, 100, 100, 100, 9000, 1), &Halves{100, 100, true}},
	} {
		t.Run(name, func(t *testing.T) {
			got := HalvesOf(c.intervals)
			if (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

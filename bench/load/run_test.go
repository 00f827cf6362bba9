package load

import (
	"context"
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestCountedLegCoversEachRowOnce(t *testing.T) {
	for name, c := range map[string]struct {
		leg   Leg
		slots int
	}{
		"samples that do not divide":      {Leg{Clients: 7, Threads: 1, Samples: 1003}, 16},
		"clients with threads":            {Leg{Clients: 3, Threads: 5, Samples: 1003, First: 1 << 40}, 64},
		"fewer samples than workers":      {Leg{Clients: 8, Threads: 8, Samples: 5}, 1},
		"one sample":                      {Leg{Clients: 1, Threads: 1, Samples: 1}, 4},
		"the last rows there can be":      {Leg{Clients: 2, Threads: 2, Samples: 100, First: math.MaxUint64 - 99}, 8},
		"more slots than are ever used":   {Leg{Clients: 2, Threads: 1, Samples: 5000}, 1000},
		"every answer checked on its way": {Leg{Clients: 2, Threads: 2, Samples: 500, Verify: VerifyAll}, 8},
	} {
		t.Run(name, func(t *testing.T) {
			s := &script{slots: c.slots}
			result, err := s.runIn(t.Context(), t, c.leg)
			if err != nil {
				t.Fatal(err)
			}
			checkCovered(t, s, c.leg, result)
		})
	}
}

func TestCountedLegCoversEachRowOnceWhateverItsShape(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		leg := Leg{
			Clients: rapid.IntRange(1, 12).Draw(t, "clients"),
			Threads: rapid.IntRange(1, 6).Draw(t, "threads"),
			Samples: rapid.Int64Range(1, 3000).Draw(t, "samples"),
			First:   rapid.Uint64Range(0, math.MaxUint64-3000).Draw(t, "first"),
			Verify:  rapid.SampledFrom([]Verify{"", VerifySample, VerifyAll, VerifyNone}).Draw(t, "verify"),
		}
		failing := rapid.Uint64Range(1, 20).Draw(t, "one fails in")
		s := &script{slots: rapid.IntRange(1, 100).Draw(t, "slots")}
		if rapid.Bool().Draw(t, "failures") {
			leg.MaxErrorRate = 1
			s.do = func(_ context.Context, op op) error {
				if op.index%failing == 0 {
					return errRefused
				}
				return nil
			}
		}
		result, err := Run(context.Background(), leg, s.newWorker)
		if err != nil {
			t.Fatal(err)
		}
		for _, breach := range s.breaches {
			t.Error(breach)
		}
		checkResult(t, result)
		checkCovered(t, s, leg, result)
	})
}

func checkCovered(t failer, s *script, leg Leg, result *Result) {
	t.Helper()
	if result.OK+result.Failed != leg.Samples || result.Stopped != "" {
		t.Errorf("%d succeeded and %d failed of %d, stopped %q", result.OK, result.Failed, leg.Samples, result.Stopped)
	}
	n, rows := s.total()
	if int64(n) != leg.Samples || int64(len(rows)) != leg.Samples {
		t.Errorf("%d operations on %d rows, want %d", n, len(rows), leg.Samples)
	}
	if rows[0] != leg.First || rows[len(rows)-1] != leg.First+uint64(leg.Samples-1) {
		t.Errorf("rows %d to %d, want %d from %d", rows[0], rows[len(rows)-1], leg.Samples, leg.First)
	}
	want := int64(0)
	switch leg.Verify {
	case VerifyAll:
		want = result.OK
	case VerifyNone:
	default:
		if result.Checked == 0 && result.OK > 0 {
			t.Errorf("no answer was checked")
		}
		want = result.Checked
	}
	if result.Checked != want || int64(s.checked) != want {
		t.Errorf("%d answers counted as checked, %d were, want %d of %d", result.Checked, s.checked, want, result.OK)
	}
}

func TestServiceTimeIsWhatAnOperationTakes(t *testing.T) {
	s := &script{slots: 8, do: taking(3 * time.Millisecond), check: func(op) error {
		time.Sleep(time.Second) // off the clock
		return nil
	}, ready: func(op) error {
		time.Sleep(time.Second)
		return nil
	}}
	result := s.must(t, Leg{Samples: 50})
	for _, q := range []float64{0, 1} {
		if got, _ := result.Service.Quantile(q); got != 3e6 {
			t.Errorf("q %v is %v, want 3ms", q, time.Duration(got))
		}
	}
	if hi, lo := result.Service.Sum(); hi != 0 || lo != 50*3e6 {
		t.Errorf("sum %d %d, want 150ms", hi, lo)
	}
	if want := 50*(3*time.Millisecond+time.Second) + time.Second; result.Wall != want { // the one check is the first
		t.Errorf("wall %v, want %v: from the release to the end of the last operation", result.Wall, want)
	}
}

func TestWallEndsWithTheLastOperation(t *testing.T) {
	s := &script{do: func(ctx context.Context, op op) error {
		return sleep(ctx, time.Duration(op.index+1)*time.Second)
	}}
	result := s.must(t, Leg{Clients: 4, Samples: 4})
	if result.Wall != 4*time.Second {
		t.Errorf("wall %v, want 4s", result.Wall)
	}
	want := []int64{0, 1, 1, 1, 1} // each ended in the second it says
	for i, interval := range result.Intervals {
		if interval.OK != want[i] {
			t.Errorf("second %d has %d operations, want %d", i, interval.OK, want[i])
		}
	}
}

// Operations faster than the clock's tick must not read as zero; here every operation is, since fake time stands still.
func TestFastOperationsTakeMoreThanNothing(t *testing.T) {
	result := (&script{slots: 16}).must(t, Leg{Clients: 2, Samples: 1000})
	if least, _ := result.Service.Min(); least != 1 {
		t.Errorf("minimum %d ns", least)
	}
	if p50, _ := result.Service.Quantile(0.5); p50 != 1 {
		t.Errorf("median %d ns", p50)
	}
}

func TestSubMicrosecondOperationsOnTheRealClock(t *testing.T) {
	result, err := Run(t.Context(), Leg{Clients: 1, Threads: 1, Samples: 20000, Verify: VerifyNone}, newDry)
	if err != nil {
		t.Fatal(err)
	}
	checkResult(t, result)
	p50, _ := result.Service.Quantile(0.5)
	if mean, _ := result.Service.Mean(); p50 < 1 || p50 > 100_000 || mean < 1 {
		t.Errorf("median %d ns, mean %v ns of an operation that does nothing", p50, mean)
	}
}

// An operation of 200 s, as sysbench cannot tell it from one of 100 s.
func TestVeryLongOperationIsSeenAsLongAsItIs(t *testing.T) {
	s := &script{do: func(ctx context.Context, op op) error {
		if op.index == 30 {
			return sleep(ctx, 200*time.Second)
		}
		return sleep(ctx, time.Millisecond)
	}}
	result := s.must(t, Leg{Samples: 60})
	if p99, _ := result.Service.Quantile(0.99); p99 != 200e9 {
		t.Errorf("p99 is %v", time.Duration(p99))
	}
	if len(result.Intervals) != 201 {
		t.Errorf("%d intervals, want 201", len(result.Intervals))
	}
	for _, i := range result.Intervals[1:200] {
		if i.OK != 0 || i.Service != nil {
			t.Errorf("second %d of the stall: %+v", i.Second, i)
		}
	}
}

func TestStallOfOneWorkerKeepsTheOthersSecondsRight(t *testing.T) {
	// Worker 0 stalls for 20 s right after fast operations that it has not given away; the seconds it holds back stay open for it.
	s := &script{slots: 16, do: func(ctx context.Context, op op) error {
		if op.client == 0 && op.number == 40 {
			return sleep(ctx, 20*time.Second)
		}
		return sleep(ctx, 20*time.Microsecond)
	}}
	result := s.must(t, Leg{Clients: 2, Samples: 100_000})
	if result.OK != 100_000 {
		t.Errorf("%d succeeded", result.OK)
	}
	if top, _ := result.Service.Max(); top != 20e9 {
		t.Errorf("maximum %v", time.Duration(top))
	}
	if last := result.Intervals[len(result.Intervals)-1]; last.Second != 20 || last.Service.Max != 20e9 {
		t.Errorf("last interval %+v", last)
	}
}

func TestNoSampleNoFigure(t *testing.T) {
	result, err := (&script{do: func(context.Context, op) error { return errRefused }}).run(t, Leg{Clients: 4, Samples: 100, MaxErrorRate: 1})
	if err != nil {
		t.Fatal(err)
	}
	if result.OK != 0 || result.Service != nil || result.Failed != 100 || result.OverBudget {
		t.Errorf("%+v", result)
	}
	for _, i := range result.Intervals {
		if i.Service != nil {
			t.Errorf("latency in second %d", i.Second)
		}
	}
}

func TestRunRefusesContradictions(t *testing.T) {
	good := Leg{Clients: 1, Threads: 1, Samples: 1}
	for name, c := range map[string]struct {
		leg  func(*Leg)
		says string
	}{
		"no clients":             {func(l *Leg) { l.Clients = 0 }, "clients 0"},
		"too many":               {func(l *Leg) { l.Clients, l.Threads = math.MaxInt32, 2 }, "at most"},
		"negative samples":       {func(l *Leg) { l.Samples = -1 }, "samples -1"},
		"no window":              {func(l *Leg) { l.Samples, l.Keys = 0, 1 }, "window 0s"},
		"no keys":                {func(l *Leg) { l.Samples, l.Window = 0, 1 }, "keys 0"},
		"window beside samples":  {func(l *Leg) { l.Window = time.Second }, "window 1s"},
		"rows past the last":     {func(l *Leg) { l.First, l.Samples = math.MaxUint64, 2 }, "largest index"},
		"keys past the last":     {func(l *Leg) { l.First, l.Samples, l.Window, l.Keys = math.MaxUint64, 0, 1, 2 }, "largest index"},
		"rate above one":         {func(l *Leg) { l.MaxErrorRate = 1.5 }, "error rate 1.5"},
		"rate that is no number": {func(l *Leg) { l.MaxErrorRate = math.NaN() }, "error rate NaN"},
		"unknown verification":   {func(l *Leg) { l.Verify = "some" }, `verify "some"`},
		"negative timeout":       {func(l *Leg) { l.OperationTimeout = -1 }, "timeout -1ns"},
		"two at once":            {func(l *Leg) { l.Clients, l.MaxErrorRate = 0, 2 }, "error rate 2"},
	} {
		t.Run(name, func(t *testing.T) {
			leg := good
			c.leg(&leg)
			result, err := Run(t.Context(), leg, func(int, int) (Worker, error) { return nil, errors.New("made") })
			if result != nil || err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("result %v, error %v, want one that says %q", result, err, c.says)
			}
		})
	}
}

func TestWorkerThatCannotBeMadeEndsTheLegBeforeItBegins(t *testing.T) {
	for name, make := range map[string]func() (Worker, error){
		"error":    func() (Worker, error) { return nil, errRefused },
		"panic":    func() (Worker, error) { panic("connection refused") },
		"no slots": func() (Worker, error) { return new(slotless), nil },
		"nothing":  func() (Worker, error) { return nil, nil },
	} {
		t.Run(name, func(t *testing.T) {
			s := &script{}
			result, err := Run(t.Context(), Leg{Clients: 3, Threads: 2, Samples: 10}, func(client, thread int) (Worker, error) {
				if client == 1 && thread == 1 {
					return make()
				}
				return s.newWorker(client, thread)
			})
			if result != nil || err == nil || !strings.Contains(err.Error(), "client 1 thread 1") {
				t.Errorf("result %v, error %v", result, err)
			}
			if n, _ := s.total(); n != 0 {
				t.Errorf("%d operations were done", n)
			}
		})
	}
}

type slotless struct{ Worker }

func (*slotless) Slots() int { return 0 }

func TestPanicBecomesTheLegsError(t *testing.T) {
	for name, s := range map[string]*script{
		"do":    {do: func(_ context.Context, op op) error { return blow(op) }},
		"check": {check: blow},
		"ready": {ready: blow},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := s.run(t, Leg{Clients: 4, Samples: 10_000, Verify: VerifyAll})
			if result == nil || err == nil {
				t.Fatalf("result %v, error %v", result, err)
			}
			for _, want := range []string{"client", "panic: blown", "load.blow("} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error does not say %q: %v", want, err)
				}
			}
			if len(err.Error()) > 4000 {
				t.Errorf("error has %d characters", len(err.Error()))
			}
			if result.Stopped != StoppedFault || result.OK >= 10_000 {
				t.Errorf("stopped %q after %d", result.Stopped, result.OK)
			}
		})
	}
}

func blow(op op) error {
	if op.index == 77 {
		panic("blown")
	}
	return nil
}

func TestGoroutineEndedFromWithinIsAFault(t *testing.T) {
	s := &script{do: func(_ context.Context, op op) error {
		if op.index == 7 {
			runtime.Goexit()
		}
		return nil
	}}
	result, err := s.run(t, Leg{Clients: 2, Samples: 100})
	if err == nil || !strings.Contains(err.Error(), "Goexit") || result.Stopped != StoppedFault {
		t.Errorf("error %v, stopped %q", err, result.Stopped)
	}
}

func TestOperationThatCannotBeMadeReadyIsAFault(t *testing.T) {
	s := &script{slots: 4, ready: func(op op) error {
		if op.index == 50 {
			return errors.New("no such key")
		}
		return nil
	}}
	result, err := s.run(t, Leg{Samples: 100, MaxErrorRate: 1})
	if err == nil || !strings.Contains(err.Error(), "row 50") || !strings.Contains(err.Error(), "no such key") {
		t.Errorf("error %v", err)
	}
	if result.Stopped != StoppedFault || result.Failed != 0 || result.OK > 50 {
		t.Errorf("stopped %q, %d succeeded, %d failed: it is not the database's failure", result.Stopped, result.OK, result.Failed)
	}
}

func TestGarbageCollectorIsWatched(t *testing.T) {
	s := &script{do: func(_ context.Context, op op) error {
		if op.index%100 == 0 {
			runtime.GC()
		}
		return nil
	}}
	result, err := s.runIn(t.Context(), t, Leg{Samples: 1000})
	if err != nil {
		t.Fatal(err)
	}
	if gc := result.GC; gc.Cycles < 10 || gc.Pause <= 0 || gc.CPUShare <= 0 || gc.HeapBytes <= 0 {
		t.Errorf("%+v after 10 collections", gc)
	}
}

func TestMeasureClock(t *testing.T) {
	if cost := MeasureClock(); cost < 1 || cost > 100*time.Microsecond {
		t.Errorf("a reading of the clock costs %v", cost)
	}
}

// An error whose text cannot be made takes its own worker down, and no other worker waits for it for ever.
func TestPanicInAnErrorsText(t *testing.T) {
	s := &script{do: func(_ context.Context, op op) error {
		if op.index > 50 {
			return textless{}
		}
		return nil
	}}
	result, err := s.run(t, Leg{Clients: 4, Samples: 1000, MaxErrorRate: 1})
	if err == nil || !strings.Contains(err.Error(), "panic: no text") || result.Stopped != StoppedFault || result.OK > 51 {
		t.Errorf("error %v, stopped %q, %d succeeded", err, result.Stopped, result.OK)
	}
}

type textless struct{}

func (textless) Error() string { panic("no text") }

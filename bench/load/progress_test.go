package load

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// watchProgress collects reports and checks that they are a sequence.
func watchProgress(t *testing.T, leg *Leg) *[]Progress {
	var all []Progress
	leg.Progress = func(p Progress) {
		if n := len(all); n > 0 {
			last := all[n-1]
			if p.Done < last.Done || p.Failed < last.Failed || p.Elapsed < last.Elapsed || last.Final || p.Warming && !last.Warming {
				t.Errorf("%+v after %+v", p, last)
			}
		}
		all = append(all, p)
	}
	return &all
}

func TestProgressOncePerSecondAndOnceAtTheEnd(t *testing.T) {
	leg := Leg{Clients: 2, Samples: 1000}
	all := watchProgress(t, &leg)
	result := (&script{do: taking(10 * time.Millisecond)}).must(t, leg)
	if len(*all) < 5 || len(*all) > 6 {
		t.Fatalf("%d reports in %v", len(*all), result.Wall)
	}
	last := (*all)[len(*all)-1]
	if !last.Final || last.Done != 1000 || last.Total != 1000 || last.Rate != 200 || last.P99 != 10*time.Millisecond {
		t.Errorf("last report %+v", last)
	}
	for i, p := range (*all)[:4] {
		if p.Final || p.Rate < 190 || p.Rate > 210 || p.P99 != 10*time.Millisecond || p.Elapsed != time.Duration(i+1)*time.Second {
			t.Errorf("report %d: %+v", i, p)
		}
	}
}

func TestProgressShowsTheWarmup(t *testing.T) {
	leg := Leg{Warmup: 3 * time.Second, Window: 3 * time.Second, Keys: 10}
	all := watchProgress(t, &leg)
	result := (&script{do: taking(10 * time.Millisecond)}).must(t, leg)
	first, last := (*all)[1], (*all)[len(*all)-1]
	if !first.Warming || first.Done < 190 || first.Rate < 90 || first.P99 != 10*time.Millisecond || first.Window != 3*time.Second {
		t.Errorf("in the warm-up: %+v", first)
	}
	if last.Warming || last.Done != result.Warmup+result.OK || !last.Final {
		t.Errorf("at the end: %+v, result %d and %d", last, result.Warmup, result.OK)
	}
}

func TestProgressCountsFailuresApart(t *testing.T) {
	leg := Leg{Samples: 100, MaxErrorRate: 1}
	all := watchProgress(t, &leg)
	(&script{do: func(ctx context.Context, op op) error {
		_ = sleep(ctx, 40*time.Millisecond)
		return errRefused
	}}).must(t, leg)
	for _, p := range *all {
		if p.Failed != p.Done || p.Rate != 0 || p.P99 != 0 || p.LastText != "connection refused" {
			t.Errorf("%+v of a leg that only fails", p)
		}
	}
}

func TestPanicInProgressIsAFault(t *testing.T) {
	result, err := (&script{do: taking(time.Second)}).run(t, Leg{Samples: 1000, Progress: func(Progress) { panic("blown") }})
	if err == nil || !strings.Contains(err.Error(), "panic in progress: blown") || result.Stopped != StoppedFault {
		t.Errorf("error %v, stopped %q", err, result.Stopped)
	}
}

// Eight workers at full speed, a reporter that reads what they write, failures and wrong answers: for the race detector.
func TestLiveReporterBesideBusyWorkers(t *testing.T) {
	var mu sync.Mutex
	reports := 0
	s := &script{slots: 32, overdue: true, do: func(_ context.Context, op op) error {
		if op.index%997 == 0 {
			return fmt.Errorf("row %d: %w", op.index, errRefused)
		}
		return nil
	}, check: func(op op) error {
		if op.index%1009 == 0 {
			return &Mismatch{Index: op.index}
		}
		return nil
	}}
	result, err := s.runIn(t.Context(), t, Leg{
		Clients: 8, Window: 1200 * time.Millisecond, Warmup: 100 * time.Millisecond, Keys: 10_000, MaxErrorRate: 0.5,
		OperationTimeout: 20 * time.Millisecond, Progress: func(Progress) { mu.Lock(); reports++; mu.Unlock() },
	})
	if err != nil {
		t.Fatal(err)
	}
	if result.OK == 0 || result.Failed == 0 || reports < 2 {
		t.Errorf("%d succeeded, %d failed, %d reports", result.OK, result.Failed, reports)
	}
}

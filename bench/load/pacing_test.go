package load

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// every is a pacer that means one operation per period and worker.
type every struct {
	period time.Duration
	base   time.Time
	turns  []atomic.Int64
}

func (e *every) Next(ctx context.Context, worker int) (time.Duration, error) {
	intended := time.Duration(e.turns[worker].Add(1)-1) * e.period
	return intended, sleep(ctx, time.Until(e.base.Add(intended)))
}

func (e *every) Start(base time.Time) { e.base = base }

func (e *every) Due(before time.Duration) int64 {
	return int64(len(e.turns)) * int64((before+e.period-1)/e.period)
}

func (e *every) Taken() (taken int64) {
	for i := range e.turns {
		taken += e.turns[i].Load()
	}
	return taken
}

// One worker, an operation per 100 ms of 1 ms each, and a stall of 2 s: service times hide the stall, response times do not.
func TestResponseTimeIsFromTheIntendedStart(t *testing.T) {
	s := &script{slots: 8}
	s.do = func(ctx context.Context, op op) error {
		if op.index == 50 {
			return sleep(ctx, 2*time.Second)
		}
		return sleep(ctx, time.Millisecond)
	}
	result := s.mustPaced(t, Leg{Samples: 100}, 100*time.Millisecond)
	if p98, _ := result.Service.Quantile(0.98); p98 < 1e6 || p98 > 1.004e6 {
		t.Errorf("service p98 %v, want 1ms", time.Duration(p98))
	}
	// The stalled one and the 20 that were due meanwhile: 2 s, then 99 ms less for each.
	if p90, _ := result.Response.Quantile(0.90); p90 < 1.0e9 || p90 > 1.02e9 {
		t.Errorf("response p90 %v, want about 1s", time.Duration(p90))
	}
	if top, _ := result.Response.Max(); top != 2e9 {
		t.Errorf("response maximum %v, want 2s", time.Duration(top))
	}
	if result.Wall != 99*100*time.Millisecond+time.Millisecond {
		t.Errorf("wall %v", result.Wall)
	}
}

// At a low rate, waiting for the next turn is nobody's latency.
func TestWaitingIsNotService(t *testing.T) {
	result := (&script{do: taking(time.Millisecond)}).mustPaced(t, Leg{Clients: 10, Window: 20 * time.Second, Keys: 5}, 10*time.Second)
	if top, _ := result.Service.Max(); result.OK != 20 || top != 1e6 {
		t.Errorf("%d operations, maximum %v", result.OK, time.Duration(top))
	}
	if top, _ := result.Response.Max(); top != 1e6 {
		t.Errorf("response maximum %v", time.Duration(top))
	}
}

func TestPacedWarmup(t *testing.T) {
	result := (&script{do: taking(time.Millisecond)}).mustPaced(t, Leg{Warmup: time.Second, Window: time.Second, Keys: 5}, 10*time.Millisecond)
	if result.Warmup != 100 || result.OK != 100 {
		t.Errorf("%d in the warm-up, %d in the window", result.Warmup, result.OK)
	}
}

func TestPacerThatFailsIsAFault(t *testing.T) {
	result, err := (&script{}).run(t, Leg{Samples: 10, Pacing: brokenPacer{}})
	if err == nil || !strings.Contains(err.Error(), "pace: no schedule") || result.Stopped != StoppedFault {
		t.Errorf("error %v, stopped %q", err, result.Stopped)
	}
}

type brokenPacer struct{}

func (brokenPacer) Next(context.Context, int) (time.Duration, error) {
	return 0, errors.New("no schedule")
}

func (brokenPacer) Start(time.Time)         {}
func (brokenPacer) Due(time.Duration) int64 { return 0 }
func (brokenPacer) Taken() int64            { return 0 }

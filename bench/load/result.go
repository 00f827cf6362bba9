package load

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// result makes the leg's result once all workers have ended, but those given up.
func (r *legRun) result(before collected, stuck []*loop) *Result {
	result := &Result{GC: readGC().since(before)}
	r.given.Store(true)
	for _, l := range stuck {
		r.giveUp(l)
	}
	r.intervals.seal()
	t := r.intervals.totals()
	result.OK, result.Warmup, result.Checked = t.ok, t.warmup, t.checked
	result.Failed = t.failed + t.warmupFailed
	if total := &r.intervals.total; total.Count() > 0 {
		result.Service = total
		if r.leg.Pacing != nil {
			result.Response = &r.intervals.response
		}
	}
	result.Intervals = r.intervals.closed
	r.failures.report(result)
	result.OverBudget = r.budget.exceeded(r.failures.judged.Load(), t.ok+t.warmup+result.Failed)
	r.time(result, len(stuck) > 0)

	r.stopLock.Lock()
	defer r.stopLock.Unlock()
	if result.Stopped = r.why; result.Stopped != "" && r.complete(t) {
		result.Stopped = "" // it was told to stop when there was nothing left to do
	}
	return result
}

// complete tells whether a counted leg has done all it was to do.
func (r *legRun) complete(t totals) bool {
	return r.why == StoppedCancelled && !r.leg.windowed() && t.ok+t.failed == r.leg.Samples && r.failures.judged.Load() == t.failed
}

// giveUp counts the operation that a stuck worker is in. What it did in the stretch before is in its own hands and lost with it.
func (r *legRun) giveUp(l *loop) {
	class, err := ClassCancelled, errors.New("given up: it did not end when its context was cancelled")
	if l.cancelledAt > 0 {
		class, err = ClassTimeout, fmt.Errorf("operation timeout of %v passed: %w", r.leg.OperationTimeout, err)
	}
	r.failures.add(class, err)
	l.rec.shard.add(r.secondOf(r.now()), nil, nil, 1, 0)
}

// time fills in when the leg began and how long it took.
func (r *legRun) time(result *Result, stuck bool) {
	began, end := int64(0), int64(0)
	if r.leg.Warmup > 0 {
		began = never
	}
	firstRelease, lastRelease := never, int64(0)
	for _, l := range r.loops {
		if !l.ended.Load() {
			continue
		}
		firstRelease, lastRelease = min(firstRelease, l.released), max(lastRelease, l.released)
		if l.first == never {
			continue // it never left the warm-up
		}
		if r.leg.Warmup > 0 {
			began = min(began, l.first)
		}
		end = max(end, l.last)
	}
	if stuck {
		end = r.now()
	}
	if began == never { // nothing was measured
		began = end
	}
	result.Started = r.base.Add(time.Duration(began))
	result.Wall = time.Duration(max(end-began, 0))
	result.Skew = time.Duration(max(lastRelease-firstRelease, 0))
}

// err returns why the leg was not carried out; nil when it was.
func (r *legRun) err(ctx context.Context, result *Result, stuck []*loop) error {
	r.stopLock.Lock()
	defer r.stopLock.Unlock()
	errs := r.faults
	if result.Stopped == StoppedCancelled {
		errs = append(errs, fmt.Errorf("load leg: %w", context.Cause(ctx)))
	}
	if len(stuck) > 0 {
		e := &StuckError{After: abandonGrace}
		for _, l := range stuck {
			e.Workers = append(e.Workers, l.String())
		}
		errs = append(errs, e)
	}
	return errors.Join(errs...)
}

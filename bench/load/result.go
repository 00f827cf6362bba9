package load

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// result makes the leg's result once all workers have ended or were given up.
func (r *legRun) result(before collected) *Result {
	result := &Result{GC: readGC().since(before)}
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
	judged := r.failures.judged.Load()
	result.OverBudget = r.budget.exceeded(judged, t.ok+t.warmup+judged)
	r.timing(result)

	r.stopLock.Lock()
	defer r.stopLock.Unlock()
	if result.Stopped = r.why; result.Stopped != "" && r.complete(t) {
		result.Stopped = "" // it was told to stop when there was nothing left to do
	}
	return result
}

// complete tells whether a leg did all its operations, the last of them while it was being stopped.
func (r *legRun) complete(t totals) bool {
	if r.why != StoppedCancelled && r.why != StoppedErrors || r.failures.judged.Load() != t.failed+t.warmupFailed {
		return false
	}
	if r.leg.windowed() {
		origin := r.origin.Load()
		return origin != unset && r.stoppedAt-origin >= int64(r.leg.Window) && t.ok+t.failed >= r.leg.MinSamples
	}
	return t.ok+t.failed == r.leg.Samples
}

// timing fills in when the leg began and how long it took.
func (r *legRun) timing(result *Result) {
	began, end := int64(0), int64(0)
	if r.leg.Warmup > 0 {
		began = never
	}
	firstRelease, lastRelease := never, int64(0)
	for _, l := range r.loops {
		if l.given != "" {
			end = r.now() // its operation has not ended yet
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
	if began == never { // nothing was measured
		began = end
	}
	result.Started = r.base.Add(time.Duration(began))
	result.Wall = time.Duration(max(end-began, 0))
	result.Skew = time.Duration(max(lastRelease-firstRelease, 0))
}

// err returns why the leg was not carried out; nil when it was.
func (r *legRun) err(ctx context.Context, result *Result) error {
	r.stopLock.Lock()
	defer r.stopLock.Unlock()
	errs := r.faults
	if result.Stopped == StoppedCancelled {
		errs = append(errs, fmt.Errorf("load leg: %w", context.Cause(ctx)))
	}
	stuck := &StuckError{After: abandonGrace}
	for _, l := range r.loops {
		if l.given != "" {
			stuck.Workers = append(stuck.Workers, l.given)
		}
	}
	if len(stuck.Workers) > 0 {
		errs = append(errs, stuck)
	}
	return errors.Join(errs...)
}

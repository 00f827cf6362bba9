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
	r.parts(result, t)
	r.failures.report(result)
	judged := r.judged()
	result.OverBudget = r.budget.exceeded(judged, t.ok+t.warmup+t.followed-t.followFailed+judged)
	r.timing(result)

	r.stopLock.Lock()
	defer r.stopLock.Unlock()
	if result.Stopped = r.why; result.Stopped != "" && r.complete(t) {
		result.Stopped = "" // it was told to stop when there was nothing left to do
	}
	if r.leg.Pacing != nil {
		r.openLoop(result, t)
	}
	return result
}

// parts fills in what is told apart: kinds, following operations, the open loop.
func (r *legRun) parts(result *Result, t totals) {
	for i, name := range r.leg.Kinds {
		kind := KindResult{Name: name, Failed: r.failures.kinds[i]}
		if kind.Service = r.intervals.merged(func(s *shard) *Histogram { return &s.kinds[i] }); kind.Service != nil {
			kind.OK = kind.Service.Count()
		}
		result.Kinds = append(result.Kinds, kind)
	}
	for _, l := range r.loops {
		if l.given != "" || l.first != never {
			result.Active++
		}
		if l.follower != nil && result.Followed == nil {
			result.Followed = &KindResult{Failed: t.followFailed, Whole: t.whole, Errors: r.following.errors()}
		}
	}
	if result.Followed != nil {
		if h := r.intervals.merged(func(s *shard) *Histogram { return &s.follow }); h != nil {
			result.Followed.OK, result.Followed.Service = h.Count(), h
		}
	}
	if r.leg.Pacing != nil {
		result.Lateness = r.intervals.merged(func(s *shard) *Histogram { return &s.lateness })
		result.Wakes = r.intervals.merged(func(s *shard) *Histogram { return &s.wakes })
	}
}

// complete tells whether a leg did all its operations, the last of them while it was being stopped.
func (r *legRun) complete(t totals) bool {
	if r.why != StoppedCancelled && r.why != StoppedErrors || r.judged() != t.failed+t.warmupFailed+t.followFailed {
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
	late := r.leg.Warmup > 0 && r.leg.Pacing == nil
	switch {
	case late:
		began = never
	case r.leg.Pacing != nil && r.origin.Load() != unset:
		began = r.origin.Load() // even when nothing could start for a while
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
		if late {
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

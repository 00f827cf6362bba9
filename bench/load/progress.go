package load

import (
	"fmt"
	"runtime/debug"
	"time"
)

// report calls the leg's Progress once a second, and once more with what final holds.
func (r *legRun) report(final <-chan Progress) {
	defer func() {
		if cause := recover(); cause != nil {
			r.fault(fmt.Errorf("panic in progress: %v\n%s", cause, shortStack(debug.Stack())))
		}
	}()
	if r.leg.Progress == nil {
		<-final
		return
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var last Progress
	var lastOK int64
	for {
		select {
		case p := <-final:
			r.leg.Progress(p)
			return
		case <-tick.C:
		}
		now := r.now()
		t := r.intervals.totals()
		p := r.progress(t)
		p.Elapsed = time.Duration(now)
		p.Warming = r.origin.Load() == unset
		ok := t.ok + t.warmup
		if passed := p.Elapsed - last.Elapsed; passed > 0 {
			p.Rate = float64(ok-lastOK) / passed.Seconds()
		}
		if latency := r.intervals.latency(r.secondOf(now) - 1); latency != nil {
			p.P99 = time.Duration(latency.P99)
		}
		if r.leg.Pacing != nil {
			p.Backlog = r.waiting(now)
		}
		last, lastOK = p, ok
		r.leg.Progress(p)
	}
}

// progress returns what the totals tell.
func (r *legRun) progress(t totals) Progress {
	failed := t.failed + t.warmupFailed
	return Progress{
		Done:     t.ok + t.warmup + failed,
		Total:    r.leg.Samples,
		Failed:   failed,
		Window:   r.leg.Window,
		LastText: r.failures.last(),
	}
}

// finalProgress is the last report: its figures are the result's.
func (r *legRun) finalProgress(result *Result) Progress {
	p := r.progress(r.intervals.totals())
	p.Final = true
	p.Elapsed = time.Duration(r.now())
	if result.OK > 0 && result.Wall > 0 {
		p.Rate = float64(result.OK) / result.Wall.Seconds()
	}
	if result.Service != nil {
		p99, _ := result.Service.Quantile(0.99)
		p.P99 = time.Duration(p99)
	}
	return p
}

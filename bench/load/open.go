package load

import (
	"context"
	"time"
)

// Pacing is the schedule of an open loop: it gives each operation the moment at which it is meant to start. The response time of an
// operation is from that moment to its end, however late it really started; its service time is from its real start. Schedule is the
// one that measures.
type Pacing interface {
	// Start says when the leg starts, before the first Next.
	Start(base time.Time)
	// Next takes the schedule's next operation for a worker, blocks until it is due and returns its intended start, as time since the
	// leg's start. Its context is cancelled when the leg has no more operations to start; the error is then ignored. Any other
	// error ends the leg.
	Next(ctx context.Context, worker int) (intended time.Duration, err error)
	// Due returns how many operations are meant to start before the moment.
	Due(before time.Duration) int64
	// Taken returns how many operations Next has taken.
	Taken() int64
}

// Open is what became of an open loop's schedule, its warm-up left out.
type Open struct {
	Due     int64 // operations that were to start
	Started int64
	// Dropped is how many never were, because the leg ended while they waited for a worker. Their response times, longer than any that was
	// recorded, are missing from Response.
	Dropped int64
	// Growth is by how many operations a second the backlog grew: the slope of the line that fits the intervals' backlogs best; 0 with less
	// than two of them.
	Growth float64
}

// waiting returns how many operations are due and taken by no worker.
func (r *legRun) waiting(now int64) int64 {
	return max(r.leg.Pacing.Due(time.Duration(now))-r.leg.Pacing.Taken(), 0)
}

// watchBacklog notes the backlog once a second.
func (r *legRun) watchBacklog(now int64) {
	origin := r.origin.Load()
	if r.leg.Pacing == nil || origin == unset || now < origin {
		return
	}
	for int64(len(r.backlog)) < (now-origin)/nanosPerSecond {
		r.backlog = append(r.backlog, r.waiting(now))
	}
}

// openLoop fills in what became of the schedule.
func (r *legRun) openLoop(result *Result, t totals) {
	origin := r.origin.Load()
	if origin == unset {
		return
	}
	for i := range min(len(r.backlog), len(result.Intervals)) {
		result.Intervals[i].Backlog = r.backlog[i]
	}
	end := never
	if r.leg.windowed() {
		end = origin + int64(r.leg.Window)
	}
	if result.Stopped != "" {
		end = min(end, r.stoppedAt)
	}
	open := &Open{Started: t.ok + t.failed, Growth: slope(r.backlog)}
	if open.Due = r.leg.Samples; end != never {
		open.Due = r.leg.Pacing.Due(time.Duration(end)) - r.leg.Pacing.Due(time.Duration(origin))
	}
	open.Due = max(open.Due, open.Started) // the least number of samples may be reached after the window
	open.Dropped = open.Due - open.Started
	result.Open = open
}

// slope returns the slope of the line through the points (0, y[0]), (1, y[1]) … by least squares.
func slope(y []int64) float64 {
	n := float64(len(y))
	if n < 2 {
		return 0
	}
	var sum, moment float64
	for i, v := range y {
		sum += float64(v)
		moment += float64(v) * float64(i)
	}
	middle := (n - 1) / 2
	return (moment - middle*sum) / (n * (n*n - 1) / 12)
}

package result

import (
	"fmt"
	"time"

	"github.com/durabench/durabench/bench/load"
)

// lateStart is how much later than it was meant to an operation may start before it counts as late: timers of an idle machine are late by
// up to a millisecond.
const lateStart = 2 * time.Millisecond

// partsFrom fills in what a leg measured of its kinds of operations, of its schedule, and of whether it had settled.
func (m *Measured) partsFrom(r *load.Result) error {
	for _, kind := range r.Kinds {
		service, err := LatencyFrom(kind.Service)
		if err != nil {
			return fmt.Errorf("%s: %w", kind.Name, err)
		}
		m.Kinds = append(m.Kinds, KindCount{Operation: kind.Name, OK: kind.OK, Failed: kind.Failed, Service: service})
	}
	if r.Open == nil {
		return nil
	}
	lateness, err := LatencyFrom(r.Lateness)
	if err != nil {
		return fmt.Errorf("lateness: %w", err)
	}
	m.OpenLoop = &OpenLoop{
		Lateness: lateness, Dropped: r.Open.Dropped, Backlog: r.Open.Dropped, Slope: r.Open.Growth, AgentLate: agentLate(r),
	}
	if m.Throughput != nil {
		m.OpenLoop.Achieved = *m.Throughput
	}
	return nil
}

// agentLate is the share of operations that began late with a worker free for them. Those for which a worker had been waiting are seen to be
// late. Of the others, which waited for a worker, as many count as the workers were out of operations all the same: a worker that is in none
// while some wait was not let run.
func agentLate(r *load.Result) *float64 {
	if r.Lateness == nil || r.Wall <= 0 || r.Active == 0 {
		return nil
	}
	woken := lateOf(r.Wakes)
	queued := lateOf(r.Lateness) - woken
	inOperations := 0.0
	if r.Service != nil {
		mean, _ := r.Service.Mean()
		inOperations = min(mean*float64(r.Service.Count())/(float64(r.Wall)*float64(r.Active)), 1)
	}
	share := (woken + queued*(1-inOperations)) / float64(r.Lateness.Count())
	return &share
}

// lateOf counts the late ones.
func lateOf(h *load.Histogram) (n float64) {
	if h == nil {
		return 0
	}
	for b := range h.Buckets() {
		if b.Low > int64(lateStart) {
			n += float64(b.Count)
		}
	}
	return n
}

// SteadyFrom compares the halves of a windowed leg; nil when it is too short.
func SteadyFrom(r *load.Result) *Steady {
	halves := load.HalvesOf(r.Intervals)
	if halves == nil {
		return nil
	}
	s := &Steady{First: halves.First, Second: halves.Second, Steady: halves.Settled}
	if !s.Steady {
		change := "rose"
		if s.Second < s.First {
			change = "fell"
		}
		s.Note = fmt.Sprintf("the rate %s from %s to %s operations per second between the halves of the window", change, figure(s.First), figure(s.Second))
	}
	return s
}

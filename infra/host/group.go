package host

import (
	"time"

	"github.com/durabench/durabench/bench/result"
)

// groupFigures are what a control group has used up to a moment; nil where the kernel does not tell.
type groupFigures struct {
	cpu       *time.Duration
	throttled *time.Duration // that its threads were kept off the CPUs, because its quota was used up
	memory    *int64         // bytes now, with cached files and what the kernel holds for it
}

// groupSeries is what a control group used since the start. A nil one has no group to tell of.
type groupSeries struct {
	read  func() groupFigures
	first groupFigures
	last  groupFigures
	peak  *int64
}

// newGroupSeries begins to watch the group that read reads; nil when there is none.
func newGroupSeries(read func() groupFigures) *groupSeries {
	if read == nil {
		return nil
	}
	g := &groupSeries{read: read}
	g.look()
	g.first = g.last
	return g
}

// look reads the group. Of one that has vanished, the last that was seen stays.
func (g *groupSeries) look() {
	if g == nil {
		return
	}
	now := g.read()
	if now.cpu != nil {
		g.last.cpu = now.cpu
	}
	if now.throttled != nil {
		g.last.throttled = now.throttled
	}
	if now.memory != nil && (g.peak == nil || *now.memory > *g.peak) {
		g.peak = now.memory
	}
}

// report returns the figures; nil when there are none.
func (g *groupSeries) report() *result.GroupUsage {
	if g == nil {
		return nil
	}
	since := func(first, last *time.Duration) *float64 {
		if first == nil || last == nil {
			return nil
		}
		return new((*last - *first).Seconds())
	}
	u := result.GroupUsage{CPUSeconds: since(g.first.cpu, g.last.cpu), ThrottledSeconds: since(g.first.throttled, g.last.throttled), MemoryPeak: g.peak}
	if u == (result.GroupUsage{}) {
		return nil
	}
	return &u
}

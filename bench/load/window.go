package load

// A windowed leg is not to start more operations than fit its window: with thousands of workers and a scan that takes a minute, a window of
// half a minute would otherwise last for hours, as nothing that runs is cut off. So no more than MinSamples operations are in flight in
// the warm-up. What they get done says how many may start in the window: half as many again as would end in it, at that rate. When those
// are used up the rate in the window itself decides in the same way; until it allows more, workers wait.
const fitting = 1.5 // times what ends in a window may start in it

// warmer tells whether a worker runs operations in the warm-up. Those that do are spread evenly over all, and so over the clients.
func (r *legRun) warmer(number int) bool {
	least, workers := r.leg.MinSamples, int64(len(r.loops))
	return r.leg.Pacing != nil || least == 0 || least >= workers || int64(number)*least%workers < least
}

// openWindow says when measuring began: at start, if nobody has said so before. It makes the share of a windowed leg.
func (r *legRun) openWindow(start int64) (origin int64) {
	r.windowLock.Lock()
	defer r.windowLock.Unlock()
	if origin := r.origin.Load(); origin != unset {
		return origin
	}
	if r.leg.Pacing != nil {
		start = int64(r.leg.Warmup) // an open loop's operations belong where they were meant to start
	}
	if r.leg.windowed() && r.leg.Pacing == nil {
		window := &share{workers: r.share.workers, most: r.share.most, first: r.share.claimed()}
		limit := never
		if r.leg.Warmup > 0 && start > 0 {
			t := r.intervals.totals()
			limit = r.fits(t.warmup+t.warmupFailed, start)
		} else if r.leg.MaxSamples > 0 {
			limit = r.leg.MaxSamples
		}
		window.limit.Store(limit)
		r.window.Store(window)
	}
	r.origin.Store(start)
	return start
}

// fits returns how many operations may start in the window when done of them took so long.
func (r *legRun) fits(done, took int64) int64 {
	fit := float64(done) / float64(took) * float64(r.leg.Window) * fitting
	limit := max(int64(min(fit, float64(never))), r.leg.MinSamples, 1)
	if r.leg.MaxSamples > 0 {
		limit = min(limit, r.leg.MaxSamples)
	}
	return limit
}

// more waits until the leg may start more operations than it has; false when it will not any more.
func (l *loop) more(window *share) bool {
	r := l.run
	if !l.leave() {
		return false
	}
	for {
		raised := r.raisedLater()
		switch now := r.now(); {
		case r.raise(window, now):
			return true
		case r.stopped.Load(), now-r.origin.Load() >= int64(r.leg.Window), r.leg.MaxSamples > 0 && window.claimed() >= r.leg.MaxSamples:
			return false
		}
		select {
		case <-r.pacing.Done():
			return false
		case <-raised: // by the watch, which looks several times a second: workers that wait cost nothing
		}
	}
}

// raise lets as many operations start as fit by now, and tells whether there are more to start.
func (r *legRun) raise(window *share, now int64) (more bool) {
	if passed := now - r.origin.Load(); passed > 0 && window.claimed() >= window.limit.Load() {
		t := r.intervals.totals()
		window.raise(r.fits(t.ok+t.failed, passed))
	}
	return window.claimed() < window.limit.Load()
}

// raisedLater returns a channel that is closed when there is more to start.
func (r *legRun) raisedLater() <-chan struct{} {
	r.windowLock.Lock()
	defer r.windowLock.Unlock()
	if r.raised == nil {
		r.raised = make(chan struct{})
	}
	return r.raised
}

// watchWindow wakes the workers that wait for more to start.
func (r *legRun) watchWindow(now int64) {
	window := r.window.Load()
	if window == nil || !r.raise(window, now) {
		return
	}
	r.windowLock.Lock()
	defer r.windowLock.Unlock()
	if r.raised != nil {
		close(r.raised)
		r.raised = nil
	}
}

// leave tells the watch that this worker will be off the clock for a while and has nothing to add to what was recorded; false ends the
// loop.
func (l *loop) leave() bool {
	l.rec.flush()
	l.attention = 0 // the next operation begins a stretch
	return l.pulse.set(never, idle) != givenUp
}

// Halves compares the two halves of a leg's whole seconds: a leg that has not settled is faster or slower in the second. The rates are
// successful operations per second.
type Halves struct {
	First, Second float64
	// Settled tells that they differ by no more than a tenth, or by what chance alone gives so few operations: two standard deviations.
	Settled bool
}

// minHalf is the least number of seconds of a half that says anything.
const minHalf = 2

// HalvesOf returns the comparison, or nil when the leg is too short for one: its last, broken second does not count.
func HalvesOf(intervals []Interval) *Halves {
	half := (len(intervals) - 1) / 2
	if half < minHalf {
		return nil
	}
	var first, second float64
	for i := range half {
		first += float64(intervals[i].OK)
		second += float64(intervals[half+i].OK)
	}
	h := &Halves{First: first / float64(half), Second: second / float64(half)}
	// Counts of independent events vary by their root, and so does the difference of two by the root of their sum.
	apart, chance := (first-second)*(first-second), 4*(first+second)
	h.Settled = apart <= 0.01*max(first, second)*max(first, second) || apart <= chance
	return h
}

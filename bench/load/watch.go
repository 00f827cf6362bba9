package load

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"
)

// stretch is how long a worker runs without looking up from its operations, in nanoseconds: at the first end of an operation after it,
// the worker says where it is, gives away its record and asks whether to go on. So the watch knows the start of an operation to within
// a stretch without being told of each.
const stretch = int64(time.Millisecond)

// How long a leg that is to end early waits for its workers.
const (
	finishGrace  = 2 * time.Second  // for running operations to end by themselves, before their contexts are cancelled
	abandonGrace = 10 * time.Second // for an operation to return after its context was cancelled, before it is given up
)

// The states of a pulse.
const (
	idle    = 0 // off the clock
	busy    = 1 // in an operation
	expired = 2 // in an operation whose context the watch has cancelled
)

// pulse is what a worker says of itself to the watch, in one word: a moment in nanoseconds since the release, and its state. While it is
// busy, its operation started at most a stretch after the moment, and all it has not given away yet ended after it. The worker alone
// sets it, except that the watch turns busy into expired. Each change is one atomic exchange, in which the worker learns whether the
// watch got there first; so a context is only ever cancelled during the operation that it was cancelled for.
type pulse struct{ word atomic.Int64 }

// set says where the worker is, and returns whether its last operation had expired.
func (p *pulse) set(moment int64, state int64) (hadExpired bool) {
	return p.word.Swap(moment<<2|state)&3 == expired
}

// get returns what the worker said last.
func (p *pulse) get() (moment int64, state int64) {
	word := p.word.Load()
	return word >> 2, word & 3
}

// expire turns the pulse from busy at moment into expired, unless the worker has moved on.
func (p *pulse) expire(moment int64) bool {
	return p.word.CompareAndSwap(moment<<2|busy, moment<<2|expired)
}

// watchTick is how often the watch looks at the workers.
func watchTick(timeout time.Duration) time.Duration {
	const longest = 250 * time.Millisecond
	if timeout == 0 {
		return longest
	}
	return min(max(timeout/16, time.Millisecond), longest)
}

// watch cancels the operations that have passed the timeout, and returns the earliest moment to which some worker may still add.
func (r *legRun) watch(now int64) (passed int64) {
	passed = now
	for _, l := range r.loops {
		if l.ended.Load() {
			continue
		}
		// The context first: if the pulse is still the same afterwards, it was the context of that operation.
		cancel := l.cancel.Load()
		moment, state := l.pulse.get()
		passed = min(passed, moment)
		if state != expired {
			l.cancelledAt = 0
		}
		if limit := int64(r.leg.OperationTimeout); limit > 0 && state == busy && now-moment-stretch > limit && l.pulse.expire(moment) {
			(*cancel)()
			l.cancelledAt = now
		}
	}
	return passed
}

// stuck returns the workers whose operation has not ended although its context was cancelled long ago. cutAt is when all contexts were
// cancelled; 0 when they were not.
func (r *legRun) stuck(now, cutAt int64) (stuck []*loop, running int) {
	for _, l := range r.loops {
		if l.ended.Load() {
			continue
		}
		running++
		since := l.cancelledAt
		if since == 0 || cutAt > 0 && cutAt < since {
			since = cutAt
		}
		if since > 0 && now-since > int64(abandonGrace) {
			stuck = append(stuck, l)
		}
	}
	return stuck, running
}

// StuckError tells that operations did not end although their contexts were cancelled, and were given up. Their goroutines may still
// run: the Workers that the leg used, and what they use, must be left alone.
type StuckError struct {
	Workers []string // e.g. "client 3 thread 0"
	After   time.Duration
}

// Error names the first workers.
func (e *StuckError) Error() string {
	const shown = 8
	names, more := e.Workers, ""
	if len(names) > shown {
		names, more = names[:shown], fmt.Sprintf(" and %d more", len(names)-shown)
	}
	return fmt.Sprintf("operations did not end within %v of being cancelled: %s%s; the driver ignores its context", e.After,
		strings.Join(names, ", "), more)
}

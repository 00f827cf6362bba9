package load

import (
	"errors"
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
	givenUp = 3 // its leg goes on without it
)

// pulse is what a worker says of itself to the watch, in one word: a moment in nanoseconds since the release, and its state. While it is
// busy, its operation started at most a stretch after the moment, and all it has not given away yet ended after it. The worker alone
// sets it, except that the watch turns busy into expired and, at the end, anything into givenUp. Each change is one atomic exchange,
// in which the worker learns whether the watch got there first; so a context is only ever cancelled during the operation that it was
// cancelled for, and an operation is only ever counted by one of the two.
type pulse struct{ word atomic.Int64 }

// set says where the worker is, and returns the state it had.
func (p *pulse) set(moment, state int64) (had int64) { return p.word.Swap(moment<<2|state) & 3 }

// get returns what the worker said last.
func (p *pulse) get() (moment, state int64) {
	word := p.word.Load()
	return word >> 2, word & 3
}

// change puts the pulse from one state into another, unless the worker has moved on.
func (p *pulse) change(moment, from, to int64) (done bool) {
	return p.word.CompareAndSwap(moment<<2|from, moment<<2|to)
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
		if l.over() {
			continue
		}
		// The context first: if the pulse is still the same afterwards, it was the context of that operation.
		cancel := l.cancel.Load()
		moment, state := l.pulse.get()
		passed = min(passed, moment)
		if state != expired {
			l.cancelledAt = 0
		}
		if limit := int64(r.leg.OperationTimeout); limit > 0 && state == busy && now-moment-stretch > limit && l.pulse.change(moment, busy, expired) {
			(*cancel)()
			l.cancelledAt = now
		}
	}
	return passed
}

// over tells the watch that a worker needs no watching any more.
func (l *loop) over() bool { return l.ended.Load() || l.given != "" }

// stuck returns how many workers still run, and those of them whose context was cancelled long ago. cutAt is when all contexts were;
// 0 when they were not.
func (r *legRun) stuck(now, cutAt int64) (running int, stuck []*loop) {
	for _, l := range r.loops {
		if l.over() {
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
	return running, stuck
}

// giveUp ends the leg for a stuck worker, unless it has come back this very moment, and counts the operation it is in as failed. What it
// did in the stretch before is in its own hands and lost with it.
func (r *legRun) giveUp(l *loop) (done bool) {
	moment, state := l.pulse.get()
	if !l.pulse.change(moment, state, givenUp) {
		return false
	}
	l.given = l.String()
	class, err := ClassCancelled, errors.New("given up: it did not end when its context was cancelled")
	switch state {
	case idle:
		l.given += " (off the clock)"
		return true
	case expired:
		class, err = ClassTimeout, fmt.Errorf("operation timeout of %v passed: %w", r.leg.OperationTimeout, err)
	}
	r.failures.add(class, err)
	l.rec.shard.add(entry{second: r.secondOf(r.now()), failed: 1})
	return true
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
	return fmt.Sprintf("operations did not end within %v of being cancelled: %s%s", e.After,
		strings.Join(names, ", "), more)
}

package load

import (
	"context"
	"fmt"
	"math"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"
)

// A chunk is the operations that are made ready at once and run with one clock reading each. It starts at one operation, doubles while
// chunks are shorter than chunkShort and is one again when they are longer than chunkLong: fast operations save a reading of the
// clock each, while for slow ones there is nothing to save.
const (
	chunkShort = int64(100 * time.Microsecond)
	chunkLong  = int64(time.Millisecond)
)

// sampleEvery is how many answers VerifySample passes between two that it checks. One in 101 is checked, a prime, so that no pattern in
// the rows keeps in step with it.
const sampleEvery = 100

// never is after everything, and fits a pulse.
const never = int64(math.MaxInt64 >> 2)

// loop is one worker's goroutine. All of it is private to that goroutine but the fields marked otherwise.
type loop struct {
	run            *legRun
	worker         Worker
	client, thread int
	slots          int
	announcer      Announcer // the worker, when it is one; likewise the others
	sorter         Sorter
	follower       Follower
	counter        Counter

	base      time.Time // of the leg's clock
	ctx       context.Context
	rec       recorder
	attention int64 // the first end of an operation from here on is attended to: time to look up
	unchecked int64 // answers to pass before the next that is checked
	chunk     int
	finished  bool

	warming          bool
	warmer           bool   // runs operations in the warm-up
	share            *share // to claim from
	each             bool   // every operation is attended to
	origin, deadline int64  // when measuring began and ends
	said             int64  // moment of the pulse
	intended         int64  // start that pacing meant
	waited           bool   // the worker was there before it
	first, last      int64  // start of the first and end of the last recorded operation

	pulse       pulse                              // shared with the watch
	cancel      atomic.Pointer[context.CancelFunc] // of ctx; called by the watch
	cancelledAt int64                              // when the watch did; the watch's own
	given       string                             // who was given up, empty when it was not; the watch's own
	ended       atomic.Bool                        // after it, released, first and last may be read by others
	released    int64
}

func (l *loop) String() string { return fmt.Sprintf("client %d thread %d", l.client, l.thread) }

// now reads the leg's clock: nanoseconds since the release. time.Since of one base costs half of time.Now.
func (l *loop) now() int64 { return int64(time.Since(l.base)) }

// start waits for the release and runs the loop to its end, whatever that is.
func (l *loop) start() {
	defer l.end()
	l.renew()
	l.run.ready.Done()
	<-l.run.release
	l.base = l.run.base
	l.released = l.now()
	l.warming = l.run.leg.Warmup > 0
	l.first, l.deadline = never, never
	if !l.warming {
		l.measure(0)
	} else {
		l.rec.second = warmupSecond(0)
	}
	l.loop()
	l.finished = true
}

// end gives away what is left of the record and tells the others that this loop is over, after a panic too.
func (l *loop) end() {
	if cause := recover(); cause != nil {
		l.run.fault(fmt.Errorf("%v: panic: %v\n%s", l, cause, shortStack(debug.Stack())))
	} else if !l.finished {
		l.run.fault(fmt.Errorf("%v: its goroutine was ended from within (runtime.Goexit)", l))
	}
	l.rec.flush()
	(*l.cancel.Load())()
	l.pulse.set(never, idle)
	l.ended.Store(true)
	if l.run.running.Add(-1) == 0 {
		close(l.run.allEnded)
	}
}

// shortStack keeps the part of a stack that tells where a panic came from.
func shortStack(stack []byte) string {
	const frames = 8
	text := string(stack)
	if _, after, found := strings.Cut(text, "\npanic("); found {
		text = after
		for range 2 { // the arguments and the place of panic itself
			_, text, _ = strings.Cut(text, "\n")
		}
	}
	lines := strings.SplitN(text, "\n", 2*frames+1)
	return strings.Join(lines[:min(len(lines), 2*frames)], "\n")
}

// renew gives the worker a fresh context for its operations.
func (l *loop) renew() {
	ctx, cancel := context.WithCancel(l.run.operations)
	l.ctx = ctx
	l.cancel.Store(&cancel)
}

// loop runs operations until there are no more, or the leg ends otherwise.
func (l *loop) loop() {
	var lo, hi int64 // positions claimed and not yet begun
	var from *share
	if l.warming && !l.warmer {
		l.sitOut()
	}
	for !l.run.stopped.Load() {
		if lo == hi || from != l.share {
			from = l.share
			if lo, hi = from.claim(); lo == hi {
				if from == l.run.share || !l.more(from) {
					return
				}
				continue
			}
		}
		n := min(l.chunk, int(hi-lo))
		if l.warming {
			n = 1 // so that none is ready, and belongs to the warm-up, when that ends
		}
		for slot := range n {
			index := l.run.index(lo + int64(slot))
			if err := l.worker.Ready(slot, index); err != nil {
				l.run.fault(fmt.Errorf("%v: make the operation on row %d ready: %w", l, index, err))
				return
			}
		}
		if l.run.leg.Pacing != nil && !l.pace() {
			return
		}
		start, more := l.begin()
		if !more {
			return
		}
		if from != l.share { // the warm-up is over: what was made ready for it is not done
			l.rest()
			continue
		}
		if l.announcer != nil {
			if check := l.unchecked == 0; !l.announcer.Announce(0, check) && check {
				l.unchecked = l.run.pass + 1
			}
			start = l.now()
		}
		if l.first == never && !l.warming {
			l.first = start
		}
		began := start
		for slot := range n {
			err := l.worker.Do(l.ctx, slot)
			end := l.now()
			l.unchecked--
			if err != nil || l.unchecked < 0 || end >= l.attention {
				if start, more = l.attend(slot, start, end, err); !more {
					return
				}
				continue
			}
			l.last = end
			if l.sorter != nil {
				l.rec.kinds[l.rec.n] = uint8(l.sorter.Kind(slot))
			}
			if l.counter != nil && !l.warming {
				l.counter.Count(slot)
			}
			full := l.rec.add(end - start)
			start = end
			if full {
				l.rest()
				l.rec.flush()
				if start, more = l.begin(); !more {
					return
				}
			}
		}
		l.rest()
		lo += int64(n)
		l.adapt(start - began)
	}
}

// adapt chooses the next chunk's size from how long the last took.
func (l *loop) adapt(took int64) {
	switch {
	case took > chunkLong:
		l.chunk = 1
	case took < chunkShort:
		l.chunk = min(2*l.chunk, l.slots)
	}
}

// sitOut waits for the end of a warm-up that this worker has no part in, and begins to measure.
func (l *loop) sitOut() {
	if !l.leave() {
		return // the leg has been stopped
	}
	select {
	case <-l.run.pacing.Done():
	case <-time.After(l.run.leg.Warmup - time.Duration(l.now())):
		l.measure(l.now())
	}
}

// pace waits for the moment that pacing gives the next operation; false ends the loop.
func (l *loop) pace() bool {
	if !l.leave() {
		return false
	}
	for {
		asked := l.now()
		intended, err := l.run.leg.Pacing.Next(l.run.pacing, l.number())
		if l.run.pacing.Err() != nil {
			return false
		}
		if err != nil {
			l.run.fault(fmt.Errorf("%v: pace: %w", l, err))
			return false
		}
		l.intended = int64(intended)
		l.waited = l.intended >= asked
		// What the warm-up did not get done is left undone: the window begins without its backlog.
		if warmup := int64(l.run.leg.Warmup); !l.warming || l.intended >= warmup || l.now() < warmup {
			return true
		}
	}
}

// number counts the workers through.
func (l *loop) number() int { return l.client*l.run.leg.Threads + l.thread }

// rest says that the worker is off the clock. A watch that fired after the last operation had ended cancelled nothing but the context.
func (l *loop) rest() {
	if l.pulse.set(l.said, idle) == expired {
		l.renew()
	}
}

// begin returns the start of the next operation after a rest; false ends the loop.
func (l *loop) begin() (start int64, more bool) {
	if start = l.now(); start >= l.attention {
		return l.resume()
	}
	return start, l.pulse.set(l.said, busy) != givenUp
}

// resume begins a new stretch, between two operations: it gives away what was recorded, asks whether the leg goes on, and returns the
// start of the next operation; false ends the loop.
func (l *loop) resume() (start int64, more bool) {
	l.rec.flush()
	if l.run.stopped.Load() {
		return 0, false
	}
	leg := &l.run.leg
	start = l.now()
	intended := start
	if leg.Pacing != nil {
		intended = l.intended
	}
	if l.warming && intended >= int64(leg.Warmup) {
		l.measure(start)
	}
	overtime := start >= l.deadline
	if overtime && l.run.enough() {
		return 0, false
	}
	at, ends := l.secondOf(start)
	l.rec.at(at)
	l.attention = min(start+stretch, ends)
	switch {
	case overtime || l.each:
		l.attention = start
	case l.warming:
		l.attention = min(l.attention, int64(leg.Warmup))
	default:
		l.attention = min(l.attention, l.deadline)
	}
	l.said = start
	return start, l.pulse.set(start, busy) != givenUp
}

// secondOf returns the interval of a moment at or after this loop's last, and the moment at which it ends.
func (l *loop) secondOf(now int64) (at second, ends int64) {
	if l.warming {
		return warmupSecond(now), (now/nanosPerSecond + 1) * nanosPerSecond
	}
	at = (now - l.origin) / nanosPerSecond
	return at, l.origin + (at+1)*nanosPerSecond
}

// measure ends the warm-up, or begins a leg without one. The first worker to come here says when measuring began.
func (l *loop) measure(start int64) {
	l.warming = false
	l.origin = l.run.openWindow(start)
	if window := l.run.window.Load(); window != nil {
		l.share = window
	}
	if l.run.leg.windowed() {
		l.deadline = l.origin + min(int64(l.run.leg.Window), never)
	}
	l.rec.second = 0
	l.unchecked = min(l.unchecked, l.run.passFirst) // the first recorded answer is checked
}

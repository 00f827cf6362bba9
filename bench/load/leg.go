// Package load is the measuring loop: it runs one timed leg with clients × threads workers and records every operation in nanoseconds.
// It knows nothing of databases: an operation is what a Worker does.
//
// Run is the entry. Each worker is one goroutine (loop.go) that takes blocks of row indexes from all there are (share.go), makes a few
// operations ready, and runs them with one reading of the clock each. It writes durations into a small buffer of its own (recorder.go),
// which is emptied between operations into the leg's intervals (intervals.go), one histogram (histogram.go) per second. Beside the
// workers there are two goroutines: Run's own, which watches over the operation timeout (watch.go), and one that reports progress.
package load

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"
)

// Worker is one of a leg's clients × threads loops: its private state, used by one goroutine at a time. It holds Slots operations made
// ready before the clock starts, so that a chunk of operations runs with one clock reading each.
type Worker interface {
	// Slots is how many operations can be made ready at once, at least 1. It is asked once; more than 64 are not used.
	Slots() int
	// Ready makes the operation on row index ready in slot, off the clock: its key, its row, everything that is not the driver's work.
	// An operation that was made ready is not always done: a leg that stops leaves it. An error is a fault of the harness and ends
	// the leg.
	Ready(slot int, index uint64) error
	// Do runs the operation in slot. It is all that is on the clock. It must return soon after its context is cancelled, which happens
	// only when it has passed the operation timeout or the leg is being given up. An answer that can be seen to be wrong at once, by a
	// number that is compared, is a *Mismatch.
	Do(ctx context.Context, slot int) error
	// Check verifies the answer of the operation just done in slot, off the clock, before the next Do of this worker. An answer that
	// differs from what was written is a *Mismatch; any other error tells that the answer could not be compared. Both make it a failed
	// operation. ErrUnchecked tells that there was nothing to compare.
	Check(slot int) error
}

// ErrUnchecked is what Check returns when the operation has no answer that could be compared. The operation counts as any other, and not as
// checked; the worker's next one is to be checked in its place.
var ErrUnchecked = errors.New("there is nothing to compare")

// Mismatch is a wrong answer: the operation came back, but not with what was written.
type Mismatch struct {
	Whole     bool   // the answer as a whole is wrong, e.g. has too few rows; Index means nothing then
	Index     uint64 // row index in the corpus
	Column    string // first column that differs; empty when the row as a whole is not the one asked for
	Want, Got string // shortened forms of both
}

// Error tells what differs.
func (m *Mismatch) Error() string {
	if m.Whole {
		return fmt.Sprintf("wrong answer, %s: want %s, got %s", m.Column, m.Want, m.Got)
	}
	if m.Column == "" {
		return fmt.Sprintf("wrong answer for row %d: want %s, got %s", m.Index, m.Want, m.Got)
	}
	return fmt.Sprintf("wrong answer for row %d, column %s: want %s, got %s", m.Index, m.Column, m.Want, m.Got)
}

// Leg says what to run.
type Leg struct {
	Clients, Threads int
	// Samples is the number of operations of a counted leg; 0 makes a windowed leg.
	Samples int64
	// First is the row index of the first operation; a counted leg covers First to First+Samples-1, each exactly once.
	First uint64
	// Warmup and Window bound a windowed leg, which walks the Keys rows from First round and round. Operations that start in the warm-up
	// are done and checked like all others, but only their failures are recorded. The window begins with the first operation that
	// starts after the warm-up; when it has passed no operation starts any more, and those running are waited for and recorded.
	Warmup, Window time.Duration
	Keys           int64
	// MinSamples is the least number of operations of a windowed leg, failed ones included, even if the window has passed. In the closed
	// loop it is also the most that are in flight in the warm-up.
	MinSamples int64
	// MaxSamples is the most operations that a windowed leg starts in its window; 0 for no bound but the one that no more start than
	// fit: 1.5 times what the window has time for, at the rate of the warm-up or, if that is more, of the window itself.
	MaxSamples int64
	// Kinds names the kinds of operations, at most 256, when the workers are Sorters.
	Kinds []string
	// OperationTimeout ends a single operation that takes longer, by cancelling its context; 0 means none. There is one watch for all
	// and no timer per operation, so the end comes up to a sixteenth of the timeout late, at least 2 ms and at most 0.25 s; it never comes
	// early. An operation ended so has failed with class "timeout", even if an answer came in the end, and its worker goes on.
	OperationTimeout time.Duration
	// MaxErrorRate is the share of failed operations, 0 to 1, that a leg may have: Result.OverBudget judges it at the end. At 0 the
	// first error stops the leg. Above 0 it stops as soon as the share cannot be met any more (a counted leg, more failed than it allows
	// of all planned), or plainly will not be: twice the share of those begun so far, and more than 10 and one per worker, have
	// failed. Wrong answers are failed operations. Operations cut off because the leg was being given up are not judged.
	MaxErrorRate float64
	// Verify says which answers are checked; empty is VerifySample.
	Verify Verify
	// Classify names the class of an operation's error, e.g. "timeout"; nil puts all in "other". It is called by all workers at once.
	Classify func(error) string
	// Pacing says when operations are meant to start; nil is the closed loop, where each worker starts its next as the last ends.
	Pacing Pacing
	// Progress, if set, is called about once a second from one goroutine, and once at the end. Run returns after the last call has.
	Progress func(Progress)
}

// Verify says which answers of a leg are checked by content.
type Verify string

// The verification modes.
const (
	VerifySample Verify = "sample" // the first and then one in 101 of each worker's answers
	VerifyAll    Verify = "all"
	VerifyNone   Verify = "none"
)

// The classes of failed operations that are named here and not by Leg.Classify.
const (
	ClassTimeout   = "timeout"   // passed the operation timeout
	ClassWrong     = "wrong"     // a wrong answer
	ClassCancelled = "cancelled" // cut off because the leg was being given up; not the database's fault, and not judged
	ClassOther     = "other"     // not classified
)

// Why a leg ended before its planned end.
const (
	StoppedCancelled = "cancelled"          // its context was
	StoppedErrors    = "error budget spent" // more operations failed than Leg.MaxErrorRate allows
	StoppedFault     = "harness fault"      // a Worker panicked or could not make an operation ready; Run's error has it
	StoppedStuck     = "worker stuck"       // an operation did not end when its context was cancelled
)

// Progress is a live view of a running leg. Done and Failed never fall.
type Progress struct {
	Done     int64         `json:"done"`              // operations finished, those of the warm-up and failed ones included
	Total    int64         `json:"total"`             // operations planned; 0 in a windowed leg
	Failed   int64         `json:"failed"`            // operations that failed
	Elapsed  time.Duration `json:"elapsed"`           // since the leg's start
	Rate     float64       `json:"rate"`              // successful operations per second since the last report; in the final one, of the leg
	Backlog  int64         `json:"backlog,omitempty"` // operations of an open loop that are due and not started
	P99      time.Duration `json:"p99"`               // service time over the last full second, in the final report over the leg; 0 when nothing succeeded in it
	Warming  bool          `json:"warming,omitempty"`
	Window   time.Duration `json:"window,omitempty"`   // planned window of a windowed leg
	LastText string        `json:"lastText,omitempty"` // last error text that was looked at
	Final    bool          `json:"final,omitempty"`    // the last report of the leg; there is exactly one
}

// Result is what a leg measured. Failed operations are counted apart and are in neither OK nor Service.
type Result struct {
	Started   time.Time     // when measuring began: the workers' release or, after a warm-up, the start of the first recorded operation
	Wall      time.Duration // from Started to the end of the last operation
	OK        int64         // operations that succeeded; throughput is OK ÷ Wall
	Failed    int64         // operations that failed, those of the warm-up included: no failure goes unseen
	Warmup    int64         // operations that succeeded in the warm-up; they are in no other figure
	Errors    []ErrorCount  // by class, most frequent first; their counts add up to Failed
	Service   *Histogram    // service time of operations that succeeded, nanoseconds; nil without any
	Response  *Histogram    // response time of the same operations from the intended start; nil in the closed loop
	Lateness  *Histogram    // how long after their intended start operations were started, failed ones too; nil in the closed loop
	Wakes     *Histogram    // the same of those only for which a worker had been waiting: how late the harness itself is
	Open      *Open         // what became of an open loop's schedule; nil in the closed loop
	Kinds     []KindResult  // of Sorters' legs, one per Leg.Kinds; they add up to OK and Failed
	Followed  *KindResult   // of Followers' legs; of the warm-up's only the failures
	Active    int           // workers that ran operations, those of the warm-up left out; less than all when no more would have fitted
	Intervals []Interval    // one per second since Started, by the second in which an operation ended, without gaps
	Checked   int64         // answers compared by content, in the warm-up too
	Wrong     int64         // answers that differed; they count as failed, class "wrong"
	Examples  []Mismatch    // the first wrong answers, at most 5
	Stopped   string        // why the leg ended before its planned end, one of the Stopped constants; empty when it did not
	// OverBudget tells that a greater share of operations failed than Leg.MaxErrorRate allows, whether or not that ended the leg early.
	OverBudget bool
	GC         GC            // what the agent's garbage collector did meanwhile
	Skew       time.Duration // between the first and the last worker's release
}

// KindResult is what operations of one kind came to.
type KindResult struct {
	Name       string
	OK, Failed int64
	Service    *Histogram   // of those that succeeded; nil without any
	Errors     []ErrorCount // of Result.Followed only
	Whole      int64        // of Result.Followed only: operations all of whose following ones succeeded
}

// ErrorCount is one class of errors with the first texts seen.
type ErrorCount struct {
	Class string   `json:"class"`
	Count int64    `json:"count"`
	Texts []string `json:"texts"` // distinct, at most 3, each at most 300 characters
}

// Interval is one second of a leg.
type Interval struct {
	Second  int64            // since Result.Started
	OK      int64            // operations that succeeded
	Failed  int64            // operations that failed
	Service *IntervalLatency // nil when nothing succeeded
	Backlog int64            // operations of an open loop that were due at its end and not started; 0 in the closed loop
}

// IntervalLatency is the service time in one second. It is kept in place of the second's histogram so that an hour of intervals
// is some hundred kilobytes; the histogram's counts live on in Result.Service.
type IntervalLatency struct {
	P50, P99 int64 // nanoseconds, by Histogram.Quantile
	Max      int64 // nanoseconds, exact
}

// GC is the garbage collector's part in a leg.
type GC struct {
	Cycles    int64         `json:"cycles"`
	Pause     time.Duration `json:"pauseNs"`   // total time the world was stopped
	CPUShare  float64       `json:"cpuShare"`  // share of the agent's CPU time, 0 to 1, up to the last collection; 0 without one
	HeapBytes int64         `json:"heapBytes"` // heap found live by the last collection
}

// maxKinds is how many kinds a byte tells apart.
const maxKinds = 256

// windowed tells whether the leg ends by time.
func (l *Leg) windowed() bool { return l.Samples == 0 }

// validate returns every reason why the leg cannot be run.
func (l *Leg) validate() error {
	var problems []error
	refuse := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if l.Clients < 1 || l.Threads < 1 || l.Threads > math.MaxInt32/max(l.Clients, 1) {
		refuse("clients %d × threads %d: want at least 1 each and at most %d together", l.Clients, l.Threads, math.MaxInt32)
	}
	switch {
	case l.Samples < 0:
		refuse("samples %d: want 0 (windowed) or more", l.Samples)
	case l.windowed():
		if l.Window <= 0 {
			refuse("window %v: a leg without samples needs one", l.Window)
		}
		if l.Keys < 1 {
			refuse("keys %d: a windowed leg walks at least 1 row", l.Keys)
		} else if l.First > math.MaxUint64-uint64(l.Keys-1) {
			refuse("first row %d and %d keys pass the largest index", l.First, l.Keys)
		}
	default:
		if l.Window != 0 || l.Warmup != 0 || l.MinSamples != 0 || l.MaxSamples != 0 {
			refuse("window %v, warm-up %v, minimum %d and maximum %d samples: a leg of %d samples has none",
				l.Window, l.Warmup, l.MinSamples, l.MaxSamples, l.Samples)
		}
		if l.First > math.MaxUint64-uint64(l.Samples-1) {
			refuse("first row %d and %d samples pass the largest index", l.First, l.Samples)
		}
	}
	if l.Warmup < 0 {
		refuse("warm-up %v: want 0 or more", l.Warmup)
	}
	if l.MinSamples < 0 {
		refuse("minimum %d samples: want 0 or more", l.MinSamples)
	}
	if l.MaxSamples < 0 || l.MaxSamples > 0 && l.MaxSamples < l.MinSamples {
		refuse("maximum %d samples: want 0 (none) or at least the minimum, %d", l.MaxSamples, l.MinSamples)
	}
	if len(l.Kinds) > maxKinds {
		refuse("%d kinds of operations: want at most %d", len(l.Kinds), maxKinds)
	}
	if l.OperationTimeout < 0 {
		refuse("operation timeout %v: want 0 (none) or more", l.OperationTimeout)
	}
	if !(l.MaxErrorRate >= 0 && l.MaxErrorRate <= 1) {
		refuse("error rate %v: want 0 to 1", l.MaxErrorRate)
	}
	switch l.Verify {
	case "", VerifySample, VerifyAll, VerifyNone:
	default:
		refuse("verify %q: want %q, %q or %q", l.Verify, VerifySample, VerifyAll, VerifyNone)
	}
	return errors.Join(problems...)
}

// Package load is the measuring loop: it runs one timed leg with clients × threads workers and records every operation in nanoseconds.
// It knows nothing of databases: an operation is what a Worker does.
package load

import (
	"context"
	"time"
)

// Worker is one of a leg's clients × threads loops: its private state, used by one goroutine. It holds Slots operations made ready
// before the clock starts, so that a chunk of operations runs with one clock reading each.
type Worker interface {
	// Slots is how many operations can be made ready at once, at least 1.
	Slots() int
	// Ready makes the operation on row index ready in slot, off the clock: its key, its row, everything that is not the driver's work.
	Ready(slot int, index uint64) error
	// Do runs the operation in slot. It is all that is on the clock.
	Do(ctx context.Context, slot int) error
	// Check verifies the answer of the operation just done in slot, off the clock, before the next Do of this worker. An answer that
	// differs from what was written is a *Mismatch.
	Check(slot int) error
}

// Mismatch is a wrong answer: the operation came back, but not with what was written.
type Mismatch struct {
	Index     uint64 // row index in the corpus
	Column    string // first column that differs; empty when the row as a whole is not the one asked for
	Want, Got string // shortened forms of both
}

// Leg says what to run.
type Leg struct {
	Clients, Threads int
	// Samples is the number of operations of a counted leg; 0 makes a windowed leg.
	Samples int64
	// First is the row index of the first operation; a counted leg covers First to First+Samples-1, each exactly once.
	First uint64
	// Warmup and Window bound a windowed leg, which walks the Keys rows from First round and round; its warm-up is not recorded.
	Warmup, Window time.Duration
	Keys           int64
	// MinSamples is the least number of operations of a windowed leg, even if the window has passed.
	MinSamples int64
	// OperationTimeout ends a single operation that takes longer; 0 means none.
	OperationTimeout time.Duration
	// MaxErrorRate is the share of failed operations, 0 to 1, past which the leg stops; at 0 the first error stops it.
	MaxErrorRate float64
	// Verify says which answers are checked.
	Verify Verify
	// Classify names the class of an operation's error, e.g. "timeout"; nil puts all in "other".
	Classify func(error) string
	// Pacing says when operations are meant to start; nil is the closed loop, where each worker starts its next as the last ends.
	Pacing Pacing
	// Progress, if set, is called about once a second from one goroutine, and once at the end.
	Progress func(Progress)
}

// Verify says which answers of a leg are checked by content.
type Verify string

// The verification modes.
const (
	VerifySample Verify = "sample" // the first and then about one in a hundred of each worker's answers
	VerifyAll    Verify = "all"
	VerifyNone   Verify = "none"
)

// Pacing is the seam for open-loop load: it gives each operation the moment at which it is meant to start.
type Pacing interface {
	// Next blocks until the worker's next operation is due and returns its intended start, as time since the leg's start.
	Next(ctx context.Context, worker int) (intended time.Duration, err error)
}

// Progress is a live view of a running leg.
type Progress struct {
	Done     int64         `json:"done"`    // operations finished, failed ones included
	Total    int64         `json:"total"`   // operations planned; 0 in a windowed leg
	Failed   int64         `json:"failed"`  // operations that failed
	Elapsed  time.Duration `json:"elapsed"` // since the leg's start
	Rate     float64       `json:"rate"`    // operations per second over the last interval
	P99      time.Duration `json:"p99"`     // of the last interval
	Warming  bool          `json:"warming,omitempty"`
	Window   time.Duration `json:"window,omitempty"` // planned window of a windowed leg
	LastText string        `json:"lastText,omitempty"`
}

// Result is what a leg measured. Failed operations are counted apart and are in neither Service nor Done.
type Result struct {
	Started  time.Time     // when the workers were released
	Wall     time.Duration // from the release of the workers to the end of the last operation
	OK       int64         // operations that succeeded; throughput is OK ÷ Wall
	Failed   int64
	Errors   []ErrorCount // by class, most frequent first
	Service  *Histogram   // service time of operations that succeeded, nanoseconds; nil without any
	Response *Histogram   // response time from the intended start; nil in the closed loop
	// Intervals is one entry per second of the leg, by the second in which an operation ended.
	Intervals []Interval
	Checked   int64         // answers checked by content
	Wrong     int64         // answers that differed; they count as failed, class "wrong"
	Examples  []Mismatch    // the first wrong answers, at most 5
	Stopped   string        // why the leg ended before its planned end; empty when it did not
	GC        GC            // what the agent's garbage collector did meanwhile
	Skew      time.Duration // between the first and the last worker's release
}

// ErrorCount is one class of errors with the first texts seen.
type ErrorCount struct {
	Class string   `json:"class"`
	Count int64    `json:"count"`
	Texts []string `json:"texts"` // distinct, at most 3, shortened
}

// Interval is one second of a leg.
type Interval struct {
	Second  int64 // since the leg's start
	OK      int64
	Failed  int64
	Service *Histogram // nil when nothing succeeded
}

// GC is the garbage collector's part in a leg.
type GC struct {
	Cycles    int64         `json:"cycles"`
	Pause     time.Duration `json:"pauseNs"`   // total time the world was stopped
	CPUShare  float64       `json:"cpuShare"`  // share of the agent's CPU time, 0 to 1
	HeapBytes int64         `json:"heapBytes"` // live heap at the end
}

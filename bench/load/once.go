package load

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"
)

// Once runs one operation that tells itself how long it took, such as the build of an index, whose end is not the return of a call. It gives the
// result of a leg of one sample. The operation's context is cancelled when ctx is or when the timeout, 0 for none, has passed; when it
// does not return then, it is given up as Run gives up workers: the result says StoppedStuck, and what the operation writes is not to be read, as
// it may still be writing.
func Once(ctx context.Context, timeout time.Duration, classify func(error) string, operation func(context.Context) (time.Duration, error)) (*Result, error) {
	began := time.Now()
	before := readGC()
	running, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if timeout > 0 {
		timer := time.AfterFunc(timeout, func() { cancel(errOnceTimeout) })
		defer timer.Stop()
	}
	type ending struct {
		took time.Duration
		err  error
	}
	ended := make(chan ending, 1)
	go func() {
		var e ending
		defer func() {
			if cause := recover(); cause != nil {
				e.err = fmt.Errorf("panic: %v\n%s", cause, shortStack(debug.Stack()))
			}
			ended <- e
		}()
		e.took, e.err = operation(running)
	}()
	result := &Result{Started: began}
	var e ending
	select {
	case e = <-ended:
	case <-running.Done():
		select {
		case e = <-ended:
		case <-time.After(abandonGrace):
			result.Wall, result.Stopped = time.Since(began), StoppedStuck
			return result, &StuckError{Workers: []string{"client 0 thread 0"}, After: abandonGrace}
		}
	}
	result.GC = readGC().since(before)
	if e.err == nil {
		e.took = max(e.took, 1)
		result.Wall, result.OK, result.Service = e.took, 1, new(Histogram)
		result.Service.Record(int64(e.took))
		result.Active = 1
	} else {
		result.Wall, result.Failed, result.OverBudget = max(time.Since(began), 1), 1, true
	}
	for second := range int64(result.Wall)/nanosPerSecond + 1 {
		result.Intervals = append(result.Intervals, Interval{Second: second})
	}
	last := &result.Intervals[len(result.Intervals)-1]
	last.OK, last.Failed, last.Service = result.OK, result.Failed, nil
	if e.err == nil {
		last.Service = latencyOf(result.Service)
		return result, nil
	}
	class := ClassOther
	switch {
	case ctx.Err() != nil:
		class, result.Stopped, result.OverBudget = ClassCancelled, StoppedCancelled, false
	case context.Cause(running) == errOnceTimeout:
		class, e.err = ClassTimeout, fmt.Errorf("operation timeout of %v passed: %w", timeout, e.err)
	case classify != nil:
		class = classify(e.err)
	}
	result.Errors = []ErrorCount{{Class: class, Count: 1, Texts: []string{shorten(e.err.Error())}}}
	if ctx.Err() != nil {
		return result, fmt.Errorf("load leg: %w", context.Cause(ctx))
	}
	return result, nil
}

var errOnceTimeout = fmt.Errorf("operation timeout: %w", context.DeadlineExceeded)

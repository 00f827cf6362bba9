package load

import (
	"errors"
	"fmt"
)

// attend takes in one operation on the long way: one that failed, whose answer is to be checked, or that ended a stretch. It returns the
// start of the next operation; false ends the loop.
func (l *loop) attend(slot int, start, end int64, err error) (next int64, more bool) {
	state := l.pulse.set(l.said, idle)
	if state == givenUp {
		return 0, false // the result is made without this operation, and the Worker is no longer ours to use
	}
	at, _ := l.secondOf(end)
	l.rec.at(at)
	if !l.warming {
		l.last = end
	}
	if state == expired {
		l.renew()
	}
	if l.rec.lateness != nil {
		l.rec.late(max(start-l.intended, 0), l.waited)
	}
	good := false
	switch limit := int64(l.run.leg.OperationTimeout); {
	case state == expired && end-start > limit: // and not one that ended just before the watch fired
		if err == nil {
			err = errors.New("it was answered in the end")
		}
		l.fail(slot, ClassTimeout, fmt.Errorf("operation timeout of %v passed: %w", l.run.leg.OperationTimeout, err))
	case err != nil && l.run.operations.Err() != nil:
		l.fail(slot, ClassCancelled, err)
	case err != nil:
		l.failAnswer(slot, err)
	case l.unchecked < 0:
		l.unchecked = l.run.pass
		switch err := l.worker.Check(slot); {
		case err == nil:
			l.rec.checked++
			good = true
		case err == ErrUnchecked:
			l.unchecked = 0
			good = true
		default:
			l.failCheck(slot, err)
		}
	default:
		good = true
	}
	if good {
		l.succeed(slot, start, end)
	}
	l.unchecked = max(l.unchecked, 0)
	if good && l.follower != nil && !l.follow(slot) {
		return 0, false
	}
	return l.resume()
}

// succeed records an operation in attendance.
func (l *loop) succeed(slot int, start, end int64) {
	if l.sorter != nil {
		l.rec.kinds[l.rec.n] = uint8(l.sorter.Kind(slot))
	}
	if l.rec.response != nil {
		// An operation that started before it was meant to has not waited.
		l.rec.response[l.rec.n] = max(end-min(l.intended, start), 1)
	}
	if l.counter != nil && !l.warming {
		l.counter.Count(slot)
	}
	if l.rec.add(end - start) {
		l.rec.flush()
	}
}

// fail counts a failed operation and stops the leg when that was one too many.
func (l *loop) fail(slot int, class string, err error) {
	l.countFailed(slot)
	l.run.failures.add(class, err)
	l.run.judge()
}

// failAnswer counts an operation that came back with an error, which may be that its answer is wrong.
func (l *loop) failAnswer(slot int, err error) {
	if mismatch, wrong := errors.AsType[*Mismatch](err); wrong {
		l.failWrong(slot, mismatch)
		return
	}
	l.fail(slot, l.run.classify(err), err)
}

// failCheck counts an operation whose answer was checked in vain.
func (l *loop) failCheck(slot int, err error) {
	if mismatch, wrong := errors.AsType[*Mismatch](err); wrong {
		l.failWrong(slot, mismatch)
		return
	}
	l.fail(slot, l.run.classify(err), fmt.Errorf("check the answer: %w", err))
}

func (l *loop) failWrong(slot int, mismatch *Mismatch) {
	l.rec.checked++
	l.countFailed(slot)
	l.run.failures.addWrong(mismatch)
	l.run.judge()
}

func (l *loop) countFailed(slot int) {
	l.rec.failed++
	if l.sorter != nil {
		l.run.failures.ofKind(l.sorter.Kind(slot))
	}
}

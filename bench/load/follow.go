package load

import (
	"errors"
	"fmt"
)

// follow runs the operations that follow the one in slot, each on a clock of its own, and records them apart. False ends the loop.
func (l *loop) follow(slot int) (more bool) {
	n, err := l.follower.Following(slot)
	if err != nil {
		l.run.fault(fmt.Errorf("%v: make the operations ready that follow: %w", l, err))
		return false
	}
	if n == 0 {
		return true
	}
	l.rec.flush() // the watch may close the second that the scan ended in
	done := 0
	for ; done < n; done++ {
		start := l.now()
		l.said = start
		if l.pulse.set(start, busy) == givenUp {
			return false
		}
		err := l.follower.Follow(l.ctx, slot, done)
		end := l.now()
		state := l.pulse.set(start, idle)
		if state == givenUp {
			return false
		}
		if state == expired {
			l.renew()
			if limit := l.run.leg.OperationTimeout; end-start > int64(limit) {
				if err == nil {
					err = errors.New("it was answered in the end")
				}
				err = &timeoutError{fmt.Errorf("operation timeout of %v passed: %w", limit, err)}
			}
		}
		l.rec.shard.addFollowing(end-start, err != nil, l.warming)
		if !l.warming {
			l.last = end
		}
		if err != nil {
			l.failFollowing(err)
			break
		}
	}
	if done == n && !l.warming {
		l.rec.shard.addWhole()
	}
	l.follower.Followed(slot, done)
	return true
}

// timeoutError is the error of an operation that has passed the operation timeout.
type timeoutError struct{ error }

func (l *loop) failFollowing(err error) {
	class := ""
	if _, timeout := errors.AsType[*timeoutError](err); timeout {
		class = ClassTimeout
	} else if l.run.operations.Err() != nil {
		class = ClassCancelled
	} else {
		class = l.run.classify(err)
	}
	l.run.following.add(class, err)
	l.run.judge()
}

package wire

import "sync/atomic"

// The phases of a call on a Pipe.
const (
	resting   = int32(iota)
	waiting   // for its answer
	answered  // or lost: the call's fields say which
	abandoned // by its caller, whose context is over; the answer will come and be dropped
)

// state is how a call's caller and the Pipe's reader agree on who has it.
type state struct {
	phase atomic.Int32
	// done gets a token when the call leaves the phase waiting.
	done chan struct{}
}

func newCall() *Call { return &Call{state: state{done: make(chan struct{}, 1)}} }

// leave ends the waiting, for one of those who try, and wakes the caller.
func (c *Call) leave(phase int32) bool {
	if !c.phase.CompareAndSwap(waiting, phase) {
		return false
	}
	c.done <- struct{}{}
	return true
}

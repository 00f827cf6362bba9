package temporal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/durabench/durabench/infra/pidspace"
)

const (
	// termWait is how long a server may take to stop after SIGTERM. Temporald
	// takes three seconds and gives up by itself after fifteen.
	termWait = 20 * time.Second
	// killWait is how long the kernel may take to end a killed process.
	killWait = 5 * time.Second
)

// processID names one process for good: the number alone may have passed on to
// another process since, after a reboot above all.
type processID struct {
	PID int `json:"pid"`
	// Birth is when the process started, in a form of the operating system's.
	Birth string `json:"birth"`
}

// identify returns the identity of a running process.
func identify(pid int) (processID, error) {
	birth, err := birthOf(pid)
	return processID{PID: pid, Birth: birth}, err
}

// known is the identity of a process as far as the system tells it.
func known(pid int) processID {
	id, err := identify(pid)
	if err != nil {
		return processID{PID: pid} // it was started in another container, or has ended since
	}
	return id
}

// alive tells whether this very process still runs; one that has ended and was
// not yet collected by its parent does not.
func (p processID) alive() bool {
	if p.PID <= 0 {
		return false
	}
	birth, err := birthOf(p.PID)
	return err == nil && (p.Birth == "" || pidspace.SameStart(p.Birth, birth))
}

// end stops the process: SIGTERM, then SIGKILL when it takes too long or ctx
// ends.
func (p processID) end(ctx context.Context) error {
	if !p.alive() {
		return nil
	}
	if err := unix.Kill(p.PID, unix.SIGTERM); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("terminate process %d: %w", p.PID, err)
	}
	term, cancel := context.WithTimeout(ctx, termWait)
	defer cancel()
	if p.gone(term) {
		return nil
	}
	if err := unix.Kill(p.PID, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("kill process %d: %w", p.PID, err)
	}
	// Whatever became of ctx: a moment more tells whether the kill worked.
	kill, cancel := context.WithTimeout(context.WithoutCancel(ctx), killWait)
	defer cancel()
	if !p.gone(kill) {
		return fmt.Errorf("kill process %d: it is still there after %s", p.PID, killWait)
	}
	return nil
}

// gone waits for the process to end.
func (p processID) gone(ctx context.Context) bool {
	for p.alive() {
		select {
		case <-ctx.Done():
			return !p.alive()
		case <-time.After(20 * time.Millisecond):
		}
	}
	return true
}

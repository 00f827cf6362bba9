package docker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/docker/docker/api/types/container"

	"github.com/durabench/durabench/drivers"
)

const (
	firstPause   = 20 * time.Millisecond
	longestPause = 250 * time.Millisecond
	// attemptTimeout bounds one attempt to connect, so that a server that swallows the first is asked again.
	attemptTimeout = 5 * time.Second
	// tailLines is how much of a log an error carries.
	tailLines = 20
	// explainTimeout bounds the asking why a server is not ready.
	explainTimeout = 5 * time.Second
)

// errEnded tells that the container ended before its server was ready, whoever ended it.
var errEnded = fmt.Errorf("%w", ErrNotReady)

// waitReady connects until it succeeds, the container exits or time is up.
func (s *starting) waitReady(ctx context.Context, running *Running) error {
	ctx, cancel := context.WithTimeout(ctx, s.ReadyTimeout)
	defer cancel()
	exited := s.exit(ctx, running.Container)
	begin := time.Now()
	var last error
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		attempt, cancelAttempt := context.WithTimeout(ctx, attemptTimeout)
		// The container's end ends the attempt too: what it cannot answer any more is not waited for.
		done := make(chan error, 1)
		go func() { done <- s.Ready(attempt, running) }()
		var err error
		select {
		case err = <-done:
			cancelAttempt()
		case <-exited:
			cancelAttempt()
			<-done
			return s.exitError(ctx, running)
		}
		if err == nil {
			return nil
		}
		if errors.As(err, new(drivers.Unsupported)) {
			return err // it answers, and will not answer otherwise
		}
		// An attempt that was cut off says less than the one before.
		if last == nil || ctx.Err() == nil {
			last = err
		}
		select {
		case <-exited:
			return s.exitError(ctx, running)
		case <-ctx.Done():
			return fmt.Errorf("%w after %s at %s: %w%s", ErrNotReady, time.Since(begin).Round(time.Millisecond), running.Endpoint,
				errors.Join(context.Cause(ctx), last), s.logTail(ctx, running))
		case <-time.After(pause):
		}
	}
}

// exit returns a channel that is closed when the container does not run any more. It stays open when ctx ends before.
func (c *Client) exit(ctx context.Context, id string) <-chan struct{} {
	exited := make(chan struct{})
	go func() {
		for ctx.Err() == nil {
			results, problems := c.api.ContainerWait(ctx, id, container.WaitConditionNotRunning)
			select {
			case <-results:
				close(exited)
				return
			case <-problems:
			case <-ctx.Done():
				go func() { // one of them comes, and nobody may keep its sender waiting
					select {
					case <-results:
					case <-problems:
					}
				}()
				return
			}
			// Either it is gone altogether or the engine is, for a while.
			if c.gone(ctx, id) {
				close(exited)
				return
			}
			select {
			case <-ctx.Done():
			case <-time.After(longestPause):
			}
		}
	}()
	return exited
}

// exitError is the error of a container that exited before its server was ready.
func (s *starting) exitError(ctx context.Context, running *Running) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), explainTimeout)
	defer cancel()
	end, err := s.Check(ctx, running.State)
	switch {
	case err != nil:
		return fmt.Errorf("%w: its container ended: %w", errEnded, err)
	case end == nil:
		return fmt.Errorf("%w: its container ended and was started again by somebody else%s", errEnded, s.logTail(ctx, running))
	case end.Removed:
		return fmt.Errorf("%w: container %s was removed by somebody else", errEnded, running.Name)
	}
	kind := ErrExited
	if end.ExitCode == killedExit && !end.OOMKilled || !end.Restarted.IsZero() {
		kind = errEnded // by somebody
	}
	err = fmt.Errorf("%w: its container %s%s", kind, end, s.logTail(ctx, running))
	if end.ExitCode == noProgramExit || end.ExitCode == badProgramExit {
		return s.wrongImage(err)
	}
	return err
}

// logTail is the end of the server's log, ready to be put behind an error.
func (s *starting) logTail(ctx context.Context, running *Running) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), explainTimeout)
	defer cancel()
	text, err := s.logOf(ctx, running.Container, running.Credentials.Password, tailLines)
	switch {
	case err != nil:
		return fmt.Sprintf("; its log cannot be read: %v", err)
	case text == "":
		return "; its log is empty"
	}
	return "; the last lines of its log:\n" + text
}

package docker

import (
	"context"
	"fmt"
	"time"

	"github.com/containerd/errdefs"
)

// unknownExit is the exit code of a server of which it is not known.
const unknownExit = -1

// Exit codes as shells have them: of a server that was killed, and of a program that cannot be run or is not there.
const (
	killedExit     = 128 + 9
	badProgramExit = 126
	noProgramExit  = 127
)

// End is the end of a server's start.
type End struct {
	// At is when it ended, by the container engine's clock; for a removed container when that was found out.
	At time.Time `json:"at"`
	// ExitCode is what the server exited with, 128 and the signal when it was killed; -1 when that is not known any more.
	ExitCode int `json:"exitCode"`
	// OOMKilled tells that the kernel killed it, or a child of it, for want of memory.
	OOMKilled bool `json:"oomKilled,omitempty"`
	// Restarted is when the container was started again, zero when it was not.
	Restarted time.Time `json:"restarted,omitzero"`
	// Removed tells that the container is gone, and with it all that could tell more.
	Removed bool `json:"removed,omitempty"`
	// Why is what the container engine says about it, mostly nothing.
	Why string `json:"why,omitempty"`
}

// String says it as the end of a sentence about the container.
func (e End) String() string {
	at := e.At.UTC().Format("2006-01-02T15:04:05.000Z")
	switch {
	case e.Removed:
		return "was removed before " + at
	case !e.Restarted.IsZero():
		return fmt.Sprintf("ended at %s and was started again at %s", at, e.Restarted.UTC().Format("15:04:05.000Z"))
	}
	text := fmt.Sprintf("exited at %s with code %d", at, e.ExitCode)
	switch {
	case e.OOMKilled:
		text += ", out of memory: the kernel killed a process of it"
	case e.ExitCode == killedExit:
		text += ", killed"
	}
	if e.Why != "" {
		text += ": " + e.Why
	}
	return text
}

// Check tells whether the server still runs as the same start that s describes; if not, how that ended. Of s only Container and Started matter.
func (c *Client) Check(ctx context.Context, s State) (*End, error) {
	info, err := c.api.ContainerInspect(ctx, s.Container)
	if errdefs.IsNotFound(err) {
		return &End{At: time.Now().UTC(), ExitCode: unknownExit, Removed: true}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look at container %s: %w", s.Container, err)
	}
	started, err := time.Parse(time.RFC3339Nano, info.State.StartedAt)
	if err != nil {
		return nil, fmt.Errorf("look at container %s: when it was started: %w", s.Container, err)
	}
	if info.State.Running && started.Equal(s.Started) {
		return nil, nil
	}
	finished, err := time.Parse(time.RFC3339Nano, info.State.FinishedAt)
	if err != nil {
		return nil, fmt.Errorf("look at container %s: when it ended: %w", s.Container, err)
	}
	end := &End{At: finished, ExitCode: info.State.ExitCode, OOMKilled: info.State.OOMKilled, Why: info.State.Error}
	if !started.Equal(s.Started) {
		end.ExitCode, end.OOMKilled, end.Why = unknownExit, false, ""
		end.Restarted = started
		if finished.After(started) {
			// That is the end of a later start. This one ended somewhere before.
			end.At = started
		}
	}
	return end, nil
}

// Watch waits for the end of the start that s describes. An engine that does not answer is waited for.
func (c *Client) Watch(ctx context.Context, s State) (End, error) {
	for silent := false; ; {
		watching, cancel := context.WithCancel(ctx)
		select {
		case <-c.exit(watching, s.Container):
		case <-ctx.Done():
		}
		cancel()
		if ctx.Err() != nil {
			return End{}, context.Cause(ctx)
		}
		end, err := c.Check(ctx, s)
		if err == nil && end != nil {
			return *end, nil
		}
		if err != nil && !silent {
			c.log.Warn("container engine does not answer", "container", s.Container, "error", err)
		}
		silent = err != nil
		select {
		case <-ctx.Done():
			return End{}, context.Cause(ctx)
		case <-time.After(longestPause):
		}
	}
}

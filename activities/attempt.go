package activities

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
)

const (
	// maxStarts is how many attempts at starting a server may fail, and maxRecoveries is the same for one that was lost.
	maxStarts, maxRecoveries = 3, 5
	// maxExits is how many attempts in a row may end with a server that ended by itself before it ever worked: it will go on doing so. One that has worked, and
	// was lost, may find what the lost one left in its way for a while.
	maxExits = 2
	// maxLostWorkers is how many attempts may be lost with their workers: it is the start that takes them along, then.
	maxLostWorkers = 20
	// tellTime is how long before its own end an attempt is given up, so that it still can tell of it.
	tellTime = 15 * time.Second
)

// Starts counts the attempts at starting a server that failed for the server. They are not Temporal's attempts, most of which are lost with a
// worker that was stopped or killed, or are given up by one that takes over.
type Starts struct {
	Failed int `json:"failed,omitempty"`
	Exited int `json:"exited,omitempty"` // the last ones in a row, with a server that ended by itself
}

// exitedError is an error of a server that ended by itself before it was ready.
type exitedError struct{ error }

func (e exitedError) Unwrap() error { return e.error }

// attempt starts a server, and tells Temporal what to do when that fails: at most so many attempts may fail, and so many in a row with a server that ended by
// itself.
func attempt(ctx context.Context, waiting string, most, exits int, start func(context.Context, *beat) (StartedServer, error)) (StartedServer, error) {
	starts := startsBefore(ctx)
	beat := startBeat(ctx, Heartbeat{Waiting: waiting, Starts: starts})
	defer beat.stop()
	info := activity.GetInfo(ctx)
	if lost := int(info.Attempt) - 1 - starts.Failed; lost > maxLostWorkers {
		return StartedServer{}, permanent(TypeInfrastructure, fmt.Errorf("%s: %d attempts were lost with their workers", waiting, lost))
	}
	bounded, release := context.WithDeadlineCause(ctx, info.Deadline.Add(-tellTime), errors.New("it took too long"))
	defer release()
	started, err := start(bounded, beat)
	var typed *temporal.ApplicationError
	switch {
	case err == nil:
		return started, nil
	case stopping(ctx):
		return StartedServer{}, draining("the next one goes on with " + waiting)
	case cancelled(ctx):
		return StartedServer{}, temporal.NewCanceledError(err.Error())
	case !errors.As(err, &typed) || typed.NonRetryable():
		return StartedServer{}, err
	}
	starts.Failed++
	if errors.As(err, new(exitedError)) {
		starts.Exited++
	} else {
		starts.Exited = 0
	}
	switch {
	case starts.Exited >= exits:
		return StartedServer{}, permanent(typed.Type(), fmt.Errorf("%s (it ended by itself %d times)", typed.Message(), starts.Exited))
	case starts.Failed >= most:
		return StartedServer{}, permanent(typed.Type(), fmt.Errorf("%s (given up after %d attempts)", typed.Message(), starts.Failed))
	}
	beat.keep(starts)
	beat.tell(Heartbeat{Waiting: waiting})
	return StartedServer{}, typed
}

// startsBefore returns how the attempts before this one failed.
func startsBefore(ctx context.Context) Starts {
	var last Heartbeat
	if !activity.HasHeartbeatDetails(ctx) || activity.GetHeartbeatDetails(ctx, &last) != nil {
		return Starts{}
	}
	return last.Starts
}

package activities

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/durabench/durabench/workers/agent"
)

// The types of activity errors. What retrying cannot fix is not retried.
const (
	TypeSpec           = "Spec"           // the run asks for what cannot be had: user's to fix
	TypeDurability     = "Durability"     // the durability read back is not the one asked for
	TypeMissingBinary  = "MissingBinary"  // the server's program is not installed
	TypeCredentials    = "Credentials"    // the server refused the user or the password
	TypePreflight      = "Preflight"      // the host or the server cannot carry the run
	TypeDataset        = "Dataset"        // the data is not what the run needs
	TypeInfrastructure = "Infrastructure" // the server or the machine failed
	TypeAgent          = "Agent"          // the agent could not be started or asked; retried
	TypeDraining       = "Draining"       // the worker is stopping and the work goes on under the next one; retried
)

// permanent is an error that retrying does not fix. Its text is for people: what was done, to what, what came back, what to do.
func permanent(kind string, err error) error {
	return temporal.NewApplicationErrorWithOptions(err.Error(), kind, temporal.ApplicationErrorOptions{NonRetryable: true, Cause: cause(err)})
}

// passing is an error that may be gone at the next attempt.
func passing(kind string, err error) error {
	return temporal.NewApplicationErrorWithOptions(err.Error(), kind, temporal.ApplicationErrorOptions{Cause: cause(err)})
}

// draining tells the next worker to go on at once.
func draining(what string) error {
	return temporal.NewApplicationErrorWithOptions("the worker is stopping: "+what, TypeDraining,
		temporal.ApplicationErrorOptions{NextRetryDelay: 100 * time.Millisecond})
}

// cause keeps a typed error of Temporal's below ours and drops others, whose text is in the message already.
func cause(err error) error {
	var typed *temporal.ApplicationError
	if errors.As(err, &typed) {
		return typed
	}
	return nil
}

// typeOf maps the agent's classes of errors.
func typeOf(class agent.ErrorClass) string {
	switch class {
	case agent.ErrorSpec:
		return TypeSpec
	case agent.ErrorDurability:
		return TypeDurability
	case agent.ErrorCredentials:
		return TypeCredentials
	case agent.ErrorPreflight:
		return TypePreflight
	case agent.ErrorDataset:
		return TypeDataset
	default:
		return TypeInfrastructure
	}
}

// stopping tells whether the worker that runs the activity is being stopped.
func stopping(ctx context.Context) bool {
	select {
	case <-activity.GetWorkerStopChannel(ctx):
		return true
	default:
		return false
	}
}

// cancelled tells whether the workflow asked for the end of the activity. A context also ends when this attempt was given up by the
// server, and then the next attempt goes on with what this one began: nothing may be ended for that.
func cancelled(ctx context.Context) bool {
	return ctx.Err() != nil && !stopping(ctx) && temporal.IsCanceledError(context.Cause(ctx))
}

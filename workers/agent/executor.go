package agent

import (
	"context"
	"log/slog"

	"github.com/durabench/durabench/bench/load"
	"github.com/durabench/durabench/bench/plan"
	"github.com/durabench/durabench/drivers"
)

// Executor does the work of steps. Its methods are called from one goroutine at a time.
type Executor interface {
	// Run does one step and returns what it came to. It ends soon after ctx is cancelled, with an outcome that says so.
	Run(ctx context.Context, task Task) Outcome
	// Close releases the database and its clients.
	Close() error
}

// Task is one execution of a step.
type Task struct {
	Step plan.Step
	// Attempt counts the executions of this step, from 1. More than 1 means that an agent was lost while it ran.
	Attempt int
	// Progress takes the live view of a running leg; it never blocks.
	Progress func(load.Progress)
	// Say takes in words what goes on beside the measuring, such as opening clients, and nothing while operations are measured. It
	// never blocks.
	Say func(string)
	// Remember keeps a value, as JSON, for the next execution of the step, should the agent be lost in this one. It is on disk when it returns.
	Remember func(value any) error
	// Recall reads what the execution before remembered. It returns false when that was nothing, and when the database server was lost since, so
	// that nothing goes on there.
	Recall func(into any) (bool, error)
}

// NewExecutor makes the executor of a run. It opens nothing yet, so that an agent answers at once. The outcomes are those of the steps
// that agents of this run have finished before.
type NewExecutor func(setup Setup, credentials drivers.Credentials, finished []Outcome, logger *slog.Logger) (Executor, error)

package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/durabench/durabench/activities"
	"github.com/durabench/durabench/bench/plan"
)

const (
	// heartbeatTimeout is how soon the loss of a worker is noticed. Activities tell of themselves at least every five seconds.
	heartbeatTimeout = 30 * time.Second
	// defaultLegTimeout bounds one step. It is generous: what ends a leg that hangs is the operation timeout, and what this ends was
	// measured for nothing.
	defaultLegTimeout = 24 * time.Hour
	// startTimeout bounds the start of a server: a large image may have to be fetched over a slow line first.
	startTimeout = time.Hour
	// holdTimeout is how long a run waits for a machine that somebody else holds.
	holdTimeout = 24 * time.Hour
	// storeTimeout is how long a result waits for its store to be back.
	storeTimeout = 24 * time.Hour
	// cleanTimeout is how long clean-up waits for the host to be there.
	cleanTimeout = time.Hour
)

// hostOptions are the options of an activity on the run's host that takes minutes at most and is tried a few times.
func (b *benchmark) hostOptions(summary string, limit time.Duration, attempts int32) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		TaskQueue:           HostQueue(b.in.Host),
		StartToCloseTimeout: limit,
		HeartbeatTimeout:    heartbeatTimeout,
		WaitForCancellation: true,
		Summary:             summary,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: 30 * time.Second, MaximumAttempts: attempts,
		},
	}
}

// prepareOptions are those of preparing the host: a machine that somebody else holds, a run of another Temporal server, is waited for.
func (b *benchmark) prepareOptions() workflow.ActivityOptions {
	options := b.hostOptions("host "+b.in.Host, activities.PrepareLimit(&b.in.Spec), 0)
	options.ScheduleToCloseTimeout = holdTimeout
	return options
}

// legOptions are the options of a step. Its activity is tried without end, as each attempt only takes over waiting: the agent decides
// when a step has been lost too often, and the activity when the agent has.
func (b *benchmark) legOptions(step plan.Step) workflow.ActivityOptions {
	limit := time.Duration(b.in.LegTimeout)
	if limit <= 0 {
		limit = defaultLegTimeout
	}
	options := b.hostOptions(summary(step), limit, 0)
	options.RetryPolicy.MaximumInterval = 5 * time.Second
	return options
}

// storeOptions are the options of an activity that writes results: it is tried until the store takes them.
func (b *benchmark) storeOptions(summary string) workflow.ActivityOptions {
	options := b.hostOptions(summary, 10*time.Minute, 0)
	options.ScheduleToCloseTimeout = storeTimeout
	options.RetryPolicy.MaximumInterval = time.Minute
	return options
}

// cleanOptions are the options of clean-up.
func (b *benchmark) cleanOptions(summary string) workflow.ActivityOptions {
	options := b.hostOptions(summary, 5*time.Minute, 5)
	options.ScheduleToCloseTimeout = cleanTimeout
	return options
}

// summary names a step for the list of activities, e.g. "read · 100000 × 4×8".
func summary(step plan.Step) string {
	if step.Samples == 0 {
		return step.ID
	}
	return fmt.Sprintf("%s · %d × %d×%d", step.ID, step.Samples, step.Clients, step.Threads)
}

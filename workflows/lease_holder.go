package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/durabench/durabench/activities"
	"github.com/durabench/durabench/bench/result"
)

const (
	// claimTimeout is how long asking for the host is tried. The server answers workflows meanwhile, so what fails so long is no restart.
	claimTimeout = 2 * time.Minute
	// claimAgain is how often a waiting run repeats its claim: a lease that somebody terminated is back that soon.
	claimAgain = 5 * time.Minute
)

// holdHost waits until the run has the host for itself and returns how to give it back. A run that stops waiting, cancelled or because it
// cannot ask, leaves the queue.
func (b *benchmark) holdHost(ctx workflow.Context) (release func(workflow.Context), err error) {
	b.progress.Phase = PhaseWaiting
	b.show(ctx)
	execution := workflow.GetInfo(ctx).WorkflowExecution
	claim := activities.Claim{
		Execution: activities.Execution{Workflow: execution.ID, Run: execution.RunID},
		Priority:  string(b.in.Priority), Since: workflow.Now(ctx),
	}
	release = func(ctx workflow.Context) {
		signal := workflow.SignalExternalWorkflow(ctx, LeaseID(b.in.Host), "", SignalRelease, claim)
		logFailure(ctx, "host not released; its lease finds out by itself", signal.Get(ctx, nil))
	}
	if err := b.waitForHost(ctx, claim); err != nil {
		leave, cancel := workflow.NewDisconnectedContext(ctx)
		defer cancel()
		release(leave)
		return nil, err
	}
	b.progress.Phase, b.progress.Queue = PhasePreparing, nil
	b.show(ctx)
	return release, nil
}

// waitForHost claims the host and waits until it is granted.
func (b *benchmark) waitForHost(ctx workflow.Context, claim activities.Claim) error {
	places := workflow.GetSignalChannel(ctx, SignalPlace)
	for {
		ask := workflow.WithLocalActivityOptions(ctx, localOptions("claim host "+b.in.Host, claimTimeout, 0))
		err := workflow.ExecuteLocalActivity(ask, leases.ClaimHost, activities.ClaimHostInput{
			Lease: LeaseID(b.in.Host), Type: "HostLease", Queue: ControlQueue, Signal: SignalAcquire, Host: b.in.Host, Claim: claim,
		}).Get(ctx, nil)
		if err != nil {
			return err
		}
		for came := true; came; {
			came, err = awaitFor(ctx, claimAgain, func() bool { return places.Len() > 0 })
			if err != nil {
				return err
			}
			var place Place
			for places.ReceiveAsync(&place) {
				if place.Granted {
					return nil
				}
				b.progress.Queue = &place
			}
			b.show(ctx)
		}
	}
}

// withoutHost ends a run that never had the host. It has nothing to clear up, and must not: another run is being measured there.
func (b *benchmark) withoutHost(ctx workflow.Context, failure error) (BenchmarkResult, error) {
	cancelled := ctx.Err() != nil
	finish, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	for _, step := range b.in.Plan.Steps {
		b.miss(step, result.NotRun, reason(failure, cancelled))
	}
	outcome := BenchmarkResult{RunID: b.in.RunID, Verdict: result.Failed, Why: message(failure), Rows: b.progress.Rows}
	if cancelled {
		outcome.Verdict, outcome.Why = result.Interrupted, fmt.Sprintf("the run was cancelled while it waited for host %s", b.in.Host)
	}
	b.progress.Phase, b.progress.Queue = PhaseFinished, nil
	b.show(finish)
	b.setVerdict(finish, outcome.Verdict)
	if cancelled {
		return outcome, temporal.NewCanceledError(outcome)
	}
	return outcome, temporal.NewApplicationErrorWithOptions(outcome.Why, kind(failure),
		temporal.ApplicationErrorOptions{NonRetryable: true, Details: []any{outcome}})
}

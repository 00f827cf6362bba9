package workflows

import (
	"errors"
	"fmt"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/durabench/durabench/activities"
	"github.com/durabench/durabench/bench/plan"
	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/bench/spec"
)

// conclude stops the agent, stores the document, stops the server and clears the host. Every part is done whether or not the others
// could be. Its context is not the cancelled one.
func (b *benchmark) conclude(ctx workflow.Context, failure error, cancelled bool) (BenchmarkResult, error) {
	b.progress.Phase, b.progress.Step = PhaseFinishing, ""
	b.show(ctx)
	b.clean(ctx, "agent not stopped", "stop agent", agents.StopAgent, b.run)
	for _, step := range b.in.Plan.Steps {
		switch {
		case !step.Timed || b.known(step):
		case b.unfinished != nil && b.unfinished.Step == step.ID:
			b.salvage(ctx, step)
		default:
			b.miss(step, result.NotRun, reason(failure, cancelled))
		}
	}
	b.show(ctx)

	var text string
	if failure != nil && !cancelled {
		text = message(failure)
	}
	options := b.storeOptions("result document")
	if !b.measured {
		// There is nothing to wait a day for, and the store may be what the run failed for.
		options.RetryPolicy.MaximumAttempts = 2
	}
	put := workflow.WithActivityOptions(ctx, options)
	whole := b.run
	whole.Spec = b.in.Spec
	unstored := workflow.ExecuteActivity(put, results.Assemble, activities.AssembleInput{
		Run: whole, Plan: b.in.Plan, Command: b.in.Command, Host: b.host, Server: b.server, Missing: b.missing,
		Started: b.started, Finished: workflow.Now(ctx), Error: text, Cancelled: cancelled,
	}).Get(ctx, &b.document)

	if b.in.Spec.Mode == spec.ModeLoad && failure == nil && !cancelled && b.valid() {
		b.clean(ctx, "loaded data not sealed", "manifest", data.SealDataset, b.run)
	}
	failed := !cancelled && !b.valid()
	b.clean(ctx, "server not stopped", "stop server", server.StopServer, activities.StopServerInput{Run: b.run, Failed: failed})
	b.clean(ctx, "host not cleaned", "clean host", host.CleanHost, activities.CleanHostInput{Run: b.run, KeepLogs: b.in.KeepLogs || failed})

	outcome := BenchmarkResult{RunID: b.in.RunID, Verdict: b.document.Verdict, Why: b.document.Why, Document: b.document, Rows: b.progress.Rows}
	switch {
	case unstored != nil && failure == nil:
		failure = fmt.Errorf("the result document could not be stored: %w", unstored)
		outcome.Verdict, outcome.Why = result.Failed, message(failure)
	case unstored != nil:
		outcome.Verdict, outcome.Why = result.Failed, text
		logFailure(ctx, "result document not stored", unstored)
	}
	b.progress.Phase = PhaseFinished
	b.show(ctx)
	b.setVerdict(ctx, outcome.Verdict)
	switch {
	case cancelled:
		return outcome, temporal.NewCanceledError(outcome)
	case failure != nil:
		return outcome, temporal.NewApplicationErrorWithOptions(message(failure), kind(failure),
			temporal.ApplicationErrorOptions{NonRetryable: true, Details: []any{outcome}})
	default:
		return outcome, nil
	}
}

// clean runs one activity of the end of a run; its failure is logged.
func (b *benchmark) clean(ctx workflow.Context, failure, summary string, activity, input any) {
	options := workflow.WithActivityOptions(ctx, b.cleanOptions(summary))
	logFailure(ctx, failure, workflow.ExecuteActivity(options, activity, input).Get(ctx, nil))
}

// salvage has stored what there is of the leg that nobody waited for to the end.
func (b *benchmark) salvage(ctx workflow.Context, step plan.Step) {
	put := workflow.WithActivityOptions(ctx, b.cleanOptions("store "+step.ID))
	var found activities.SalvagedLeg
	err := workflow.ExecuteActivity(put, results.SalvageLeg, activities.PutLegInput{Run: b.run, Step: step, Number: b.legNumber(step)}).Get(ctx, &found)
	logFailure(ctx, "interrupted leg not stored", err)
	if err != nil || !found.Found {
		b.miss(step, b.unfinished.Verdict, b.unfinished.Why)
		return
	}
	b.measured = true
	b.progress.Rows = append(b.progress.Rows, row(step, found.Result))
}

// reason says why a leg was never reached.
func reason(failure error, cancelled bool) string {
	switch {
	case cancelled:
		return "the run was cancelled before it"
	case failure != nil:
		return "the run failed before it: " + message(failure)
	default:
		return "the run ended before it"
	}
}

// message is the text of an activity's error for people, without Temporal's own words around it.
func message(err error) string {
	var application *temporal.ApplicationError
	var timeout *temporal.TimeoutError
	switch {
	case errors.As(err, &application):
		return application.Message()
	case errors.As(err, &timeout):
		return "it took too long: " + timeout.Error()
	default:
		return err.Error()
	}
}

// kind is the type of the error that a failed run ends with.
func kind(err error) string {
	var application *temporal.ApplicationError
	if errors.As(err, &application) && application.Type() != "" {
		return application.Type()
	}
	return activities.TypeInfrastructure
}

// ResultOf returns what a run that failed or was cancelled came to, from the error that waiting for its workflow gave.
func ResultOf(err error) (outcome BenchmarkResult, ok bool) {
	ok = detailsOf(err, &outcome)
	return outcome, ok && outcome.RunID != ""
}

// detailsOf reads what a workflow that failed or was cancelled came to into outcome.
func detailsOf(err error, outcome any) bool {
	var application *temporal.ApplicationError
	var cancelled *temporal.CanceledError
	switch {
	case errors.As(err, &application) && application.HasDetails():
		return application.Details(outcome) == nil
	case errors.As(err, &cancelled) && cancelled.HasDetails():
		return cancelled.Details(outcome) == nil
	default:
		return false
	}
}

package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/durabench/durabench/activities"
	"github.com/durabench/durabench/bench/plan"
)

// maxLosses is how often the server may be lost under one step, or before it. The agent gives a step up earlier that was begun too often;
// this is for a server that never lives long enough for a step to begin.
const maxLosses = 6

// runStep has a step run until it comes to something. Losses of workers and agents are seen to below this: the activity is retried, finds the
// step where it is, or has a new agent begin it again. The loss of the database server is seen to here, as the server is the workflow's.
// Whether the data is still what the step needs is found out, and put right, by the new agent.
func (b *benchmark) runStep(ctx workflow.Context, step plan.Step) (activities.StepResult, error) {
	in := activities.RunLegInput{Run: b.run, Step: step}
	var came activities.StepResult
	for {
		in.Server = *b.server
		before := came.Interruptions
		came = activities.StepResult{}
		run := workflow.WithActivityOptions(ctx, b.legOptions(step))
		err := workflow.ExecuteActivity(run, leg.RunLeg, in).Get(ctx, &came)
		came.Interruptions = append(before, came.Interruptions...)
		if err != nil || came.Lost == nil || came.Final {
			return came, err
		}
		in.Lost = append(in.Lost, *came.Lost)
		workflow.GetLogger(ctx).Warn("database server lost", "step", step.ID, "attempt", came.Lost.Attempt, "note", came.Lost.Note)
		if len(in.Lost) >= maxLosses {
			return came, fmt.Errorf("step %s: the database server was lost %d times: %s", step.ID, len(in.Lost), came.Lost.Note)
		}
		if err := b.recoverServer(ctx); err != nil {
			return came, err
		}
	}
}

// recoverServer brings the database server back, and ends the agent, whose connections lead to the old one. The next step starts another.
func (b *benchmark) recoverServer(ctx workflow.Context) error {
	stop := workflow.WithActivityOptions(ctx, b.hostOptions("stop agent", 5*time.Minute, 5))
	if err := workflow.ExecuteActivity(stop, agents.StopAgent, b.run).Get(ctx, nil); err != nil {
		return err
	}
	start := workflow.WithActivityOptions(ctx, b.hostOptions(b.in.Spec.Database+" again", 15*time.Minute, 0))
	var started activities.StartedServer
	err := workflow.ExecuteActivity(start, server.RecoverServer, activities.RecoverServerInput{Run: b.run, Server: *b.server}).Get(ctx, &started)
	if err != nil {
		return err
	}
	b.server = &started
	return nil
}

package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/durabench/durabench/activities"
	"github.com/durabench/durabench/infra/process"
	"github.com/durabench/durabench/workflows"
)

// relieveFor is how long relieving is tried. By then the server has missed the heartbeats of a worker that is gone.
const relieveFor = 30 * time.Second

// identity names a worker of this process that serves a queue, so that it is known when it is gone and whose work that was.
func identity(queue string) string { return process.Self() + " for " + queue }

// gone tells whether a worker that served the queue surely does not run any more.
func gone(worker, queue string) bool {
	self, of, named := strings.Cut(worker, " for ")
	return named && of == queue && process.Ended(self)
}

// relieve takes over from workers of this machine's queue that were killed: the attempts at activities that they had are given up at once, where the server would
// wait for their heartbeats. The next attempt, most likely ours, goes on where they were.
func (o *Options) relieve(ctx context.Context, c client.Client) {
	ctx, cancel := context.WithTimeout(ctx, relieveFor)
	defer cancel()
	for {
		err := o.relieveAll(ctx, c)
		if err == nil || ctx.Err() != nil {
			return
		}
		o.Logger.Warn("whether a worker was killed here is not known, trying again", "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(2 * time.Second): // the server may be starting again, too
		}
	}
}

func (o *Options) relieveAll(ctx context.Context, c client.Client) error {
	var next []byte
	for {
		page, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Query: "(WorkflowType = 'Benchmark' OR WorkflowType = 'Matrix') AND ExecutionStatus = 'Running'", NextPageToken: next,
		})
		if err != nil {
			return fmt.Errorf("list the runs and matrices that go on: %w", err)
		}
		for _, run := range page.GetExecutions() {
			if err := o.relieveRun(ctx, c, run.GetExecution().GetWorkflowId(), run.GetExecution().GetRunId()); err != nil {
				return err
			}
		}
		if next = page.GetNextPageToken(); len(next) == 0 {
			return nil
		}
	}
}

// relieveRun gives up what killed workers of this machine's queue have of one run or matrix.
func (o *Options) relieveRun(ctx context.Context, c client.Client, workflow, run string) error {
	described, err := c.DescribeWorkflow(ctx, workflow, run)
	var missing *serviceerror.NotFound
	if errors.As(err, &missing) {
		return nil // it has ended meanwhile
	}
	if err != nil {
		return fmt.Errorf("look up workflow %s: %w", workflow, err)
	}
	for _, pending := range described.RawResponse.GetPendingActivities() {
		worker := pending.GetLastWorkerIdentity()
		if pending.GetState() != enumspb.PENDING_ACTIVITY_STATE_STARTED || !gone(worker, workflows.HostQueue(o.Host)) {
			continue
		}
		lost := temporal.NewApplicationErrorWithOptions("the worker, "+worker+", is gone", activities.TypeDraining,
			temporal.ApplicationErrorOptions{NextRetryDelay: 100 * time.Millisecond})
		err := c.CompleteActivityByID(ctx, cmp.Or(o.Namespace, client.DefaultNamespace), workflow, run, pending.GetActivityId(), nil, lost)
		if err != nil && !errors.As(err, &missing) {
			return fmt.Errorf("take over activity %s of workflow %s: %w", pending.GetActivityType().GetName(), workflow, err)
		}
		o.Logger.Info("taken over from a worker that is gone", "workflow", workflow, "activity", pending.GetActivityType().GetName(), "worker", worker)
	}
	return nil
}

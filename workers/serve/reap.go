package serve

import (
	"context"
	"errors"
	"path/filepath"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/durabench/durabench/activities"
	"github.com/durabench/durabench/infra/host"
	"github.com/durabench/durabench/infra/temporal"
	"github.com/durabench/durabench/workflows"
)

// NewReaper returns what removes the leftovers of this installation's runs; only Work, Temporal and Logger of the options matter.
func NewReaper(c client.Client, o Options) (*activities.Reaper, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	return o.reaper(c), nil
}

func (o *Options) reaper(c client.Client) *activities.Reaper {
	return &activities.Reaper{
		Work: o.Work, Owner: o.data, LockDir: host.LockDir(), Journal: Journal(o.data), Logger: o.Logger,
		Going: func(ctx context.Context, runID, of string) (bool, error) { return o.going(ctx, c, runID, of) },
	}
}

// Journal is where the changes of the machine are written down, below the directory of all data.
func Journal(data string) string { return filepath.Join(data, "isolation") }

// going tells whether the workflow of a run is open. One that this server does not know is over, unless it is known to be another server's.
func (o *Options) going(ctx context.Context, c client.Client, runID, of string) (bool, error) {
	described, err := c.DescribeWorkflow(ctx, workflows.WorkflowID(runID), "")
	var missing *serviceerror.NotFound
	switch {
	case errors.As(err, &missing):
		return of != "" && of != o.Temporal, nil
	case err != nil:
		return true, err
	}
	return described.Status == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, nil
}

// reclaim puts back what a run that was killed has left changed of this machine, unless one holds it.
func (o *Options) reclaim(ctx context.Context) {
	holder, err := host.Reclaim(ctx, host.LockDir(), Journal(o.data))
	switch {
	case err != nil:
		o.Logger.Warn("what earlier runs changed on this machine is not put back", "error", err)
	case holder != nil:
		o.Logger.Info("this machine is held", "by", holder.String())
	}
}

// ours are processes of ours whose load is no reason to wait: a Temporal server that was started here.
func ours() []int {
	if pid := temporal.RunningPID(); pid != 0 {
		return []int{pid}
	}
	return nil
}

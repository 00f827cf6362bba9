package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/workflows"
)

func (a *app) watchCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "watch RUN",
		Short: "Show a run or a matrix going on, and its result at the end",
		Long: `Show a run, or a matrix, until it ends, and then its result, exactly as run does. A run whose worker on this machine is gone is served from here: it
goes on where it was, and a leg that the agent measured meanwhile is untouched.

Ctrl-C only stops looking; the run goes on as long as something serves its host (starter up, a worker, another watch). The exit code is
that of run, or 3 after Ctrl-C.`,
		Example: `  starter watch sqlite-20261201-101500-a1b2c3
  starter watch sqlite-20261201-101500-a1b2c3 --format json > result.json`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeRuns,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.watch(cmd.Context(), args[0]) },
	}
}

func (a *app) watch(ctx context.Context, runID string) error {
	s, err := a.connect(ctx, true)
	if err != nil {
		return err
	}
	defer s.close()
	if matrix, err := s.matrixOf(ctx, runID); matrix != nil || err != nil {
		return a.watchMatrix(ctx, s, runID, matrix, err)
	}
	run, stop, err := s.pickUp(ctx, runID)
	if err != nil {
		return err
	}
	defer stop()
	return a.follow(ctx, s, runID, run, false)
}

func (a *app) watchMatrix(ctx context.Context, s *session, runID string, run client.WorkflowRun, err error) error {
	if err != nil {
		return err
	}
	stop, err := s.serveMatrix(ctx, run)
	if err != nil {
		return err
	}
	defer stop()
	return a.followMatrix(ctx, s, runID, run, false)
}

// pickUp finds a run and keeps its host served if that is this machine.
func (s *session) pickUp(ctx context.Context, runID string) (client.WorkflowRun, func(), error) {
	described, err := s.client.DescribeWorkflow(ctx, workflows.WorkflowID(runID), "")
	var missing *serviceerror.NotFound
	if errors.As(err, &missing) {
		return nil, nil, s.noSuchRun(ctx, runID)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("look up run %s: %w", runID, err)
	}
	execution := described.WorkflowExecution
	run := s.client.GetWorkflow(ctx, execution.ID, execution.RunID)
	input, err := s.inputOf(ctx, run)
	if err != nil {
		return nil, nil, err
	}
	local, err := isThisHost(input.Host)
	if err != nil || !local {
		return run, func() {}, err
	}
	k, err := s.serveHost(input.Host)
	if err != nil {
		return nil, nil, err
	}
	return run, k.stop, nil
}

// noSuchRun names the runs that are nearest to what was asked for.
func (s *session) noSuchRun(ctx context.Context, runID string) error {
	rows, err := s.runs(ctx, 100)
	if err != nil || len(rows) == 0 {
		return usagef("there is no run %q at %s", runID, s.server.Address)
	}
	ids := make([]string, len(rows))
	for i, row := range rows {
		ids[i] = row.Run
	}
	if nearest := drivers.Nearest(runID, ids); nearest != "" {
		return usagef("there is no run %q; did you mean %s?", runID, nearest)
	}
	return usagef("there is no run %q; the latest are %s", runID, strings.Join(ids[:min(3, len(ids))], ", "))
}

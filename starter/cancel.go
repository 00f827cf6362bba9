package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/durabench/durabench/activities/secrets"
	"github.com/durabench/durabench/workflows"
)

func (a *app) cancelCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "cancel RUN",
		Short: "Cancel a run or a matrix and wait until it has cleaned up",
		Long: `Cancel a run: the leg under way stops, what was measured is kept in the result document, everything that was started is stopped. The
command waits for that; Ctrl-C stops the waiting only. A run that is over already is left as it is.`,
		Example: `  starter cancel sqlite-20261201-101500-a1b2c3`,
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.cancel(cmd.Context(), args[0]) },
	}
}

func (a *app) cancel(ctx context.Context, runID string) error {
	s, err := a.connect(ctx, true)
	if err != nil {
		return err
	}
	defer s.close()
	if matrix, err := s.matrixOf(ctx, runID); matrix != nil || err != nil {
		return a.cancelMatrix(ctx, s, runID, matrix, err)
	}
	run, stop, err := s.pickUp(ctx, runID)
	if err != nil {
		return err
	}
	defer stop()
	err = s.client.CancelWorkflow(ctx, run.GetID(), run.GetRunID())
	var over *serviceerror.NotFound
	if errors.As(err, &over) {
		printf(a.stderr, "run %s is over already\n", runID)
		return nil
	}
	if err != nil {
		return fmt.Errorf("cancel run %s: %w", runID, err)
	}
	outcome, _ := s.wait(ctx, run)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if outcome.Document.Key == "" {
		if err := secrets.Delete(runID); err != nil { // nothing on the host does
			return err
		}
	}
	printf(a.stderr, "run %s is cancelled", runID)
	if outcome.Document.Path != "" {
		printf(a.stderr, "; what was measured is in %s", outcome.Document.Path)
	}
	printf(a.stderr, "\n")
	return nil
}

// cancelMatrix cancels a matrix, and with it the runs of its cells.
func (a *app) cancelMatrix(ctx context.Context, s *session, runID string, run client.WorkflowRun, err error) error {
	if err != nil {
		return err
	}
	stop, err := s.serveMatrix(ctx, run)
	if err != nil {
		return err
	}
	defer stop()
	err = s.client.CancelWorkflow(ctx, run.GetID(), "")
	var over *serviceerror.NotFound
	if errors.As(err, &over) {
		printf(a.stderr, "matrix %s is over already\n", runID)
		return nil
	}
	if err != nil {
		return fmt.Errorf("cancel matrix %s: %w", runID, err)
	}
	var outcome workflows.MatrixResult
	failure := s.await(ctx, run, &outcome)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if kept, ok := workflows.MatrixResultOf(failure); ok {
		outcome = kept
	}
	printf(a.stderr, "matrix %s is cancelled", runID)
	if outcome.Document.Path != "" {
		printf(a.stderr, "; what was measured is in %s", outcome.Document.Path)
	}
	printf(a.stderr, "\n")
	return nil
}

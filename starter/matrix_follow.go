package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/infra/store"
	"github.com/durabench/durabench/workflows"
)

// followMatrix shows a matrix until it ends, and then its summary. An interrupt cancels it if cancels is set, else it only stops looking.
func (a *app) followMatrix(ctx context.Context, s *session, runID string, run client.WorkflowRun, cancels bool) error {
	printf(a.stderr, "matrix %s", runID)
	if url := s.url(run.GetID(), ""); url != "" {
		printf(a.stderr, ": %s", url)
	}
	printf(a.stderr, "\n")
	viewing, stopViewing := context.WithCancel(context.WithoutCancel(ctx))
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		s.viewMatrix(viewing, run)
	}()
	endView := func() {
		stopViewing()
		<-shown
	}
	var outcome workflows.MatrixResult
	err := s.await(ctx, run, &outcome)
	if ctx.Err() != nil && cancels {
		// What follows takes as long as stopping does; a second interrupt ends the program.
		background := context.WithoutCancel(ctx)
		if err := s.client.CancelWorkflow(background, run.GetID(), ""); err != nil {
			endView()
			return fmt.Errorf("cancel matrix %s: %w", runID, err)
		}
		err = s.await(background, run, &outcome)
	}
	endView()
	if ctx.Err() != nil && !cancels {
		printf(a.stderr, "matrix %s goes on; starter watch %s shows it again\n", runID, runID)
		return &exitError{exitInterrupted, errShown{}}
	}
	if kept, ok := workflows.MatrixResultOf(err); ok {
		outcome = kept
	}
	return a.concludeMatrix(runID, outcome, err)
}

// concludeMatrix prints a finished matrix's summary and turns what its cells came to into the command's error.
func (a *app) concludeMatrix(runID string, outcome workflows.MatrixResult, failure error) error {
	if outcome.Document.Key == "" {
		if failure == nil {
			failure = errors.New("no summary was stored")
		}
		return fmt.Errorf("matrix %s: %w", runID, failure)
	}
	kept, err := store.Open(outcome.Document.Store)
	if err != nil {
		return err
	}
	data, err := kept.Get(context.Background(), outcome.Document.Key)
	if err != nil {
		return fmt.Errorf("read the summary: %w", err)
	}
	summary, err := result.DecodeMatrix(data)
	if err != nil {
		return err
	}
	if err := a.showMatrix(summary, outcome.Document.Path); err != nil {
		return err
	}
	if temporal.IsCanceledError(failure) {
		return &exitError{exitInterrupted, errShown{}}
	}
	return matrixError(summary)
}

// matrixError is the exit of a matrix: that of the worst of its cells. A skipped cell is no fault.
func matrixError(m *result.Matrix) error {
	code := exitOK
	for _, cell := range m.Cells {
		switch cell.Verdict {
		case result.Interrupted, result.NotRun:
			return &exitError{exitInterrupted, errShown{}}
		case result.Failed, result.Invalid, result.Overloaded:
			code = exitLegs
		}
	}
	if code == exitOK {
		return nil
	}
	return &exitError{code, errShown{}}
}

// showMatrix prints a summary in the format asked for.
func (a *app) showMatrix(m *result.Matrix, path string) error {
	switch a.format {
	case "json":
		return m.Encode(a.stdout)
	case "csv":
		return result.WriteMatrixCSV(a.stdout, m)
	case "markdown":
		return result.WriteMatrixMarkdown(a.stdout, m)
	}
	if err := result.WriteMatrixTable(a.stdout, m); err != nil {
		return err
	}
	if path != "" {
		printf(a.stdout, "\nsummary: %s\n", path)
	}
	return nil
}

// viewMatrix tells of each cell as it begins and ends, and shows the one under way as a run is shown.
func (s *session) viewMatrix(ctx context.Context, run client.WorkflowRun) {
	cells := &cellViews{s: s, ctx: ctx, shown: map[string]func(){}, said: map[string]bool{}}
	defer cells.end()
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		if progress, err := s.matrixProgress(ctx, run); err == nil {
			cells.show(progress)
		} else if ctx.Err() == nil {
			s.app.logger().Debug("progress not available", "error", err)
		}
		select {
		case <-ctx.Done():
			// The last look shows the cells as they ended.
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
			if progress, err := s.matrixProgress(last, run); err == nil {
				cells.show(progress)
			}
			cancel()
			return
		case <-ticker.C:
		}
	}
}

func (s *session) matrixProgress(ctx context.Context, run client.WorkflowRun) (progress workflows.MatrixProgress, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	answer, err := s.client.QueryWorkflow(ctx, run.GetID(), "", workflows.QueryProgress)
	if err != nil {
		return progress, err
	}
	return progress, answer.Get(&progress)
}

// cellViews are the cells of a matrix on the screen.
type cellViews struct {
	s     *session
	ctx   context.Context
	shown map[string]func() // how to end the view of a cell's run
	said  map[string]bool
}

func (c *cellViews) show(p workflows.MatrixProgress) {
	running := map[string]bool{}
	for _, cell := range p.Running {
		running[cell.Run] = cell.Run != ""
	}
	for run, end := range c.shown {
		if !running[run] {
			end()
			delete(c.shown, run)
		}
	}
	for i, cell := range p.Done {
		c.once(fmt.Sprintf("end %d", i), "cell %s on %s: %s\n", workflows.CellName(cell), cell.Host, ended(cell))
	}
	for _, cell := range p.Running {
		if cell.Run == "" || c.shown[cell.Run] != nil || c.ctx.Err() != nil {
			continue
		}
		c.once("start "+cell.Run, "cell %s on %s (%d of %d): run %s\n", workflows.CellName(cell), cell.Host, len(p.Done)+1, p.Of, cell.Run)
		if len(p.Running) == 1 { // bars of several would overwrite each other
			c.shown[cell.Run] = c.view(cell.Run)
		}
	}
}

// ended says how a cell came out.
func ended(cell result.MatrixCell) string {
	if cell.Why == "" {
		return string(cell.Verdict)
	}
	return fmt.Sprintf("%s, %s", cell.Verdict, cell.Why)
}

func (c *cellViews) once(key, format string, args ...any) {
	if !c.said[key] {
		c.said[key] = true
		printf(c.s.app.stderr, format, args...)
	}
}

// view shows the run of a cell until the returned function is called.
func (c *cellViews) view(run string) (end func()) {
	ctx, cancel := context.WithCancel(c.ctx)
	done := make(chan struct{})
	screen := c.s.app.newDisplay(c.s.app.stderr)
	go func() {
		defer close(done)
		c.s.view(ctx, c.s.client.GetWorkflow(ctx, workflows.WorkflowID(run), ""), screen)
	}()
	return func() {
		cancel()
		<-done
		screen.close()
	}
}

func (c *cellViews) end() {
	for _, end := range c.shown {
		end()
	}
}

// findMatrix finds the workflow of a matrix by its run id; nil when there is none.
func (s *session) findMatrix(ctx context.Context, runID string) (client.WorkflowRun, error) {
	described, err := s.client.DescribeWorkflow(ctx, workflows.MatrixID(runID), "")
	if err == nil {
		return s.client.GetWorkflow(ctx, described.WorkflowExecution.ID, ""), nil
	}
	var missing *serviceerror.NotFound
	if !errors.As(err, &missing) {
		return nil, fmt.Errorf("look up matrix %s: %w", runID, err)
	}
	// Those of a schedule have another id, and tell their run id in their memo.
	var page []byte
	for {
		answer, err := s.client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Namespace: s.server.Namespace, PageSize: 500, Query: "WorkflowType = 'Matrix'", NextPageToken: page,
		})
		if err != nil {
			return nil, fmt.Errorf("look up matrix %s: %w", runID, err)
		}
		for _, execution := range answer.GetExecutions() {
			if memoRun(execution.GetMemo()) == runID {
				return s.client.GetWorkflow(ctx, execution.GetExecution().GetWorkflowId(), ""), nil
			}
		}
		if page = answer.GetNextPageToken(); len(page) == 0 {
			return nil, nil
		}
	}
}

// matrixOf finds the matrix that runID names; nil when it is a run, or nothing.
func (s *session) matrixOf(ctx context.Context, runID string) (client.WorkflowRun, error) {
	_, err := s.client.DescribeWorkflow(ctx, workflows.WorkflowID(runID), "")
	var missing *serviceerror.NotFound
	if !errors.As(err, &missing) {
		return nil, nil // what else went wrong is told by who looks for the run
	}
	return s.findMatrix(ctx, runID)
}

// serveMatrix keeps the hosts of a matrix served as far as they are this machine.
func (s *session) serveMatrix(ctx context.Context, run client.WorkflowRun) (stop func(), err error) {
	var input workflows.MatrixInput
	if err := s.readInput(ctx, run, &input); err != nil {
		return nil, err
	}
	for _, host := range input.Hosts {
		local, err := isThisHost(host)
		if err != nil {
			return nil, err
		}
		if local {
			k, err := s.serveHost(host)
			if err != nil {
				return nil, err
			}
			return k.stop, nil
		}
	}
	return func() {}, nil
}

// memoRun reads the run id that a matrix tells in its memo; "" when it has not yet.
func memoRun(memo *commonpb.Memo) string {
	payload, ok := memo.GetFields()[workflows.MemoRun]
	if !ok {
		return ""
	}
	var text string
	if err := converter.GetDefaultDataConverter().FromPayload(payload, &text); err != nil {
		return ""
	}
	return text
}

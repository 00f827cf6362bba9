package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/durabench/durabench/activities"
	"github.com/durabench/durabench/activities/secrets"
	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/infra/store"
	"github.com/durabench/durabench/workflows"
)

// follow shows a run until it ends, and then its result. An interrupt cancels the run if cancels is set, else it only stops looking.
func (a *app) follow(ctx context.Context, s *session, runID string, run client.WorkflowRun, cancels bool) error {
	if url := s.url(run.GetID(), run.GetRunID()); url != "" {
		printf(a.stderr, "run %s: %s\n", runID, url)
	} else {
		printf(a.stderr, "run %s\n", runID)
	}
	screen := a.newDisplay(a.stderr)
	viewing, stopViewing := context.WithCancel(context.WithoutCancel(ctx))
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		s.view(viewing, run, screen)
	}()
	endView := func() {
		stopViewing()
		<-shown
		screen.close()
	}
	outcome, err := s.wait(ctx, run)
	if ctx.Err() != nil && cancels {
		// What follows takes as long as stopping does; a second interrupt ends the program.
		background := context.WithoutCancel(ctx)
		if err := s.client.CancelWorkflow(background, run.GetID(), run.GetRunID()); err != nil {
			endView()
			return fmt.Errorf("cancel run %s: %w", runID, err)
		}
		outcome, err = s.wait(background, run)
	}
	endView()
	if ctx.Err() != nil && !cancels {
		printf(a.stderr, "run %s goes on; starter watch %s shows it again\n", runID, runID)
		return &exitError{exitInterrupted, errShown{}}
	}
	return a.conclude(runID, outcome, err)
}

// wait waits for a run's end and returns what it came to.
func (s *session) wait(ctx context.Context, run client.WorkflowRun) (workflows.BenchmarkResult, error) {
	var outcome workflows.BenchmarkResult
	err := s.await(ctx, run, &outcome)
	if kept, ok := workflows.ResultOf(err); ok {
		outcome = kept
	}
	return outcome, err
}

// await waits for a workflow's end through interruptions of the server, and reads its result.
func (s *session) await(ctx context.Context, run client.WorkflowRun, outcome any) error {
	for {
		err := run.Get(ctx, outcome)
		if err == nil || ctx.Err() != nil {
			return err
		}
		var ended *temporal.WorkflowExecutionError
		if errors.As(err, &ended) {
			return err
		}
		// Everything else is the way to the server: it may be restarting.
		s.app.logger().Warn("temporal does not answer, trying again", "error", err)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(2 * time.Second):
		}
	}
}

// conclude prints a finished run's result and turns its verdict into the command's error.
func (a *app) conclude(runID string, outcome workflows.BenchmarkResult, failure error) error {
	if outcome.Document.Key == "" {
		return withoutDocument(runID, outcome, failure)
	}
	document, err := readDocument(outcome.Document)
	if err != nil {
		return err
	}
	if err := a.showDocument(document, outcome.Document.Path); err != nil {
		return err
	}
	return verdictError(document, failure)
}

// withoutDocument is the exit of a run that left none: it could not be stored, or the run never had its host. Nothing on the host will
// delete the credentials of such a run.
func withoutDocument(runID string, outcome workflows.BenchmarkResult, failure error) error {
	if err := secrets.Delete(runID); err != nil {
		return err
	}
	switch {
	case failure == nil:
		failure = errors.New("no result document was stored")
	case outcome.Verdict == result.Interrupted && outcome.Why != "":
		return &exitError{exitInterrupted, fmt.Errorf("run %s: %s", runID, outcome.Why)}
	case outcome.Why != "":
		failure = errors.New(outcome.Why)
	}
	return fmt.Errorf("run %s: %w", runID, failure)
}

// verdictError is the exit of a run whose document is on the screen.
func verdictError(d *result.Document, failure error) error {
	var application *temporal.ApplicationError
	switch {
	case temporal.IsCanceledError(failure), d.Run.Verdict == result.Interrupted:
		return &exitError{exitInterrupted, errShown{}}
	case errors.As(failure, &application):
		code := exitInfrastructure
		if application.Type() == activities.TypeSpec {
			code = exitUsage
		}
		return &exitError{code, errors.New(application.Message())}
	case failure != nil:
		return failure
	}
	switch d.Run.Verdict {
	case result.Valid, result.Unverified, result.GeneratorLimited:
		return nil // the last two are what was asked for and what was found; a gate is stricter
	}
	return &exitError{exitLegs, errShown{}}
}

// readDocument reads the document that a run stored.
func readDocument(at activities.Assembled) (*result.Document, error) {
	kept, err := store.Open(at.Store)
	if err != nil {
		return nil, err
	}
	data, err := kept.Get(context.Background(), at.Key)
	if err != nil {
		return nil, fmt.Errorf("read the result document: %w", err)
	}
	return result.Decode(data)
}

// showDocument prints a document in the format asked for. With json, stdout holds the document and nothing else.
func (a *app) showDocument(d *result.Document, path string) error {
	switch a.format {
	case "json":
		return d.Encode(a.stdout)
	case "csv":
		return result.WriteCSV(a.stdout, d)
	case "markdown":
		return result.WriteMarkdown(a.stdout, d)
	}
	if err := result.WriteTable(a.stdout, d, result.TableOptions{Width: width(a.stdout), Color: a.colored(a.stdout)}); err != nil {
		return err
	}
	if path != "" {
		printf(a.stdout, "result: %s\n", path)
	}
	return nil
}

// fileExists tells whether path is there.
func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

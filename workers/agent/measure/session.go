package measure

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/plan"
	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/bench/spec"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/infra/home"
	"github.com/durabench/durabench/workers/agent"
)

// session is the agent's hold on the run's database.
type session struct {
	setup       agent.Setup
	credentials drivers.Credentials
	engine      drivers.Engine
	corpus      *corpus.Corpus
	data        spec.DataFiles // of data sets, which must stay what they are
	tuning      tuning
	logger      *slog.Logger
	calibration *result.Calibration // nil before it was measured

	database *database // nil while it is not open
	// trusted tells that this agent itself brought the data to the state in which it is. After the loss of an agent, the rows are counted
	// before a leg relies on them.
	trusted bool
	// mark is what the data is known by; nil before it was made, and for databases that keep none.
	mark *mark
	// worn is what an index has gone through since it was built, as far as this agent knows.
	worn worn
	// pairs are those of the last leg with exchanges, until it is restored; nil when what has changed is not known.
	pairs *pairs
	// stirred is what the last mixed leg has written, until it is restored; likewise.
	stirred *stirred
	// neighbourhoods are the exact neighbours that are known, by the id of the step that works them out.
	neighbourhoods map[string]*neighbourhood
	// proofs are what exact searches of the engine have shown, by what they asked.
	proofs map[string]proof
	// notes is what has happened to the data in the running step, for its result.
	notes []result.Interruption
}

var _ agent.Executor = (*session)(nil)

func newSession(
	setup agent.Setup, credentials drivers.Credentials, finished []agent.Outcome, tuning tuning, logger *slog.Logger,
) (*session, error) {
	engine, ok := drivers.Lookup(setup.Spec.Database)
	if !ok {
		return nil, fmt.Errorf("engine %q is not in this build", setup.Spec.Database)
	}
	data, err := openDatasets(&setup.Spec)
	if err != nil {
		return nil, err
	}
	rows, err := setup.Spec.Corpus()
	if err != nil {
		return nil, fmt.Errorf("make the corpus: %w", err)
	}
	s := &session{setup: setup, credentials: credentials, engine: engine, corpus: rows, data: data, tuning: tuning, logger: logger}
	for _, outcome := range finished {
		if outcome.Calibration != nil {
			s.calibration = outcome.Calibration
		}
	}
	return s, s.restoreMark(finished)
}

// openDatasets opens the files of data sets and makes sure that they are those that the run is of.
func openDatasets(s *spec.Spec) (spec.DataFiles, error) {
	files, err := s.OpenDatasets()
	if err != nil || len(files) == 0 {
		return nil, err
	}
	cache, err := home.Datasets()
	if err != nil {
		return nil, err
	}
	return files, s.CheckDatasets(cache)
}

// Run does one step. Rows of data sets are only what they were while the files are.
func (s *session) Run(ctx context.Context, task agent.Task) agent.Outcome {
	kinds := map[plan.Kind]func(*session, context.Context, agent.Task) agent.Outcome{
		plan.Prepare:   (*session).prepare,
		plan.Attach:    (*session).attach,
		plan.Calibrate: (*session).calibrate,
		plan.Create:    (*session).create,
		plan.Read:      (*session).read,
		plan.Update:    (*session).update,
		plan.Delete:    (*session).delete,
		plan.Truth:     (*session).truth,

		plan.ExactNeighbours: (*session).neighbours,
		plan.SearchLeg:       (*session).search,

		plan.ScanLeg:    (*session).scan,
		plan.IndexBuild: (*session).buildIndex,
		plan.IndexDrop:  (*session).dropIndex,
		plan.Analyze:    (*session).analyze,
		plan.Restore:    (*session).restoreRows,
		plan.BatchLeg:   (*session).batch,
		plan.MixLeg:     (*session).mix,
	}
	run, ok := kinds[task.Step.Kind]
	if !ok {
		return failed(task, &problem{agent.ErrorSpec, fmt.Errorf("this build has no step of kind %q", task.Step.Kind)})
	}
	if err := s.data.Unchanged(); err != nil {
		return failed(task, &problem{agent.ErrorSpec, err})
	}
	before := s.mark.text()
	s.notes = nil
	outcome := run(s, ctx, task)
	if err := s.data.Unchanged(); err != nil {
		return failed(task, &problem{agent.ErrorSpec, err})
	}
	if outcome.Leg != nil {
		outcome.Leg.Interruptions = append(outcome.Leg.Interruptions, s.notes...)
	}
	if after := s.mark.text(); after != before {
		outcome.Mark = after
	}
	return outcome
}

// Close releases the database.
func (s *session) Close() error {
	if s.database == nil {
		return nil
	}
	err := s.database.close()
	s.database = nil
	return err
}

// problem is an error with its class.
type problem struct {
	class agent.ErrorClass
	err   error
}

func (p *problem) Error() string { return p.err.Error() }
func (p *problem) Unwrap() error { return p.err }

// classOf returns the class of a step's error.
func classOf(err error) agent.ErrorClass {
	var known *problem
	var unsupported drivers.Unsupported
	switch {
	case errors.As(err, &known):
		return known.class
	case errors.Is(err, context.Canceled):
		return agent.ErrorCancelled
	case errors.As(err, &unsupported):
		return agent.ErrorSpec
	default:
		return agent.ErrorInfrastructure
	}
}

// failed is the outcome of a step that did not come to its end.
func failed(task agent.Task, err error) agent.Outcome {
	step := task.Step
	if !step.Timed {
		return agent.Outcome{Error: err.Error(), ErrorClass: classOf(err)}
	}
	leg := legOf(step)
	leg.Verdict, leg.Why = result.Failed, err.Error()
	if unsupported, ok := errors.AsType[drivers.Unsupported](err); ok {
		leg.Verdict, leg.Why = result.Unsupported, unsupported.Why
	}
	switch classOf(err) {
	case agent.ErrorDataset:
		if task.Attempt == 1 {
			leg.Verdict = result.NotRun // it was refused before its first operation
		}
	case agent.ErrorCancelled:
		leg.Verdict = result.Interrupted
	}
	return agent.Outcome{Leg: &leg}
}

// legOf returns a step's leg without anything measured.
func legOf(step plan.Step) result.Leg {
	leg := result.Leg{
		ID: step.ID, Title: step.Title, Kind: string(step.Kind), Clients: step.Clients, Threads: step.Threads, Planned: step.Samples,
	}
	if step.Timing != nil {
		leg.WarmupNs, leg.WindowNs = time.Duration(step.Timing.Warmup).Nanoseconds(), time.Duration(step.Timing.Window).Nanoseconds()
	}
	return leg
}

package measure

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/durabench/durabench/bench/load"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/workers/agent"
)

// How often a build is asked about: when a tenth of the time that it has taken until then has passed again, within bounds.
const (
	shortestPoll = 10 * time.Millisecond
	longestPoll  = 250 * time.Millisecond
)

// pollPause returns how long to wait before asking again.
func pollPause(waited time.Duration) time.Duration {
	return min(max(waited/10, shortestPoll), longestPoll)
}

// describeIndex tells the result which index it is.
func describeIndex(index query.Index) *result.Index {
	d := &result.Index{Name: index.Name, Kind: string(index.Kind), Fields: []string{}, Unique: index.Unique}
	for _, path := range index.Paths {
		d.Fields = append(d.Fields, path.String())
	}
	return d
}

// indexer returns the database's ability to build indexes.
func (s *session) indexer() (drivers.Indexer, error) {
	indexer, ok := s.database.Database.(drivers.Indexer)
	if !ok {
		return nil, drivers.Unsupported{Why: s.engine.Title + " has no indexes here"}
	}
	return indexer, nil
}

// buildIndex builds an index and times it by three clocks, all from the start of the call: when the call returned, when the scan first gave its right
// answer, and when the index serves the scan with nothing left to do. The last of them is how long the build took.
func (s *session) buildIndex(ctx context.Context, task agent.Task) agent.Outcome {
	index := *task.Step.Index
	delete(s.unbuilt, index.Name)
	j := &scanJob{session: s, task: task}
	b := &indexBuild{job: j, index: index}
	outcome := s.single(ctx, task, work{prepare: b.prepare}, b.build, b.report)
	if leg := outcome.Leg; leg != nil && !holds(leg.Verdict) {
		s.noteUnbuilt(index.Name, leg)
	}
	return outcome
}

// noteUnbuilt remembers why there is no index for the legs that would use it.
func (s *session) noteUnbuilt(name string, leg *result.Leg) {
	if s.unbuilt == nil {
		s.unbuilt = map[string]refusal{}
	}
	verdict := result.NotRun
	if leg.Verdict == result.Unsupported {
		verdict = result.Unsupported
	}
	s.unbuilt[name] = refusal{verdict: verdict, why: "its index was not built: " + leg.Why}
}

// single runs a leg that is one operation, which tells itself how long it took.
func (s *session) single(
	ctx context.Context, task agent.Task, w work, operation func(context.Context) (time.Duration, error), report func(*result.Leg),
) agent.Outcome {
	if err := s.ready(ctx, task); err != nil {
		return failed(task, err)
	}
	leg := legOf(task.Step)
	if refused, err := w.prepare(ctx, &leg); err != nil {
		return failed(task, err)
	} else if refused != nil {
		leg.Verdict, leg.Why, leg.Measured = refused.verdict, refused.why, refused.measured
		return agent.Outcome{Leg: &leg}
	}
	var unsupported drivers.Unsupported
	w.report = func(_ *load.Result, leg *result.Leg) { report(leg) }
	outcome := s.measure(ctx, task, w, leg, func(ctx context.Context) (*load.Result, error) {
		return load.Once(ctx, time.Duration(s.setup.Spec.OperationTimeout), classify, func(ctx context.Context) (time.Duration, error) {
			took, err := operation(ctx)
			errors.As(err, &unsupported)
			return took, err
		})
	})
	if unsupported.Why != "" && outcome.Leg != nil {
		outcome.Leg.Verdict, outcome.Leg.Why, outcome.Leg.Measured = result.Unsupported, unsupported.Why, nil
		s.trusted = true
	}
	return outcome
}

// indexBuild is the work of an index leg.
type indexBuild struct {
	job   *scanJob
	index query.Index

	indexer                    drivers.Indexer
	returned, correct, serving *time.Duration
	state                      drivers.IndexState
	polls                      int64
	wrong                      error // the last wrong answer
	// earlier is when an execution of this step whose agent was lost began the build; nil when there was none. resumed tells that the server went on
	// with that build, and that all clocks are from its start.
	earlier  *time.Time
	resumed  bool
	compared bool // the right one was compared by its content
}

// prepare readies the scan whose answers tell when the index is right, and removes what a build that was cut short has left.
func (b *indexBuild) prepare(ctx context.Context, leg *result.Leg) (*refusal, error) {
	j, s := b.job, b.job.session
	leg.Index = describeIndex(b.index)
	var err error
	if b.indexer, err = s.indexer(); err != nil {
		return nil, err
	}
	if err := b.indexer.CanIndex(b.index); err != nil {
		return nil, err
	}
	if err := b.resume(ctx); err != nil {
		return nil, err
	}
	if !b.resumed {
		if err := s.dropLeft(ctx, b.indexer, b.index); err != nil {
			return nil, err
		}
	}
	if j.task.Step.Scan == nil {
		return nil, nil
	}
	if j.scan, err = query.Bind(&j.task.Step.Scan.Query, s.corpus.Template()); err != nil {
		return nil, &problem{agent.ErrorSpec, fmt.Errorf("scan %s: %w", j.task.Step.Scan.Query.ID, err)}
	}
	if err := j.findExpected(ctx); err != nil {
		return nil, err
	}
	leg.Scan = j.describe()
	return nil, nil
}

// begunBuild is what is remembered of a build.
type begunBuild struct {
	At time.Time `json:"at"`
}

// resume finds out whether the server goes on with a build whose agent was lost. One that has ended meanwhile is none: nobody knows when it did.
func (b *indexBuild) resume(ctx context.Context) error {
	var begun begunBuild
	if there, err := b.job.task.Recall(&begun); err != nil || !there {
		return err
	}
	b.earlier = &begun.At
	state, err := b.indexer.IndexState(ctx, b.index)
	if err != nil {
		return fmt.Errorf("look for index %s: %w", b.index.Name, err)
	}
	b.resumed = state.Exists && !state.Ready
	return nil
}

// dropLeft removes an index of ours that is there before its build.
func (s *session) dropLeft(ctx context.Context, indexer drivers.Indexer, index query.Index) error {
	state, err := indexer.IndexState(ctx, index)
	if err != nil {
		return fmt.Errorf("look for index %s: %w", index.Name, err)
	}
	if !state.Exists {
		return nil
	}
	s.logger.Warn("an index is there before it is built, and is dropped", "index", index.Name)
	if err := indexer.DropIndex(ctx, index); err != nil && !errors.Is(err, drivers.ErrNotFound) {
		return fmt.Errorf("drop index %s, which was left: %w", index.Name, err)
	}
	return nil
}

// build is on the clock.
func (b *indexBuild) build(ctx context.Context) (time.Duration, error) {
	began, err := b.begin(ctx)
	if err != nil {
		return 0, err
	}
	clock := func() *time.Duration { passed := time.Since(began); return &passed }
	for ctx.Err() == nil {
		if err := b.poll(ctx, clock); err != nil {
			if ctx.Err() != nil {
				break
			}
			return 0, err
		}
		if b.serving != nil && (b.correct != nil || b.job.want < 0 || b.job.scan == nil) {
			took := *b.serving
			if b.correct != nil {
				took = max(took, *b.correct)
			}
			return took, nil
		}
		waited := time.Since(began)
		b.job.task.Say(fmt.Sprintf("index %s: %v, %s", b.index.Name, waited.Round(100*time.Millisecond), b.waitsFor()))
		select {
		case <-ctx.Done():
		case <-time.After(pollPause(waited)):
		}
	}
	return 0, fmt.Errorf("wait until index %s serves: %s: %w", b.index.Name, b.waitsFor(), ctx.Err())
}

// begin has the server build the index, and returns when that began. Where a lost agent's build is under way without being seen, as an uncommitted
// one of PostgreSQL, the server makes a second one wait for its end, and says then that there is such an index.
func (b *indexBuild) begin(ctx context.Context) (time.Time, error) {
	if b.resumed {
		return *b.earlier, nil
	}
	if err := b.job.task.Remember(begunBuild{At: time.Now()}); err != nil {
		return time.Time{}, err
	}
	began := time.Now()
	err := b.indexer.CreateIndex(ctx, b.index)
	if errors.Is(err, drivers.ErrExists) && b.earlier != nil {
		b.resumed = true
		return *b.earlier, b.job.task.Remember(begunBuild{At: *b.earlier})
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("create index %s: %w", b.index.Name, err)
	}
	passed := time.Since(began)
	b.returned = &passed
	return began, nil
}

// waitsFor tells people what is missing.
func (b *indexBuild) waitsFor() string {
	switch {
	case b.serving == nil && b.state.Detail != "":
		return "not ready: " + b.state.Detail
	case b.serving == nil:
		return "not ready"
	case b.wrong != nil:
		return "ready, but its answers are wrong: " + b.wrong.Error()
	}
	return "ready"
}

// poll reads the clocks that have not been read yet.
func (b *indexBuild) poll(ctx context.Context, clock func() *time.Duration) error {
	b.polls++
	if b.serving == nil {
		state, err := b.indexer.IndexState(ctx, b.index)
		if err != nil {
			return fmt.Errorf("ask for the state of index %s: %w", b.index.Name, err)
		}
		b.state = state
		if state.Ready {
			b.serving = clock()
		}
	}
	if b.correct == nil && b.job.scan != nil && b.job.want >= 0 {
		return b.tryAnswer(ctx, clock)
	}
	return nil
}

// tryAnswer runs the scan once. The clock is read when its answer has come; comparing it is not part of it.
func (b *indexBuild) tryAnswer(ctx context.Context, clock func() *time.Duration) error {
	j := b.job
	if j.statements == nil {
		// Some servers plan a statement when it is prepared: not before there is an index to use.
		if err := j.prepareStatements(ctx); err != nil {
			return err
		}
	}
	scanner := j.session.database.clients[0].(drivers.Scanner)
	answer := &drivers.Answer{Keep: j.expected != nil && j.keeps > 0}
	if err := scanner.Scan(ctx, j.statements[0], answer); err != nil {
		return fmt.Errorf("scan %s: %w", j.scan.ID, err)
	}
	came := clock()
	if b.wrong = j.compareNumber(j.number(answer), 0); b.wrong == nil && answer.Keep {
		b.wrong = j.check(scanner, j.statements[0], answer, 0)
	}
	if b.wrong == nil {
		b.compared = answer.Keep || j.scan.Project == query.Count
		b.correct = came
	} else {
		j.statements = nil
	}
	return nil
}

// report tells the result what the clocks showed.
func (b *indexBuild) report(leg *result.Leg) {
	d := describeIndex(b.index)
	for _, clock := range []struct {
		read *time.Duration
		to   **int64
	}{{b.returned, &d.ReturnedNs}, {b.correct, &d.CorrectNs}, {b.serving, &d.ServingNs}} {
		if clock.read != nil {
			ns := clock.read.Nanoseconds()
			*clock.to = &ns
		}
	}
	d.How, d.Polls = b.state.How, b.polls
	if b.state.Bytes > 0 {
		d.Bytes = &b.state.Bytes
	}
	if b.correct != nil && b.compared {
		leg.Measured.Checked++
	}
	if b.resumed {
		d.Resumed = true
		d.Note = fmt.Sprintf("the server went on building after the agent was lost: by the machine's clock from %s, when the build began; nobody saw the call return",
			b.earlier.UTC().Format(time.RFC3339))
	}
	if b.wrong != nil {
		d.Note = "the last answer was wrong: " + b.wrong.Error()
	}
	leg.Index = d
}

// dropIndex removes an index.
func (s *session) dropIndex(ctx context.Context, task agent.Task) agent.Outcome {
	index := *task.Step.Index
	if why, ok := s.unbuilt[index.Name]; ok {
		leg := legOf(task.Step)
		leg.Index, leg.Verdict, leg.Why = describeIndex(index), why.verdict, why.why
		return agent.Outcome{Leg: &leg}
	}
	var indexer drivers.Indexer
	prepare := func(ctx context.Context, leg *result.Leg) (*refusal, error) {
		leg.Index = describeIndex(index)
		refused, err := s.ensureIndex(ctx, task, index) // there is one to drop, also after the loss of an agent
		if refused != nil || err != nil {
			return refused, err
		}
		indexer, err = s.indexer()
		return nil, err
	}
	drop := func(ctx context.Context) (time.Duration, error) {
		began := time.Now()
		if err := indexer.DropIndex(ctx, index); err != nil {
			return 0, fmt.Errorf("drop index %s: %w", index.Name, err)
		}
		return time.Since(began), nil
	}
	gone := func(ctx context.Context, _ *result.Leg) error {
		state, err := indexer.IndexState(ctx, index)
		switch {
		case err != nil:
			return fmt.Errorf("look for index %s, which was dropped: %w", index.Name, err)
		case state.Exists:
			return fmt.Errorf("index %s is still there after it was dropped", index.Name)
		}
		return nil
	}
	return s.single(ctx, task, work{prepare: prepare, verify: gone}, drop, func(*result.Leg) {})
}

// ensureIndex makes sure that an index is there and serves, off the clock. It is built again when it is not, which happens when the rows were
// loaded again after a loss.
func (s *session) ensureIndex(ctx context.Context, task agent.Task, index query.Index) (*refusal, error) {
	if why, ok := s.unbuilt[index.Name]; ok {
		return &why, nil
	}
	indexer, err := s.indexer()
	if err != nil {
		return nil, err
	}
	if limit := time.Duration(s.setup.Spec.OperationTimeout); limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, fmt.Errorf("it took longer than %v", limit))
		defer cancel()
	}
	began, built := time.Now(), false
	for {
		state, err := indexer.IndexState(ctx, index)
		switch {
		case err != nil:
			return nil, fmt.Errorf("ask for the state of index %s: %w", index.Name, err)
		case state.Ready && built:
			if err := s.refreshStatistics(ctx, task); err != nil {
				return nil, err
			}
			s.notes = append(s.notes, result.Interruption{At: began.UTC(), Cause: agent.CauseDatasetRebuilt, Note: fmt.Sprintf(
				"index %s was not there and was built again before the leg, off its clock, in %v", index.Name, since(began))})
			return nil, nil
		case state.Ready:
			return nil, nil
		case !state.Exists && built:
			return nil, &problem{agent.ErrorDataset, fmt.Errorf("index %s is gone again after it was built", index.Name)}
		case !state.Exists:
			task.Say("building index " + index.Name + " again")
			if err := indexer.CreateIndex(ctx, index); err != nil && !errors.Is(err, drivers.ErrExists) {
				return nil, fmt.Errorf("build index %s again: %w", index.Name, err)
			}
			built = true
			continue
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait until index %s serves: %w", index.Name, context.Cause(ctx))
		case <-time.After(pollPause(time.Since(began))):
		}
	}
}

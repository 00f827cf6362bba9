package measure

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/workers/agent"
)

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

// dropIndex removes an index.
func (s *session) dropIndex(ctx context.Context, task agent.Task) agent.Outcome {
	index := *task.Step.Index
	var indexer drivers.Indexer
	prepare := func(ctx context.Context, leg *result.Leg) (*refusal, error) {
		leg.Index = describeIndex(index)
		if err := s.ensureIndex(ctx, task, index); err != nil { // there is one to drop, also after the loss of an agent
			return nil, err
		}
		var err error
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
	gone := func(ctx context.Context, _ *result.Leg) error { return isGone(ctx, indexer, index) }
	return s.clearIndex(ctx, task, s.single(ctx, task, work{prepare: prepare, verify: gone}, drop, func(*result.Leg) {}))
}

// ensureIndexes is ensureIndex for several.
func (s *session) ensureIndexes(ctx context.Context, task agent.Task, indexes []query.Index) error {
	for _, index := range indexes {
		if err := s.ensureIndex(ctx, task, index); err != nil {
			return err
		}
	}
	return nil
}

// ensureIndex makes sure that an index is there and serves, off the clock. It is built again when it is not, which happens when the rows were
// loaded again after a loss.
func (s *session) ensureIndex(ctx context.Context, task agent.Task, index query.Index) error {
	indexer, err := s.indexer()
	if err != nil {
		return err
	}
	ctx, cancel := s.bounded(ctx, 0)
	defer cancel()
	for began, built := time.Now(), false; ; built = true {
		state, _, err := s.settledIndex(ctx, task, index)
		switch {
		case err != nil:
			return err
		case state.Ready && built:
			if err := s.refreshStatistics(ctx, task); err != nil {
				return err
			}
			s.notes = append(s.notes, result.Interruption{At: began.UTC(), Cause: agent.CauseDatasetRebuilt, Note: fmt.Sprintf(
				"index %s was not there and was built again before the leg, off its clock, in %v", index.Name, since(began))})
			return nil
		case state.Ready:
			return nil
		case built:
			return &problem{agent.ErrorDataset, fmt.Errorf("index %s is gone again after it was built", index.Name)}
		}
		task.Say("building index " + index.Name + " again")
		if err := s.unworn(ctx); err != nil {
			return err
		}
		if err := indexer.CreateIndex(ctx, index); err != nil && !errors.Is(err, drivers.ErrExists) {
			return fmt.Errorf("build index %s again: %w", index.Name, err)
		}
	}
}

// settledIndex waits until an index that is there serves with nothing left to do for it: it then is ready, or not there. polls is how often the engine was asked.
func (s *session) settledIndex(ctx context.Context, task agent.Task, index query.Index) (state drivers.IndexState, polls int64, err error) {
	indexer, err := s.indexer()
	if err != nil {
		return state, 0, err
	}
	for began := time.Now(); ; {
		state, err = indexer.IndexState(ctx, index)
		polls++
		switch {
		case err != nil:
			return state, polls, fmt.Errorf("ask for the state of index %s: %w", index.Name, err)
		case state.Ready || !state.Exists:
			return state, polls, nil
		}
		detail := ""
		if state.Detail != "" {
			detail = ": " + state.Detail
		}
		task.Say("waiting until index " + index.Name + " serves" + detail)
		select {
		case <-ctx.Done():
			return state, polls, fmt.Errorf("wait until index %s serves%s: %w", index.Name, detail, context.Cause(ctx))
		case <-time.After(pollPause(time.Since(began))):
		}
	}
}

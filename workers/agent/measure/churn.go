package measure

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/load"
	"github.com/durabench/durabench/bench/plan"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/workers/agent"
)

// churn deletes rows, or inserts them again, while the indexes that searches use stay. What it leaves is counted and read back, and the index is waited for.
func (s *session) churn(ctx context.Context, task agent.Task) agent.Outcome {
	step := task.Step
	j := &churnJob{session: s, task: task}
	first := step.Churn.FirstRow(s.setup.Spec.Samples)
	leaves, known := step.Leaves.RowSet(s.setup.Spec.Samples)
	if !known {
		return failed(task, &problem{agent.ErrorSpec, fmt.Errorf("the step %s does not say which rows it leaves, but %q", step.ID, step.Leaves)})
	}
	rows := total(leaves)
	doubtful := newTouched(uint64(s.setup.Spec.Samples))
	w := work{
		prepare: j.prepare, checksLater: true, rows: &rows, doubtful: doubtful,
		back:   &readback{from: first, samples: step.Samples, version: step.Version},
		report: func(measured *load.Result, leg *result.Leg) { j.settle(ctx, measured, leg) },
		verify: func(context.Context, *result.Leg) error { return j.unsettled },
	}
	if workers := step.Clients * step.Threads; step.Kind == plan.Delete {
		slots := keySlots(workers)
		w.removes, w.back.absent = true, true
		w.worker = func(client int) load.Worker {
			return &remover{corpus: s.corpus, remove: j.conflicts.remove(s.database.clients[client].Delete), first: uint64(first), slots: make([]keySlot, slots), failed: doubtful}
		}
	} else {
		slots := s.rowSlots(workers)
		w.adds = true
		w.worker = func(client int) load.Worker {
			return &writer{
				corpus: s.corpus, write: j.conflicts.write(s.database.clients[client].Create), version: step.Version, first: uint64(first), slots: make([]rowSlot, slots), failed: doubtful,
			}
		}
	}
	outcome := s.leg(ctx, task, w)
	if outcome.Leg != nil && holds(outcome.Leg.Verdict) {
		s.wear(ctx, step.Churn)
	}
	return outcome
}

// churnJob is the work of a leg that wears an index.
type churnJob struct {
	session   *session
	task      agent.Task
	conflicts *conflicts
	unsettled error // the index does not serve after the leg
}

// prepare makes sure that there are indexes to wear.
func (j *churnJob) prepare(ctx context.Context, leg *result.Leg) (*refusal, error) {
	churn := j.task.Step.Churn
	j.conflicts = j.session.newConflicts()
	leg.Index, leg.Churn = describeIndex(churn.Index), describeChurn(churn, j.session.setup.Spec.Samples)
	return nil, j.session.ensureIndexes(ctx, j.task, churn.Indexes())
}

// describeChurn tells the result what an index goes through.
func describeChurn(churn *plan.Churn, rows int64) *result.Churn {
	return &result.Churn{Index: churn.Index.Name, Rows: churn.Of.Rows(rows), Rounds: churn.Of.Rounds, Round: churn.Round()}
}

// settle waits, off the clock, until the indexes serve again with nothing left to do for them, and tells when the one of vectors did and what it is then.
func (j *churnJob) settle(ctx context.Context, measured *load.Result, leg *result.Leg) {
	if j.conflicts != nil {
		leg.Measured.Retries = new(j.conflicts.retried.Load())
	}
	if measured.Stopped != "" || ctx.Err() != nil {
		return
	}
	s, churn := j.session, j.task.Step.Churn
	ended := measured.Started.Add(measured.Wall)
	state, polls, err := s.awaitIndex(ctx, j.task, churn.Index)
	if err != nil {
		j.unsettled = err
		return
	}
	ready := time.Since(ended).Nanoseconds()
	leg.Churn.ReadyNs = &ready
	leg.Index.How, leg.Index.Polls = state.How, polls
	if state.Bytes > 0 {
		leg.Index.Bytes = &state.Bytes
	}
	leg.Index.MemoryAfter, leg.Index.MemoryNote = s.serverMemory()
	for _, index := range churn.FilterIndexes {
		if _, _, err := s.awaitIndex(ctx, j.task, index); err != nil {
			j.unsettled = err
			return
		}
	}
}

// awaitIndex waits until an index serves again after rows were deleted and inserted, as long as an operation may take.
func (s *session) awaitIndex(ctx context.Context, task agent.Task, index query.Index) (state drivers.IndexState, polls int64, err error) {
	ctx, cancel := s.bounded(ctx, 0)
	defer cancel()
	state, polls, err = s.settledIndex(ctx, task, index)
	if err == nil && !state.Exists {
		err = fmt.Errorf("index %s is gone", index.Name)
	}
	if err != nil {
		err = fmt.Errorf("after rows were deleted and inserted: %w", err)
	}
	return state, polls, err
}

// worn is how far an index has come in its churn since it was built.
type worn struct {
	Index string `json:"index"`
	Legs  int    `json:"legs"` // that it has gone through, in their order
	// Server is the process of the server, where it is known. One that is started anew may make an index again from its rows, and nobody would see it.
	Server int `json:"server,omitempty"`
}

// wear takes in that an index has gone through a leg. When it has not gone through those before it, because it was built again in between, nothing is made of
// this one: before the first search that relies on it, all is done again.
func (s *session) wear(ctx context.Context, churn *plan.Churn) {
	now := worn{Index: churn.Index.Name, Legs: churn.Leg, Server: s.setup.ServerPID}
	before := now
	before.Legs--
	if churn.Leg > 1 && s.worn != before {
		return
	}
	if err := s.setWorn(ctx, now); err != nil {
		s.logger.Warn("what an index has gone through is not kept with the data: after the loss of an agent it is done again", "index", now.Index, "error", err)
	}
}

// setWorn remembers what an index has gone through, beside the rows where the database keeps marks.
func (s *session) setWorn(ctx context.Context, now worn) error {
	s.worn = now
	if s.mark == nil || s.mark.Worn == nil && now == (worn{}) {
		return nil
	}
	m := *s.mark
	if m.Worn = &now; now == (worn{}) {
		m.Worn = nil
	}
	return s.keep(ctx, m)
}

// unworn takes in that an index is about to be built: it will not have gone through anything.
func (s *session) unworn(ctx context.Context) error {
	if err := s.setWorn(ctx, worn{}); err != nil {
		return fmt.Errorf("note that an index is built anew: %w", err)
	}
	return nil
}

// ensureWorn makes sure that the index has gone through its churn. When it was built again since then, or may have been, the same rows are deleted and inserted
// again, off the clock, and the leg says so.
func (s *session) ensureWorn(ctx context.Context, task agent.Task, churn *plan.Churn) error {
	all := worn{Index: churn.Index.Name, Legs: churn.Legs(), Server: s.setup.ServerPID}
	if s.worn == all {
		return nil
	}
	began, samples := time.Now(), s.setup.Spec.Samples
	s.trusted = false // until all rows are there again
	n := churn.Of.Rows(samples)
	for round := 1; round <= churn.Of.Rounds; round++ {
		task.Say(fmt.Sprintf("deleting and inserting %d rows again: round %d of %d", n, round, churn.Of.Rounds))
		if err := s.replaceRows(ctx, task, uint64(churn.Of.First(round, samples)), int(n)); err != nil {
			return err
		}
	}
	if err := s.loaded(ctx, task, "rows were deleted and inserted again"); err != nil {
		return err
	}
	if err := s.refreshStatistics(ctx, task); err != nil {
		return err
	}
	for _, index := range churn.Indexes() {
		if _, _, err := s.awaitIndex(ctx, task, index); err != nil {
			return err
		}
	}
	s.trusted = true
	s.notes = append(s.notes, result.Interruption{At: began.UTC(), Cause: agent.CauseDatasetRebuilt, Note: fmt.Sprintf(
		"index %s was built again, or its server started again, after rows were deleted and inserted: %d of them were once more, %d times, before the leg, off its clock, in %v",
		churn.Index.Name, n, churn.Of.Rounds, since(began))})
	return s.setWorn(ctx, all)
}

// replaceRows deletes so many rows from one on, and then inserts them again.
func (s *session) replaceRows(ctx context.Context, task agent.Task, first uint64, n int) error {
	conflicts := s.newConflicts()
	each := func(do func(ctx context.Context, client drivers.Client, row uint64) error) error {
		return s.eachClient(ctx, n, func(ctx context.Context, client drivers.Client, from, to int) error {
			for i := from; i < to; i++ {
				bounded, cancel := s.bounded(ctx, 0)
				err := conflicts.retry(bounded, func() error { return do(bounded, client, first+uint64(i)) })
				cancel()
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	err := each(func(ctx context.Context, client drivers.Client, index uint64) error {
		var buffer corpus.KeyBuffer
		if err := client.Delete(ctx, s.corpus.Key(&buffer, index)); err != nil && !errors.Is(err, drivers.ErrNotFound) {
			return fmt.Errorf("delete row %d: %w", index, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return each(func(ctx context.Context, client drivers.Client, index uint64) error {
		var buffer corpus.KeyBuffer
		var row corpus.Row
		s.corpus.Row(&row, index, task.Step.Version)
		if err := client.Create(ctx, s.corpus.Key(&buffer, index), &row); err != nil {
			return fmt.Errorf("insert row %d again: %w", index, err)
		}
		return nil
	})
}

// restoreChurned makes sure that all rows are there again after legs that deleted and inserted them, and loads them again when one of these has come to no good.
func (s *session) restoreChurned(ctx context.Context, task agent.Task) error {
	lost, err := s.inspect(ctx, task)
	if err != nil || lost == "" {
		return err
	}
	return s.rebuild(ctx, task, agent.CauseDatasetRebuilt, lost)
}

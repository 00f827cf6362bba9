package measure

import (
	"context"
	"runtime"
	"sync"

	"github.com/durabench/durabench/bench/load"
	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/bench/vector"
	"github.com/durabench/durabench/drivers"
)

// keptRows is how many rows of answers a worker keeps to be scored after the leg; when there are more, those are scored between operations.
const keptRows = 1 << 20

// searchWorker is a load.Worker of a search leg.
type searchWorker struct {
	job       *searchJob
	searcher  drivers.Searcher
	statement drivers.Statement
	query     int // of the next operation
	answer    drivers.Answer

	kept    []keptAnswer
	rows    []int64 // of the kept answers, one after another
	summary vector.Summary
	bytes   int64
}

// keptAnswer is an answer to be scored: the query, and how many of the rows are its.
type keptAnswer struct{ query, rows int32 }

// worker makes the worker of one client's thread.
func (j *searchJob) worker(client int) load.Worker {
	j.lock.Lock()
	defer j.lock.Unlock()
	w := &searchWorker{job: j, searcher: j.clients[client].(drivers.Searcher), statement: j.statements[client]}
	j.workers = append(j.workers, w)
	return w
}

// Slots is one: a search takes its time.
func (w *searchWorker) Slots() int { return 1 }

// Ready chooses the query vector: operation n has the n-th, and begins again after the last.
func (w *searchWorker) Ready(_ int, index uint64) error {
	w.query = int(index % uint64(len(w.job.known.problem.Queries)))
	return nil
}

// Do searches.
func (w *searchWorker) Do(ctx context.Context, _ int) error {
	return w.searcher.Search(ctx, w.statement, w.job.known.problem.Queries[w.query], &w.answer)
}

// Check keeps which rows came. They are scored after the leg, so that scoring takes no CPU time from the searches of others.
func (w *searchWorker) Check(int) error {
	before := len(w.rows)
	var err error
	if w.rows, err = w.job.session.decodeFound(w.searcher, w.statement, &w.answer, w.rows); err != nil {
		return err
	}
	w.bytes += w.answer.Size
	w.kept = append(w.kept, keptAnswer{query: int32(w.query), rows: int32(len(w.rows) - before)})
	if len(w.rows) > keptRows {
		w.score(w.job.scorer())
	}
	return nil
}

// score scores what was kept.
func (w *searchWorker) score(scorer *vector.Scorer) {
	rows := w.rows
	for _, answer := range w.kept {
		w.summary.Add(scorer.Score(int(answer.query), rows[:answer.rows]))
		rows = rows[answer.rows:]
	}
	w.kept, w.rows = w.kept[:0], w.rows[:0]
}

// report scores the answers of all workers, those of a warm-up included: they come from the same index.
func (j *searchJob) report(measured *load.Result, leg *result.Leg) {
	if measured.Stopped == load.StoppedStuck {
		return // some worker may still run
	}
	j.task.Say("scoring the answers")
	var scoring sync.WaitGroup
	next := make(chan *searchWorker)
	for range runtime.GOMAXPROCS(0) {
		scoring.Go(func() {
			scorer := j.scorer()
			for w := range next {
				w.score(scorer)
			}
		})
	}
	for _, w := range j.workers {
		next <- w
	}
	close(next)
	scoring.Wait()
	var all vector.Summary
	for _, w := range j.workers {
		all.Merge(&w.summary)
	}
	leg.Measured.Recall = recallOf(&all, j.search.K, j.answer.Matches, j.task.Step.Search.TieEpsilon > 0)
}

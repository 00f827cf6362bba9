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

// keptRows is how many rows of answers all workers together keep to be scored after the leg; when one has more than its part, they are scored between operations.
const keptRows = 8 << 20

// searchWorker is a load.Worker of a search leg.
type searchWorker struct {
	job       *searchJob
	searcher  drivers.Searcher
	statement drivers.Statement
	query     int // of the next operation
	most      int // rows that are kept
	answer    drivers.Answer

	kept    []keptAnswer
	rows    []int64 // of the kept answers, one after another
	last    int     // rows of the answer that was looked at last, until it counts
	summary vector.Summary
}

// keptAnswer is an answer to be scored: the query, and how many of the rows are its.
type keptAnswer struct{ query, rows int32 }

// worker makes the worker of one client's thread.
func (j *searchJob) worker(client int) load.Worker {
	j.lock.Lock()
	defer j.lock.Unlock()
	w := &searchWorker{job: j, searcher: j.clients[client].(drivers.Searcher), statement: j.statements[client]}
	w.most = keptRows / max(j.task.Step.Clients*j.task.Step.Threads, 1)
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

// Check takes down which rows came. They are scored after the leg, so that scoring takes no CPU time from the searches of others.
func (w *searchWorker) Check(int) error {
	w.rows = w.rows[:len(w.rows)-w.last] // of the warm-up, or of a search that failed
	before := len(w.rows)
	var err error
	w.rows, err = w.job.session.decodeFound(w.searcher, w.statement, &w.answer, w.rows)
	w.last = len(w.rows) - before
	return err
}

// Count keeps the answer: those of a warm-up do not count.
func (w *searchWorker) Count(int) {
	if w.job.session.verification() == load.VerifyNone {
		return // it was not looked at
	}
	w.kept = append(w.kept, keptAnswer{query: int32(w.query), rows: int32(w.last)})
	w.last = 0
	if len(w.rows) > w.most {
		w.score(w.job.scorer())
	}
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

// report scores the answers of all workers.
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

// recallOf is what the result tells of scored answers, of searches for the k nearest of so many rows that match.
func recallOf(all *vector.Summary, k int, matches int64, epsilon bool) *result.Recall {
	r := &result.Recall{
		Scored: all.Scored(), Unscored: all.Unscored, Duplicates: all.Duplicates, Foreign: all.Foreign, OrderErrors: all.OrderErrors,
	}
	if all.Answers == 0 {
		return r
	}
	r.ReturnedMin, r.ReturnedP50 = int(all.Returned.Min()), int(all.Returned.Percentile(50))
	r.Empty = all.EmptyShare()
	var short int64
	for _, count := range all.Returned {
		if count.Value < float64(min(int64(k), matches)) {
			short += count.Count
		}
	}
	r.Short = float64(short) / float64(all.Answers)
	if r.Scored == 0 {
		return r
	}
	figures := func(d vector.Distribution) result.RecallFigures {
		return result.RecallFigures{Mean: d.Mean(), P5: d.Percentile(5), Min: d.Min()}
	}
	r.TieAware, r.Strict, r.Rounded = figures(all.TieAware), figures(all.Strict), figures(all.Rounded)
	if epsilon {
		r.Epsilon = new(figures(all.Epsilon))
	}
	return r
}

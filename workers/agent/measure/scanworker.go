package measure

import (
	"context"
	"fmt"
	"strconv"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/load"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/drivers"
)

// scanWorker is a load.Worker of a scan leg.
type scanWorker struct {
	job       *scanJob
	scanner   drivers.Scanner
	statement drivers.Statement
	keeps     bool // has the memory to keep answers
	answer    drivers.Answer
	before    int64 // exchanges that had ended when the scan began

	came, size  int64 // rows and bytes of the last answer
	rows, bytes int64 // of all that count
}

// worker makes the worker of one client's thread. Its number among all decides whether it may keep answers.
func (j *scanJob) worker(client int) load.Worker {
	j.lock.Lock()
	defer j.lock.Unlock()
	w := &scanWorker{
		job: j, scanner: j.clients[client].(drivers.Scanner), statement: j.statements[client], keeps: len(j.workers) < j.keeps,
	}
	j.workers = append(j.workers, w)
	if j.pairs != nil {
		return &exchanger{scanWorker: w, client: j.clients[client]}
	}
	return w
}

// Slots is one: a scan takes its time.
func (w *scanWorker) Slots() int { return 1 }

// Ready notes which exchanges cannot overlap the scan.
func (w *scanWorker) Ready(int, uint64) error {
	if w.job.pairs != nil {
		w.before = w.job.pairs.ended.Load()
	}
	return nil
}

// Announce has the answer kept that will be compared.
func (w *scanWorker) Announce(_ int, check bool) bool {
	if w.job.expected == nil {
		return check && w.job.want >= 0 // of which the number is all that is known
	}
	w.answer.Keep = check && w.keeps
	return w.answer.Keep
}

// Do scans, and compares the number of rows that came.
func (w *scanWorker) Do(ctx context.Context, _ int) error {
	if err := w.scanner.Scan(ctx, w.statement, &w.answer); err != nil {
		return err
	}
	w.came, w.size = w.answer.Rows, w.answer.Size
	if number := w.job.number(&w.answer); w.job.want >= 0 && number != w.job.want {
		if wrong := w.job.compareNumber(number, w.slack()); wrong != nil {
			return mismatchOf(wrong.(*query.Wrong))
		}
	}
	return nil
}

// Count adds up what the scan has brought.
func (w *scanWorker) Count(int) {
	w.rows += w.came
	w.bytes += w.size
}

// slack is by how many rows the answer may be off: the exchanges that were in flight at some time during the scan, and those that were broken off.
func (w *scanWorker) slack() int64 {
	if w.job.pairs == nil {
		return 0
	}
	return w.job.pairs.begun.Load() - w.before + w.job.pairs.broken.Load()
}

// Check compares the content of the answer.
func (w *scanWorker) Check(int) error {
	if !w.answer.Keep {
		return nil // the number was compared
	}
	err := w.job.check(w.scanner, w.statement, &w.answer, w.slack())
	w.answer.Keep = false
	if cap(w.answer.Bytes) > 1<<20 {
		w.answer = drivers.Answer{} // few answers are kept at once, whatever the number of workers
	}
	return err
}

// number is what is compared on every operation.
func (j *scanJob) number(answer *drivers.Answer) int64 {
	if j.scan.Project == query.Count && len(j.scan.Aggregates) == 0 {
		return answer.Count
	}
	return answer.Rows
}

// compareNumber returns a *query.Wrong when an answer has another number of rows than it must, or nil.
func (j *scanJob) compareNumber(number, slack int64) error {
	if off := number - j.want; off >= -slack && off <= slack {
		return nil
	}
	what := "rows"
	if j.scan.Project == query.Count && len(j.scan.Aggregates) == 0 {
		what = "count"
	}
	return &query.Wrong{Whole: true, Column: what, Want: strconv.FormatInt(j.want, 10), Got: strconv.FormatInt(number, 10)}
}

// check compares a kept answer with the expected one. What is wrong is a *load.Mismatch.
func (j *scanJob) check(scanner drivers.Scanner, statement drivers.Statement, answer *drivers.Answer, slack int64) error {
	var allowed *query.Slack
	if j.pairs != nil {
		allowed = &query.Slack{Rows: slack, Partner: j.pairs.partner}
	}
	checker, err := j.session.dataset(j.task).Checker(j.scan, j.expected, allowed)
	if err != nil {
		return err
	}
	switch {
	case len(j.scan.Aggregates) > 0:
		groups, err := scanner.DecodeGroups(statement, answer)
		if err != nil {
			return fmt.Errorf("decode the answer: %w", err)
		}
		return asMismatch(checker.Groups(groups))
	case j.scan.Project == query.Count:
		return asMismatch(checker.Count(answer.Count))
	}
	err = scanner.DecodeScan(statement, answer, j.decoded(func(err error) error { return err }, checker))
	if err != nil {
		return asMismatch(err)
	}
	return asMismatch(checker.Done())
}

// decoded hands each row to the checker. Of a scan of keys there is no row, whatever the driver passes.
func (j *scanJob) decoded(note func(error) error, checker *query.Checker) func(corpus.Key, *corpus.Row) error {
	return func(key corpus.Key, row *corpus.Row) error {
		if j.scan.Project == query.ID {
			row = nil
		}
		return note(checker.Row(key, row))
	}
}

// asMismatch turns what a checker found into what a load.Worker returns.
func asMismatch(err error) error {
	if wrong, ok := err.(*query.Wrong); ok {
		return mismatchOf(wrong)
	}
	return err
}

func mismatchOf(w *query.Wrong) *load.Mismatch {
	return &load.Mismatch{Whole: w.Whole, Index: w.Index, Column: w.Column, Want: w.Want, Got: w.Got}
}

// report adds up what the workers received.
func (j *scanJob) report(measured *load.Result, leg *result.Leg) {
	if measured.Stopped == load.StoppedStuck {
		return // some worker may still run
	}
	var rows, bytes int64
	for _, w := range j.workers {
		rows, bytes = rows+w.rows, bytes+w.bytes
	}
	if measured.OK > 0 {
		leg.Measured.Rows, leg.Measured.Bytes = &rows, &bytes
	}
	if j.pairs != nil {
		j.reportExchanges(measured, leg)
	}
}

package measure

import (
	"context"
	"fmt"
	"sync"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/load"
	"github.com/durabench/durabench/bench/plan"
	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/workers/agent"
)

// batch runs one operation on many rows at once. Keys and rows of a batch are made before its clock starts. What reads bring is compared by
// content; what is written is read back and counted after the leg.
func (s *session) batch(ctx context.Context, task agent.Task) agent.Outcome {
	step := task.Step
	j := &batchJob{session: s, step: step, failed: newTouched(uint64(s.rowsOf(step)))}
	w := work{worker: j.worker, report: j.report, prepare: j.prepare}
	if step.Batch.Operation != plan.Read {
		w.checksLater = true
		w.back = &readback{samples: s.rowsOf(step), version: step.Version, absent: step.Batch.Operation == plan.Delete}
		w.adds, w.removes, w.doubtful = step.Batch.Operation == plan.Create, step.Batch.Operation == plan.Delete, j.failed
		w.rows = rowsAfter(step, s.setup.Spec.Samples)
	}
	return s.leg(ctx, task, w)
}

// rowsAfter is how many rows there must be after a step; nil when its state does not say.
func rowsAfter(step plan.Step, samples int64) *int64 {
	state := step.Leaves
	if state == plan.Any {
		state = step.Needs
	}
	rows, ok := state.RowSet(samples)
	if !ok {
		return nil
	}
	n := total(rows)
	return &n
}

// batchJob is the work of a batch leg.
type batchJob struct {
	session *session
	step    plan.Step
	failed  *touched // rows of batches that failed

	lock    sync.Mutex // workers are made several at a time
	workers []*batchWorker
}

// prepare makes sure that the engine has batches of this size.
func (j *batchJob) prepare(_ context.Context, leg *result.Leg) (*refusal, error) {
	leg.Batch = &result.Batch{Operation: string(j.step.Batch.Operation), Size: j.step.Batch.Size}
	batcher, ok := j.session.database.clients[0].(drivers.Batcher)
	if !ok {
		return nil, drivers.Unsupported{Why: j.session.engine.Title + " has no batches here"}
	}
	if most := batcher.MaxBatch(); most > 0 && j.step.Batch.Size > most {
		return nil, drivers.Unsupported{Why: fmt.Sprintf("%s takes batches of at most %d rows", j.session.engine.Title, most)}
	}
	return nil, nil
}

func (j *batchJob) worker(client int) load.Worker {
	w := &batchWorker{job: j, client: j.session.database.clients[client].(drivers.Batcher)}
	j.lock.Lock()
	j.workers = append(j.workers, w)
	j.lock.Unlock()
	return w
}

// report adds up rows and requests.
func (j *batchJob) report(measured *load.Result, leg *result.Leg) {
	if measured.Stopped == load.StoppedStuck {
		return // some worker may still run
	}
	rows := measured.OK * int64(j.step.Batch.Size)
	var requests, bytes int64
	for _, w := range j.workers {
		requests, bytes = requests+w.requests, bytes+w.bytes
	}
	leg.Measured.Rows, leg.Measured.Requests = &rows, &requests
	if j.step.Batch.Operation == plan.Read {
		leg.Measured.Bytes = &bytes
	}
}

// batchWorker is a load.Worker of a batch leg. Its memory is made with its first batch, as many workers may have none.
type batchWorker struct {
	job    *batchJob
	client drivers.Batcher

	first   uint64
	buffers []corpus.KeyBuffer
	keys    []corpus.Key
	memory  []corpus.Row
	rows    []*corpus.Row
	answer  drivers.Answer
	seen    []bool

	asked           int   // requests of the last batch
	requests, bytes int64 // of all that count
}

// Slots is one: a batch takes its time, and its rows take memory.
func (w *batchWorker) Slots() int { return 1 }

// Ready makes the keys of batch n, and its rows when they are written.
func (w *batchWorker) Ready(_ int, n uint64) error {
	size := w.job.step.Batch.Size
	if w.keys == nil {
		w.buffers, w.keys = make([]corpus.KeyBuffer, size), make([]corpus.Key, size)
	}
	c := w.job.session.corpus
	w.first = n * uint64(size)
	for i := range w.keys {
		w.keys[i] = c.Key(&w.buffers[i], w.first+uint64(i))
	}
	if op := w.job.step.Batch.Operation; op == plan.Read || op == plan.Delete {
		return nil
	}
	if w.rows == nil {
		w.memory, w.rows = make([]corpus.Row, size), make([]*corpus.Row, size)
		for i := range w.rows {
			w.rows[i] = &w.memory[i]
		}
	}
	for i := range w.memory {
		c.Row(&w.memory[i], w.first+uint64(i), w.job.step.Version)
	}
	return nil
}

// Announce has the answer kept that will be compared.
func (w *batchWorker) Announce(_ int, check bool) bool {
	w.answer.Keep = check && w.job.step.Batch.Operation == plan.Read
	return w.answer.Keep
}

// Do runs the batch.
func (w *batchWorker) Do(ctx context.Context, _ int) error {
	var err error
	switch w.job.step.Batch.Operation {
	case plan.Create:
		w.asked, err = w.client.CreateBatch(ctx, w.keys, w.rows)
	case plan.Update:
		w.asked, err = w.client.UpdateBatch(ctx, w.keys, w.rows)
	case plan.Delete:
		w.asked, err = w.client.DeleteBatch(ctx, w.keys)
	case plan.Read:
		w.asked, err = w.client.ReadBatch(ctx, w.keys, &w.answer)
		if err == nil && w.answer.Rows != int64(len(w.keys)) {
			return &load.Mismatch{
				Whole: true, Column: "rows of the batch", Want: fmt.Sprint(len(w.keys)), Got: fmt.Sprintf("%d, of the batch from row %d on", w.answer.Rows, w.first),
			}
		}
	default:
		return fmt.Errorf("there is no batch of %q", w.job.step.Batch.Operation)
	}
	if err != nil {
		for i := range w.keys {
			w.job.failed.add(w.first + uint64(i))
		}
	}
	return err
}

// Count adds up what the batch has asked and brought.
func (w *batchWorker) Count(int) {
	w.requests += int64(w.asked)
	w.bytes += w.answer.Size
}

// Check compares every row of the answer: each of the batch's rows must be there once, with its content.
func (w *batchWorker) Check(int) error {
	if w.seen == nil {
		w.seen = make([]bool, len(w.keys))
	}
	clear(w.seen)
	c := w.job.session.corpus
	want := new(corpus.Row)
	return w.client.DecodeBatch(&w.answer, func(key corpus.Key, row *corpus.Row) error {
		index, ok := c.Index(key)
		switch at := index - w.first; {
		case !ok || index < w.first || at >= uint64(len(w.keys)):
			return &load.Mismatch{Whole: true, Column: "key", Want: fmt.Sprintf("rows %d to %d", w.first, w.first+uint64(len(w.keys))-1), Got: key.String()}
		case w.seen[at]:
			return &load.Mismatch{Index: index, Want: "each row once", Got: "it again"}
		default:
			w.seen[at] = true
		}
		c.Row(want, index, w.job.step.Version)
		if row.Checksum() == want.Checksum() {
			return nil
		}
		column, wanted, got, _ := corpus.Diff(c.Template(), want, row)
		return &load.Mismatch{Index: index, Column: column, Want: wanted, Got: got}
	})
}

package measure

import (
	"context"
	"fmt"

	"github.com/durabench/durabench/bench/access"
	"github.com/durabench/durabench/bench/load"
	"github.com/durabench/durabench/bench/plan"
	"github.com/durabench/durabench/drivers"
)

// mixSlot is one operation of a mix.
type mixSlot struct {
	rowSlot
	kind      int
	operation plan.Kind
	length    int64    // of a range
	seen      versions // that a read may find, as far as was known before it
	published uint64   // rows that were there before it
	ready     bool     // and what became of it not taken in
	done      bool
	err       error
}

// mixWorker is a load.Worker of a mixed leg.
type mixWorker struct {
	job      *mixJob
	client   drivers.Client
	modifier drivers.Modifier
	ranger   drivers.Ranger
	drawer   *access.Drawer
	slots    []mixSlot
	record   drivers.Record
	answer   drivers.Answer

	spare       []uint64 // rows to add that no operation has begun to
	rows, bytes int64    // that the ranges brought which count
}

// Slots is how many operations are made ready at once.
func (w *mixWorker) Slots() int { return len(w.slots) }

// Ready draws operation n and makes its key and its row. Before the first of several it takes in what became of those before.
func (w *mixWorker) Ready(slot int, n uint64) error {
	if slot == 0 {
		w.settle()
	}
	j := w.job
	c := j.session.corpus
	s := &w.slots[slot]
	s.kind = j.draw(n)
	weight := &j.task.Step.Mix.Weights[s.kind]
	s.operation, s.ready, s.done, s.err = weight.Operation, true, false, nil
	if s.operation == plan.Insert {
		s.index = w.toAdd()
		c.Row(&s.row, s.index, j.task.Step.Version)
		s.key = c.Key(&s.buffer, s.index)
		return nil
	}
	s.published = j.stirred.published.Load()
	s.index = j.stirred.there(w.drawer.Draw(n, s.published))
	s.key = c.Key(&s.buffer, s.index)
	switch s.operation {
	case plan.Update, plan.Modify:
		s.seen = j.stirred.now(s.index)
		c.Row(&s.row, s.index, j.stirred.begin(s.index))
	case plan.Read:
		s.seen = j.stirred.now(s.index)
	case plan.ScanRange:
		s.length = 1 + int64(j.random.At(n).Below(1, uint64(weight.Length)))
	}
	return nil
}

// toAdd returns a row to add: one that was meant to be added before, and was not, or the next one.
func (w *mixWorker) toAdd() uint64 {
	if last := len(w.spare) - 1; last >= 0 {
		row := w.spare[last]
		w.spare = w.spare[:last]
		return row
	}
	return w.job.stirred.add()
}

// settle takes in what became of the operations that were made ready.
func (w *mixWorker) settle() {
	for i := range w.slots {
		s := &w.slots[i]
		if !s.ready {
			continue
		}
		s.ready = false
		well := s.done && s.err == nil
		if well {
			w.job.touched.add(s.index)
		}
		switch s.operation {
		case plan.Insert:
			if s.done {
				w.job.stirred.addEnded(s.index, well)
			} else {
				w.spare = append(w.spare, s.index)
			}
		case plan.Update, plan.Modify:
			// Of one that was not done the version is never found, and the row keeps what it had: as after one that failed.
			w.job.stirred.end(s.index, well)
		}
	}
}

// Do runs the operation.
func (w *mixWorker) Do(ctx context.Context, slot int) error {
	s := &w.slots[slot]
	s.done = true
	switch s.operation {
	case plan.Read:
		s.err = w.client.Read(ctx, s.key, &w.record)
	case plan.Update:
		s.err = w.client.Update(ctx, s.key, &s.row)
	case plan.Insert:
		s.err = w.client.Create(ctx, s.key, &s.row)
	case plan.Modify:
		s.err = w.modifier.Modify(ctx, s.key, &w.record, &s.row)
	case plan.ScanRange:
		if s.err = w.ranger.Range(ctx, s.key, s.length, &w.answer); s.err != nil {
			return s.err
		}
		if w.answer.Rows < 1 || w.answer.Rows > s.length {
			return &load.Mismatch{Whole: true, Column: "rows of a range", Want: fmt.Sprintf("1 to %d", s.length), Got: fmt.Sprint(w.answer.Rows)}
		}
	}
	return s.err
}

// Kind tells which of the weights it was.
func (w *mixWorker) Kind(slot int) int { return w.slots[slot].kind }

// Check compares what was read; of what was written, rows are read back after the leg.
func (w *mixWorker) Check(slot int) error {
	s := &w.slots[slot]
	switch s.operation {
	case plan.Read, plan.Modify:
		upto := w.job.stirred.now(s.index).to
		if wrong := w.job.checks.within(w.client, &w.record, s.index, versions{s.seen.from, upto}); wrong != nil {
			return wrong
		}
		return nil
	case plan.ScanRange:
		return w.job.ranges.check(w.ranger, &w.answer, s)
	}
	return load.ErrUnchecked
}

// rangingWorker is a mixWorker that also reads ranges, whose answers are kept only when they will be checked. What comes is counted.
type rangingWorker struct{ *mixWorker }

// Announce has the answer kept that will be compared.
func (w *rangingWorker) Announce(slot int, check bool) bool {
	w.answer.Keep = check && w.slots[slot].operation == plan.ScanRange
	return check
}

// Count adds up what a range has brought.
func (w *rangingWorker) Count(slot int) {
	if w.slots[slot].operation == plan.ScanRange {
		w.rows += w.answer.Rows
		w.bytes += w.answer.Size
	}
}

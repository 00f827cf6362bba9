package measure

import (
	"context"

	"github.com/durabench/durabench/bench/corpus"
)

// write is a driver's call that stores a row.
type write func(ctx context.Context, key corpus.Key, row *corpus.Row) error

// writer is a load.Worker of a create or update leg.
type writer struct {
	corpus  *corpus.Corpus
	write   write
	version uint32
	first   uint64 // of the rows; that of operation 0
	slots   []rowSlot
	failed  *touched // rows
}

// Slots is how many rows are made before they are written.
func (w *writer) Slots() int { return len(w.slots) }

// Ready makes a row and its key.
func (w *writer) Ready(slot int, index uint64) error {
	s := &w.slots[slot]
	s.index = w.first + index
	s.key = w.corpus.Key(&s.buffer, s.index)
	w.corpus.Row(&s.row, s.index, w.version)
	return nil
}

// Do writes the row.
func (w *writer) Do(ctx context.Context, slot int) error {
	s := &w.slots[slot]
	err := w.write(ctx, s.key, &s.row)
	if err != nil {
		w.failed.add(s.index)
	}
	return err
}

// Check has nothing to look at: what was written is read back after the leg.
func (w *writer) Check(int) error { return nil }

package measure

import (
	"context"

	"github.com/durabench/durabench/bench/corpus"
)

// remover is a load.Worker of a delete leg.
type remover struct {
	corpus *corpus.Corpus
	remove func(ctx context.Context, key corpus.Key) error // a driver's call
	first  uint64                                          // of the rows; that of operation 0
	slots  []keySlot
	failed *touched // rows
}

// Slots is how many keys are made before their rows are deleted.
func (r *remover) Slots() int { return len(r.slots) }

// Ready makes a key.
func (r *remover) Ready(slot int, index uint64) error {
	s := &r.slots[slot]
	s.index = r.first + index
	s.key = r.corpus.Key(&s.buffer, s.index)
	return nil
}

// Do deletes the row.
func (r *remover) Do(ctx context.Context, slot int) error {
	err := r.remove(ctx, r.slots[slot].key)
	if err != nil {
		r.failed.add(r.slots[slot].index)
	}
	return err
}

// Check has nothing to look at: the keys are asked for again after the leg.
func (r *remover) Check(int) error { return nil }

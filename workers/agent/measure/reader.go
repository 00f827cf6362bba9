package measure

import (
	"context"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
)

// reader is a load.Worker of a read leg.
type reader struct {
	corpus  *corpus.Corpus
	client  drivers.Client
	checks  *checks
	version uint32
	slots   []keySlot
	record  drivers.Record
}

// Slots is how many keys are made before they are asked for.
func (r *reader) Slots() int { return len(r.slots) }

// Ready makes a key.
func (r *reader) Ready(slot int, index uint64) error {
	s := &r.slots[slot]
	s.index = index
	s.key = r.corpus.Key(&s.buffer, index)
	return nil
}

// Do reads the row. The answer of one operation is checked before the next begins, so one record serves all.
func (r *reader) Do(ctx context.Context, slot int) error {
	return r.client.Read(ctx, r.slots[slot].key, &r.record)
}

// Check compares the answer with the row that was written.
func (r *reader) Check(slot int) error {
	if wrong, _ := r.checks.compare(r.client, &r.record, r.slots[slot].index, r.version); wrong != nil {
		return wrong
	}
	return nil
}

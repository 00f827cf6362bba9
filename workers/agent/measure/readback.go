package measure

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/durabench/durabench/bench/load"
	"github.com/durabench/durabench/drivers"
)

const (
	// sampledRows is how many rows are read back after a leg that wrote.
	sampledRows = 1000
	// readbackTimeout bounds reading a sample back; reading all rows back may take as long as it takes.
	readbackTimeout = 10 * time.Minute
	// readbackErrors is the share of wrong or failed answers past which more of them would prove nothing new.
	readbackErrors = 0.1
)

// readback is the check, off the clock, that what a leg wrote is there.
type readback struct {
	from    int64  // the first row
	samples int64  // rows that the leg covered
	version uint32 // that they must have
	// absent tells that the rows must be gone.
	absent bool
	// tail is how many of the last rows a sample has beside those that are spread over all.
	tail int64
	// doubtful are rows that may be as they were before as well, because the leg's own operations on them failed; nil when there are none.
	doubtful *touched
}

// findings is what a readback found.
type findings struct {
	checked, wrong int64
	examples       []load.Mismatch
}

// readBack reads rows evenly spread over those that a leg wrote, or all of them.
func (s *session) readBack(ctx context.Context, rb readback, verify load.Verify) (findings, error) {
	rows, threads, tail := rb.samples, s.setup.Spec.Threads, int64(0)
	if verify == load.VerifySample {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, readbackTimeout, fmt.Errorf("it took longer than %v", readbackTimeout))
		defer cancel()
		if rows > sampledRows {
			rows, tail = sampledRows+rb.tail, rb.tail
		}
		threads = 1
	}
	if verify == load.VerifyNone || rows == 0 {
		return findings{}, nil
	}
	checks := newChecks(s.corpus)
	workers := s.setup.Spec.Clients * threads
	found, err := load.Run(ctx, load.Leg{
		Clients: s.setup.Spec.Clients, Threads: threads, Samples: rows,
		OperationTimeout: time.Duration(s.setup.Spec.OperationTimeout), MaxErrorRate: readbackErrors,
		Verify: load.VerifyAll, Classify: classify,
	}, func(client, _ int) (load.Worker, error) {
		return &backReader{
			reader: reader{
				corpus: s.corpus, client: s.database.clients[client], checks: checks, version: rb.version, slots: make([]keySlot, keySlots(workers)),
			},
			of: rb, spread: uint64(rows - tail),
		}, nil
	})
	if err != nil {
		return findings{}, fmt.Errorf("read back: %w", err)
	}
	f := findings{checked: found.Checked, wrong: found.Wrong, examples: found.Examples}
	if failed := found.Failed - found.Wrong; failed > 0 && found.Wrong == 0 {
		return f, fmt.Errorf("read back: %d of %d reads failed: %s", failed, found.OK+found.Failed, firstText(found.Errors))
	}
	if cause := context.Cause(ctx); cause != nil {
		return f, fmt.Errorf("read back: %w", cause)
	}
	return f, nil
}

func firstText(counts []load.ErrorCount) string {
	for _, count := range counts {
		if len(count.Texts) > 0 {
			return count.Class + ": " + count.Texts[0]
		}
	}
	return "no text"
}

// backReader is a load.Worker that reads every n-th row and expects it as the leg left it.
type backReader struct {
	reader
	of     readback
	spread uint64 // how many are spread over all; those read back after them are the last ones
	there  bool   // the last read found a row
}

// Ready makes the key of the n-th of the rows that are read back.
func (b *backReader) Ready(slot int, n uint64) error {
	// The product is exact in 64 bits: a run has less than 2⁴⁰ rows and its sample 2¹⁰, and when all are read back the factor is 1.
	index, total := n, uint64(b.of.samples)
	switch {
	case n >= b.spread:
		index = total - 1 - (n - b.spread)
	case b.spread < total:
		index = n * total / b.spread
	}
	return b.reader.Ready(slot, uint64(b.of.from)+index)
}

// Do reads the row; that there is none is an answer like another.
func (b *backReader) Do(ctx context.Context, slot int) error {
	err := b.reader.Do(ctx, slot)
	b.there = err == nil
	if errors.Is(err, drivers.ErrNotFound) {
		return nil
	}
	return err
}

// Check compares what was found with what the leg must have left. A row may be as it was before the leg when the operation on it failed.
func (b *backReader) Check(slot int) error {
	index := b.slots[slot].index
	switch {
	case b.of.absent && !b.there:
		return nil
	case b.of.absent:
		return b.before(index, &load.Mismatch{Index: index, Want: "no row", Got: "a row that was deleted"})
	case !b.there:
		return b.before(index, &load.Mismatch{Index: index, Want: fmt.Sprintf("row %d, version %d", index, b.version), Got: "no row"})
	}
	wrong, stale := b.checks.compare(b.client, &b.record, index, b.version)
	switch {
	case wrong == nil:
		return nil
	case stale:
		return b.before(index, wrong)
	default:
		return wrong
	}
}

// before takes a row that is as it was before the leg, and returns what is wrong when it must not be.
func (b *backReader) before(index uint64, wrong *load.Mismatch) error {
	if b.of.doubtful != nil && b.of.doubtful.has(index) {
		return nil
	}
	return wrong
}

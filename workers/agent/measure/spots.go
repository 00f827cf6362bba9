package measure

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/durabench/durabench/bench/load"
	"github.com/durabench/durabench/drivers"
)

// readSpots reads rows, or a sample evenly spread over them, and has each compared. It is for legs after which rows differ in what they must be.
func (s *session) readSpots(ctx context.Context, rows []uint64, verify load.Verify, compare func(r *reader, index uint64) *load.Mismatch) (findings, error) {
	n := int64(len(rows))
	if verify == load.VerifySample {
		n = min(n, sampledRows)
	}
	if verify == load.VerifyNone || n == 0 {
		return findings{}, nil
	}
	clients := s.setup.Spec.Clients
	found, err := load.Run(ctx, load.Leg{
		Clients: clients, Threads: 1, Samples: n, OperationTimeout: time.Duration(s.setup.Spec.OperationTimeout), MaxErrorRate: readbackErrors,
		Verify: load.VerifyAll, Classify: classify,
	}, func(client, _ int) (load.Worker, error) {
		return &spotReader{
			reader: reader{corpus: s.corpus, client: s.database.clients[client], slots: make([]keySlot, keySlots(clients))},
			rows:   rows, of: uint64(n), compare: compare,
		}, nil
	})
	if err != nil {
		return findings{}, err
	}
	f := findings{checked: found.Checked, wrong: found.Wrong, examples: found.Examples}
	if failed := found.Failed - found.Wrong; failed > 0 && found.Wrong == 0 {
		return f, fmt.Errorf("%d of %d reads failed: %s", failed, found.OK+found.Failed, firstText(found.Errors))
	}
	return f, nil
}

// spotReader is a load.Worker that reads some of the rows of a list, evenly spread over it.
type spotReader struct {
	reader
	rows    []uint64
	of      uint64
	compare func(r *reader, index uint64) *load.Mismatch
	there   bool // the last read found a row
}

// Ready makes the key of the n-th row that is read.
func (r *spotReader) Ready(slot int, n uint64) error {
	return r.reader.Ready(slot, r.rows[n*uint64(len(r.rows))/r.of])
}

// Do reads the row; that there is none is an answer like another.
func (r *spotReader) Do(ctx context.Context, slot int) error {
	err := r.reader.Do(ctx, slot)
	if r.there = err == nil; errors.Is(err, drivers.ErrNotFound) {
		return nil
	}
	return err
}

// Check compares the row.
func (r *spotReader) Check(slot int) error {
	if index := r.slots[slot].index; !r.there {
		return &load.Mismatch{Index: index, Want: fmt.Sprintf("row %d", index), Got: "no row"}
	}
	if wrong := r.compare(&r.reader, r.slots[slot].index); wrong != nil {
		return wrong
	}
	return nil
}

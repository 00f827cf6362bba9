package vector

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/durabench/durabench/bench/vector/tile"
)

// Options are what Compute can be told. The zero Options are good.
type Options struct {
	// Dir keeps truths and, of those that are being computed, how far they have come; "" for nothing. Several goroutines and processes may use one place at
	// once: who wants what another is computing waits for it.
	Dir string
	// Workers is how many goroutines look at rows, 0 for one per CPU.
	Workers int
	// Memory bounds what is kept, in bytes; 0 for no bound. It depends on the queries, filters and K and on the workers, not on the rows: workers are left out
	// to come below it. Rows as near as the K-th beyond 2·K of them come on top: 16 kB per query and filter at most.
	Memory int64
	// Say, when not nil, is told now and then how many rows have been looked at, one call at a time. It is not called when Dir has the answer.
	Say func(doneRows, ofRows uint64)

	// Kernel computes the tiles; nil for the fastest that the machine can run.
	Kernel *tile.Kernel

	block uint64        // rows between two moments at which a checkpoint may be taken; 0 for blockRows
	every time.Duration // the least time between two checkpoints; 0 for checkpointEvery
}

// blockRows is how many rows are looked at between two moments at which all workers meet.
const blockRows = 1 << 16

// checkpointEvery is the least time between two checkpoints.
const checkpointEvery = 3 * time.Second

// Compute finds the exact answer of a problem. It is the same bit by bit whatever the machine, the options and the interruptions. With a Dir it is found
// there when it has been computed before, and after a kill or a cancellation goes on where it had come to. The error tells what the problem lacks, or is
// that of the context or the Dir.
func Compute(ctx context.Context, p Problem, o Options) (*Truth, error) {
	t, err := compute(ctx, p, o)
	if err != nil {
		return nil, fmt.Errorf("exact nearest rows of %s: %w", p.Field, err)
	}
	return t, nil
}

func compute(ctx context.Context, p Problem, o Options) (*Truth, error) {
	column, err := p.check()
	if err != nil {
		return nil, err
	}
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.block == 0 {
		o.block = blockRows
	}
	if o.every == 0 {
		o.every = checkpointEvery
	}
	if o.Kernel == nil {
		o.Kernel = tile.Kernels()[0]
	}
	digest := p.Digest()
	if o.Dir == "" {
		s, err := newSweep(p, column, digest, o)
		if err != nil {
			return nil, err
		}
		return s.run(ctx, nil)
	}
	store := place{dir: o.Dir, digest: digest}
	if t, err := store.truth(); err == nil || !errors.Is(err, errNotThere) {
		return t, err
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, err
	}
	unlock, err := store.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if t, err := store.truth(); err == nil || !errors.Is(err, errNotThere) {
		return t, err // who had the lock has computed it
	}
	s, err := newSweep(p, column, digest, o)
	if err != nil {
		return nil, err
	}
	if err := store.resume(s); err != nil {
		return nil, err
	}
	t, err := s.run(ctx, store.checkpoint)
	if err != nil {
		return nil, err
	}
	return t, store.put(t)
}

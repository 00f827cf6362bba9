package measure

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
)

// Writes into a graph meet in its upper layers, and some servers refuse one of two that do, as a deadlock, and ask for it again: every program on them does that.
// So often, and with random pauses of at most so long, a write of churn is sent again.
const (
	conflictRetries = 16
	firstPause      = 100 * time.Microsecond
	longestPause    = 20 * time.Millisecond
)

// conflicts counts the writes that were sent again. A nil one sends none again.
type conflicts struct{ retried atomic.Int64 }

// newConflicts returns nil for drivers that send requests again by themselves, and count them.
func (s *session) newConflicts() *conflicts {
	if _, does := s.database.Database.(drivers.Retrier); does {
		return nil
	}
	return &conflicts{}
}

// retry does a write, and does it again as long as the server refuses it as conflicting with another and time is left.
func (c *conflicts) retry(ctx context.Context, write func() error) error {
	for try := 0; ; try++ {
		err := write()
		if err == nil || c == nil || try == conflictRetries || drivers.ErrorClassOf(err) != drivers.ClassConflict {
			return err
		}
		pause := time.NewTimer(rand.N(min(firstPause<<try, longestPause)))
		select {
		case <-pause.C:
			c.retried.Add(1)
		case <-ctx.Done():
			pause.Stop()
			return err
		}
	}
}

// write is the same for what stores a row.
func (c *conflicts) write(do write) write {
	return func(ctx context.Context, key corpus.Key, row *corpus.Row) error {
		return c.retry(ctx, func() error { return do(ctx, key, row) })
	}
}

// remove is the same for what deletes one.
func (c *conflicts) remove(do func(context.Context, corpus.Key) error) func(context.Context, corpus.Key) error {
	return func(ctx context.Context, key corpus.Key) error {
		return c.retry(ctx, func() error { return do(ctx, key) })
	}
}

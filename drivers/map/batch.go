package mapdb

import (
	"context"
	"fmt"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/kvscan"
)

// A map has nothing for many rows at once, so a batch is its rows one after another, and counts as one request because nothing is asked of anybody.

// CreateBatch adds the rows one by one.
func (c *client) CreateBatch(ctx context.Context, keys []corpus.Key, rows []*corpus.Row) (requests int, err error) {
	return c.each(ctx, keys, rows, c.Create)
}

// UpdateBatch replaces the rows one by one.
func (c *client) UpdateBatch(ctx context.Context, keys []corpus.Key, rows []*corpus.Row) (requests int, err error) {
	return c.each(ctx, keys, rows, c.Update)
}

func (c *client) each(ctx context.Context, keys []corpus.Key, rows []*corpus.Row, one func(context.Context, corpus.Key, *corpus.Row) error) (requests int, err error) {
	if len(keys) != len(rows) {
		return 0, fmt.Errorf("batch of %d keys and %d rows", len(keys), len(rows))
	}
	for i := range keys {
		if err := one(ctx, keys[i], rows[i]); err != nil {
			return 1, err
		}
	}
	return 1, nil
}

// ReadBatch copies the rows into the answer.
func (c *client) ReadBatch(ctx context.Context, keys []corpus.Key, answer *drivers.Answer) (requests int, err error) {
	answer.Reset()
	var rec drivers.Record
	var ordered []byte
	for _, key := range keys {
		if err := c.Read(ctx, key, &rec); err != nil {
			return 1, err
		}
		ordered = key.AppendOrdered(ordered[:0])
		if err := kvscan.Take(answer, ordered, rec.Held.(*stored).binary, true); err != nil {
			return 1, err
		}
	}
	return 1, nil
}

// DeleteBatch removes the rows one by one.
func (c *client) DeleteBatch(ctx context.Context, keys []corpus.Key) (requests int, err error) {
	for _, key := range keys {
		if err := c.Delete(ctx, key); err != nil {
			return 1, err
		}
	}
	return 1, nil
}

// DecodeBatch takes the cells apart.
func (c *client) DecodeBatch(answer *drivers.Answer, each func(corpus.Key, *corpus.Row) error) error {
	return kvscan.Decode(c.database.corpus, answer, true, each)
}

// MaxBatch returns 0: there is no bound.
func (c *client) MaxBatch() int { return 0 }

// Modify exchanges the row under its shard's lock.
func (c *client) Modify(_ context.Context, key corpus.Key, rec *drivers.Record, next *corpus.Row) error {
	rec.Reset()
	if c.closed.Load() {
		return drivers.ErrClosed
	}
	d := c.database
	kept := d.encode(next)
	var old *stored
	if d.integers != nil {
		old = d.integers.of(spread(key.Int())).swap(key.Int(), kept)
	} else {
		old = d.texts.of(d.hash(key)).swap(string(key.Bytes()), kept)
	}
	if old == nil {
		return drivers.ErrNotFound
	}
	rec.Held = old
	return nil
}

var (
	_ drivers.Batcher  = (*client)(nil)
	_ drivers.Modifier = (*client)(nil)
)

package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
)

// SQLite has no requests whose number could be spared: a batch is one transaction, and the prepared statement of a single row is run for each
// row in it, which is how SQLite is used for many rows at once. It counts as one request.

// CreateBatch inserts the rows in one transaction.
func (c *client) CreateBatch(ctx context.Context, keys []corpus.Key, rows []*corpus.Row) (requests int, err error) {
	return c.writeBatch(ctx, insert, keys, rows)
}

// UpdateBatch replaces the rows in one transaction.
func (c *client) UpdateBatch(ctx context.Context, keys []corpus.Key, rows []*corpus.Row) (requests int, err error) {
	return c.writeBatch(ctx, update, keys, rows)
}

// DeleteBatch deletes the rows in one transaction.
func (c *client) DeleteBatch(ctx context.Context, keys []corpus.Key) (requests int, err error) {
	return c.writeBatch(ctx, remove, keys, nil)
}

// writeBatch encodes before it queues for the writer, as single writes do. A batch that fails is rolled back.
func (c *client) writeBatch(ctx context.Context, kind write, keys []corpus.Key, rows []*corpus.Row) (requests int, err error) {
	if c.closed.Load() {
		return 0, drivers.ErrClosed
	}
	if rows != nil && len(rows) != len(keys) {
		return 0, fmt.Errorf("batch of %d keys and %d rows", len(keys), len(rows))
	}
	buffer := encoded.Get().(*[]byte)
	defer encoded.Put(buffer)
	*buffer = (*buffer)[:0]
	ends := make([]int, len(keys))
	for i, key := range keys {
		*buffer = appendKey(*buffer, key)
		if rows != nil {
			if *buffer, err = appendRow(*buffer, c.database.schema.template, rows[i]); err != nil {
				return 0, fmt.Errorf("row %d of the batch: %w", i, err)
			}
		}
		ends[i] = len(*buffer)
	}
	w := c.database.writer
	return 1, w.exclusive(ctx, func(on *connection) error { return w.batch(ctx, on, kind, *buffer, ends) })
}

// batch writes rows in one transaction; the caller has the turn.
func (w *writer) batch(ctx context.Context, on *connection, kind write, all []byte, ends []int) error {
	return w.atomically(ctx, on, func() error {
		start := 0
		for _, end := range ends {
			if err := ctx.Err(); err != nil {
				return err
			}
			changes, err := w.now(ctx, kind, all[start:end])
			if err == nil && changes == 0 {
				err = drivers.ErrNotFound
			}
			if err != nil {
				return err
			}
			start = end
		}
		return nil
	})
}

// atomically runs f in a transaction; the caller has the turn.
func (w *writer) atomically(ctx context.Context, on *connection, f func() error) error {
	err := retry(ctx, func() error { return on.execute("BEGIN IMMEDIATE") })
	if err != nil {
		return err
	}
	if err = f(); err == nil {
		err = retry(ctx, func() error { return on.execute("COMMIT") })
	}
	if err != nil {
		// SQLite may have rolled back by itself already, as it does on a full disk; then there is nothing to roll back.
		_ = on.execute("ROLLBACK")
	}
	return err
}

// ReadBatch reads the rows in one transaction, so that all are of one moment.
func (c *client) ReadBatch(ctx context.Context, keys []corpus.Key, answer *drivers.Answer) (requests int, err error) {
	answer.Reset()
	r, err := c.take(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { c.readers <- r }()
	if r.whole == nil {
		if r.whole, err = r.on.prepare(r.schema.whole); err != nil {
			return 0, fmt.Errorf("read batch: %w", err)
		}
	}
	if err := r.on.execute("BEGIN"); err != nil {
		return 1, fmt.Errorf("read batch: %w", err)
	}
	for _, key := range keys {
		rows := answer.Rows
		r.params = appendKey(r.params[:0], key)
		if err = r.whole.bind(r.params); err == nil {
			err = r.receive(ctx, r.whole, answer, false)
		}
		if err == nil && answer.Rows == rows {
			err = drivers.ErrNotFound
		}
		if err != nil {
			break
		}
	}
	if err = errors.Join(err, r.on.execute("COMMIT")); err != nil {
		return 1, fmt.Errorf("read batch: %w", err)
	}
	return 1, nil
}

// DecodeBatch takes the cells apart.
func (c *client) DecodeBatch(answer *drivers.Answer, each func(corpus.Key, *corpus.Row) error) error {
	return c.decodeRows(answer, true, each)
}

// MaxBatch returns 0: a transaction takes any number of rows.
func (c *client) MaxBatch() int { return 0 }

// Range reads rows in the order of their keys.
func (c *client) Range(ctx context.Context, from corpus.Key, most int64, answer *drivers.Answer) error {
	answer.Reset()
	r, err := c.take(ctx)
	if err != nil {
		return err
	}
	defer func() { c.readers <- r }()
	if r.ranged == nil {
		if r.ranged, err = r.on.prepare(r.schema.ranged); err != nil {
			return fmt.Errorf("range: %w", err)
		}
	}
	r.params = appendInteger(appendKey(r.params[:0], from), most)
	if err = r.ranged.bind(r.params); err == nil {
		err = r.receive(ctx, r.ranged, answer, false)
	}
	if err != nil {
		return fmt.Errorf("range: %w", err)
	}
	return nil
}

// DecodeRange takes the cells apart.
func (c *client) DecodeRange(answer *drivers.Answer, each func(corpus.Key, *corpus.Row) error) error {
	return c.decodeRows(answer, true, each)
}

// Modify reads and replaces the row in one transaction, in the writer's turn.
func (c *client) Modify(ctx context.Context, key corpus.Key, rec *drivers.Record, next *corpus.Row) error {
	rec.Reset()
	if c.closed.Load() {
		return drivers.ErrClosed
	}
	buffer := encoded.Get().(*[]byte)
	defer encoded.Put(buffer)
	var err error
	*buffer = appendKey((*buffer)[:0], key)
	prefix := len(*buffer)
	if *buffer, err = appendRow(*buffer, c.database.schema.template, next); err != nil {
		return err
	}
	w := c.database.writer
	return w.exclusive(ctx, func(on *connection) error {
		return w.atomically(ctx, on, func() error {
			if w.read == nil {
				if w.read, err = on.prepare(w.schema.read); err != nil {
					return err
				}
			}
			found, err := w.read.fetch((*buffer)[:prefix], rec)
			if err != nil {
				return err
			}
			if !found {
				return drivers.ErrNotFound
			}
			_, err = w.now(ctx, update, *buffer)
			return err
		})
	})
}

var (
	_ drivers.Batcher  = (*client)(nil)
	_ drivers.Ranger   = (*client)(nil)
	_ drivers.Modifier = (*client)(nil)
)

package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
)

// client is one client: connections of its own to read on, and turns on the database's writer.
type client struct {
	database *database
	readers  chan *reader
	open     int // how many readers there are
	closed   atomic.Bool
	done     chan struct{} // closed when the client is

	preparing sync.Mutex // held while a scan is prepared, off the clock
}

// encoded is memory for rows in the form of parameters.
var encoded = sync.Pool{New: func() any { return new([]byte) }}

// Create adds the row in a transaction of its own.
func (c *client) Create(ctx context.Context, key corpus.Key, row *corpus.Row) error {
	_, err := c.write(ctx, insert, key, row)
	return err
}

// Update replaces the row in a transaction of its own.
func (c *client) Update(ctx context.Context, key corpus.Key, row *corpus.Row) error {
	changes, err := c.write(ctx, update, key, row)
	if err == nil && changes == 0 {
		return drivers.ErrNotFound
	}
	return err
}

// Delete removes the row in a transaction of its own.
func (c *client) Delete(ctx context.Context, key corpus.Key) error {
	changes, err := c.write(ctx, remove, key, nil)
	if err == nil && changes == 0 {
		return drivers.ErrNotFound
	}
	return err
}

// write encodes before it queues for the writer, so that threads encode at the same time.
func (c *client) write(ctx context.Context, kind write, key corpus.Key, row *corpus.Row) (changes int, err error) {
	if c.closed.Load() {
		return 0, drivers.ErrClosed
	}
	buffer := encoded.Get().(*[]byte)
	defer encoded.Put(buffer)
	*buffer = appendKey((*buffer)[:0], key)
	if row != nil {
		if *buffer, err = appendRow(*buffer, c.database.schema.template, row); err != nil {
			return 0, err
		}
	}
	return c.database.writer.run(ctx, kind, *buffer)
}

// Read receives the row's cells as SQLite has them.
func (c *client) Read(ctx context.Context, key corpus.Key, rec *drivers.Record) error {
	r, err := c.take(ctx)
	if err != nil {
		rec.Reset()
		return err
	}
	found, err := r.fetch(ctx, key, rec)
	c.readers <- r
	if err == nil && !found {
		return drivers.ErrNotFound
	}
	return err
}

// take takes a reader. With a reader for each thread one is always there.
func (c *client) take(ctx context.Context) (*reader, error) {
	if c.closed.Load() {
		return nil, drivers.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case r := <-c.readers:
		return r, nil
	default:
	}
	select {
	case r := <-c.readers:
		return r, nil
	case <-c.done:
		return nil, drivers.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Decode turns the cells into typed values.
func (c *client) Decode(rec *drivers.Record, row *corpus.Row) error {
	return decodeRow(c.database.schema.template, rec, row)
}

// Close waits for the reads in flight and closes the client's connections.
func (c *client) Close() error {
	if c.closed.Swap(true) {
		return nil
	}
	close(c.done)
	var problems []error
	for range c.open {
		problems = append(problems, (<-c.readers).close())
	}
	return errors.Join(problems...)
}

// loadRows is how many rows a load puts in one transaction: enough that neither the commit nor its flush is felt.
const loadRows = 1000

// Load writes rows in large transactions. They are made and encoded before the writer's turn, so that clients which load at the same time do
// that at the same time.
func (c *client) Load(ctx context.Context, from, to uint64, version uint32) error {
	var (
		w    = c.database.writer
		keys corpus.KeyBuffer
		row  corpus.Row
		all  []byte
		ends []int
		err  error
	)
	for first := from; first < to; first += loadRows {
		if c.closed.Load() {
			return drivers.ErrClosed
		}
		last := min(first+loadRows, to)
		all, ends = all[:0], ends[:0]
		for index := first; index < last; index++ {
			c.database.config.Corpus.Row(&row, index, version)
			all = appendKey(all, c.database.config.Corpus.Key(&keys, index))
			if all, err = appendRow(all, c.database.schema.template, &row); err != nil {
				return err
			}
			ends = append(ends, len(all))
		}
		if err := w.exclusive(ctx, func(on *connection) error { return w.batch(ctx, on, load, all, ends) }); err != nil {
			return fmt.Errorf("load rows %d to %d: %w", first, last-1, err)
		}
	}
	return nil
}

package mapdb

import (
	"bytes"
	"context"
	"errors"
	"hash/maphash"
	"sync"
	"sync/atomic"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
)

// client is one client. It has no state of its own but whether it is closed.
type client struct {
	database *database
	closed   atomic.Bool
}

// stored is one row as it is kept. It is never changed once it is in the map, so that a read may hand out the pointer.
type stored struct {
	binary []byte
}

// scratch is memory to encode a row in before its exact size is known.
var scratch = sync.Pool{New: func() any { return new([]byte) }}

// spread hashes integer keys by Fibonacci's multiplication: neighbours, which threads ask for at the same time, fall in different shards.
func spread(key int64) uint64 { return uint64(key) * 0x9e3779b97f4a7c15 }

// hash hashes string and uuid keys.
func (d *database) hash(key corpus.Key) uint64 { return maphash.Bytes(d.seed, key.Bytes()) }

// encode makes the copy that is kept.
func (d *database) encode(row *corpus.Row) *stored {
	buffer := scratch.Get().(*[]byte)
	*buffer = row.AppendBinary((*buffer)[:0], d.template)
	kept := &stored{bytes.Clone(*buffer)}
	scratch.Put(buffer)
	return kept
}

// Create adds the row, or is ErrExists.
func (c *client) Create(_ context.Context, key corpus.Key, row *corpus.Row) error {
	if c.closed.Load() {
		return drivers.ErrClosed
	}
	d := c.database
	kept, added := d.encode(row), false
	if d.integers != nil {
		added = d.integers.of(spread(key.Int())).add(key.Int(), kept)
	} else {
		added = d.texts.of(d.hash(key)).add(string(key.Bytes()), kept)
	}
	if !added {
		return drivers.ErrExists
	}
	return nil
}

// Read leaves a reference to the stored row in the record.
func (c *client) Read(_ context.Context, key corpus.Key, rec *drivers.Record) error {
	if c.closed.Load() {
		return drivers.ErrClosed
	}
	d := c.database
	var kept *stored
	if d.integers != nil {
		kept = d.integers.of(spread(key.Int())).get(key.Int())
	} else {
		kept = d.texts.of(d.hash(key)).get(key.Text())
	}
	if kept == nil {
		rec.Reset()
		return drivers.ErrNotFound
	}
	rec.Held = kept
	return nil
}

// Update puts the row in the place of the old one, or is ErrNotFound.
func (c *client) Update(_ context.Context, key corpus.Key, row *corpus.Row) error {
	if c.closed.Load() {
		return drivers.ErrClosed
	}
	d := c.database
	kept, replaced := d.encode(row), false
	if d.integers != nil {
		replaced = d.integers.of(spread(key.Int())).replace(key.Int(), kept)
	} else {
		replaced = d.texts.of(d.hash(key)).replace(string(key.Bytes()), kept)
	}
	if !replaced {
		return drivers.ErrNotFound
	}
	return nil
}

// Delete removes the row, or is ErrNotFound.
func (c *client) Delete(_ context.Context, key corpus.Key) error {
	if c.closed.Load() {
		return drivers.ErrClosed
	}
	d := c.database
	removed := false
	if d.integers != nil {
		removed = d.integers.of(spread(key.Int())).remove(key.Int())
	} else {
		removed = d.texts.of(d.hash(key)).remove(key.Text())
	}
	if !removed {
		return drivers.ErrNotFound
	}
	return nil
}

// Decode reads the stored row's binary form.
func (c *client) Decode(rec *drivers.Record, row *corpus.Row) error {
	kept, ok := rec.Held.(*stored)
	if !ok {
		return errors.New("the record holds no answer of this engine")
	}
	return corpus.ParseBinary(c.database.template, kept.binary, row)
}

// Load puts rows in, whatever is there.
func (c *client) Load(ctx context.Context, from, to uint64, version uint32) error {
	d := c.database
	var buffer corpus.KeyBuffer
	var row corpus.Row
	for index := from; index < to; index++ {
		// Often enough to stop within a millisecond, seldom enough not to be felt.
		if index%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if c.closed.Load() {
			return drivers.ErrClosed
		}
		key := d.corpus.Key(&buffer, index)
		d.corpus.Row(&row, index, version)
		if d.integers != nil {
			d.integers.of(spread(key.Int())).put(key.Int(), d.encode(&row))
		} else {
			d.texts.of(d.hash(key)).put(string(key.Bytes()), d.encode(&row))
		}
	}
	return nil
}

// Close marks the client as closed.
func (c *client) Close() error {
	c.closed.Store(true)
	return nil
}

// Carries describes how operations are in flight.
func (c *client) Carries() string {
	return "in the agent: a thread that can run is an operation in flight; shards are locked for the length of a look-up"
}

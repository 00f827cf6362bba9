package respbase

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/wire"
)

// prefix begins all of our keys. Nothing else on a server is touched.
const prefix = "durabench:"

// client carries operations over one connection or several, as the option pipelining says.
type client struct {
	database *database
	link     wire.Link
}

// Create sets the key if it is not there.
func (c *client) Create(ctx context.Context, key corpus.Key, row *corpus.Row) error {
	done, err := c.set(ctx, key, row, "$2\r\nNX\r\n")
	if err != nil {
		return fmt.Errorf("create: %w", err)
	}
	if !done {
		return drivers.ErrExists
	}
	return nil
}

// Read gets the value.
func (c *client) Read(ctx context.Context, key corpus.Key, rec *drivers.Record) error {
	rec.Reset()
	seat, err := c.link.Take(ctx)
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	defer c.link.Give(seat)
	seat.Request = appendKey(append(seat.Request, "*2\r\n$3\r\nGET\r\n"...), key)
	if err := c.link.Do(ctx, seat); err != nil {
		return fmt.Errorf("read: %w", err)
	}
	if seat.Rows == 0 {
		return drivers.ErrNotFound
	}
	// The answer changes hands without being copied.
	*rec, seat.Record = seat.Record, *rec
	return nil
}

// Update sets the key if it is there.
func (c *client) Update(ctx context.Context, key corpus.Key, row *corpus.Row) error {
	done, err := c.set(ctx, key, row, "$2\r\nXX\r\n")
	if err != nil {
		return fmt.Errorf("update: %w", err)
	}
	if !done {
		return drivers.ErrNotFound
	}
	return nil
}

// Delete deletes the key.
func (c *client) Delete(ctx context.Context, key corpus.Key) error {
	seat, err := c.link.Take(ctx)
	if err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	defer c.link.Give(seat)
	seat.Request = appendKey(append(seat.Request, "*2\r\n$3\r\nDEL\r\n"...), key)
	if err := c.link.Do(ctx, seat); err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	if seat.Rows == 0 {
		return drivers.ErrNotFound
	}
	return nil
}

// set sets the key to the row on a condition and tells whether it held.
func (c *client) set(ctx context.Context, key corpus.Key, row *corpus.Row, condition string) (done bool, err error) {
	seat, err := c.link.Take(ctx)
	if err != nil {
		return false, err
	}
	defer c.link.Give(seat)
	c.appendSet(seat, key, row, condition)
	if err := c.link.Do(ctx, seat); err != nil {
		return false, err
	}
	return seat.Rows > 0, nil
}

// appendSet appends a SET with one more word.
func (c *client) appendSet(seat *wire.Seat, key corpus.Key, row *corpus.Row, condition string) {
	seat.Request = appendKey(append(seat.Request, "*4\r\n$3\r\nSET\r\n"...), key)
	c.appendRow(seat, row)
	seat.Request = append(seat.Request, condition...)
}

// appendRow appends a row. Its length stands before it, so it is made elsewhere first: where an answer of a read would go.
func (c *client) appendRow(seat *wire.Seat, row *corpus.Row) {
	seat.Record.Bytes = row.AppendBinary(seat.Record.Bytes[:0], c.database.template)
	seat.Request = appendBulk(seat.Request, seat.Record.Bytes)
	seat.Record.Reset()
}

// Decode reads the binary form of a row.
func (c *client) Decode(rec *drivers.Record, row *corpus.Row) error {
	return corpus.ParseBinary(c.database.template, rec.Bytes, row)
}

// Close closes the client's connections.
func (c *client) Close() error { return c.link.Close() }

// A load goes out in chunks: so many bytes, or so many rows when rows are small.
const (
	chunkBytes = 256 << 10
	chunkRows  = 1000
)

// Load sets many keys with one MSET per chunk, whatever was there before.
func (c *client) Load(ctx context.Context, from, to uint64, version uint32) error {
	var key corpus.KeyBuffer
	var row corpus.Row
	var pairs, value []byte
	rows := c.database.load.Corpus
	for from < to {
		next := from
		for pairs = pairs[:0]; next < to && next-from < chunkRows && len(pairs) < chunkBytes; next++ {
			rows.Row(&row, next, version)
			value = row.AppendBinary(value[:0], c.database.template)
			pairs = appendBulk(appendKey(pairs, rows.Key(&key, next)), value)
		}
		if err := c.loadChunk(ctx, int(next-from), pairs); err != nil {
			return fmt.Errorf("load rows from %d: %w", from, err)
		}
		from = next
	}
	return nil
}

func (c *client) loadChunk(ctx context.Context, rows int, pairs []byte) error {
	seat, err := c.link.Take(ctx)
	if err != nil {
		return err
	}
	defer c.link.Give(seat)
	seat.Request = append(seat.Request, '*')
	seat.Request = strconv.AppendInt(seat.Request, int64(2*rows+1), 10)
	seat.Request = append(append(seat.Request, "\r\n$4\r\nMSET\r\n"...), pairs...)
	if err := c.link.Do(ctx, seat); err != nil {
		return err
	}
	if seat.Rows != 1 {
		return errors.New("the server did not confirm the rows")
	}
	return nil
}

// appendKey appends the key with our prefix as a bulk string.
func appendKey(dst []byte, key corpus.Key) []byte {
	dst = append(dst, '$')
	dst = strconv.AppendInt(dst, int64(len(prefix)+key.Kind().Len()), 10)
	dst = append(append(dst, "\r\n"...), prefix...)
	return append(key.AppendOrdered(dst), "\r\n"...)
}

func appendBulk(dst, b []byte) []byte {
	dst = append(dst, '$')
	dst = strconv.AppendInt(dst, int64(len(b)), 10)
	dst = append(append(dst, "\r\n"...), b...)
	return append(dst, "\r\n"...)
}

var _ drivers.Loader = (*client)(nil)
